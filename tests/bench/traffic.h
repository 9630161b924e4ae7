/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What traffic.c and traffic.bpf.c share. */
#pragma once

#include <linux/types.h>

#define TRAFFIC_HEADERS 1024 /* different packets, sent in turn */

/* The first bytes of a packet, Ethernet, IP and UDP headers: as much as differs. */
struct traffic_header {
	__u8 bytes[64];
};

struct traffic_count {
	__u64 packets;
};

/* The first twelve bytes of a frame. */
struct traffic_macs {
	__u8 dst[6];
	__u8 src[6];
};

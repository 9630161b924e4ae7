/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The packet that `lookup` asks about. Pure. */
#pragma once

#include <stddef.h>

#include "common/addr.h"

enum { PACKET_MAX = 128 };

/* A short UDP packet in an Ethernet frame, checksums right. Returns the length of the frame. */
size_t packet_build(enum family f, const __u8 dst_mac[static 6], const __u8 src_mac[static 6],
		    struct addr src, struct addr dst, __u8 frame[static PACKET_MAX]);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs of the lookup benchmark and the one that runs them share. */
#pragma once

#include <linux/types.h>

#define LOOKUP_FRAME	    64	  /* bytes of each frame, both families */
#define LOOKUP_DESTINATIONS 65536 /* of a list: the UDP source port of a frame is its place in there */
#define LOOKUP_PORT	    9	  /* UDP destination port: what the far end counts */

/* The bytes of an IPv4 header that differ: TTL, protocol and checksum; destination. */
struct lookup_ip4 {
	__u32 word;
	__be32 addr;
};

struct lookup_ip6 {
	__u64 addr[2];
};

/* Where the packets of one CPU go, in turn. */
struct lookup_list {
	__u32 next;
	__u32 mask; /* entries less one */
	__u32 reserved[14];
	union {
		struct lookup_ip4 ip4[LOOKUP_DESTINATIONS];
		struct lookup_ip6 ip6[LOOKUP_DESTINATIONS];
	};
};

/* rodata. egress, mac: the adjacency of everything, where there is no lookup. */
struct lookup_config {
	__u8 macs[12]; /* of a frame that comes in: destination, source */
	__u32 egress;  /* l3if slot */
	__u8 mac[8];
};

/* What arrived at the far end, by place in the list. */
struct lookup_seen {
	__u32 packets;
	__u32 gateway; /* the last byte of the destination MAC */
};

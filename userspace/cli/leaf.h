/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a leaf id to what the program does with it: the next hops, readable. */
#pragma once

#include "common/addr.h"
#include "loader/load.h"

/* One way out. CONNECTED knows its link-layer address only together with a destination. */
struct hop {
	enum xfib_nh_kind kind;	   /* VERDICT, ADJACENCY or CONNECTED */
	enum xfib_verdict verdict; /* of VERDICT */
	int ifindex;		   /* egress device, 0 for VERDICT */
	bool has_via;
	enum family via_family;
	struct addr via;
	struct xfib_lladdr lladdr; /* tag 0: not valid */
	unsigned int slot;	   /* neighbour slot of ADJACENCY */
	unsigned int mtu;	   /* of the route, 0xffff: none */
	unsigned int weight;
};

struct leaf {
	enum xfib_nh_kind kind;
	unsigned int hops; /* a VERDICT has one too */
	struct hop hop[];
};

/* The next hop id behind a leaf: itself, or that of the default route. */
unsigned int leaf_id(enum family f, unsigned int fib, unsigned int leaf);

/* Reads a next hop; buckets of a group are merged to legs. The caller frees it. */
int leaf_read(const struct generation *gen, unsigned int id, struct leaf **leaf);

/* "adjacency", "connected", "group", or the verdict's name. */
const char *leaf_kind_name(const struct leaf *leaf);

/* "via 192.0.2.1 dev eth0", or the verdict's name. */
enum { HOP_STRLEN = ADDR_STRLEN + 32 };
const char *hop_text(const struct hop *hop, char buf[static HOP_STRLEN]);

/* What the neighbour tables say of (addr, ifindex); its slot, or -ENOENT. */
int neigh_find(const struct generation *gen, enum family f, struct addr a, int ifindex,
	       unsigned int *slot);

/* One load each, as the program does. */
struct xfib_lladdr neigh_lladdr(const struct generation *gen, unsigned int slot);
struct xfib_nexthop nexthop_load(const struct xfib_nexthop *word);

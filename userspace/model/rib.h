/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The routes of one family: a path-compressed binary trie of prefixes, each with the routes that the
 * kernel holds for it in the tables that the default rules ask. Pure data structure; what a prefix
 * means for forwarding is decided in fib/.
 *
 * Nodes and routes are indices into two pools, so that a million of each stays small: 0 is "none",
 * and node 1 is the root (length 0), which is always there. A node without routes and without two
 * children exists only while rib_node_keep() holds it.
 */
#pragma once

#include "common/addr.h"
#include "abi.h"

#define RIB_ROOT     1u
#define RIB_NO_TABLE XFIB_TABLE_COUNT /* of a node without routes */

/* One route of the kernel. Routes of a node are linked in the order in which the kernel tries them:
 * by table, then priority, then age (IPv4: as the kernel lists them; IPv6: first come). */
struct rib_route {
	__u32 next;
	__u32 path; /* what it forwards to: index in paths.h */
	__u32 priority;
	__u32 generation; /* of the dump or notification that confirmed it last */
	__u32 order;	  /* position in the last dump, orders routes of equal priority */
	__u8 table : 7;	  /* enum xfib_table */
	__u8 fresh : 1;	  /* the dump under way has brought it, at the end of its equals */
	__u8 protocol;
	__u16 selector; /* 0: only the destination matters; else stands for the TOS and source */
};

/*
 * `published` belongs to fib/: what the maps hold for this prefix. `first` is the lowest table
 * among usable routes, cached by fib/ too. `dirty`: to be looked at in the next ordered flush.
 */
struct rib_node {
	struct addr prefix;
	__u32 child[2];
	__u32 routes;
	__u32 published; /* XFIB_LEAF_VALUE(), valid if installed */
	__u8 len;
	__u8 first; /* enum xfib_table, RIB_NO_TABLE: no usable route */
	__u8 installed : 1;
	__u8 overflow : 1; /* should be installed, but there is no room */
	__u8 shield : 1;   /* installed as a PASS marker because of an overflowed prefix below */
	__u8 dirty : 1;
	__u8 changed : 1;  /* published again since it was installed: the map had room for it */
};

struct rib {
	enum family family;
	struct rib_node *node;
	struct rib_route *route;
	__u32 nodes, nodes_max, node_free; /* high-water mark, size, free list through child[0] */
	__u32 routes, routes_max, route_free;
	__u32 prefixes; /* nodes with routes */
	__u32 live_routes;
	bool dirty; /* some node is */
};

/* 0 or -ENOMEM (address space). max_prefixes bounds both pools; beyond it adding returns -ENOSPC. */
int rib_init(struct rib *rib, enum family family, __u32 max_prefixes);
void rib_done(struct rib *rib);

/*
 * The node of a prefix, made if it is not there. *above: the lowest `first` of all strictly shorter
 * prefixes that cover it. -ENOSPC when the pool is full.
 */
int rib_node_get(struct rib *rib, struct addr prefix, unsigned int len, __u32 *node, __u8 *above);

/* The same without making it: 0 if the prefix is not there. above may be NULL. */
__u32 rib_node_find(const struct rib *rib, struct addr prefix, unsigned int len, __u8 *above);

/* Gives a node back if nothing needs it any more: no routes, not installed, fewer than two children. */
void rib_node_put(struct rib *rib, struct addr prefix, unsigned int len);

/* Adds a route (fields but next and order are the caller's) at its place: behind those of the same table,
 * TOS and priority, or before them if `front`. Returns its index, 0 when the pool is full. */
__u32 rib_route_add(struct rib *rib, __u32 node, const struct rib_route *route, bool front);

/* Unlinks and frees. */
void rib_route_del(struct rib *rib, __u32 node, __u32 route);

/* Puts routes of equal table and priority into the order of their `order` (after a dump). */
void rib_route_sort(struct rib *rib, __u32 node);

/*
 * Calls fn for every node at or below `top`, in pre-order (shorter prefixes first) or post-order. fn may
 * change the node but neither add nor remove any.
 */
enum rib_walk { RIB_PRE, RIB_POST };
void rib_walk(struct rib *rib, __u32 top, enum rib_walk order,
	      void (*fn)(struct rib *rib, __u32 node, __u8 above, void *arg), __u8 above,
	      void *arg);

/* Removes nodes that nothing needs, in the whole trie: after a sweep. */
void rib_compact(struct rib *rib);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps in plain memory: rows of the fib go in, and for any address it tells what the XDP program
 * would do, by the steps of bpf/nexthop.h over a naive list of prefixes. At every single row it
 * asserts the publication rule of abi.h: nothing that a packet can reach is changed in place but a
 * word, refers to what is not there, or is used again before a grace period has passed.
 */
#pragma once

#include "fib/fib.h"

/* Where one flow goes. Every byte is defined: compared with memcmp(). */
struct sink_hop {
	__u32 verdict; /* enum xfib_verdict; XFIB_FORWARDED: the rest says how */
	__u32 ifindex;
	__u8 dmac[6], smac[6];
	__u32 mtu; /* the smaller one of route and egress */
	__u16 port;
	__u16 sg;
};

/* What the tables say to a flow before neighbours are asked. */
struct sink_leg {
	struct xfib_nexthop word; /* arg of an adjacency: ifindex of its neighbour */
	struct addr gateway;	  /* of an adjacency */
	__u32 gateway_family;
	__u32 buckets;
	struct sink_hop hop;
};

enum { SINK_LEGS = 64 };

struct sink_answer {
	__u32 leaf;
	__u8 group;	   /* enum xfib_nh_kind of a group, 0: a single leg */
	unsigned int legs; /* equal buckets side by side count as one */
	struct sink_leg leg[SINK_LEGS];
};

struct sink_route {
	struct addr prefix;
	unsigned int len;
	__u32 value;
};

/* References to a thing that is used again only after a grace period. */
struct sink_use {
	__u32 refs;
	__u64 idle; /* the row that took the last reference away */
};

struct sink_table {
	struct sink_route *route;
	unsigned int routes, size;
	unsigned int capacity; /* 0: no limit */
};

struct sink_list {
	struct {
		enum family family;
		struct sink_route route;
	} * item;
	unsigned int len, size;
};

struct sink_index {
	UT_hash_handle hh;
	struct neigh_key key;
	__u32 slot;
};

struct sink {
	bool queued;   /* routes wait for a row of another kind or the commit */
	bool frozen;   /* rows are lost: the daemon is dead */
	__u64 dies_at; /* the row from which on it is, 0: none */
	bool full_refuses; /* a full trie takes no new value for a prefix that it has (kernels before 6.13) */
	struct fib *fib;			   /* who is told of prefixes that found no room */
	unsigned int index_capacity;		   /* of neigh4 and neigh6 each, 0: no limit */
	void (*row)(void *arg);			   /* after each row, may be NULL */
	void (*fail)(void *arg, const char *what); /* does not return */
	void *arg;

	struct xfib_port ports[XFIB_PORTS];
	struct xfib_l3if l3ifs[XFIB_L3IFS];
	struct xfib_nexthop nexthops[XFIB_NEXTHOPS];
	struct xfib_nexthop members[XFIB_MEMBERS];
	struct xfib_neigh neighs[XFIB_NEIGHS];
	__u64 own4[XFIB_OWN_BITS / 64];
	__u32 tx[XFIB_PORTS];
	struct sink_table table[FAMILIES];
	struct sink_index *index;
	unsigned int indexed[FAMILIES];

	struct sink_use l3if_use[XFIB_L3IFS], leaf_use[XFIB_NEXTHOPS], member_use[XFIB_MEMBERS],
		neigh_use[XFIB_NEIGHS], tx_use[XFIB_PORTS];
	__u64 now, grace_from, cold; /* in rows; idle up to `cold`: may be used again */

	struct sink_list queue;
	unsigned int written; /* of the queue */
	bool writing;
	struct {
		__u64 neigh, lladdr, l3if, nexthop, member;
	} changed; /* rows that changed something */
};

extern const struct fib_sink sink_ops;

struct sink *sink_new(void);
void sink_free(struct sink *s);

/* A grace period begins; the one that began last is over. */
void sink_grace_begin(struct sink *s);
void sink_grace_end(struct sink *s);

/* The daemon has died and time has passed: nothing is in a packet's hands. */
void sink_quiet(struct sink *s);

void sink_lookup(const struct sink *s, enum family family, struct addr addr,
		 struct sink_answer *answer);

/* Deletes what the fib does not have, shortest first, as the engines' sweep does. */
void sink_sweep(struct sink *s, const struct fib *fib);

/* Asserts that both answer alike and hold the same live records. */
void sink_assert_equal(const struct sink *a, const struct sink *b);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a route forwards to, interned by its complete content: a million routes share a few
 * thousand paths. A path says what the kernel was told (legs, weights, MTU); whether a leg is
 * usable right now follows from links and nexthop objects and is worked out in fib/.
 *
 * Lifetime: counted by routes. At zero a path is parked, not freed, because the maps may still lead
 * to it; fib/ reaps parked paths when it has published everything.
 */
#pragma once

#include <uthash.h>

#include "netlink/event.h"

struct path_leg {
	struct addr gateway;
	__u32 ifindex;
	__u32 weight;
	__u8 has_gateway;
	__u8 gateway_family;
	__u8 encap;
	__u8 reserved[5];
};

/* The hash key: this header and `legs` legs behind it, every byte defined. */
struct path_key {
	__u8 family;	/* of the route */
	__u8 type;	/* RTN_*, PATH_PROXY or PATH_OWN */
	__u8 encap;	/* bool: some leg has an encapsulation */
	__u8 modelled;	/* bool: all legs are here, and the route has no lifetime */
	__u32 mtu;	/* 0: none */
	__u32 nhid;	/* 0: legs below; else they are the nexthop object's */
	__u16 selector; /* of a route that also looks at TOS or source; else 0 */
	__u16 reserved2;
	__u32 legs;
	__u32 reserved;
	struct path_leg leg[];
};
#define PATH_PROXY 255
#define PATH_OWN   254

struct path {
	UT_hash_handle hh;
	__u32 index;
	__u32 refs;
	struct path *parked; /* next in the list of unused paths */
	bool is_parked;
	bool ecmp; /* IPv6: other gateways of the same metric join this route as siblings */

	/* fib/ owns these. */
	struct {
		bool ready;    /* the rest is worked out */
		bool usable;   /* false: the kernel skips routes that lead here */
		bool changed;  /* published otherwise than it is now, within one event */
		bool lacking;  /* some leg has no neighbour slot, or there are no buckets */
		bool starved;  /* no leaf id was left */
		__u16 leaf;    /* 0: none yet */
		__u64 word;    /* struct xfib_nexthop, as published */
		__u32 buckets; /* of a group: first member and the order (log2 of the room) */
		__u8 order;
		__u32 neighs; /* references held */
		struct neigh **neigh;
	} fib;

	__u32 key_len;
	struct path_key key;
};

struct path_set {
	struct path *hash;
	struct path **by_index; /* [0] unused */
	__u32 used, size;
	__u32 *free;
	__u32 frees;
	struct path *parked;
};

void path_set_done(struct path_set *set);

static inline struct path *path_at(const struct path_set *set, __u32 index)
{
	return set->by_index[index];
}

/*
 * The path with this content, made if it is new; a reference is taken. NULL: no memory.
 */
struct path *path_get(struct path_set *set, const struct path_key *key);

/* The same without making it or taking a reference; NULL if there is none. */
struct path *path_find(const struct path_set *set, const struct path_key *key);

void path_ref(struct path *path);
void path_unref(struct path_set *set, struct path *path);

/* Takes a path without references out of the set and frees it. fib's members must be released. */
void path_free(struct path_set *set, struct path *path);

/*
 * The key of a route event in `buf`, which has room for NEXTHOP_LEGS_MAX legs. IPv6 legs are sorted,
 * because the kernel lists siblings in the order in which they came.
 */
struct path_key_buf {
	_Alignas(struct path_key)
		__u8 bytes[sizeof(struct path_key) + NEXTHOP_LEGS_MAX * sizeof(struct path_leg)];
};
struct path_key *path_key_of_route(const struct route_event *route, struct path_key_buf *buf);

size_t path_key_len(const struct path_key *key);

/* Whether a route of this content is one that siblings join: IPv6 by a gateway of its own. */
bool path_key_joins(const struct path_key *key);

/* a := a without the legs of b (IPv6: one sibling of a route goes). Returns the number of legs left. */
__u32 path_key_remove(struct path_key *a, const struct path_key *b);

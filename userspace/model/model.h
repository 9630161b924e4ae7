/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's forwarding state as netlink told it: links, addresses, rules, nexthop objects,
 * routes, neighbours, settings. Events go in, changes come out through hooks; what a change means for
 * the maps is worked out in fib/. Pure: no socket, no map, no clock.
 *
 * Dumps. A table is dumped into the model as it is: model_dump_begin(), its events, model_dump_end(),
 * which removes what the kernel no longer has. Notifications go on meanwhile and win: whatever one
 * touched during a dump is not changed by the (possibly older) dump. Routes that a dump changes are
 * only marked dirty, to be published together in an order that never exposes a wrong prefix; those
 * that a notification changes are reported at once, unless the table was never complete.
 */
#pragma once

#include "netlink/event.h"
#include "netlink/hostpolicy.h"
#include "netlink/nl.h"
#include "path.h"
#include "rib.h"

struct neigh_key {
	struct addr addr;
	__u32 ifindex;
	__u32 family;
};

struct neigh {
	UT_hash_handle hh;
	struct neigh_key key;
	bool present;	    /* the kernel has it */
	struct lladdr mac;
	__u16 state;	    /* NUD_* */
	__u32 flags;	    /* NTF_*, NTF_EXT_* << 16 */
	__u32 generation;

	/* fib/ owns these. */
	struct {
		__u32 refs;   /* of paths */
		__u32 slot;   /* in neighs, 0: none */
		__u64 word;   /* struct xfib_lladdr, as published */
		bool indexed; /* in neigh4 or neigh6 */
		bool unsure;  /* of that: the slot was a dead daemon's */
	} fib;
};

/*
 * The kernel removes routes without a word when their device goes down or their nexthop object goes.
 * Until the route tables were dumped after that, what comes back under the same name must not be
 * used: routes that the model still holds may be gone.
 */
struct settle {
	bool on;
	__u32 after[FAMILIES]; /* dumps of the routes that began no later than this do not count */
};

struct link {
	UT_hash_handle hh;
	__u32 ifindex;
	struct link_event ev; /* the last one, partial ones merged */
	int forwarding6, ignore_linkdown4, ignore_linkdown6; /* netconf; -1: not told */
	int forwarding4, rp_filter;
	bool xmit, sg; /* XDP features of the device */
	struct settle settle; /* it was down, or is reborn */
	bool reborn; /* another device had this ifindex, and there are routes of that time */
	__u32 generation;

	/* fib/ owns these. */
	struct {
		int port;   /* slot of the port attached to it, -1: none */
		__u32 l3if; /* slot, 0: none */
		bool up, carrier, reborn; /* as last worked out */
		int ignore_linkdown4, ignore_linkdown6;
	} fib;
};

/* An own address, or a proxied one: what matters is that the kernel has it. */
struct host_addr {
	UT_hash_handle hh;
	struct neigh_key key;
	__u32 generation;
};

struct rule {
	UT_hash_handle hh;
	struct rule_key {
		__u32 family, priority, table;
		__u8 action, selective, reserved[2];
	} key;
	__u32 count; /* rules that look alike in what we keep */
	__u32 dumped; /* ... counted in the dump under way */
};

struct nexthop {
	UT_hash_handle hh;
	__u32 id;
	struct nexthop_event *ev;
	bool gone;	      /* the kernel has it no more, it waits for the routes only */
	struct settle settle; /* it was deleted */
	__u32 generation;
};

/* What has no notification: read by the daemon, compared every second. */
struct settings {
	int rp_filter_all, send_redirects_all;
	int ip_forward_use_pmtu, fib_multipath_use_neigh;
	int hash_policy4, hash_policy6;
	int forwarding6_all;
};

/* Called after the model has changed. Pointers are valid during the call. */
struct model_hooks {
	void (*prefix)(void *arg, enum family family, __u32 node, __u8 above);
	void (*link)(void *arg, struct link *link, bool gone);
	void (*neigh)(void *arg, struct neigh *neigh);
	void (*nexthop)(void *arg, __u32 id);
	void (*own)(void *arg);		   /* own IPv4 addresses */
	void (*policy)(void *arg);	   /* rules, settings, host policy: every interface is to be looked at */
};

/* A set of 64-bit marks: what notifications touched while a table was dumped. */
struct touched {
	__u64 *slot;
	__u32 used, size;
};

struct model {
	struct rib rib[FAMILIES];
	struct path_set paths;
	struct link *links;
	struct host_addr *own, *proxies;
	struct rule *rules;
	struct nexthop *nexthops;
	struct neigh *neighs;
	struct settings settings;
	struct host_policy policy; /* what XDP would bypass and must not */
	/*
	 * Since there was a custom IPv4 rule, local route or realm, the kernel looks every source up
	 * (fib_validate_source()). It never forgets that, nor do we.
	 */
	bool looks_up_sources;

	struct {
		bool dumping, complete; /* complete: was dumped to its end at least once */
		bool partial; /* a dump was begun and none has come to its end since */
		__u32 generation; /* of the dump under way or the last one */
		__u32 done;	  /* generation of the last complete one */
		__u32 order;
		__u64 changes; /* of the dump under way or the last one: what it found different */
		struct touched touched;
	} table[NL_TABLES];

	/*
	 * Routes that found no room here: nothing is known of them, not even what they cover, so the
	 * whole family is the kernel's until a dump fits. overflowed: since the dump under way began.
	 */
	bool full[FAMILIES], overflowed[FAMILIES];
	__u32 wanted;	/* bits of enum nl_table: dump these again, their state may be silently wrong */
	const struct model_hooks *hooks;
	void *hooks_arg;
};

/* max_routes: of each family; address space only, memory follows use. */
#define MODEL_ROUTES 4194304u
int model_init(struct model *m, __u32 max_routes, const struct model_hooks *hooks, void *arg);
void model_done(struct model *m);

/* 0; -ENOMEM: the table is in m->wanted again; -ENOSPC: m->full says so. */
int model_apply(struct model *m, const struct event *ev);

void model_dump_begin(struct model *m, enum nl_table table);
/* Sweeps. After a dump of routes the caller publishes them (fib_flush()), then calls model_settle(). */
void model_dump_end(struct model *m, enum nl_table table);
void model_settle(struct model *m);
/* The dump failed: nothing is swept, what it told is kept. */
void model_dump_abort(struct model *m, enum nl_table table);

void model_set_settings(struct model *m, const struct settings *settings);
void model_set_policy(struct model *m, const struct host_policy *policy);
void model_set_features(struct model *m, __u32 ifindex, bool xmit, bool sg);
/* What the kernel does not announce of an interface. */
struct link_settings {
	int send_redirects, disable_ipv6, mtu6;
};
void model_set_link_settings(struct model *m, __u32 ifindex, const struct link_settings *settings);

struct link *model_link(const struct model *m, __u32 ifindex);
/* NULL also for one that was deleted a moment ago, whether or not it is there again. */
struct nexthop *model_nexthop(const struct model *m, __u32 id);
struct neigh *model_neigh(const struct model *m, enum family f, __u32 ifindex, struct addr addr);
/* Makes it if the kernel has none yet (a gateway that nobody has asked for). NULL: no memory. */
struct neigh *model_neigh_get(struct model *m, enum family f, __u32 ifindex, struct addr addr);
/* Frees it if the kernel has none and nothing in fib/ refers to it. */
void model_neigh_put(struct model *m, struct neigh *neigh);

/* Whether prefixes that are marked dirty have to wait for more of a dump. */
bool model_routes_partial(const struct model *m, enum family family);

/* Whether the rules of a family are the kernel's default ones; else *priority is that of a strange one. */
bool model_rules_default(const struct model *m, enum family family, __u32 *priority);

/* route.c */
int model_apply_route(struct model *m, const struct event *ev);
void model_look_up_sources(struct model *m);
bool model_has_ip4_addr(const struct model *m, __u32 ifindex);
/* Hosts that stay in the kernel whatever its routes say: `table` and `type` are XFIB_TABLE_* and PATH_*. */
struct host_mark {
	enum family family;
	enum xfib_table table;
	__u8 type;
};
int model_mark_host(struct model *m, struct host_mark mark, struct addr addr);
void model_unmark_host(struct model *m, struct host_mark mark, struct addr addr);
void model_sweep_routes(struct model *m, enum family family);
void model_set_full(struct model *m, enum family family, bool full);

/* touched.c */
bool touched_add(struct touched *t, __u64 mark); /* false: no memory */
bool touched_has(const struct touched *t, __u64 mark);
void touched_clear(struct touched *t);
__u64 touched_mark(const void *data, size_t len);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xfibd: one thread and an event loop that moves the kernel's state into the maps. Each part below
 * owns one arrow of the data flow:
 *
 *   sync.c	sockets -> model: notifications, dumps, when to dump again
 *   publish.c	rows of the fib -> maps of one or, during a switch, two generations
 *   grace.c	the helper thread that waits for grace periods, and touches nothing else
 *   ports.c	the loader's intents, device features -> model and fib
 *   settings.c	sysctls that have no notification -> model
 *   policy.c	netfilter, IPsec, traffic control: what XDP would bypass -> model
 *   refresh.c	hit marks -> neighbour probes
 *   deadman.c	the deadline that keeps the fast path on
 *   status.c	everything -> the status map, for people
 */
#pragma once

#include <stdbool.h>

#include "common/log.h"
#include "fib/engine.h"
#include "fib/fib.h"
#include "loader/attach.h"
#include "loop.h"
#include "netlink/hostpolicy.h"
#include "netlink/nl.h"
#include "netlink/xdpfeat.h"

/* As --engine has it. AUTO: by the number of prefixes of a family. */
enum engine_choice { ENGINE_AUTO, ENGINE_LPM, ENGINE_TRIE };

struct options {
	const char *name;
	enum engine_choice engine;
	__u32 trie_max; /* bytes of each compiled trie, a power of two */
	unsigned int hold_s;
	struct capacity capacity;
	bool drop_blackhole;
	bool allow_bypass[POLICY_KINDS];
	int rcvbuf;
	char **ifnames;
	unsigned int ifnames_count;
};

/* One generation that rows go to. */
struct target {
	struct generation *gen;
	const struct engine_ops *ops[FAMILIES];
	struct engine *engine[FAMILIES];
};

struct publish {
	const struct instance *instance;
	struct fib *fib;
	bool adopting;	 /* ports still use what an earlier daemon left */
	__u64 dflt[FAMILIES]; /* ... then this is what the default routes become with the sweep, 0: as they are */
	struct target target[2]; /* [1] only while a new generation is filled */
	unsigned int targets;
};

struct sync {
	struct nl_monitor *control, *neighbours;
	struct nl_dump *dump;
	struct nl_query *query;
	__u32 pending;	  /* bits of enum nl_table: to be dumped */
	int current;	  /* enum nl_table under way, -1: none */
	bool lost;	  /* notifications were lost and not all was dumped again yet */
	__u32 unread;	  /* bits: of sockets that lost messages and hold older ones still */
	bool look;	  /* a link or address changed: look at the settings too */
	bool tell;	  /* what status gives reasons by has changed */
	__u32 idle;	  /* bits: dumped although nothing is known to be behind (poll, audit) */
	__u32 audit;	  /* bits: ... and what such a dump finds different is drift */
	unsigned int failures; /* in a row: backs off */
	__u64 started_ns; /* the dump under way */
	__u64 not_before_ns[NL_TABLES]; /* a dump may not take more than a part of the time */
	struct log_limit limit;
	struct watch *on_control, *on_neighbours, *on_dump, *on_retry;
};

struct grace;
struct policy;
struct ports;

struct daemon {
	struct options opt;
	struct loop *loop;
	struct watch *on_second, *on_beat, *on_audit, *on_term, *on_int;
	struct instance *instance;
	struct generation *gen;
	struct generation *old_gen; /* of the ports, while `gen` is filled for the first time; else NULL */
	__u64 switch_after_ns;	    /* a switch that failed is not tried again before */
	struct model model;
	struct fib fib;
	struct publish publish;
	struct sync sync;
	struct grace *grace;
	struct ports *ports;
	struct policy *policy;
	bool adopted;	  /* the maps were in use before us */
	int failed;	  /* why it leaves: -errno */
	__u64 start_ns, synced_ms;
	__u64 extended_ns; /* when the deadline was moved last, 0: fast path off */
	__u64 generation, resyncs, drift;
	struct room {
		bool full; /* as the log has it */
		__u64 logged_ns;
	} room4, room6, nexthop_room, neigh_room;
	__u64 lag_us;	  /* longest turn since the last status */
};

__u64 now_ns(void); /* CLOCK_MONOTONIC */

/* sync.c */
int sync_start(struct daemon *d);
void sync_stop(struct daemon *d);
/* Dumps these tables again as soon as their turn comes. */
void sync_want(struct daemon *d, __u32 tables);
/* The same without a reason: a poll or an audit. The state stays synced meanwhile. */
void sync_idle(struct daemon *d, __u32 tables, bool audit);
/* Reads both notification sockets until they are empty; false if messages were lost or are left. */
bool sync_drain(struct daemon *d);
/* What is known to be behind the kernel; 0 if nothing is. */
__u32 sync_behind(const struct daemon *d);
#define SYNC_ALL ((1u << NL_TABLES) - 1)

/* publish.c */
extern const struct fib_sink publish_sink;
/* -EPROTO: the maps hold what no engine can make sense of. */
int publish_open(struct publish *p, const struct instance *instance, struct generation *gen, struct fib *fib);
void publish_close(struct publish *p);
/* Rows go to `gen` too from now on, beginning with all that there are. */
int publish_add(struct publish *p, struct generation *gen);
/* Rows go to the newest generation only. The old one is the caller's to free. */
void publish_drop_old(struct publish *p);
void publish_drop_new(struct publish *p); /* the other way round; nothing was added is fine */
/* From now on until the sweep the tables are those of an earlier daemon. */
void publish_adopt(struct publish *p);
/* Deletes what a dead daemon left in the maps and the fib does not have. */
long publish_sweep(struct publish *p);
/* What the engine of a family has and needs, in the generation that ports use. */
struct engine_room publish_room(const struct publish *p, enum family family);
void publish_heal(struct publish *p);
bool publish_grace_begin(struct publish *p);
void publish_grace_end(struct publish *p);

/* grace.c */
int grace_start(struct daemon *d);
void grace_stop(struct daemon *d);
void grace_request(struct daemon *d); /* after each batch: starts a grace period if one is of use */

/* ports.c */
int ports_start(struct daemon *d);
void ports_stop(struct daemon *d);
void ports_update(struct daemon *d);

/* settings.c */
void settings_update(struct daemon *d);

/* policy.c */
int policy_start(struct daemon *d);
void policy_stop(struct daemon *d);
void policy_update(struct daemon *d); /* looks at everything */
void policy_drain(struct daemon *d);  /* looks at what was announced to have changed */
/* The ports' ifindexes as they will be: what is configured there is known before they forward. */
void policy_set_ports(struct daemon *d, const __u32 ifindex[XFIB_PORTS]);
/*
 * Fills reason[n] and up with what else was found for the family, first what is bypassed all the same.
 * Returns the new n.
 */
unsigned int policy_notes(const struct daemon *d, enum family family, char reason[4][XFIB_REASON], unsigned int n);

/* refresh.c */
void refresh_neighbours(struct daemon *d);

/* deadman.c */
void deadman_extend(struct daemon *d); /* if everything was drained and is synced */
void deadman_off(struct daemon *d);

/* status.c */
void status_update(struct daemon *d);
void status_leave(struct daemon *d);

/*
 * switch.c. Before anything is published: the tables to fill become those that the options and the
 * number of prefixes ask for; then, when they are filled, the ports move there.
 */
void switch_prepare(struct daemon *d);
void switch_finish(struct daemon *d);
/* The same with tables in use: at most once a second. */
void switch_tables(struct daemon *d);

/* main.c: called when the last wanted dump is complete. */
void daemon_synced(struct daemon *d);
/* Ends a batch of changes. */
void daemon_commit(struct daemon *d);

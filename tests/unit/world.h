/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A router in memory: a naive kernel, what the daemon makes of its messages (model, fib), and the maps
 * (sink). Random operations drive the kernel. After every row that is written, every probe address must be
 * answered as the kernel answered at some time since the last world_settle(), or be left to the kernel;
 * when all messages are delivered, world_check() wants the answers to be the kernel's exactly.
 */
#pragma once

#include "naive.h"
#include "sink.h"

enum {
	WORLD_PROBES = 48,
	WORLD_HOPS = 96,
	WORLD_PORTS = 5,
	WORLD_QUEUE = 4096,
};

struct hops {
	struct sink_hop hop[WORLD_HOPS];
	unsigned int n;
};

struct probe {
	enum family family;
	struct addr addr;
	struct hops allowed;
};

struct records {
	struct xfib_l3if record[32];
	unsigned int n;
};

struct world {
	__u64 seed, rng;
	unsigned int step;
	char op[160]; /* the last operation, for the report of a failure */

	struct naive k;
	struct model m;
	struct fib fib;
	struct sink *sink;
	bool live;	       /* the daemon is there */
	bool dropping;	       /* --drop-blackhole */
	unsigned int capacity; /* prefixes of a family */
	bool loose;	    /* messages of several sockets: what they say of one packet may mix */
	bool partly;	    /* tables are too small: the answer may be a punt instead */
	bool no_neighbours; /* ... among them those of neighbours and interfaces */
	unsigned int busy;  /* routes of a family to be kept to */
	bool flapping;	    /* links come and go often, and neighbours are there at once */
	bool narrow;	    /* world_narrow() */

	struct fib_port port[WORLD_PORTS];
	struct probe probe[WORLD_PROBES];
	struct records allowed[WORLD_PORTS];
	struct event *queue[WORLD_QUEUE]; /* notifications on their way */
	unsigned int head, tail;
	bool graceful; /* a grace period is pending */
};

struct world *world_new(__u64 seed);
void world_free(struct world *w);
void world_narrow(
	struct world *w); /* before it starts: prefixes within each other, probes between them */

/* The daemon starts: dumps everything, takes over the maps if they were in use, publishes. */
void world_start(struct world *w);
void world_stop(struct world *w); /* it is gone without a word */

unsigned int world_random(struct world *w, unsigned int n); /* 0..n - 1 */
bool world_chance(struct world *w, unsigned int percent);
struct addr world_addr(struct world *w, enum family family);
struct naive_route world_route(struct world *w, enum family family); /* without siblings */

/* One random operation of the kernel or of its surroundings; what it makes possible is allowed from now on. */
void world_op(struct world *w);
/* The same, but routes only. */
void world_route_op(struct world *w);
/* All neighbours on a device answer. */
void world_greet(struct world *w, int ifindex);
/* Whatever changed aside (w->k, w->port): allowed from now on. */
void world_allow(struct world *w);
/* Nothing but what the kernel says now is allowed any more. */
void world_settle(struct world *w);

/* Takes the oldest notification to the model; false: there is none. */
bool world_deliver(struct world *w);
void world_lose(struct world *w, unsigned int keep); /* all that are on their way but the oldest */
/* What the daemon looks at besides: settings, ports, features. Then commits. */
void world_commit(struct world *w);
/* Dumps what the model wants until it wants nothing. Notifications must be delivered before. */
void world_dump(struct world *w);
/* The same in steps of the caller's: the next table, -1 if there is none; and what the daemon does at its end. */
int world_wanted(const struct world *w);
void world_dump_end(struct world *w, enum nl_table table);
/* Dumps everything once more: nothing may be different, nor be answered differently. */
void world_audit(struct world *w);
struct event *world_keep(const struct event *ev); /* a copy, to be freed */
/* Begins or ends a grace period. */
void world_grace(struct world *w);

void world_on_row(void *arg); /* what a live sink calls: checks every probe */
void world_check_probe(struct world *w, const struct probe *p);
void world_check(struct world *w);
void world_check_leaks(struct world *w); /* ends pending grace periods */
__attribute__((noreturn, format(printf, 2, 3))) void world_fail(struct world *w, const char *format,
								...);

/*
 * In the environment: SEED=n runs that seed alone, SEED=first-last all from one to the other; LENGTH=n
 * makes each history n times as long; TRACE=1 prints the operations.
 */
void world_seeds(__u64 first, unsigned int n, void (*run)(__u64 seed));
unsigned int world_length(unsigned int steps);

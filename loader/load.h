/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Owns what is pinned: the maps of an instance, its table generations, the programs. The pins are
 * the only interface between the programs of xfib.
 *
 *   XFIB_PIN_ROOT/NAME/{meta,intent,status,ctl,counters,tx}	the instance
 *   XFIB_PIN_ROOT/NAME/tx-component				tx once more, see object.h
 *   XFIB_PIN_ROOT/NAME/links/IFNAME				direct attachments ('.' in a name is written ':')
 *   XFIB_PIN_ROOT/NAME/gen-N/{ports,l3ifs,...,hits,grace}	the tables of generation N
 *   XFIB_PIN_ROOT/NAME/gen-N/twin-SLOT			the twin of port SLOT (never attached)
 *
 * Invariants: meta.generation names a complete generation; a half-made one (killed in between) is
 * recognised (its directory is not the one meta names) and removed by the next writer; nothing is
 * flushed that a running program reads. All changes are made under the lock, from any process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

enum xfib_map {
#define XFIB_MAP_ENUM(name, generation) XFIB_MAP_##name,
	XFIB_MAPS(XFIB_MAP_ENUM)
#undef XFIB_MAP_ENUM
	XFIB_MAP_COUNT
};

/* One line for people, set by every loader function that fails: what, why, what to do. */
struct load_error {
	char text[XFIB_ERROR];
};

/* What a table generation is made for. */
struct capacity {
	__u32 routes4, routes6; /* prefixes; the LPM tries get some headroom for PASS markers on top */
	__u32 trie4, trie6;	/* bytes of the compiled tries, powers of two; 0: that family is in its LPM trie */
};
#define CAPACITY_ROUTES4 2097152u
#define CAPACITY_ROUTES6 1048576u
#define CAPACITY_HEADROOM 1024u

/* The tables of one generation, open. Pointers are into shared memory; read-only if opened so. */
struct generation {
	unsigned int number;
	struct capacity capacity;
	int fd[XFIB_MAP_COUNT]; /* only those of a generation, others -1 */
	struct xfib_port *ports;
	struct xfib_l3if *l3ifs;
	__u64 *own4;
	__u32 *trie_roots;
	__u8 *trie4, *trie6;
	struct xfib_nexthop *nexthops;
	struct xfib_nexthop *members;
	struct xfib_neigh *neighs;
	__u32 *hits;
};

struct instance {
	char name[64];
	int fd[XFIB_MAP_COUNT]; /* only those of the instance */
	struct xfib_meta meta;	/* as read when opened */
	struct xfib_ctl *ctl;
	struct xfib_status *status;
	bool writable;
};

/* Why an instance cannot be used; the caller's exit code and words depend on it. */
enum { LOAD_OK = 0 /* else -errno: -ENOENT no such instance, -EPERM, -EPROTO incompatible pins, ... */ };

/* NAME: letters, digits, '-' and '_', at most 63. (The BPF file system refuses names with a dot.) */
bool instance_name_ok(const char *name);

/*
 * Opens an existing instance read-only (for the CLI). -ENOENT if there is none, -EPROTO if its ABI is
 * another one, -EREMOTE if its network namespace is.
 */
int instance_open(const char *name, struct instance **instance, struct load_error *err);

/*
 * Opens it for writing, making it (bpffs mounted if it is not, directories, instance maps, a first
 * generation of this capacity, meta last) if there is none, or what is there is left of a namespace that
 * is gone. An existing one is adopted as it is.
 */
int instance_create(const char *name, const struct capacity *capacity, struct instance **instance,
		    struct load_error *err);
void instance_free(struct instance *instance); /* closes; leaves the pins */

/* Removes all pins of an instance that has no port and no daemon. */
int instance_remove(const char *name, struct load_error *err);

/* XFIB_RUN_ROOT/NAME/lock, taken and released by the functions below by themselves; recursive in one
 * process. The daemon's own lock (daemon.lock) says that there is one: -EBUSY if it is taken. */
int instance_lock_daemon(const struct instance *instance, int *fd, struct load_error *err);

/* Re-reads meta (another process may have switched the generation). */
int instance_refresh(struct instance *instance);

int generation_open(const struct instance *instance, unsigned int number, bool writable,
		    struct generation **gen, struct load_error *err);
void generation_free(struct generation *gen); /* closes and unmaps; leaves the pins */

/*
 * Makes the next generation, empty, beside the current one; it is not used by any port yet. Removes
 * the remains of a half-made one first.
 */
int generation_create(const struct instance *instance, const struct capacity *capacity,
		      struct generation **gen, struct load_error *err);

/*
 * Moves every attached port to programs of `gen`, each atomically, after the self-test of each twin;
 * then meta.generation = gen's, then, after a grace period, the old generation's pins are removed.
 * If a step fails the ports already moved are moved back and `gen` is removed: all is as before.
 */
int generation_switch(struct instance *instance, const struct generation *gen, struct load_error *err);

/* Waits until every program that was running when it was called has ended. Blocks (microseconds with
 * expedited RCU, else milliseconds). */
int generation_grace(const struct generation *gen);

/* The kernel's jiffies64 now, and its HZ. The clock program is loaded on first use. */
int clock_jiffies(__u64 *jiffies);
unsigned int clock_hz(void);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A FIB engine: how the prefixes of one family lie in maps, behind one interface. Its reader is
 * bpf/fib4.h or fib6.h. An engine may queue what it is told until flush. What it cannot store is a PASS
 * marker of its own, or is reported before anything that was set later is written; what is set by
 * then, in turn, comes before all that is queued. The caller deletes a reported prefix when it is
 * covered: an old leaf may be there.
 */
#pragma once

#include "abi.h"
#include "common/addr.h"
#include "model/rib.h"

struct engine;

typedef void (*engine_failed_fn)(void *arg, enum family family, struct addr prefix, unsigned int len);
/* Returns true if the prefix is to be deleted. */
typedef bool (*engine_stale_fn)(void *arg, enum family family, struct addr prefix, unsigned int len);

/* The maps of one family in one generation, and where their content comes from; all stay the caller's. */
struct engine_tables {
	enum family family;
	int lpm;		/* fd of the LPM trie */
	void *trie;		/* the compiled trie's memory, NULL: none */
	__u32 trie_bytes;	/* a power of two */
	__u32 *trie_root;
	const struct rib *rib;	/* what is installed there is what was told, at any time */
	engine_failed_fn failed;
	void *arg;
};

/* bytes: kernel memory; of these `used`, if the engine cannot do with more than it was given. */
struct engine_room {
	__u64 bytes, used;
	__u64 markers; /* PASS markers for want of room */
};

struct engine_ops {
	enum xfib_engine id;
	const char *name;

	/* What the maps hold already is kept until `sweep`. 0, -ENOMEM; -EPROTO: it cannot be made sense of. */
	int (*new)(const struct engine_tables *tables, struct engine **engine);
	void (*free)(struct engine *engine); /* NULL is fine */

	/* Replaces or adds, removes. */
	void (*set)(struct engine *engine, __u32 fib, struct addr prefix, unsigned int len, __u32 value);
	void (*del)(struct engine *engine, __u32 fib, struct addr prefix, unsigned int len);
	bool (*flush)(struct engine *engine); /* false: it is being written already, and reporting */

	/*
	 * Deletes what was in the maps from before and `stale` picks, shortest first. Returns how many
	 * prefixes; -errno: the map could not be read to its end, and nothing was deleted.
	 */
	long (*sweep)(struct engine *engine, engine_stale_fn stale, void *arg);

	struct engine_room (*room)(const struct engine *engine, __u32 prefixes);
	/* These may be NULL. Tries again what is a marker for want of room. */
	void (*heal)(struct engine *engine);
	/* As fib_grace_begin() and fib_grace_end(). */
	bool (*grace_begin)(struct engine *engine);
	void (*grace_end)(struct engine *engine);
};

extern const struct engine_ops engine_lpm, engine_trie;

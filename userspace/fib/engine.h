/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A FIB engine: how the prefixes of one family lie in maps, behind one interface. Its reader is
 * bpf/fib4.h or fib6.h. An engine may queue what it is told until flush. Whatever it cannot store is
 * reported before anything that was set later is written; what is set by then, in turn, comes before
 * all that is queued. The caller deletes the prefix when it is covered: an old leaf may be there.
 */
#pragma once

#include "abi.h"
#include "common/addr.h"

struct engine;

typedef void (*engine_failed_fn)(void *arg, enum family family, struct addr prefix, unsigned int len);
/* Returns true if the prefix is to be deleted. */
typedef bool (*engine_stale_fn)(void *arg, enum family family, struct addr prefix, unsigned int len);

struct engine_ops {
	enum xfib_engine id;
	const char *name;

	/* fd: of the engine's map in one generation; it stays the caller's. NULL: no memory. */
	struct engine *(*new)(enum family family, int fd, engine_failed_fn failed, void *arg);
	void (*free)(struct engine *engine); /* NULL is fine */

	void (*set)(struct engine *engine, __u32 fib, struct addr prefix, unsigned int len, __u32 value);
	void (*del)(struct engine *engine, __u32 fib, struct addr prefix, unsigned int len);
	bool (*flush)(struct engine *engine); /* false: it is being written already, and reporting */

	/*
	 * Deletes the prefixes that `stale` picks among all in the map, shortest first. Returns how many;
	 * -errno: the map could not be read to its end, and nothing was deleted.
	 */
	long (*sweep)(struct engine *engine, engine_stale_fn stale, void *arg);

	/* Kernel memory for this many prefixes, in bytes. */
	__u64 (*bytes)(enum family family, __u32 prefixes);
};

extern const struct engine_ops engine_lpm;

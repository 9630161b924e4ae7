// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The trie engine: keeps a compiled trie (trie.h) equal to the RIB. Told prefixes are only noted; the
 * flush compiles what is inside them as the RIB has it then, many at once as one pass over everything.
 *
 * What an earlier process left is used as it is until the sweep, in one pass: the RIB is not complete before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "trie.h"

enum { QUEUE = 8192 }; /* more prefixes than that take longer one by one */

struct queued {
	struct addr prefix;
	__u8 len;
};

struct engine {
	struct trie_pool pool;
	struct trie trie;
	__u32 bytes;
	bool hold;     /* packets go by what was there before us */
	bool all;      /* everything may have changed */
	__u32 full_at; /* blocks that were in use when something found no room last */
	__u32 queued;
	struct queued queue[QUEUE];
};

static void compiled_free(struct engine *e)
{
	if (e)
		trie_pool_done(&e->pool);
	free(e);
}

static int compiled_new(const struct engine_tables *tables, struct engine **engine)
{
	struct engine *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->bytes = tables->trie_bytes;
	e->trie = (struct trie){ .pool = &e->pool, .rib = tables->rib, .root = tables->trie_root };
	err = trie_pool_init(&e->pool, tables->trie, tables->trie_bytes);
	e->hold = *tables->trie_root;
	if (!err && e->hold && !trie_adopt(&e->trie))
		err = -EPROTO;
	if (err) {
		compiled_free(e);
		return err;
	}
	*engine = e;
	return 0;
}

static void note(struct engine *e, __u32 fib, struct addr prefix, unsigned int len)
{
	struct queued *last = e->queued ? &e->queue[e->queued - 1] : NULL;

	if (e->hold || e->all || (last && last->len == len && addr_equal(last->prefix, prefix)))
		return;
	e->all = e->queued == QUEUE;
	if (!e->all)
		e->queue[e->queued++] = (struct queued){ prefix, len };
}

static void compiled_set(struct engine *e, __u32 fib, struct addr prefix, unsigned int len,
			 __u32 value)
{
	note(e, fib, prefix, len);
}

static void compile_all(struct engine *e)
{
	e->trie.starved = 0;
	trie_update(&e->trie, (struct addr){}, 0);
}

static bool compiled_flush(struct engine *e)
{
	if (e->all)
		compile_all(e);
	else
		for (__u32 i = 0; i < e->queued; i++)
			trie_update(&e->trie, e->queue[i].prefix, e->queue[i].len);
	e->queued = 0;
	e->all = false;
	if (!e->trie.starved || !e->full_at)
		e->full_at = e->trie.starved ? e->pool.blocks.used : 0;
	return true;
}

static long compiled_sweep(struct engine *e, engine_stale_fn stale, void *arg)
{
	e->hold = false;
	compile_all(e);
	return 0;
}

static struct engine_room compiled_room(const struct engine *e, __u32 prefixes)
{
	return (struct engine_room){
		.bytes = e->bytes,
		.used = (__u64)e->pool.blocks.used * XFIB_TRIE_UNIT,
		.markers = e->trie.starved,
	};
}

static void compiled_heal(struct engine *e)
{
	if (!e->trie.starved || e->hold || e->pool.blocks.used >= e->full_at)
		return;
	compile_all(e);
	e->full_at = e->trie.starved ? e->pool.blocks.used : 0;
}

static bool compiled_grace_begin(struct engine *e)
{
	return buddy_close(&e->pool.blocks);
}

static void compiled_grace_end(struct engine *e)
{
	buddy_free(&e->pool.blocks);
}

const struct engine_ops engine_trie = {
	.id = XFIB_ENGINE_TRIE,
	.name = "trie",
	.new = compiled_new,
	.free = compiled_free,
	.set = compiled_set,
	.del = note,
	.flush = compiled_flush,
	.sweep = compiled_sweep,
	.room = compiled_room,
	.heal = compiled_heal,
	.grace_begin = compiled_grace_begin,
	.grace_end = compiled_grace_end,
};

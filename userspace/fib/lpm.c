// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The lpm engine: BPF_MAP_TYPE_LPM_TRIE, one map a family. Updates are queued and written in batches,
 * in the order in which they came; a deletion first writes what is queued. The kernel replaces a
 * prefix by one pointer store, so a reader sees the old leaf or the new one.
 *
 * A prefix that cannot be stored is reported at once, and the markers that this leads to overtake the
 * queue: else its addresses would meet what a prefix that covers it is about to become.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { QUEUE = 4096 };

struct engine {
	enum family family;
	int fd;
	engine_failed_fn failed;
	void *arg;
	size_t key_size;
	bool no_batch; /* the kernel has no batches for this map type */
	bool writing;
	__u32 queued, written;
	__u32 value[QUEUE];
	__u8 key[QUEUE * sizeof(struct xfib_lpm6)];
};

static int lpm_new(const struct engine_tables *tables, struct engine **engine)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->family = tables->family;
	e->fd = tables->lpm;
	e->failed = tables->failed;
	e->arg = tables->arg;
	e->key_size = e->family == IP4 ? sizeof(struct xfib_lpm4) : sizeof(struct xfib_lpm6);
	*engine = e;
	return 0;
}

static void lpm_free(struct engine *e)
{
	free(e);
}

static void key_make(const struct engine *e, void *key, __u32 fib, struct addr prefix,
		     unsigned int len)
{
	struct xfib_lpm6 k = { .prefixlen = XFIB_LPM_FIB_BITS + len, .fib = fib };

	/* Both keys begin alike; the IPv4 one is shorter. */
	addr_to_bytes(e->family, prefix, k.addr);
	memcpy(key, &k, e->key_size);
}

static void key_read(const struct engine *e, const void *key, struct addr *prefix,
		     unsigned int *len)
{
	struct xfib_lpm6 k = {};

	memcpy(&k, key, e->key_size);
	*prefix = addr_from_bytes(e->family, k.addr);
	*len = k.prefixlen - XFIB_LPM_FIB_BITS;
}

/*
 * Newer kernels refuse to wait for a contended lock. What cannot be deleted would forward on, so it
 * becomes a marker; a map that takes neither is a state that nothing here can answer for, and
 * without this process the dead-man switch leaves all packets to the kernel.
 */
static void remove_key(struct engine *e, const void *key)
{
	const __u32 marker = XFIB_LEAF_VALUE(XFIB_PUNT_CAPACITY, XFIB_TABLE_MARKER);
	int err = -EBUSY;

	for (int i = 0; err && err != -ENOENT && i < 3; i++)
		err = bpf_map_delete_elem(e->fd, key);
	if (err && err != -ENOENT && bpf_map_update_elem(e->fd, key, &marker, BPF_EXIST))
		abort();
}

/* Reports the prefix if it does not go in; an old leaf stays, for the caller to delete. */
static void write_one(struct engine *e, const void *key, __u32 value)
{
	int err = bpf_map_update_elem(e->fd, key, &value, BPF_ANY);
	struct addr prefix;
	unsigned int len;

	/* A fresh allocation may fail once under memory pressure and succeed at once after. */
	if (err == -ENOMEM)
		err = bpf_map_update_elem(e->fd, key, &value, BPF_ANY);
	if (!err)
		return;
	key_read(e, key, &prefix, &len);
	e->failed(e->arg, e->family, prefix, len);
}

/* How many of the n from `i` on went in. The kernel stops at the first that does not. */
static __u32 write_batch(struct engine *e, __u32 i, __u32 n)
{
	__u32 done = n;
	int err = bpf_map_update_batch(e->fd, e->key + i * e->key_size, &e->value[i], &done, NULL);

	if (!err)
		return n;
	if (err == -ENOTSUP || err == -524 /* ENOTSUPP, which is the kernel's own */ ||
	    err == -EINVAL) {
		e->no_batch = true;
		return 0;
	}
	return done < n ? done : 0;
}

static bool lpm_flush(struct engine *e)
{
	if (e->writing)
		return false;
	e->writing = true;
	while (e->written < e->queued) {
		if (!e->no_batch && e->queued - e->written > 1)
			e->written += write_batch(e, e->written, e->queued - e->written);
		if (e->written < e->queued) {
			__u32 i = e->written++;

			write_one(e, e->key + i * e->key_size, e->value[i]);
		}
	}
	e->queued = e->written = 0;
	e->writing = false;
	return true;
}

/* From `failed`: in the place of what waits in the queue, or else at once. */
static void overtake(struct engine *e, const void *key, __u32 value)
{
	bool waits = false;

	for (__u32 i = e->written; i < e->queued; i++)
		if (!memcmp(e->key + i * e->key_size, key, e->key_size)) {
			e->value[i] = value;
			waits = true;
		}
	if (!waits)
		write_one(e, key, value);
}

static void lpm_set(struct engine *e, __u32 fib, struct addr prefix, unsigned int len, __u32 value)
{
	struct xfib_lpm6 key;

	key_make(e, &key, fib, prefix, len);
	if (e->writing) {
		overtake(e, &key, value);
		return;
	}
	memcpy(e->key + e->queued * e->key_size, &key, e->key_size);
	e->value[e->queued++] = value;
	if (e->queued == QUEUE)
		lpm_flush(e);
}

static void lpm_del(struct engine *e, __u32 fib, struct addr prefix, unsigned int len)
{
	struct xfib_lpm6 key;

	lpm_flush(e);
	key_make(e, &key, fib, prefix, len);
	remove_key(e, &key);
}

struct stale {
	struct xfib_lpm6 *key;
	size_t n, size;
};

static int by_length(const void *a, const void *b)
{
	const struct xfib_lpm6 *x = a, *y = b;

	return (int)x->prefixlen - (int)y->prefixlen;
}

/* 0, -ENOENT behind the last one. The kernel allocates for it without waiting, which may fail. */
static int next_key(const struct engine *e, const void *key, void *next)
{
	int err = -ENOMEM;

	for (int i = 0; err == -ENOMEM && i < 100; i++)
		err = bpf_map_get_next_key(e->fd, key, next);
	return err;
}

static bool add_stale(struct stale *list, const struct xfib_lpm6 *key)
{
	if (list->n == list->size) {
		size_t size = list->size ? 2 * list->size : 1024;
		struct xfib_lpm6 *grown = realloc(list->key, size * sizeof(*grown));

		if (!grown)
			return false;
		list->key = grown;
		list->size = size;
	}
	list->key[list->n++] = *key;
	return true;
}

/* get_next_key on a trie walks in post-order and is stable while nothing is changed. */
static int find_stale(const struct engine *e, engine_stale_fn stale, void *arg, struct stale *list)
{
	struct xfib_lpm6 key = {}, last;
	struct addr prefix;
	unsigned int len;
	int err;

	for (err = next_key(e, NULL, &key); !err; err = next_key(e, &last, &key)) {
		last = key;
		key_read(e, &key, &prefix, &len);
		if (stale(arg, e->family, prefix, len) && !add_stale(list, &key))
			return -ENOMEM;
	}
	return err == -ENOENT ? 0 : err;
}

static long lpm_sweep(struct engine *e, engine_stale_fn stale, void *arg)
{
	struct stale list = {};
	int err;

	lpm_flush(e);
	err = find_stale(e, stale, arg, &list);
	if (!err && list.n) /* qsort() takes no NULL */
		qsort(list.key, list.n, sizeof(*list.key), by_length);
	for (size_t i = 0; !err && i < list.n; i++)
		remove_key(e, &list.key[i]);
	free(list.key);
	return err ? err : (long)list.n;
}

/*
 * Slab bytes a prefix, leaf and fork together, measured on kernel 6.18 with full Internet tables: the
 * map's memlock counts neither forks nor slab rounding.
 */
static struct engine_room lpm_room(const struct engine *e, __u32 prefixes)
{
	return (struct engine_room){ .bytes = (e->family == IP4 ? 131ull : 141ull) * prefixes };
}

const struct engine_ops engine_lpm = {
	.id = XFIB_ENGINE_LPM,
	.name = "lpm",
	.new = lpm_new,
	.free = lpm_free,
	.set = lpm_set,
	.del = lpm_del,
	.flush = lpm_flush,
	.sweep = lpm_sweep,
	.room = lpm_room,
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The lpm engine: BPF_MAP_TYPE_LPM_TRIE, one map a family. Updates are queued and written in batches,
 * in the order in which they came; a deletion first writes what is queued. The kernel replaces a
 * prefix by one pointer store, so a reader sees the old leaf or the new one.
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
	bool flushing;
	__u32 queued;
	__u32 value[QUEUE];
	__u8 key[QUEUE * sizeof(struct xfib_lpm6)];
	struct xfib_lpm6 *lost; /* could not be stored, to be reported when the queue is empty */
	size_t losts, lost_size;
};

static struct engine *lpm_new(enum family family, int fd, engine_failed_fn failed, void *arg)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->family = family;
	e->fd = fd;
	e->failed = failed;
	e->arg = arg;
	e->key_size = family == IP4 ? sizeof(struct xfib_lpm4) : sizeof(struct xfib_lpm6);
	return e;
}

static void lpm_free(struct engine *e)
{
	if (e)
		free(e->lost);
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

/* An old leaf stays until the caller has seen to what covers the prefix: it deletes it then. */
static void give_up(struct engine *e, const void *key)
{
	struct xfib_lpm6 *grown;

	if (e->losts == e->lost_size) {
		e->lost_size = e->lost_size ? 2 * e->lost_size : 256;
		grown = realloc(e->lost, e->lost_size * sizeof(*grown));
		if (!grown)
			abort(); /* a prefix that is neither stored nor known to be lost would misroute */
		e->lost = grown;
	}
	memcpy(&e->lost[e->losts++], key, e->key_size);
}

static void write_one(struct engine *e, __u32 i)
{
	const void *key = e->key + i * e->key_size;
	int err = bpf_map_update_elem(e->fd, key, &e->value[i], BPF_ANY);

	/* A fresh allocation may fail once under memory pressure and succeed at once after. */
	if (err == -ENOMEM)
		err = bpf_map_update_elem(e->fd, key, &e->value[i], BPF_ANY);
	if (err)
		give_up(e, key);
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

static void write_queue(struct engine *e)
{
	__u32 n = e->queued, i = 0;

	while (i < n) {
		if (!e->no_batch && n - i > 1)
			i += write_batch(e, i, n - i);
		if (i < n)
			write_one(e, i++);
	}
	e->queued = 0;
}

/* What is reported as lost makes the caller set other prefixes: that may fill the queue again. */
static void lpm_flush(struct engine *e)
{
	write_queue(e);
	if (e->flushing)
		return;
	e->flushing = true;
	while (e->losts) {
		struct addr prefix;
		unsigned int len;

		key_read(e, &e->lost[--e->losts], &prefix, &len);
		e->failed(e->arg, e->family, prefix, len);
		write_queue(e);
	}
	e->flushing = false;
}

static void lpm_set(struct engine *e, __u32 fib, struct addr prefix, unsigned int len, __u32 value)
{
	if (e->queued == QUEUE)
		lpm_flush(e);
	key_make(e, e->key + e->queued * e->key_size, fib, prefix, len);
	e->value[e->queued++] = value;
}

static void lpm_del(struct engine *e, __u32 fib, struct addr prefix, unsigned int len)
{
	struct xfib_lpm6 key;

	lpm_flush(e);
	key_make(e, &key, fib, prefix, len);
	remove_key(e, &key);
}

struct stale_key {
	struct xfib_lpm6 key;
};

static int by_length(const void *a, const void *b)
{
	const struct stale_key *x = a, *y = b;

	return (int)x->key.prefixlen - (int)y->key.prefixlen;
}

static long lpm_sweep(struct engine *e, engine_stale_fn stale, void *arg)
{
	struct stale_key *list = NULL, *grown;
	struct xfib_lpm6 key, next;
	size_t n = 0, size = 0;
	struct addr prefix;
	unsigned int len;
	bool more;

	lpm_flush(e);
	/* get_next_key on a trie walks in post-order and is stable while nothing is changed. */
	for (more = !bpf_map_get_next_key(e->fd, NULL, &key); more; key = next) {
		more = !bpf_map_get_next_key(e->fd, &key, &next);
		key_read(e, &key, &prefix, &len);
		if (!stale(arg, e->family, prefix, len))
			continue;
		if (n == size) {
			size = size ? 2 * size : 1024;
			grown = realloc(list, size * sizeof(*list));
			if (!grown) {
				free(list);
				return -ENOMEM;
			}
			list = grown;
		}
		list[n++].key = key;
	}
	if (n) /* qsort() takes no NULL */
		qsort(list, n, sizeof(*list), by_length);
	for (size_t i = 0; i < n; i++)
		remove_key(e, &list[i].key);
	free(list);
	return n;
}

/*
 * Slab bytes a prefix, leaf and fork together, measured on kernel 6.18 with full Internet tables: the
 * map's memlock counts neither forks nor slab rounding.
 */
static __u64 lpm_bytes(enum family family, __u32 prefixes)
{
	return (family == IP4 ? 131ull : 141ull) * prefixes;
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
	.bytes = lpm_bytes,
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See lpm.h. The kernel walks a trie in post-order from a given key, and from the very first one
 * again if that key is gone: so a first key that turns up again means "the cursor was deleted", and
 * the walk goes on from the last key before it that is still there.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "lpm.h"

enum { BATCH = 4096, RESTARTS = 10 };

union key {
	struct xfib_lpm4 v4;
	struct xfib_lpm6 v6;
};

static size_t key_size(enum family f)
{
	return f == IP4 ? sizeof(struct xfib_lpm4) : sizeof(struct xfib_lpm6);
}

static int map_fd(const struct generation *gen, enum family f)
{
	return gen->fd[f == IP4 ? XFIB_MAP_lpm4 : XFIB_MAP_lpm6];
}

static union key make_key(enum family f, __u32 fib, struct addr a, unsigned int len)
{
	union key key = { 0 };

	key.v4.prefixlen = XFIB_LPM_FIB_BITS + len;
	key.v4.fib = fib;
	addr_to_bytes(f, a, f == IP4 ? (void *)&key.v4.addr : (void *)key.v6.addr);
	return key;
}

static struct route make_route(enum family f, const void *bytes, __u32 value)
{
	const union key *key = bytes;

	return (struct route){
		.addr = addr_from_bytes(f, f == IP4 ? (void *)&key->v4.addr : (void *)key->v6.addr),
		.fib = key->v4.fib,
		.leaf = XFIB_LEAF(value),
		.len = key->v4.prefixlen - XFIB_LPM_FIB_BITS,
		.table = XFIB_LEAF_TABLE(value),
	};
}

struct batch {
	__u8 keys[BATCH * sizeof(struct xfib_lpm6)];
	__u32 values[BATCH];
};

/* Takes a batch up to where the walk began again, if it did. Returns how many, or -errno. */
static int take_batch(struct routes *list, enum family f, const struct batch *b, __u32 count)
{
	struct route route;
	int r;

	for (__u32 i = 0; i < count; i++) {
		route = make_route(f, b->keys + i * key_size(f), b->values[i]);
		if (list->count && !route_compare(&route, &list->route[0]))
			return i;
		r = routes_add(list, &route);
		if (r)
			return r;
	}
	return count;
}

static int walk(struct routes *list, enum family f, int fd, size_t limit)
{
	_cleanup_free_ struct batch *b = malloc(sizeof(*b));
	const struct route *last;
	unsigned int restarts = 0;
	union key cursor, next;
	size_t back = 0;
	__u32 count;
	int r, taken;

	if (!b)
		return -ENOMEM;
	while (list->count <= limit && restarts < RESTARTS) {
		count = BATCH;
		r = bpf_map_lookup_batch(fd, list->count ? &cursor : NULL, &next, b->keys,
					 b->values, &count, NULL);
		/* -EINTR: an entry went while it was copied. What came before it is good. */
		if (r && r != -ENOENT && r != -EINTR)
			return r;
		taken = take_batch(list, f, b, count);
		if (taken < 0)
			return taken;
		if (r == -ENOENT && (__u32)taken == count)
			return 0;
		back = taken ? 0 : back + 1;
		if (list->count <= back) {
			list->count = back = 0;
			restarts++;
			continue;
		}
		last = &list->route[list->count - 1 - back];
		cursor = make_key(f, last->fib, last->addr, last->len);
	}
	return -EAGAIN;
}

int lpm_walk(const struct generation *gen, enum family f, struct routes *list)
{
	const __u32 capacity = f == IP4 ? gen->capacity.routes4 : gen->capacity.routes6;
	int r = walk(list, f, map_fd(gen, f), 4 * ((size_t)capacity + CAPACITY_HEADROOM));

	if (!r)
		routes_sort(list);
	return r;
}

int lpm_lookup(const struct generation *gen, enum family f, __u32 fib, struct addr a,
	       unsigned int len, __u32 *value)
{
	union key key = make_key(f, fib, a, len);

	return bpf_map_lookup_elem(map_fd(gen, f), &key, value);
}

/* An entry is there if the walk can go on from it; from one that is not, it begins anew. */
static bool is_entry(int fd, enum family f, const union key *key, const union key *first)
{
	union key next;
	int r = bpf_map_get_next_key(fd, key, &next);

	return r == -ENOENT || (!r && memcmp(&next, first, key_size(f)));
}

int lpm_match(const struct generation *gen, enum family f, __u32 fib, struct addr a,
	      unsigned int len, struct route *route)
{
	int fd = map_fd(gen, f), r;
	union key first, key;
	__u32 value;

	r = bpf_map_get_next_key(fd, NULL, &first);
	if (r)
		return r;
	for (int n = len; n >= 0; n--) {
		key = make_key(f, fib, addr_mask(a, n), n);
		if (!is_entry(fd, f, &key, &first))
			continue;
		r = lpm_lookup(gen, f, fib, a, n, &value);
		if (r)
			return r;
		*route = make_route(f, &key, value);
		return 0;
	}
	return -ENOENT;
}

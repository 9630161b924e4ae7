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

static struct lpm_entry make_entry(enum family f, const void *bytes, __u32 value)
{
	const union key *key = bytes;

	return (struct lpm_entry){
		.addr = addr_from_bytes(f, f == IP4 ? (void *)&key->v4.addr : (void *)key->v6.addr),
		.fib = key->v4.fib,
		.value = value,
		.len = key->v4.prefixlen - XFIB_LPM_FIB_BITS,
	};
}

/* The entries found so far. */
struct walk {
	enum family f;
	struct lpm_entry *entry;
	size_t count, room;
};

static int append(struct walk *w, const struct lpm_entry *entry)
{
	struct lpm_entry *grown;

	if (w->count == w->room) {
		w->room = w->room ? 2 * w->room : BATCH;
		grown = realloc(w->entry, w->room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		w->entry = grown;
	}
	w->entry[w->count++] = *entry;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct lpm_entry *x = a, *y = b;

	if (x->fib != y->fib)
		return x->fib < y->fib ? -1 : 1;
	if (x->addr.hi != y->addr.hi)
		return x->addr.hi < y->addr.hi ? -1 : 1;
	if (x->addr.lo != y->addr.lo)
		return x->addr.lo < y->addr.lo ? -1 : 1;
	return (int)x->len - (int)y->len;
}

static void sort_unique(struct walk *w)
{
	size_t kept = 0;

	if (!w->count)
		return;
	qsort(w->entry, w->count, sizeof(*w->entry), compare);
	for (size_t i = 1; i < w->count; i++)
		if (compare(&w->entry[kept], &w->entry[i]))
			w->entry[++kept] = w->entry[i];
	w->count = kept + 1;
}

struct batch {
	__u8 keys[BATCH * sizeof(struct xfib_lpm6)];
	__u32 values[BATCH];
};

/* Takes a batch up to where the walk began again, if it did. Returns how many, or -errno. */
static int take_batch(struct walk *w, const struct batch *b, __u32 count)
{
	struct lpm_entry entry;
	int r;

	for (__u32 i = 0; i < count; i++) {
		entry = make_entry(w->f, b->keys + i * key_size(w->f), b->values[i]);
		if (w->count && !compare(&entry, &w->entry[0]))
			return i;
		r = append(w, &entry);
		if (r)
			return r;
	}
	return count;
}

static int walk(struct walk *w, int fd, size_t limit)
{
	_cleanup_free_ struct batch *b = malloc(sizeof(*b));
	const struct lpm_entry *last;
	unsigned int restarts = 0;
	union key cursor, next;
	size_t back = 0;
	__u32 count;
	int r, taken;

	if (!b)
		return -ENOMEM;
	while (w->count <= limit && restarts < RESTARTS) {
		count = BATCH;
		r = bpf_map_lookup_batch(fd, w->count ? &cursor : NULL, &next, b->keys, b->values,
					 &count, NULL);
		/* -EINTR: an entry went while it was copied. What came before it is good. */
		if (r && r != -ENOENT && r != -EINTR)
			return r;
		taken = take_batch(w, b, count);
		if (taken < 0)
			return taken;
		if (r == -ENOENT && (__u32)taken == count)
			return 0;
		back = taken ? 0 : back + 1;
		if (w->count <= back) {
			w->count = back = 0;
			restarts++;
			continue;
		}
		last = &w->entry[w->count - 1 - back];
		cursor = make_key(w->f, last->fib, last->addr, last->len);
	}
	return -EAGAIN;
}

int lpm_walk(const struct generation *gen, enum family f, struct lpm_entry **entries, size_t *count)
{
	const __u32 capacity = f == IP4 ? gen->capacity.routes4 : gen->capacity.routes6;
	struct walk w = { .f = f };
	int r = walk(&w, map_fd(gen, f), 4 * ((size_t)capacity + CAPACITY_HEADROOM));

	if (r) {
		free(w.entry);
		return r;
	}
	sort_unique(&w);
	*entries = w.entry;
	*count = w.count;
	return 0;
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
	      unsigned int len, struct lpm_entry *entry)
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
		*entry = make_entry(f, &key, value);
		return 0;
	}
	return -ENOENT;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See trie.h. Addresses are numbers of 128 bits here, so that what is beside one is a sum; of IPv4 the low
 * 96 bits of a span's last address are set.
 */
#include <errno.h>

#include "fib/trie_read.h"
#include "trie.h"

typedef unsigned __int128 u128;

/* Addresses with one leaf; ends included. */
struct span {
	u128 first, last;
	__u32 leaf;
};

static u128 number(struct addr a)
{
	return (u128)a.hi << 64 | a.lo;
}

/* All bits of an address but the first `len`. */
static u128 bits_behind(unsigned int len)
{
	return len < 128 ? ~(u128)0 >> len : 0;
}

static struct trie_view view_of(const struct generation *gen, enum family f, __u32 fib)
{
	return (struct trie_view){
		.family = f,
		.memory = f == IP4 ? gen->trie4 : gen->trie6,
		.bytes = f == IP4 ? gen->capacity.trie4 : gen->capacity.trie6,
		.root = &gen->trie_roots[XFIB_TRIE_ROOT(fib, f == IP6)],
	};
}

static struct span make_span(enum family f, const struct trie_range *range)
{
	return (struct span){
		.first = number(range->first),
		.last = number(range->last) | bits_behind(family_bits(f)),
		.leaf = range->leaf,
	};
}

/* The largest prefix around an address that has nothing outside the span. */
static struct route prefix_in(enum family f, __u32 fib, const struct span *s, u128 address)
{
	unsigned int len = family_bits(f);

	while (len && (address & ~bits_behind(len - 1)) >= s->first &&
	       (address | bits_behind(len - 1)) <= s->last)
		len--;
	address &= ~bits_behind(len);
	return (struct route){
		.addr = { address >> 64, address },
		.fib = fib,
		.leaf = s->leaf,
		.len = len,
		.table = XFIB_TABLE_COUNT,
	};
}

static int add_span(struct routes *list, enum family f, __u32 fib, const struct span *s)
{
	u128 at = s->first, last;
	struct route route;
	int r;

	do {
		route = prefix_in(f, fib, s, at);
		r = routes_add(list, &route);
		if (r)
			return r;
		last = at | bits_behind(route.len);
		at = last + 1;
	} while (last != s->last);
	return 0;
}

struct walk {
	struct routes *list;
	enum family f;
	__u32 fib;
};

static int add_range(void *arg, const struct trie_range *range)
{
	const struct walk *w = arg;
	struct span s = make_span(w->f, range);

	return s.leaf ? add_span(w->list, w->f, w->fib, &s) : 0;
}

int trie_walk(const struct generation *gen, enum family f, struct routes *list)
{
	struct walk w = { .list = list, .f = f };
	int r = 0;

	for (; w.fib < XFIB_FIBS && !r; w.fib++) {
		struct trie_view view = view_of(gen, f, w.fib);

		r = trie_ranges(&view, add_range, &w);
	}
	return r;
}

static int find(const struct trie_view *view, u128 address, struct span *s)
{
	struct trie_range range;
	int r = trie_find(view, (struct addr){ address >> 64, address }, &range);

	if (!r)
		*s = make_span(view->family, &range);
	return r;
}

/* A block knows its own part of a range; these add the parts before and behind it. */
static int grow_down(const struct trie_view *view, struct span *s)
{
	struct span more;
	int r;

	while (s->first) {
		r = find(view, s->first - 1, &more);
		if (r || more.leaf != s->leaf)
			return r;
		s->first = more.first;
	}
	return 0;
}

static int grow_up(const struct trie_view *view, struct span *s, u128 limit)
{
	struct span more;
	int r;

	while (s->last < limit) {
		r = find(view, s->last + 1, &more);
		if (r || more.leaf != s->leaf)
			return r;
		s->last = more.last;
	}
	return 0;
}

/* All that is inside first..last, of which `s` is the beginning. */
static int add_parts(const struct trie_view *view, __u32 fib, struct span *s, u128 first, u128 last,
		     struct routes *list)
{
	const struct route other = route_default(fib);
	int r;

	for (;;) {
		s->first = first;
		s->last = s->last < last ? s->last : last;
		r = s->leaf ? add_span(list, view->family, fib, s) : routes_add(list, &other);
		if (r || s->last == last)
			return r;
		first = s->last + 1;
		r = find(view, first, s) ?: grow_up(view, s, last);
		if (r)
			return r;
	}
}

int trie_match(const struct generation *gen, enum family f, __u32 fib, struct addr a,
	       unsigned int len, struct routes *list)
{
	const struct trie_view view = view_of(gen, f, fib);
	u128 first = number(a), last = first | bits_behind(len);
	struct route route = route_default(fib);
	struct span s;
	int r;

	if (!len)
		return routes_add(list, &route);
	r = find(&view, first, &s) ?: grow_up(&view, &s, last);
	if (r)
		return r;
	if (s.last < last) {
		r = add_parts(&view, fib, &s, first, last, list);
		routes_sort(list);
		return r;
	}
	if (!s.leaf)
		return routes_add(list, &route);
	r = grow_down(&view, &s) ?: grow_up(&view, &s, ~(u128)0);
	if (r)
		return r;
	route = prefix_in(f, fib, &s, first);
	return routes_add(list, &route);
}

int trie_lookup(const struct generation *gen, enum family f, __u32 fib, struct addr a,
		unsigned int *leaf)
{
	const struct trie_view view = view_of(gen, f, fib);
	struct trie_range range;
	int r = trie_find(&view, a, &range);

	if (!r)
		*leaf = range.leaf;
	return r;
}

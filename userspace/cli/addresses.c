// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See addresses.h. */
#include <errno.h>
#include <stdlib.h>

#include "addresses.h"
#include "netlink/nl.h"
#include "tables.h"

static void add_prefix(struct prefixes *list, enum family f, struct addr a, unsigned int len)
{
	struct prefix *grown;

	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 1024;
		grown = reallocarray(list->p, list->room, sizeof(*grown));
		if (!grown) {
			list->error = -ENOMEM;
			list->room = list->count;
			return;
		}
		list->p = grown;
	}
	list->p[list->count++] = (struct prefix){ .addr = a, .family = f, .len = len };
}

static void add_kernel(const struct event *ev, void *arg)
{
	if (ev->kind == EVENT_ROUTE)
		add_prefix(arg, ev->route.family, ev->route.dst, ev->route.dst_len);
}

static int compare(const void *a, const void *b)
{
	const struct prefix *x = a, *y = b;

	if (x->family != y->family)
		return (int)x->family - (int)y->family;
	if (x->addr.hi != y->addr.hi)
		return x->addr.hi < y->addr.hi ? -1 : 1;
	if (x->addr.lo != y->addr.lo)
		return x->addr.lo < y->addr.lo ? -1 : 1;
	return (int)x->len - (int)y->len;
}

int addresses_gather(const struct generation *gen, struct prefixes *list)
{
	size_t kept = 0;
	int r = 0;

	for (enum family f = IP4; f < FAMILIES && !r; f++) {
		_cleanup_routes_ struct routes found = { 0 };

		add_prefix(list, f, (struct addr){ 0 }, 0);
		r = tables_walk(gen, f, &found);
		for (size_t i = 0; !r && i < found.count; i++)
			add_prefix(list, f, found.route[i].addr, found.route[i].len);
		if (!r)
			r = nl_dump_all(f == IP4 ? NL_ROUTES4 : NL_ROUTES6, add_kernel, list);
		if (r == -EINTR)
			r = 0; /* it changes all the time: these prefixes are as good as others */
	}
	if (r || list->error)
		return r ? r : list->error;
	qsort(list->p, list->count, sizeof(*list->p), compare);
	for (size_t i = 1; i < list->count; i++)
		if (compare(&list->p[kept], &list->p[i]))
			list->p[++kept] = list->p[i];
	list->count = kept + 1;
	return 0;
}

/* splitmix64 */
__u64 addresses_draw(__u64 *state)
{
	__u64 z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

typedef unsigned __int128 u128;

/* All bits of an address but the first `len`. */
static u128 bits_behind(unsigned int len)
{
	return len < 128 ? ~(u128)0 >> len : 0;
}

struct addr addresses_at(const struct prefix *p, enum place place, __u64 *random)
{
	unsigned int bits = family_bits(p->family);
	u128 space = ~bits_behind(bits), host = bits_behind(p->len) & space;
	u128 first = (u128)p->addr.hi << 64 | p->addr.lo, one = (u128)1 << (128 - bits), a = first;

	if (place == LAST)
		a = first | host;
	else if (place == BEFORE)
		a = (first - one) & space;
	else if (place == BEHIND)
		a = ((first | host) + one) & space;
	else if (place == INSIDE)
		a = first | (((u128)addresses_draw(random) << 64 | addresses_draw(random)) & host);
	return (struct addr){ a >> 64, a };
}

/* The destinations that bpf/parse.h lets pass. */
bool addresses_looked_up(enum family f, struct addr a)
{
	unsigned int top = f == IP4 ? a.hi >> 56 : 0;

	if (f == IP4)
		return top && top != 127 && top < 224 && a.hi >> 48 != 0xa9fe;
	if (!a.hi && (!(a.lo >> 32) || a.lo >> 32 == 0xffff))
		return false;
	return a.hi >> 56 != 0xff && a.hi >> 55 != 0xfe80 >> 7;
}

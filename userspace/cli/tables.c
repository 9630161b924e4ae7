// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See tables.h. Each family of a generation has one engine, below here: lpm.c or trie.c. */
#include <errno.h>
#include <stdlib.h>

#include "common/log.h"
#include "lpm.h"
#include "tables.h"
#include "trie.h"

int routes_add(struct routes *list, const struct route *route)
{
	struct route *grown;
	size_t room;

	if (list->count == list->room) {
		room = list->room ? 2 * list->room : 64;
		grown = reallocarray(list->route, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->route = grown;
		list->room = room;
	}
	list->route[list->count++] = *route;
	return 0;
}

int route_compare(const struct route *a, const struct route *b)
{
	if (a->fib != b->fib)
		return a->fib < b->fib ? -1 : 1;
	if (a->addr.hi != b->addr.hi)
		return a->addr.hi < b->addr.hi ? -1 : 1;
	if (a->addr.lo != b->addr.lo)
		return a->addr.lo < b->addr.lo ? -1 : 1;
	return (int)a->len - (int)b->len;
}

static int compare(const void *a, const void *b)
{
	return route_compare(a, b);
}

void routes_sort(struct routes *list)
{
	size_t kept = 0;

	if (!list->count)
		return;
	qsort(list->route, list->count, sizeof(*list->route), compare);
	for (size_t i = 1; i < list->count; i++)
		if (route_compare(&list->route[kept], &list->route[i]))
			list->route[++kept] = list->route[i];
	list->count = kept + 1;
}

void routes_done(struct routes *list)
{
	free(list->route);
	*list = (struct routes){ 0 };
}

struct route route_default(__u32 fib)
{
	return (struct route){ .fib = fib, .table = XFIB_TABLE_MAIN };
}

static bool is_compiled(const struct generation *gen, enum family f)
{
	return f == IP4 ? gen->capacity.trie4 : gen->capacity.trie6;
}

int tables_walk(const struct generation *gen, enum family f, struct routes *list)
{
	return is_compiled(gen, f) ? trie_walk(gen, f, list) : lpm_walk(gen, f, list);
}

int tables_match(const struct generation *gen, enum family f, __u32 fib, struct addr a,
		 unsigned int len, struct routes *list)
{
	struct route route = route_default(fib);
	int r;

	if (is_compiled(gen, f))
		return trie_match(gen, f, fib, a, len, list);
	r = lpm_match(gen, f, fib, a, len, &route);
	return r && r != -ENOENT ? r : routes_add(list, &route);
}

int tables_lookup(const struct generation *gen, enum family f, __u32 fib, struct addr a,
		  unsigned int *leaf)
{
	__u32 value = 0;
	int r;

	if (is_compiled(gen, f))
		return trie_lookup(gen, f, fib, a, leaf);
	r = lpm_lookup(gen, f, fib, a, family_bits(f), &value);
	if (r && r != -ENOENT)
		return r;
	*leaf = XFIB_LEAF(value);
	return 0;
}

int tables_failed(int err, const char *what)
{
	if (err == -EAGAIN)
		log_error("cannot %s: the routes change faster than they can be read; try again",
			  what);
	else if (err == -EPROTO)
		log_error(
			"cannot %s: the compiled routes are damaged; detach all ports and start xfibd again",
			what);
	else
		log_errno(err, "cannot %s", what);
	return err;
}

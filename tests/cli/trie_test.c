// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compiled routes, read back as prefixes: the fewest that mean what the prefixes meant which were
 * compiled, the same from a walk as from a match. Against a list that is searched from end to end.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fib/trie.h"
#include "userspace/cli/tables.h"

enum { BYTES = 1 << 20, ROUTES = 300, LEAVES = 3, ROUNDS = 20, FIB = 2 };

struct world {
	enum family f;
	__u64 random;
	struct route route[ROUTES];
	size_t routes;
	struct rib rib;
	struct generation gen;
	__u32 roots[XFIB_TRIE_ROOTS];
	__u8 memory[BYTES];
};

static __u64 draw(struct world *w)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return w->random >> 16;
}

/* Around few places and with few leaves, so that routes nest, touch, and lead to the same. */
static struct addr draw_addr(struct world *w)
{
	struct addr a = { 0x2001ull << 48 | draw(w) % 4 << 44 | draw(w) << 36 >> 20, 0 };

	if (w->f == IP4)
		return addr_mask(a, 32);
	a.lo = draw(w) % 4 ? draw(w) % 64 : draw(w) << 20;
	return a;
}

/* Those of odd seeds leave most addresses to the default route. */
static void make_routes(struct world *w, __u64 seed)
{
	unsigned int bits = family_bits(w->f), shortest = seed % 2 ? 20 : 1;

	w->random = seed;
	w->routes = 1 + draw(w) % ROUTES;
	for (size_t i = 0; i < w->routes; i++) {
		unsigned int len = draw(w) % 4 ? shortest + draw(w) % (bits - shortest + 1)
					       : bits - draw(w) % 4;

		w->route[i] = (struct route){ .addr = addr_mask(draw_addr(w), len),
					      .leaf = XFIB_NH_FIRST + draw(w) % LEAVES,
					      .len = len };
	}
}

static void compile(struct world *w)
{
	struct trie_pool pool = { 0 };
	struct trie trie = { .pool = &pool,
			     .rib = &w->rib,
			     .root = &w->roots[XFIB_TRIE_ROOT(FIB, w->f == IP6)] };
	__u32 node;
	__u8 above;

	w->gen.trie_roots = w->roots;
	w->gen.trie4 = w->gen.trie6 = w->memory;
	w->gen.capacity.trie4 = w->gen.capacity.trie6 = BYTES;
	assert_int_equal(rib_init(&w->rib, w->f, 2 * ROUTES), 0);
	for (size_t i = 0; i < w->routes; i++) {
		const struct route *r = &w->route[i];

		assert_int_equal(rib_node_get(&w->rib, r->addr, r->len, &node, &above), 0);
		w->rib.node[node].installed = 1;
		w->rib.node[node].published = XFIB_LEAF_VALUE(r->leaf, XFIB_TABLE_MAIN);
	}
	assert_int_equal(trie_pool_init(&pool, w->memory, BYTES), 0);
	trie_update(&trie, (struct addr){ 0 }, 0);
	assert_int_equal(trie.starved, 0);
	trie_pool_done(&pool);
	rib_done(&w->rib);
}

static struct world *make_world(enum family f, __u64 seed)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->f = f;
	make_routes(w, seed);
	compile(w);
	return w;
}

/* Of routes of the same prefix the last one counts. */
static unsigned int leaf_of(const struct route *route, size_t count, struct addr a)
{
	const struct route *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (prefix_covers(route[i].addr, route[i].len, a) &&
		    (!best || route[i].len >= best->len))
			best = &route[i];
	return best ? best->leaf : 0;
}

static struct addr edge(const struct world *w, const struct route *r, unsigned int which)
{
	unsigned __int128 one = (unsigned __int128)1 << (128 - family_bits(w->f));
	unsigned __int128 first = (unsigned __int128)r->addr.hi << 64 | r->addr.lo;
	unsigned __int128 behind = first + ((unsigned __int128)1 << (128 - r->len));

	first = which == 0 ? first : which == 1 ? first - one : which == 2 ? behind - one : behind;
	return (struct addr){ first >> 64, first };
}

static void same_at_edges(const struct world *w, const struct route *of, size_t count,
			  const struct routes *list)
{
	for (size_t i = 0; i < count; i++)
		for (unsigned int which = 0; which < 4; which++) {
			struct addr a = edge(w, &of[i], which);
			unsigned int leaf, right = leaf_of(w->route, w->routes, a);

			assert_int_equal(leaf_of(list->route, list->count, a), right);
			assert_int_equal(tables_lookup(&w->gen, w->f, FIB, a, &leaf), 0);
			assert_int_equal(leaf, right);
		}
}

/* Two halves of a prefix with the same leaf would be one prefix too many. */
static void are_fewest(const struct routes *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct route *a = &list->route[i], *b = a + 1;

		assert_int_equal(a->fib, FIB);
		assert_int_equal(a->table, XFIB_TABLE_COUNT);
		assert_int_not_equal(a->leaf, 0);
		if (i + 1 == list->count)
			break;
		assert_true(route_compare(a, b) < 0);
		assert_false(prefix_covers(a->addr, a->len, b->addr));
		assert_false(a->len == b->len && a->leaf == b->leaf &&
			     addr_common(a->addr, b->addr) == a->len - 1u);
	}
}

static void a_walk_lists_the_fewest_prefixes(void **state)
{
	for (int round = 0; round < 2 * ROUNDS; round++) {
		struct world *w = make_world(round / ROUNDS, round);
		_cleanup_routes_ struct routes list = { 0 };

		assert_int_equal(tables_walk(&w->gen, w->f, &list), 0);
		assert_true(list.count > 0);
		are_fewest(&list);
		same_at_edges(w, w->route, w->routes, &list);
		same_at_edges(w, list.route, list.count, &list);
		free(w);
	}
}

/* What a match must find, by the walk: the one that covers it, or those inside, and default for gaps. */
static void expect(const struct routes *all, struct addr a, unsigned int len, struct routes *found)
{
	const struct route other = route_default(FIB);
	unsigned __int128 gap = (unsigned __int128)-1 >> 1 >> (len - 1);

	for (size_t i = 0; i < all->count; i++) {
		const struct route *r = &all->route[i];

		if (r->len <= len && prefix_covers(r->addr, r->len, a)) {
			assert_int_equal(routes_add(found, r), 0);
			return;
		}
		if (r->len > len && prefix_covers(a, len, r->addr)) {
			assert_int_equal(routes_add(found, r), 0);
			gap -= (unsigned __int128)1 << (128 - r->len);
		}
	}
	if (gap != (unsigned __int128)-1)
		assert_int_equal(routes_add(found, &other), 0);
	routes_sort(found);
}

static void match(const struct world *w, const struct routes *all, struct addr a, unsigned int len)
{
	_cleanup_routes_ struct routes right = { 0 }, found = { 0 };

	expect(all, a, len, &right);
	assert_int_equal(tables_match(&w->gen, w->f, FIB, a, len, &found), 0);
	assert_int_equal(found.count, right.count);
	for (size_t i = 0; i < found.count; i++) {
		assert_int_equal(route_compare(&found.route[i], &right.route[i]), 0);
		assert_int_equal(found.route[i].leaf, right.route[i].leaf);
		assert_int_equal(found.route[i].table, right.route[i].table);
	}
}

static void a_match_finds_what_a_walk_lists(void **state)
{
	for (int round = 0; round < 2 * ROUNDS; round++) {
		struct world *w = make_world(round / ROUNDS, round);
		_cleanup_routes_ struct routes all = { 0 };

		assert_int_equal(tables_walk(&w->gen, w->f, &all), 0);
		for (size_t i = 0; i < w->routes; i++) {
			const struct route *r = &w->route[i];
			unsigned int shorter = r->len - draw(w) % 8 % r->len;

			match(w, &all, r->addr, r->len);
			match(w, &all, addr_mask(r->addr, shorter), shorter);
			match(w, &all, draw_addr(w), family_bits(w->f));
		}
		free(w);
	}
}

static void two_halves_are_the_whole(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	_cleanup_routes_ struct routes list = { 0 };

	w->f = IP6;
	w->routes = 2;
	w->route[0] = (struct route){ .leaf = XFIB_NH_FIRST, .len = 1 };
	w->route[1] = (struct route){ { 1ull << 63, 0 }, .leaf = XFIB_NH_FIRST, .len = 1 };
	compile(w);
	assert_int_equal(tables_walk(&w->gen, IP6, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.route->leaf, XFIB_NH_FIRST);
	assert_int_equal(list.route->len, 0);
	free(w);
}

static void the_whole_space_is_the_default_route(void **state)
{
	struct world *w = make_world(IP4, 1);
	_cleanup_routes_ struct routes list = { 0 };

	assert_int_equal(tables_match(&w->gen, IP4, FIB, (struct addr){ 0 }, 0, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.route->leaf, 0);
	assert_int_equal(list.route->len, 0);
	free(w);
}

static void what_is_no_trie_is_refused(void **state)
{
	struct world *w = make_world(IP6, 1);
	_cleanup_routes_ struct routes list = { 0 };
	unsigned int leaf;

	w->roots[XFIB_TRIE_ROOT(FIB, 1)] = ~0u;
	assert_int_equal(tables_walk(&w->gen, IP6, &list), -EPROTO);
	assert_int_equal(tables_match(&w->gen, IP6, FIB, (struct addr){ 0 }, 9, &list), -EPROTO);
	assert_int_equal(tables_lookup(&w->gen, IP6, FIB, (struct addr){ 0 }, &leaf), -EPROTO);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_lists_the_fewest_prefixes),
		cmocka_unit_test(a_match_finds_what_a_walk_lists),
		cmocka_unit_test(two_halves_are_the_whole),
		cmocka_unit_test(the_whole_space_is_the_default_route),
		cmocka_unit_test(what_is_no_trie_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

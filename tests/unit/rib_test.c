/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The prefix trie against a list of prefixes that is searched from end to end. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/rib.h"

enum { ITEMS = 48, STEPS = 3000, SEEDS = 8 };

/* A prefix that somebody needs: by a route or because it is installed. */
struct item {
	struct addr prefix;
	unsigned int len;
	bool installed;
	__u8 first;
};

struct list {
	struct rib rib;
	struct item item[ITEMS];
	unsigned int items;
	__u64 rng;
};

static unsigned int chance(struct list *l, unsigned int n)
{
	l->rng ^= l->rng << 13;
	l->rng ^= l->rng >> 7;
	l->rng ^= l->rng << 17;
	return (l->rng >> 20) % n;
}

/* Few bits, at both ends and across the middle, so that prefixes nest, fork and meet again. */
static struct addr some_prefix(struct list *l, unsigned int *len)
{
	static const unsigned int len4[] = { 0, 1, 2, 8, 9, 15, 16, 31, 32 };
	static const unsigned int len6[] = { 0, 1, 2, 32, 63, 64, 65, 66, 127, 128 };
	struct addr a = { .hi = (__u64)chance(l, 8) << 61 | (__u64)chance(l, 4) << 47 };

	if (l->rib.family == IP4) {
		a.hi |= (__u64)chance(l, 4) << 32;
		*len = len4[chance(l, 9)];
	} else {
		a.hi |= chance(l, 4);
		a.lo = (__u64)chance(l, 8) << 61 | chance(l, 4);
		*len = len6[chance(l, 10)];
	}
	return addr_mask(a, *len);
}

static struct item *find(struct list *l, struct addr prefix, unsigned int len)
{
	for (unsigned int i = 0; i < l->items; i++)
		if (l->item[i].len == len && addr_equal(l->item[i].prefix, prefix))
			return &l->item[i];
	return NULL;
}

static __u8 naive_above(const struct list *l, struct addr prefix, unsigned int len)
{
	__u8 first = RIB_NO_TABLE;

	for (unsigned int i = 0; i < l->items; i++)
		if (l->item[i].len < len &&
		    prefix_covers(l->item[i].prefix, l->item[i].len, prefix) &&
		    l->item[i].first < first)
			first = l->item[i].first;
	return first;
}

static void add(struct list *l)
{
	unsigned int len;
	struct addr prefix = some_prefix(l, &len);
	struct item *item = find(l, prefix, len);
	__u8 above = 99;
	__u32 node = 0;

	if (!item && l->items == ITEMS)
		return;
	assert_int_equal(rib_node_get(&l->rib, prefix, len, &node, &above), 0);
	assert_int_equal(above, naive_above(l, prefix, len));
	assert_true(addr_equal(l->rib.node[node].prefix, prefix));
	assert_int_equal(l->rib.node[node].len, len);
	if (!item) {
		item = &l->item[l->items++];
		*item = (struct item){ .prefix = prefix,
				       .len = len,
				       .first = chance(l, XFIB_TABLE_COUNT) };
		if (chance(l, 4)) {
			const struct rib_route route = { .table = item->first };

			assert_int_not_equal(rib_route_add(&l->rib, node, &route, false), 0);
		} else {
			item->installed = true;
			l->rib.node[node].installed = 1;
		}
	}
	item->first = chance(l, XFIB_TABLE_COUNT + 1);
	l->rib.node[node].first = item->first;
}

static void del(struct list *l)
{
	unsigned int i = l->items ? chance(l, l->items) : 0;
	struct item item = l->item[i];
	__u32 node;

	if (!l->items)
		return;
	node = rib_node_find(&l->rib, item.prefix, item.len, NULL);
	assert_int_not_equal(node, 0);
	rib_node_put(&l->rib, item.prefix, item.len); /* is needed: stays */
	assert_int_equal(rib_node_find(&l->rib, item.prefix, item.len, NULL), node);
	l->rib.node[node].installed = 0;
	l->rib.node[node].first = RIB_NO_TABLE;
	if (l->rib.node[node].routes)
		rib_route_del(&l->rib, node, l->rib.node[node].routes);
	/* Half of them are left for rib_compact(). */
	if (chance(l, 2))
		rib_node_put(&l->rib, item.prefix, item.len);
	l->item[i] = l->item[--l->items];
}

/* --- what is in the trie --------------------------------------------------------------------- */

struct seen {
	struct list *l;
	enum rib_walk order;
	__u32 node[8 * ITEMS];
	unsigned int nodes;
};

static void visit(struct rib *rib, __u32 node, __u8 above, void *arg)
{
	const struct rib_node *n = &rib->node[node];
	struct seen *s = arg;

	assert_true(s->nodes < sizeof(s->node) / sizeof(s->node[0]));
	assert_int_equal(above, naive_above(s->l, n->prefix, n->len));
	for (unsigned int i = 0; i < s->nodes; i++) {
		const struct rib_node *before = &rib->node[s->node[i]];

		assert_int_not_equal(s->node[i], node);
		if (s->order == RIB_PRE)
			assert_false(n->len < before->len &&
				     prefix_covers(n->prefix, n->len, before->prefix));
		else
			assert_false(n->len > before->len &&
				     prefix_covers(before->prefix, before->len, n->prefix));
	}
	s->node[s->nodes++] = node;
}

static unsigned int walked(struct list *l, enum rib_walk order)
{
	struct seen s = { .l = l, .order = order };

	rib_walk(&l->rib, RIB_ROOT, order, visit, RIB_NO_TABLE, &s);
	return s.nodes;
}

/* The root, the prefixes, and where two of them part. */
static unsigned int needed(const struct list *l)
{
	struct {
		struct addr prefix;
		unsigned int len;
	} node[ITEMS * ITEMS];
	unsigned int n = 0, len;

	for (unsigned int i = 0; i < l->items; i++)
		for (unsigned int j = 0; j <= i; j++) {
			const struct item *a = &l->item[i], *b = &l->item[j];
			struct addr prefix;
			bool there = false;

			len = addr_common(a->prefix, b->prefix);
			len = len < a->len ? len : a->len;
			len = len < b->len ? len : b->len;
			prefix = addr_mask(a->prefix, len);
			for (unsigned int k = 0; k < n; k++)
				there |= node[k].len == len && addr_equal(node[k].prefix, prefix);
			if (!there && len) {
				node[n].prefix = prefix;
				node[n++].len = len;
			}
		}
	return n + 1;
}

static void check_all(struct list *l)
{
	unsigned int with_routes = 0;

	for (unsigned int i = 0; i < l->items; i++) {
		const struct item *item = &l->item[i];
		__u8 above = 99;
		__u32 node = rib_node_find(&l->rib, item->prefix, item->len, &above);

		assert_int_not_equal(node, 0);
		assert_int_equal(above, naive_above(l, item->prefix, item->len));
		assert_int_equal(l->rib.node[node].installed, item->installed);
		with_routes += !item->installed;
	}
	assert_int_equal(l->rib.prefixes, with_routes);
	assert_int_equal(l->rib.live_routes, with_routes);
}

static void history(enum family family, __u64 seed)
{
	static struct list l;

	l = (struct list){ .rng = seed * 0x9e3779b97f4a7c15ull + 1 };
	assert_int_equal(rib_init(&l.rib, family, ITEMS), 0);
	for (int step = 0; step < STEPS; step++) {
		unsigned int len;
		struct addr prefix = some_prefix(&l, &len);
		__u32 node;

		if (chance(&l, 10) < 6)
			add(&l);
		else
			del(&l);
		node = rib_node_find(&l.rib, prefix, len, NULL);
		if (find(&l, prefix, len))
			assert_int_not_equal(node, 0);
		if (node)
			assert_int_equal(l.rib.node[node].len, len);
		if (step % 8)
			continue;
		check_all(&l);
		assert_true(walked(&l, RIB_PRE) >= needed(&l));
		rib_compact(&l.rib);
		assert_int_equal(walked(&l, RIB_PRE), needed(&l));
		assert_int_equal(walked(&l, RIB_POST), needed(&l));
	}
	rib_done(&l.rib);
}

static void equals_a_list(void **state)
{
	for (__u64 seed = 1; seed <= SEEDS; seed++) {
		history(IP4, seed);
		history(IP6, seed);
	}
}

/* Without rib_compact(): putting back each node alone leaves no other behind. */
static void put_leaves_what_is_needed(void **state)
{
	static struct list l;

	l = (struct list){ .rng = 4711 };
	assert_int_equal(rib_init(&l.rib, IP6, ITEMS), 0);
	for (int step = 0; step < STEPS; step++) {
		if (chance(&l, 2) || !l.items) {
			add(&l);
		} else {
			unsigned int i = chance(&l, l.items);
			struct item item = l.item[i];
			__u32 node = rib_node_find(&l.rib, item.prefix, item.len, NULL);

			l.rib.node[node].installed = 0;
			l.rib.node[node].first = RIB_NO_TABLE;
			if (l.rib.node[node].routes)
				rib_route_del(&l.rib, node, l.rib.node[node].routes);
			rib_node_put(&l.rib, item.prefix, item.len);
			l.item[i] = l.item[--l.items];
		}
		assert_int_equal(walked(&l, RIB_PRE), needed(&l));
	}
	rib_done(&l.rib);
}

/* --- full ------------------------------------------------------------------------------------- */

static unsigned int fill(struct rib *rib)
{
	const struct rib_route route = { .table = XFIB_TABLE_MAIN };
	unsigned int n = 0;
	__u32 node;
	__u8 above;

	/* Hosts that part at every level: as many forks as there can be. */
	for (;; n++) {
		struct addr host = { .hi = (__u64)(n * 0x9e3779b1u) << 32 };

		if (rib_node_get(rib, host, 32, &node, &above))
			return n;
		if (!rib_route_add(rib, node, &route, false)) {
			rib_node_put(rib, host, 32);
			return n;
		}
	}
}

static void drain(struct rib *rib, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct addr host = { .hi = (__u64)(i * 0x9e3779b1u) << 32 };
		__u32 node = rib_node_find(rib, host, 32, NULL);

		assert_int_not_equal(node, 0);
		rib_route_del(rib, node, rib->node[node].routes);
		rib_node_put(rib, host, 32);
	}
}

static void exhausted_pools_fill_again(void **state)
{
	struct rib rib;
	unsigned int n;
	__u32 node;
	__u8 above;

	assert_int_equal(rib_init(&rib, IP4, 1000), 0);
	n = fill(&rib);
	assert_true(n >= 1000);
	assert_int_equal(rib.prefixes, n);
	for (int round = 0; round < 3; round++) {
		drain(&rib, n);
		assert_int_equal(rib.prefixes, 0);
		assert_int_equal(rib.live_routes, 0);
		assert_int_equal(fill(&rib), n);
	}
	/* What is there is found without room. */
	assert_int_equal(rib_node_get(&rib, (struct addr){}, 32, &node, &above), 0);
	rib_done(&rib);
}

/* A node was to be had, but no fork for it: nothing is kept. */
static void a_prefix_without_its_fork_is_not_half_there(void **state)
{
	struct addr a = { .hi = 1ull << 63 }, b = { .hi = 3ull << 62 };
	unsigned int before;
	struct rib rib;
	__u32 node, used;
	__u8 above;

	assert_int_equal(rib_init(&rib, IP4, 0), 0);
	/* Nested prefixes need no forks: one node is left. */
	for (unsigned int len = 2; len <= 32 && rib.nodes < rib.nodes_max - 1; len++)
		assert_int_equal(rib_node_get(&rib, (struct addr){}, len, &node, &above), 0);
	for (unsigned int len = 2; len <= 32 && rib.nodes < rib.nodes_max - 1; len++)
		assert_int_equal(rib_node_get(&rib, addr_mask(a, len), len, &node, &above), 0);
	while (rib.nodes < rib.nodes_max - 1)
		rib.nodes++;
	used = rib.nodes;
	before = rib.node[RIB_ROOT].child[1];
	assert_int_not_equal(before, 0);
	assert_int_equal(rib_node_get(&rib, b, 32, &node, &above), -ENOSPC);
	assert_int_equal(rib.node[RIB_ROOT].child[1], before);
	assert_int_equal(rib_node_find(&rib, b, 32, NULL), 0);
	/* The one node is free again. */
	assert_int_equal(rib.nodes, used + 1);
	assert_int_not_equal(rib.node_free, 0);
	rib_done(&rib);
}

/* --- routes of a prefix ------------------------------------------------------------------------- */

struct expected {
	__u8 table;
	__u32 priority, path;
};

static void check_order(const struct rib *rib, __u32 node, const struct expected *e, unsigned int n)
{
	__u32 r = rib->node[node].routes;

	for (unsigned int i = 0; i < n; i++, r = rib->route[r].next) {
		assert_int_not_equal(r, 0);
		assert_int_equal(rib->route[r].table, e[i].table);
		assert_int_equal(rib->route[r].priority, e[i].priority);
		assert_int_equal(rib->route[r].path, e[i].path);
	}
	assert_int_equal(r, 0);
}

static void routes_are_in_the_order_in_which_they_are_tried(void **state)
{
	static const struct {
		__u8 table;
		__u32 priority;
		bool front;
	} in[] = {
		{ 2, 10, false }, { 2, 0, false }, { 1, 50, false },
		{ 2, 10, false }, { 2, 10, true }, { 3, 0, false },
		{ 2, 0, true },	  { 1, 50, true }, { 2, ~0u, false },
	};
	static const struct expected out[] = {
		{ 1, 50, 7 }, { 1, 50, 2 }, { 2, 0, 6 },   { 2, 0, 1 }, { 2, 10, 4 },
		{ 2, 10, 0 }, { 2, 10, 3 }, { 2, ~0u, 8 }, { 3, 0, 5 },
	};
	static const struct expected sorted[] = {
		{ 1, 50, 7 }, { 1, 50, 2 }, { 2, 0, 6 },   { 2, 0, 1 }, { 2, 10, 3 },
		{ 2, 10, 4 }, { 2, 10, 0 }, { 2, ~0u, 8 }, { 3, 0, 5 },
	};
	struct rib rib;
	__u32 node = RIB_ROOT;

	assert_int_equal(rib_init(&rib, IP4, 16), 0);
	for (unsigned int i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		const struct rib_route route = { .table = in[i].table,
						 .priority = in[i].priority,
						 .path = i };

		assert_int_not_equal(rib_route_add(&rib, node, &route, in[i].front), 0);
	}
	check_order(&rib, node, out, 9);
	/* Sorting by `order` moves equals only; equal orders stay as they are. */
	for (__u32 r = rib.node[node].routes; r; r = rib.route[r].next)
		rib.route[r].order = rib.route[r].path == 3 ? 1 : 5;
	rib_route_sort(&rib, node);
	check_order(&rib, node, sorted, 9);
	while (rib.node[node].routes)
		rib_route_del(&rib, node, rib.node[node].routes);
	assert_int_equal(rib.live_routes, 0);
	assert_int_equal(rib.prefixes, 0);
	rib_done(&rib);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_a_list),
		cmocka_unit_test(put_leaves_what_is_needed),
		cmocka_unit_test(exhausted_pools_fill_again),
		cmocka_unit_test(a_prefix_without_its_fork_is_not_half_there),
		cmocka_unit_test(routes_are_in_the_order_in_which_they_are_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The compiled trie against a list of prefixes that is searched from end to end: after random changes, at
 * every edge, taken over, without room, and under a reader that must never see a mixture.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fib/trie.h"
#include "fib/trie_read.h"

enum { ITEMS = 1200, STEPS = 6000, SEEDS = 6, BYTES = 1 << 20, LEAVES = 40 };

struct item {
	struct addr prefix;
	unsigned int len;
	__u32 leaf; /* 0: not there */
};

struct table {
	enum family family;
	struct rib rib;
	struct trie_pool pool;
	struct trie trie;
	struct trie_view view;
	__u8 *memory;
	__u32 root;
	struct item item[ITEMS];
	unsigned int items;
	__u64 rng;
};

static __u64 draw(struct table *t)
{
	t->rng ^= t->rng << 13;
	t->rng ^= t->rng >> 7;
	t->rng ^= t->rng << 17;
	return t->rng * 0x2545f4914f6cdd1dull;
}

static unsigned int chance(struct table *t, unsigned int n)
{
	return (draw(t) >> 33) % n;
}

static void open_table(struct table *t, enum family family, __u64 seed, __u32 bytes)
{
	*t = (struct table){ .family = family, .rng = seed * 0x9e3779b97f4a7c15ull + 1 };
	assert_int_equal(rib_init(&t->rib, family, 65536), 0);
	t->memory = calloc(1, bytes);
	assert_non_null(t->memory);
	assert_int_equal(trie_pool_init(&t->pool, t->memory, bytes), 0);
	t->trie = (struct trie){ .pool = &t->pool, .rib = &t->rib, .root = &t->root };
	t->view = (struct trie_view){ family, t->memory, bytes, &t->root };
}

static void pass_grace(struct table *t)
{
	buddy_close(&t->pool.blocks);
	buddy_free(&t->pool.blocks);
}

static void close_table(struct table *t)
{
	trie_clear(&t->trie, 0);
	pass_grace(t);
	pass_grace(t);
	assert_int_equal(t->pool.blocks.used, 0);
	trie_pool_done(&t->pool);
	rib_done(&t->rib);
	free(t->memory);
}

/* --- the list ----------------------------------------------------------------------------------- */

static __u32 naive(const struct table *t, struct addr a)
{
	int best = -1;
	__u32 leaf = 0;

	for (unsigned int i = 0; i < t->items; i++) {
		const struct item *item = &t->item[i];

		if (item->leaf && (int)item->len > best &&
		    prefix_covers(item->prefix, item->len, a)) {
			best = item->len;
			leaf = item->leaf;
		}
	}
	return leaf;
}

static struct item *find(struct table *t, struct addr prefix, unsigned int len)
{
	for (unsigned int i = 0; i < t->items; i++)
		if (t->item[i].len == len && addr_equal(t->item[i].prefix, prefix))
			return &t->item[i];
	return NULL;
}

static struct addr cut(const struct table *t, struct addr a)
{
	return t->family == IP4 ? (struct addr){ a.hi & ~0ull << 32, 0 } : a;
}

/*
 * Crowded in a few places, because that is where tables, records and skips become each other: near a
 * prefix that is there, or in one of some networks.
 */
static struct item some_prefix(struct table *t)
{
	static const unsigned int len4[] = { 1,	 8,  12, 15, 16, 17, 20, 22,
					     24, 24, 24, 25, 28, 31, 32, 32 };
	static const unsigned int len6[] = { 3,	 16, 20, 28, 29,  32,  32,  36,	 40, 44,
					     47, 48, 48, 48, 56,  60,  63,  64,	 64, 65,
					     80, 95, 96, 97, 112, 126, 127, 128, 128 };
	struct item item = { .prefix = { draw(t), draw(t) } };

	if (t->items && chance(t, 3)) {
		const struct item *near = &t->item[chance(t, t->items)];
		unsigned int keep = chance(t, near->len + 1);
		struct addr rest = { draw(t), draw(t) };

		item.prefix = addr_mask(near->prefix, keep);
		rest.hi &= keep < 64 ? ~0ull >> keep : 0;
		rest.lo &= keep <= 64 ? ~0ull : keep < 128 ? ~0ull >> (keep - 64) : 0;
		item.prefix.hi |= rest.hi;
		item.prefix.lo |= rest.lo;
	} else {
		item.prefix.hi = item.prefix.hi >> 12 | (__u64)(0x200 + chance(t, 2)) << 52;
	}
	item.len = t->family == IP4 ? len4[chance(t, sizeof(len4) / sizeof(*len4))]
				    : len6[chance(t, sizeof(len6) / sizeof(*len6))];
	item.prefix = addr_mask(cut(t, item.prefix), item.len);
	item.leaf = 64 + chance(t, LEAVES);
	return item;
}

/* --- changes ------------------------------------------------------------------------------------ */

static void rib_set(struct table *t, const struct item *item)
{
	__u32 node;
	__u8 above;

	assert_int_equal(rib_node_get(&t->rib, item->prefix, item->len, &node, &above), 0);
	t->rib.prefixes += !!item->leaf - t->rib.node[node].installed;
	t->rib.node[node].installed = !!item->leaf;
	t->rib.node[node].published = XFIB_LEAF_VALUE(item->leaf, XFIB_TABLE_MAIN);
}

/* In the list and the RIB, not in the trie. busy: of 100, how often a prefix is added. */
static struct item change(struct table *t, unsigned int busy)
{
	struct item item, *there;

	if (chance(t, 100) < busy && t->items < ITEMS) {
		item = some_prefix(t);
		there = find(t, item.prefix, item.len);
		if (there)
			there->leaf = item.leaf;
		else
			t->item[t->items++] = item;
	} else if (t->items) {
		there = &t->item[chance(t, t->items)];
		there->leaf = chance(t, 4) ? 0 : 64 + chance(t, LEAVES);
		item = *there;
		if (!item.leaf)
			*there = t->item[--t->items];
	} else {
		return change(t, 100);
	}
	rib_set(t, &item);
	return item;
}

static void update(struct table *t, const struct item *item)
{
	trie_update(&t->trie, item->prefix, item->len);
	if (!item->leaf)
		rib_node_put(&t->rib, item->prefix, item->len);
}

/* --- checks ------------------------------------------------------------------------------------- */

static void check_at(const struct table *t, struct addr a)
{
	struct trie_range range;
	__u32 want;

	a = cut(t, a);
	want = naive(t, a);
	assert_int_equal(trie_find(&t->view, a, &range), 0);
	if (range.leaf != want) {
		char text[ADDR_STRLEN];

		fail_msg("%s: leaf %u instead of %u", addr_format(t->family, a, text), range.leaf,
			 want);
	}
	assert_true(range.first.hi < a.hi || (range.first.hi == a.hi && range.first.lo <= a.lo));
	assert_true(range.last.hi > a.hi || (range.last.hi == a.hi && range.last.lo >= a.lo));
}

static struct addr step(const struct table *t, struct addr a, int by)
{
	if (t->family == IP4)
		return (struct addr){ a.hi + ((__u64)by << 32), 0 };
	if (by > 0)
		a.hi += !++a.lo;
	else
		a.hi -= !a.lo--;
	return a;
}

/* First and last address, and their neighbours. */
static void check_edges(const struct table *t, const struct item *item)
{
	struct addr last = item->prefix;

	last.hi |= item->len < 64 ? ~0ull >> item->len : 0;
	last.lo |= item->len <= 64 ? ~0ull : item->len < 128 ? ~0ull >> (item->len - 64) : 0;
	last = cut(t, last);
	check_at(t, item->prefix);
	check_at(t, step(t, item->prefix, -1));
	check_at(t, last);
	check_at(t, step(t, last, 1));
}

static void check_all(struct table *t)
{
	for (unsigned int i = 0; i < t->items; i++)
		check_edges(t, &t->item[i]);
	for (int i = 0; i < 200; i++)
		check_at(t, (struct addr){ draw(t), draw(t) });
}

struct ranges {
	const struct table *t;
	struct addr next;
	__u32 leaf;
	bool begun;
};

/* They follow each other without a gap, no two alike in a row, each right at both ends. */
static int check_range(void *arg, const struct trie_range *range)
{
	struct ranges *r = arg;

	assert_true(addr_equal(range->first, r->next));
	assert_true(!r->begun || range->leaf != r->leaf);
	assert_int_equal(naive(r->t, range->first), range->leaf);
	assert_int_equal(naive(r->t, range->last), range->leaf);
	r->next = step(r->t, range->last, 1);
	r->leaf = range->leaf;
	r->begun = true;
	return 0;
}

static void check_ranges(struct table *t)
{
	struct ranges r = { .t = t };

	assert_int_equal(trie_ranges(&t->view, check_range, &r), 0);
	assert_true(addr_is_zero(r.next));
}

/* --- tests -------------------------------------------------------------------------------------- */

static void churn(struct table *t, int steps)
{
	for (int i = 0; i < steps; i++) {
		struct item item = change(t, i / 1500 % 2 ? 35 : 70);

		update(t, &item);
		check_edges(t, &item);
		if (i % 64 == 0)
			pass_grace(t);
		if (i % 1000 == 999)
			check_all(t);
	}
	check_ranges(t);
	assert_int_equal(t->trie.starved, 0);
}

static void follows_changes(void **state)
{
	static struct table t;

	for (int f = 0; f < FAMILIES; f++)
		for (int seed = 1; seed <= SEEDS; seed++) {
			open_table(&t, f, seed, BYTES);
			churn(&t, STEPS);
			close_table(&t);
		}
}

/* Several changes of the RIB, then the updates: what another change has done already is no harm. */
static void takes_changes_together(void **state)
{
	static struct table t;
	struct item batch[40];

	for (int f = 0; f < FAMILIES; f++) {
		open_table(&t, f, 77, BYTES);
		for (int i = 0; i < 100; i++) {
			for (int n = 0; n < 40; n++)
				batch[n] = change(&t, 60);
			for (int n = 0; n < 40; n++)
				trie_update(&t.trie, batch[n].prefix, batch[n].len);
			for (int n = 0; n < 40; n++)
				check_edges(&t, &batch[n]);
			pass_grace(&t);
		}
		check_all(&t);
		check_ranges(&t);
		close_table(&t);
	}
}

static void is_built_at_once_as_step_by_step(void **state)
{
	static struct table t;
	__u32 stepwise;

	for (int f = 0; f < FAMILIES; f++) {
		open_table(&t, f, 5, BYTES);
		churn(&t, 3000);
		pass_grace(&t);
		pass_grace(&t);
		stepwise = t.pool.blocks.used;
		trie_clear(&t.trie, 0);
		pass_grace(&t);
		trie_update(&t.trie, (struct addr){}, 0);
		check_all(&t);
		check_ranges(&t);
		/* Tables shrink later than they grow. */
		assert_true(stepwise <= 2 * t.pool.blocks.used);
		t.trie.stores = 0;
		trie_update(&t.trie, (struct addr){}, 0);
		assert_int_equal(t.trie.stores, 0);
		close_table(&t);
	}
}

/* Another process goes on with the memory. The RIB has changed meanwhile. */
static void is_taken_over(void **state)
{
	static struct table t;
	__u32 used;

	for (int f = 0; f < FAMILIES; f++) {
		open_table(&t, f, 9, BYTES);
		churn(&t, 3000);
		pass_grace(&t);
		pass_grace(&t);
		used = t.pool.blocks.used;
		trie_pool_done(&t.pool);
		assert_int_equal(trie_pool_init(&t.pool, t.memory, BYTES), 0);
		assert_true(trie_adopt(&t.trie));
		assert_int_equal(t.pool.blocks.used, used);
		for (int i = 0; i < 300; i++)
			change(&t, 50);
		trie_update(&t.trie, (struct addr){}, 0);
		check_all(&t);
		churn(&t, 1000);
		close_table(&t);
	}
}

/* Every address is right, or the kernel's. */
static unsigned int count_markers(const struct table *t)
{
	unsigned int markers = 0;

	for (unsigned int i = 0; i < t->items; i++) {
		struct trie_range range;

		assert_int_equal(trie_find(&t->view, t->item[i].prefix, &range), 0);
		if (range.leaf == XFIB_PUNT_CAPACITY)
			markers++;
		else
			assert_int_equal(range.leaf, naive(t, t->item[i].prefix));
	}
	return markers;
}

static void without_room_is_the_kernels_and_heals(void **state)
{
	static struct table t;
	unsigned int markers = 0;

	for (int f = 0; f < FAMILIES; f++) {
		open_table(&t, f, 3, 16384);
		for (int i = 0; i < 2000; i++) {
			struct item item = change(&t, 75);

			update(&t, &item);
			if (i % 16 == 0)
				pass_grace(&t);
			if (i % 50 == 0)
				markers += count_markers(&t);
		}
		assert_true(t.trie.starved);
		assert_true(markers);
		while (t.items > 20) {
			struct item item = t.item[--t.items];

			item.leaf = 0;
			rib_set(&t, &item);
			update(&t, &item);
			pass_grace(&t);
		}
		t.trie.starved = 0;
		trie_update(&t.trie, (struct addr){}, 0);
		assert_int_equal(t.trie.starved, 0);
		check_all(&t);
		check_ranges(&t);
		close_table(&t);
	}
}

/* Enough of them for a wide root and wide tables below it, and back. */
static void a_large_table_has_a_wide_root(void **state)
{
	static struct table t;

	for (int f = 0; f < FAMILIES; f++) {
		open_table(&t, f, 4, 16 * BYTES);
		for (unsigned int i = 0; i < 20000; i++) {
			struct item item = {
				.prefix = { (0x2000ull + i % 97) << 48 | (__u64)i << 32, 0 },
				.len = f == IP4 ? 32 : 48,
				.leaf = 64 + i % 50
			};

			rib_set(&t, &item);
			trie_update(&t.trie, item.prefix, item.len);
			pass_grace(&t);
		}
		assert_int_equal(XFIB_TRIE_KIND(t.root), XFIB_TRIE_TABLE + 3);
		for (unsigned int i = 0; i < 20000; i++) {
			struct addr a = { (0x2000ull + i % 97) << 48 | (__u64)i << 32, 0 };
			struct trie_range range;

			assert_int_equal(trie_find(&t.view, a, &range), 0);
			assert_int_equal(range.leaf, 64 + i % 50);
		}
		for (unsigned int i = 0; i < 20000; i++) {
			struct item item = {
				.prefix = { (0x2000ull + i % 97) << 48 | (__u64)i << 32, 0 },
				.len = f == IP4 ? 32 : 48
			};

			rib_set(&t, &item);
			update(&t, &item);
			pass_grace(&t);
		}
		assert_int_equal(t.root, 0);
		close_table(&t);
	}
}

/* Whatever is in the memory: an answer or an error, no access outside of it. */
static void garbage_is_no_trie(void **state)
{
	static struct table t;
	struct trie_range range;
	unsigned int refused = 0;

	open_table(&t, IP6, 8, 65536);
	for (int i = 0; i < 3000; i++) {
		for (int n = 0; n < 4096; n++)
			((__u32 *)t.memory)[chance(&t, 16384)] =
				draw(&t) >> 32 & (chance(&t, 2) ? ~0u : 0xf8000fffu);
		t.root = XFIB_TRIE_BLOCK | (draw(&t) >> 33 & 0x78000fff);
		trie_find(&t.view, (struct addr){ draw(&t), draw(&t) }, &range);
		trie_pool_done(&t.pool);
		assert_int_equal(trie_pool_init(&t.pool, t.memory, 65536), 0);
		refused += !trie_adopt(&t.trie);
	}
	assert_true(refused > 1000);
	t.root = 0;
	trie_pool_done(&t.pool);
	trie_pool_init(&t.pool, t.memory, 65536);
	close_table(&t);
}

/* --- a reader beside the writer ------------------------------------------------------------------ */

/*
 * Prefixes that come and go under covering ones that stay: an address has one of two leaves, whatever
 * the writer is doing. The reader walks as the program does, once and without looking back.
 */
enum { FLAPS = 400, CHANGES = 60000 };

struct race {
	struct table *t;
	struct addr probe[FLAPS];
	__u32 with[FLAPS], without[FLAPS];
	atomic_ulong turns; /* the reader has let go of everything */
	atomic_bool stop;
	unsigned long wrong;
};

static __u32 walk(const struct table *t, struct addr a)
{
	__u32 entry = __atomic_load_n(&t->root, __ATOMIC_ACQUIRE);
	unsigned int depth = 0;

	while (entry & XFIB_TRIE_BLOCK) {
		const __u8 *block = t->memory + XFIB_TRIE_OFFSET(entry);
		unsigned int kind = XFIB_TRIE_KIND(entry), bits = XFIB_TRIE_BITS(kind);
		__u64 key = addr_window(a, depth);

		if (XFIB_TRIE_OFFSET(entry) >= t->view.bytes || depth > 128)
			return ~0u;
		if (kind > XFIB_TRIE_RECORD) {
			unsigned int words = kind - XFIB_TRIE_RECORD, n = 0;
			const __u64 *word = (const __u64 *)block;

			for (unsigned int i = 0; i < words; i++)
				n += (key >> 33 >= (__u32)word[i]) + (key >> 33 >= word[i] >> 32);
			return ((const __u16 *)(word + words))[n];
		}
		if (kind == XFIB_TRIE_SKIP) {
			const struct xfib_trie_skip *skip = (const void *)block;

			if (skip->len < 1 || skip->len > 63)
				return ~0u;
			if ((key ^ skip->bits) >> (64 - skip->len))
				return skip->outside;
			entry = __atomic_load_n(&skip->inside, __ATOMIC_ACQUIRE);
			depth += skip->len;
			continue;
		}
		if (kind >= XFIB_TRIE_LEAVES)
			return __atomic_load_n((const __u16 *)block + (key >> (64 - bits)),
					       __ATOMIC_RELAXED);
		entry = __atomic_load_n((const __u32 *)block + (key >> (64 - bits)),
					__ATOMIC_ACQUIRE);
		depth += bits;
	}
	return entry;
}

static void *read_on(void *arg)
{
	struct race *race = arg;

	while (!atomic_load(&race->stop)) {
		for (int i = 0; i < FLAPS; i++) {
			__u32 leaf = walk(race->t, race->probe[i]);

			race->wrong += leaf != race->with[i] && leaf != race->without[i];
		}
		atomic_fetch_add(&race->turns, 1);
	}
	return NULL;
}

/* Everything that is given back is poisoned, as soon as the reader can have no more of it. */
static void pass_reader(struct race *race)
{
	struct buddy *b = &race->t->pool.blocks;
	unsigned long turn = atomic_load(&race->turns);

	if (!buddy_close(b))
		return;
	while (atomic_load(&race->turns) < turn + 2 && !atomic_load(&race->stop))
		;
	for (__u32 i = 0; i < b->limbo.closeds; i++)
		memset(race->t->memory + (b->limbo.closed[i] >> 4) * XFIB_TRIE_UNIT, 0xee,
		       (size_t)XFIB_TRIE_UNIT << (b->limbo.closed[i] & 15));
	buddy_free(b);
}

/* One within another would make a third answer. The flaps are the last `n` items. */
static bool meets_flap(const struct table *t, int n, const struct item *item)
{
	for (const struct item *flap = &t->item[t->items - n]; flap < &t->item[t->items]; flap++)
		if (prefix_covers(flap->prefix, flap->len, item->prefix) ||
		    prefix_covers(item->prefix, item->len, flap->prefix))
			return true;
	return false;
}

static unsigned long race_once(struct table *t, enum family family, int changes)
{
	static struct race race;
	static bool there[FLAPS];
	pthread_t reader;

	race = (struct race){ .t = t };
	open_table(t, family, 21, 4 * BYTES);
	churn(t, 800); /* which also are the covering ones */
	for (int i = 0; i < FLAPS; i++) {
		struct item item;

		do
			item = some_prefix(t);
		while (find(t, item.prefix, item.len) || meets_flap(t, i, &item));
		race.probe[i] = item.prefix;
		there[i] = false;
		t->item[t->items++] = item;
	}
	for (int i = 0; i < FLAPS; i++) {
		struct item *item = &t->item[t->items - FLAPS + i];
		unsigned int items = t->items;

		t->items -= FLAPS;
		race.without[i] = naive(t, item->prefix);
		t->items = items;
		race.with[i] = item->leaf;
	}
	assert_int_equal(pthread_create(&reader, NULL, read_on, &race), 0);
	for (int i = 0; i < changes; i++) {
		unsigned int n = chance(t, FLAPS);
		struct item item = t->item[t->items - FLAPS + n];

		there[n] = !there[n];
		if (!there[n])
			item.leaf = 0;
		rib_set(t, &item);
		update(t, &item);
		if (i % 16 == 0)
			pass_reader(&race);
	}
	atomic_store(&race.stop, true);
	pthread_join(reader, NULL);
	t->items -= FLAPS;
	for (int i = 0; i < FLAPS; i++)
		if (there[i]) {
			struct item item = t->item[t->items + i];

			item.leaf = 0;
			rib_set(t, &item);
			update(t, &item);
		}
	check_all(t);
	close_table(t);
	return race.wrong;
}

static void a_reader_sees_the_old_or_the_new(void **state)
{
	static struct table t;
	const char *wanted = getenv("TRIE_WRONG"); /* with the order broken on purpose */
	unsigned long wrong = 0;

	/* What is broken needs two CPUs at the same time to be seen. */
	for (int i = 0; i < (wanted ? 20 : 1) && !wrong; i++)
		for (int f = 0; f < FAMILIES; f++)
			wrong += race_once(&t, f, CHANGES);
	print_message("%lu answers that were never right\n", wrong);
	assert_true(wanted ? wrong > 0 : wrong == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_changes),
		cmocka_unit_test(takes_changes_together),
		cmocka_unit_test(is_built_at_once_as_step_by_step),
		cmocka_unit_test(is_taken_over),
		cmocka_unit_test(without_room_is_the_kernels_and_heals),
		cmocka_unit_test(a_large_table_has_a_wide_root),
		cmocka_unit_test(garbage_is_no_trie),
		cmocka_unit_test(a_reader_sees_the_old_or_the_new),
	};

	cmocka_set_test_filter(getenv("CMOCKA_TEST_FILTER"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The allocators with a limbo: nothing is handed out twice, or before a grace period has passed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fib/slots.h"

enum { FIRST = 3, LAST = 70, STEPS = 20000, UNITS = 4096 };

enum state { FREE, LIVE, OPEN, CLOSED };

static __u64 rng;

static unsigned int chance(unsigned int n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 20) % n;
}

/* --- slots ------------------------------------------------------------------------------------- */

struct model {
	struct slots s;
	enum state state[LAST + 2];
};

static unsigned int count(const struct model *m, enum state state)
{
	unsigned int n = 0;

	for (unsigned int i = FIRST; i <= LAST; i++)
		n += m->state[i] == state;
	return n;
}

static void set_all(struct model *m, enum state from, enum state to)
{
	for (unsigned int i = FIRST; i <= LAST; i++)
		if (m->state[i] == from)
			m->state[i] = to;
}

static void get(struct model *m)
{
	__u32 slot = slots_get(&m->s);

	if (!slot) {
		assert_int_equal(count(m, FREE), 0);
		return;
	}
	assert_in_range(slot, FIRST, LAST);
	assert_int_equal(m->state[slot], FREE);
	m->state[slot] = LIVE;
}

static void retire(struct model *m)
{
	unsigned int slot = FIRST + chance(LAST - FIRST + 1);

	if (m->state[slot] != LIVE)
		return;
	slots_retire(&m->s, slot);
	m->state[slot] = OPEN;
}

static void step(struct model *m, unsigned int greed)
{
	unsigned int what = chance(100);

	if (what < greed) {
		get(m);
	} else if (what < 90) {
		retire(m);
	} else if (what < 95) {
		bool closes = count(m, OPEN) && !count(m, CLOSED);

		assert_int_equal(slots_close(&m->s), closes);
		if (closes)
			set_all(m, OPEN, CLOSED);
	} else {
		slots_free(&m->s);
		set_all(m, CLOSED, FREE);
	}
	assert_int_equal(m->s.live, count(m, LIVE));
}

static void slots_are_not_handed_out_early(void **state)
{
	for (int seed = 1; seed <= 4; seed++) {
		struct model m = {};

		rng = seed * 77777;
		assert_int_equal(slots_init(&m.s, FIRST, LAST), 0);
		for (int i = 0; i < STEPS; i++)
			step(&m, i / 500 % 2 ? 60 : 35);
		slots_done(&m.s);
	}
}

static void adopted_slots_are_in_use(void **state)
{
	static const __u32
		adopted[] = { FIRST, FIRST + 1, 40, LAST, 0, 1, LAST + 1, 40 /* again */ };
	struct model m = {};

	rng = 99;
	assert_int_equal(slots_init(&m.s, FIRST, LAST), 0);
	for (unsigned int i = 0; i < sizeof(adopted) / sizeof(adopted[0]); i++) {
		slots_adopt(&m.s, adopted[i]);
		if (adopted[i] >= FIRST && adopted[i] <= LAST)
			m.state[adopted[i]] = LIVE;
	}
	assert_int_equal(m.s.live, 4);
	for (int i = 0; i < STEPS; i++)
		step(&m, i / 500 % 2 ? 60 : 35);
	slots_done(&m.s);
}

/* All of them can be had, and had again after two grace periods at most. */
static void no_slot_is_lost(void **state)
{
	struct model m = {};

	assert_int_equal(slots_init(&m.s, FIRST, LAST), 0);
	for (int round = 0; round < 3; round++) {
		for (unsigned int i = FIRST; i <= LAST; i++)
			get(&m);
		assert_int_equal(slots_get(&m.s), 0);
		for (unsigned int i = FIRST; i <= LAST; i++) {
			slots_retire(&m.s, i);
			m.state[i] = OPEN;
		}
		assert_int_equal(slots_get(&m.s), 0);
		assert_true(slots_close(&m.s));
		assert_int_equal(slots_get(&m.s), 0);
		slots_free(&m.s);
		set_all(&m, OPEN, FREE);
	}
	slots_done(&m.s);
}

/* --- buddies ------------------------------------------------------------------------------------ */

struct block {
	__u32 first;
	unsigned int order;
	enum state state;
};

struct blocks {
	struct buddy b;
	struct block block[UNITS];
	unsigned int blocks;
};

static bool overlap(const struct block *a, __u32 first, unsigned int order)
{
	return a->first < first + (1u << order) && first < a->first + (1u << a->order);
}

static void take(struct blocks *m, __u32 first, unsigned int order)
{
	assert_true(first + (1u << order) <= UNITS);
	assert_int_equal(first & ((1u << order) - 1), 0);
	for (unsigned int i = 0; i < m->blocks; i++)
		assert_false(overlap(&m->block[i], first, order));
	m->block[m->blocks++] = (struct block){ .first = first, .order = order, .state = LIVE };
}

/* Whether an aligned run of this order is free: then the allocator must have found one. */
static bool room(const struct blocks *m, unsigned int order)
{
	for (__u32 first = 0; first < UNITS; first += 1u << order) {
		bool free = true;

		for (unsigned int i = 0; i < m->blocks && free; i++)
			free = !overlap(&m->block[i], first, order);
		if (free)
			return true;
	}
	return false;
}

static void set_blocks(struct blocks *m, enum state from, enum state to)
{
	for (unsigned int i = m->blocks; i-- > 0;) {
		if (m->block[i].state != from)
			continue;
		if (to == FREE)
			m->block[i] = m->block[--m->blocks];
		else
			m->block[i].state = to;
	}
}

static unsigned int units(const struct blocks *m)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < m->blocks; i++)
		n += 1u << m->block[i].order;
	return n;
}

static bool any(const struct blocks *m, enum state state)
{
	for (unsigned int i = 0; i < m->blocks; i++)
		if (m->block[i].state == state)
			return true;
	return false;
}

static void buddy_step(struct blocks *m, unsigned int greed)
{
	unsigned int what = chance(100), order = chance(4) ? chance(4) : chance(m->b.orders), i;

	if (what < greed) {
		__u32 first = buddy_get(&m->b, order);

		if (first == BUDDY_NONE)
			assert_false(room(m, order));
		else
			take(m, first, order);
	} else if (what < 90) {
		i = m->blocks ? chance(m->blocks) : 0;
		if (m->blocks && m->block[i].state == LIVE) {
			buddy_retire(&m->b, m->block[i].first, m->block[i].order);
			m->block[i].state = OPEN;
		}
	} else if (what < 95) {
		bool closes = any(m, OPEN) && !any(m, CLOSED);

		assert_int_equal(buddy_close(&m->b), closes);
		if (closes)
			set_blocks(m, OPEN, CLOSED);
	} else {
		buddy_free(&m->b);
		set_blocks(m, CLOSED, FREE);
	}
	assert_int_equal(m->b.used, units(m));
}

/* Gives all back: nothing but the largest blocks may be left. */
static void buddy_end(struct blocks *m)
{
	buddy_free(&m->b);
	set_blocks(m, CLOSED, FREE);
	for (unsigned int i = 0; i < m->blocks; i++)
		if (m->block[i].state == LIVE)
			buddy_retire(&m->b, m->block[i].first, m->block[i].order);
	buddy_close(&m->b);
	buddy_free(&m->b);
	m->blocks = 0;
	assert_int_equal(m->b.used, 0);
	for (__u32 n = 0; n < (__u32)UNITS >> (m->b.orders - 1); n++)
		take(m, buddy_get(&m->b, m->b.orders - 1), m->b.orders - 1);
	assert_int_equal(buddy_get(&m->b, 0), BUDDY_NONE);
	buddy_done(&m->b);
}

static void buddies_never_overlap_and_merge_again(void **state)
{
	static struct blocks m;

	for (int seed = 1; seed <= 3; seed++) {
		m = (struct blocks){};
		rng = seed * 31337;
		assert_int_equal(buddy_init(&m.b, UNITS), 0);
		for (int i = 0; i < STEPS / 2; i++)
			buddy_step(&m, i / 1000 % 2 ? 55 : 30);
		buddy_end(&m);
	}
}

static void adopted_blocks_are_in_use(void **state)
{
	static struct blocks m;

	for (int seed = 1; seed <= 3; seed++) {
		m = (struct blocks){};
		rng = seed * 4242;
		assert_int_equal(buddy_init(&m.b, UNITS), 0);
		for (int i = 0; i < 60; i++) {
			unsigned int order = chance(8);
			__u32 first = chance(UNITS >> order) << order;
			bool free = true;

			for (unsigned int j = 0; j < m.blocks; j++)
				free &= !overlap(&m.block[j], first, order);
			assert_int_equal(buddy_adopt(&m.b, first, order), free);
			if (free)
				take(&m, first, order);
		}
		assert_false(buddy_adopt(&m.b, UNITS, 0));
		assert_false(buddy_adopt(&m.b, 0, m.b.orders));
		assert_false(buddy_adopt(&m.b, 1, 1)); /* no block starts there */
		for (int i = 0; i < STEPS / 4; i++)
			buddy_step(&m, i / 1000 % 2 ? 55 : 30);
		buddy_end(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_not_handed_out_early),
		cmocka_unit_test(adopted_slots_are_in_use),
		cmocka_unit_test(no_slot_is_lost),
		cmocka_unit_test(buddies_never_overlap_and_merge_again),
		cmocka_unit_test(adopted_blocks_are_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

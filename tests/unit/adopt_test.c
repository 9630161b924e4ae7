/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A daemon dies, wherever it was, the kernel goes on, and the next daemon takes over the maps while packets use
 * them: every address is answered as before or as now, until it is as now; what is as it was is not
 * touched; and nothing is lost however often that happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "world.h"

enum { SEEDS = 16, RESTARTS = 50 };

static void turn(struct world *w, unsigned int ops)
{
	for (unsigned int i = 0; i < ops; i++)
		world_op(w);
	while (world_deliver(w))
		;
	world_commit(w);
}

static void live_on(struct world *w)
{
	for (unsigned int i = world_random(w, 12); i; i--, w->step++) {
		turn(w, 1 + world_random(w, 3));
		world_settle(w);
		if (world_chance(w, 50))
			world_dump(w);
		if (world_chance(w, 30))
			world_grace(w);
	}
	world_dump(w);
	world_check(w);
}

/* In the middle of a batch: what it wrote last is before or after it. */
static void die(struct world *w)
{
	if (world_chance(w, 50)) {
		w->sink->dies_at = w->sink->now + 1 + world_random(w, 30);
		turn(w, 1 + world_random(w, 6));
	}
	world_stop(w);
}

static struct world *new_world(__u64 seed)
{
	struct world *w = world_new(seed);

	if (seed % 3 == 2)
		world_narrow(w);
	w->flapping = seed % 2;
	w->sink->queued = seed % 4 >= 2;
	for (int i = 2; i < NAIVE_LINKS; i++)
		world_greet(w, i);
	for (int i = 0; i < 60; i++)
		world_op(w);
	return w;
}

/* While nobody looks, a port's slot goes to another device. */
static void swap_ports(struct world *w)
{
	unsigned int i = world_random(w, WORLD_PORTS);
	struct fib_port *a = &w->port[i], other = *a;
	struct fib_port *b = &w->port[(i + 1 + world_random(w, WORLD_PORTS - 1)) % WORLD_PORTS];

	*a = *b;
	*b = other;
}

/* What is stale takes room too, until it is swept. */
static void fill_tables(struct world *w, __u64 seed)
{
	w->partly = true;
	w->sink->full_refuses = seed % 2;
	for (int f = 0; f < FAMILIES; f++)
		w->sink->table[f].capacity = w->narrow ? 2 : 12;
}

static void history(__u64 seed)
{
	struct world *w = new_world(seed);

	if (seed % 5 == 4)
		fill_tables(w, seed);
	world_start(w);
	for (int i = 0; i < (int)world_length(RESTARTS); i++, w->step++) {
		live_on(w);
		die(w);
		for (unsigned int n = world_random(w, 8); n; n--)
			world_op(w);
		if (world_chance(w, 20))
			swap_ports(w);
		world_start(w);
		world_check(w);
		world_check_leaks(w);
	}
	for (int f = 0; f < FAMILIES; f++)
		w->sink->table[f].capacity = 0;
	world_audit(w);
	world_free(w);
}

static void restarts(void **state)
{
	world_seeds(1, SEEDS, history);
}

/* Where the daemon dies: at a row of its first start, of a change, or of taking over. */
enum phase { STARTING, RUNNING, ADOPTING, PHASES };

static void die_at_row(struct world *w, bool now, unsigned int row)
{
	if (now)
		w->sink->dies_at = w->sink->now + row;
}

static void changes(struct world *w)
{
	for (int i = 0; i < 5; i++) {
		turn(w, 1 + world_random(w, 4));
		if (w->sink->frozen)
			return;
		world_settle(w);
		if (world_chance(w, 50))
			world_dump(w);
		if (world_chance(w, 40))
			world_grace(w);
	}
}

static void nobody_looks(struct world *w)
{
	world_stop(w);
	for (unsigned int n = world_random(w, 6); n; n--)
		world_op(w);
	if (world_chance(w, 50))
		swap_ports(w);
}

/* False if there is no such row. */
static bool dies(__u64 seed, enum phase phase, unsigned int row)
{
	struct world *w = new_world(seed);
	bool died;

	w->step = row;
	die_at_row(w, phase == STARTING, row);
	world_start(w);
	die_at_row(w, phase == RUNNING, row);
	if (phase != STARTING)
		changes(w);
	if (phase == ADOPTING) {
		nobody_looks(w);
		die_at_row(w, true, row);
		world_start(w);
	}
	died = w->sink->frozen;
	nobody_looks(w);
	world_start(w);
	world_check(w);
	world_check_leaks(w);
	world_audit(w);
	world_free(w);
	return died;
}

static void at_every_row(__u64 seed)
{
	for (enum phase phase = STARTING; phase < PHASES; phase++)
		for (unsigned int row = 1; dies(seed, phase, row); row++)
			;
}

static void death_at_any_row(void **state)
{
	world_seeds(1, 1, at_every_row);
}

/* Two ports have changed places; who finds that out dies as well. */
static bool dies_after_a_swap(unsigned int row)
{
	struct world *w = world_new(1);
	struct fib_port port = w->port[0];
	bool died;

	w->step = row;
	world_greet(w, w->port[0].ifindex);
	world_greet(w, w->port[1].ifindex);
	world_start(w);
	world_stop(w);
	w->port[0] = w->port[1];
	w->port[1] = port;
	die_at_row(w, true, row);
	world_start(w);
	died = w->sink->frozen;
	world_stop(w);
	world_start(w);
	world_check(w);
	world_free(w);
	return died;
}

static void death_with_ports_that_have_swapped(void **state)
{
	for (unsigned int row = 1; dies_after_a_swap(row); row++)
		;
}

static unsigned int groups(const struct sink *s)
{
	unsigned int n = 0;

	for (__u32 id = XFIB_NH_FIRST; id < XFIB_NEXTHOPS; id++)
		n += s->nexthops[id].kind == XFIB_NH_GROUP_L3 ||
		     s->nexthops[id].kind == XFIB_NH_GROUP_L4;
	return n;
}

/* Groups get new buckets, and leaves with them; nothing else does. */
static void unchanged(__u64 seed)
{
	struct world *w = new_world(seed);
	unsigned int n;
	bool looked_up;

	world_start(w);
	live_on(w);
	world_check_leaks(w);
	n = groups(w->sink);
	looked_up = w->m.looks_up_sources;
	world_stop(w);
	memset(&w->sink->changed, 0, sizeof(w->sink->changed));
	world_start(w);
	/* Whether there ever was a reason to look up sources cannot be seen afterwards. */
	if (looked_up == w->m.looks_up_sources &&
	    (w->sink->changed.neigh || w->sink->changed.lladdr || w->sink->changed.l3if))
		world_fail(w, "%llu keys, %llu addresses, %llu interfaces were written anew",
			   w->sink->changed.neigh, w->sink->changed.lladdr, w->sink->changed.l3if);
	if (w->sink->changed.nexthop > n)
		world_fail(w, "%llu next hops were written anew for %u groups",
			   w->sink->changed.nexthop, n);
	world_audit(w);
	world_free(w);
}

static void what_is_unchanged_is_not_written(void **state)
{
	world_seeds(1, 30, unchanged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restarts),
		cmocka_unit_test(death_at_any_row),
		cmocka_unit_test(death_with_ports_that_have_swapped),
		cmocka_unit_test(what_is_unchanged_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

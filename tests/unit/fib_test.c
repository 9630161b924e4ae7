/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The whole way from the kernel's messages to the rows, by random histories: no address is ever
 * answered as the kernel did not answer it, and in the end all are answered as it does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "world.h"

enum { SEEDS = 30, STEPS = 400 };

static bool queued;

/* A new generation of maps is filled with what there is. */
static void replay(struct world *w)
{
	struct sink *other = sink_new();

	other->fail = w->sink->fail;
	other->arg = w;
	fib_replay(&w->fib, &sink_ops, other);
	sink_assert_equal(w->sink, other);
	sink_free(other);
}

/* A turn of the daemon's loop. */
static void turn(struct world *w)
{
	unsigned int ops = world_chance(w, 70) ? 1 : 1 + world_random(w, 5);

	for (unsigned int i = 0; i < ops; i++)
		world_op(w);
	while (world_deliver(w))
		;
	world_commit(w);
	world_settle(w);
	if (world_chance(w, 30))
		world_grace(w);
	if (world_chance(w, w->flapping ? 20 : 50))
		world_dump(w);
	if (!w->m.wanted)
		world_check(w);
	if (world_chance(w, 2))
		replay(w);
}

static void history(__u64 seed)
{
	struct world *w = world_new(seed);

	w->sink->queued = queued;
	w->dropping = seed % 4 == 3;
	if (seed % 3 == 2)
		world_narrow(w);
	w->flapping = seed % 2;
	for (int i = 0; i < 40; i++)
		world_op(w);
	world_start(w);
	world_check(w);
	for (w->step = 1; w->step <= world_length(STEPS); w->step++)
		turn(w);
	world_audit(w);
	world_free(w);
}

static void random_histories(void **state)
{
	queued = false;
	world_seeds(1, SEEDS, history);
}

static void random_histories_with_queued_routes(void **state)
{
	queued = true;
	world_seeds(1001, SEEDS, history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_histories),
		cmocka_unit_test(random_histories_with_queued_routes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

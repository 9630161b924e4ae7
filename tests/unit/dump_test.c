/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dumps and notifications are two sockets, the kernel goes on meanwhile, and notifications may be lost.
 * Whatever the interleaving, what is synced is the kernel's. As long as nothing was lost and, as in the
 * daemon, a dump is read only after the notifications that are older, no address is answered as the
 * kernel did not answer it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "world.h"

enum { SEEDS = 80, STEPS = 1500, UNREAD = 4096 };

/* The dump under way, as the kernel and the daemon see it. */
struct dump {
	int table; /* -1: none */
	struct naive_cursor cursor;
	bool told; /* the kernel has told all of it */
	struct event *unread[UNREAD];
	unsigned int older[UNREAD]; /* notifications that had been sent when this was told */
	unsigned int head, tail;
};

struct test {
	struct world *w;
	struct dump d;
	bool lost;	     /* and not all was dumped since */
	bool ordered;	     /* older notifications are read first */
	unsigned int losses; /* chances in 1000 */
	unsigned int speed;  /* at which notifications are read */
};

static void on_told(void *arg, const struct event *ev)
{
	struct test *t = arg;
	struct dump *d = &t->d;

	assert_true(d->tail - d->head < UNREAD);
	d->older[d->tail % UNREAD] = t->w->tail;
	d->unread[d->tail++ % UNREAD] = world_keep(ev);
}

static void drop_unread(struct dump *d)
{
	while (d->head != d->tail)
		free(d->unread[d->head++ % UNREAD]);
}

/* The kernel fills a buffer. */
static void tell(struct test *t)
{
	for (unsigned int n = 1 + world_random(t->w, 6); n && !t->d.told; n--)
		t->d.told = !naive_dump(&t->w->k, t->d.table, &t->d.cursor, on_told, t);
}

static void begin(struct test *t)
{
	t->d.table = world_wanted(t->w);
	if (t->d.table < 0)
		return;
	t->d.cursor = (struct naive_cursor){};
	t->d.told = false;
	model_dump_begin(&t->w->m, t->d.table);
	tell(t); /* the kernel answers at once with a first buffer */
}

static void give_up(struct test *t)
{
	model_dump_abort(&t->w->m, t->d.table);
	drop_unread(&t->d);
	t->d.table = -1;
}

/* The daemon reads what there is; true: the dump is complete. */
static bool read_dump(struct test *t, unsigned int n)
{
	struct dump *d = &t->d;

	while (n-- && d->head != d->tail) {
		unsigned int older = d->older[d->head % UNREAD];
		struct event *ev = d->unread[d->head++ % UNREAD];

		while (t->ordered && (int)(t->w->head - older) < 0 && world_deliver(t->w))
			;
		model_apply(&t->w->m, ev);
		free(ev);
	}
	if (d->head != d->tail || !d->told)
		return false;
	world_dump_end(t->w, d->table);
	d->table = -1;
	return true;
}

static void dump_step(struct test *t)
{
	if (t->d.table < 0)
		begin(t);
	else if (world_chance(t->w, 1))
		give_up(t);
	else if (world_chance(t->w, 40))
		tell(t);
	else
		read_dump(t, 1 + world_random(t->w, 8));
}

/* ENOBUFS: the newest are lost, and the next recvmsg() says so. */
static void lose(struct test *t)
{
	struct world *w = t->w;

	if (w->head == w->tail)
		return;
	world_lose(w, world_random(w, w->tail - w->head));
	w->sink->row =
		NULL; /* until it is all dumped again, anything between old and new may be seen */
	/* What is left in the socket is older than the loss: read before a dump begins. */
	while (world_deliver(w))
		;
	w->m.wanted = (1u << NL_TABLES) - 1;
	t->lost = true;
}

/* All that was told has been heard, and nothing is known to be missing. */
static void caught_up(struct test *t)
{
	struct world *w = t->w;

	if (w->head != w->tail || (t->lost && (w->m.wanted || t->d.table >= 0)))
		return;
	world_commit(w);
	if (t->lost)
		world_check(w);
	t->lost = false;
	w->sink->row = t->ordered ? world_on_row : NULL;
	world_settle(w);
	if (!w->m.wanted && t->d.table < 0)
		world_check(w);
}

static void step(struct test *t)
{
	struct world *w = t->w;
	unsigned int what = world_random(w, 100);

	if (what < 10)
		world_op(w);
	else if (what < 30)
		world_route_op(w);
	else if (what < 30 + t->speed)
		world_deliver(w);
	else if (what < 85)
		dump_step(t);
	else if (what < 93)
		world_commit(w);
	else if (what < 96)
		world_grace(w);
	else if (what < 97)
		w->m.wanted |= 1u << world_random(w, NL_TABLES);
	else if (what < 99)
		w->m.wanted |= 1u << (NL_ROUTES4 + world_random(w, 2));
	if (world_random(w, 1000) < t->losses)
		lose(t);
	caught_up(t);
}

static void quiet(struct test *t)
{
	struct world *w = t->w;

	while (world_deliver(w))
		;
	while (t->d.table >= 0) {
		tell(t);
		read_dump(t, UNREAD);
	}
	world_dump(w);
	caught_up(t);
	world_audit(w);
}

static void history(__u64 seed)
{
	struct test t = {
		.w = world_new(seed),
		.d = { .table = -1 },
		.losses = seed % 2 ? 10 : 0,
		.speed = seed % 5 ? 30 : 15,
	};
	struct world *w = t.w;

	w->sink->queued = seed % 4 >= 2;
	if (seed % 3)
		world_narrow(w);
	w->loose = true;
	t.ordered = seed % 7 < 4;
	for (int i = 0; i < 40; i++)
		world_op(w);
	world_start(w);
	w->sink->row = t.ordered ? world_on_row : NULL;
	for (w->step = 1; w->step <= world_length(STEPS); w->step++) {
		step(&t);
		if (w->step % 300 == 0)
			quiet(&t);
	}
	drop_unread(&t.d);
	world_free(w);
}

static void any_interleaving(void **state)
{
	world_seeds(1, SEEDS, history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_interleaving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

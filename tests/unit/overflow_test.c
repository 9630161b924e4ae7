/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables that are too small: what finds no room is left to the kernel, never answered by a shorter
 * prefix or by what stood in its place before; and when there is room again, all is as it should be.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "world.h"

enum {
	SEEDS = 6,
	SPELLS = 6,
	TURNS = 100,
	NESTED = 2, /* of five prefixes, each within the next */
};

/* What is scarce, and how much of it there is. */
struct shortage {
	const char *name;		    /* NULL: nothing is */
	unsigned int prefixes;		    /* that the fib is told it may install, 0: enough */
	unsigned int map;		    /* that the tries take, 0: enough */
	bool refuses;			    /* a full trie refuses new values too */
	unsigned int leaves, neighs, l3ifs; /* left, 0: enough */
	int order;	    /* of the only block of members that is left, -1: enough */
	unsigned int index; /* of neighbours by address, 0: enough */
};

static const struct shortage *shortage;

struct stolen {
	__u32 *slot;
	unsigned int n;
};

static void steal(struct slots *s, unsigned int leave, struct stolen *stolen)
{
	unsigned int size = s->last - s->first + 1;

	*stolen = (struct stolen){};
	if (!leave)
		return;
	stolen->slot = malloc(size * sizeof(*stolen->slot));
	assert_non_null(stolen->slot);
	/* Whatever is free, up to `leave`. */
	while (size - s->live > leave && (stolen->slot[stolen->n] = slots_get(s)))
		stolen->n++;
}

static void give_back(struct slots *s, struct stolen *stolen)
{
	while (stolen->n)
		slots_retire(s, stolen->slot[--stolen->n]);
	free(stolen->slot);
	*stolen = (struct stolen){};
}

static void steal_members(struct buddy *b, int order, struct stolen *stolen)
{
	__u32 keep = order >= 0 ? buddy_get(b, order) : BUDDY_NONE;

	*stolen = (struct stolen){};
	if (order < 0)
		return;
	stolen->slot = malloc(2 * XFIB_MEMBERS * sizeof(*stolen->slot));
	for (int o = BUDDY_ORDERS - 1; o >= 0; o--)
		for (__u32 first; (first = buddy_get(b, o)) != BUDDY_NONE;) {
			stolen->slot[stolen->n++] = first;
			stolen->slot[stolen->n++] = o;
		}
	buddy_retire(b, keep, order);
	buddy_close(b);
	buddy_free(b);
}

static void give_back_members(struct buddy *b, struct stolen *stolen)
{
	while (stolen->n) {
		__u32 order = stolen->slot[--stolen->n];

		buddy_retire(b, stolen->slot[--stolen->n], order);
	}
	free(stolen->slot);
	*stolen = (struct stolen){};
}

/* Answers that the shortage gave, and those that it still gave in the end. */
static unsigned int felt, standing;

static unsigned int short_answers(const struct world *w)
{
	static struct sink_answer a;
	unsigned int n = 0;

	for (unsigned int i = 0; i < WORLD_PROBES; i++) {
		sink_lookup(w->sink, w->probe[i].family, w->probe[i].addr, &a);
		for (unsigned int j = 0; j < a.legs; j++)
			n += a.leg[j].hop.verdict == XFIB_PUNT_CAPACITY;
	}
	for (const struct neigh *n4 = w->m.neighs; n4; n4 = n4->hh.next)
		n += neigh_usable(n4) && model_link(&w->m, n4->key.ifindex)->fib.l3if &&
		     !n4->fib.indexed;
	for (const struct link *l = w->m.links; l; l = l->hh.next)
		n += l->fib.port >= 0 && !l->fib.l3if;
	return n;
}

/* Once a second the daemon tries again. */
static void second(struct world *w)
{
	fib_heal(&w->fib);
	world_commit(w);
}

static void turn(struct world *w)
{
	for (unsigned int i = world_random(w, 4); i; i--)
		world_op(w);
	while (world_deliver(w))
		;
	world_commit(w);
	world_settle(w);
	if (world_chance(w, 30))
		world_grace(w);
	if (world_chance(w, 20))
		second(w);
	if (world_chance(w, 50))
		world_dump(w);
	if (!w->m.wanted)
		world_check(w);
	felt += short_answers(w);
}

static void set_limits(struct world *w, const struct shortage *s)
{
	w->partly = s->name;
	w->no_neighbours = s->neighs || s->index || s->l3ifs;
	w->sink->index_capacity = s->index;
	for (int f = 0; f < FAMILIES; f++)
		w->sink->table[f].capacity = w->narrow && s->map ? NESTED : s->map;
	w->capacity = !s->prefixes ? 100000 : w->narrow ? NESTED : s->prefixes;
	fib_set_capacity(&w->fib, w->capacity, w->capacity);
}

static void room_again(struct world *w)
{
	static const struct shortage none;

	set_limits(w, &none);
	world_dump(w);
	for (int i = 0; i < 4; i++) {
		world_grace(w);
		second(w);
	}
	world_check(w);
}

/* Shortage, then plenty. */
static void spell(struct world *w)
{
	struct stolen leaves, neighs, l3ifs, members;

	set_limits(w, shortage);
	steal(&w->fib.leaves, shortage->leaves, &leaves);
	steal(&w->fib.neighs, shortage->neighs, &neighs);
	steal(&w->fib.l3ifs, shortage->l3ifs, &l3ifs);
	steal_members(&w->fib.members, shortage->order, &members);
	for (int i = 0; i < (int)world_length(TURNS); i++, w->step++)
		turn(w);
	standing += short_answers(w);
	give_back(&w->fib.leaves, &leaves);
	give_back(&w->fib.neighs, &neighs);
	give_back(&w->fib.l3ifs, &l3ifs);
	give_back_members(&w->fib.members, &members);
	room_again(w);
}

static void history(__u64 seed)
{
	struct world *w = world_new(seed);

	if (seed % 2)
		world_narrow(w);
	w->sink->queued = seed % 4 >= 2;
	w->sink->full_refuses = shortage->refuses;
	for (int i = 2; i < NAIVE_LINKS; i++)
		world_greet(w, i);
	world_start(w);
	for (int i = 0; i < SPELLS; i++)
		spell(w);
	world_audit(w);
	world_free(w);
}

static void run(const struct shortage *s)
{
	shortage = s;
	felt = standing = 0;
	world_seeds(1, SEEDS, history);
	if (getenv("TRACE"))
		fprintf(stderr, "felt %u times, %u in the end\n", felt, standing);
	assert_true(getenv("SEED") || (felt && standing));
}

static void few_prefixes(void **state)
{
	run(&(struct shortage){ .name = __func__, .prefixes = 8, .order = -1 });
}

static void a_map_that_is_full(void **state)
{
	run(&(struct shortage){ .name = __func__, .map = 8, .order = -1 });
}

static void a_full_map_that_refuses_new_values(void **state)
{
	run(&(struct shortage){ .name = __func__, .map = 8, .refuses = true, .order = -1 });
}

static void few_leaf_ids(void **state)
{
	run(&(struct shortage){ .name = __func__, .leaves = 4, .order = -1 });
}

static void few_neighbour_slots(void **state)
{
	run(&(struct shortage){ .name = __func__, .neighs = 1, .order = -1 });
}

static void a_full_neighbour_index(void **state)
{
	run(&(struct shortage){ .name = __func__, .index = 1, .order = -1 });
}

static void few_buckets(void **state)
{
	run(&(struct shortage){ .name = __func__, .order = 3 });
}

static void few_interface_records(void **state)
{
	run(&(struct shortage){ .name = __func__, .l3ifs = 1, .order = -1 });
}

static void few_of_everything(void **state)
{
	run(&(struct shortage){
		.name = __func__,
		.prefixes = 12,
		.map = 10,
		.leaves = 6,
		.neighs = 8,
		.l3ifs = 7,
		.index = 5,
		.order = 4,
	});
}

/* In the place of one of the same table, if there is one. */
static void put_route(struct world *w, unsigned int len, __u32 table, __u8 type, int ifindex)
{
	struct naive_route r = { .family = IP4, .len = len, .table = table, .type = type };
	struct addr addr = w->probe[WORLD_PROBES - 1].addr;

	r.dst = addr_mask(addr, len);
	if (ifindex) {
		r.legs = 1;
		r.leg[0] = (struct leg){ .ifindex = ifindex, .weight = 1 };
	}
	assert_int_equal(naive_route_new(&w->k, &r, NLM_F_CREATE | NLM_F_REPLACE), 0);
	world_allow(w);
}

static void hear(struct world *w)
{
	while (world_deliver(w))
		;
	world_commit(w);
}

/* A prefix that hides a longer one from now on is refused: its old leaf is not for the longer one. */
static void a_refused_prefix_goes_before_what_it_hides(void **state)
{
	struct world *w = world_new(1);

	world_narrow(w);
	for (int i = 2; i < NAIVE_LINKS; i++)
		world_greet(w, i);
	world_start(w);
	w->partly = w->sink->full_refuses = true;
	put_route(w, 16, RT_TABLE_MAIN, RTN_UNICAST, 2);
	put_route(w, 32, RT_TABLE_MAIN, RTN_UNICAST, 3);
	hear(w);
	world_settle(w);
	w->sink->table[IP4].capacity = w->sink->table[IP4].routes;
	put_route(w, 16, RT_TABLE_LOCAL, RTN_LOCAL, 0);
	hear(w);
	world_check(w);
	world_free(w);
}

/* Deleted for its old leaf, it has room again. */
static void a_refused_prefix_comes_back(void **state)
{
	struct world *w = world_new(1);

	world_narrow(w);
	for (int i = 2; i < NAIVE_LINKS; i++)
		world_greet(w, i);
	world_start(w);
	w->sink->full_refuses = true;
	put_route(w, 16, RT_TABLE_MAIN, RTN_UNICAST, 2);
	hear(w);
	w->sink->table[IP4].capacity = w->sink->table[IP4].routes;
	put_route(w, 16, RT_TABLE_MAIN, RTN_UNICAST, 3);
	hear(w);
	second(w);
	world_check(w);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_prefixes),
		cmocka_unit_test(a_map_that_is_full),
		cmocka_unit_test(a_full_map_that_refuses_new_values),
		cmocka_unit_test(few_leaf_ids),
		cmocka_unit_test(few_neighbour_slots),
		cmocka_unit_test(a_full_neighbour_index),
		cmocka_unit_test(few_buckets),
		cmocka_unit_test(few_interface_records),
		cmocka_unit_test(few_of_everything),
		cmocka_unit_test(a_refused_prefix_goes_before_what_it_hides),
		cmocka_unit_test(a_refused_prefix_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

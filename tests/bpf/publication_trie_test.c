// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The publication rule for compiled tries, on two CPUs: a writer lets prefixes come, change and go under one
 * that covers them, a reader sends packets through the program. Each answer must be one that the
 * table really gave at some time between the packet's start and its end: the writer counts what it has
 * begun and what it has done, the reader looks at the counts before and after.
 *
 * Other prefixes, that lead to none of these addresses, come and go around them, so that blocks of all
 * kinds become each other. Blocks that are free again are overwritten with a leaf that no prefix has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <argp.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>

#include "race.h"

enum {
	FIB = 5,
	FLAPS = 64,
	FEW = 6, /* ... where a mistake is to be met soon */
	OTHERS = 2000,
	PHASE = 4000, /* changes for which others grow more, or fewer */
	GRACE = 512,  /* changes between two grace periods */
	COVER = XFIB_NH_FIRST,
	OTHER = 512,
	FLAP = 1024,
	VERSIONS = 126, /* of a flap until a leaf comes again */
};

#define POISON 0x5eed5eedu /* whatever it is read as, it is leaf 0x5eed */

struct prefix {
	struct addr addr;
	unsigned int len;
};

/* A prefix whose first address is looked at. version: 0 of 3 absent, else there with a leaf of its own. */
struct flap {
	struct prefix prefix;
	struct pkt packet;
	atomic_ulong begun, done; /* versions */
};

struct side {
	enum family family;
	struct rib rib;
	struct trie trie;
	struct flap flap[FLAPS];
	struct prefix other[OTHERS];
};

struct run {
	struct router *router;
	bool no_grace;
	unsigned int flaps; /* in use */
	struct side side[FAMILIES];
	__u64 rng;
	atomic_bool stop;
	__u64 changes, starved; /* by the writer */
	__u64 frames, present, wrong;
	char example[120];
};

static __u64 draw(struct run *run)
{
	run->rng ^= run->rng << 13;
	run->rng ^= run->rng >> 7;
	run->rng ^= run->rng << 17;
	return run->rng * 0x2545f4914f6cdd1dull;
}

static unsigned int chance(struct run *run, unsigned int n)
{
	return (draw(run) >> 33) % n;
}

/* --- the table ------------------------------------------------------------------------------------ */

static const struct {
	const char *cover;
	unsigned int cover_len;
	unsigned int lens[16];
} networks[FAMILIES] = {
	[IP4] = { "20.0.0.0",
		  8,
		  { 12, 16, 17, 18, 20, 22, 23, 24, 24, 24, 25, 28, 30, 31, 32, 32 } },
	[IP6] = { "2001:db8::",
		  32,
		  { 36, 40, 44, 47, 48, 48, 56, 63, 64, 64, 65, 80, 96, 112, 127, 128 } },
};

static __u32 flap_leaf(unsigned int n, unsigned long version)
{
	return version % 3 ? FLAP + n * VERSIONS + version % VERSIONS : COVER;
}

/* Inside the covering prefix, and mostly near something that is there. */
static struct prefix some_prefix(struct run *run, const struct side *s)
{
	const struct prefix *near = &s->other[chance(run, OTHERS)];
	struct prefix p = { .len = networks[s->family].lens[chance(run, 16)] };
	struct addr rest = { draw(run), draw(run) }, high;
	unsigned int keep, len = networks[s->family].cover_len;
	enum family f;

	keep = near->len > len ? len + chance(run, near->len - len) : len;
	assert_int_equal(addr_parse(networks[s->family].cover, &f, &p.addr), 0);
	if (near->len)
		p.addr = addr_mask(near->addr, keep);
	high = addr_mask(rest, keep);
	p.addr.hi |= rest.hi ^ high.hi;
	p.addr.lo |= rest.lo ^ high.lo;
	p.addr = addr_mask(p.addr, p.len);
	return p;
}

/* Neither may answer for an address that is looked at. */
static bool in_the_way(const struct side *s, const struct prefix *p, int flaps)
{
	for (int i = 0; i < flaps; i++)
		if (prefix_covers(p->addr, p->len, s->flap[i].prefix.addr))
			return true;
	return false;
}

static bool answered_for(const struct side *s, const struct prefix *p, int flaps)
{
	for (int i = 0; i < flaps; i++)
		if (prefix_covers(s->flap[i].prefix.addr, s->flap[i].prefix.len, p->addr))
			return true;
	return false;
}

static void make_flap(struct run *run, struct side *s, int n)
{
	struct flap *flap = &s->flap[n];
	char dst[ADDR_STRLEN];

	do
		flap->prefix = some_prefix(run, s);
	while (in_the_way(s, &flap->prefix, n) || answered_for(s, &flap->prefix, n));
	addr_format(s->family, flap->prefix.addr, dst);
	if (s->family == IP4)
		pkt_build(&(struct pkt_spec)PKT_IP4(.dst = dst), &flap->packet);
	else
		pkt_build(&(struct pkt_spec)PKT_IP6(.dst = dst), &flap->packet);
}

static void set_prefix(struct side *s, const struct prefix *p, __u32 leaf)
{
	struct rib_node *n;
	__u32 node;
	__u8 above;

	if (rib_node_get(&s->rib, p->addr, p->len, &node, &above))
		abort();
	n = &s->rib.node[node];
	s->rib.prefixes += !!leaf - n->installed;
	n->installed = !!leaf;
	n->published = XFIB_LEAF_VALUE(leaf, XFIB_TABLE_MAIN);
	trie_update(&s->trie, p->addr, p->len);
	if (!leaf)
		rib_node_put(&s->rib, p->addr, p->len);
}

static void make_side(struct run *run, enum family f)
{
	struct side *s = &run->side[f];
	struct prefix cover = { .len = networks[f].cover_len };
	enum family parsed;

	s->family = f;
	assert_int_equal(rib_init(&s->rib, f, 4 * OTHERS), 0);
	s->trie = (struct trie){ .pool = &run->router->pool[f],
				 .rib = &s->rib,
				 .root = &run->router->trie_roots[XFIB_TRIE_ROOT(FIB, f == IP6)] };
	assert_int_equal(addr_parse(networks[f].cover, &parsed, &cover.addr), 0);
	set_prefix(s, &cover, COVER);
	for (int i = 0; i < FLAPS; i++)
		make_flap(run, s, i);
	for (int i = 0; i < OTHERS; i++)
		do
			s->other[i] = some_prefix(run, s);
		while (in_the_way(s, &s->other[i], FLAPS));
}

/* --- the writer ----------------------------------------------------------------------------------- */

static void poison(const struct trie_pool *pool)
{
	const struct limbo *limbo = &pool->blocks.limbo;

	for (__u32 i = 0; i < limbo->closeds; i++) {
		__u64 bytes = (__u64)XFIB_TRIE_UNIT << (limbo->closed[i] & 15);
		__u32 *block =
			(__u32 *)(pool->memory + (__u64)(limbo->closed[i] >> 4) * XFIB_TRIE_UNIT);

		for (__u64 n = 0; n < bytes / sizeof(*block); n++)
			__atomic_store_n(&block[n], POISON, __ATOMIC_RELAXED);
	}
}

/* As the daemon does it: what was retired so far may be used again once the kernel says so. */
static void pass_grace(struct run *run)
{
	bool any = false;

	for (int f = 0; f < FAMILIES; f++)
		any |= buddy_close(&run->router->pool[f].blocks);
	if (!any)
		return;
	if (!run->no_grace)
		race_wait_grace(run->router);
	for (int f = 0; f < FAMILIES; f++) {
		poison(&run->router->pool[f]);
		buddy_free(&run->router->pool[f].blocks);
	}
}

static void change_flap(struct run *run, struct side *s)
{
	unsigned int n = chance(run, run->flaps);
	struct flap *flap = &s->flap[n];
	unsigned long version = atomic_load(&flap->begun) + 1;

	atomic_store(&flap->begun, version);
	set_prefix(s, &flap->prefix, version % 3 ? flap_leaf(n, version) : 0);
	atomic_store(&flap->done, version);
}

static void change_other(struct run *run, struct side *s)
{
	struct prefix *p = &s->other[chance(run, OTHERS)];
	bool more = run->changes / PHASE % 2, there = chance(run, 4) ? more : !more;

	set_prefix(s, p, there ? OTHER + chance(run, 200) : 0);
}

static void *write_on(void *arg)
{
	struct run *run = arg;

	for (; !atomic_load(&run->stop); __atomic_fetch_add(&run->changes, 1, __ATOMIC_RELAXED)) {
		struct side *s = &run->side[chance(run, FAMILIES)];

		if (chance(run, 2))
			change_flap(run, s);
		else
			change_other(run, s);
		if (run->no_grace || run->changes % GRACE == 0)
			pass_grace(run);
	}
	for (int f = 0; f < FAMILIES; f++)
		run->starved += run->side[f].trie.starved;
	return NULL;
}

/* --- the reader ----------------------------------------------------------------------------------- */

static bool was_so(unsigned int n, __u32 leaf, unsigned long from, unsigned long to)
{
	if (to - from >= VERSIONS)
		to = from + VERSIONS;
	for (unsigned long v = from; v <= to; v++)
		if (leaf == flap_leaf(n, v))
			return true;
	return false;
}

static void read_once(struct run *run, unsigned int i)
{
	static struct pkt out;
	unsigned int n = i / FAMILIES % run->flaps;
	struct side *s = &run->side[i % FAMILIES];
	struct flap *flap = &s->flap[n];
	unsigned long from = atomic_load(&flap->done);
	__u32 leaf = XFIB_TWIN_LEAF(router_run(run->router, &flap->packet, &out));
	unsigned long to = atomic_load(&flap->begun);

	run->frames++;
	run->present += leaf != COVER;
	if (was_so(n, leaf, from, to) || run->wrong++)
		return;
	snprintf(run->example, sizeof(run->example),
		 "IPv%c /%u: leaf %u between version %lu (leaf %u) and %lu (leaf %u)",
		 s->family == IP4 ? '4' : '6', flap->prefix.len, leaf, from, flap_leaf(n, from), to,
		 flap_leaf(n, to));
}

/* Enough to say that both sides were at work. */
static bool worked(const struct run *run)
{
	return __atomic_load_n(&run->changes, __ATOMIC_RELAXED) >= 4 * PHASE &&
	       run->present >= 1000 && run->frames - run->present >= 1000;
}

static void read_for(struct run *run, double seconds, __u64 enough)
{
	double start = race_now(), end = start + seconds;
	unsigned int i = 0;

	while (run->wrong < enough &&
	       (race_now() < end || (!worked(run) && race_now() < start + RACE_PATIENCE)))
		for (int burst = 0; burst < 256; burst++)
			read_once(run, i++);
}

/* --- runs ----------------------------------------------------------------------------------------- */

static struct {
	bool swapped;
	double seconds;
	const char *object, *wide;
} options = { .seconds = 2 };

static void run_for(struct run *run, const char *object, double seconds, __u64 enough)
{
	pthread_t writer;
	int cpus[2];

	if (race_cpus(cpus))
		router_skip("needs two CPUs");
	run->rng = 0x9e3779b97f4a7c15ull;
	run->router = router_new(object, ROUTER_CFG(.twin = 1));
	assert_non_null(run->router);
	run->router->l3ifs[L3IF_LAN].fib = FIB;
	for (enum family f = IP4; f < FAMILIES; f++)
		make_side(run, f);
	race_pin(pthread_self(), cpus[1]);
	assert_int_equal(pthread_create(&writer, NULL, write_on, run), 0);
	race_pin(writer, cpus[0]);
	while (!__atomic_load_n(&run->changes, __ATOMIC_RELAXED))
		sched_yield();
	read_for(run, seconds, enough);
	atomic_store(&run->stop, true);
	pthread_join(writer, NULL);
	for (int f = 0; f < FAMILIES; f++)
		rib_done(&run->side[f].rib);
	router_free(run->router);
}

static void report(const struct run *run, const char *name)
{
	printf("%s: %llu changes, %llu frames, %llu answers of a prefix that comes and goes, %llu wrong%s%s\n",
	       name, run->changes, run->frames, run->present, run->wrong,
	       run->wrong ? ", first: " : "", run->example);
}

static struct run *new_run(unsigned int flaps)
{
	struct run *run = calloc(1, sizeof(*run));

	assert_non_null(run);
	run->flaps = flaps;
	return run;
}

static void test_holds(void **state)
{
	const char *objects[] = { options.object, options.wide };

	for (int o = 0; o < 2; o++) {
		struct run *run = new_run(FLAPS);

		run_for(run, objects[o], options.seconds, 1);
		report(run, o ? "with wider windows" : "the program");
		assert_int_equal(run->wrong, 0);
		assert_int_equal(run->starved, 0);
		assert_true(worked(run));
		free(run);
	}
}

static void must_break(bool no_grace)
{
	struct run *run = new_run(FEW);

	run->no_grace = no_grace;
	run_for(run, options.wide, RACE_PATIENCE, 1);
	report(run, "broken on purpose");
	assert_in_range(run->wrong, 1, UINT64_MAX);
	free(run);
}

static void test_without_grace(void **state)
{
	must_break(true);
}

static void test_swapped(void **state)
{
	must_break(false);
}

/* --- command line ---------------------------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'w':
		options.swapped = true;
		return 0;
	case 's':
		options.seconds = atof(arg);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_usage(state);
		*(state->arg_num ? &options.wide : &options.object) = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_usage(state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

int main(int argc, char **argv)
{
	static const struct argp_option argp_options[] = {
		{ "swapped", 'w', NULL, 0,
		  "This is the writer that publishes a block before it is written", 0 },
		{ "seconds", 's', "SEC", 0, "How long each run takes", 0 },
		{},
	};
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "XFIB.BPF.O WIDE.BPF.O",
	};
	static const struct CMUnitTest tests[] = {
		{ .name = "an answer is the old or the new one", .test_func = test_holds },
		{ .name = "blocks without a grace period are found out",
		  .test_func = test_without_grace },
	};
	static const struct CMUnitTest swapped[] = {
		{ .name = "a block that is published before it is written is found out",
		  .test_func = test_swapped },
	};

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	setenv("ROUTER_ENGINE", "trie", 1);
	if (options.swapped)
		return cmocka_run_group_tests_name("publication, swapped", swapped, NULL, NULL);
	return cmocka_run_group_tests_name("publication of tries", tests, NULL, NULL);
}

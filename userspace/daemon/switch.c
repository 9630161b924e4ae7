// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which tables there are: their engines and sizes follow the options and the number of prefixes. Other
 * tables are another generation, filled aside while packets flow: from all rows that there are, from then
 * on every row goes to both, the loader moves the ports, the old one is dropped.
 */
#include "daemon.h"

enum {
	AUTO_UP = 256,	/* prefixes of a family that are worth compiling; see tests/bench */
	AUTO_DOWN = 64, /* ... and that are not any more */
	TRIE_BASE = 64 << 10,
	TRIE_LARGE = 4096, /* prefixes from which on the root has 256 KiB */
	RETRY_S = 60,
};

/*
 * Bytes for this many prefixes, a power of two. Internet tables take 8 bytes a prefix (IPv4) and 32 (IPv6);
 * the fewer and the more scattered they are, the more each takes. Changes need room that is free again
 * only after a grace period. What turns out too small grows.
 */
static __u32 trie_bytes(const struct daemon *d, enum family f, __u64 prefixes)
{
	const __u64 few = prefixes * (f == IP4 ? 32 : 96);
	const __u64 many = f == IP4 ? (4u << 20) + prefixes * 10 : (2u << 20) + prefixes * 40;
	__u64 want = TRIE_BASE + (few < many ? few : many), bytes = TRIE_BASE;

	if (prefixes >= TRIE_LARGE)
		want += 512 << 10;
	while (bytes < want && bytes < d->opt.trie_max)
		bytes *= 2;
	return bytes;
}

static bool compiled(const struct daemon *d, __u32 prefixes, bool now)
{
	if (d->opt.engine == ENGINE_AUTO)
		return prefixes >= (now ? AUTO_DOWN : AUTO_UP);
	return d->opt.engine == ENGINE_TRIE;
}

/* Bytes of the compiled trie, given those that there are; 0: the LPM trie. */
static __u32 plan_trie(const struct daemon *d, enum family f, __u32 now)
{
	__u32 prefixes = d->model.rib[f].prefixes, need = trie_bytes(d, f, prefixes);
	struct engine_room room;

	if (!compiled(d, prefixes, now))
		return 0;
	if (!now)
		return need;
	room = publish_room(&d->publish, f);
	if ((room.markers || room.used > room.bytes / 8 * 7) && now < d->opt.trie_max)
		return need > 2 * now ? need : 2 * now;
	if (now > d->opt.trie_max)
		return need;
	return need <= now / 4 && room.used < now / 8 ? need : now;
}

static bool holds(const struct daemon *d, enum family f, __u32 capacity)
{
	return d->fib.family[f].installed + d->fib.family[f].overflow <= capacity;
}

/* What the tables should be. More routes than --routes allows keep the room that they have. */
static struct capacity plan(const struct daemon *d)
{
	const struct capacity *want = &d->opt.capacity, *have = &d->gen->capacity;
	bool fit = holds(d, IP4, want->routes4) && holds(d, IP6, want->routes6);

	return (struct capacity){
		.routes4 = fit ? want->routes4 : have->routes4,
		.routes6 = fit ? want->routes6 : have->routes6,
		.trie4 = plan_trie(d, IP4, have->trie4),
		.trie6 = plan_trie(d, IP6, have->trie6),
	};
}

static bool same(const struct capacity *a, const struct capacity *b)
{
	return a->routes4 == b->routes4 && a->routes6 == b->routes6 && a->trie4 == b->trie4 &&
	       a->trie6 == b->trie6;
}

static const char *engine_name(__u32 trie_bytes)
{
	return trie_bytes ? engine_trie.name : engine_lpm.name;
}

static void log_switch(const struct capacity *c)
{
	log_info("tables for %u IPv4 routes (%s) and %u IPv6 routes (%s)", c->routes4,
		 engine_name(c->trie4), c->routes6, engine_name(c->trie6));
}

static void failed(struct daemon *d, const struct load_error *why)
{
	log_error("cannot switch to other tables, these stay: %s", why->text);
	d->switch_after_ns = now_ns() + RETRY_S * 1000000000ull;
}

static void switched(struct daemon *d, struct generation *gen, struct generation *old)
{
	d->gen = gen;
	d->old_gen = NULL;
	generation_free(old);
	fib_set_capacity(&d->fib, gen->capacity.routes4, gen->capacity.routes6);
	log_switch(&gen->capacity);
}

void switch_prepare(struct daemon *d)
{
	struct capacity want = plan(d);
	struct generation *gen = NULL;
	struct load_error why = {};

	if (same(&want, &d->gen->capacity))
		return;
	if (generation_create(d->instance, &want, &gen, &why)) {
		failed(d, &why);
		return;
	}
	if (publish_add(&d->publish, gen)) {
		log_error("cannot switch to other tables, these stay: out of memory");
		generation_free(gen);
		return;
	}
	publish_drop_old(&d->publish);
	d->old_gen = d->gen;
	d->gen = gen;
	fib_set_capacity(&d->fib, gen->capacity.routes4, gen->capacity.routes6);
}

void switch_finish(struct daemon *d)
{
	struct generation *gen = d->gen;
	struct load_error why = {};

	if (!d->old_gen)
		return;
	if (!generation_switch(d->instance, gen, &why)) {
		switched(d, gen, d->old_gen);
		return;
	}
	failed(d, &why);
	/* The ports stay where they are: what was for the new tables goes there. */
	if (publish_add(&d->publish, d->old_gen))
		return;
	publish_drop_old(&d->publish);
	switched(d, d->old_gen, gen);
}

void switch_tables(struct daemon *d)
{
	struct capacity want = plan(d);
	struct generation *gen = NULL;
	struct load_error why = {};

	if (same(&want, &d->gen->capacity) || now_ns() < d->switch_after_ns)
		return;
	if (generation_create(d->instance, &want, &gen, &why)) {
		failed(d, &why);
		return;
	}
	if (publish_add(&d->publish, gen) || generation_switch(d->instance, gen, &why)) {
		failed(d, &why);
		publish_drop_new(&d->publish);
		generation_free(gen);
		return;
	}
	publish_drop_old(&d->publish);
	switched(d, gen, d->gen);
	fib_heal(&d->fib);
	daemon_commit(d);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Moves the ports to tables of another size while packets flow: a new generation is filled with all
 * rows aside, from then on every row goes to both, the loader moves the ports, the old one is dropped.
 */
#include "daemon.h"

static bool fits(const struct daemon *d, enum family family, __u32 capacity)
{
	return d->fib.family[family].installed + d->fib.family[family].overflow <= capacity;
}

void switch_capacity(struct daemon *d)
{
	const struct capacity *want = &d->opt.capacity, *have = &d->gen->capacity;
	struct generation *gen = NULL, *old = d->gen;
	struct load_error why = {};

	if (want->routes4 == have->routes4 && want->routes6 == have->routes6)
		return;
	if ((want->routes4 < have->routes4 && !fits(d, IP4, want->routes4)) ||
	    (want->routes6 < have->routes6 && !fits(d, IP6, want->routes6))) {
		log_warning(
			"the tables hold more routes than the new capacity allows: it stays %u IPv4 and "
			"%u IPv6 routes",
			have->routes4, have->routes6);
		return;
	}
	if (generation_create(d->instance, want, &gen, &why)) {
		log_error("cannot make tables for %u IPv4 and %u IPv6 routes: %s", want->routes4,
			  want->routes6, why.text);
		return;
	}
	if (publish_add(&d->publish, gen) || generation_switch(d->instance, gen, &why)) {
		log_error(
			"cannot switch to tables for %u IPv4 and %u IPv6 routes, the old ones stay: %s",
			want->routes4, want->routes6, why.text);
		publish_drop_new(&d->publish);
		generation_free(gen);
		return;
	}
	publish_drop_old(&d->publish);
	d->gen = gen;
	generation_free(old);
	fib_set_capacity(&d->fib, gen->capacity.routes4, gen->capacity.routes6);
	fib_heal(&d->fib);
	daemon_commit(d);
	log_info("switched to tables for %u IPv4 and %u IPv6 routes", want->routes4, want->routes6);
}

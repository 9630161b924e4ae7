/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A full Internet table, its shape and size: what a start, a link and a single route cost, printed,
 * not judged; and that what is published is what there is.
 */
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "fib/fib.h"

#ifdef __SANITIZE_ADDRESS__
enum { PREFIXES = 100000 };
#else
enum { PREFIXES = 1000000 };
#endif
enum { GATEWAYS = 200 };

/* A sink that only counts. */
struct counts {
	unsigned long routes, deleted, words;
};

static void null_port(void *arg, __u32 slot, struct xfib_port port)
{
}

static void null_l3if(void *arg, __u32 slot, const struct xfib_l3if *l3if)
{
}

static void null_tx(void *arg, __u32 port, __u32 ifindex)
{
}

static void null_own4(void *arg, const __u64 words[XFIB_OWN_BITS / 64])
{
}

static void null_word(void *arg, __u32 id, struct xfib_nexthop nexthop)
{
	((struct counts *)arg)->words++;
}

static void null_neigh(void *arg, __u32 slot, const struct xfib_neigh *neigh)
{
}

static void null_lladdr(void *arg, __u32 slot, struct xfib_lladdr lladdr)
{
}

static int null_index(void *arg, const struct xfib_neigh *neigh, __u32 slot)
{
	return 0;
}

static void null_route(void *arg, enum family family, __u32 fib, struct addr prefix,
		       unsigned int len, __u32 value)
{
	((struct counts *)arg)->routes++;
}

static void null_route_del(void *arg, enum family family, __u32 fib, struct addr prefix,
			   unsigned int len)
{
	((struct counts *)arg)->deleted++;
}

static void null_commit(void *arg)
{
}

static const struct fib_sink null_sink = {
	.port = null_port,
	.l3if = null_l3if,
	.tx = null_tx,
	.own4 = null_own4,
	.nexthop = null_word,
	.nexthop_new = null_word,
	.member = null_word,
	.neigh = null_neigh,
	.lladdr = null_lladdr,
	.neigh_index = null_index,
	.route = null_route,
	.route_del = null_route_del,
	.commit = null_commit,
};

static struct event ev; /* large */

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static unsigned long resident(void)
{
	unsigned long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* The lengths of the IPv4 table: most are /24, then /22 to /20, few are short. */
static unsigned int len_of(unsigned int i)
{
	static const unsigned int lens[] = {
		24, 24, 24, 24, 24, 24, 23, 22, 22, 21, 20, 19, 18, 16
	};

	return lens[i * 2654435761u >> 16 & 0xffff ? (i * 2654435761u >> 20) % 14 : 13];
}

static void route(struct model *m, unsigned int i, unsigned int gateway, bool dump, bool del)
{
	struct route_event *e = &ev.route;

	memset(&ev, 0, offsetof(struct event, route.leg) + sizeof(e->leg[0]));
	ev.kind = EVENT_ROUTE;
	ev.dump = dump;
	ev.replace = !dump && !del;
	ev.del = del;
	e->family = IP4;
	e->dst_len = len_of(i);
	/* An odd multiplier: no two addresses are alike above the host bits of a /24. */
	e->dst = addr_mask((struct addr){ .hi = (__u64)(i * 40503u % (1u << 24)) << 40 },
			   e->dst_len);
	e->table = RT_TABLE_MAIN;
	e->type = RTN_UNICAST;
	e->protocol = RTPROT_BGP;
	e->legs = 1;
	e->leg[0] = (struct leg){
		.ifindex = 2 + gateway % 2,
		.has_gateway = true,
		.gateway = { .hi = 0xc0000000ull << 32 | (__u64)gateway << 32 },
		.weight = 1,
	};
	assert_int_equal(model_apply(m, &ev), 0);
}

static void link_up(struct model *m, int ifindex, bool up)
{
	memset(&ev, 0, offsetof(struct event, link) + sizeof(ev.link));
	ev.kind = EVENT_LINK;
	ev.link = (struct link_event){
		.ifindex = ifindex,
		.up = up,
		.carrier = up,
		.ether = true,
		.mac = { .bytes = { 2, 0, 0, 0, 0, ifindex }, .len = 6 },
		.mtu = 1500,
		.lower_nsid = -1,
		.has_ip4_conf = true,
		.ip4.forwarding = 1,
	};
	assert_int_equal(model_apply(m, &ev), 0);
}

static void load(struct model *m)
{
	model_dump_begin(m, NL_ROUTES4);
	for (unsigned int i = 0; i < PREFIXES; i++)
		route(m, i, i % GATEWAYS, true, false);
	model_dump_end(m, NL_ROUTES4);
}

static double took(double *since)
{
	double now = now_ms(), ms = now - *since;

	*since = now;
	return ms;
}

static void a_full_table(void **state)
{
	static struct model m;
	static struct fib fib;
	struct counts counts = {};
	unsigned long before;
	double t;

	assert_int_equal(model_init(&m, MODEL_ROUTES, &fib_hooks, &fib), 0);
	assert_int_equal(fib_init(&fib, &m, &null_sink, &counts, 2 * PREFIXES, 1), 0);
	link_up(&m, 2, true);
	link_up(&m, 3, true);
	fib_set_port(&fib, 0, 2, true);
	fib_set_port(&fib, 1, 3, true);
	before = resident();
	t = now_ms();
	load(&m);
	print_message("%u prefixes (%u of them different): read in %.0f ms\n", PREFIXES,
		      m.rib[IP4].prefixes, took(&t));
	fib_start(&fib);
	fib_commit(&fib);
	print_message("published in %.0f ms, %.0f bytes of memory a prefix\n", took(&t),
		      (double)(resident() - before) / m.rib[IP4].prefixes);
	assert_int_equal(counts.routes, m.rib[IP4].prefixes);
	assert_int_equal(fib.family[IP4].installed, counts.routes);

	load(&m);
	print_message("read again in %.0f ms, ", took(&t));
	fib_flush(&fib, IP4);
	fib_commit(&fib);
	print_message("compared in %.0f ms\n", took(&t));
	assert_int_equal(counts.routes, fib.family[IP4].installed);
	assert_int_equal(m.table[NL_ROUTES4].changes, 0);

	for (unsigned int i = 0; i < 1000; i++) {
		route(&m, i, (i + 1) % GATEWAYS, false, false);
		fib_commit(&fib);
	}
	print_message("a changed route: %.1f us\n", took(&t));
	link_up(&m, 3, false);
	fib_commit(&fib);
	print_message("a link with half of them going down: %.0f ms, ", took(&t));
	assert_true(counts.deleted > PREFIXES / 4);
	link_up(&m, 3, true);
	fib_commit(&fib);
	print_message("coming up: %.0f ms\n", took(&t));
	assert_int_equal(fib.family[IP4].installed, m.rib[IP4].prefixes);
	fib_done(&fib);
	model_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

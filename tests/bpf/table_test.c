// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the program writes besides the frame: counters of its own CPU, and the hit mark of a stale
 * neighbour. Everything else must be as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "expect.h"

static struct pkt in, out;

/* Moves this thread to a CPU; false if there is none of that number. */
static bool run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/* --- counters ------------------------------------------------------------------------------------ */

struct counted {
	const char *name;
	struct pkt_spec in;
	enum xfib_verdict verdict;
	int tx; /* egress slot, -1: none */
};

/* The counters after one run on `cpu` must be those before it and one packet of this kind. */
static void expect_counted(const struct router *r, __u32 cpu, const struct counted *c)
{
	_cleanup_free_ struct xfib_counters *before = calloc(1, router_counters_size(r));
	_cleanup_free_ struct xfib_counters *after = calloc(1, router_counters_size(r));
	struct xfib_counters *mine = &before[SLOT_LAN * r->cpus + cpu];

	assert_non_null(before);
	assert_non_null(after);
	pkt_build(&c->in, &in);
	router_counters(r, before);
	router_run(r, &in, &out);
	router_counters(r, after);
	mine->queue[0]++;
	mine->verdict[c->verdict].packets++;
	mine->verdict[c->verdict].bytes += in.len;
	if (c->tx >= 0) {
		mine->tx[c->tx].packets++;
		mine->tx[c->tx].bytes += in.len;
	}
	if (memcmp(before, after, router_counters_size(r)))
		fail_msg("%s: other counters moved than those of the packet", c->name);
}

static void test_counters(void **state)
{
	static const struct counted table[] = {
		{ "forwarded IPv4", PKT_IP4(), XFIB_FORWARDED, SLOT_WAN },
		{ "forwarded IPv6", PKT_IP6(), XFIB_FORWARDED, SLOT_WAN },
		{ "forwarded out of another port", PKT_IP4(.dst = "100.64.0.1"), XFIB_FORWARDED,
		  SLOT_SMALL },
		{ "forwarded with padding", PKT_IP4(.payload = 1, .trailer = 25), XFIB_FORWARDED,
		  SLOT_WAN },
		{ "several buffers", PKT_IP4(.dst = "100.64.0.2", .payload = 8000), XFIB_FORWARDED,
		  SLOT_JUMBO },
		{ "expired", PKT_IP4(.ttl = 1), XFIB_PUNT_IP4_TTL, -1 },
		{ "another MAC", PKT_IP6(.dmac = { 2 }), XFIB_PUNT_NOT_OUR_MAC, -1 },
		{ "egress down", PKT_IP4(.dst = "100.64.0.3"), XFIB_PUNT_EGRESS_DOWN, -1 },
		{ "over the MTU in several buffers", PKT_IP4(.payload = 8000), XFIB_PUNT_MTU, -1 },
		{ "dropped", PKT_IP6(.dst = "2001:db8:4::1"), XFIB_DROP_BLACKHOLE, -1 },
		{ "only an Ethernet header", PKT_IP4(.version = 0, .payload = 0), XFIB_PUNT_SHORT,
		  -1 },
	};
	struct router *routers[] = { pair_get()->twin, pair_get()->attached };

	for (int i = 0; i < 2; i++) {
		struct router *r = routers[i];

		router_reset(r);
		r->ports[SLOT_LAN].flags |= XFIB_PORT_FRAGS;
		router_route(r, "100.64.0.1/32", NH_VIA(NEIGH_SMALL_GW4));
		router_route(r, "100.64.0.2/32", NH_VIA(NEIGH_JUMBO_GW4));
		router_route(r, "100.64.0.3/32", NH_VIA(NEIGH_DOWN_GW4));
		router_route(r, "2001:db8:4::1/128", XFIB_DROP_BLACKHOLE);
		for (__u32 cpu = 0; cpu < r->cpus; cpu++)
			for (size_t n = 0; n < sizeof(table) / sizeof(*table) && run_on(cpu); n++)
				expect_counted(r, cpu, &table[n]);
	}
}

/* Queues of a tap device in a network namespace of this process: it dies with it. */
#define QUEUES (XFIB_QUEUES + 2)

static int open_queue(struct ifreq *ifr)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && ioctl(fd, TUNSETIFF, ifr)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void test_queues(void **state)
{
	struct ifreq ifr = { .ifr_name = "xfib%d",
			     .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE };
	struct router *r = pair_get()->twin;
	_cleanup_free_ struct xfib_counters *all = calloc(1, router_counters_size(r));
	struct pkt_spec spec = PKT_IP4();
	__u64 before[XFIB_QUEUES] = {};
	__u32 result;
	int fds[QUEUES], ifindex;

	assert_non_null(all);
	if (unshare(CLONE_NEWNET))
		router_skip("cannot make a network namespace");
	for (int i = 0; i < QUEUES; i++) {
		fds[i] = open_queue(&ifr);
		if (fds[i] < 0)
			router_skip("no tap device with 66 queues (modprobe tun)");
	}
	ifindex = if_nametoindex(ifr.ifr_name);
	router_reset(r);
	router_counters(r, all);
	for (__u32 cpu = 0; cpu < r->cpus; cpu++)
		for (__u32 q = 0; q < XFIB_QUEUES; q++)
			before[q] += all[SLOT_LAN * r->cpus + cpu].queue[q];
	pkt_build(&spec, &in);
	for (__u32 q = 0; q < QUEUES; q++)
		assert_int_equal(router_run_queue(r, &in, ifindex, q, &out, &result), 0);
	router_counters(r, all);
	for (__u32 q = 0; q < XFIB_QUEUES; q++) {
		__u64 after = 0;

		for (__u32 cpu = 0; cpu < r->cpus; cpu++)
			after += all[SLOT_LAN * r->cpus + cpu].queue[q];
		assert_int_equal(after - before[q], q == XFIB_QUEUES - 1 ? 3 : 1);
	}
	for (int i = 0; i < QUEUES; i++)
		close(fds[i]);
}

/* --- nothing else -------------------------------------------------------------------------------- */

/* All that a packet reads, one after the other. */
struct tables {
	struct xfib_ctl ctl;
	struct xfib_port ports[XFIB_PORTS];
	struct xfib_l3if l3ifs[XFIB_L3IFS];
	__u64 own4[XFIB_OWN_BITS / 64];
	struct xfib_nexthop nexthops[XFIB_NEXTHOPS];
	struct xfib_nexthop members[XFIB_MEMBERS];
	struct xfib_neigh neighs[XFIB_NEIGHS];
	__u32 hits[XFIB_NEIGHS];
};

static struct tables tables_before, tables_after;

static void snapshot(const struct router *r, struct tables *t)
{
	t->ctl = *r->ctl;
	memcpy(t->ports, r->ports, sizeof(t->ports));
	memcpy(t->l3ifs, r->l3ifs, sizeof(t->l3ifs));
	memcpy(t->own4, r->own4, sizeof(t->own4));
	memcpy(t->nexthops, r->nexthops, sizeof(t->nexthops));
	memcpy(t->members, r->members, sizeof(t->members));
	memcpy(t->neighs, r->neighs, sizeof(t->neighs));
	memcpy(t->hits, r->hits, sizeof(t->hits));
}

static void test_tables_are_only_read(void **state)
{
	static const struct pkt_spec packets[] = {
		PKT_IP4(),
		PKT_IP6(),
		PKT_IP4(.dst = "203.0.113.9"),
		PKT_IP6(.dst = "2001:db8:3::9"),
		PKT_IP4(.ttl = 1),
		PKT_IP4(.dst = "8.8.8.8"),
		PKT_IP4(.src = "192.0.2.1"),
	};
	struct router *r = pair_get()->twin;

	router_reset(r);
	r->l3ifs[L3IF_LAN].flags |= XFIB_L3IF_RPF_STRICT;
	snapshot(r, &tables_before);
	for (size_t i = 0; i < sizeof(packets) / sizeof(*packets); i++) {
		pkt_build(&packets[i], &in);
		router_run(r, &in, &out);
	}
	snapshot(r, &tables_after);
	assert_memory_equal(&tables_after, &tables_before, sizeof(tables_before));
}

/* --- hit marks of stale neighbours ---------------------------------------------------------------- */

static __u32 tick(void)
{
	return router_jiffies(expect_clock()) >> XFIB_HIT_SHIFT;
}

/* The one slot that is marked, with the tick of now; 0 if none is. */
static __u32 marked_slot(const struct router *r)
{
	__u32 slot = 0;

	for (__u32 i = 0; i < XFIB_NEIGHS; i++) {
		if (!r->hits[i])
			continue;
		if (slot)
			fail_msg("slots %u and %u are marked", slot, i);
		slot = i;
	}
	if (slot)
		assert_in_range(r->hits[slot], tick() - 1, tick());
	return slot;
}

static void test_watched_neighbours_are_marked(void **state)
{
	static const struct {
		__u32 slot;
		struct pkt_spec in;
	} table[] = {
		{ NEIGH_WAN_GW4, PKT_IP4() },
		{ NEIGH_WAN_GW6, PKT_IP6() },
		{ NEIGH_WAN_HOST4, PKT_IP4(.dst = "203.0.113.9") },
		{ NEIGH_WAN_HOST6, PKT_IP6(.dst = "2001:db8:3::9") },
	};
	struct router *r = pair_get()->twin;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		router_reset(r);
		r->neighs[table[i].slot].lladdr.tag |= XFIB_NEIGH_WATCH;
		expect(r, "watched", &table[i].in, XFIB_FORWARDED, table[i].slot);
		assert_int_equal(marked_slot(r), table[i].slot);
	}
}

static void test_last_slot_is_marked(void **state)
{
	struct router *r = pair_get()->twin;
	struct pkt_spec spec = PKT_IP4();
	__u32 last = XFIB_NEIGHS - 1;

	router_reset(r);
	router_neigh(r, last, "203.0.113.1", IFINDEX_WAN, L3IF_WAN | XFIB_NEIGH_WATCH,
		     router_neighs[NEIGH_WAN_GW4].mac);
	r->nexthops[NH_VIA(NEIGH_WAN_GW4)].arg = last;
	expect(r, "last slot", &spec, XFIB_FORWARDED, NEIGH_WAN_GW4);
	assert_int_equal(marked_slot(r), last);
}

static void test_others_are_not_marked(void **state)
{
	struct router *r = pair_get()->twin;
	struct pkt_spec specs[] = { PKT_IP4(), PKT_IP6(), PKT_IP4(.dst = "203.0.113.9") };

	router_reset(r);
	r->neighs[NEIGH_SMALL_GW4].lladdr.tag |= XFIB_NEIGH_WATCH;
	for (int i = 0; i < 3; i++) {
		pkt_build(&specs[i], &in);
		router_run(r, &in, &out);
	}
	assert_int_equal(marked_slot(r), 0);

	/* Not valid: the kernel is at work on it already. */
	r->neighs[NEIGH_WAN_GW4].lladdr.tag = XFIB_NEIGH_WATCH;
	expect(r, "not valid", &specs[0], XFIB_PUNT_NO_NEIGHBOUR, 0);
	assert_int_equal(marked_slot(r), 0);
}

/* Looking at where a source lives is no use of its gateway: nothing is sent there. */
static void test_reverse_path_marks_nothing(void **state)
{
	struct router *r = pair_get()->twin;
	struct pkt_spec spec = PKT_IP4(.src = "8.8.8.8");

	router_reset(r);
	router_default(r, r->nexthops[NH_VIA(NEIGH_LAN_GW4)]);
	r->l3ifs[L3IF_LAN].flags |= XFIB_L3IF_RPF_STRICT;
	r->neighs[NEIGH_LAN_GW4].lladdr.tag |= XFIB_NEIGH_WATCH;
	expect(r, "reverse path", &spec, XFIB_FORWARDED, NEIGH_WAN_GW4);
	assert_int_equal(marked_slot(r), 0);
}

static void test_old_mark_is_renewed(void **state)
{
	struct router *r = pair_get()->twin;
	struct pkt_spec spec = PKT_IP4();

	router_reset(r);
	r->neighs[NEIGH_WAN_GW4].lladdr.tag |= XFIB_NEIGH_WATCH;
	r->hits[NEIGH_WAN_GW4] = tick() - 3;
	expect(r, "old mark", &spec, XFIB_FORWARDED, NEIGH_WAN_GW4);
	assert_int_equal(marked_slot(r), NEIGH_WAN_GW4);
}

/*
 * In the variant each store adds one to the mark, so a mark five ticks old is stored to five times and
 * then left alone, however many packets come.
 */
static void test_mark_is_written_once_a_tick(void **state)
{
	struct router *r = router_new(expect_marks(), ROUTER_CFG(.twin = 1));
	struct pkt_spec spec = PKT_IP4();

	assert_non_null(r);
	r->neighs[NEIGH_WAN_GW4].lladdr.tag |= XFIB_NEIGH_WATCH;
	r->hits[NEIGH_WAN_GW4] = tick() - 5;
	pkt_build(&spec, &in);
	for (int i = 0; i < 1000; i++)
		router_run(r, &in, &out);
	assert_int_equal(marked_slot(r), NEIGH_WAN_GW4);
	router_free(r);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		{ .name = "a packet moves its own counters and no other",
		  .test_func = test_counters },
		{ .name = "receive queues are counted, the last for all above",
		  .test_func = test_queues },
		{ .name = "the tables are only read", .test_func = test_tables_are_only_read },
		{ .name = "a stale neighbour is marked as used",
		  .test_func = test_watched_neighbours_are_marked },
		{ .name = "the last neighbour slot is marked like any other",
		  .test_func = test_last_slot_is_marked },
		{ .name = "other neighbours are not marked",
		  .test_func = test_others_are_not_marked },
		{ .name = "the gateway behind a source is not marked",
		  .test_func = test_reverse_path_marks_nothing },
		{ .name = "an old mark is renewed", .test_func = test_old_mark_is_renewed },
		{ .name = "a mark is written once a tick",
		  .test_func = test_mark_is_written_once_a_tick },
	};

	if (expect_args(argc, argv))
		return 2;
	return cmocka_run_group_tests_name("table", tests, pair_setup, pair_teardown);
}

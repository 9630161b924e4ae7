// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The publication rule of abi.h on two CPUs: a writer changes the tables without a pause, a reader
 * sends packets, and every frame that comes out must be of one state that the tables really had. Each
 * state puts its number into the MACs, and states come in two kinds that differ in everything: port,
 * MTU, MACs. A frame that mixes two states, or one that shows an older state than the frame before
 * it, is a failure.
 *
 * The same writer can break the rule (--break MODE). That this is found out proves that the other
 * runs would fail. Races being races, a test asserts it only where it was measured to show each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <argp.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>

#include "race.h"

enum breakage {
	BREAK_NOTHING,
	BREAK_IN_PLACE, /* changes the interface record that packets are reading */
	BREAK_NO_KEY,	/* a program that does not compare the key of a neighbour slot */
	BREAK_NO_GRACE, /* a slot is used again as soon as nothing refers to it */
};

enum scenario {
	SCENARIO_NEXTHOP,   /* a gateway: group -> bucket -> neighbour -> interface */
	SCENARIO_NEIGHBOUR, /* connected: hash -> neighbour, keys come and go */
};

struct run {
	struct router *router;
	enum scenario scenario;
	enum breakage breakage;
	atomic_bool stop;
	__u64 states; /* published by the writer */
	__u64 frames, forwarded, mixed;
	char example[120]; /* the first mixed frame */
};

/* --- slots and grace ------------------------------------------------------------------------------ */

/*
 * Slots that are used one after the other. Each half rests for a grace period before it comes again;
 * where that rule is broken, the ring is as small as it can be.
 */
struct ring {
	__u32 first, size;
	bool no_grace;
	__u64 used;
};

static struct ring ring(const struct run *run, __u32 first, __u32 size, __u32 smallest)
{
	bool no_grace = run->breakage == BREAK_NO_GRACE;

	return (struct ring){ .first = first,
			      .size = no_grace ? smallest : size,
			      .no_grace = no_grace };
}

static __u32 ring_next(struct ring *ring, const struct router *r)
{
	if (!ring->no_grace && ring->used % (ring->size / 2) == 0)
		race_wait_grace(r);
	return ring->first + ring->used++ % ring->size;
}

/* The slot that ring_next() gave last. */
static __u32 ring_last(const struct ring *ring)
{
	return ring->first + (ring->used - 1) % ring->size;
}

static void store_word(void *word, const void *value)
{
	__u64 v;

	memcpy(&v, value, sizeof(v));
	__atomic_store_n((__u64 *)word, v, __ATOMIC_RELEASE);
}

/* --- a gateway that changes ----------------------------------------------------------------------- */

static void state_mac(__u64 state, __u8 first, __u8 *mac)
{
	memcpy(mac, (__u8[]){ first, state >> 32, state >> 24, state >> 16, state >> 8, state },
	       ETH_ALEN);
}

static __u64 state_of_mac(const __u8 *mac)
{
	return (__u64)mac[1] << 32 | (__u32)mac[2] << 24 | mac[3] << 16 | mac[4] << 8 | mac[5];
}

/* Even states leave by WAN, odd ones by SMALL, which has another MTU. */
static void write_l3if(struct xfib_l3if *l3if, __u64 state)
{
	const struct router_l3if *t = router_l3if(state & 1 ? L3IF_SMALL : L3IF_WAN);

	l3if->port = t->port;
	l3if->ifindex = t->ifindex;
	l3if->mtu4 = t->mtu;
	l3if->mtu6 = t->mtu;
	l3if->flags = t->flags;
	state_mac(state, 0x02, l3if->mac);
}

/*
 * A state is to last about as long as a packet is on its way: changes that come faster are not seen
 * one by one, and the slots would be used up in an instant, to wait for a grace period.
 */
#define STATE_SECONDS 2e-6

struct nexthop_writer {
	struct ring l3ifs, neighs, members;
};

/*
 * Publishes a state in one of three ways: a word in the neighbour slot, a fresh neighbour slot and a
 * word in the bucket, or fresh both and a word in the group.
 */
static void publish_nexthop(struct run *run, struct nexthop_writer *w, __u64 state)
{
	struct router *r = run->router;
	int way = state ? state % 3 : 2;
	__u32 l3if = run->breakage == BREAK_IN_PLACE ? w->l3ifs.first : ring_next(&w->l3ifs, r);
	__u32 neigh = way == 0 ? ring_last(&w->neighs) : ring_next(&w->neighs, r);
	__u32 bucket = way == 2 ? ring_next(&w->members, r) : ring_last(&w->members);
	struct xfib_lladdr lladdr = { .tag = l3if };
	struct xfib_nexthop via = { .kind = XFIB_NH_ADJACENCY,
				    .mtu = ROUTE_MTU_NONE,
				    .arg = neigh };
	struct xfib_nexthop group = { .kind = XFIB_NH_GROUP_L4, .count = 1, .arg = bucket };

	write_l3if(&r->l3ifs[l3if], state);
	state_mac(state, 0x06, lladdr.mac);
	store_word(&r->neighs[neigh].lladdr, &lladdr);
	if (way > 0)
		store_word(&r->members[bucket], &via);
	if (way > 1)
		store_word(&r->nexthops[NH_GROUP], &group);
}

static void *nexthop_writer(void *arg)
{
	struct run *run = arg;
	struct nexthop_writer w = {
		.l3ifs = ring(run, 32, 8000, 2),
		.neighs = ring(run, 32, 100000, 2),
		.members = ring(run, 32, 100000, 2),
	};
	double pause = run->breakage == BREAK_NO_GRACE ? 0 : STATE_SECONDS;

	for (; !atomic_load(&run->stop); run->states++) {
		double next = race_now() + pause;

		publish_nexthop(run, &w, run->states);
		while (race_now() < next)
			;
	}
	return NULL;
}

/* --- neighbours that come and go ------------------------------------------------------------------- */

#define HOSTS 2

static const char *const host4[HOSTS] = { "203.0.113.11", "203.0.113.12" };
static const char *const host6[HOSTS] = { "2001:db8:3::11", "2001:db8:3::12" };

static void host_mac(__u32 host, __u64 state, __u8 *mac)
{
	memcpy(mac, (__u8[]){ 0x06, host, state >> 24, state >> 16, state >> 8, state }, ETH_ALEN);
}

static void insert_host(struct run *run, struct ring *ring, const char *addr, __u32 host,
			__u64 state)
{
	struct router *r = run->router;
	__u32 slot = ring_next(ring, r);
	struct xfib_neigh *n = &r->neighs[slot];
	struct xfib_neigh6_key key6 = { .ifindex = IFINDEX_WAN };
	struct xfib_neigh4_key key4 = { .ifindex = IFINDEX_WAN };
	struct xfib_lladdr lladdr = { .tag = L3IF_WAN };

	n->ip6 = inet_pton(AF_INET, addr, &key4.addr) != 1;
	if (n->ip6)
		inet_pton(AF_INET6, addr, key6.addr);
	memcpy(n->addr, n->ip6 ? (void *)key6.addr : (void *)&key4.addr, n->ip6 ? 16 : 4);
	n->ifindex = IFINDEX_WAN;
	host_mac(host, state, lladdr.mac);
	store_word(&n->lladdr, &lladdr);
	bpf_map_update_elem(n->ip6 ? r->neigh6 : r->neigh4, n->ip6 ? (void *)&key6 : (void *)&key4,
			    &slot, BPF_ANY);
}

static void delete_host4(struct router *r, const char *addr)
{
	struct xfib_neigh4_key key = { .ifindex = IFINDEX_WAN };

	inet_pton(AF_INET, addr, &key.addr);
	bpf_map_delete_elem(r->neigh4, &key);
}

static void delete_host6(struct router *r, const char *addr)
{
	struct xfib_neigh6_key key = { .ifindex = IFINDEX_WAN };

	inet_pton(AF_INET6, addr, key.addr);
	bpf_map_delete_elem(r->neigh6, &key);
}

/* One host goes and the other comes: the kernel puts the new key where the old one was. */
static void *neighbour_writer(void *arg)
{
	struct run *run = arg;
	struct ring ring4 = ring(run, 32, 60000, 1), ring6 = ring(run, 64000, 60000, 1);

	for (; !atomic_load(&run->stop); run->states++) {
		__u32 host = run->states % HOSTS;

		delete_host4(run->router, host4[!host]);
		insert_host(run, &ring4, host4[host], host, run->states);
		delete_host6(run->router, host6[!host]);
		insert_host(run, &ring6, host6[host], host, run->states);
	}
	return NULL;
}

/* --- the reader ------------------------------------------------------------------------------------ */

/* A frame to send, what of it never changes, and the state that it saw last. */
struct probe {
	struct pkt in, out, want;
	bool large; /* passes only even states */
	__u32 host;
	__u64 last_state;
};

static void probe_init(struct probe *p, const struct pkt_spec *spec)
{
	pkt_build(spec, &p->in);
	pkt_build_forwarded(spec, (__u8[ETH_ALEN]){}, (__u8[ETH_ALEN]){}, &p->want);
}

static bool body_as_wanted(const struct probe *p)
{
	return p->out.len == p->want.len &&
	       !memcmp(p->out.data + 2 * ETH_ALEN, p->want.data + 2 * ETH_ALEN,
		       p->want.len - 2 * ETH_ALEN);
}

static bool untouched(const struct probe *p)
{
	return p->out.len == p->in.len && !memcmp(p->out.data, p->in.data, p->in.len);
}

/* Of one state, and not of an older one than before. */
static bool nexthop_whole(struct probe *p, __u32 result)
{
	__u64 state = state_of_mac(p->out.eth.h_dest), previous = p->last_state;
	bool odd = state & 1;

	if (XFIB_TWIN_VERDICT(result) == XFIB_PUNT_MTU)
		return p->large && untouched(p);
	if (XFIB_TWIN_VERDICT(result) != XFIB_FORWARDED)
		return false;
	p->last_state = state;
	return state == state_of_mac(p->out.eth.h_source) && state >= previous &&
	       body_as_wanted(p) && !(p->large && odd) && XFIB_TWIN_ACTION(result) == XDP_REDIRECT;
}

/* The neighbour's own MAC, or the kernel's turn. */
static bool neighbour_whole(struct probe *p, __u32 result)
{
	__u64 state = state_of_mac(p->out.eth.h_dest), previous = p->last_state;
	enum xfib_verdict verdict = XFIB_TWIN_VERDICT(result);

	if (verdict == XFIB_PUNT_RACE || verdict == XFIB_PUNT_NO_NEIGHBOUR)
		return untouched(p);
	p->last_state = state;
	return verdict == XFIB_FORWARDED && p->out.eth.h_dest[1] == p->host && state >= previous &&
	       body_as_wanted(p) &&
	       !memcmp(p->out.eth.h_source, router_l3if(L3IF_WAN)->mac, ETH_ALEN);
}

static void read_once(struct run *run, struct probe *p)
{
	__u32 result = router_run(run->router, &p->in, &p->out);
	const __u8 *d = p->out.eth.h_dest, *s = p->out.eth.h_source;
	bool whole = run->scenario == SCENARIO_NEXTHOP ? nexthop_whole(p, result)
						       : neighbour_whole(p, result);

	run->frames++;
	run->forwarded += XFIB_TWIN_VERDICT(result) == XFIB_FORWARDED;
	if (whole || run->mixed++)
		return;
	snprintf(
		run->example, sizeof(run->example),
		"%s, action %u, to %02x:%02x:%02x:%02x:%02x:%02x from %02x:%02x:%02x:%02x:%02x:%02x",
		router_verdict_name(XFIB_TWIN_VERDICT(result)), XFIB_TWIN_ACTION(result), d[0],
		d[1], d[2], d[3], d[4], d[5], s[0], s[1], s[2], s[3], s[4], s[5]);
}

/* Enough to say that both sides were at work. */
static bool worked(const struct run *run)
{
	return __atomic_load_n(&run->states, __ATOMIC_RELAXED) >= 1000 && run->forwarded >= 1000;
}

/* For some seconds, on a slow machine for longer; enough: stop at this many mixed frames. */
static void read_for(struct run *run, struct probe *probes, int count, double seconds, __u64 enough)
{
	double start = race_now(), end = start + seconds;

	while (run->mixed < enough &&
	       (race_now() < end || (!worked(run) && race_now() < start + RACE_PATIENCE)))
		for (int i = 0; i < 256; i++)
			read_once(run, &probes[i % count]);
}

static void probes_for_nexthop(struct probe *probes)
{
	const struct pkt_spec specs[] = {
		PKT_IP4(),
		PKT_IP6(),
		PKT_IP4(.payload = 1430),
		PKT_IP6(.payload = 1410),
	};

	for (int i = 0; i < 4; i++) {
		probe_init(&probes[i], &specs[i]);
		probes[i].large = i >= 2;
	}
}

static void probes_for_neighbour(struct probe *probes)
{
	for (int i = 0; i < 4; i++) {
		struct pkt_spec v4 = PKT_IP4(.dst = host4[i / 2]),
				v6 = PKT_IP6(.dst = host6[i / 2]);

		probe_init(&probes[i], i % 2 ? &v6 : &v4);
		probes[i].host = i / 2;
	}
}

/* --- runs ------------------------------------------------------------------------------------------ */

static void prepare(struct run *run)
{
	router_reset(run->router);
	router_route(run->router, "198.51.100.7/32", NH_GROUP);
	router_route(run->router, "2001:db8:2::7/128", NH_GROUP);
}

/* Fills in the counts of `run`. -ENODEV without two CPUs, -ENOEXEC if the object does not load. */
static int run_for(struct run *run, const char *object, double seconds, __u64 enough)
{
	static struct probe probes[4];
	pthread_t writer;
	int cpus[2];

	if (race_cpus(cpus))
		return -ENODEV;
	run->router = router_new(object, ROUTER_CFG(.twin = 1));
	if (!run->router)
		return -ENOEXEC;
	prepare(run);
	memset(probes, 0, sizeof(probes));
	if (run->scenario == SCENARIO_NEXTHOP)
		probes_for_nexthop(probes);
	else
		probes_for_neighbour(probes);
	race_pin(pthread_self(), cpus[1]);
	pthread_create(&writer, NULL,
		       run->scenario == SCENARIO_NEXTHOP ? nexthop_writer : neighbour_writer, run);
	race_pin(writer, cpus[0]);
	while (!__atomic_load_n(&run->states, __ATOMIC_RELAXED))
		sched_yield();
	read_for(run, probes, 4, seconds, enough);
	atomic_store(&run->stop, true);
	pthread_join(writer, NULL);
	router_free(run->router);
	return 0;
}

static void report(const struct run *run, const char *name)
{
	printf("%s: %llu states, %llu frames, %llu forwarded, %llu mixed%s%s\n", name, run->states,
	       run->frames, run->forwarded, run->mixed, run->mixed ? ", first: " : "",
	       run->example);
}

/* --- the tests --------------------------------------------------------------------------------------- */

enum { OBJECT_PLAIN, OBJECT_WIDE, OBJECT_NO_KEY };

static struct {
	const char *breakage;
	double seconds;
	const char *objects[OBJECT_NO_KEY + 1];
} options = { .seconds = 1.5 };

static void check_ran(int err)
{
	if (err == -ENODEV)
		router_skip("needs two CPUs");
	assert_int_equal(err, 0);
}

static void must_hold(enum scenario scenario)
{
	for (int o = OBJECT_PLAIN; o <= OBJECT_WIDE; o++) {
		struct run run = { .scenario = scenario };

		check_ran(run_for(&run, options.objects[o], options.seconds, 1));
		report(&run, o == OBJECT_PLAIN ? "the program" : "with wider windows");
		assert_int_equal(run.mixed, 0);
		assert_true(worked(&run));
	}
}

static void must_break(enum scenario scenario, enum breakage breakage, int object)
{
	struct run run = { .scenario = scenario, .breakage = breakage };

	check_ran(run_for(&run, options.objects[object], RACE_PATIENCE, 1));
	report(&run, "broken on purpose");
	assert_in_range(run.mixed, 1, UINT64_MAX);
}

static void test_nexthop(void **state)
{
	must_hold(SCENARIO_NEXTHOP);
}

static void test_neighbour(void **state)
{
	must_hold(SCENARIO_NEIGHBOUR);
}

static void test_in_place(void **state)
{
	must_break(SCENARIO_NEXTHOP, BREAK_IN_PLACE, OBJECT_WIDE);
}

static void test_nexthop_without_grace(void **state)
{
	must_break(SCENARIO_NEXTHOP, BREAK_NO_GRACE, OBJECT_WIDE);
}

static void test_neighbour_without_grace(void **state)
{
	must_break(SCENARIO_NEIGHBOUR, BREAK_NO_GRACE, OBJECT_WIDE);
}

static void test_without_key(void **state)
{
	must_break(SCENARIO_NEIGHBOUR, BREAK_NO_KEY, OBJECT_NO_KEY);
}

/* --- command line ----------------------------------------------------------------------------------- */

/* Both scenarios under one broken rule, for as long as asked: how often does it show? */
static int run_broken(const char *mode)
{
	static const char *const names[] = { "nothing", "in-place", "no-key", "no-grace" };
	enum breakage b = BREAK_NOTHING;
	__u64 mixed = 0;

	while (b <= BREAK_NO_GRACE && strcmp(mode, names[b]))
		b++;
	if (b > BREAK_NO_GRACE) {
		fprintf(stderr,
			"publication_test: no mode %s; there are nothing, in-place, no-key, no-grace\n",
			mode);
		return 2;
	}
	for (enum scenario s = SCENARIO_NEXTHOP; s <= SCENARIO_NEIGHBOUR; s++) {
		for (int o = OBJECT_PLAIN; o <= OBJECT_NO_KEY; o++) {
			struct run run = { .scenario = s, .breakage = b };

			if ((o == OBJECT_NO_KEY) != (b == BREAK_NO_KEY))
				continue;
			if (run_for(&run, options.objects[o], options.seconds, UINT64_MAX))
				return 2;
			report(&run, s == SCENARIO_NEXTHOP ? "next hop" : "neighbour");
			mixed += run.mixed;
		}
	}
	return mixed ? 1 : 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'b':
		options.breakage = arg;
		return 0;
	case 's':
		options.seconds = atof(arg);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > OBJECT_NO_KEY)
			argp_usage(state);
		options.objects[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num <= OBJECT_NO_KEY)
			argp_usage(state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

int main(int argc, char **argv)
{
	static const struct argp_option argp_options[] = {
		{ "break", 'b', "MODE", 0,
		  "Break the rule: in-place, no-key, no-grace; exit 1 if it shows", 0 },
		{ "seconds", 's', "SEC", 0, "How long each run takes", 0 },
		{},
	};
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "XFIB.BPF.O WIDE.BPF.O NOKEY.BPF.O",
	};
	static const struct CMUnitTest tests[] = {
		{ .name = "a next hop that changes is seen whole", .test_func = test_nexthop },
		{ .name = "neighbours that come and go are not mixed up",
		  .test_func = test_neighbour },
		{ .name = "an interface record changed in place is found out",
		  .test_func = test_in_place },
		{ .name = "interface slots without a grace period are found out",
		  .test_func = test_nexthop_without_grace },
		{ .name = "neighbour slots without a grace period are found out",
		  .test_func = test_neighbour_without_grace },
		{ .name = "a neighbour key that is not compared is found out",
		  .test_func = test_without_key },
	};

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (options.breakage)
		return run_broken(options.breakage);
	return cmocka_run_group_tests_name("publication", tests, NULL, NULL);
}

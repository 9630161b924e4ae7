// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Plays the daemon for the tests of the command line: fills the tables of an instance as xfibd would
 * for the small router of test_cli.py, and then spoils one thing or another.
 *
 *   fixture NAME engine lpm|trie	makes the instance, with this engine for both families
 *   fixture NAME fill PID	all tables; the daemon is the process PID
 *   fixture NAME leaf PREFIX ID...	all routes again, but PREFIX leads to leaf ID
 *   fixture NAME beat AGO_MS HOLD_MS	the daemon was last heard of AGO_MS ago
 *   fixture NAME deadline JIFFIES	of the dead-man switch
 *   fixture NAME hit SLOT AGO	the neighbour carried a packet AGO << XFIB_HIT_SHIFT jiffies ago
 */
#include <bpf/bpf.h>
#include <err.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/addr.h"
#include "fib/trie.h"
#include "loader/attach.h"

/* Slots and leaf ids; test_cli.py knows the leaf ids too. */
enum { L3IF = 1, NEIGH_NEAR = 1, NEIGH_FAR, NEIGH_FAR6, NEIGH_LOST };
enum { GATEWAY = 64, CONNECTED0, CONNECTED1, GROUP, GATEWAY6, UNRESOLVED };

enum { TRIE_BYTES = 65536, ROUTES_MAX = 64 };

struct fixture {
	struct instance *instance;
	struct generation *gen;
	int ifindex[2]; /* of p0 and p1 */
};

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void get_mac(const char *ifname, __u8 mac[6])
{
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	memcpy(ifr.ifr_name, ifname, strnlen(ifname, sizeof(ifr.ifr_name) - 1));
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &ifr))
		err(1, "%s", ifname);
	memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
	close(fd);
}

static void set_word(struct xfib_nexthop *to, __u8 kind, __u32 arg, __u16 mtu)
{
	*to = (struct xfib_nexthop){ .kind = kind, .arg = arg, .mtu = mtu };
}

struct route {
	const char *prefix;
	__u32 leaf;
	enum xfib_table table;
};

static void add_to_lpm(struct fixture *fx, enum family f, struct addr a, unsigned int len,
		       __u32 value)
{
	union {
		struct xfib_lpm4 v4;
		struct xfib_lpm6 v6;
	} key = { 0 };

	key.v4.prefixlen = XFIB_LPM_FIB_BITS + len;
	addr_to_bytes(f, a, f == IP4 ? (void *)&key.v4.addr : (void *)key.v6.addr);
	if (bpf_map_update_elem(fx->gen->fd[f == IP4 ? XFIB_MAP_lpm4 : XFIB_MAP_lpm6], &key, &value,
				0))
		err(1, "route");
}

static void add_to_rib(struct rib *rib, struct addr a, unsigned int len, __u32 value)
{
	__u32 node;
	__u8 above;

	if (rib_node_get(rib, a, len, &node, &above))
		errx(1, "too many routes");
	rib->node[node].installed = 1;
	rib->node[node].published = value;
}

/* Nothing looks routes up meanwhile. */
static void compile(struct fixture *fx, const struct rib *rib)
{
	enum family f = rib->family;
	void *memory = f == IP4 ? fx->gen->trie4 : fx->gen->trie6;
	__u32 *root = &fx->gen->trie_roots[XFIB_TRIE_ROOT(0, f == IP6)];
	struct trie_pool pool = { 0 };
	struct trie trie = { .pool = &pool, .rib = rib, .root = root };

	*root = 0;
	memset(memory, 0, TRIE_BYTES);
	if (trie_pool_init(&pool, memory, TRIE_BYTES))
		errx(1, "out of memory");
	trie_update(&trie, (struct addr){ 0 }, 0);
	if (trie.starved)
		errx(1, "the trie is too small");
	trie_pool_done(&pool);
}

/* Later ones replace earlier ones of the same prefix. */
static void set_routes(struct fixture *fx, const struct route *routes, size_t count)
{
	bool compiled = fx->gen->capacity.trie4;
	struct rib rib[FAMILIES] = { 0 };
	unsigned int len;
	enum family f;
	struct addr a;

	for (f = IP4; f < FAMILIES; f++)
		if (rib_init(&rib[f], f, ROUTES_MAX))
			errx(1, "out of memory");
	for (size_t i = 0; i < count; i++) {
		__u32 value = XFIB_LEAF_VALUE(routes[i].leaf, routes[i].table);

		if (prefix_parse(routes[i].prefix, &f, &a, &len))
			errx(1, "bad prefix %s", routes[i].prefix);
		if (compiled)
			add_to_rib(&rib[f], a, len, value);
		else
			add_to_lpm(fx, f, a, len, value);
	}
	for (f = IP4; f < FAMILIES; f++) {
		if (compiled)
			compile(fx, &rib[f]);
		rib_done(&rib[f]);
	}
}

/* MACs end in the slot: 02:00:00:00:00:SLOT. l3if 0: unresolved. */
static void add_neigh(struct fixture *fx, unsigned int slot, const char *text, int port, bool valid)
{
	struct xfib_neigh n = { .ifindex = fx->ifindex[port] };
	struct xfib_neigh6_key k6 = { .ifindex = n.ifindex };
	struct xfib_neigh4_key k4 = { .ifindex = n.ifindex };
	enum family f;
	struct addr a;
	int r;

	if (addr_parse(text, &f, &a))
		errx(1, "bad address %s", text);
	n.ip6 = f == IP6;
	addr_to_bytes(f, a, n.addr);
	memcpy(k6.addr, n.addr, sizeof(k6.addr));
	k4.addr = n.addr[0];
	n.lladdr = (struct xfib_lladdr){ .mac = { 2, 0, 0, 0, 0, slot },
					 .tag = valid ? L3IF + port : 0 };
	fx->gen->neighs[slot] = n;
	r = f == IP4 ? bpf_map_update_elem(fx->gen->fd[XFIB_MAP_neigh4], &k4, &slot, 0)
		     : bpf_map_update_elem(fx->gen->fd[XFIB_MAP_neigh6], &k6, &slot, 0);
	if (r)
		err(1, "neighbour %s", text);
}

static void fill_ports(struct fixture *fx)
{
	struct xfib_intent intents[XFIB_PORTS];
	int r = ports_read(fx->instance, intents);

	if (r)
		errx(1, "ports: %s", strerror(-r));
	for (int slot = 0; slot < XFIB_PORTS; slot++) {
		const struct xfib_intent *port = &intents[slot];
		int n = port->ifname[1] - '0';
		struct xfib_l3if *l3if = &fx->gen->l3ifs[L3IF + n];

		if (!*port->ifname)
			continue;
		fx->ifindex[n] = port->ifindex;
		*l3if = (struct xfib_l3if){
			.port = slot,
			.ifindex = port->ifindex,
			.mtu4 = 1500,
			.mtu6 = 1500,
			.flags = XFIB_L3IF_IP4 | XFIB_L3IF_IP6 | XFIB_L3IF_EGRESS,
		};
		get_mac(port->ifname, l3if->mac);
		port_set_tx(fx->instance, slot, port->ifindex);
		fx->gen->ports[slot] = (struct xfib_port){
			.ifindex = port->ifindex,
			.l3if = L3IF + n,
			.flags = XFIB_PORT_ENABLED,
		};
		fx->instance->status->l3ifs[n] = (struct xfib_l3if_status){
			.ifindex = port->ifindex,
			.port = slot,
			.ip4 = 1,
			.ip6 = 1,
			.egress = 1,
		};
		strcpy(fx->instance->status->l3ifs[n].ifname, port->ifname);
	}
}

static void fill_nexthops(struct fixture *fx)
{
	struct xfib_nexthop *nh = fx->gen->nexthops;

	for (__u32 v = 1; v < XFIB_VERDICT_MAX; v++)
		set_word(&nh[v], XFIB_NH_VERDICT, v, 0);
	set_word(&nh[GATEWAY], XFIB_NH_ADJACENCY, NEIGH_FAR, 0xffff);
	set_word(&nh[GATEWAY6], XFIB_NH_ADJACENCY, NEIGH_FAR6, 1400);
	set_word(&nh[UNRESOLVED], XFIB_NH_ADJACENCY, NEIGH_LOST, 0xffff);
	set_word(&nh[CONNECTED0], XFIB_NH_CONNECTED, fx->ifindex[0], 0xffff);
	set_word(&nh[CONNECTED1], XFIB_NH_CONNECTED, fx->ifindex[1], 0xffff);
	for (int bucket = 0; bucket < 8; bucket++)
		set_word(&fx->gen->members[bucket], XFIB_NH_ADJACENCY,
			 bucket < 2 ? NEIGH_NEAR : NEIGH_FAR, 0xffff);
	set_word(&nh[GROUP], XFIB_NH_GROUP_L3, 0, 8);
	set_word(&nh[XFIB_NH_DEFAULT(0, 0)], XFIB_NH_ADJACENCY, NEIGH_FAR, 0xffff);
	set_word(&nh[XFIB_NH_DEFAULT(0, 1)], XFIB_NH_VERDICT, XFIB_PUNT_NO_ROUTE, 0);
}

/* `more`: PREFIX ID..., which win. */
static void fill_routes(struct fixture *fx, char **more)
{
	struct route routes[ROUTES_MAX] = {
		{ "10.0.0.0/24", CONNECTED0, XFIB_TABLE_MAIN },
		{ "10.0.1.0/24", CONNECTED1, XFIB_TABLE_MAIN },
		{ "10.0.0.1/32", XFIB_PUNT_LOCAL, XFIB_TABLE_LOCAL },
		{ "10.0.1.1/32", XFIB_PUNT_LOCAL, XFIB_TABLE_LOCAL },
		{ "10.0.0.255/32", XFIB_PUNT_BROADCAST, XFIB_TABLE_LOCAL },
		{ "10.0.1.255/32", XFIB_PUNT_BROADCAST, XFIB_TABLE_LOCAL },
		{ "192.0.2.0/24", GROUP, XFIB_TABLE_MAIN },
		{ "198.51.100.0/24", GATEWAY, XFIB_TABLE_MAIN },
		{ "198.51.100.128/25", UNRESOLVED, XFIB_TABLE_MAIN },
		{ "203.0.113.0/24", XFIB_PUNT_BLACKHOLE, XFIB_TABLE_MAIN },
		{ "2001:db8::/64", CONNECTED0, XFIB_TABLE_MAIN },
		{ "2001:db8:1::/64", CONNECTED1, XFIB_TABLE_MAIN },
		{ "2001:db8::/128", XFIB_PUNT_ANYCAST, XFIB_TABLE_LOCAL },
		{ "2001:db8:1::/128", XFIB_PUNT_ANYCAST, XFIB_TABLE_LOCAL },
		{ "2001:db8::1/128", XFIB_PUNT_LOCAL, XFIB_TABLE_LOCAL },
		{ "2001:db8:1::1/128", XFIB_PUNT_LOCAL, XFIB_TABLE_LOCAL },
		{ "2001:db8:2::/48", GATEWAY6, XFIB_TABLE_MAIN },
	};
	size_t count = 0;

	while (routes[count].prefix)
		count++;
	for (; more[0] && more[1]; more += 2)
		routes[count++] = (struct route){ more[0], atoi(more[1]), XFIB_TABLE_MAIN };
	set_routes(fx, routes, count);
}

static void fill_neighbours(struct fixture *fx)
{
	add_neigh(fx, NEIGH_NEAR, "10.0.0.2", 0, true);
	add_neigh(fx, NEIGH_FAR, "10.0.1.2", 1, true);
	add_neigh(fx, NEIGH_FAR6, "2001:db8:1::2", 1, true);
	add_neigh(fx, NEIGH_LOST, "10.0.1.3", 1, false);
}

static void fill_own(struct fixture *fx)
{
	static const char *const own[] = { "10.0.0.1", "10.0.1.1" };
	enum family f;
	struct addr a;
	__be32 wire;
	__u32 bit;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		addr_parse(own[i], &f, &a);
		addr_to_bytes(f, a, &wire);
		bit = xfib_own4_bit(wire);
		fx->gen->own4[bit / 64] |= 1ull << bit % 64;
	}
}

static void fill_status(struct fixture *fx, __u32 pid)
{
	struct xfib_status *s = fx->instance->status;

	s->pid = pid;
	s->beat_ns = now_ns();
	s->hold_ms = 0;
	s->sync = XFIB_SYNC_SYNCED;
	s->generation = 1;
	s->fast4 = s->fast6 = 1;
	s->engine4 = s->engine6 = fx->gen->capacity.trie4 ? XFIB_ENGINE_TRIE : XFIB_ENGINE_LPM;
	s->route4 = (struct xfib_table_status){ .entries = 10,
						.capacity = CAPACITY_ROUTES4,
						.bytes = TRIE_BYTES };
	s->route6 = (struct xfib_table_status){ .entries = 7, .capacity = CAPACITY_ROUTES6 };
	s->neigh = (struct xfib_table_status){ .entries = 4, .capacity = XFIB_NEIGHS_MAX };
	strcpy(s->daemon_version, "fixture");
}

static void fill(struct fixture *fx, __u32 pid)
{
	fill_ports(fx);
	fill_neighbours(fx);
	fill_routes(fx, &(char *){ NULL });
	fill_nexthops(fx);
	fill_own(fx);
	fill_status(fx, pid);
	fx->instance->ctl->deadline = ~0ull >> 1;
}

static void beat(struct fixture *fx, __u64 ago_ms, __u64 hold_ms)
{
	fx->instance->status->beat_ns = now_ns() - ago_ms * 1000000;
	fx->instance->status->hold_ms = hold_ms;
}

static void hit(struct fixture *fx, unsigned int slot, unsigned int ago)
{
	__u64 jiffies;

	if (clock_jiffies(&jiffies))
		errx(1, "no clock");
	fx->gen->hits[slot] = (jiffies >> XFIB_HIT_SHIFT) - ago;
}

int main(int argc, char **argv)
{
	struct capacity capacity = { .routes4 = CAPACITY_ROUTES4, .routes6 = CAPACITY_ROUTES6 };
	struct load_error error = { "" };
	struct fixture fx = { 0 };

	if (argc < 4)
		errx(2, "usage: fixture NAME fill PID|leaf PREFIX ID|...");
	if (!strcmp(argv[2], "engine") && !strcmp(argv[3], "trie"))
		capacity.trie4 = capacity.trie6 = TRIE_BYTES;
	if (instance_create(argv[1], &capacity, &fx.instance, &error) ||
	    generation_open(fx.instance, fx.instance->meta.generation, true, &fx.gen, &error))
		errx(1, "%s", error.text);
	if (!strcmp(argv[2], "fill"))
		fill(&fx, atoi(argv[3]));
	else if (!strcmp(argv[2], "leaf"))
		fill_routes(&fx, argv + 3);
	else if (!strcmp(argv[2], "beat") && argc == 5)
		beat(&fx, atoll(argv[3]), atoll(argv[4]));
	else if (!strcmp(argv[2], "deadline"))
		fx.instance->ctl->deadline = atoll(argv[3]);
	else if (!strcmp(argv[2], "hit") && argc == 5)
		hit(&fx, atoi(argv[3]), atoi(argv[4]));
	else if (strcmp(argv[2], "engine"))
		errx(2, "unknown: %s", argv[2]);
	generation_free(fx.gen);
	instance_free(fx.instance);
	return 0;
}

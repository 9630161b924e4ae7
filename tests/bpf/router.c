// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The program on private maps, filled with a small router: see router.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <cmocka.h>
#include <linux/bpf.h>

#include "router.h"

static const struct router_l3if l3if_table[] = {
	[L3IF_LAN - L3IF_LAN] = { SLOT_LAN, IFINDEX_LAN, 1500,
				  XFIB_L3IF_IP4 | XFIB_L3IF_IP6 | XFIB_L3IF_EGRESS,
				  PKT_ROUTER_MAC },
	[L3IF_WAN - L3IF_LAN] = { SLOT_WAN,
				  IFINDEX_WAN,
				  1500,
				  XFIB_L3IF_EGRESS,
				  { 0x02, 0x00, 0x00, 0x00, 0x01, 0x01 } },
	[L3IF_SMALL - L3IF_LAN] = { SLOT_SMALL,
				    IFINDEX_SMALL,
				    1400,
				    XFIB_L3IF_EGRESS,
				    { 0x02, 0x00, 0x00, 0x00, 0x01, 0x02 } },
	[L3IF_JUMBO - L3IF_LAN] = { SLOT_JUMBO,
				    IFINDEX_JUMBO,
				    9000,
				    XFIB_L3IF_EGRESS | XFIB_L3IF_SG,
				    { 0x02, 0x00, 0x00, 0x00, 0x01, 0x04 } },
	[L3IF_DOWN - L3IF_LAN] = { SLOT_DOWN,
				   IFINDEX_DOWN,
				   1500,
				   0,
				   { 0x02, 0x00, 0x00, 0x00, 0x01, 0x05 } },
};

const struct router_neigh router_neighs[NEIGH_COUNT] = {
	[NEIGH_WAN_GW4] = { "203.0.113.1", L3IF_WAN, { 0x02, 0x00, 0x00, 0x00, 0x0b, 0x01 } },
	[NEIGH_WAN_GW6] = { "fe80::1", L3IF_WAN, { 0x02, 0x00, 0x00, 0x00, 0x0b, 0x02 } },
	[NEIGH_WAN_HOST4] = { "203.0.113.9", L3IF_WAN, { 0x02, 0x00, 0x00, 0x00, 0x0b, 0x03 } },
	[NEIGH_WAN_HOST6] = { "2001:db8:3::9", L3IF_WAN, { 0x02, 0x00, 0x00, 0x00, 0x0b, 0x04 } },
	[NEIGH_SMALL_GW4] = { "203.0.113.65", L3IF_SMALL, { 0x02, 0x00, 0x00, 0x00, 0x0c, 0x01 } },
	[NEIGH_SMALL_GW6] = { "fe80::41", L3IF_SMALL, { 0x02, 0x00, 0x00, 0x00, 0x0c, 0x02 } },
	[NEIGH_JUMBO_GW4] = { "203.0.113.129", L3IF_JUMBO, { 0x02, 0x00, 0x00, 0x00, 0x0d, 0x01 } },
	[NEIGH_JUMBO_GW6] = { "fe80::81", L3IF_JUMBO, { 0x02, 0x00, 0x00, 0x00, 0x0d, 0x02 } },
	[NEIGH_DOWN_GW4] = { "203.0.113.193", L3IF_DOWN, { 0x02, 0x00, 0x00, 0x00, 0x0e, 0x01 } },
	[NEIGH_LAN_GW4] = { "192.0.2.10", L3IF_LAN, PKT_HOST_MAC },
	[NEIGH_LAN_GW6] = { "2001:db8:1::10", L3IF_LAN, PKT_HOST_MAC },
};

const struct router_l3if *router_l3if(__u32 slot)
{
	return &l3if_table[slot - L3IF_LAN];
}

/* --- loading --------------------------------------------------------------------------------- */

static int map_fd(struct router *r, const char *name)
{
	return bpf_object__find_map_fd_by_name(r->object, name);
}

static void *map_memory(struct router *r, const char *section, size_t size)
{
	int fd = map_fd(r, section);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		fprintf(stderr, "cannot map %s: %m\n", section);
	return p == MAP_FAILED ? NULL : p;
}

enum { TRIE_BYTES = 1 << 20 };

/* Of the trie, without the pad. */
static __u32 trie_bytes(const struct router *r, enum family f)
{
	return r->compiled[f] ? TRIE_BYTES : 0;
}

static void choose_engines(struct router *r)
{
	const char *engine = getenv("ROUTER_ENGINE");

	if (!engine)
		return;
	r->compiled[IP4] = !strcmp(engine, "trie") || !strcmp(engine, "trie4");
	r->compiled[IP6] = !strcmp(engine, "trie") || !strcmp(engine, "trie6");
}

static int configure(struct router *r, const struct xfib_config *given)
{
	static const char *const tries[] = { ".bss.trie4", ".bss.trie6" };
	static const char *const lpms[] = { "lpm4", "lpm6" };
	struct bpf_map *rodata = bpf_object__find_map_by_name(r->object, ".rodata");
	struct xfib_config cfg = *given;
	size_t size;
	void *p = rodata ? (void *)bpf_map__initial_value(rodata, &size) : NULL;

	if (!p || size != sizeof(cfg))
		return -1;
	choose_engines(r);
	for (int f = 0; f < FAMILIES; f++) {
		cfg.trie_mask[f] = r->compiled[f] ? TRIE_BYTES - 1 : 0;
		bpf_map__set_value_size(bpf_object__find_map_by_name(r->object, tries[f]),
					trie_bytes(r, f) + XFIB_TRIE_PAD);
		bpf_map__set_max_entries(bpf_object__find_map_by_name(r->object, lpms[f]),
					 ROUTER_ROUTES_MAX);
	}
	memcpy(p, &cfg, sizeof(cfg));
	return 0;
}

static int load(struct router *r, const char *path, const struct xfib_config *cfg)
{
	struct bpf_program *prog;

	r->object = bpf_object__open_file(path, NULL);
	if (!r->object || configure(r, cfg) || bpf_object__load(r->object)) {
		fprintf(stderr, "cannot load %s: %m\n", path);
		return -1;
	}
	prog = bpf_object__find_program_by_name(r->object, "xfib");
	r->prog = prog ? bpf_program__fd(prog) : -1;
	r->lpm4 = map_fd(r, "lpm4");
	r->lpm6 = map_fd(r, "lpm6");
	r->neigh4 = map_fd(r, "neigh4");
	r->neigh6 = map_fd(r, "neigh6");
	r->tx = map_fd(r, "tx");
	r->counters = map_fd(r, "counters");
	r->grace = map_fd(r, "grace");
	r->ctl = map_memory(r, ".bss.ctl", sizeof(*r->ctl));
	r->ports = map_memory(r, ".bss.ports", XFIB_PORTS * sizeof(*r->ports));
	r->l3ifs = map_memory(r, ".bss.l3ifs", XFIB_L3IFS * sizeof(*r->l3ifs));
	r->own4 = map_memory(r, ".bss.own4", XFIB_OWN_BITS / 8);
	r->trie_roots = map_memory(r, ".bss.trie_roots", XFIB_TRIE_ROOTS * sizeof(__u32));
	r->trie[IP4] = map_memory(r, ".bss.trie4", trie_bytes(r, IP4) + XFIB_TRIE_PAD);
	r->trie[IP6] = map_memory(r, ".bss.trie6", trie_bytes(r, IP6) + XFIB_TRIE_PAD);
	for (int f = 0; f < FAMILIES; f++)
		if (r->compiled[f] && r->trie[f] &&
		    trie_pool_init(&r->pool[f], r->trie[f], TRIE_BYTES))
			return -1;
	r->nexthops = map_memory(r, ".bss.nexthops", XFIB_NEXTHOPS * sizeof(*r->nexthops));
	r->members = map_memory(r, ".bss.members", XFIB_MEMBERS * sizeof(*r->members));
	r->neighs = map_memory(r, ".bss.neighs", XFIB_NEIGHS * sizeof(*r->neighs));
	r->hits = map_memory(r, ".bss.hits", XFIB_NEIGHS * sizeof(*r->hits));
	return r->prog >= 0 && r->ctl && r->ports && r->l3ifs && r->own4 && r->nexthops &&
			       r->members && r->neighs && r->hits
		       ? 0
		       : -1;
}

/* The tries' sizes are not those of their declaration: libbpf then makes the maps without BTF, and says so. */
static int print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level != LIBBPF_WARN || strstr(format, "Retrying without BTF"))
		return 0;
	return vfprintf(stderr, format, args);
}

struct router *router_new(const char *path, const struct xfib_config *cfg)
{
	struct router *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	libbpf_set_print(print);
	r->cpus = libbpf_num_possible_cpus();
	if (load(r, path, cfg)) {
		router_free(r);
		return NULL;
	}
	router_reset(r);
	return r;
}

static void free_fibs(struct router *r)
{
	for (int i = 0; i < XFIB_FIBS; i++)
		for (int f = 0; f < FAMILIES; f++) {
			if (r->fib[i][f])
				rib_done(&r->fib[i][f]->rib);
			free(r->fib[i][f]);
			r->fib[i][f] = NULL;
		}
}

static void unmap(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

void router_free(struct router *r)
{
	if (!r)
		return;
	unmap(r->ctl, sizeof(*r->ctl));
	unmap(r->ports, XFIB_PORTS * sizeof(*r->ports));
	unmap(r->l3ifs, XFIB_L3IFS * sizeof(*r->l3ifs));
	unmap(r->own4, XFIB_OWN_BITS / 8);
	unmap(r->trie_roots, XFIB_TRIE_ROOTS * sizeof(__u32));
	for (int f = 0; f < FAMILIES; f++) {
		unmap(r->trie[f], trie_bytes(r, f) + XFIB_TRIE_PAD);
		trie_pool_done(&r->pool[f]);
	}
	free_fibs(r);
	unmap(r->nexthops, XFIB_NEXTHOPS * sizeof(*r->nexthops));
	unmap(r->members, XFIB_MEMBERS * sizeof(*r->members));
	unmap(r->neighs, XFIB_NEIGHS * sizeof(*r->neighs));
	unmap(r->hits, XFIB_NEIGHS * sizeof(*r->hits));
	bpf_object__close(r->object);
	free(r);
}

/* --- filling --------------------------------------------------------------------------------- */

static void set(int map, const void *key, const void *value)
{
	assert_int_equal(bpf_map_update_elem(map, key, value, BPF_ANY), 0);
}

/* As the daemon's trie engine does it: the RIB first, then what is inside the prefix. */
static void compile_route(struct router *r, __u32 fib, enum family f, struct addr addr,
			  unsigned int len, __u32 value)
{
	struct router_fib **slot = &r->fib[fib][f];
	__u32 node;
	__u8 above;

	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		assert_non_null(*slot);
		assert_int_equal(rib_init(&(*slot)->rib, f, ROUTER_ROUTES_MAX), 0);
		(*slot)->trie =
			(struct trie){ .pool = &r->pool[f],
				       .rib = &(*slot)->rib,
				       .root = &r->trie_roots[XFIB_TRIE_ROOT(fib, f == IP6)] };
	}
	assert_int_equal(rib_node_get(&(*slot)->rib, addr, len, &node, &above), 0);
	(*slot)->rib.node[node].installed = 1;
	(*slot)->rib.node[node].published = value;
	trie_update(&(*slot)->trie, addr, len);
	assert_int_equal((*slot)->trie.starved, 0);
}

static void route4(struct router *r, struct xfib_lpm4 key, __u32 value)
{
	if (r->compiled[IP4]) {
		compile_route(r, key.fib, IP4, addr_from_bytes(IP4, &key.addr),
			      key.prefixlen - XFIB_LPM_FIB_BITS, value);
		return;
	}
	set(r->lpm4, &key, &value);
	assert_true(r->routes4_count < ROUTER_ROUTES_MAX);
	r->routes4[r->routes4_count++] = key;
}

static void route6(struct router *r, struct xfib_lpm6 key, __u32 value)
{
	if (r->compiled[IP6]) {
		compile_route(r, key.fib, IP6, addr_from_bytes(IP6, key.addr),
			      key.prefixlen - XFIB_LPM_FIB_BITS, value);
		return;
	}
	set(r->lpm6, &key, &value);
	assert_true(r->routes6_count < ROUTER_ROUTES_MAX);
	r->routes6[r->routes6_count++] = key;
}

void router_route_fib(struct router *r, __u32 fib, const char *prefix, __u32 leaf)
{
	__u32 value = XFIB_LEAF_VALUE(leaf, XFIB_TABLE_MAIN);
	const char *slash = strchr(prefix, '/');
	struct xfib_lpm4 key4 = { .fib = fib };
	struct xfib_lpm6 key6 = { .fib = fib };
	char addr[INET6_ADDRSTRLEN];

	assert_non_null(slash);
	snprintf(addr, sizeof(addr), "%.*s", (int)(slash - prefix), prefix);
	key4.prefixlen = key6.prefixlen = XFIB_LPM_FIB_BITS + atoi(slash + 1);
	if (inet_pton(AF_INET, addr, &key4.addr) == 1) {
		route4(r, key4, value);
	} else {
		assert_int_equal(inet_pton(AF_INET6, addr, key6.addr), 1);
		route6(r, key6, value);
	}
}

void router_route(struct router *r, const char *prefix, __u32 leaf)
{
	router_route_fib(r, ROUTER_FIB, prefix, leaf);
}

void router_default(struct router *r, struct xfib_nexthop nexthop)
{
	r->nexthops[XFIB_NH_DEFAULT(ROUTER_FIB, 0)] = nexthop;
	r->nexthops[XFIB_NH_DEFAULT(ROUTER_FIB, 1)] = nexthop;
}

void router_neigh(struct router *r, __u32 slot, const char *addr, __u32 ifindex, __u16 l3if,
		  const __u8 *mac)
{
	struct xfib_neigh *n = &r->neighs[slot];
	struct xfib_neigh6_key key6 = { .ifindex = ifindex };
	struct xfib_neigh4_key key4 = { .ifindex = ifindex };

	*n = (struct xfib_neigh){ .lladdr.tag = l3if, .ifindex = ifindex };
	memcpy(n->lladdr.mac, mac, ETH_ALEN);
	if (inet_pton(AF_INET, addr, n->addr) == 1) {
		key4.addr = n->addr[0];
		set(r->neigh4, &key4, &slot);
		return;
	}
	assert_int_equal(inet_pton(AF_INET6, addr, n->addr), 1);
	n->ip6 = 1;
	memcpy(key6.addr, n->addr, sizeof(key6.addr));
	set(r->neigh6, &key6, &slot);
}

void router_group(struct router *r, enum xfib_nh_kind kind, __u32 first,
		  const struct xfib_nexthop *buckets, __u16 count)
{
	memcpy(&r->members[first], buckets, count * sizeof(*buckets));
	r->nexthops[NH_GROUP] = (struct xfib_nexthop){ .kind = kind, .count = count, .arg = first };
}

static void clear(struct router *r)
{
	struct xfib_neigh4_key key4;
	struct xfib_neigh6_key key6;

	for (int i = 0; i < XFIB_FIBS; i++)
		for (int f = 0; f < FAMILIES; f++)
			if (r->fib[i][f])
				trie_clear(&r->fib[i][f]->trie, 0);
	for (int f = 0; f < FAMILIES; f++) {
		buddy_close(&r->pool[f].blocks);
		buddy_free(&r->pool[f].blocks);
	}
	free_fibs(r);
	while (r->routes4_count)
		bpf_map_delete_elem(r->lpm4, &r->routes4[--r->routes4_count]);
	while (r->routes6_count)
		bpf_map_delete_elem(r->lpm6, &r->routes6[--r->routes6_count]);
	while (!bpf_map_get_next_key(r->neigh4, NULL, &key4))
		bpf_map_delete_elem(r->neigh4, &key4);
	while (!bpf_map_get_next_key(r->neigh6, NULL, &key6))
		bpf_map_delete_elem(r->neigh6, &key6);
	memset(r->ports, 0, XFIB_PORTS * sizeof(*r->ports));
	memset(r->l3ifs, 0, XFIB_L3IFS * sizeof(*r->l3ifs));
	memset(r->own4, 0, XFIB_OWN_BITS / 8);
	memset(r->nexthops, 0, XFIB_NEXTHOPS * sizeof(*r->nexthops));
	memset(r->members, 0, XFIB_MEMBERS * sizeof(*r->members));
	memset(r->neighs, 0, XFIB_NEIGHS * sizeof(*r->neighs));
	memset(r->hits, 0, XFIB_NEIGHS * sizeof(*r->hits));
}

static void fill_l3ifs(struct router *r)
{
	for (__u32 slot = L3IF_LAN; slot < L3IF_FREE; slot++) {
		const struct router_l3if *t = router_l3if(slot);
		__u32 port = t->port, lo = 1;

		r->l3ifs[slot] = (struct xfib_l3if){
			.port = t->port,
			.ifindex = t->ifindex,
			.mtu4 = t->mtu,
			.mtu6 = t->mtu,
			.flags = t->flags,
			.fib = ROUTER_FIB,
		};
		memcpy(r->l3ifs[slot].mac, t->mac, ETH_ALEN);
		set(r->tx, &port, &lo);
	}
}

static void fill_nexthops(struct router *r)
{
	for (__u32 leaf = 1; leaf < XFIB_VERDICT_MAX; leaf++)
		r->nexthops[leaf] = (struct xfib_nexthop){ .kind = XFIB_NH_VERDICT, .arg = leaf };
	for (__u32 slot = 1; slot < NEIGH_COUNT; slot++) {
		const struct router_neigh *t = &router_neighs[slot];

		router_neigh(r, slot, t->addr, router_l3if(t->l3if)->ifindex, t->l3if, t->mac);
		r->nexthops[NH_VIA(slot)] = (struct xfib_nexthop){
			.kind = XFIB_NH_ADJACENCY,
			.mtu = ROUTE_MTU_NONE,
			.arg = slot,
		};
	}
	r->nexthops[NH_WAN_CONNECTED] = (struct xfib_nexthop){
		.kind = XFIB_NH_CONNECTED,
		.mtu = ROUTE_MTU_NONE,
		.arg = IFINDEX_WAN,
	};
	r->nexthops[NH_LAN_CONNECTED] = (struct xfib_nexthop){
		.kind = XFIB_NH_CONNECTED,
		.mtu = ROUTE_MTU_NONE,
		.arg = IFINDEX_LAN,
	};
	router_default(r,
		       (struct xfib_nexthop){ .kind = XFIB_NH_VERDICT, .arg = XFIB_PUNT_NO_ROUTE });
}

static void fill_routes(struct router *r)
{
	struct in_addr own;

	router_route(r, "192.0.2.0/24", NH_LAN_CONNECTED);
	router_route(r, "192.0.2.1/32", XFIB_PUNT_LOCAL);
	router_route(r, "203.0.113.0/24", NH_WAN_CONNECTED);
	router_route(r, "198.51.100.0/24", NH_VIA(NEIGH_WAN_GW4));
	router_route(r, "2001:db8:1::/64", NH_LAN_CONNECTED);
	router_route(r, "2001:db8:1::1/128", XFIB_PUNT_LOCAL);
	router_route(r, "2001:db8:3::/64", NH_WAN_CONNECTED);
	router_route(r, "2001:db8:2::/48", NH_VIA(NEIGH_WAN_GW6));
	inet_pton(AF_INET, "192.0.2.1", &own);
	r->own4[xfib_own4_bit(own.s_addr) >> 6] |= 1ull << (xfib_own4_bit(own.s_addr) & 63);
}

void router_reset(struct router *r)
{
	clear(r);
	r->ctl->deadline = ROUTER_FAR;
	r->ports[SLOT_LAN] = (struct xfib_port){
		.ifindex = IFINDEX_LAN,
		.l3if = L3IF_LAN,
		.flags = XFIB_PORT_ENABLED,
	};
	fill_l3ifs(r);
	fill_nexthops(r);
	fill_routes(r);
}

/* --- running --------------------------------------------------------------------------------- */

static int run(const struct router *r, const struct pkt *in, const struct xdp_md *ctx,
	       struct pkt *out, __u32 *result)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in->data, .data_size_in = in->len,
		    .data_out = out->data, .data_size_out = sizeof(out->data), .repeat = 1,
		    .ctx_in = ctx, .ctx_size_in = ctx ? sizeof(*ctx) : 0);
	int err = bpf_prog_test_run_opts(r->prog, &opts);

	if (err)
		return err;
	out->len = opts.data_size_out;
	*result = opts.retval;
	return 0;
}

int router_run_linear(const struct router *r, const struct pkt *in, __u32 linear, struct pkt *out,
		      __u32 *result)
{
	struct xdp_md ctx = { .data_end = linear };

	return run(r, in, &ctx, out, result);
}

int router_run_queue(const struct router *r, const struct pkt *in, __u32 ifindex, __u32 queue,
		     struct pkt *out, __u32 *result)
{
	struct xdp_md ctx = { .data_end = in->len,
			      .ingress_ifindex = ifindex,
			      .rx_queue_index = queue };

	return run(r, in, &ctx, out, result);
}

__u32 router_run(const struct router *r, const struct pkt *in, struct pkt *out)
{
	__u32 result = 0;
	int err = run(r, in, NULL, out, &result);

	if (err)
		fail_msg("BPF_PROG_TEST_RUN of %u bytes: %s", in->len, strerror(-err));
	return result;
}

size_t router_counters_size(const struct router *r)
{
	return (size_t)XFIB_PORTS * r->cpus * sizeof(struct xfib_counters);
}

void router_counters(const struct router *r, struct xfib_counters *all)
{
	for (__u32 slot = 0; slot < XFIB_PORTS; slot++)
		assert_int_equal(bpf_map_lookup_elem(r->counters, &slot, &all[slot * r->cpus]), 0);
}

__u64 router_jiffies(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	__u64 jiffies = 0;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &jiffies, .ctx_size_in = sizeof(jiffies));

	assert_non_null(object);
	assert_int_equal(bpf_object__load(object), 0);
	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(bpf_object__find_program_by_name(
							object, "xfib_clock")),
						&opts),
			 0);
	bpf_object__close(object);
	return jiffies;
}

void router_skip(const char *why)
{
	print_message("SKIP: %s\n", why);
	skip();
}

/* --- names ----------------------------------------------------------------------------------- */

enum { CLASS_FORWARD = XDP_REDIRECT, CLASS_PUNT = XDP_PASS, CLASS_DROP = XDP_DROP };

int router_action(enum xfib_verdict verdict)
{
	static const int actions[] = {
#define ACTION(name, class, meaning) CLASS_##class,
		XFIB_VERDICTS(ACTION)
#undef ACTION
	};

	return actions[verdict];
}

const char *router_verdict_name(enum xfib_verdict verdict)
{
	static const char *const names[] = {
#define NAME(name, class, meaning) #name,
		XFIB_VERDICTS(NAME)
#undef NAME
	};

	return verdict < XFIB_VERDICT_MAX ? names[verdict] : "no verdict";
}

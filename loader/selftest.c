/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The load-time self-test: a router small enough to be read here, and frames whose way through it is
 * known to the byte. It guards against a kernel, JIT or compiler that does not do what the program
 * means, so it runs the very object that is about to be attached, as its twin.
 *
 *	10.0.0.0/24 connected on eth2		2001:db8::/64 connected on eth2
 *	10.1.0.0/16 via a gateway on eth2	2001:db8:1::/48 via a gateway on eth2
 *	10.2.0.0/16 group of two gateways	2001:db8:2::/48 the same
 *	10.3.0.0/16 unreachable			2001:db8:3::/48 unreachable
 *	default via the gateway			default via the gateway
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "common/addr.h"
#include "common/cleanup.h"
#include "fib/trie.h"
#include "generation.h"
#include "object.h"
#include "pin.h"
#include "selftest.h"

enum { PORT_IN = 3, PORT_OUT = 5 };
enum { L3IF_IN = 1, L3IF_OUT = 2 };
enum { IFINDEX_IN = 101, IFINDEX_OUT = 102 };
enum { NEIGH_HOST4 = 1, NEIGH_HOST6, NEIGH_GATEWAY, NEIGH_GATEWAY2 };
enum { NH_CONNECTED = XFIB_NH_FIRST, NH_GATEWAY, NH_GROUP };

#define MAC_IN                   \
	{                        \
		2, 0, 0, 0, 0, 1 \
	}
#define MAC_OUT                  \
	{                        \
		2, 0, 0, 0, 0, 2 \
	}
#define MAC_SENDER               \
	{                        \
		2, 0, 0, 0, 1, 1 \
	}
#define MAC_HOST                 \
	{                        \
		2, 0, 0, 0, 2, 1 \
	}
#define MAC_GATEWAY              \
	{                        \
		2, 0, 0, 0, 2, 2 \
	}
#define MAC_GATEWAY2             \
	{                        \
		2, 0, 0, 0, 2, 3 \
	}

struct packet4 {
	struct ethhdr eth;
	struct iphdr ip;
	__u8 payload[26];
} __attribute__((packed));

struct packet6 {
	struct ethhdr eth;
	struct ipv6hdr ip;
	__u8 payload[8];
} __attribute__((packed));

/* A frame of either family in, and what becomes of it. */
struct golden {
	const char *name;
	const char *dst;
	enum xfib_verdict verdict;
	__u8 ttl;
	__u8 dmac[ETH_ALEN];	/* of a forwarded frame */
	__u8 dmac_or[ETH_ALEN]; /* ... or this one: a group has two */
	__u8 foreign;		/* bool: the destination MAC is not ours */
};

static const struct golden golden[] = {
	{ "IPv4 connected", "10.0.0.9", XFIB_FORWARDED, 64, MAC_HOST, MAC_HOST, 0 },
	{ "IPv4 connected, no neighbour", "10.0.0.8", XFIB_PUNT_NO_NEIGHBOUR, 64, {}, {}, 0 },
	{ "IPv4 gateway", "10.1.2.3", XFIB_FORWARDED, 2, MAC_GATEWAY, MAC_GATEWAY, 0 },
	{ "IPv4 group", "10.2.2.3", XFIB_FORWARDED, 255, MAC_GATEWAY, MAC_GATEWAY2, 0 },
	{ "IPv4 unreachable", "10.3.2.3", XFIB_PUNT_UNREACHABLE, 64, {}, {}, 0 },
	{ "IPv4 default", "192.0.2.1", XFIB_FORWARDED, 64, MAC_GATEWAY, MAC_GATEWAY, 0 },
	{ "IPv4 TTL 1", "10.1.2.3", XFIB_PUNT_IP4_TTL, 1, {}, {}, 0 },
	{ "IPv4 not for us", "10.1.2.3", XFIB_PUNT_NOT_OUR_MAC, 64, {}, {}, 1 },
	{ "IPv6 connected", "2001:db8::9", XFIB_FORWARDED, 64, MAC_HOST, MAC_HOST, 0 },
	{ "IPv6 connected, no neighbour", "2001:db8::8", XFIB_PUNT_NO_NEIGHBOUR, 64, {}, {}, 0 },
	{ "IPv6 gateway", "2001:db8:1::3", XFIB_FORWARDED, 2, MAC_GATEWAY, MAC_GATEWAY, 0 },
	{ "IPv6 group", "2001:db8:2::3", XFIB_FORWARDED, 255, MAC_GATEWAY, MAC_GATEWAY2, 0 },
	{ "IPv6 unreachable", "2001:db8:3::3", XFIB_PUNT_UNREACHABLE, 64, {}, {}, 0 },
	{ "IPv6 default", "2001:db9::1", XFIB_FORWARDED, 64, MAC_GATEWAY, MAC_GATEWAY, 0 },
	{ "IPv6 hop limit 1", "2001:db8:1::3", XFIB_PUNT_IP6_HOP_LIMIT, 1, {}, {}, 0 },
	{ "IPv6 not for us", "2001:db8:1::3", XFIB_PUNT_NOT_OUR_MAC, 64, {}, {}, 1 },
};

/* --- the router -------------------------------------------------------------------------------- */

static int fill_flat(struct bpf_object *obj, enum xfib_map map, size_t offset, const void *record,
		     size_t size)
{
	int fd = bpf_map__fd(object_find_map(obj, map));
	void *memory;
	int rc = map_mmap(fd, true, &memory);

	if (rc)
		return rc;
	memcpy((char *)memory + offset, record, size);
	map_unmap(memory, fd);
	return 0;
}

static int fill_interfaces(struct bpf_object *obj)
{
	const struct xfib_l3if in = { MAC_IN,
				      PORT_IN,
				      IFINDEX_IN,
				      1500,
				      1500,
				      0,
				      XFIB_L3IF_IP4 | XFIB_L3IF_IP6 | XFIB_L3IF_EGRESS,
				      0,
				      {} };
	const struct xfib_l3if out = { MAC_OUT,
				       PORT_OUT,
				       IFINDEX_OUT,
				       1500,
				       1500,
				       0,
				       XFIB_L3IF_IP4 | XFIB_L3IF_IP6 | XFIB_L3IF_EGRESS,
				       0,
				       {} };
	const struct xfib_port port = { IFINDEX_IN, L3IF_IN, XFIB_PORT_ENABLED };
	const struct xfib_ctl ctl = { .deadline = 1ull << 62 };
	__u32 slot = PORT_OUT, lo = 1; /* any device will do: the twin transmits nothing */
	int rc = 0;

	rc = rc ?: fill_flat(obj, XFIB_MAP_ctl, 0, &ctl, sizeof(ctl));
	rc = rc ?: fill_flat(obj, XFIB_MAP_ports, PORT_IN * sizeof(port), &port, sizeof(port));
	rc = rc ?: fill_flat(obj, XFIB_MAP_l3ifs, L3IF_IN * sizeof(in), &in, sizeof(in));
	rc = rc ?: fill_flat(obj, XFIB_MAP_l3ifs, L3IF_OUT * sizeof(out), &out, sizeof(out));
	if (!rc && bpf_map_update_elem(bpf_map__fd(object_find_map(obj, XFIB_MAP_tx)), &slot, &lo,
				       BPF_ANY))
		rc = -errno;
	return rc;
}

static int fill_neighbours(struct bpf_object *obj)
{
	struct xfib_neigh neighs[] = {
		[NEIGH_HOST4] = { { MAC_HOST, L3IF_OUT }, { htonl(0x0a000009) }, IFINDEX_OUT, 0 },
		[NEIGH_HOST6] = { { MAC_HOST, L3IF_OUT },
				  { htonl(0x20010db8), 0, 0, htonl(9) },
				  IFINDEX_OUT,
				  1 },
		[NEIGH_GATEWAY] = { { MAC_GATEWAY, L3IF_OUT },
				    { htonl(0x0a0000fe) },
				    IFINDEX_OUT,
				    0 },
		[NEIGH_GATEWAY2] = { { MAC_GATEWAY2, L3IF_OUT },
				     { htonl(0x0a0000fd) },
				     IFINDEX_OUT,
				     0 },
	};
	const struct xfib_neigh4_key key4 = { htonl(0x0a000009), IFINDEX_OUT };
	const struct xfib_neigh6_key key6 = { { htonl(0x20010db8), 0, 0, htonl(9) }, IFINDEX_OUT };
	__u32 host4 = NEIGH_HOST4, host6 = NEIGH_HOST6;

	if (bpf_map_update_elem(bpf_map__fd(object_find_map(obj, XFIB_MAP_neigh4)), &key4, &host4,
				BPF_ANY) ||
	    bpf_map_update_elem(bpf_map__fd(object_find_map(obj, XFIB_MAP_neigh6)), &key6, &host6,
				BPF_ANY))
		return -errno;
	return fill_flat(obj, XFIB_MAP_neighs, 0, neighs, sizeof(neighs));
}

static int fill_nexthops(struct bpf_object *obj)
{
	const struct xfib_nexthop gateway = { .kind = XFIB_NH_ADJACENCY,
					      .mtu = 0xffff,
					      .arg = NEIGH_GATEWAY };
	const struct xfib_nexthop nexthops[] = {
		{ .kind = XFIB_NH_CONNECTED, .mtu = 0xffff, .arg = IFINDEX_OUT },
		gateway,
		{ .kind = XFIB_NH_GROUP_L4, .count = 2, .arg = 0 },
	};
	const struct xfib_nexthop members[] = {
		gateway,
		{ .kind = XFIB_NH_ADJACENCY, .mtu = 0xffff, .arg = NEIGH_GATEWAY2 },
	};
	const struct xfib_nexthop punts[] = {
		[XFIB_PUNT_UNREACHABLE] = { .kind = XFIB_NH_VERDICT, .arg = XFIB_PUNT_UNREACHABLE },
	};
	const struct xfib_nexthop defaults[] = { gateway, gateway };
	const size_t size = sizeof(gateway);
	int rc = 0;

	rc = rc ?: fill_flat(obj, XFIB_MAP_nexthops, 0, punts, sizeof(punts));
	rc = rc
		     ?: fill_flat(obj, XFIB_MAP_nexthops, XFIB_NH_FIRST * size, nexthops,
				  sizeof(nexthops));
	rc = rc
		     ?: fill_flat(obj, XFIB_MAP_nexthops, XFIB_NH_DEFAULT(0, 0) * size, defaults,
				  sizeof(defaults));
	return rc ?: fill_flat(obj, XFIB_MAP_members, 0, members, sizeof(members));
}

static const struct {
	const char *prefix;
	__u32 leaf;
} routes[] = {
	{ "10.0.0.0/24", NH_CONNECTED },   { "10.1.0.0/16", NH_GATEWAY },
	{ "10.2.0.0/16", NH_GROUP },	   { "10.3.0.0/16", XFIB_PUNT_UNREACHABLE },
	{ "2001:db8::/64", NH_CONNECTED }, { "2001:db8:1::/48", NH_GATEWAY },
	{ "2001:db8:2::/48", NH_GROUP },   { "2001:db8:3::/48", XFIB_PUNT_UNREACHABLE },
};
enum { ROUTES = sizeof(routes) / sizeof(*routes), TRIE_BYTES = 16384 };

static int fill_lpm(struct bpf_object *obj)
{
	for (unsigned int i = 0; i < ROUTES; i++) {
		__u32 value = XFIB_LEAF_VALUE(routes[i].leaf, XFIB_TABLE_MAIN);
		struct xfib_lpm6 key = {}; /* the IPv4 one begins alike */
		struct addr addr;
		enum family f;
		unsigned int len;

		if (prefix_parse(routes[i].prefix, &f, &addr, &len))
			return -EINVAL;
		key.prefixlen = XFIB_LPM_FIB_BITS + len;
		addr_to_bytes(f, addr, key.addr);
		if (bpf_map_update_elem(bpf_map__fd(object_find_map(obj, f == IP4 ? XFIB_MAP_lpm4
										  : XFIB_MAP_lpm6)),
					&key, &value, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* The routes of a family, as the daemon compiles them. */
static int build_trie(enum family family, void *memory, __u32 *root)
{
	struct trie_pool pool = {};
	struct rib rib = {};
	struct trie trie = { .pool = &pool, .rib = &rib, .root = root };
	int rc = rib_init(&rib, family, ROUTES) ?: trie_pool_init(&pool, memory, TRIE_BYTES);

	for (unsigned int i = 0; i < ROUTES && !rc; i++) {
		struct addr addr;
		enum family f;
		unsigned int len;
		__u32 node;
		__u8 above;

		rc = prefix_parse(routes[i].prefix, &f, &addr, &len);
		if (rc || f != family)
			continue;
		rc = rib_node_get(&rib, addr, len, &node, &above);
		if (rc)
			break;
		rib.node[node].installed = 1;
		rib.node[node].published = XFIB_LEAF_VALUE(routes[i].leaf, XFIB_TABLE_MAIN);
	}
	if (!rc)
		trie_update(&trie, (struct addr){}, 0);
	trie_pool_done(&pool);
	rib_done(&rib);
	return rc ?: trie.starved ? -ENOSPC : 0;
}

static int fill_tries(struct bpf_object *obj)
{
	__u8 memory[TRIE_BYTES];
	__u32 root;
	int rc = 0;

	for (enum family f = IP4; f < FAMILIES && !rc; f++) {
		memset(memory, 0, sizeof(memory));
		root = 0;
		rc = build_trie(f, memory, &root);
		rc = rc
			     ?: fill_flat(obj, f == IP4 ? XFIB_MAP_trie4 : XFIB_MAP_trie6, 0,
					  memory, sizeof(memory));
		rc = rc
			     ?: fill_flat(obj, XFIB_MAP_trie_roots,
					  XFIB_TRIE_ROOT(0, f) * sizeof(root), &root, sizeof(root));
	}
	return rc;
}

/* --- the packets ------------------------------------------------------------------------------- */

static void fill_ethernet(struct ethhdr *eth, const struct golden *g, __u16 protocol)
{
	const __u8 dst[] = MAC_IN, src[] = MAC_SENDER;

	memcpy(eth->h_dest, dst, ETH_ALEN);
	memcpy(eth->h_source, src, ETH_ALEN);
	eth->h_dest[ETH_ALEN - 1] ^= g->foreign;
	eth->h_proto = htons(protocol);
}

/* RFC 1071, plainly: the program's own arithmetic is what is being tested. */
static __be16 checksum(const void *header, size_t size)
{
	const __u8 *b = header;
	__u32 sum = 0;

	for (size_t i = 0; i < size; i += 2)
		sum += b[i] << 8 | b[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum & 0xffff);
}

static size_t build4(const struct golden *g, __u8 ttl, void *frame)
{
	struct packet4 *p = frame;
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.ttl = ttl,
		.protocol = IPPROTO_UDP,
		.saddr = htonl(0xc6336401),
		.tot_len = htons(sizeof(*p) - ETH_HLEN),
		.id = htons(0x1234),
	};

	inet_pton(AF_INET, g->dst, &ip.daddr);
	ip.check = checksum(&ip, sizeof(ip));
	fill_ethernet(&p->eth, g, ETH_P_IP);
	memcpy(&p->ip, &ip, sizeof(ip));
	memset(p->payload, 0x5a, sizeof(p->payload));
	return sizeof(*p);
}

static size_t build6(const struct golden *g, __u8 ttl, void *frame)
{
	struct packet6 *p = frame;
	struct ipv6hdr ip = {
		.version = 6,
		.hop_limit = ttl,
		.nexthdr = IPPROTO_UDP,
		.payload_len = htons(sizeof(p->payload)),
	};

	inet_pton(AF_INET6, "2001:db8:ff::1", &ip.saddr);
	inet_pton(AF_INET6, g->dst, &ip.daddr);
	fill_ethernet(&p->eth, g, ETH_P_IPV6);
	memcpy(&p->ip, &ip, sizeof(ip));
	memset(p->payload, 0x5a, sizeof(p->payload));
	return sizeof(*p);
}

static size_t build(const struct golden *g, __u8 ttl, void *frame)
{
	return strchr(g->dst, ':') ? build6(g, ttl, frame) : build4(g, ttl, frame);
}

/* What must come out: the frame itself, or the same one hop further. */
static size_t build_expected(const struct golden *g, const __u8 *dmac, void *frame)
{
	const __u8 smac[] = MAC_OUT;
	struct ethhdr *eth = frame;
	size_t len;

	if (g->verdict != XFIB_FORWARDED)
		return build(g, g->ttl, frame);
	len = build(g, g->ttl - 1, frame);
	memcpy(eth->h_dest, dmac, ETH_ALEN);
	memcpy(eth->h_source, smac, ETH_ALEN);
	return len;
}

static int check(const struct golden *g, int prog_fd, struct load_error *err)
{
	__u8 in[128] = {}, out[128] = {}, expected[128] = {};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in, .data_out = out,
		    .data_size_out = sizeof(out), .repeat = 1);
	__u32 action = g->verdict == XFIB_FORWARDED ? XDP_REDIRECT : XDP_PASS;
	size_t len = build(g, g->ttl, in);

	run.data_size_in = len;
	if (bpf_prog_test_run_opts(prog_fd, &run))
		return load_fail(err, -errno, "self-test: packet '%s' cannot be run: %s", g->name,
				 strerror(errno));
	if (XFIB_TWIN_VERDICT(run.retval) != g->verdict || XFIB_TWIN_ACTION(run.retval) != action)
		return load_fail(
			err, -EILSEQ,
			"self-test: packet '%s': verdict %u, action %u instead of %u, %u; nothing "
			"is attached, please report this",
			g->name, XFIB_TWIN_VERDICT(run.retval), XFIB_TWIN_ACTION(run.retval),
			g->verdict, action);
	build_expected(g, memcmp(out, g->dmac_or, ETH_ALEN) ? g->dmac : g->dmac_or, expected);
	for (size_t i = 0; i < len || i < run.data_size_out; i++)
		if (out[i] != expected[i] || i >= len || i >= run.data_size_out)
			return load_fail(
				err, -EILSEQ,
				"self-test: packet '%s', byte %zu: %02x instead of %02x; nothing "
				"is attached, please report this",
				g->name, i, out[i], expected[i]);
	return 0;
}

/* --- the test ---------------------------------------------------------------------------------- */

static __u8 passed_tag[BPF_TAG_SIZE];
static bool passed;

const __u8 *selftest_tag(void)
{
	return passed ? passed_tag : NULL;
}

static int load_private(bool tries, struct bpf_object **obj, struct load_error *err)
{
	const struct xfib_config cfg = {
		.slot = PORT_IN,
		.twin = 1,
		.hash_seed = 1,
		.trie_mask = { tries ? TRIE_BYTES - 1 : 0, tries ? TRIE_BYTES - 1 : 0 },
	};
	const struct capacity small = { 16, 16, tries ? TRIE_BYTES : 0, tries ? TRIE_BYTES : 0 };
	_cleanup_object_ struct bpf_object *opened = NULL;
	int rc = object_open(&opened, err);

	if (rc)
		return rc;
	rc = object_configure(opened, &cfg) ?: object_size_routes(opened, &small);
	if (rc)
		return load_fail(err, rc, "self-test: cannot fit the BPF object: %s",
				 strerror(-rc));
	rc = object_load(opened, err);
	if (rc)
		return rc;
	*obj = TAKE_PTR(opened);
	return 0;
}

/* With the routes in the LPM tries, or compiled. Leaves the program's tag in passed_tag. */
static int run(bool tries, struct load_error *err)
{
	_cleanup_object_ struct bpf_object *obj = NULL;
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int rc = load_private(tries, &obj, err), fd;

	if (rc)
		return rc;
	rc = fill_interfaces(obj) ?: fill_neighbours(obj) ?: fill_nexthops(obj);
	if (!rc)
		rc = tries ? fill_tries(obj) : fill_lpm(obj);
	if (rc)
		return load_fail(err, rc, "self-test: cannot fill the tables: %s", strerror(-rc));
	fd = bpf_program__fd(object_program(obj));
	for (size_t i = 0; i < sizeof(golden) / sizeof(*golden) && !rc; i++)
		rc = check(&golden[i], fd, err);
	if (rc)
		return rc;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return load_fail(err, -errno, "self-test: cannot look at the program: %s",
				 strerror(errno));
	memcpy(passed_tag, info.tag, sizeof(passed_tag));
	return 0;
}

int selftest_run(struct load_error *err)
{
	int rc = run(false, err) ?: run(true, err);

	passed = !rc;
	return rc;
}

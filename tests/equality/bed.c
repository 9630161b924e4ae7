// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See bed.h. */
#include "bed.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

enum { SLOT = 1, L3IF = 1, IFINDEX = 77 };

static __attribute__((noreturn)) void fail(const char *what)
{
	fprintf(stderr, "equality: %s: %m\n", what);
	exit(1);
}

static const __u8 mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };

static void *memory(const struct bed *bed, const char *section, size_t size)
{
	int fd = bpf_object__find_map_fd_by_name(bed->object, section);
	size_t page = getpagesize();
	void *p = mmap(NULL, (size + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);

	if (p == MAP_FAILED)
		fail(section);
	return p;
}

/* compiled: the bytes of the trie that the program walks; 0: it asks the LPM trie. */
static void configure(const struct bed *bed, struct bpf_object *object, __u32 compiled)
{
	const struct xfib_config cfg = {
		.slot = SLOT,
		.twin = 1,
		.trie_mask = { bed->family == IP4 && compiled ? compiled - 1 : 0,
			       bed->family == IP6 && compiled ? compiled - 1 : 0 },
	};
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		if (strstr(bpf_map__name(map), ".rodata") &&
		    bpf_map__set_initial_value(map, &cfg, sizeof(cfg)))
			fail("cannot configure the program");
}

static void size_maps(struct bed *bed, __u32 bytes, __u32 prefixes)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, bed->object) {
		const char *name = bpf_map__name(map);
		bool trie4 = !strcmp(name, ".bss.trie4"), trie6 = !strcmp(name, ".bss.trie6");

		if (trie4 || trie6)
			bpf_map__set_value_size(map, ((bed->family == IP4) == trie4 ? bytes : 0) +
							     XFIB_TRIE_PAD);
		if (!strcmp(name, "lpm4") || !strcmp(name, "lpm6"))
			bpf_map__set_max_entries(map, prefixes + 1);
	}
}

static void share_maps(const struct bed *bed, struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		const char *name = bpf_map__name(map);

		if (!strstr(name, ".rodata") &&
		    bpf_map__reuse_fd(map, bpf_object__find_map_fd_by_name(bed->object, name)))
			fail(name);
	}
}

static struct bpf_object *open_object(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);

	if (!object)
		fail(path);
	return object;
}

static int load(struct bpf_object *object)
{
	if (bpf_object__load(object))
		fail("cannot load the program");
	return bpf_program__fd(bpf_object__find_program_by_name(object, "xfib"));
}

/* A port that takes everything, with no neighbour anywhere: only the leaf is of interest. */
static void fill_port(struct bed *bed)
{
	struct xfib_ctl *ctl = memory(bed, ".bss.ctl", sizeof(*ctl));
	struct xfib_port *ports = memory(bed, ".bss.ports", XFIB_PORTS * sizeof(*ports));
	struct xfib_l3if *l3ifs = memory(bed, ".bss.l3ifs", XFIB_L3IFS * sizeof(*l3ifs));

	ctl->deadline = 1ull << 62;
	l3ifs[L3IF] = (struct xfib_l3if){ .port = SLOT,
					  .ifindex = IFINDEX,
					  .flags = XFIB_L3IF_IP4 | XFIB_L3IF_IP6 };
	memcpy(l3ifs[L3IF].mac, mac, sizeof(mac));
	ports[SLOT] = (struct xfib_port){ IFINDEX, L3IF, XFIB_PORT_ENABLED };
}

void bed_open(struct bed *bed, const char *path, enum family family, __u32 bytes, __u32 prefixes)
{
	__u32 *roots;

	*bed = (struct bed){ .family = family };
	libbpf_set_print(NULL);
	bed->object = open_object(path);
	configure(bed, bed->object, bytes);
	size_maps(bed, bytes, prefixes);
	bed->prog = load(bed->object);
	bed->lpm_object = open_object(path);
	configure(bed, bed->lpm_object, 0);
	share_maps(bed, bed->lpm_object);
	bed->lpm_prog = load(bed->lpm_object);
	bed->lpm = bpf_object__find_map_fd_by_name(bed->object, family == IP4 ? "lpm4" : "lpm6");
	bed->grace = bpf_object__find_map_fd_by_name(bed->object, "grace");
	fill_port(bed);
	roots = memory(bed, ".bss.trie_roots", XFIB_TRIE_ROOTS * sizeof(*roots));
	if (rib_init(&bed->rib, family, prefixes + 1) ||
	    trie_pool_init(&bed->pool,
			   memory(bed, family == IP4 ? ".bss.trie4" : ".bss.trie6", bytes), bytes))
		fail("cannot make the tables");
	bed->trie = (struct trie){ .pool = &bed->pool,
				   .rib = &bed->rib,
				   .root = &roots[XFIB_TRIE_ROOT(0, family == IP6)] };
	bed->view = (struct trie_view){ family, bed->pool.memory, bytes, bed->trie.root };
}

void bed_close(struct bed *bed)
{
	munmap(bed->pool.memory, bed->view.bytes);
	rib_done(&bed->rib);
	trie_pool_done(&bed->pool);
	bpf_object__close(bed->lpm_object);
	bpf_object__close(bed->object);
}

void bed_put(struct bed *bed, const struct prefix *p)
{
	struct rib_node *n;
	__u32 node;
	__u8 above;

	if (rib_node_get(&bed->rib, p->addr, p->len, &node, &above))
		fail("the RIB is full");
	n = &bed->rib.node[node];
	bed->rib.prefixes += !!p->leaf - n->installed;
	n->installed = !!p->leaf;
	n->published = XFIB_LEAF_VALUE(p->leaf, XFIB_TABLE_MAIN);
}

void bed_forget(struct bed *bed, const struct prefix *p)
{
	if (!p->leaf)
		rib_node_put(&bed->rib, p->addr, p->len);
}

static struct xfib_lpm6 lpm_key(const struct bed *bed, struct addr addr, __u32 len)
{
	struct xfib_lpm6 key = { .prefixlen = XFIB_LPM_FIB_BITS + len };

	addr_to_bytes(bed->family, addr, key.addr);
	return key;
}

void bed_put_lpm(struct bed *bed, const struct prefix *p)
{
	struct xfib_lpm6 key = lpm_key(bed, p->addr, p->len);

	if (!p->leaf)
		bpf_map_delete_elem(bed->lpm, &key);
	else if (bpf_map_update_elem(bed->lpm, &key, &p->leaf, BPF_ANY))
		fail("the LPM trie is full");
}

__u32 bed_find_trie(const struct bed *bed, struct addr addr)
{
	struct trie_range range;

	if (trie_find(&bed->view, addr, &range))
		fail("no trie");
	return range.leaf;
}

__u32 bed_find_lpm(const struct bed *bed, struct addr addr)
{
	struct xfib_lpm6 key = lpm_key(bed, addr, family_bits(bed->family));
	__u32 leaf;

	return bpf_map_lookup_elem(bed->lpm, &key, &leaf) ? 0 : leaf;
}

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

static __u32 run(const struct bed *bed, int prog, struct addr addr)
{
	struct {
		struct ethhdr eth;
		union {
			struct iphdr ip4;
			struct ipv6hdr ip6;
		};
		__u8 rest[32];
	} __attribute__((packed)) frame = {};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = &frame, .data_size_in = sizeof(frame),
		    .repeat = 1);

	memcpy(frame.eth.h_dest, mac, sizeof(mac));
	frame.eth.h_source[0] = 2;
	frame.eth.h_source[5] = 9;
	if (bed->family == IP4) {
		struct iphdr ip = { .version = 4,
				    .ihl = 5,
				    .ttl = 64,
				    .protocol = IPPROTO_UDP,
				    .saddr = htonl(0xc6336401),
				    .tot_len = htons(sizeof(frame) - ETH_HLEN) };

		frame.eth.h_proto = htons(ETH_P_IP);
		addr_to_bytes(IP4, addr, &ip.daddr);
		ip.check = checksum(&ip, sizeof(ip));
		memcpy(&frame.ip4, &ip, sizeof(ip));
	} else {
		frame.eth.h_proto = htons(ETH_P_IPV6);
		frame.ip6.version = 6;
		frame.ip6.hop_limit = 64;
		frame.ip6.nexthdr = IPPROTO_UDP;
		frame.ip6.payload_len = htons(sizeof(frame.rest));
		frame.ip6.saddr.s6_addr[0] = 0x20;
		addr_to_bytes(IP6, addr, &frame.ip6.daddr);
	}
	if (bpf_prog_test_run_opts(prog, &opts))
		fail("cannot run the program");
	/* Leaves have no next hop here, so all that look for one end there. */
	if (XFIB_TWIN_VERDICT(opts.retval) != XFIB_PUNT_RACE)
		return ~0u;
	return XFIB_TWIN_LEAF(opts.retval);
}

__u32 bed_find_xdp(const struct bed *bed, struct addr addr)
{
	return run(bed, bed->prog, addr);
}

__u32 bed_find_xdp_lpm(const struct bed *bed, struct addr addr)
{
	return run(bed, bed->lpm_prog, addr);
}

void bed_grace(struct bed *bed)
{
	__u32 key = 0;
	int inner;

	if (!buddy_close(&bed->pool.blocks))
		return;
	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "grace", 4, 4, 1, NULL);
	if (inner < 0 || bpf_map_update_elem(bed->grace, &key, &inner, BPF_ANY))
		fail("no grace period");
	close(inner);
	buddy_free(&bed->pool.blocks);
}

/* A free block that ends there becomes where it begins; false: there is none. */
static bool free_before(const struct buddy *b, __u32 *end)
{
	for (unsigned int order = 0; order < b->orders; order++)
		for (__u32 i = b->head[order]; i != BUDDY_NONE; i = b->next[i])
			if (i + (1u << order) == *end) {
				*end = i;
				return true;
			}
	return false;
}

__u64 bed_extent(const struct bed *bed)
{
	__u32 end = bed->pool.blocks.size;

	while (end && free_before(&bed->pool.blocks, &end))
		;
	return (__u64)end * XFIB_TRIE_UNIT;
}

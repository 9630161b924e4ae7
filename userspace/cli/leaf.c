// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See leaf.h. The words are read as the program reads them: one load each, and whatever they then
 * say, so that a change in between shows one state or the other.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leaf.h"
#include "text.h"

struct xfib_nexthop nexthop_load(const struct xfib_nexthop *word)
{
	union {
		__u64 word;
		struct xfib_nexthop nexthop;
	} u = { .word = __atomic_load_n((const __u64 *)word, __ATOMIC_RELAXED) };

	return u.nexthop;
}

struct xfib_lladdr neigh_lladdr(const struct generation *gen, unsigned int slot)
{
	union {
		__u64 word;
		struct xfib_lladdr lladdr;
	} u = { .word = __atomic_load_n((const __u64 *)&gen->neighs[slot % XFIB_NEIGHS].lladdr,
					__ATOMIC_RELAXED) };

	return u.lladdr;
}

unsigned int leaf_id(enum family f, unsigned int fib, unsigned int leaf)
{
	return leaf ? leaf : XFIB_NH_DEFAULT(fib % XFIB_FIBS, f == IP6);
}

static struct hop read_hop(const struct generation *gen, struct xfib_nexthop nh)
{
	const struct xfib_neigh *n = &gen->neighs[nh.arg % XFIB_NEIGHS];
	struct hop hop = { .kind = nh.kind, .mtu = nh.mtu, .weight = 1 };

	if (nh.kind == XFIB_NH_ADJACENCY) {
		hop.ifindex = n->ifindex;
		hop.has_via = true;
		hop.via_family = n->ip6 ? IP6 : IP4;
		hop.via = addr_from_bytes(hop.via_family, n->addr);
		hop.slot = nh.arg % XFIB_NEIGHS;
		hop.lladdr = neigh_lladdr(gen, hop.slot);
	} else if (nh.kind == XFIB_NH_CONNECTED) {
		hop.ifindex = nh.arg;
	} else {
		/* As nexthop_verdict() of the program has it: no word claims FORWARDED. */
		hop.kind = XFIB_NH_VERDICT;
		hop.verdict = nh.arg > XFIB_FORWARDED && nh.arg < XFIB_VERDICT_MAX ? nh.arg
										   : XFIB_PUNT_RACE;
	}
	return hop;
}

static bool same_word(struct xfib_nexthop a, struct xfib_nexthop b)
{
	return !memcmp(&a, &b, sizeof(a));
}

static unsigned int gcd(unsigned int a, unsigned int b)
{
	return b ? gcd(b, a % b) : a;
}

static void reduce_weights(struct leaf *leaf)
{
	unsigned int common = 0;

	for (unsigned int i = 0; i < leaf->hops; i++)
		common = gcd(leaf->hop[i].weight, common);
	for (unsigned int i = 0; i < leaf->hops; i++)
		leaf->hop[i].weight /= common;
}

static void read_group(const struct generation *gen, struct xfib_nexthop group, struct leaf *leaf)
{
	struct xfib_nexthop seen[XFIB_GROUP_MAX], bucket;
	unsigned int leg;

	for (unsigned int i = 0; i < group.count && i < XFIB_GROUP_MAX; i++) {
		bucket = nexthop_load(&gen->members[(group.arg + i) % XFIB_MEMBERS]);
		for (leg = 0; leg < leaf->hops && !same_word(seen[leg], bucket); leg++)
			;
		if (leg == leaf->hops) {
			seen[leg] = bucket;
			leaf->hop[leaf->hops++] = read_hop(gen, bucket);
		} else {
			leaf->hop[leg].weight++;
		}
	}
	reduce_weights(leaf);
}

int leaf_read(const struct generation *gen, unsigned int id, struct leaf **leaf)
{
	struct xfib_nexthop nh = nexthop_load(&gen->nexthops[id % XFIB_NEXTHOPS]);
	bool group = nh.kind == XFIB_NH_GROUP_L3 || nh.kind == XFIB_NH_GROUP_L4;
	unsigned int room = group && nh.count <= XFIB_GROUP_MAX ? nh.count : XFIB_GROUP_MAX;
	struct leaf *l = calloc(1, sizeof(*l) + (group ? room : 1) * sizeof(l->hop[0]));

	if (!l)
		return -ENOMEM;
	if (group) {
		l->kind = nh.kind;
		read_group(gen, nh, l);
	} else {
		l->hop[0] = read_hop(gen, nh);
		l->hops = 1;
		l->kind = l->hop[0].kind;
	}
	*leaf = l;
	return 0;
}

const char *leaf_kind_name(const struct leaf *leaf)
{
	switch (leaf->kind) {
	case XFIB_NH_ADJACENCY:
		return "adjacency";
	case XFIB_NH_CONNECTED:
		return "connected";
	case XFIB_NH_GROUP_L3:
	case XFIB_NH_GROUP_L4:
		return "group";
	default:
		return verdict_name(leaf->hop[0].verdict);
	}
}

const char *hop_text(const struct hop *hop, char buf[static HOP_STRLEN])
{
	char via[ADDR_STRLEN];

	if (hop->kind == XFIB_NH_VERDICT)
		snprintf(buf, HOP_STRLEN, "%s", verdict_name(hop->verdict));
	else if (hop->has_via)
		snprintf(buf, HOP_STRLEN, "via %s dev %s",
			 addr_format(hop->via_family, hop->via, via), ifname_of(hop->ifindex));
	else
		snprintf(buf, HOP_STRLEN, "dev %s", ifname_of(hop->ifindex));
	return buf;
}

int neigh_find(const struct generation *gen, enum family f, struct addr a, int ifindex,
	       unsigned int *slot)
{
	struct xfib_neigh4_key k4 = { .ifindex = ifindex };
	struct xfib_neigh6_key k6 = { .ifindex = ifindex };
	const struct xfib_neigh *n;
	__u32 value;
	int r;

	addr_to_bytes(f, a, f == IP4 ? (void *)&k4.addr : (void *)k6.addr);
	r = bpf_map_lookup_elem(gen->fd[f == IP4 ? XFIB_MAP_neigh4 : XFIB_MAP_neigh6],
				f == IP4 ? (void *)&k4 : (void *)&k6, &value);
	if (r)
		return r;
	n = &gen->neighs[value % XFIB_NEIGHS];
	if ((int)n->ifindex != ifindex || !addr_equal(addr_from_bytes(f, n->addr), a))
		return -ENOENT;
	*slot = value % XFIB_NEIGHS;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a leaf id to an adjacency: next hop word, bucket of a group, neighbour, egress interface; and
 * whether that interface admits the packet. Each word is loaded exactly once (see the publication
 * rule in abi.h), so a change in the tables is seen whole or not at all.
 */
#pragma once

#include <linux/in.h>

#include "parse.h"

#define load_word(p) (*(const volatile __u64 *)(p))

/* Where a frame goes. lladdr was loaded at once; egress is a slot that outlives this program. */
struct adjacency {
	struct xfib_lladdr lladdr;
	const struct xfib_l3if *egress;
	__u32 mtu;  /* of the route; 0xffff: none */
	__u32 leaf; /* the id that led here, for the twin */
};

static __always_inline struct xfib_nexthop nexthop_load(const struct xfib_nexthop *word)
{
	union {
		__u64 word;
		struct xfib_nexthop nexthop;
	} u = { .word = load_word(word) };

	return u.nexthop;
}

/* The next hop of a leaf; leaf 0 is the default route of (fib, family). */
static __always_inline struct xfib_nexthop nexthop_of_leaf(__u32 leaf, __u32 fib, __u32 ip6)
{
	__u32 id = leaf ? leaf : XFIB_NH_DEFAULT(fib, ip6);

	return nexthop_load(&nexthops[id & (XFIB_NEXTHOPS - 1)]);
}

static __always_inline bool nexthop_is_group(const struct xfib_nexthop *nh)
{
	return nh->kind == XFIB_NH_GROUP_L3 || nh->kind == XFIB_NH_GROUP_L4;
}

/* One step of a multiply-and-fold hash; both words of a product depend on all bits of its factors. */
static __always_inline __u64 hash_step(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* Only these have two 16-bit ports in their first four bytes. */
static __always_inline bool has_ports(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
	       protocol == IPPROTO_DCCP || protocol == IPPROTO_UDPLITE;
}

static __always_inline __u64 hash_ports(const struct frame *f, const void *l4, __u8 protocol, __u64 hash)
{
	const __be32 *ports = l4;

	if (has_ports(protocol) && (const void *)(ports + 1) <= f->end)
		hash = hash_step(hash, (__u64)protocol << 32 | *ports);
	return hash;
}

/*
 * Addresses only, or with protocol and ports, as fib_multipath_hash() does under policy 0 and 1. A
 * fragment hashes on addresses, so that all fragments of a datagram stay together.
 */
static __always_inline __u32 hash_ip4(const struct frame *f, __u32 kind)
{
	const struct iphdr *ip = f->l3;
	__u64 hash = hash_step(cfg.hash_seed, (__u64)ip->saddr << 32 | ip->daddr);

	if (kind == XFIB_NH_GROUP_L4 && !(ip->frag_off & bpf_htons(0x3fff)))
		hash = hash_ports(f, ip + 1, ip->protocol, hash);
	return hash_step(hash, 0) >> 32;
}

/* As hash_ip4(), but policy 0 also takes the flow label (RFC 6438). Extension headers hide the ports. */
static __always_inline __u32 hash_ip6(const struct frame *f, __u32 kind)
{
	const struct ipv6hdr *ip = f->l3;
	const __be32 *s = ip->saddr.in6_u.u6_addr32, *d = ip->daddr.in6_u.u6_addr32;
	__u64 hash = hash_step(cfg.hash_seed, (__u64)s[0] << 32 | s[1]);

	hash = hash_step(hash, (__u64)s[2] << 32 | s[3]);
	hash = hash_step(hash, (__u64)d[0] << 32 | d[1]);
	hash = hash_step(hash, (__u64)d[2] << 32 | d[3]);
	if (kind == XFIB_NH_GROUP_L4)
		hash = hash_ports(f, ip + 1, ip->nexthdr, hash);
	else
		hash = hash_step(hash, *(const __be32 *)ip & bpf_htonl(0xfffff));
	return hash_step(hash, 0) >> 32;
}

/* The bucket of a hash: buckets share the hash space equally, a leg has as many as its weight. */
static __always_inline struct xfib_nexthop group_member(const struct xfib_nexthop *group, __u32 hash)
{
	__u32 bucket = group->arg + (__u32)((__u64)hash * group->count >> 32);

	return nexthop_load(&members[bucket & (XFIB_MEMBERS - 1)]);
}

/* The l3if in the tag is 0 if the neighbour is not valid. */
static __always_inline struct xfib_lladdr lladdr_load(__u32 slot)
{
	union {
		__u64 word;
		struct xfib_lladdr lladdr;
	} u = { .word = load_word(&neighs[slot & (XFIB_NEIGHS - 1)].lladdr) };

	return u.lladdr;
}

/* The neighbour of a slot as the next hop of this packet. */
static __always_inline enum xfib_verdict neigh_load(__u32 slot, struct adjacency *adj)
{
	const volatile __u32 *hit;
	__u32 now;

	slot &= XFIB_NEIGHS - 1;
	adj->lladdr = lladdr_load(slot);
	adj->egress = &l3ifs[adj->lladdr.tag & XFIB_NEIGH_L3IF];
	if (!(adj->lladdr.tag & XFIB_NEIGH_L3IF))
		return XFIB_PUNT_NO_NEIGHBOUR;
	if (adj->lladdr.tag & XFIB_NEIGH_WATCH) {
		/* The only shared write: once in 2^8 jiffies and entry, while the kernel calls it STALE. */
		hit = &hits[slot];
		now = bpf_jiffies64() >> XFIB_HIT_SHIFT;
		if (*hit != now)
			hits[slot] = now;
	}
	return XFIB_FORWARDED;
}

static __always_inline enum xfib_verdict neigh4_find(__be32 addr, __u32 ifindex, struct adjacency *adj)
{
	struct xfib_neigh4_key key = { .addr = addr, .ifindex = ifindex };
	const __u32 *slot = bpf_map_lookup_elem(&neigh4, &key);
	const struct xfib_neigh *n;
	__u32 i;

	if (!slot)
		return XFIB_PUNT_NO_NEIGHBOUR;
	i = *(const volatile __u32 *)slot & (XFIB_NEIGHS - 1);
	n = &neighs[i];
	if (n->addr[0] != addr || n->ifindex != ifindex || n->ip6)
		return XFIB_PUNT_RACE;
	return neigh_load(i, adj);
}

static __always_inline enum xfib_verdict neigh6_find(const __be32 *addr, __u32 ifindex, struct adjacency *adj)
{
	struct xfib_neigh6_key key = {
		.addr = { addr[0], addr[1], addr[2], addr[3] },
		.ifindex = ifindex,
	};
	const __u32 *slot = bpf_map_lookup_elem(&neigh6, &key);
	const struct xfib_neigh *n;
	__u32 i;

	if (!slot)
		return XFIB_PUNT_NO_NEIGHBOUR;
	i = *(const volatile __u32 *)slot & (XFIB_NEIGHS - 1);
	n = &neighs[i];
	if (n->addr[0] != addr[0] || n->addr[1] != addr[1] || n->addr[2] != addr[2] ||
	    n->addr[3] != addr[3] || n->ifindex != ifindex || !n->ip6)
		return XFIB_PUNT_RACE;
	return neigh_load(i, adj);
}

/*
 * Whether the egress takes the packet. mtu: of the egress for this family. The kernel answers an
 * oversized packet with ICMP, and one that turns back with a redirect.
 */
static __always_inline enum xfib_verdict admit(const struct frame *f, const struct adjacency *adj,
					       __u32 mtu, bool hairpin)
{
	if (!(adj->egress->flags & XFIB_L3IF_EGRESS))
		return XFIB_PUNT_EGRESS_DOWN;
	if (f->l3_len > mtu || f->l3_len > adj->mtu)
		return XFIB_PUNT_MTU;
	if (adj->egress->ifindex == f->in->ifindex && !hairpin)
		return XFIB_PUNT_SAME_PORT;
	if (f->multi && !(adj->egress->flags & XFIB_L3IF_SG))
		return XFIB_PUNT_FRAGS;
	return XFIB_FORWARDED;
}

/*
 * A verdict that stands in a next hop: any but FORWARDED, which an empty word would read as. The kind
 * is looked at too, so that the first bucket of a group in a group is not taken for a verdict.
 */
static __always_inline enum xfib_verdict nexthop_verdict(const struct xfib_nexthop *nh)
{
	if (nh->kind != XFIB_NH_VERDICT || nh->arg == XFIB_FORWARDED || nh->arg >= XFIB_VERDICT_MAX)
		return XFIB_PUNT_RACE;
	return nh->arg;
}

/*
 * Whether the source passes rp_filter: its own route is unicast and, in strict mode, leads out of
 * the ingress interface. A group or an unresolved gateway does not tell the device: PASS.
 */
static __always_inline bool reverse_path_ok(const struct frame *f, __be32 src)
{
	struct xfib_nexthop nh = nexthop_of_leaf(fib4_lookup(f->in->fib, src), f->in->fib, 0);

	if (nh.kind == XFIB_NH_VERDICT)
		return false;
	if (!(f->in->flags & XFIB_L3IF_RPF_STRICT))
		return true;
	if (nh.kind == XFIB_NH_CONNECTED)
		return nh.arg == f->in->ifindex;
	/* Slot 0 of l3ifs, where an unresolved gateway is, has no ifindex. */
	return nh.kind == XFIB_NH_ADJACENCY &&
	       l3ifs[lladdr_load(nh.arg).tag & XFIB_NEIGH_L3IF].ifindex == f->in->ifindex;
}

/*
 * The kernel drops a packet whose source is its own address, whatever rp_filter says
 * (fib_validate_source()). The filter has no false negatives; the FIB tells for sure: an own address
 * is a verdict there, PUNT_LOCAL or, in a full table, the marker of a shorter prefix.
 */
static __always_inline bool is_own_ip4(const struct frame *f, __be32 addr)
{
	__u32 bit = xfib_own4_bit(addr);

	if (!(own4[bit >> 6 & (XFIB_OWN_BITS / 64 - 1)] >> (bit & 63) & 1))
		return false;
	return nexthop_of_leaf(fib4_lookup(f->in->fib, addr), f->in->fib, 0).kind ==
	       XFIB_NH_VERDICT;
}

static __always_inline enum xfib_verdict resolve_ip4(const struct frame *f, struct adjacency *adj)
{
	const struct iphdr *ip = f->l3;
	enum xfib_verdict verdict;
	struct xfib_nexthop nh;

	if (is_own_ip4(f, ip->saddr))
		return XFIB_PUNT_IP4_OWN_SOURCE;
	if (f->in->flags & (XFIB_L3IF_RPF_LOOSE | XFIB_L3IF_RPF_STRICT) && !reverse_path_ok(f, ip->saddr))
		return XFIB_PUNT_IP4_REVERSE_PATH;
	adj->leaf = fib4_lookup(f->in->fib, ip->daddr);
	nh = nexthop_of_leaf(adj->leaf, f->in->fib, 0);
	if (nexthop_is_group(&nh))
		nh = group_member(&nh, hash_ip4(f, nh.kind));
	adj->mtu = nh.mtu;
	if (nh.kind == XFIB_NH_ADJACENCY)
		verdict = neigh_load(nh.arg, adj);
	else if (nh.kind == XFIB_NH_CONNECTED)
		verdict = neigh4_find(ip->daddr, nh.arg, adj);
	else
		return nexthop_verdict(&nh);
	if (verdict != XFIB_FORWARDED)
		return verdict;
	return admit(f, adj, adj->egress->mtu4, f->in->flags & XFIB_L3IF_HAIRPIN);
}

static __always_inline enum xfib_verdict resolve_ip6(const struct frame *f, struct adjacency *adj)
{
	const struct ipv6hdr *ip = f->l3;
	const __be32 *dst = ip->daddr.in6_u.u6_addr32;
	enum xfib_verdict verdict;
	struct xfib_nexthop nh;

	adj->leaf = fib6_lookup(f->in->fib, dst);
	nh = nexthop_of_leaf(adj->leaf, f->in->fib, 1);
	if (nexthop_is_group(&nh))
		nh = group_member(&nh, hash_ip6(f, nh.kind));
	adj->mtu = nh.mtu;
	if (nh.kind == XFIB_NH_ADJACENCY)
		verdict = neigh_load(nh.arg, adj);
	else if (nh.kind == XFIB_NH_CONNECTED)
		verdict = neigh6_find(dst, nh.arg, adj);
	else
		return nexthop_verdict(&nh);
	if (verdict != XFIB_FORWARDED)
		return verdict;
	/* ip6_forward() sends a redirect whenever a packet turns back: no sysctl stops it. */
	return admit(f, adj, adj->egress->mtu6, false);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the time goes: the product's own functions in their order, up to one of them. The time of a
 * part is that of its program less that of the one before; `part_count` is the whole product.
 */
#include "product.bpf.c"

enum part {
	PART_RESTORE,	/* nothing of the product: the benchmark's own cost */
	PART_INGRESS,	/* counters found, port record, dead man, MACs */
	PART_PARSE,	/* IP header */
	PART_SOURCE,	/* own addresses, reverse path (IPv4) */
	PART_LOOKUP,	/* destination -> leaf */
	PART_NEXTHOP,	/* leaf -> next hop */
	PART_NEIGHBOUR, /* -> adjacency */
	PART_ADMIT,	/* MTU, egress state */
	PART_REDIRECT,	/* devmap */
	PART_REWRITE,
	PART_COUNT,
};

#define UP_TO(p)                             \
	do {                                 \
		if (part == (p))             \
			return XDP_REDIRECT; \
	} while (0)

/* The compiler must not leave out what nothing after it needs. */
#define USE(x) asm volatile("" : : "r"(x) : "memory")

static __always_inline int route_ip4(struct frame *f, struct adjacency *adj, enum part part)
{
	const struct iphdr *ip = f->l3;
	struct xfib_nexthop nh;

	if (!(f->in->flags & XFIB_L3IF_IP4) || parse_ip4(f) != XFIB_FORWARDED)
		return XDP_ABORTED;
	UP_TO(PART_PARSE);
	if (is_own_ip4(f, ip->saddr) || f->in->flags & (XFIB_L3IF_RPF_LOOSE | XFIB_L3IF_RPF_STRICT))
		return XDP_ABORTED;
	UP_TO(PART_SOURCE);
	adj->leaf = fib4_lookup(f->in->fib, ip->daddr);
	USE(adj->leaf);
	UP_TO(PART_LOOKUP);
	nh = nexthop_of_leaf(adj->leaf, f->in->fib, 0);
	if (nexthop_is_group(&nh) || nh.kind != XFIB_NH_ADJACENCY)
		return XDP_ABORTED;
	adj->mtu = nh.mtu;
	USE(nh.arg);
	UP_TO(PART_NEXTHOP);
	if (neigh_load(nh.arg, adj) != XFIB_FORWARDED)
		return XDP_ABORTED;
	UP_TO(PART_NEIGHBOUR);
	if (admit(f, adj, adj->egress->mtu4, f->in->flags & XFIB_L3IF_HAIRPIN) != XFIB_FORWARDED)
		return XDP_ABORTED;
	UP_TO(PART_ADMIT);
	if (redirect(adj) != XFIB_FORWARDED)
		return XDP_ABORTED;
	UP_TO(PART_REDIRECT);
	rewrite_ip4(f);
	return XDP_REDIRECT;
}

static __always_inline int route_ip6(struct frame *f, struct adjacency *adj, enum part part)
{
	const struct ipv6hdr *ip = f->l3;
	struct xfib_nexthop nh;

	if (!(f->in->flags & XFIB_L3IF_IP6) || parse_ip6(f) != XFIB_FORWARDED)
		return XDP_ABORTED;
	UP_TO(PART_PARSE);
	UP_TO(PART_SOURCE);
	adj->leaf = fib6_lookup(f->in->fib, ip->daddr.in6_u.u6_addr32);
	USE(adj->leaf);
	UP_TO(PART_LOOKUP);
	nh = nexthop_of_leaf(adj->leaf, f->in->fib, 1);
	if (nexthop_is_group(&nh) || nh.kind != XFIB_NH_ADJACENCY)
		return XDP_ABORTED;
	adj->mtu = nh.mtu;
	USE(nh.arg);
	UP_TO(PART_NEXTHOP);
	if (neigh_load(nh.arg, adj) != XFIB_FORWARDED)
		return XDP_ABORTED;
	UP_TO(PART_NEIGHBOUR);
	if (admit(f, adj, adj->egress->mtu6, false) != XFIB_FORWARDED)
		return XDP_ABORTED;
	UP_TO(PART_ADMIT);
	if (redirect(adj) != XFIB_FORWARDED)
		return XDP_ABORTED;
	UP_TO(PART_REDIRECT);
	rewrite_ip6(f);
	return XDP_REDIRECT;
}

static __always_inline int up_to(struct xdp_md *ctx, enum part part)
{
	struct adjacency adj = { .egress = &l3ifs[0] };
	struct xfib_counters *c;
	__u32 slot = cfg.slot;
	struct frame f;
	int action;

	if (!restore(ctx))
		return XDP_ABORTED;
	UP_TO(PART_RESTORE);
	c = bpf_map_lookup_elem(&counters, &slot);
	f = (struct frame){ .eth = (void *)(long)ctx->data, .end = (void *)(long)ctx->data_end };
	f.len = f.end - (void *)f.eth;
	f.l3 = f.eth + 1;
	if (!c || f.l3 > f.end)
		return XDP_ABORTED;
	count_queue(c, ctx->rx_queue_index);
	if (ingress(ctx, &f) != XFIB_FORWARDED)
		return XDP_ABORTED;
	UP_TO(PART_INGRESS);
	action = f.eth->h_proto == bpf_htons(ETH_P_IP) ? route_ip4(&f, &adj, part)
						       : route_ip6(&f, &adj, part);
	if (action != XDP_REDIRECT || part < PART_REWRITE)
		return action;
	rewrite_ethernet(&f, &adj);
	UP_TO(PART_REWRITE);
	count_verdict(c, XFIB_FORWARDED, f.len);
	count_tx(c, adj.egress->port, f.len);
	return XDP_REDIRECT;
}

#define PART(name, part)                 \
	SEC("xdp.frags")                 \
	int name(struct xdp_md *ctx)     \
	{                                \
		return up_to(ctx, part); \
	}

PART(part_restore, PART_RESTORE)
PART(part_ingress, PART_INGRESS)
PART(part_parse, PART_PARSE)
PART(part_source, PART_SOURCE)
PART(part_lookup, PART_LOOKUP)
PART(part_nexthop, PART_NEXTHOP)
PART(part_neighbour, PART_NEIGHBOUR)
PART(part_admit, PART_ADMIT)
PART(part_redirect, PART_REDIRECT)
PART(part_rewrite, PART_REWRITE)
PART(part_count, PART_COUNT)

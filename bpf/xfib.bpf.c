// SPDX-License-Identifier: GPL-2.0-only
/*
 * The forwarding path: one program per port (its slot is rodata), all on the same tables.
 *
 *   port record -> MAC -> parse -> route -> next hop -> neighbour -> admit -> redirect -> rewrite
 *
 * Invariant: everything is decided before the first write, so a frame either leaves as the kernel
 * would have sent it or reaches the kernel untouched. No lock, and no write to memory that another
 * CPU reads but the hit mark of a stale neighbour (nexthop.h).
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "config.h"
#include "fib4.h"
#include "fib6.h"
#include "nexthop.h"
#include "rewrite.h"
#include "count.h"

/* The port's word, and the interface that an untagged frame came in on. */
static __always_inline enum xfib_verdict ingress(struct xdp_md *ctx, struct frame *f)
{
	union {
		__u64 word;
		struct xfib_port port;
	} u = { .word = load_word(&ports[cfg.slot & (XFIB_PORTS - 1)]) };

	f->in = &l3ifs[u.port.l3if & (XFIB_L3IFS - 1)];
	if (!(u.port.flags & XFIB_PORT_ENABLED))
		return XFIB_PUNT_DISABLED;
	if (!cfg.twin && u.port.ifindex != ctx->ingress_ifindex)
		return XFIB_PUNT_FOREIGN_DEVICE;
	if ((__s64)(load_word(&ctl.deadline) - bpf_jiffies64()) <= 0)
		return XFIB_PUNT_DEADMAN;
	if (u.port.flags & XFIB_PORT_FRAGS) {
		__u32 len = bpf_xdp_get_buff_len(ctx);

		f->multi = len != f->len;
		f->len = len;
	}
	return parse_ethernet(f);
}

static __always_inline enum xfib_verdict decide_ip4(struct frame *f, struct adjacency *adj)
{
	enum xfib_verdict verdict;

	if (!(f->in->flags & XFIB_L3IF_IP4))
		return XFIB_PUNT_IP4_DISABLED;
	verdict = parse_ip4(f);
	return verdict == XFIB_FORWARDED ? resolve_ip4(f, adj) : verdict;
}

static __always_inline enum xfib_verdict decide_ip6(struct frame *f, struct adjacency *adj)
{
	enum xfib_verdict verdict;

	if (!(f->in->flags & XFIB_L3IF_IP6))
		return XFIB_PUNT_IP6_DISABLED;
	verdict = parse_ip6(f);
	return verdict == XFIB_FORWARDED ? resolve_ip6(f, adj) : verdict;
}

static __always_inline bool is_vlan(__be16 ethertype)
{
	return ethertype == bpf_htons(ETH_P_8021Q) || ethertype == bpf_htons(ETH_P_8021AD) ||
	       ethertype == bpf_htons(ETH_P_QINQ1);
}

/*
 * The last decision: the devmap takes the frame. It may be ahead of the tables, because the kernel
 * removes the entry of a device that is gone.
 */
static __always_inline enum xfib_verdict redirect(const struct adjacency *adj)
{
	if (bpf_redirect_map(&tx, adj->egress->port, XDP_PASS) != XDP_REDIRECT)
		return XFIB_PUNT_EGRESS_DOWN;
	return XFIB_FORWARDED;
}

static __always_inline int leave(int action, enum xfib_verdict verdict, const struct adjacency *adj)
{
	return cfg.twin ? XFIB_TWIN_RESULT(action, verdict, adj->leaf) : action;
}

SEC("xdp.frags")
int xfib(struct xdp_md *ctx)
{
	struct frame f = {
		.eth = (void *)(long)ctx->data,
		.end = (void *)(long)ctx->data_end,
	};
	__u32 slot = cfg.slot;
	struct xfib_counters *c = bpf_map_lookup_elem(&counters, &slot);
	/* Slot 0 is never used: a pointer on the paths that old verifiers cannot rule out. */
	struct adjacency adj = { .egress = &l3ifs[0] };
	enum xfib_verdict verdict;
	__be16 ethertype;

	if (!c)
		return XDP_PASS;
	f.len = f.end - (void *)f.eth;
	f.l3 = f.eth + 1;
	count_queue(c, ctx->rx_queue_index);
	if (f.l3 > f.end) {
		count_verdict(c, XFIB_PUNT_SHORT, f.len);
		return leave(XDP_PASS, XFIB_PUNT_SHORT, &adj);
	}

	verdict = ingress(ctx, &f);
	if (verdict != XFIB_FORWARDED)
		goto punt;

	ethertype = f.eth->h_proto;
	if (ethertype == bpf_htons(ETH_P_IP)) {
		verdict = decide_ip4(&f, &adj);
		if (verdict == XFIB_FORWARDED)
			verdict = redirect(&adj);
		if (verdict != XFIB_FORWARDED)
			goto punt;
		rewrite_ip4(&f);
	} else if (ethertype == bpf_htons(ETH_P_IPV6)) {
		verdict = decide_ip6(&f, &adj);
		if (verdict == XFIB_FORWARDED)
			verdict = redirect(&adj);
		if (verdict != XFIB_FORWARDED)
			goto punt;
		rewrite_ip6(&f);
	} else {
		verdict = is_vlan(ethertype) ? XFIB_PUNT_VLAN : XFIB_PUNT_ETHERTYPE;
		goto punt;
	}

	rewrite_ethernet(&f, &adj);
	count_verdict(c, XFIB_FORWARDED, f.len);
	count_tx(c, adj.egress->port, f.len);
	return leave(XDP_REDIRECT, XFIB_FORWARDED, &adj);

punt:
	count_verdict(c, verdict, f.len);
	return leave(verdict == XFIB_DROP_BLACKHOLE ? XDP_DROP : XDP_PASS, verdict, &adj);
}

char LICENSE[] SEC("license") = "GPL";

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A forwarder by the kernel's own lookup helper, which is what xdp-forward of xdp-tools does. */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define AF_INET	 2
#define AF_INET6 10

#define FIB_IFINDEX_MAX 65536

/* Where to: by ifindex. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, FIB_IFINDEX_MAX);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

static __always_inline int forward(struct xdp_md *ctx, struct bpf_fib_lookup *fib)
{
	fib->ifindex = ctx->ingress_ifindex;
	if (bpf_fib_lookup(ctx, fib, sizeof(*fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return XDP_PASS;
	if (!bpf_map_lookup_elem(&ports, &fib->ifindex))
		return XDP_PASS;
	return XDP_REDIRECT;
}

static __always_inline int leave_by(struct ethhdr *eth, const struct bpf_fib_lookup *fib)
{
	__builtin_memcpy(eth->h_dest, fib->dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, fib->smac, ETH_ALEN);
	return bpf_redirect_map(&ports, fib->ifindex, 0);
}

static __always_inline int fib_ip4(struct xdp_md *ctx, struct ethhdr *eth, void *end)
{
	struct bpf_fib_lookup fib = { .family = AF_INET };
	struct iphdr *ip = (void *)(eth + 1);
	__u32 check;

	if ((void *)(ip + 1) > end || ip->ttl <= 1)
		return XDP_PASS;
	fib.tos = ip->tos;
	fib.l4_protocol = ip->protocol;
	fib.tot_len = bpf_ntohs(ip->tot_len);
	fib.ipv4_src = ip->saddr;
	fib.ipv4_dst = ip->daddr;
	if (forward(ctx, &fib) != XDP_REDIRECT)
		return XDP_PASS;
	check = ip->check + bpf_htons(0x0100);
	ip->check = check + (check >= 0xffff);
	ip->ttl--;
	return leave_by(eth, &fib);
}

static __always_inline int fib_ip6(struct xdp_md *ctx, struct ethhdr *eth, void *end)
{
	struct bpf_fib_lookup fib = { .family = AF_INET6 };
	struct ipv6hdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > end || ip->hop_limit <= 1)
		return XDP_PASS;
	fib.flowinfo = *(__be32 *)ip & bpf_htonl(0x0fffffff);
	fib.l4_protocol = ip->nexthdr;
	fib.tot_len = bpf_ntohs(ip->payload_len) + sizeof(*ip);
	__builtin_memcpy(fib.ipv6_src, &ip->saddr, 16);
	__builtin_memcpy(fib.ipv6_dst, &ip->daddr, 16);
	if (forward(ctx, &fib) != XDP_REDIRECT)
		return XDP_PASS;
	ip->hop_limit--;
	return leave_by(eth, &fib);
}

static __always_inline int fib_forward(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return fib_ip4(ctx, eth, end);
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		return fib_ip6(ctx, eth, end);
	return XDP_PASS;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs around a forwarder under test: `generate` makes packets and sends them into a wire,
 * `sink` counts and drops what arrives at the other end. And the programs to compare with: `pass`
 * hands everything to the kernel, `fib` forwards with the kernel's own lookup helper (fib.h), `wire` forwards without any lookup: no forwarder can be faster.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "fib.h"
#include "traffic.h"

/* ports (fib.h): where the programs send to; the first element for generate and wire, by ifindex for fib. */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TRAFFIC_HEADERS);
	__type(key, __u32);
	__type(value, struct traffic_header);
} headers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct traffic_count);
} count SEC(".maps");

/* The MACs that `wire` writes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct traffic_macs);
} macs SEC(".maps");

/* Live frames are recycled as the receiver left them, so all that matters is written anew. */
SEC("xdp")
int generate(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const struct traffic_header *header;
	struct traffic_count *c;
	__u32 key = 0;

	c = bpf_map_lookup_elem(&count, &key);
	if (!c || data + sizeof(*header) > end)
		return XDP_ABORTED;
	key = c->packets++ & (TRAFFIC_HEADERS - 1);
	header = bpf_map_lookup_elem(&headers, &key);
	if (!header)
		return XDP_ABORTED;
	__builtin_memcpy(data, header, sizeof(*header));
	return bpf_redirect_map(&ports, 0, 0);
}

/* Neither what the router itself says to groups nor neighbour discovery counts. */
static __always_inline bool is_udp(const struct ethhdr *eth, const void *end)
{
	const struct ipv6hdr *ip6 = (void *)(eth + 1);
	const struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > end)
		return false;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return ip->protocol == IPPROTO_UDP;
	return eth->h_proto == bpf_htons(ETH_P_IPV6) && ip6->nexthdr == IPPROTO_UDP;
}

SEC("xdp")
int sink(struct xdp_md *ctx)
{
	struct traffic_count *c;
	__u32 key = 0;

	c = bpf_map_lookup_elem(&count, &key);
	if (!c || !is_udp((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		return XDP_PASS;
	c->packets++;
	return XDP_DROP;
}

SEC("xdp")
int pass(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_PASS;
}

SEC("xdp")
int wire(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	const struct traffic_macs *m;
	__u32 key = 0;

	m = bpf_map_lookup_elem(&macs, &key);
	if (!m || (void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IP) && eth->h_proto != bpf_htons(ETH_P_IPV6))
		return XDP_PASS;
	__builtin_memcpy(eth, m, sizeof(*m));
	return bpf_redirect_map(&ports, 0, 0);
}

SEC("xdp")
int fib(struct xdp_md *ctx)
{
	return fib_forward(ctx);
}

char LICENSE[] SEC("license") = "GPL";

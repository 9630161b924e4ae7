// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the product is compared with, as a program of its own and behind the restoring of live frames
 * (`live_`): `fib`, the kernel's lookup helper, and `pass`, the kernel. And what is around a forwarder:
 * `generate` sends into a wire, `sink` counts at the far end, `sink_check` notes what arrived there.
 */
#include <linux/in.h>

#include "fib.h"
#include "restore.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} arrived SEC(".maps");

struct lookup_seen seen[LOOKUP_DESTINATIONS] SEC(".bss.seen");

SEC("xdp")
int fib(struct xdp_md *ctx)
{
	return fib_forward(ctx);
}

SEC("xdp")
int live_fib(struct xdp_md *ctx)
{
	return restore(ctx) ? fib_forward(ctx) : XDP_ABORTED;
}

SEC("xdp")
int pass(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_PASS;
}

SEC("xdp")
int live_pass(struct xdp_md *ctx)
{
	return restore(ctx) ? XDP_PASS : XDP_ABORTED;
}

/* The generator's devmap entry 0 is its wire. */
SEC("xdp")
int generate(struct xdp_md *ctx)
{
	return restore(ctx) ? bpf_redirect_map(&ports, 0, 0) : XDP_ABORTED;
}

/* The UDP header of a frame of ours, NULL for what routers say by themselves. */
static __always_inline const __u16 *udp_of(struct xdp_md *ctx)
{
	const void *data = (void *)(long)ctx->data;
	__be16 ethertype;
	const __u16 *udp;

	if (data + LOOKUP_FRAME > (void *)(long)ctx->data_end)
		return NULL;
	ethertype = *(const __be16 *)(data + 12);
	if (ethertype == bpf_htons(ETH_P_IP) && *(const __u8 *)(data + 23) == IPPROTO_UDP)
		udp = data + 34;
	else if (ethertype == bpf_htons(ETH_P_IPV6) && *(const __u8 *)(data + 20) == IPPROTO_UDP)
		udp = data + 54;
	else
		return NULL;
	return udp[1] == bpf_htons(LOOKUP_PORT) ? udp : NULL;
}

static __always_inline int arrive(void)
{
	__u32 key = 0;
	__u64 *packets = bpf_map_lookup_elem(&arrived, &key);

	if (packets)
		++*packets;
	return XDP_DROP;
}

SEC("xdp")
int sink(struct xdp_md *ctx)
{
	return udp_of(ctx) ? arrive() : XDP_PASS;
}

SEC("xdp")
int sink_check(struct xdp_md *ctx)
{
	const __u16 *udp = udp_of(ctx);
	struct lookup_seen *place;

	if (!udp)
		return XDP_PASS;
	place = &seen[*udp & (LOOKUP_DESTINATIONS - 1)];
	place->packets++;
	place->gateway = *(const __u8 *)((void *)(long)ctx->data + 5);
	return arrive();
}

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0-only
/* Somebody else's XDP program: for the far ends of veth pairs, and to share an interface with xfib. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int pass(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";

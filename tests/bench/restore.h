/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Live frames are recycled as the receiver left them. This writes anew what a forwarder changed, with
 * the next destination of this CPU's list: all that a path is given beyond its own code, and all paths
 * are given the same.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "lookup.h"

/* Every CPU runs a copy of the program that has a list of its own. */
struct lookup_list list SEC(".bss.list");
const volatile struct lookup_config lookup SEC(".rodata.lookup") = {};

/*
 * Plain stores of the width with which parse.h loads: a load that spans two stores would wait for both,
 * which no frame from a wire does.
 */
#define PUT(type, offset, value) (*(type *)(data + (offset)) = (value))

static __always_inline bool restore(const struct xdp_md *ctx)
{
	const volatile __u8 *macs = lookup.macs;
	void *data = (void *)(long)ctx->data;
	__u32 i = list.next++ & list.mask & (LOOKUP_DESTINATIONS - 1);

	if (data + LOOKUP_FRAME > (void *)(long)ctx->data_end)
		return false;
	PUT(__u32, 0, *(const volatile __u32 *)macs);
	PUT(__u16, 4, *(const volatile __u16 *)(macs + 4));
	PUT(__u32, 6, *(const volatile __u32 *)(macs + 6));
	PUT(__u16, 10, *(const volatile __u16 *)(macs + 10));
	if (*(__be16 *)(data + 12) == bpf_htons(ETH_P_IP)) {
		PUT(__u32, 22, list.ip4[i].word);
		PUT(__be32, 30, list.ip4[i].addr);
		PUT(__u16, 34, i);
	} else {
		PUT(__u8, 21, 64);
		PUT(__u64, 38, list.ip6[i].addr[0]);
		PUT(__u64, 46, list.ip6[i].addr[1]);
		PUT(__u16, 54, i);
	}
	return true;
}

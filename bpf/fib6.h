/* SPDX-License-Identifier: GPL-2.0-only */
/* IPv6 route lookup: see fib4.h. */
#pragma once

#include "maps.h"

/* addr: four words in network order. Returns a leaf id, 0 as in fib4_lookup(). */
static __always_inline __u32 fib6_lookup(__u32 fib, const __be32 *addr)
{
	struct xfib_lpm6 key = {
		.prefixlen = XFIB_LPM_FIB_BITS + 128,
		.fib = fib,
		.addr = { addr[0], addr[1], addr[2], addr[3] },
	};
	const __u32 *value = bpf_map_lookup_elem(&lpm6, &key);

	return value ? XFIB_LEAF(*value) : 0;
}

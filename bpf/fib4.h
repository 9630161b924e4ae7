/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IPv4 route lookup: (fib, destination) -> leaf id. The only place that knows how an IPv4 FIB is
 * laid out in memory; its writer is userspace/fib/.
 */
#pragma once

#include "maps.h"

/* Returns a leaf id; 0 where no prefix longer than the default route covers the address. */
static __always_inline __u32 fib4_lookup(__u32 fib, __be32 addr)
{
	struct xfib_lpm4 key = { .prefixlen = XFIB_LPM_FIB_BITS + 32, .fib = fib, .addr = addr };
	const __u32 *value = bpf_map_lookup_elem(&lpm4, &key);

	return value ? XFIB_LEAF(*value) : 0;
}

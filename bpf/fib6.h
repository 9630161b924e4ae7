/* SPDX-License-Identifier: GPL-2.0-only */
/* IPv6 route lookup: see fib4.h. */
#pragma once

#include "trie.h"

enum { FIB6_STEPS = 5 };

/* addr: four words in network order. */
static __always_inline __u32 fib6_trie(__u32 fib, const __be32 *addr)
{
	const struct trie_key key = {
		(__u64)bpf_ntohl(addr[0]) << 32 | bpf_ntohl(addr[1]),
		(__u64)bpf_ntohl(addr[2]) << 32 | bpf_ntohl(addr[3]),
	};

	return trie_lookup(fib, 1, key, FIB6_STEPS);
}

static __always_inline __u32 fib6_lpm(__u32 fib, const __be32 *addr)
{
	struct xfib_lpm6 key = {
		.prefixlen = XFIB_LPM_FIB_BITS + 128,
		.fib = fib,
		.addr = { addr[0], addr[1], addr[2], addr[3] },
	};
	const __u32 *value = bpf_map_lookup_elem(&lpm6, &key);

	return value ? XFIB_LEAF(*value) : 0;
}

/* Returns a leaf id, 0 as in fib4_lookup(). */
static __always_inline __u32 fib6_lookup(__u32 fib, const __be32 *addr)
{
	return cfg.trie_mask[1] ? fib6_trie(fib, addr) : fib6_lpm(fib, addr);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor: the product's own source without route, next hop and neighbour; every packet leaves by one
 * adjacency. No lookup can be faster.
 */
#define resolve_ip4 product_resolve_ip4
#define resolve_ip6 product_resolve_ip6
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include "bpf/config.h"
#include "bpf/fib4.h"
#include "bpf/fib6.h"
#include "bpf/nexthop.h"
#undef resolve_ip4
#undef resolve_ip6

#include "restore.h"

static __always_inline enum xfib_verdict resolve(struct adjacency *adj)
{
	__builtin_memcpy(&adj->lladdr, (const void *)lookup.mac, sizeof(adj->lladdr));
	adj->egress = &l3ifs[lookup.egress & (XFIB_L3IFS - 1)];
	return XFIB_FORWARDED;
}

#define resolve_ip4(f, adj) resolve(adj)
#define resolve_ip6(f, adj) resolve(adj)
#include "product.bpf.c"

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only code that writes to a frame. It runs after every decision is made: from the first write
 * on, the frame goes to the egress port.
 */
#pragma once

#include "nexthop.h"

static __always_inline void rewrite_ethernet(const struct frame *f, const struct adjacency *adj)
{
	__builtin_memcpy(f->eth->h_dest, adj->lladdr.mac, ETH_ALEN);
	__builtin_memcpy(f->eth->h_source, adj->egress->mac, ETH_ALEN);
}

/* ip_decrease_ttl(): the high byte of a header word loses one, so the checksum gains one (RFC 1624). */
static __always_inline void rewrite_ip4(const struct frame *f)
{
	struct iphdr *ip = f->l3;
	__u32 check = ip->check;

	check += bpf_htons(0x0100);
	ip->check = check + (check >= 0xffff);
	ip->ttl--;
}

static __always_inline void rewrite_ip6(const struct frame *f)
{
	struct ipv6hdr *ip = f->l3;

	ip->hop_limit--;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a frame must look like before its route matters. Every test that fails names its verdict and
 * nothing is written: the kernel sees the frame as it came. All checks are those of ip_rcv_core() and
 * ip_route_input_slow() (net/ipv4), ip6_rcv_core() and ip6_forward() (net/ipv6), or stricter.
 */
#pragma once

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>

#include "maps.h"

/* A frame and the headers found in it. Pointers are into the frame's first buffer. */
struct frame {
	struct ethhdr *eth;
	void *l3;
	void *end;
	__u32 len;    /* of the whole frame, Ethernet header included */
	__u32 multi;  /* bool: in several buffers */
	__u32 l3_len; /* IPv4 total length, IPv6 payload length + 40 */
	const struct xfib_l3if *in;
};

static __always_inline enum xfib_verdict parse_ethernet(struct frame *f)
{
	const struct ethhdr *eth = f->eth;
	const __u8 *own = f->in->mac, *d = eth->h_dest, *s = eth->h_source;
	__u32 d_hi, s_hi, own_hi;
	__u16 d_lo, s_lo, own_lo;

	/* Two loads each instead of six; memcpy because the header has no alignment. */
	__builtin_memcpy(&d_hi, d, 4);
	__builtin_memcpy(&d_lo, d + 4, 2);
	__builtin_memcpy(&s_hi, s, 4);
	__builtin_memcpy(&s_lo, s + 4, 2);
	__builtin_memcpy(&own_hi, own, 4);
	__builtin_memcpy(&own_lo, own + 4, 2);

	if (d_hi != own_hi || d_lo != own_lo)
		return d[0] & 1 ? XFIB_PUNT_GROUP_MAC : XFIB_PUNT_NOT_OUR_MAC;
	if (s[0] & 1 || !(s_hi | s_lo) || (s_hi == own_hi && s_lo == own_lo))
		return XFIB_PUNT_SOURCE_MAC;
	return XFIB_FORWARDED;
}

/*
 * Bytes behind the packet are normal up to the Ethernet minimum; more is a trailer, which the
 * kernel would cut off (pskb_trim_rcsum() in ip_rcv_core()).
 */
static __always_inline bool has_trailer(const struct frame *f)
{
	return f->len > ETH_HLEN + f->l3_len && f->len > ETH_ZLEN;
}

/* The one's complement sum over a header without options is 0xffff (RFC 1071). */
static __always_inline bool ip4_checksum_ok(const struct iphdr *ip)
{
	const __u32 *w = (const __u32 *)ip;
	__u64 sum = (__u64)w[0] + w[1] + w[2] + w[3] + w[4];

	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static __always_inline enum xfib_verdict parse_ip4(struct frame *f)
{
	const struct iphdr *ip = f->l3;
	__u32 src, dst;

	if ((void *)(ip + 1) > f->end)
		return XFIB_PUNT_SHORT;
	if (ip->version != 4 || ip->ihl < 5)
		return XFIB_PUNT_IP4_HEADER;
	if (ip->ihl > 5)
		return XFIB_PUNT_IP4_OPTIONS;
	f->l3_len = bpf_ntohs(ip->tot_len);
	if (f->l3_len < sizeof(*ip) || f->l3_len > f->len - ETH_HLEN)
		return XFIB_PUNT_IP4_HEADER;
	if (!ip4_checksum_ok(ip))
		return XFIB_PUNT_IP4_CHECKSUM;
	if (ip->ttl <= 1)
		return XFIB_PUNT_IP4_TTL;
	src = bpf_ntohl(ip->saddr);
	if (src >> 24 == 0 || src >> 24 == 127 || src >> 24 >= 224)
		return XFIB_PUNT_IP4_SOURCE;
	dst = bpf_ntohl(ip->daddr);
	if (dst >> 24 == 0 || dst >> 24 == 127 || dst >> 24 >= 224 || dst >> 16 == 0xa9fe)
		return XFIB_PUNT_IP4_DESTINATION;
	if (f->in->flags & XFIB_L3IF_DEFRAG4 && ip->frag_off & bpf_htons(0x3fff))
		return XFIB_PUNT_FRAGMENT;
	return has_trailer(f) ? XFIB_PUNT_TRAILER : XFIB_FORWARDED;
}

/* Headers that find_prev_fhdr() (nf_conntrack_reasm.c) steps over, and the one that it looks for. */
static __always_inline bool may_be_fragment(__u8 nexthdr)
{
	return nexthdr == IPPROTO_FRAGMENT || nexthdr == IPPROTO_ROUTING || nexthdr == IPPROTO_DSTOPTS ||
	       nexthdr == IPPROTO_AH;
}

/*
 * ::/96 holds the unspecified, the loopback and the IPv4-compatible addresses (RFC 4291 2.5), and
 * ::ffff:0:0/96 the mapped ones, which never belong on a wire.
 */
static __always_inline bool ip6_embeds_ip4(const __be32 *a)
{
	return !(a[0] | a[1]) && (!a[2] || a[2] == bpf_htonl(0xffff));
}

static __always_inline enum xfib_verdict parse_ip6(struct frame *f)
{
	const struct ipv6hdr *ip = f->l3;
	const __be32 *src, *dst;
	__u32 src_hi, dst_hi, payload;

	if ((void *)(ip + 1) > f->end)
		return XFIB_PUNT_SHORT;
	payload = bpf_ntohs(ip->payload_len);
	f->l3_len = payload + sizeof(*ip);
	if (ip->version != 6 || !payload || f->l3_len > f->len - ETH_HLEN)
		return XFIB_PUNT_IP6_HEADER;
	if (ip->hop_limit <= 1)
		return XFIB_PUNT_IP6_HOP_LIMIT;
	if (ip->nexthdr == 0)
		return XFIB_PUNT_IP6_HOP_BY_HOP;
	src = ip->saddr.in6_u.u6_addr32;
	src_hi = bpf_ntohl(src[0]);
	if (src_hi >> 24 == 0xff || src_hi >> 22 == 0xfe80 >> 6 || ip6_embeds_ip4(src))
		return XFIB_PUNT_IP6_SOURCE;
	dst = ip->daddr.in6_u.u6_addr32;
	dst_hi = bpf_ntohl(dst[0]);
	/* fe80::/9 is the link-local and the site-local addresses together. */
	if (dst_hi >> 24 == 0xff || dst_hi >> 23 == 0xfe80 >> 7 || ip6_embeds_ip4(dst))
		return XFIB_PUNT_IP6_DESTINATION;
	if (f->in->flags & XFIB_L3IF_DEFRAG6 && may_be_fragment(ip->nexthdr))
		return XFIB_PUNT_FRAGMENT;
	return has_trailer(f) ? XFIB_PUNT_TRAILER : XFIB_FORWARDED;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Test frames from a description. Every field of the headers stands in the description, right or
 * wrong; only lengths and checksums are computed (in full, never incrementally: they are what the
 * program's arithmetic is compared with). Nothing here knows xfib.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#define PKT_MAX 70000

/* Packed, so that a header at an odd address is no undefined behaviour. */
struct pkt_ip4 {
	struct ethhdr eth;
	struct iphdr ip;
	__be16 sport, dport;
} __attribute__((packed));

struct pkt_ip6 {
	struct ethhdr eth;
	struct ipv6hdr ip;
	__be16 sport, dport;
} __attribute__((packed));

struct pkt {
	__u32 len;
	union {
		__u8 data[PKT_MAX];
		struct ethhdr eth;
		struct pkt_ip4 v4;
		struct pkt_ip6 v6;
	};
};

#define PKT_TAGS 3

/*
 * Behind the L3 header stand the ports and a pattern, `payload` bytes together. ethertype is what the
 * frame claims; the header behind it follows from version: 4, 6, or 0 for none at all.
 */
struct pkt_spec {
	__u8 dmac[ETH_ALEN], smac[ETH_ALEN];
	struct {
		__u16 tpid, tci;
	} tags[PKT_TAGS]; /* up to the first tpid 0 */
	__u16 ethertype;
	__u8 version;
	const char *src, *dst;
	__u8 ihl; /* IPv4: words; above 5 the options are NOPs */
	__u8 tos;
	__u16 frag_off;	  /* IPv4: flags and offset */
	__u32 flow_label; /* IPv6 */
	__u8 ttl;
	__u8 protocol;
	__u16 sport, dport;
	__u32 payload;
	int length_error;  /* added to the total or payload length field */
	__u16 check_xor;   /* changes the IPv4 checksum */
	__u32 trailer;	   /* bytes behind the IP packet */
	__u8 wire_version; /* overrides the version field of the header */
};

/* A spec from defaults and overrides: PKT_IP4(.ttl = 1). To override them is what they are for. */
#pragma GCC diagnostic ignored "-Woverride-init"

/* clang-format off */
#define PKT_HOST_MAC   { 0x02, 0x00, 0x00, 0x00, 0x0a, 0x01 } /* the sender */
#define PKT_ROUTER_MAC { 0x02, 0x00, 0x00, 0x00, 0x01, 0x03 } /* the router, on its ingress port */

#define PKT_IP4(...) \
	{ \
		.dmac = PKT_ROUTER_MAC, .smac = PKT_HOST_MAC, .ethertype = ETH_P_IP, .version = 4, \
		.src = "192.0.2.10", .dst = "198.51.100.7", .ihl = 5, .ttl = 64, .protocol = 17, \
		.sport = 40000, .dport = 53, .payload = 64, __VA_ARGS__ \
	}

#define PKT_IP6(...) \
	{ \
		.dmac = PKT_ROUTER_MAC, .smac = PKT_HOST_MAC, .ethertype = ETH_P_IPV6, .version = 6, \
		.src = "2001:db8:1::10", .dst = "2001:db8:2::7", .ttl = 64, .protocol = 17, \
		.sport = 40000, .dport = 53, .payload = 64, __VA_ARGS__ \
	}
/* clang-format on */

void pkt_build(const struct pkt_spec *spec, struct pkt *pkt);

/* The frame of `spec` after a router sent it on: new MACs, TTL or hop limit one less. */
void pkt_build_forwarded(const struct pkt_spec *spec, const __u8 *dmac, const __u8 *smac,
			 struct pkt *pkt);

/* The checksum of an IPv4 header, computed from all of it (RFC 1071). */
__be16 pkt_ip4_check(const struct pkt *pkt);

/* Fails the running cmocka test at the first byte that differs. */
void pkt_assert_equal(const char *name, const struct pkt *got, const struct pkt *want);

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See packet.h. TTL 64, both ports traceroute's, 18 bytes of payload: IPv4 needs no padding. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <string.h>

#include "packet.h"

enum { PORT = 33434, PAYLOAD = 18, UDP_LEN = sizeof(struct udphdr) + PAYLOAD };

/* RFC 1071 over `len` bytes (even), on top of `sum`. */
static __u32 sum16(const void *data, size_t len, __u32 sum)
{
	const __u8 *p = data;

	for (size_t i = 0; i < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	return sum;
}

static __be16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/* addrs: both addresses, one behind the other, as they stand in the header. */
static void put_udp(__u8 *to, const void *addrs, size_t addrs_len)
{
	struct udphdr udp = { .source = htons(PORT), .dest = htons(PORT), .len = htons(UDP_LEN) };
	__u32 pseudo = sum16(addrs, addrs_len, IPPROTO_UDP + UDP_LEN);

	udp.check = fold(sum16(&udp, sizeof(udp), pseudo));
	if (!udp.check)
		udp.check = 0xffff; /* 0 would mean "none" (RFC 768) */
	memcpy(to, &udp, sizeof(udp));
}

static size_t put_ip4(__u8 *to, struct addr src, struct addr dst)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.tot_len = htons(sizeof(ip) + UDP_LEN),
	};

	addr_to_bytes(IP4, src, &ip.saddr);
	addr_to_bytes(IP4, dst, &ip.daddr);
	ip.check = fold(sum16(&ip, sizeof(ip), 0));
	memcpy(to, &ip, sizeof(ip));
	put_udp(to + sizeof(ip), &ip.saddr, 8);
	return sizeof(ip) + UDP_LEN;
}

static size_t put_ip6(__u8 *to, struct addr src, struct addr dst)
{
	struct ipv6hdr ip = {
		.version = 6,
		.hop_limit = 64,
		.nexthdr = IPPROTO_UDP,
		.payload_len = htons(UDP_LEN),
	};

	addr_to_bytes(IP6, src, &ip.saddr);
	addr_to_bytes(IP6, dst, &ip.daddr);
	memcpy(to, &ip, sizeof(ip));
	put_udp(to + sizeof(ip), &ip.saddr, 32);
	return sizeof(ip) + UDP_LEN;
}

size_t packet_build(enum family f, const __u8 dst_mac[static 6], const __u8 src_mac[static 6],
		    struct addr src, struct addr dst, __u8 frame[static PACKET_MAX])
{
	struct ethhdr eth = { .h_proto = htons(f == IP4 ? ETH_P_IP : ETH_P_IPV6) };

	memset(frame, 0, PACKET_MAX);
	memcpy(eth.h_dest, dst_mac, ETH_ALEN);
	memcpy(eth.h_source, src_mac, ETH_ALEN);
	memcpy(frame, &eth, sizeof(eth));
	if (f == IP4)
		return sizeof(eth) + put_ip4(frame + sizeof(eth), src, dst);
	return sizeof(eth) + put_ip6(frame + sizeof(eth), src, dst);
}

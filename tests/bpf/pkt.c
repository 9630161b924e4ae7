// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Builds and compares test frames: see pkt.h. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "pkt.h"

/* Bytes that a misplaced write changes: no two neighbours are alike. */
static void fill_pattern(__u8 *p, __u32 len)
{
	for (__u32 i = 0; i < len; i++)
		p[i] = i * 7 + 3;
}

static __u8 *put16(__u8 *p, __u16 v)
{
	p[0] = v >> 8;
	p[1] = v;
	return p + 2;
}

/* One's complement of the one's complement sum of `words` 16-bit words. */
static __be16 checksum(const void *data, __u32 words)
{
	const __u8 *p = data;
	__u32 sum = 0;

	for (__u32 i = 0; i < words; i++)
		sum += p[2 * i] << 8 | p[2 * i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

__be16 pkt_ip4_check(const struct pkt *pkt)
{
	struct iphdr ip = pkt->v4.ip;

	ip.check = 0;
	return checksum(&ip, sizeof(ip) / 2);
}

static __u8 *put_ip4(const struct pkt_spec *spec, __u8 *p)
{
	__u32 options = spec->ihl > 5 ? (spec->ihl - 5) * 4 : 0;
	struct iphdr ip = {
		.version = spec->wire_version ?: 4,
		.ihl = spec->ihl,
		.tos = spec->tos,
		.tot_len = htons(sizeof(ip) + options + spec->payload + spec->length_error),
		.id = htons(0x1234),
		.frag_off = htons(spec->frag_off),
		.ttl = spec->ttl,
		.protocol = spec->protocol,
	};

	assert_int_equal(inet_pton(AF_INET, spec->src, &ip.saddr), 1);
	assert_int_equal(inet_pton(AF_INET, spec->dst, &ip.daddr), 1);
	memcpy(p, &ip, sizeof(ip));
	memset(p + sizeof(ip), 1, options); /* no operation */
	ip.check = checksum(p, (sizeof(ip) + options) / 2) ^ htons(spec->check_xor);
	memcpy(p, &ip, sizeof(ip));
	return p + sizeof(ip) + options;
}

static __u8 *put_ip6(const struct pkt_spec *spec, __u8 *p)
{
	struct ipv6hdr ip = {
		.version = spec->wire_version ?: 6,
		.priority = spec->tos >> 4,
		.flow_lbl = { (spec->tos << 4 & 0xf0) | spec->flow_label >> 16,
			      spec->flow_label >> 8 & 0xff, spec->flow_label & 0xff },
		.payload_len = htons(spec->payload + spec->length_error),
		.nexthdr = spec->protocol,
		.hop_limit = spec->ttl,
	};

	assert_int_equal(inet_pton(AF_INET6, spec->src, &ip.saddr), 1);
	assert_int_equal(inet_pton(AF_INET6, spec->dst, &ip.daddr), 1);
	memcpy(p, &ip, sizeof(ip));
	return p + sizeof(ip);
}

void pkt_build(const struct pkt_spec *spec, struct pkt *pkt)
{
	__u8 *p = pkt->data;
	__u8 ports[4];

	memcpy(p, spec->dmac, ETH_ALEN);
	memcpy(p + ETH_ALEN, spec->smac, ETH_ALEN);
	p += 2 * ETH_ALEN;
	for (int i = 0; i < PKT_TAGS && spec->tags[i].tpid; i++)
		p = put16(put16(p, spec->tags[i].tpid), spec->tags[i].tci);
	p = put16(p, spec->ethertype);
	if (spec->version == 4)
		p = put_ip4(spec, p);
	else if (spec->version == 6)
		p = put_ip6(spec, p);
	assert_true(p + spec->payload + spec->trailer <= pkt->data + PKT_MAX);
	fill_pattern(p, spec->payload);
	put16(put16(ports, spec->sport), spec->dport);
	memcpy(p, ports, spec->payload < 4 ? spec->payload : 4);
	p += spec->payload;
	memset(p, 0xee, spec->trailer);
	pkt->len = p + spec->trailer - pkt->data;
}

void pkt_build_forwarded(const struct pkt_spec *spec, const __u8 *dmac, const __u8 *smac,
			 struct pkt *pkt)
{
	struct pkt_spec out = *spec;

	memcpy(out.dmac, dmac, ETH_ALEN);
	memcpy(out.smac, smac, ETH_ALEN);
	out.ttl--;
	pkt_build(&out, pkt);
}

void pkt_assert_equal(const char *name, const struct pkt *got, const struct pkt *want)
{
	if (got->len != want->len)
		fail_msg("%s: %u bytes, not %u", name, got->len, want->len);
	for (__u32 i = 0; i < want->len; i++)
		if (got->data[i] != want->data[i])
			fail_msg("%s: byte %u is %02x, not %02x", name, i, got->data[i],
				 want->data[i]);
}

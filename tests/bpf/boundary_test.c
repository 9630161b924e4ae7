// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sweeps: every value of a field, or every length of a frame, against a rule written down here once
 * more. What golden_test.c shows by one packet, this proves for the whole range.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>

#include "expect.h"

static struct pkt in, out, want;

static struct router *fresh_router(void)
{
	router_reset(pair_get()->twin);
	return pair_get()->twin;
}

/* All of it forwards: a sweep of destinations needs no route. */
static struct router *router_with_default(void)
{
	struct router *r = fresh_router();

	r->nexthops[XFIB_NH_DEFAULT(ROUTER_FIB, 0)] = r->nexthops[NH_VIA(NEIGH_WAN_GW4)];
	r->nexthops[XFIB_NH_DEFAULT(ROUTER_FIB, 1)] = r->nexthops[NH_VIA(NEIGH_WAN_GW6)];
	return r;
}

static void expect_hex(struct router *r, const char *what, __u32 value, const struct pkt_spec *spec,
		       enum xfib_verdict verdict, __u32 via)
{
	char name[64];

	snprintf(name, sizeof(name), "%s %#x", what, value);
	expect(r, name, spec, verdict, via);
}

/* --- Ethernet ---------------------------------------------------------------------------------- */

static void test_ethertypes(void **state)
{
	struct router *r = fresh_router();
	struct pkt_spec spec = PKT_IP4();

	pkt_build(&spec, &in);
	for (__u32 type = 0; type < 0x10000; type++) {
		bool vlan = type == ETH_P_8021Q || type == ETH_P_8021AD || type == ETH_P_QINQ1;

		if (type == ETH_P_IP || type == ETH_P_IPV6)
			continue;
		in.eth.h_proto = htons(type);
		expect_frame(r, "EtherType", &in, vlan ? XFIB_PUNT_VLAN : XFIB_PUNT_ETHERTYPE, &in);
	}
}

static void test_mac_bits(void **state)
{
	struct router *r = fresh_router();

	for (int bit = 0; bit < 48; bit++) {
		struct pkt_spec to = PKT_IP4(), from = PKT_IP4(.smac = PKT_ROUTER_MAC);
		bool group = bit == 0;

		to.dmac[bit / 8] ^= 1 << bit % 8;
		expect_hex(r, "destination MAC, bit", bit, &to,
			   group ? XFIB_PUNT_GROUP_MAC : XFIB_PUNT_NOT_OUR_MAC, 0);
		from.smac[bit / 8] ^= 1 << bit % 8;
		expect_hex(r, "source MAC, bit", bit, &from,
			   group ? XFIB_PUNT_SOURCE_MAC : XFIB_FORWARDED, NEIGH_WAN_GW4);
	}
}

/* --- frames that end too early or too late ------------------------------------------------------ */

static void truncate_everywhere(struct router *r, const struct pkt_spec *spec, __u32 header,
				enum xfib_verdict cut_packet)
{
	pkt_build(spec, &in);
	for (__u32 full = in.len; in.len >= ETH_HLEN; in.len--) {
		if (in.len < full)
			expect_frame(r, "truncated", &in,
				     in.len < ETH_HLEN + header ? XFIB_PUNT_SHORT : cut_packet,
				     &in);
	}
}

static void test_truncated(void **state)
{
	struct router *r = fresh_router();
	struct pkt_spec v4 = PKT_IP4(), v6 = PKT_IP6(), arp = PKT_IP4(.ethertype = ETH_P_ARP),
			tagged = PKT_IP4(.tags = { { ETH_P_8021Q, 5 } });

	for (int frags = 0; frags < 2; frags++) {
		r->ports[SLOT_LAN].flags = XFIB_PORT_ENABLED | (frags ? XFIB_PORT_FRAGS : 0);
		truncate_everywhere(r, &v4, sizeof(struct iphdr), XFIB_PUNT_IP4_HEADER);
		truncate_everywhere(r, &v6, sizeof(struct ipv6hdr), XFIB_PUNT_IP6_HEADER);
		truncate_everywhere(r, &arp, 0, XFIB_PUNT_ETHERTYPE);
		truncate_everywhere(r, &tagged, 0, XFIB_PUNT_VLAN);
	}
}

/* The headers end in the second buffer: the program sees only the first, and must not guess. */
static void test_split_headers(void **state)
{
	struct router *r = fresh_router();
	struct pkt_spec specs[] = { PKT_IP4(), PKT_IP6() };
	__u32 result;

	r->ports[SLOT_LAN].flags |= XFIB_PORT_FRAGS;
	r->l3ifs[L3IF_WAN].flags |= XFIB_L3IF_SG;
	for (int i = 0; i < 2; i++) {
		__u32 headers = ETH_HLEN + (i ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
		const struct router_neigh *gw = &router_neighs[i ? NEIGH_WAN_GW6 : NEIGH_WAN_GW4];

		pkt_build(&specs[i], &in);
		pkt_build_forwarded(&specs[i], gw->mac, router_l3if(gw->l3if)->mac, &want);
		for (__u32 linear = ETH_HLEN; linear < in.len; linear++) {
			bool split = linear < headers;

			if (router_run_linear(r, &in, linear, &out, &result) == -EINVAL)
				router_skip("before 6.18 the kernel chooses the first buffer");
			assert_int_equal(XFIB_TWIN_VERDICT(result),
					 split ? XFIB_PUNT_SHORT : XFIB_FORWARDED);
			pkt_assert_equal("split", &out, split ? &in : &want);
		}
	}
}

static void test_padding(void **state)
{
	struct router *r = fresh_router();

	for (__u32 payload = 0; payload < 64; payload++) {
		for (__u32 trailer = 0; trailer < 64; trailer++) {
			struct pkt_spec v4 = PKT_IP4(.payload = payload, .trailer = trailer);
			struct pkt_spec v6 = PKT_IP6(.payload = payload, .trailer = trailer);
			bool short4 =
				ETH_HLEN + sizeof(struct iphdr) + payload + trailer <= ETH_ZLEN;
			bool short6 =
				ETH_HLEN + sizeof(struct ipv6hdr) + payload + trailer <= ETH_ZLEN;

			expect(r, "IPv4 padding", &v4,
			       !trailer || short4 ? XFIB_FORWARDED : XFIB_PUNT_TRAILER,
			       NEIGH_WAN_GW4);
			expect(r, "IPv6 padding", &v6,
			       !payload		    ? XFIB_PUNT_IP6_HEADER
			       : !trailer || short6 ? XFIB_FORWARDED
						    : XFIB_PUNT_TRAILER,
			       NEIGH_WAN_GW6);
		}
	}
}

/* --- IPv4 header -------------------------------------------------------------------------------- */

static void test_ip4_first_byte(void **state)
{
	struct router *r = fresh_router();

	for (__u32 version = 1; version < 16; version++) {
		for (__u32 ihl = 0; ihl < 16; ihl++) {
			struct pkt_spec spec = PKT_IP4(.wire_version = version, .ihl = ihl);
			enum xfib_verdict verdict = version != 4 || ihl < 5 ? XFIB_PUNT_IP4_HEADER
						    : ihl > 5		    ? XFIB_PUNT_IP4_OPTIONS
									    : XFIB_FORWARDED;

			expect_hex(r, "version and header length", version << 4 | ihl, &spec,
				   verdict, NEIGH_WAN_GW4);
		}
	}
}

static void test_ip4_total_length(void **state)
{
	struct router *r = fresh_router();
	struct pkt_spec spec = PKT_IP4();
	__u32 right;

	pkt_build(&spec, &in);
	right = ntohs(in.v4.ip.tot_len);
	for (__u32 length = 0; length < 0x10000; length++) {
		if (length == right)
			continue;
		in.v4.ip.tot_len = htons(length);
		in.v4.ip.check = pkt_ip4_check(&in);
		expect_frame(r, "total length", &in,
			     length < sizeof(struct iphdr) || length > right ? XFIB_PUNT_IP4_HEADER
									     : XFIB_PUNT_TRAILER,
			     &in);
	}
}

static void test_ip4_ttl(void **state)
{
	struct router *r = fresh_router();

	for (__u32 ttl = 0; ttl < 256; ttl++) {
		struct pkt_spec spec = PKT_IP4(.ttl = ttl);

		expect_hex(r, "TTL", ttl, &spec, ttl < 2 ? XFIB_PUNT_IP4_TTL : XFIB_FORWARDED,
			   NEIGH_WAN_GW4);
	}
}

static void test_ip4_protocols_and_tos(void **state)
{
	struct router *r = fresh_router();

	for (__u32 value = 0; value < 256; value++) {
		struct pkt_spec protocol = PKT_IP4(.protocol = value), tos = PKT_IP4(.tos = value);

		expect_hex(r, "protocol", value, &protocol, XFIB_FORWARDED, NEIGH_WAN_GW4);
		expect_hex(r, "TOS", value, &tos, XFIB_FORWARDED, NEIGH_WAN_GW4);
	}
}

static void test_ip4_fragments(void **state)
{
	struct router *r = fresh_router();

	for (__u32 field = 0; field < 0x10000; field += field < 0x20 ? 1 : 61) {
		struct pkt_spec spec = PKT_IP4(.frag_off = field);

		expect_hex(r, "flags and fragment offset", field, &spec, XFIB_FORWARDED,
			   NEIGH_WAN_GW4);
	}
}

/* --- IPv4 checksum ------------------------------------------------------------------------------ */

/* Sends `in` on, with its identification as it is, and compares with a checksum computed anew. */
static void expect_checksum(struct router *r)
{
	const struct router_neigh *gw = &router_neighs[NEIGH_WAN_GW4];

	memcpy(want.data, in.data, in.len);
	want.len = in.len;
	memcpy(want.eth.h_dest, gw->mac, ETH_ALEN);
	memcpy(want.eth.h_source, router_l3if(gw->l3if)->mac, ETH_ALEN);
	want.v4.ip.ttl--;
	want.v4.ip.check = pkt_ip4_check(&want);
	expect_frame(r, "checksum", &in, XFIB_FORWARDED, &want);
}

static void test_ip4_checksum_all_words(void **state)
{
	static const __u8 ttls[] = { 2, 64, 255 };
	struct router *r = fresh_router();
	struct pkt_spec spec = PKT_IP4();

	pkt_build(&spec, &in);
	for (size_t i = 0; i < sizeof(ttls); i++) {
		in.v4.ip.ttl = ttls[i];
		for (__u32 id = 0; id < 0x10000; id++) {
			in.v4.ip.id = htons(id);
			in.v4.ip.check = pkt_ip4_check(&in);
			expect_checksum(r);
		}
	}
}

/* The identification that gives the header of `in` this checksum. */
static __be16 id_for_check(__u16 check)
{
	__u32 sum;

	in.v4.ip.id = 0;
	sum = ntohs(pkt_ip4_check(&in)) + (__u16)~check;
	return htons((sum & 0xffff) + (sum >> 16));
}

/* Every TTL with every checksum near the ends of the number circle, where the update carries. */
static void test_ip4_checksum_wraps(void **state)
{
	struct router *r = fresh_router();
	struct pkt_spec spec = PKT_IP4();

	pkt_build(&spec, &in);
	for (__u32 ttl = 2; ttl < 256; ttl++) {
		for (__u32 n = 0; n < 0x300; n++) {
			__u16 check = n < 0x200 ? 0xfe00 + n : n - 0x200;

			in.v4.ip.ttl = ttl;
			in.v4.ip.id = id_for_check(check);
			in.v4.ip.check = pkt_ip4_check(&in);
			if (check != 0xffff) /* which is 0 in the canonical form */
				assert_int_equal(ntohs(in.v4.ip.check), check);
			expect_checksum(r);
		}
	}
}

/* RFC 1624: a checksum of 0xffff is 0 written in another way, and verifies. */
static void test_ip4_checksum_negative_zero(void **state)
{
	struct router *r = fresh_router();
	struct pkt_spec spec = PKT_IP4();

	for (__u32 ttl = 2; ttl < 256; ttl++) {
		spec.ttl = ttl;
		pkt_build(&spec, &in);
		in.v4.ip.id = id_for_check(0);
		assert_int_equal(pkt_ip4_check(&in), 0);
		in.v4.ip.check = 0xffff;
		expect_checksum(r);
	}
}

static void test_ip4_checksum_wrong(void **state)
{
	struct router *r = fresh_router();
	struct pkt_spec spec = PKT_IP4();
	__be16 right;

	pkt_build(&spec, &in);
	right = in.v4.ip.check;
	for (__u32 check = 0; check < 0x10000; check++) {
		if (check == right)
			continue;
		in.v4.ip.check = check;
		expect_frame(r, "wrong checksum", &in, XFIB_PUNT_IP4_CHECKSUM, &in);
	}
}

/* Each bit of the header counts in the checksum. */
static void test_ip4_checksum_bits(void **state)
{
	struct router *r = fresh_router();
	struct pkt_spec spec = PKT_IP4();

	pkt_build(&spec, &in);
	for (__u32 bit = 32; bit < 160;
	     bit++) { /* behind version, length and total length: not its verdicts */
		in.data[ETH_HLEN + bit / 8] ^= 1 << bit % 8;
		expect_frame(r, "one bit wrong", &in, XFIB_PUNT_IP4_CHECKSUM, &in);
		in.data[ETH_HLEN + bit / 8] ^= 1 << bit % 8;
	}
}

/* --- IPv4 addresses ----------------------------------------------------------------------------- */

static void test_ip4_addresses(void **state)
{
	struct router *r = router_with_default();
	char addr[INET_ADDRSTRLEN];

	for (__u32 hi = 0; hi < 0x10000; hi++) {
		__u32 net = hi >> 8;
		bool bad = net == 0 || net == 127 || net >= 224;
		struct pkt_spec from = PKT_IP4(.src = addr), to = PKT_IP4(.dst = addr);
		bool is_route =
			hi == 0xc000 || hi == 0xcb00 || hi == 0xc633; /* not the default one */

		if (hi % 7 && net != 169)
			continue;
		snprintf(addr, sizeof(addr), "%u.%u.3.4", net, hi & 0xff);
		expect(r, addr, &from, bad ? XFIB_PUNT_IP4_SOURCE : XFIB_FORWARDED, NEIGH_WAN_GW4);
		if (!is_route)
			expect(r, addr, &to,
			       bad || hi == 0xa9fe ? XFIB_PUNT_IP4_DESTINATION : XFIB_FORWARDED,
			       NEIGH_WAN_GW4);
	}
}

/* --- IPv6 --------------------------------------------------------------------------------------- */

static void test_ip6_version(void **state)
{
	struct router *r = fresh_router();

	for (__u32 version = 1; version < 16; version++) {
		struct pkt_spec spec = PKT_IP6(.wire_version = version);

		expect_hex(r, "version", version, &spec,
			   version == 6 ? XFIB_FORWARDED : XFIB_PUNT_IP6_HEADER, NEIGH_WAN_GW6);
	}
}

static void test_ip6_payload_length(void **state)
{
	struct router *r = fresh_router();
	struct pkt_spec spec = PKT_IP6();

	pkt_build(&spec, &in);
	for (__u32 length = 0; length < 0x10000; length++) {
		if (length == spec.payload)
			continue;
		in.v6.ip.payload_len = htons(length);
		expect_frame(r, "payload length", &in,
			     !length || length > spec.payload ? XFIB_PUNT_IP6_HEADER
							      : XFIB_PUNT_TRAILER,
			     &in);
	}
}

static void test_ip6_hop_limit(void **state)
{
	struct router *r = fresh_router();

	for (__u32 limit = 0; limit < 256; limit++) {
		struct pkt_spec spec = PKT_IP6(.ttl = limit);

		expect_hex(r, "hop limit", limit, &spec,
			   limit < 2 ? XFIB_PUNT_IP6_HOP_LIMIT : XFIB_FORWARDED, NEIGH_WAN_GW6);
	}
}

static void test_ip6_next_headers(void **state)
{
	struct router *r = fresh_router();

	for (__u32 next = 0; next < 256; next++) {
		struct pkt_spec spec = PKT_IP6(.protocol = next);

		expect_hex(r, "next header", next, &spec,
			   next ? XFIB_FORWARDED : XFIB_PUNT_IP6_HOP_BY_HOP, NEIGH_WAN_GW6);
	}
}

static void test_ip6_addresses(void **state)
{
	struct router *r = router_with_default();
	char addr[INET6_ADDRSTRLEN];

	for (__u32 hi = 0; hi < 0x10000; hi++) {
		bool multicast = hi >> 8 == 0xff, link_local = hi >= 0xfe80 && hi <= 0xfebf;
		bool site_local = hi >= 0xfec0 && hi <= 0xfeff;
		struct pkt_spec from = PKT_IP6(.src = addr), to = PKT_IP6(.dst = addr);

		if (hi % 7 && hi < 0xf000)
			continue;
		snprintf(addr, sizeof(addr), "%x:fade:0:0:1:2:3:4", hi);
		expect(r, addr, &from,
		       multicast || link_local ? XFIB_PUNT_IP6_SOURCE : XFIB_FORWARDED,
		       NEIGH_WAN_GW6);
		expect(r, addr, &to,
		       multicast || link_local || site_local ? XFIB_PUNT_IP6_DESTINATION
							     : XFIB_FORWARDED,
		       NEIGH_WAN_GW6);
	}
}

/* ::/96 and ::ffff:0:0/96, and each single bit that lies outside of them. */
static void test_ip6_embedded_ip4(void **state)
{
	struct router *r = router_with_default();

	for (int mapped = 0; mapped < 2; mapped++) {
		for (int bit = 0; bit < 128; bit++) {
			struct in6_addr a = { .s6_addr = { [10] = mapped ? 0xff : 0,
							   [11] = mapped ? 0xff : 0,
							   [12] = 192,
							   [14] = 2,
							   [15] = 1 } };
			char addr[INET6_ADDRSTRLEN];
			struct pkt_spec from = PKT_IP6(.src = addr), to = PKT_IP6(.dst = addr);

			a.s6_addr[bit / 8] ^= 1 << bit % 8;
			inet_ntop(AF_INET6, &a, addr, sizeof(addr));
			expect(r, addr, &from, bit >= 96 ? XFIB_PUNT_IP6_SOURCE : XFIB_FORWARDED,
			       NEIGH_WAN_GW6);
			expect(r, addr, &to, bit >= 96 ? XFIB_PUNT_IP6_DESTINATION : XFIB_FORWARDED,
			       NEIGH_WAN_GW6);
		}
	}
}

/* --- MTU ---------------------------------------------------------------------------------------- */

/* mtu: what must count of the device's and the route's. */
static void expect_mtu(struct router *r, __u32 mtu)
{
	for (int over = 0; over < 2; over++) {
		struct pkt_spec v4 = PKT_IP4(.payload = mtu + over - sizeof(struct iphdr));
		struct pkt_spec v6 = PKT_IP6(.payload = mtu + over - sizeof(struct ipv6hdr));

		if (mtu + over <= 0xffff)
			expect_hex(r, "IPv4 MTU", mtu, &v4, over ? XFIB_PUNT_MTU : XFIB_FORWARDED,
				   NEIGH_JUMBO_GW4);
		expect_hex(r, "IPv6 MTU", mtu, &v6, over ? XFIB_PUNT_MTU : XFIB_FORWARDED,
			   NEIGH_JUMBO_GW6);
	}
}

static void test_mtu(void **state)
{
	static const __u16 mtus[] = { 68,   576,  1279,	  1280,	  1500,	 3000,
				      4096, 9000, 0x7fff, 0x8000, 0xffff };
	struct router *r = fresh_router();

	r->ports[SLOT_LAN].flags |= XFIB_PORT_FRAGS;
	router_route(r, "198.51.100.7/32", NH_VIA(NEIGH_JUMBO_GW4));
	router_route(r, "2001:db8:2::7/128", NH_VIA(NEIGH_JUMBO_GW6));
	for (size_t device = 0; device < sizeof(mtus) / sizeof(*mtus); device++) {
		for (size_t route = 0; route < sizeof(mtus) / sizeof(*mtus); route++) {
			r->l3ifs[L3IF_JUMBO].mtu4 = r->l3ifs[L3IF_JUMBO].mtu6 = mtus[device];
			r->nexthops[NH_VIA(NEIGH_JUMBO_GW4)].mtu = mtus[route];
			r->nexthops[NH_VIA(NEIGH_JUMBO_GW6)].mtu = mtus[route];
			expect_mtu(r, mtus[route < device ? route : device]);
		}
	}
}

/* --- leaves ------------------------------------------------------------------------------------- */

static void test_every_leaf_verdict(void **state)
{
	struct pkt_spec v4 = PKT_IP4(), v6 = PKT_IP6();

	for (__u32 leaf = 1; leaf < XFIB_NH_FIRST; leaf++) {
		struct router *r = fresh_router();
		enum xfib_verdict verdict = leaf < XFIB_VERDICT_MAX ? leaf : XFIB_PUNT_RACE;

		router_route(r, "198.51.100.7/32", leaf);
		router_route(r, "2001:db8:2::7/128", leaf);
		expect_hex(r, "leaf", leaf, &v4, verdict, 0);
		expect_hex(r, "leaf", leaf, &v6, verdict, 0);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		{ .name = "every EtherType but IPv4 and IPv6 goes to the kernel",
		  .test_func = test_ethertypes },
		{ .name = "each bit of both MACs is compared", .test_func = test_mac_bits },
		{ .name = "a frame cut short at any byte goes to the kernel",
		  .test_func = test_truncated },
		{ .name = "headers split over two buffers go to the kernel",
		  .test_func = test_split_headers },
		{ .name = "padding passes up to 60 bytes and no further",
		  .test_func = test_padding },
		{ .name = "only version 4 with five words is forwarded",
		  .test_func = test_ip4_first_byte },
		{ .name = "only the right total length is forwarded",
		  .test_func = test_ip4_total_length },
		{ .name = "every TTL above 1 is forwarded as one less", .test_func = test_ip4_ttl },
		{ .name = "protocol and TOS do not matter",
		  .test_func = test_ip4_protocols_and_tos },
		{ .name = "fragments of any offset are forwarded",
		  .test_func = test_ip4_fragments },
		{ .name = "the checksum is right for every header word",
		  .test_func = test_ip4_checksum_all_words },
		{ .name = "the checksum is right for every TTL where it wraps",
		  .test_func = test_ip4_checksum_wraps },
		{ .name = "a checksum of negative zero is understood",
		  .test_func = test_ip4_checksum_negative_zero },
		{ .name = "every wrong checksum goes to the kernel",
		  .test_func = test_ip4_checksum_wrong },
		{ .name = "each bit of the IPv4 header is in the checksum",
		  .test_func = test_ip4_checksum_bits },
		{ .name = "IPv4 addresses that are not plain unicast go to the kernel",
		  .test_func = test_ip4_addresses },
		{ .name = "only version 6 is forwarded", .test_func = test_ip6_version },
		{ .name = "only the right payload length is forwarded",
		  .test_func = test_ip6_payload_length },
		{ .name = "every hop limit above 1 is forwarded as one less",
		  .test_func = test_ip6_hop_limit },
		{ .name = "every next header but hop-by-hop is forwarded",
		  .test_func = test_ip6_next_headers },
		{ .name = "IPv6 addresses that are not global unicast go to the kernel",
		  .test_func = test_ip6_addresses },
		{ .name = "IPv6 addresses that embed IPv4 ones go to the kernel",
		  .test_func = test_ip6_embedded_ip4 },
		{ .name = "the smaller MTU of device and route counts", .test_func = test_mtu },
		{ .name = "a leaf below 64 is the verdict of its number",
		  .test_func = test_every_leaf_verdict },
	};

	if (expect_args(argc, argv))
		return 2;
	return cmocka_run_group_tests_name("boundary", tests, pair_setup, pair_teardown);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Golden packets: for each behaviour of the program one packet, its verdict, and the frame that must
 * come out. Every row is a test of its own and runs twice, as a twin and as the program that is
 * attached. The last test proves that no verdict is without a row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <cmocka.h>

#include "expect.h"

struct golden {
	const char *name;
	struct pkt_spec in;
	enum xfib_verdict verdict;
	__u32 via;  /* the neighbour it is forwarded to */
	__u32 leaf; /* a host route of the destination to this leaf, unless 0 */
	void (*arrange)(struct router *r); /* what is unlike the router of router.h */
	bool attached_only;		   /* the twin does not see it */
};

/* --- what the rows change about the router ----------------------------------------------------- */

static void port_off(struct router *r)
{
	r->ports[SLOT_LAN].flags = 0;
}

static void port_of_another_device(struct router *r)
{
	r->ports[SLOT_LAN].ifindex = IFINDEX_LAN + 1;
}

static void port_takes_frags(struct router *r)
{
	r->ports[SLOT_LAN].flags |= XFIB_PORT_FRAGS;
}

static void deadline_zero(struct router *r)
{
	r->ctl->deadline = 0;
}

static void deadline_now(struct router *r)
{
	r->ctl->deadline = router_jiffies(expect_clock());
}

static void deadline_soon(struct router *r)
{
	r->ctl->deadline = router_jiffies(expect_clock()) + (1u << 20);
}

static void lan_without_ip4(struct router *r)
{
	r->l3ifs[L3IF_LAN].flags &= ~XFIB_L3IF_IP4;
}

static void lan_without_ip6(struct router *r)
{
	r->l3ifs[L3IF_LAN].flags &= ~XFIB_L3IF_IP6;
}

static void lan_hairpin(struct router *r)
{
	r->l3ifs[L3IF_LAN].flags |= XFIB_L3IF_HAIRPIN;
}

static void lan_defrag4(struct router *r)
{
	r->l3ifs[L3IF_LAN].flags |= XFIB_L3IF_DEFRAG4;
}

static void lan_defrag6(struct router *r)
{
	r->l3ifs[L3IF_LAN].flags |= XFIB_L3IF_DEFRAG6;
}

static void lan_rpf_loose(struct router *r)
{
	r->l3ifs[L3IF_LAN].flags |= XFIB_L3IF_RPF_LOOSE;
}

static void lan_rpf_strict(struct router *r)
{
	r->l3ifs[L3IF_LAN].flags |= XFIB_L3IF_RPF_STRICT;
}

/* The default route leads back into LAN, through a gateway there. */
static void lan_rpf_strict_default(struct router *r)
{
	lan_rpf_strict(r);
	router_default(r, r->nexthops[NH_VIA(NEIGH_LAN_GW4)]);
}

static void lan_rpf_strict_default_wan(struct router *r)
{
	lan_rpf_strict(r);
	router_default(r, r->nexthops[NH_VIA(NEIGH_WAN_GW4)]);
}

static void lan_rpf_loose_default_wan(struct router *r)
{
	lan_rpf_loose(r);
	router_default(r, r->nexthops[NH_VIA(NEIGH_WAN_GW4)]);
}

static void lan_rpf_loose_group(struct router *r)
{
	struct xfib_nexthop legs[] = { r->nexthops[NH_VIA(NEIGH_WAN_GW4)],
				       r->nexthops[NH_VIA(NEIGH_LAN_GW4)] };

	/* A bucket of this number is not the neighbour of this number, who is on the ingress. */
	lan_rpf_loose(r);
	router_group(r, XFIB_NH_GROUP_L3, NEIGH_LAN_GW4, legs, 2);
	router_route(r, "100.64.0.0/10", NH_GROUP);
}

static void lan_rpf_strict_group(struct router *r)
{
	lan_rpf_loose_group(r);
	lan_rpf_strict(r);
}

static void lan_rpf_strict_unresolved(struct router *r)
{
	lan_rpf_strict_default(r);
	r->neighs[NEIGH_LAN_GW4].lladdr.tag = 0;
}

/* A source whose bit in the filter is set although it is not an own address. */
static void own_filter_full(struct router *r)
{
	memset(r->own4, 0xff, XFIB_OWN_BITS / 8);
}

static void lan_in_fib_5(struct router *r)
{
	r->l3ifs[L3IF_LAN].fib = 5;
	router_route_fib(r, 5, "198.51.100.0/24", NH_VIA(NEIGH_SMALL_GW4));
	router_route_fib(r, 5, "2001:db8:2::/48", NH_VIA(NEIGH_SMALL_GW6));
}

static void lan_in_empty_fib(struct router *r)
{
	r->l3ifs[L3IF_LAN].fib = 6;
	r->nexthops[XFIB_NH_DEFAULT(6, 0)] =
		(struct xfib_nexthop){ .kind = XFIB_NH_VERDICT, .arg = XFIB_PUNT_NO_ROUTE };
}

static void default_to_wan(struct router *r)
{
	r->nexthops[XFIB_NH_DEFAULT(ROUTER_FIB, 0)] = r->nexthops[NH_VIA(NEIGH_WAN_GW4)];
	r->nexthops[XFIB_NH_DEFAULT(ROUTER_FIB, 1)] = r->nexthops[NH_VIA(NEIGH_WAN_GW6)];
}

static void default_not_there(struct router *r)
{
	router_default(r, (struct xfib_nexthop){});
}

static void punt_marker_in_default(struct router *r)
{
	default_to_wan(r);
	router_route(r, "10.9.0.0/16", XFIB_PUNT_ENCAP);
	router_route(r, "2001:db8:9::/48", XFIB_PUNT_ENCAP);
}

static void marker_with_longer_route(struct router *r)
{
	router_route(r, "10.9.0.0/16", XFIB_PUNT_CAPACITY);
	router_route(r, "10.9.8.0/24", NH_VIA(NEIGH_WAN_GW4));
}

/* nexthops[NH_FREE] is what a row's leaf leads to. */
static void nexthop_not_there(struct router *r)
{
	r->nexthops[NH_FREE] = (struct xfib_nexthop){};
}

static void nexthop_claims_forwarded(struct router *r)
{
	r->nexthops[NH_FREE] = (struct xfib_nexthop){ .kind = XFIB_NH_VERDICT, .mtu = 1 };
}

static void nexthop_of_no_verdict(struct router *r)
{
	r->nexthops[NH_FREE] =
		(struct xfib_nexthop){ .kind = XFIB_NH_VERDICT, .arg = XFIB_VERDICT_MAX };
}

static void nexthop_not_a_port(struct router *r)
{
	r->nexthops[NH_FREE] =
		(struct xfib_nexthop){ .kind = XFIB_NH_VERDICT, .arg = XFIB_PUNT_NOT_A_PORT };
}

static void nexthop_mtu_1280(struct router *r)
{
	r->nexthops[NH_FREE] = r->nexthops[NH_VIA(NEIGH_WAN_GW4)];
	r->nexthops[NH_FREE].mtu = 1280;
}

static void connected_mtu_1280(struct router *r)
{
	r->nexthops[NH_FREE] = r->nexthops[NH_WAN_CONNECTED];
	r->nexthops[NH_FREE].mtu = 1280;
}

static void gateway_without_address(struct router *r)
{
	r->neighs[NEIGH_WAN_GW4].lladdr.tag = 0;
}

/* Still with the mark for STALE, but not valid. */
static void gateway_without_address_watched(struct router *r)
{
	r->neighs[NEIGH_WAN_GW4].lladdr.tag = XFIB_NEIGH_WATCH;
}

static void gateway_watched(struct router *r)
{
	r->neighs[NEIGH_WAN_GW4].lladdr.tag |= XFIB_NEIGH_WATCH;
}

static void gateway_behind_large_l3if(struct router *r)
{
	r->l3ifs[XFIB_L3IFS - 1] = r->l3ifs[L3IF_WAN];
	r->neighs[NEIGH_WAN_GW4].lladdr.tag = XFIB_L3IFS - 1;
}

static void host_without_address(struct router *r)
{
	r->neighs[NEIGH_WAN_HOST4].lladdr.tag = 0;
	r->neighs[NEIGH_WAN_HOST6].lladdr.tag = 0;
}

static void slot_of_another_address(struct router *r)
{
	r->neighs[NEIGH_WAN_HOST4].addr[0] ^= htonl(1);
	r->neighs[NEIGH_WAN_HOST6].addr[3] ^= htonl(1);
}

static void slot_of_another_subnet(struct router *r)
{
	r->neighs[NEIGH_WAN_HOST6].addr[0] ^= htonl(1);
}

static void slot_of_another_subnet_1(struct router *r)
{
	r->neighs[NEIGH_WAN_HOST6].addr[1] ^= htonl(1);
}

static void slot_of_another_host_2(struct router *r)
{
	r->neighs[NEIGH_WAN_HOST6].addr[2] ^= htonl(1);
}

static void slot_of_another_device(struct router *r)
{
	r->neighs[NEIGH_WAN_HOST4].ifindex = IFINDEX_SMALL;
	r->neighs[NEIGH_WAN_HOST6].ifindex = IFINDEX_SMALL;
}

static void slot_of_another_family(struct router *r)
{
	r->neighs[NEIGH_WAN_HOST4].ip6 = 1;
	r->neighs[NEIGH_WAN_HOST6].ip6 = 0;
}

/* The same address is also a neighbour on another device, with another MAC. */
static void host_on_two_devices(struct router *r)
{
	router_neigh(r, NEIGH_FREE, "203.0.113.9", IFINDEX_SMALL, L3IF_SMALL,
		     router_neighs[NEIGH_SMALL_GW4].mac);
	router_neigh(r, NEIGH_FREE + 1, "2001:db8:3::9", IFINDEX_SMALL, L3IF_SMALL,
		     router_neighs[NEIGH_SMALL_GW6].mac);
}

static void wan_sg(struct router *r)
{
	port_takes_frags(r);
	r->l3ifs[L3IF_WAN].mtu4 = r->l3ifs[L3IF_WAN].mtu6 = 9000;
}

static void wan_down(struct router *r)
{
	r->l3ifs[L3IF_WAN].flags &= ~XFIB_L3IF_EGRESS;
}

/* The kernel removes a device from the devmap before anyone tells the tables. */
static void wan_not_in_the_devmap(struct router *r)
{
	const __u32 slot = SLOT_WAN;

	assert_int_equal(bpf_map_delete_elem(r->tx, &slot), 0);
}

static void wan_mtus_differ(struct router *r)
{
	r->l3ifs[L3IF_WAN].mtu4 = 1500;
	r->l3ifs[L3IF_WAN].mtu6 = 1400;
}

/* --- the table --------------------------------------------------------------------------------- */

#define FRAG_MF 0x2000

/* Payloads that make an IP packet of `len` bytes. */
#define LEN4(len) .payload = (len) - sizeof(struct iphdr)
#define LEN6(len) .payload = (len) - sizeof(struct ipv6hdr)

/* A row leaves out what it does not need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static const struct golden table[] = {
	/* Forwarded. */
	{ "an IPv4 packet leaves through the gateway of its route", PKT_IP4(), XFIB_FORWARDED,
	  NEIGH_WAN_GW4 },
	{ "an IPv6 packet leaves through the gateway of its route", PKT_IP6(), XFIB_FORWARDED,
	  NEIGH_WAN_GW6 },
	{ "a packet for a connected IPv4 host goes to the host itself",
	  PKT_IP4(.dst = "203.0.113.9"), XFIB_FORWARDED, NEIGH_WAN_HOST4 },
	{ "a packet for a connected IPv6 host goes to the host itself",
	  PKT_IP6(.dst = "2001:db8:3::9"), XFIB_FORWARDED, NEIGH_WAN_HOST6 },
	{ "an IPv4 route may have an IPv6 gateway", PKT_IP4(), XFIB_FORWARDED, NEIGH_WAN_GW6,
	  .leaf = NH_VIA(NEIGH_WAN_GW6) },
	{ "the default route takes what no prefix covers (IPv4)", PKT_IP4(.dst = "8.8.8.8"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = default_to_wan },
	{ "the default route takes what no prefix covers (IPv6)", PKT_IP6(.dst = "2600::1"),
	  XFIB_FORWARDED, NEIGH_WAN_GW6, .arrange = default_to_wan },
	{ "the FIB is the one of the ingress interface (IPv4)", PKT_IP4(), XFIB_FORWARDED,
	  NEIGH_SMALL_GW4, .arrange = lan_in_fib_5 },
	{ "the FIB is the one of the ingress interface (IPv6)", PKT_IP6(), XFIB_FORWARDED,
	  NEIGH_SMALL_GW6, .arrange = lan_in_fib_5 },
	{ "TOS and ECN pass unchanged", PKT_IP4(.tos = 0xb9), XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "traffic class and flow label pass unchanged",
	  PKT_IP6(.tos = 0xb9, .flow_label = 0xabcde), XFIB_FORWARDED, NEIGH_WAN_GW6 },
	{ "a TCP packet is forwarded", PKT_IP4(.protocol = IPPROTO_TCP), XFIB_FORWARDED,
	  NEIGH_WAN_GW4 },
	{ "OSPF, IGMP and VRRP in transit are forwarded like anything else",
	  PKT_IP4(.protocol = 89), XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "a protocol that nobody knows is forwarded", PKT_IP6(.protocol = 253), XFIB_FORWARDED,
	  NEIGH_WAN_GW6 },
	{ "a header without payload is forwarded (IPv4)", PKT_IP4(.payload = 0), XFIB_FORWARDED,
	  NEIGH_WAN_GW4 },
	{ "an l3if slot of thirteen bits is read whole", PKT_IP4(), XFIB_FORWARDED, NEIGH_WAN_GW4,
	  .arrange = gateway_behind_large_l3if },

	/* Port. */
	{ "nothing is forwarded from a port that is not enabled", PKT_IP4(), XFIB_PUNT_DISABLED,
	  .arrange = port_off },
	{ "nothing is forwarded while the deadline is zero", PKT_IP4(), XFIB_PUNT_DEADMAN,
	  .arrange = deadline_zero },
	{ "nothing is forwarded from the deadline on", PKT_IP4(), XFIB_PUNT_DEADMAN,
	  .arrange = deadline_now },
	{ "packets are forwarded before the deadline", PKT_IP4(), XFIB_FORWARDED, NEIGH_WAN_GW4,
	  .arrange = deadline_soon },
	{ "a frame of a device that is not the port's goes to the kernel", PKT_IP4(),
	  XFIB_PUNT_FOREIGN_DEVICE, .arrange = port_of_another_device, .attached_only = true },

	/* Ethernet. */
	{ "a frame for another MAC goes to the kernel",
	  PKT_IP4(.dmac = { 0x02, 0x00, 0x00, 0x00, 0x00, 0x09 }), XFIB_PUNT_NOT_OUR_MAC },
	{ "a MAC that differs only in the first byte is another MAC",
	  PKT_IP4(.dmac = { 0x06, 0x00, 0x00, 0x00, 0x01, 0x03 }), XFIB_PUNT_NOT_OUR_MAC },
	{ "a MAC that differs only in the last byte is another MAC",
	  PKT_IP4(.dmac = { 0x02, 0x00, 0x00, 0x00, 0x01, 0x02 }), XFIB_PUNT_NOT_OUR_MAC },
	{ "the MAC of another interface of the router is another MAC",
	  PKT_IP4(.dmac = { 0x02, 0x00, 0x00, 0x00, 0x01, 0x01 }), XFIB_PUNT_NOT_OUR_MAC },
	{ "the virtual MAC of VRRP is another MAC",
	  PKT_IP4(.dmac = { 0x00, 0x00, 0x5e, 0x00, 0x01, 0x01 }), XFIB_PUNT_NOT_OUR_MAC },
	{ "a broadcast frame with a unicast packet goes to the kernel",
	  PKT_IP4(.dmac = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }), XFIB_PUNT_GROUP_MAC },
	{ "a multicast frame with a unicast packet goes to the kernel (IPv4)",
	  PKT_IP4(.dmac = { 0x01, 0x00, 0x5e, 0x00, 0x00, 0x01 }), XFIB_PUNT_GROUP_MAC },
	{ "a multicast frame with a unicast packet goes to the kernel (IPv6)",
	  PKT_IP6(.dmac = { 0x33, 0x33, 0x00, 0x00, 0x00, 0x01 }), XFIB_PUNT_GROUP_MAC },
	{ "a source MAC of zeros goes to the kernel", PKT_IP4(.smac = {}), XFIB_PUNT_SOURCE_MAC },
	{ "a source MAC with the group bit goes to the kernel",
	  PKT_IP4(.smac = { 0x03, 0x00, 0x00, 0x00, 0x0a, 0x01 }), XFIB_PUNT_SOURCE_MAC },
	{ "our own MAC as source goes to the kernel", PKT_IP4(.smac = PKT_ROUTER_MAC),
	  XFIB_PUNT_SOURCE_MAC },
	{ "a source MAC that starts like a zero one is a MAC",
	  PKT_IP4(.smac = { 0, 0, 0, 0, 0, 1 }), XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "a source MAC that ends like a zero one is a MAC", PKT_IP4(.smac = { 0, 1, 0, 0, 0, 0 }),
	  XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "a source MAC that starts like our own is a MAC",
	  PKT_IP4(.smac = { 0x02, 0x00, 0x00, 0x00, 0x01, 0x04 }), XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "a source MAC that ends like our own is a MAC",
	  PKT_IP4(.smac = { 0x06, 0x00, 0x00, 0x00, 0x01, 0x03 }), XFIB_FORWARDED, NEIGH_WAN_GW4 },

	/* Tags and EtherTypes. */
	{ "a VLAN frame goes to the kernel", PKT_IP4(.tags = { { ETH_P_8021Q, 100 } }),
	  XFIB_PUNT_VLAN },
	{ "a VLAN frame with a priority goes to the kernel",
	  PKT_IP4(.tags = { { ETH_P_8021Q, 0xc064 } }), XFIB_PUNT_VLAN },
	{ "a priority tag goes to the kernel", PKT_IP4(.tags = { { ETH_P_8021Q, 0xa000 } }),
	  XFIB_PUNT_VLAN },
	{ "a service tag goes to the kernel", PKT_IP6(.tags = { { ETH_P_8021AD, 100 } }),
	  XFIB_PUNT_VLAN },
	{ "two tags go to the kernel",
	  PKT_IP4(.tags = { { ETH_P_8021AD, 100 }, { ETH_P_8021Q, 7 } }), XFIB_PUNT_VLAN },
	{ "three tags go to the kernel",
	  PKT_IP4(.tags = { { ETH_P_8021Q, 1 }, { ETH_P_8021Q, 2 }, { ETH_P_8021Q, 3 } }),
	  XFIB_PUNT_VLAN },
	{ "the old QinQ tag goes to the kernel", PKT_IP4(.tags = { { ETH_P_QINQ1, 100 } }),
	  XFIB_PUNT_VLAN },
	{ "ARP goes to the kernel", PKT_IP4(.ethertype = ETH_P_ARP, .version = 0),
	  XFIB_PUNT_ETHERTYPE },
	{ "an 802.3 frame with a length goes to the kernel", PKT_IP4(.ethertype = 84),
	  XFIB_PUNT_ETHERTYPE },
	{ "IPv4 under the EtherType of IPv6 goes to the kernel", PKT_IP4(.ethertype = ETH_P_IPV6),
	  XFIB_PUNT_IP6_HEADER },
	{ "IPv6 under the EtherType of IPv4 goes to the kernel", PKT_IP6(.ethertype = ETH_P_IP),
	  XFIB_PUNT_IP4_HEADER },

	/* IPv4 header. */
	{ "IPv4 goes to the kernel where it is off", PKT_IP4(), XFIB_PUNT_IP4_DISABLED,
	  .arrange = lan_without_ip4 },
	{ "IPv6 is forwarded where only IPv4 is off", PKT_IP6(), XFIB_FORWARDED, NEIGH_WAN_GW6,
	  .arrange = lan_without_ip4 },
	{ "an IPv4 frame shorter than the header goes to the kernel",
	  PKT_IP4(.version = 0, .payload = 19), XFIB_PUNT_SHORT },
	{ "an IPv4 header of another version goes to the kernel", PKT_IP4(.wire_version = 5),
	  XFIB_PUNT_IP4_HEADER },
	{ "an IPv4 header of four words goes to the kernel", PKT_IP4(.ihl = 4),
	  XFIB_PUNT_IP4_HEADER },
	{ "IPv4 options go to the kernel", PKT_IP4(.ihl = 6), XFIB_PUNT_IP4_OPTIONS },
	{ "a total length beyond the frame goes to the kernel", PKT_IP4(.length_error = 1),
	  XFIB_PUNT_IP4_HEADER },
	{ "a total length below the header goes to the kernel", PKT_IP4(.length_error = -65),
	  XFIB_PUNT_IP4_HEADER },
	{ "a total length of zero goes to the kernel", PKT_IP4(.length_error = -84),
	  XFIB_PUNT_IP4_HEADER },
	{ "a wrong IPv4 checksum goes to the kernel", PKT_IP4(.check_xor = 0x0100),
	  XFIB_PUNT_IP4_CHECKSUM },
	{ "a TTL of 0 goes to the kernel", PKT_IP4(.ttl = 0), XFIB_PUNT_IP4_TTL },
	{ "a TTL of 1 goes to the kernel", PKT_IP4(.ttl = 1), XFIB_PUNT_IP4_TTL },
	{ "a TTL of 2 leaves as 1", PKT_IP4(.ttl = 2), XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "a TTL of 255 leaves as 254", PKT_IP4(.ttl = 255), XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "a first fragment is forwarded", PKT_IP4(.frag_off = FRAG_MF), XFIB_FORWARDED,
	  NEIGH_WAN_GW4 },
	{ "a later fragment is forwarded", PKT_IP4(.frag_off = FRAG_MF | 185), XFIB_FORWARDED,
	  NEIGH_WAN_GW4 },
	{ "a last fragment is forwarded", PKT_IP4(.frag_off = 370), XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "the don't-fragment and the reserved bit pass unchanged", PKT_IP4(.frag_off = 0xc000),
	  XFIB_FORWARDED, NEIGH_WAN_GW4 },

	/* IPv4 addresses. */
	{ "IPv4 source 0.0.0.0/8 goes to the kernel", PKT_IP4(.src = "0.1.2.3"),
	  XFIB_PUNT_IP4_SOURCE },
	{ "IPv4 source 127.0.0.0/8 goes to the kernel", PKT_IP4(.src = "127.0.0.1"),
	  XFIB_PUNT_IP4_SOURCE },
	{ "IPv4 source 224.0.0.0/4 goes to the kernel", PKT_IP4(.src = "224.0.0.5"),
	  XFIB_PUNT_IP4_SOURCE },
	{ "IPv4 source 240.0.0.0/4 goes to the kernel", PKT_IP4(.src = "240.0.0.1"),
	  XFIB_PUNT_IP4_SOURCE },
	{ "IPv4 source 255.255.255.255 goes to the kernel", PKT_IP4(.src = "255.255.255.255"),
	  XFIB_PUNT_IP4_SOURCE },
	{ "IPv4 source 1.0.0.0 is forwarded", PKT_IP4(.src = "1.0.0.0"), XFIB_FORWARDED,
	  NEIGH_WAN_GW4 },
	{ "IPv4 source 126.255.255.255 is forwarded", PKT_IP4(.src = "126.255.255.255"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "IPv4 source 128.0.0.0 is forwarded", PKT_IP4(.src = "128.0.0.0"), XFIB_FORWARDED,
	  NEIGH_WAN_GW4 },
	{ "IPv4 source 223.255.255.255 is forwarded", PKT_IP4(.src = "223.255.255.255"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "an own IPv4 address as source goes to the kernel", PKT_IP4(.src = "192.0.2.1"),
	  XFIB_PUNT_IP4_OWN_SOURCE },
	{ "the filter of own addresses alone does not decide", PKT_IP4(), XFIB_FORWARDED,
	  NEIGH_WAN_GW4, .arrange = own_filter_full },
	{ "IPv4 destination 0.0.0.0/8 goes to the kernel", PKT_IP4(.dst = "0.0.0.0"),
	  XFIB_PUNT_IP4_DESTINATION, .arrange = default_to_wan },
	{ "IPv4 destination 127.0.0.0/8 goes to the kernel", PKT_IP4(.dst = "127.255.255.255"),
	  XFIB_PUNT_IP4_DESTINATION, .arrange = default_to_wan },
	{ "IPv4 destination 169.254.0.0/16 goes to the kernel", PKT_IP4(.dst = "169.254.169.254"),
	  XFIB_PUNT_IP4_DESTINATION, .arrange = default_to_wan },
	{ "IPv4 destination 224.0.0.0/4 goes to the kernel", PKT_IP4(.dst = "224.0.0.1"),
	  XFIB_PUNT_IP4_DESTINATION, .arrange = default_to_wan },
	{ "IPv4 destination 240.0.0.0/4 goes to the kernel", PKT_IP4(.dst = "240.0.0.1"),
	  XFIB_PUNT_IP4_DESTINATION, .arrange = default_to_wan },
	{ "IPv4 destination 255.255.255.255 goes to the kernel", PKT_IP4(.dst = "255.255.255.255"),
	  XFIB_PUNT_IP4_DESTINATION, .arrange = default_to_wan },
	{ "IPv4 destination 1.0.0.0 is forwarded", PKT_IP4(.dst = "1.0.0.0"), XFIB_FORWARDED,
	  NEIGH_WAN_GW4, .arrange = default_to_wan },
	{ "IPv4 destination 126.255.255.255 is forwarded", PKT_IP4(.dst = "126.255.255.255"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = default_to_wan },
	{ "IPv4 destination 128.0.0.0 is forwarded", PKT_IP4(.dst = "128.0.0.0"), XFIB_FORWARDED,
	  NEIGH_WAN_GW4, .arrange = default_to_wan },
	{ "IPv4 destination 169.253.255.255 is forwarded", PKT_IP4(.dst = "169.253.255.255"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = default_to_wan },
	{ "IPv4 destination 169.255.0.0 is forwarded", PKT_IP4(.dst = "169.255.0.0"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = default_to_wan },
	{ "IPv4 destination 223.255.255.255 is forwarded", PKT_IP4(.dst = "223.255.255.255"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = default_to_wan },

	/* Reverse path: the source's own route. */
	{ "loose reverse path takes a source with a route elsewhere",
	  PKT_IP4(.src = "203.0.113.77"), XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = lan_rpf_loose },
	{ "loose reverse path takes a source of the default route", PKT_IP4(.src = "8.8.8.8"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = lan_rpf_loose_default_wan },
	{ "loose reverse path takes a source of a multipath route", PKT_IP4(.src = "100.64.0.1"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = lan_rpf_loose_group },
	{ "loose reverse path stops a source without a route", PKT_IP4(.src = "8.8.8.8"),
	  XFIB_PUNT_IP4_REVERSE_PATH, .arrange = lan_rpf_loose },
	{ "strict reverse path takes a connected source", PKT_IP4(), XFIB_FORWARDED, NEIGH_WAN_GW4,
	  .arrange = lan_rpf_strict },
	{ "strict reverse path takes a source behind a gateway of the ingress",
	  PKT_IP4(.src = "8.8.8.8"), XFIB_FORWARDED, NEIGH_WAN_GW4,
	  .arrange = lan_rpf_strict_default },
	{ "strict reverse path stops a source connected elsewhere", PKT_IP4(.src = "203.0.113.77"),
	  XFIB_PUNT_IP4_REVERSE_PATH, .arrange = lan_rpf_strict },
	{ "strict reverse path stops a source behind a gateway elsewhere",
	  PKT_IP4(.src = "8.8.8.8"), XFIB_PUNT_IP4_REVERSE_PATH,
	  .arrange = lan_rpf_strict_default_wan },
	{ "strict reverse path stops a source without a route", PKT_IP4(.src = "8.8.8.8"),
	  XFIB_PUNT_IP4_REVERSE_PATH, .arrange = lan_rpf_strict },
	{ "strict reverse path does not judge a multipath route", PKT_IP4(.src = "100.64.0.1"),
	  XFIB_PUNT_IP4_REVERSE_PATH, .arrange = lan_rpf_strict_group },
	{ "strict reverse path does not judge an unresolved gateway", PKT_IP4(.src = "8.8.8.8"),
	  XFIB_PUNT_IP4_REVERSE_PATH, .arrange = lan_rpf_strict_unresolved },
	{ "rp_filter is a matter of IPv4 only", PKT_IP6(.src = "2001:db8:3::77"), XFIB_FORWARDED,
	  NEIGH_WAN_GW6, .arrange = lan_rpf_strict },

	/* IPv6 header. */
	{ "IPv6 goes to the kernel where it is off", PKT_IP6(), XFIB_PUNT_IP6_DISABLED,
	  .arrange = lan_without_ip6 },
	{ "IPv4 is forwarded where only IPv6 is off", PKT_IP4(), XFIB_FORWARDED, NEIGH_WAN_GW4,
	  .arrange = lan_without_ip6 },
	{ "an IPv6 frame shorter than the header goes to the kernel",
	  PKT_IP6(.version = 0, .payload = 39), XFIB_PUNT_SHORT },
	{ "an IPv6 header of another version goes to the kernel", PKT_IP6(.wire_version = 7),
	  XFIB_PUNT_IP6_HEADER },
	{ "a payload length beyond the frame goes to the kernel", PKT_IP6(.length_error = 1),
	  XFIB_PUNT_IP6_HEADER },
	{ "a payload length of zero (jumbogram) goes to the kernel", PKT_IP6(.length_error = -64),
	  XFIB_PUNT_IP6_HEADER },
	{ "a hop limit of 0 goes to the kernel", PKT_IP6(.ttl = 0), XFIB_PUNT_IP6_HOP_LIMIT },
	{ "a hop limit of 1 goes to the kernel", PKT_IP6(.ttl = 1), XFIB_PUNT_IP6_HOP_LIMIT },
	{ "a hop limit of 2 leaves as 1", PKT_IP6(.ttl = 2), XFIB_FORWARDED, NEIGH_WAN_GW6 },
	{ "a hop limit of 255 leaves as 254", PKT_IP6(.ttl = 255), XFIB_FORWARDED, NEIGH_WAN_GW6 },
	{ "hop-by-hop options go to the kernel", PKT_IP6(.protocol = 0), XFIB_PUNT_IP6_HOP_BY_HOP },
	{ "a routing header in transit is forwarded", PKT_IP6(.protocol = 43), XFIB_FORWARDED,
	  NEIGH_WAN_GW6 },
	{ "an IPv6 fragment in transit is forwarded", PKT_IP6(.protocol = 44), XFIB_FORWARDED,
	  NEIGH_WAN_GW6 },
	{ "ESP in transit is forwarded", PKT_IP6(.protocol = 50), XFIB_FORWARDED, NEIGH_WAN_GW6 },
	{ "AH in transit is forwarded", PKT_IP6(.protocol = 51), XFIB_FORWARDED, NEIGH_WAN_GW6 },
	{ "a no-next-header packet in transit is forwarded", PKT_IP6(.protocol = 59),
	  XFIB_FORWARDED, NEIGH_WAN_GW6 },
	{ "destination options in transit are forwarded", PKT_IP6(.protocol = 60), XFIB_FORWARDED,
	  NEIGH_WAN_GW6 },

	/* IPv6 addresses. */
	{ "IPv6 source :: goes to the kernel", PKT_IP6(.src = "::"), XFIB_PUNT_IP6_SOURCE },
	{ "IPv6 source ::1 goes to the kernel", PKT_IP6(.src = "::1"), XFIB_PUNT_IP6_SOURCE },
	{ "an IPv4-compatible source goes to the kernel", PKT_IP6(.src = "::192.0.2.10"),
	  XFIB_PUNT_IP6_SOURCE },
	{ "an IPv4-mapped source goes to the kernel", PKT_IP6(.src = "::ffff:192.0.2.10"),
	  XFIB_PUNT_IP6_SOURCE },
	{ "a link-local source goes to the kernel", PKT_IP6(.src = "fe80::10"),
	  XFIB_PUNT_IP6_SOURCE },
	{ "the end of the link-local sources goes to the kernel", PKT_IP6(.src = "febf:ffff::1"),
	  XFIB_PUNT_IP6_SOURCE },
	{ "a site-local source is forwarded, as the kernel does", PKT_IP6(.src = "fec0::1"),
	  XFIB_FORWARDED, NEIGH_WAN_GW6 },
	{ "a multicast source goes to the kernel", PKT_IP6(.src = "ff02::1"),
	  XFIB_PUNT_IP6_SOURCE },
	{ "a unique local source is forwarded", PKT_IP6(.src = "fd00::1"), XFIB_FORWARDED,
	  NEIGH_WAN_GW6 },
	{ "a source just behind ::/96 is forwarded", PKT_IP6(.src = "::1:0:0"), XFIB_FORWARDED,
	  NEIGH_WAN_GW6 },
	{ "a source with a zero half and a long tail is forwarded", PKT_IP6(.src = "0:0:0:1::"),
	  XFIB_FORWARDED, NEIGH_WAN_GW6 },
	{ "a NAT64 source is forwarded", PKT_IP6(.src = "64:ff9b::1"), XFIB_FORWARDED,
	  NEIGH_WAN_GW6 },
	{ "IPv6 destination :: goes to the kernel", PKT_IP6(.dst = "::"), XFIB_PUNT_IP6_DESTINATION,
	  .arrange = default_to_wan },
	{ "IPv6 destination ::1 goes to the kernel", PKT_IP6(.dst = "::1"),
	  XFIB_PUNT_IP6_DESTINATION, .arrange = default_to_wan },
	{ "an IPv4-mapped destination goes to the kernel", PKT_IP6(.dst = "::ffff:198.51.100.7"),
	  XFIB_PUNT_IP6_DESTINATION, .arrange = default_to_wan },
	{ "a link-local destination goes to the kernel", PKT_IP6(.dst = "fe80::7"),
	  XFIB_PUNT_IP6_DESTINATION, .arrange = default_to_wan },
	{ "a site-local destination goes to the kernel", PKT_IP6(.dst = "fec0::7"),
	  XFIB_PUNT_IP6_DESTINATION, .arrange = default_to_wan },
	{ "the end of the site-local destinations goes to the kernel",
	  PKT_IP6(.dst = "feff:ffff::7"), XFIB_PUNT_IP6_DESTINATION, .arrange = default_to_wan },
	{ "a multicast destination goes to the kernel", PKT_IP6(.dst = "ff05::2"),
	  XFIB_PUNT_IP6_DESTINATION, .arrange = default_to_wan },
	{ "IPv6 destination fe7f::1 is forwarded", PKT_IP6(.dst = "fe7f::1"), XFIB_FORWARDED,
	  NEIGH_WAN_GW6, .arrange = default_to_wan },
	{ "a unique local destination is forwarded", PKT_IP6(.dst = "fd00::1"), XFIB_FORWARDED,
	  NEIGH_WAN_GW6, .arrange = default_to_wan },

	/* Routes. */
	{ "a packet without a route goes to the kernel (IPv4)", PKT_IP4(.dst = "8.8.8.8"),
	  XFIB_PUNT_NO_ROUTE },
	{ "a packet without a route goes to the kernel (IPv6)", PKT_IP6(.dst = "2600::1"),
	  XFIB_PUNT_NO_ROUTE },
	{ "the routes of one FIB are not those of another", PKT_IP4(), XFIB_PUNT_NO_ROUTE,
	  .arrange = lan_in_empty_fib },
	{ "a packet for the router itself goes to the kernel (IPv4)", PKT_IP4(.dst = "192.0.2.1"),
	  XFIB_PUNT_LOCAL },
	{ "a packet for the router itself goes to the kernel (IPv6)",
	  PKT_IP6(.dst = "2001:db8:1::1"), XFIB_PUNT_LOCAL },
	{ "a directed broadcast goes to the kernel", PKT_IP4(.dst = "203.0.113.255"),
	  XFIB_PUNT_BROADCAST, .leaf = XFIB_PUNT_BROADCAST },
	{ "a subnet-router anycast address goes to the kernel", PKT_IP6(.dst = "2001:db8:3::"),
	  XFIB_PUNT_ANYCAST, .leaf = XFIB_PUNT_ANYCAST },
	{ "a route of type multicast goes to the kernel", PKT_IP4(), XFIB_PUNT_MULTICAST,
	  .leaf = XFIB_PUNT_MULTICAST },
	{ "a blackhole route goes to the kernel", PKT_IP4(), XFIB_PUNT_BLACKHOLE,
	  .leaf = XFIB_PUNT_BLACKHOLE },
	{ "a blackhole route drops where that was asked for (IPv4)", PKT_IP4(), XFIB_DROP_BLACKHOLE,
	  .leaf = XFIB_DROP_BLACKHOLE },
	{ "a blackhole route drops where that was asked for (IPv6)", PKT_IP6(), XFIB_DROP_BLACKHOLE,
	  .leaf = XFIB_DROP_BLACKHOLE },
	{ "an unreachable route goes to the kernel", PKT_IP4(), XFIB_PUNT_UNREACHABLE,
	  .leaf = XFIB_PUNT_UNREACHABLE },
	{ "a prohibit route goes to the kernel", PKT_IP6(), XFIB_PUNT_PROHIBIT,
	  .leaf = XFIB_PUNT_PROHIBIT },
	{ "a throw route goes to the kernel", PKT_IP4(), XFIB_PUNT_THROW, .leaf = XFIB_PUNT_THROW },
	{ "a route with encapsulation goes to the kernel", PKT_IP6(), XFIB_PUNT_ENCAP,
	  .leaf = XFIB_PUNT_ENCAP },
	{ "a route that looks at TOS or source goes to the kernel", PKT_IP4(.tos = 0x10),
	  XFIB_PUNT_SELECTIVE_ROUTE, .leaf = XFIB_PUNT_SELECTIVE_ROUTE },
	{ "a proxied neighbour goes to the kernel", PKT_IP6(), XFIB_PUNT_PROXY,
	  .leaf = XFIB_PUNT_PROXY },
	{ "a route of an unknown kind goes to the kernel", PKT_IP4(), XFIB_PUNT_UNSUPPORTED_ROUTE,
	  .leaf = XFIB_PUNT_UNSUPPORTED_ROUTE },
	{ "multipath under another hash policy goes to the kernel", PKT_IP4(),
	  XFIB_PUNT_HASH_POLICY, .leaf = XFIB_PUNT_HASH_POLICY },
	{ "a prefix that did not fit goes to the kernel", PKT_IP6(), XFIB_PUNT_CAPACITY,
	  .leaf = XFIB_PUNT_CAPACITY },
	{ "a route without a usable next hop goes to the kernel", PKT_IP4(), XFIB_PUNT_DEAD_NEXTHOP,
	  .leaf = XFIB_PUNT_DEAD_NEXTHOP },
	{ "a next hop on a device that is no port goes to the kernel", PKT_IP4(),
	  XFIB_PUNT_NOT_A_PORT, .leaf = NH_FREE, .arrange = nexthop_not_a_port },
	{ "a marker holds its packets although the default route forwards (IPv4)",
	  PKT_IP4(.dst = "10.9.0.1"), XFIB_PUNT_ENCAP, .arrange = punt_marker_in_default },
	{ "a marker holds its packets although the default route forwards (IPv6)",
	  PKT_IP6(.dst = "2001:db8:9::1"), XFIB_PUNT_ENCAP, .arrange = punt_marker_in_default },
	{ "a longer prefix inside a marker is forwarded", PKT_IP4(.dst = "10.9.8.7"),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = marker_with_longer_route },
	{ "a marker takes what lies beside the longer prefix", PKT_IP4(.dst = "10.9.9.7"),
	  XFIB_PUNT_CAPACITY, .arrange = marker_with_longer_route },

	/* Tables that change, or are wrong. */
	{ "a next hop that is not there goes to the kernel", PKT_IP4(), XFIB_PUNT_RACE,
	  .leaf = NH_FREE, .arrange = nexthop_not_there },
	{ "a default route that is not there goes to the kernel", PKT_IP6(.dst = "2600::1"),
	  XFIB_PUNT_RACE, .arrange = default_not_there },
	{ "no next hop may claim that a packet was forwarded", PKT_IP4(), XFIB_PUNT_RACE,
	  .leaf = NH_FREE, .arrange = nexthop_claims_forwarded },
	{ "a next hop of no known verdict goes to the kernel", PKT_IP6(), XFIB_PUNT_RACE,
	  .leaf = NH_FREE, .arrange = nexthop_of_no_verdict },
	{ "a neighbour slot of another address is a race (IPv4)", PKT_IP4(.dst = "203.0.113.9"),
	  XFIB_PUNT_RACE, .arrange = slot_of_another_address },
	{ "a neighbour slot of another address is a race (IPv6)", PKT_IP6(.dst = "2001:db8:3::9"),
	  XFIB_PUNT_RACE, .arrange = slot_of_another_address },
	{ "a neighbour slot of another address in word 0 is a race",
	  PKT_IP6(.dst = "2001:db8:3::9"), XFIB_PUNT_RACE, .arrange = slot_of_another_subnet },
	{ "a neighbour slot of another address in word 1 is a race",
	  PKT_IP6(.dst = "2001:db8:3::9"), XFIB_PUNT_RACE, .arrange = slot_of_another_subnet_1 },
	{ "a neighbour slot of another address in word 2 is a race",
	  PKT_IP6(.dst = "2001:db8:3::9"), XFIB_PUNT_RACE, .arrange = slot_of_another_host_2 },
	{ "a neighbour slot of another device is a race (IPv4)", PKT_IP4(.dst = "203.0.113.9"),
	  XFIB_PUNT_RACE, .arrange = slot_of_another_device },
	{ "a neighbour slot of another device is a race (IPv6)", PKT_IP6(.dst = "2001:db8:3::9"),
	  XFIB_PUNT_RACE, .arrange = slot_of_another_device },
	{ "a neighbour slot of another family is a race (IPv4)", PKT_IP4(.dst = "203.0.113.9"),
	  XFIB_PUNT_RACE, .arrange = slot_of_another_family },
	{ "a neighbour slot of another family is a race (IPv6)", PKT_IP6(.dst = "2001:db8:3::9"),
	  XFIB_PUNT_RACE, .arrange = slot_of_another_family },

	/* Neighbours. */
	{ "a gateway without a link-layer address goes to the kernel", PKT_IP4(),
	  XFIB_PUNT_NO_NEIGHBOUR, .arrange = gateway_without_address },
	{ "a gateway that is watched but not valid goes to the kernel", PKT_IP4(),
	  XFIB_PUNT_NO_NEIGHBOUR, .arrange = gateway_without_address_watched },
	{ "a stale gateway is used", PKT_IP4(), XFIB_FORWARDED, NEIGH_WAN_GW4,
	  .arrange = gateway_watched },
	{ "a connected host that is not known goes to the kernel (IPv4)",
	  PKT_IP4(.dst = "203.0.113.77"), XFIB_PUNT_NO_NEIGHBOUR },
	{ "a connected host that is not known goes to the kernel (IPv6)",
	  PKT_IP6(.dst = "2001:db8:3::77"), XFIB_PUNT_NO_NEIGHBOUR },
	{ "a connected host without a link-layer address goes to the kernel (IPv4)",
	  PKT_IP4(.dst = "203.0.113.9"), XFIB_PUNT_NO_NEIGHBOUR, .arrange = host_without_address },
	{ "a connected host without a link-layer address goes to the kernel (IPv6)",
	  PKT_IP6(.dst = "2001:db8:3::9"), XFIB_PUNT_NO_NEIGHBOUR,
	  .arrange = host_without_address },
	{ "a neighbour belongs to its device (IPv4)", PKT_IP4(.dst = "203.0.113.9"), XFIB_FORWARDED,
	  NEIGH_WAN_HOST4, .arrange = host_on_two_devices },
	{ "a neighbour belongs to its device (IPv6)", PKT_IP6(.dst = "2001:db8:3::9"),
	  XFIB_FORWARDED, NEIGH_WAN_HOST6, .arrange = host_on_two_devices },

	/* Egress. */
	{ "an egress that is down goes to the kernel (IPv4)", PKT_IP4(), XFIB_PUNT_EGRESS_DOWN,
	  .leaf = NH_VIA(NEIGH_DOWN_GW4) },
	{ "an egress that is down goes to the kernel (IPv6)", PKT_IP6(), XFIB_PUNT_EGRESS_DOWN,
	  .arrange = wan_down },
	{ "an egress that the devmap lacks leaves the packet untouched (IPv4)", PKT_IP4(),
	  XFIB_PUNT_EGRESS_DOWN, .arrange = wan_not_in_the_devmap },
	{ "an egress that the devmap lacks leaves the packet untouched (IPv6)", PKT_IP6(),
	  XFIB_PUNT_EGRESS_DOWN, .arrange = wan_not_in_the_devmap },
	{ "an IPv4 packet of exactly the MTU is forwarded", PKT_IP4(LEN4(1500)), XFIB_FORWARDED,
	  NEIGH_WAN_GW4 },
	{ "an IPv4 packet one byte over the MTU goes to the kernel", PKT_IP4(LEN4(1501)),
	  XFIB_PUNT_MTU },
	{ "an IPv4 packet over the MTU that may not be fragmented goes to the kernel",
	  PKT_IP4(LEN4(1501), .frag_off = 0x4000), XFIB_PUNT_MTU },
	{ "an IPv6 packet of exactly the MTU is forwarded", PKT_IP6(LEN6(1500)), XFIB_FORWARDED,
	  NEIGH_WAN_GW6 },
	{ "an IPv6 packet one byte over the MTU goes to the kernel", PKT_IP6(LEN6(1501)),
	  XFIB_PUNT_MTU },
	{ "the MTU is that of the egress (IPv4)", PKT_IP4(LEN4(1400)), XFIB_FORWARDED,
	  NEIGH_SMALL_GW4, .leaf = NH_VIA(NEIGH_SMALL_GW4) },
	{ "the MTU is that of the egress, one more is too much (IPv4)", PKT_IP4(LEN4(1401)),
	  XFIB_PUNT_MTU, .leaf = NH_VIA(NEIGH_SMALL_GW4) },
	{ "the MTU is that of the egress (IPv6)", PKT_IP6(LEN6(1400)), XFIB_FORWARDED,
	  NEIGH_SMALL_GW6, .leaf = NH_VIA(NEIGH_SMALL_GW6) },
	{ "the MTU is that of the egress, one more is too much (IPv6)", PKT_IP6(LEN6(1401)),
	  XFIB_PUNT_MTU, .leaf = NH_VIA(NEIGH_SMALL_GW6) },
	{ "the MTU of IPv6 is not that of IPv4 (IPv4)", PKT_IP4(LEN4(1500)), XFIB_FORWARDED,
	  NEIGH_WAN_GW4, .arrange = wan_mtus_differ },
	{ "the MTU of IPv6 is not that of IPv4 (IPv6)", PKT_IP6(LEN6(1401)), XFIB_PUNT_MTU,
	  .arrange = wan_mtus_differ },
	{ "a packet of exactly the MTU of its route is forwarded", PKT_IP4(LEN4(1280)),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .leaf = NH_FREE, .arrange = nexthop_mtu_1280 },
	{ "a packet one byte over the MTU of its route goes to the kernel (IPv4)",
	  PKT_IP4(LEN4(1281)), XFIB_PUNT_MTU, .leaf = NH_FREE, .arrange = nexthop_mtu_1280 },
	{ "a packet one byte over the MTU of its route goes to the kernel (IPv6)",
	  PKT_IP6(LEN6(1281)), XFIB_PUNT_MTU, .leaf = NH_FREE, .arrange = nexthop_mtu_1280 },
	{ "the MTU of a connected route counts (exact)", PKT_IP4(LEN4(1280), .dst = "203.0.113.9"),
	  XFIB_FORWARDED, NEIGH_WAN_HOST4, .leaf = NH_FREE, .arrange = connected_mtu_1280 },
	{ "the MTU of a connected route counts (one more)",
	  PKT_IP4(LEN4(1281), .dst = "203.0.113.9"), XFIB_PUNT_MTU, .leaf = NH_FREE,
	  .arrange = connected_mtu_1280 },
	{ "an IPv4 packet that would turn back goes to the kernel", PKT_IP4(), XFIB_PUNT_SAME_PORT,
	  .leaf = NH_VIA(NEIGH_LAN_GW4) },
	{ "an IPv4 packet turns back where redirects are off", PKT_IP4(), XFIB_FORWARDED,
	  NEIGH_LAN_GW4, .leaf = NH_VIA(NEIGH_LAN_GW4), .arrange = lan_hairpin },
	{ "an IPv6 packet that would turn back goes to the kernel", PKT_IP6(), XFIB_PUNT_SAME_PORT,
	  .leaf = NH_VIA(NEIGH_LAN_GW6) },
	{ "an IPv6 packet never turns back", PKT_IP6(), XFIB_PUNT_SAME_PORT,
	  .leaf = NH_VIA(NEIGH_LAN_GW6), .arrange = lan_hairpin },

	/* Several buffers. */
	{ "a frame of several buffers leaves where the egress takes them (IPv4)",
	  PKT_IP4(LEN4(9000)), XFIB_FORWARDED, NEIGH_JUMBO_GW4, .leaf = NH_VIA(NEIGH_JUMBO_GW4),
	  .arrange = port_takes_frags },
	{ "a frame of several buffers leaves where the egress takes them (IPv6)",
	  PKT_IP6(LEN6(9000)), XFIB_FORWARDED, NEIGH_JUMBO_GW6, .leaf = NH_VIA(NEIGH_JUMBO_GW6),
	  .arrange = port_takes_frags },
	{ "a frame of several buffers over the MTU goes to the kernel", PKT_IP4(LEN4(9001)),
	  XFIB_PUNT_MTU, .leaf = NH_VIA(NEIGH_JUMBO_GW4), .arrange = port_takes_frags },
	{ "a frame of several buffers goes to the kernel where the egress takes one (IPv4)",
	  PKT_IP4(LEN4(9000)), XFIB_PUNT_FRAGS, .arrange = wan_sg },
	{ "a frame of several buffers goes to the kernel where the egress takes one (IPv6)",
	  PKT_IP6(LEN6(9000)), XFIB_PUNT_FRAGS, .arrange = wan_sg },
	{ "a frame in one buffer leaves through an egress that takes one", PKT_IP4(LEN4(2000)),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = wan_sg },
	{ "several buffers on a port that has none go to the kernel (IPv4)", PKT_IP4(LEN4(9000)),
	  XFIB_PUNT_IP4_HEADER, .leaf = NH_VIA(NEIGH_JUMBO_GW4) },
	{ "several buffers on a port that has none go to the kernel (IPv6)", PKT_IP6(LEN6(9000)),
	  XFIB_PUNT_IP6_HEADER, .leaf = NH_VIA(NEIGH_JUMBO_GW6) },
	{ "a total length beyond several buffers goes to the kernel",
	  PKT_IP4(LEN4(9000), .length_error = 1), XFIB_PUNT_IP4_HEADER,
	  .leaf = NH_VIA(NEIGH_JUMBO_GW4), .arrange = port_takes_frags },
	{ "the largest IPv6 packet goes to the kernel", PKT_IP6(LEN6(65575)), XFIB_PUNT_MTU,
	  .leaf = NH_VIA(NEIGH_JUMBO_GW6), .arrange = port_takes_frags },

	/* The kernel tracks connections: fragments are its own, of that family. */
	{ "a first IPv4 fragment goes to the kernel that tracks", PKT_IP4(.frag_off = 0x2000),
	  XFIB_PUNT_FRAGMENT, .arrange = lan_defrag4 },
	{ "a middle IPv4 fragment goes to the kernel that tracks", PKT_IP4(.frag_off = 0x2010),
	  XFIB_PUNT_FRAGMENT, .arrange = lan_defrag4 },
	{ "a last IPv4 fragment goes to the kernel that tracks", PKT_IP4(.frag_off = 0x0001),
	  XFIB_PUNT_FRAGMENT, .arrange = lan_defrag4 },
	{ "an IPv4 packet that must not be fragmented is none", PKT_IP4(.frag_off = 0x4000),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = lan_defrag4 },
	{ "the reserved flag makes no IPv4 fragment", PKT_IP4(.frag_off = 0x8000), XFIB_FORWARDED,
	  NEIGH_WAN_GW4, .arrange = lan_defrag4 },
	{ "an IPv4 fragment is forwarded where IPv6 alone is tracked", PKT_IP4(.frag_off = 0x2000),
	  XFIB_FORWARDED, NEIGH_WAN_GW4, .arrange = lan_defrag6 },
	{ "an IPv6 fragment goes to the kernel that tracks", PKT_IP6(.protocol = 44),
	  XFIB_PUNT_FRAGMENT, .arrange = lan_defrag6 },
	{ "a fragment may be behind a routing header", PKT_IP6(.protocol = 43), XFIB_PUNT_FRAGMENT,
	  .arrange = lan_defrag6 },
	{ "a fragment may be behind destination options", PKT_IP6(.protocol = 60),
	  XFIB_PUNT_FRAGMENT, .arrange = lan_defrag6 },
	{ "a fragment may be behind AH", PKT_IP6(.protocol = 51), XFIB_PUNT_FRAGMENT,
	  .arrange = lan_defrag6 },
	{ "no fragment is behind ESP", PKT_IP6(.protocol = 50), XFIB_FORWARDED, NEIGH_WAN_GW6,
	  .arrange = lan_defrag6 },
	{ "an IPv6 fragment is forwarded where IPv4 alone is tracked", PKT_IP6(.protocol = 44),
	  XFIB_FORWARDED, NEIGH_WAN_GW6, .arrange = lan_defrag4 },

	/* Padding and trailers. */
	{ "padding to 60 bytes is forwarded as it came (IPv4)",
	  PKT_IP4(.payload = 8, .trailer = 18), XFIB_FORWARDED, NEIGH_WAN_GW4 },
	{ "padding beyond 60 bytes goes to the kernel (IPv4)", PKT_IP4(.payload = 8, .trailer = 19),
	  XFIB_PUNT_TRAILER },
	{ "a trailer of one byte goes to the kernel (IPv4)", PKT_IP4(.trailer = 1),
	  XFIB_PUNT_TRAILER },
	{ "padding to 60 bytes is forwarded as it came (IPv6)", PKT_IP6(.payload = 1, .trailer = 5),
	  XFIB_FORWARDED, NEIGH_WAN_GW6 },
	{ "padding beyond 60 bytes goes to the kernel (IPv6)", PKT_IP6(.payload = 1, .trailer = 6),
	  XFIB_PUNT_TRAILER },
	{ "a trailer of one byte goes to the kernel (IPv6)", PKT_IP6(.trailer = 1),
	  XFIB_PUNT_TRAILER },
	{ "a trailer in another buffer goes to the kernel", PKT_IP4(LEN4(1000), .trailer = 4000),
	  XFIB_PUNT_TRAILER, .arrange = port_takes_frags },
};

/* --- running it -------------------------------------------------------------------------------- */

static bool seen[XFIB_VERDICT_MAX];

static void arrange(struct router *r, const struct golden *g)
{
	char prefix[64];

	router_reset(r);
	if (g->arrange)
		g->arrange(r);
	if (g->leaf) {
		snprintf(prefix, sizeof(prefix), "%s/%d", g->in.dst, g->in.version == 4 ? 32 : 128);
		router_route(r, prefix, g->leaf);
	}
}

static void test_row(void **state)
{
	const struct golden *g = *state;
	const struct pair *pair = pair_get();

	if (!g->attached_only) {
		arrange(pair->twin, g);
		expect(pair->twin, g->name, &g->in, g->verdict, g->via);
	}
	arrange(pair->attached, g);
	expect_attached(pair->attached, g->name, &g->in, g->verdict, g->via);
	seen[g->verdict] = true;
}

/* What `xfib lookup` shows: the leaf that decided, 0 before a route was looked for. */
static void test_leaf_of_the_twin(void **state)
{
	struct router *r = pair_get()->twin;
	struct pkt_spec routed = PKT_IP4(), own = PKT_IP6(.dst = "2001:db8:1::1"),
			nowhere = PKT_IP4(.dst = "8.8.8.8"), large = PKT_IP4(LEN4(1501)),
			expired = PKT_IP6(.ttl = 1);
	__u32 result;

	router_reset(r);
	result = expect(r, "routed", &routed, XFIB_FORWARDED, NEIGH_WAN_GW4);
	assert_int_equal(XFIB_TWIN_LEAF(result), NH_VIA(NEIGH_WAN_GW4));
	result = expect(r, "over the MTU", &large, XFIB_PUNT_MTU, 0);
	assert_int_equal(XFIB_TWIN_LEAF(result), NH_VIA(NEIGH_WAN_GW4));
	result = expect(r, "own address", &own, XFIB_PUNT_LOCAL, 0);
	assert_int_equal(XFIB_TWIN_LEAF(result), XFIB_PUNT_LOCAL);
	result = expect(r, "no route", &nowhere, XFIB_PUNT_NO_ROUTE, 0);
	assert_int_equal(XFIB_TWIN_LEAF(result), 0);
	result = expect(r, "expired", &expired, XFIB_PUNT_IP6_HOP_LIMIT, 0);
	assert_int_equal(XFIB_TWIN_LEAF(result), 0);

	/* The last id of adjacencies needs all sixteen bits. */
	r->nexthops[XFIB_NH_LAST] = r->nexthops[NH_VIA(NEIGH_WAN_GW4)];
	router_route(r, "198.51.100.7/32", XFIB_NH_LAST);
	result = expect(r, "the last leaf", &routed, XFIB_FORWARDED, NEIGH_WAN_GW4);
	assert_int_equal(XFIB_TWIN_LEAF(result), XFIB_NH_LAST);
}

static void test_every_verdict_has_a_packet(void **state)
{
	for (__u32 v = 0; v < XFIB_VERDICT_MAX; v++)
		if (!seen[v])
			fail_msg("no golden packet has the verdict %s", router_verdict_name(v));
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[sizeof(table) / sizeof(*table) + 2];
	size_t n = 0;

	if (expect_args(argc, argv))
		return 2;
	for (; n < sizeof(table) / sizeof(*table); n++)
		tests[n] = (struct CMUnitTest){
			.name = table[n].name,
			.test_func = test_row,
			.initial_state = (void *)&table[n],
		};
	tests[n++] = (struct CMUnitTest){ "the twin names the leaf that decided",
					  test_leaf_of_the_twin };
	tests[n] = (struct CMUnitTest){ "every verdict has a golden packet",
					test_every_verdict_has_a_packet };
	return cmocka_run_group_tests_name("golden", tests, pair_setup, pair_teardown);
}

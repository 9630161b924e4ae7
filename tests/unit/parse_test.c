/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rtnetlink messages, built by libmnl as the kernel builds them, through parse_message(). Each is
 * also parsed cut short at every length and moved off its alignment, by accepted() itself.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "netlink/parse.h"

static _Alignas(8) char buffer[64 << 10];
static struct event event;

/* --- building ---------------------------------------------------------------------------------- */

static struct nlmsghdr *message(__u16 type, const void *header, size_t len)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);

	nlh->nlmsg_type = type;
	memcpy(mnl_nlmsg_put_extra_header(nlh, len), header, len);
	return nlh;
}

#define MESSAGE(type, header, ...) \
	message(type, &(struct header){ __VA_ARGS__ }, sizeof(struct header))

static void put_addr(struct nlmsghdr *nlh, __u16 type, const char *text)
{
	int af = strchr(text, ':') ? AF_INET6 : AF_INET;
	__u8 bytes[16];

	assert_int_equal(inet_pton(af, text, bytes), 1);
	mnl_attr_put(nlh, type, af == AF_INET ? 4 : 16, bytes);
}

static void put_via(struct nlmsghdr *nlh, const char *text)
{
	struct {
		__u16 family;
		__u8 bytes[16];
	} via = { .family = AF_INET6 };

	assert_int_equal(inet_pton(AF_INET6, text, via.bytes), 1);
	mnl_attr_put(nlh, RTA_VIA, sizeof(via), &via);
}

static struct nlmsghdr *route4(void)
{
	return MESSAGE(RTM_NEWROUTE, rtmsg, .rtm_family = AF_INET, .rtm_dst_len = 24,
		       .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_BOOT,
		       .rtm_type = RTN_UNICAST);
}

/* One leg inside RTA_MULTIPATH; its length is set by leg_end(). */
static struct rtnexthop *leg_begin(struct nlmsghdr *nlh, int ifindex, __u8 hops, __u8 flags)
{
	struct rtnexthop *leg = mnl_nlmsg_get_payload_tail(nlh);

	*leg = (struct rtnexthop){ .rtnh_ifindex = ifindex,
				   .rtnh_hops = hops,
				   .rtnh_flags = flags };
	nlh->nlmsg_len += sizeof(*leg);
	return leg;
}

static void leg_end(struct nlmsghdr *nlh, struct rtnexthop *leg)
{
	leg->rtnh_len = (char *)mnl_nlmsg_get_payload_tail(nlh) - (char *)leg;
}

/* --- parsing ----------------------------------------------------------------------------------- */

static int parse(const struct nlmsghdr *nlh)
{
	const char *why = NULL;
	int ret = parse_message(nlh, nlh->nlmsg_len, &event, &why);

	assert_int_equal(ret == -EBADMSG, why != NULL);
	return ret;
}

/* A copy of the first len bytes at an odd address, right before the end of its allocation. */
static int parse_copy(const struct nlmsghdr *nlh, size_t len, __u32 claimed)
{
	char *copy = malloc(len + 1);
	const char *why = NULL;
	int ret;

	assert_non_null(copy);
	memcpy(copy + 1, nlh, len);
	if (len >= sizeof(claimed))
		memcpy(copy + 1, &claimed, sizeof(claimed));
	ret = parse_message((void *)(copy + 1), len, &event, &why);
	free(copy);
	return ret;
}

static const struct event *accepted(const struct nlmsghdr *nlh)
{
	for (__u32 len = 0; len < nlh->nlmsg_len; len++) {
		assert_int_equal(parse_copy(nlh, len, nlh->nlmsg_len), -EBADMSG);
		parse_copy(nlh, len, len);
	}
	assert_int_equal(parse_copy(nlh, nlh->nlmsg_len, nlh->nlmsg_len), 1);

	/* What a message does not carry must not be what was there before. */
	memset(&event, 0xa5, sizeof(event));
	assert_int_equal(parse(nlh), 1);
	return &event;
}

static void assert_addr(enum family f, struct addr a, const char *text)
{
	char buf[ADDR_STRLEN];

	assert_string_equal(addr_format(f, a, buf), text);
}

/* --- links ------------------------------------------------------------------------------------- */

static struct nlmsghdr *link_message(__u16 type, __u8 family, unsigned int flags)
{
	return MESSAGE(type, ifinfomsg, .ifi_family = family, .ifi_type = ARPHRD_ETHER,
		       .ifi_index = 7, .ifi_flags = flags);
}

static void a_bare_link_has_the_documented_defaults(void **state)
{
	const struct event *ev = accepted(link_message(RTM_NEWLINK, AF_UNSPEC, 0));
	const struct link_event *link = &ev->link;

	assert_int_equal(ev->kind, EVENT_LINK);
	assert_false(ev->del || ev->dump || ev->replace || ev->append);
	assert_int_equal(link->ifindex, 7);
	assert_string_equal(link->name, "");
	assert_false(link->partial || link->up || link->carrier);
	assert_true(link->ether);
	assert_int_equal(link->mac.len, 0);
	assert_int_equal(link->lower_nsid, -1);
	assert_int_equal(link->mtu | link->master | link->lower | link->vid | link->xdp_prog_id, 0);
	assert_string_equal(link->kind, "");
	assert_string_equal(link->slave_kind, "");
	assert_false(link->has_ip4_conf || link->has_ip6_conf);
	assert_int_equal(link->ip4.forwarding, -1);
	assert_int_equal(link->ip4.shared_media, -1);
	assert_int_equal(link->ip6.mtu, -1);
}

static void put_conf(struct nlmsghdr *nlh, int elements4, int elements6)
{
	struct nlattr *spec = mnl_attr_nest_start(nlh, IFLA_AF_SPEC), *family;
	int conf[64];

	for (int i = 0; i < 64; i++)
		conf[i] = 100 + i;
	family = mnl_attr_nest_start(nlh, AF_INET);
	mnl_attr_put(nlh, IFLA_INET_CONF, elements4 * sizeof(int), conf);
	mnl_attr_nest_end(nlh, family);
	family = mnl_attr_nest_start(nlh, AF_INET6);
	mnl_attr_put_u32(nlh, IFLA_INET6_FLAGS, 0);
	mnl_attr_put(nlh, IFLA_INET6_CONF, elements6 * sizeof(int), conf);
	mnl_attr_nest_end(nlh, family);
	mnl_attr_nest_end(nlh, spec);
}

static void a_link_tells_all_of_its_fields(void **state)
{
	struct nlmsghdr *nlh = link_message(RTM_NEWLINK, AF_UNSPEC, IFF_UP | IFF_LOWER_UP);
	struct nlattr *nest, *data;
	const struct link_event *link;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, "uplink.7");
	mnl_attr_put(nlh, IFLA_ADDRESS, 6, "\2\0\0\0\0\1");
	mnl_attr_put_u32(nlh, IFLA_MTU, 9000);
	mnl_attr_put_u32(nlh, IFLA_MASTER, 3);
	mnl_attr_put_u32(nlh, IFLA_LINK, 2);
	mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 5);
	nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vlan");
	mnl_attr_put_strz(nlh, IFLA_INFO_SLAVE_KIND, "vrf");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u16(nlh, IFLA_VLAN_ID, 42);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, nest);
	nest = mnl_attr_nest_start(nlh, IFLA_XDP);
	mnl_attr_put_u8(nlh, IFLA_XDP_ATTACHED, 1);
	mnl_attr_put_u32(nlh, IFLA_XDP_PROG_ID, 99);
	mnl_attr_nest_end(nlh, nest);
	put_conf(nlh, 33, 60);

	link = &accepted(nlh)->link;
	assert_string_equal(link->name, "uplink.7");
	assert_true(link->up && link->carrier && link->ether);
	assert_int_equal(link->mac.len, 6);
	assert_memory_equal(link->mac.bytes, "\2\0\0\0\0\1", 6);
	assert_int_equal(link->mtu, 9000);
	assert_int_equal(link->master, 3);
	assert_int_equal(link->lower, 2);
	assert_int_equal(link->lower_nsid, 5);
	assert_string_equal(link->kind, "vlan");
	assert_string_equal(link->slave_kind, "vrf");
	assert_int_equal(link->vid, 42);
	assert_int_equal(link->xdp_prog_id, 99);
	assert_true(link->has_ip4_conf && link->has_ip6_conf);
	assert_int_equal(link->ip4.forwarding, 100 + IPV4_DEVCONF_FORWARDING - 1);
	assert_int_equal(link->ip4.rp_filter, 100 + IPV4_DEVCONF_RP_FILTER - 1);
	assert_int_equal(link->ip4.accept_local, 100 + IPV4_DEVCONF_ACCEPT_LOCAL - 1);
	assert_int_equal(link->ip4.send_redirects, 100 + IPV4_DEVCONF_SEND_REDIRECTS - 1);
	assert_int_equal(link->ip4.route_localnet, 100 + IPV4_DEVCONF_ROUTE_LOCALNET - 1);
	assert_int_equal(link->ip4.bc_forwarding, 100 + IPV4_DEVCONF_BC_FORWARDING - 1);
	assert_int_equal(link->ip4.proxy_arp, 100 + IPV4_DEVCONF_PROXY_ARP - 1);
	assert_int_equal(link->ip4.shared_media, 100 + IPV4_DEVCONF_SHARED_MEDIA - 1);
	assert_int_equal(link->ip4.ignore_routes_with_linkdown,
			 100 + IPV4_DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN - 1);
	assert_int_equal(link->ip6.forwarding, 100 + DEVCONF_FORWARDING);
	assert_int_equal(link->ip6.disable, 100 + DEVCONF_DISABLE_IPV6);
	assert_int_equal(link->ip6.mtu, 100 + DEVCONF_MTU6);
}

static void an_older_kernel_has_shorter_arrays(void **state)
{
	struct nlmsghdr *nlh = link_message(RTM_NEWLINK, AF_UNSPEC, 0);
	const struct link_event *link;

	put_conf(nlh, IPV4_DEVCONF_BC_FORWARDING - 1, DEVCONF_DISABLE_IPV6);
	link = &accepted(nlh)->link;
	assert_int_equal(link->ip4.forwarding, 100);
	assert_int_equal(link->ip4.bc_forwarding, -1);
	assert_int_equal(link->ip6.forwarding, 100);
	assert_int_equal(link->ip6.disable, -1);
}

static void only_plain_ethernet_is_ether(void **state)
{
	static const struct {
		unsigned int flags;
		bool ether, carrier;
	} cases[] = {
		{ IFF_LOWER_UP, true, true },	   { IFF_LOWER_UP | IFF_DORMANT, true, false },
		{ IFF_NOARP, false, false },	   { IFF_LOOPBACK, false, false },
		{ IFF_POINTOPOINT, false, false },
	};
	struct nlmsghdr *nlh;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		nlh = link_message(RTM_NEWLINK, AF_UNSPEC, cases[i].flags);
		assert_int_equal(accepted(nlh)->link.ether, cases[i].ether);
		assert_int_equal(event.link.carrier, cases[i].carrier);
	}
	nlh = MESSAGE(RTM_NEWLINK, ifinfomsg, .ifi_type = ARPHRD_NONE, .ifi_index = 1);
	assert_false(accepted(nlh)->link.ether);
}

/* Of what makes a VLAN device more than a plain tag. */
static unsigned int vid_of_vlan(__u16 protocol, __u32 flags, bool egress_map)
{
	struct nlmsghdr *nlh = link_message(RTM_NEWLINK, AF_UNSPEC, 0);
	struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data, *map;
	const struct ifla_vlan_flags vlan_flags = { .flags = flags, .mask = ~0u };

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vlan");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u16(nlh, IFLA_VLAN_PROTOCOL, htons(protocol));
	mnl_attr_put_u16(nlh, IFLA_VLAN_ID, 42);
	mnl_attr_put(nlh, IFLA_VLAN_FLAGS, sizeof(vlan_flags), &vlan_flags);
	if (egress_map) {
		map = mnl_attr_nest_start(nlh, IFLA_VLAN_EGRESS_QOS);
		mnl_attr_nest_end(nlh, map);
	}
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return accepted(nlh)->link.vid;
}

static void only_a_plain_vlan_has_a_vid(void **state)
{
	assert_int_equal(vid_of_vlan(0x8100, VLAN_FLAG_REORDER_HDR, false), 42);
	assert_int_equal(vid_of_vlan(0x88a8, VLAN_FLAG_REORDER_HDR, false), 0);
	assert_int_equal(vid_of_vlan(0x8100, 0, false), 0);
	assert_int_equal(vid_of_vlan(0x8100, VLAN_FLAG_REORDER_HDR, true), 0);
}

static void a_long_lladdr_is_cut_but_keeps_its_length(void **state)
{
	struct nlmsghdr *nlh = link_message(RTM_NEWLINK, AF_UNSPEC, 0);

	mnl_attr_put(nlh, IFLA_ADDRESS, 20, "abcdefghijklmnopqrst");
	mnl_attr_put(nlh, IFLA_IFNAME, 24, "a-name-beyond-all-limits"); /* and no NUL */
	assert_int_equal(accepted(nlh)->link.mac.len, 20);
	assert_memory_equal(event.link.mac.bytes, "abcdefgh", 8);
	assert_string_equal(event.link.name, "a-name-beyond-a");
}

static void programs_in_several_modes_still_have_an_id(void **state)
{
	struct nlmsghdr *nlh = link_message(RTM_NEWLINK, AF_UNSPEC, 0);
	struct nlattr *xdp = mnl_attr_nest_start(nlh, IFLA_XDP);

	mnl_attr_put_u8(nlh, IFLA_XDP_ATTACHED, XDP_ATTACHED_MULTI);
	mnl_attr_put_u32(nlh, IFLA_XDP_SKB_PROG_ID, 11);
	mnl_attr_nest_end(nlh, xdp);
	assert_int_equal(accepted(nlh)->link.xdp_prog_id, 11);
}

static void ipv6s_link_message_is_partial(void **state)
{
	struct nlmsghdr *nlh = link_message(RTM_NEWLINK, AF_INET6, IFF_UP);
	struct nlattr *info;
	int conf[64] = { [DEVCONF_FORWARDING] = 1, [DEVCONF_MTU6] = 1400 };

	mnl_attr_put_strz(nlh, IFLA_IFNAME, "eth0");
	info = mnl_attr_nest_start(nlh, IFLA_PROTINFO);
	mnl_attr_put(nlh, IFLA_INET6_CONF, sizeof(conf), conf);
	mnl_attr_nest_end(nlh, info);
	assert_true(accepted(nlh)->link.partial);
	assert_int_equal(event.link.ifindex, 7);
	assert_true(event.link.has_ip6_conf);
	assert_false(event.link.has_ip4_conf);
	assert_int_equal(event.link.ip6.forwarding, 1);
	assert_int_equal(event.link.ip6.disable, 0);
	assert_int_equal(event.link.ip6.mtu, 1400);
}

static void a_device_that_loses_ipv6_is_not_deleted(void **state)
{
	assert_true(accepted(link_message(RTM_DELLINK, AF_INET6, 0))->link.partial);
	assert_false(event.del);
	assert_false(event.link.has_ip6_conf);
}

static void bridge_ports_and_wireless_events_are_no_links(void **state)
{
	struct nlmsghdr *nlh = link_message(RTM_NEWLINK, AF_UNSPEC, IFF_UP);

	mnl_attr_put_strz(nlh, IFLA_IFNAME, "wlan0");
	mnl_attr_put(nlh, IFLA_WIRELESS, 8, "\0\0\0\0\0\0\0");
	assert_int_equal(parse(nlh), 0);
	assert_int_equal(parse(link_message(RTM_NEWLINK, AF_BRIDGE, IFF_UP)), 0);
	assert_int_equal(parse(link_message(RTM_DELLINK, AF_BRIDGE, IFF_UP)), 0);
	assert_true(accepted(link_message(RTM_DELLINK, AF_UNSPEC, 0))->del);
}

/* --- addresses, rules --------------------------------------------------------------------------- */

static void the_local_end_of_a_peer_address_counts(void **state)
{
	struct nlmsghdr *nlh = MESSAGE(RTM_NEWADDR, ifaddrmsg, .ifa_family = AF_INET,
				       .ifa_prefixlen = 32, .ifa_index = 4);

	put_addr(nlh, IFA_LOCAL, "10.0.0.1");
	put_addr(nlh, IFA_ADDRESS, "10.0.0.2");
	assert_int_equal(accepted(nlh)->kind, EVENT_ADDR);
	assert_int_equal(event.addr.ifindex, 4);
	assert_int_equal(event.addr.prefixlen, 32);
	assert_addr(IP4, event.addr.addr, "10.0.0.1");
}

static void an_ipv6_address_has_no_local_attribute(void **state)
{
	struct nlmsghdr *nlh = MESSAGE(RTM_DELADDR, ifaddrmsg, .ifa_family = AF_INET6,
				       .ifa_prefixlen = 64, .ifa_index = 4);

	put_addr(nlh, IFA_ADDRESS, "2001:db8::1");
	assert_true(accepted(nlh)->del);
	assert_addr(IP6, event.addr.addr, "2001:db8::1");
}

static struct nlmsghdr *rule(__u32 priority, __u32 table)
{
	struct nlmsghdr *nlh =
		MESSAGE(RTM_NEWRULE, fib_rule_hdr, .family = AF_INET,
			.table = table < 256 ? table : RT_TABLE_COMPAT, .action = FR_ACT_TO_TBL);

	mnl_attr_put_u32(nlh, FRA_TABLE, table);
	mnl_attr_put_u32(nlh, FRA_SUPPRESS_PREFIXLEN, ~0u);
	mnl_attr_put_u8(nlh, FRA_PROTOCOL, RTPROT_KERNEL);
	if (priority)
		mnl_attr_put_u32(nlh, FRA_PRIORITY, priority);
	return nlh;
}

static void the_default_rules_are_not_selective(void **state)
{
	static const __u32 rules[][2] = {
		{ 0, 255 }, { 32766, 254 }, { 32767, 253 }, { 5, 70000 }
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		assert_false(accepted(rule(rules[i][0], rules[i][1]))->rule.selective);
		assert_int_equal(event.rule.priority, rules[i][0]);
		assert_int_equal(event.rule.table, rules[i][1]);
		assert_int_equal(event.rule.action, FR_ACT_TO_TBL);
	}
}

static void any_selector_makes_a_rule_selective(void **state)
{
	static const __u16 selectors[] = { FRA_FWMARK,	    FRA_FWMASK,	     FRA_FLOW,
					   FRA_TUN_ID,	    FRA_GOTO,	     FRA_UID_RANGE,
					   FRA_SPORT_RANGE, FRA_DPORT_RANGE, 500 };
	struct fib_rule_hdr *header;
	struct nlmsghdr *nlh;

	for (size_t i = 0; i < sizeof(selectors) / sizeof(*selectors); i++) {
		nlh = rule(100, 254);
		mnl_attr_put_u64(nlh, selectors[i], 1);
		assert_true(accepted(nlh)->rule.selective);
	}
	nlh = rule(100, 254);
	mnl_attr_put_strz(nlh, FRA_IIFNAME, "eth0");
	assert_true(accepted(nlh)->rule.selective);
	nlh = rule(100, 254);
	mnl_attr_put_u8(nlh, FRA_L3MDEV, 1);
	assert_true(accepted(nlh)->rule.selective);
	nlh = rule(100, 254);
	mnl_attr_put_u32(nlh, FRA_SUPPRESS_PREFIXLEN, 0);
	assert_true(accepted(nlh)->rule.selective);
	nlh = rule(100, 254);
	header = mnl_nlmsg_get_payload(nlh);
	header->tos = 16;
	assert_true(accepted(nlh)->rule.selective);
	nlh = rule(100, 254);
	header = mnl_nlmsg_get_payload(nlh);
	header->flags = FIB_RULE_INVERT;
	assert_true(accepted(nlh)->rule.selective);
	nlh = rule(100, 254);
	header = mnl_nlmsg_get_payload(nlh);
	header->src_len = 8;
	put_addr(nlh, FRA_SRC, "10.0.0.0");
	assert_true(accepted(nlh)->rule.selective);
}

/* --- routes ------------------------------------------------------------------------------------- */

static void a_route_with_one_leg(void **state)
{
	struct nlmsghdr *nlh = route4();
	const struct route_event *route = &event.route;

	put_addr(nlh, RTA_DST, "192.0.2.0");
	mnl_attr_put_u32(nlh, RTA_PRIORITY, 20);
	put_addr(nlh, RTA_GATEWAY, "10.0.0.1");
	mnl_attr_put_u32(nlh, RTA_OIF, 3);
	nlh->nlmsg_flags = NLM_F_REPLACE;
	assert_int_equal(accepted(nlh)->kind, EVENT_ROUTE);
	assert_true(event.replace);
	assert_false(event.append || event.del);
	assert_addr(IP4, route->dst, "192.0.2.0");
	assert_int_equal(route->dst_len, 24);
	assert_int_equal(route->src_len, 0);
	assert_int_equal(route->table, RT_TABLE_MAIN);
	assert_int_equal(route->priority, 20);
	assert_int_equal(route->type, RTN_UNICAST);
	assert_int_equal(route->protocol, RTPROT_BOOT);
	assert_int_equal(route->nhid | route->mtu, 0);
	assert_false(route->multipath || route->truncated || route->pref_expires ||
		     route->mtu_lock || route->cloned);
	assert_int_equal(route->legs, 1);
	assert_int_equal(route->leg[0].ifindex, 3);
	assert_true(route->leg[0].has_gateway);
	assert_int_equal(route->leg[0].gateway_family, IP4);
	assert_addr(IP4, route->leg[0].gateway, "10.0.0.1");
	assert_int_equal(route->leg[0].weight, 1);
	assert_int_equal(route->leg[0].flags, 0);
	assert_false(route->leg[0].encap);
}

static void a_route_without_a_device_has_no_leg(void **state)
{
	struct nlmsghdr *nlh = MESSAGE(RTM_NEWROUTE, rtmsg, .rtm_family = AF_INET,
				       .rtm_type = RTN_BLACKHOLE, .rtm_table = RT_TABLE_MAIN);

	assert_int_equal(accepted(nlh)->route.legs, 0);
	assert_int_equal(event.route.type, RTN_BLACKHOLE);
	assert_int_equal(event.route.dst_len, 0);
	assert_true(addr_is_zero(event.route.dst));
}

static void a_gateway_of_the_other_family_keeps_it(void **state)
{
	struct nlmsghdr *nlh = route4();

	put_addr(nlh, RTA_DST, "192.0.2.0");
	put_via(nlh, "fe80::1");
	mnl_attr_put_u32(nlh, RTA_OIF, 3);
	assert_int_equal(accepted(nlh)->route.legs, 1);
	assert_int_equal(event.route.leg[0].gateway_family, IP6);
	assert_addr(IP6, event.route.leg[0].gateway, "fe80::1");
}

static void a_multipath_route_keeps_weights_and_flags(void **state)
{
	struct nlmsghdr *nlh = route4();
	struct nlattr *multipath;
	struct rtnexthop *leg;
	const struct route_event *route = &event.route;

	put_addr(nlh, RTA_DST, "192.0.2.0");
	multipath = mnl_attr_nest_start(nlh, RTA_MULTIPATH);
	leg = leg_begin(nlh, 3, 0, 0);
	put_addr(nlh, RTA_GATEWAY, "10.0.0.1");
	leg_end(nlh, leg);
	leg = leg_begin(nlh, 4, 255, RTNH_F_DEAD | RTNH_F_LINKDOWN);
	put_via(nlh, "fe80::2");
	leg_end(nlh, leg);
	leg = leg_begin(nlh, 5, 9, 0);
	mnl_attr_put_u16(nlh, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_MPLS);
	leg_end(nlh, leg);
	mnl_attr_nest_end(nlh, multipath);

	assert_true(accepted(nlh)->route.multipath);
	assert_int_equal(route->legs, 3);
	assert_int_equal(route->leg[0].ifindex, 3);
	assert_int_equal(route->leg[0].weight, 1);
	assert_addr(IP4, route->leg[0].gateway, "10.0.0.1");
	assert_int_equal(route->leg[1].weight, 256);
	assert_int_equal(route->leg[1].flags, RTNH_F_DEAD | RTNH_F_LINKDOWN);
	assert_addr(IP6, route->leg[1].gateway, "fe80::2");
	assert_false(route->leg[2].has_gateway);
	assert_true(route->leg[2].encap);
	assert_int_equal(route->leg[2].weight, 10);
}

static void more_legs_than_fit_are_said_to_be(void **state)
{
	for (int legs = NEXTHOP_LEGS_MAX; legs <= NEXTHOP_LEGS_MAX + 1; legs++) {
		struct nlmsghdr *nlh = route4();
		struct nlattr *multipath = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

		for (int i = 0; i < legs; i++)
			leg_end(nlh, leg_begin(nlh, i + 1, 0, 0));
		mnl_attr_nest_end(nlh, multipath);
		put_addr(nlh, RTA_DST, "192.0.2.0");
		assert_int_equal(parse(nlh), 1);
		assert_int_equal(event.route.legs, NEXTHOP_LEGS_MAX);
		assert_int_equal(event.route.truncated, legs > NEXTHOP_LEGS_MAX);
	}
}

static void a_broken_leg_is_malformed(void **state)
{
	static const __u16 lengths[] = { 0, 7, 9, 0xffff };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct nlmsghdr *nlh = route4();
		struct nlattr *multipath = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

		leg_begin(nlh, 3, 0, 0)->rtnh_len = lengths[i];
		mnl_attr_nest_end(nlh, multipath);
		assert_int_equal(parse(nlh), -EBADMSG);
	}
}

static void table_metrics_and_nexthop_id(void **state)
{
	struct nlmsghdr *nlh = MESSAGE(
		RTM_NEWROUTE, rtmsg, .rtm_family = AF_INET6, .rtm_dst_len = 48, .rtm_src_len = 32,
		.rtm_table = RT_TABLE_COMPAT, .rtm_type = RTN_UNICAST, .rtm_flags = RTNH_F_ONLINK);
	const struct rta_cacheinfo cache = { .rta_expires = 100 };
	const struct route_event *route = &event.route;
	struct nlattr *metrics;

	put_addr(nlh, RTA_DST, "2001:db8:1::");
	put_addr(nlh, RTA_SRC, "2001:db8::");
	mnl_attr_put_u32(nlh, RTA_TABLE, 100000);
	metrics = mnl_attr_nest_start(nlh, RTA_METRICS);
	mnl_attr_put_u32(nlh, RTAX_LOCK, 1 << RTAX_MTU);
	mnl_attr_put_u32(nlh, RTAX_MTU, 1400);
	mnl_attr_nest_end(nlh, metrics);
	mnl_attr_put_u32(nlh, RTA_NH_ID, 77);
	mnl_attr_put_u32(nlh, RTA_OIF, 3);
	mnl_attr_put(nlh, RTA_CACHEINFO, sizeof(cache), &cache);
	assert_int_equal(accepted(nlh)->route.table, 100000);
	assert_addr(IP6, route->dst, "2001:db8:1::");
	assert_addr(IP6, route->src, "2001:db8::");
	assert_int_equal(route->src_len, 32);
	assert_int_equal(route->mtu, 1400);
	assert_true(route->mtu_lock);
	assert_true(route->pref_expires);
	assert_int_equal(route->nhid, 77);
	assert_int_equal(route->leg[0].flags, RTNH_F_ONLINK);
}

static void host_bits_of_a_destination_do_not_count(void **state)
{
	struct nlmsghdr *nlh = route4();

	put_addr(nlh, RTA_DST, "192.0.2.77");
	assert_addr(IP4, accepted(nlh)->route.dst, "192.0.2.0");
}

static void a_cached_route_is_an_answer_but_no_event(void **state)
{
	struct nlmsghdr *nlh =
		MESSAGE(RTM_NEWROUTE, rtmsg, .rtm_family = AF_INET, .rtm_dst_len = 32,
			.rtm_type = RTN_UNICAST, .rtm_flags = RTM_F_CLONED);
	const char *why;

	put_addr(nlh, RTA_DST, "192.0.2.1");
	assert_int_equal(parse(nlh), 0);
	assert_int_equal(parse_answer(nlh, nlh->nlmsg_len, &event, &why), 1);
	assert_true(event.route.cloned);
}

static void lengths_beyond_the_family_are_malformed(void **state)
{
	struct nlmsghdr *nlh;

	nlh = MESSAGE(RTM_NEWROUTE, rtmsg, .rtm_family = AF_INET, .rtm_dst_len = 33);
	assert_int_equal(parse(nlh), -EBADMSG);
	nlh = MESSAGE(RTM_NEWROUTE, rtmsg, .rtm_family = AF_INET6, .rtm_src_len = 129);
	assert_int_equal(parse(nlh), -EBADMSG);
	nlh = route4();
	put_addr(nlh, RTA_DST, "2001:db8::"); /* 16 bytes in an IPv4 route */
	assert_int_equal(parse(nlh), -EBADMSG);
	nlh = route4();
	mnl_attr_put_u16(nlh, RTA_OIF, 1);
	assert_int_equal(parse(nlh), -EBADMSG);
}

/* --- nexthops, neighbours, netconf -------------------------------------------------------------- */

static void a_nexthop_with_a_gateway(void **state)
{
	struct nlmsghdr *nlh = MESSAGE(RTM_NEWNEXTHOP, nhmsg, .nh_family = AF_INET6,
				       .nh_flags = RTNH_F_ONLINK | RTNH_F_DEAD);
	const struct nexthop_event *nh = &event.nexthop;

	mnl_attr_put_u32(nlh, NHA_ID, 12);
	mnl_attr_put_u32(nlh, NHA_OIF, 3);
	put_addr(nlh, NHA_GATEWAY, "fe80::1");
	assert_int_equal(accepted(nlh)->kind, EVENT_NEXTHOP);
	assert_int_equal(nh->id, 12);
	assert_int_equal(nh->family, IP6);
	assert_false(nh->group || nh->resilient || nh->blackhole || nh->fdb || nh->truncated);
	assert_int_equal(nh->members, 0);
	assert_int_equal(nh->leg.ifindex, 3);
	assert_int_equal(nh->leg.flags, RTNH_F_ONLINK | RTNH_F_DEAD);
	assert_int_equal(nh->leg.weight, 1);
	assert_addr(IP6, nh->leg.gateway, "fe80::1");
}

static void a_nexthop_group_has_sixteen_bit_weights(void **state)
{
	struct nlmsghdr *nlh = MESSAGE(RTM_NEWNEXTHOP, nhmsg, .nh_family = AF_UNSPEC);
	static const struct {
		__u32 id;
		__u8 weight, weight_high;
		__u16 reserved;
	} members[] = { { 1, 0, 0, 0 }, { 2, 255, 0, 0 }, { 3, 255, 255, 0 } };
	const struct nexthop_event *nh = &event.nexthop;

	mnl_attr_put_u32(nlh, NHA_ID, 50);
	mnl_attr_put_u16(nlh, NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES);
	mnl_attr_put(nlh, NHA_GROUP, sizeof(members), members);
	assert_true(accepted(nlh)->nexthop.group);
	assert_true(nh->resilient);
	assert_int_equal(nh->members, 3);
	assert_int_equal(nh->member[0].id, 1);
	assert_int_equal(nh->member[0].weight, 1);
	assert_int_equal(nh->member[1].weight, 256);
	assert_int_equal(nh->member[2].weight, 65536);
}

static void blackhole_fdb_and_encap_nexthops(void **state)
{
	struct nlmsghdr *nlh = MESSAGE(RTM_DELNEXTHOP, nhmsg, .nh_family = AF_INET);

	mnl_attr_put_u32(nlh, NHA_ID, 1);
	mnl_attr_put(nlh, NHA_BLACKHOLE, 0, NULL);
	mnl_attr_put(nlh, NHA_FDB, 0, NULL);
	mnl_attr_put_u16(nlh, NHA_ENCAP_TYPE, LWTUNNEL_ENCAP_SEG6);
	assert_true(accepted(nlh)->del);
	assert_true(event.nexthop.blackhole && event.nexthop.fdb && event.nexthop.leg.encap);
}

static void broken_nexthops_are_malformed(void **state)
{
	struct nlmsghdr *nlh = MESSAGE(RTM_NEWNEXTHOP, nhmsg, .nh_family = AF_INET);

	assert_int_equal(parse(nlh), -EBADMSG); /* no id */
	mnl_attr_put_u32(nlh, NHA_ID, 1);
	assert_int_equal(parse(nlh), 1);
	mnl_attr_put(nlh, NHA_GROUP, 9, "12345678");
	assert_int_equal(parse(nlh), -EBADMSG);
}

static struct nlmsghdr *neigh(__u8 family, __u8 flags)
{
	return MESSAGE(RTM_NEWNEIGH, ndmsg, .ndm_family = family, .ndm_ifindex = 6,
		       .ndm_state = NUD_STALE, .ndm_flags = flags);
}

static void a_neighbour_tells_when_it_was_used(void **state)
{
	struct nlmsghdr *nlh = neigh(AF_INET, NTF_ROUTER);
	struct nda_cacheinfo cache = { .ndm_used = 123 };

	put_addr(nlh, NDA_DST, "10.0.0.9");
	mnl_attr_put(nlh, NDA_LLADDR, 6, "\2\0\0\0\0\11");
	mnl_attr_put(nlh, NDA_CACHEINFO, sizeof(cache), &cache);
	mnl_attr_put_u32(nlh, NDA_FLAGS_EXT, NTF_EXT_MANAGED);
	assert_int_equal(accepted(nlh)->kind, EVENT_NEIGH);
	assert_int_equal(event.neigh.ifindex, 6);
	assert_addr(IP4, event.neigh.addr, "10.0.0.9");
	assert_int_equal(event.neigh.mac.len, 6);
	assert_int_equal(event.neigh.state, NUD_STALE);
	assert_int_equal(event.neigh.flags, NTF_ROUTER | NTF_EXT_MANAGED << 16);
	assert_false(event.neigh.proxy);
	assert_int_equal(event.neigh.used_ms, 1230);

	nlh = neigh(AF_INET, 0);
	put_addr(nlh, NDA_DST, "10.0.0.9");
	cache.ndm_used = ~0u;
	mnl_attr_put(nlh, NDA_CACHEINFO, sizeof(cache), &cache);
	assert_int_equal(accepted(nlh)->neigh.used_ms, ~0u);
	assert_int_equal(event.neigh.mac.len, 0);
}

static void proxied_and_bridged_neighbours(void **state)
{
	struct nlmsghdr *nlh = neigh(AF_INET6, NTF_PROXY);

	put_addr(nlh, NDA_DST, "2001:db8::9");
	assert_true(accepted(nlh)->neigh.proxy);
	assert_int_equal(event.neigh.family, IP6);
	assert_int_equal(event.neigh.used_ms, 0);

	nlh = neigh(AF_BRIDGE, 0);
	mnl_attr_put(nlh, NDA_LLADDR, 6, "\2\0\0\0\0\11");
	assert_int_equal(parse(nlh), 0);
	assert_int_equal(parse(neigh(AF_INET, 0)), -EBADMSG); /* no address */
}

static void netconf_has_only_what_was_sent(void **state)
{
	struct nlmsghdr *nlh = MESSAGE(RTM_NEWNETCONF, netconfmsg, .ncm_family = AF_INET);

	assert_int_equal(parse(nlh), -EBADMSG); /* no interface */
	mnl_attr_put_u32(nlh, NETCONFA_IFINDEX, NETCONFA_IFINDEX_ALL);
	mnl_attr_put_u32(nlh, NETCONFA_FORWARDING, 1);
	assert_int_equal(accepted(nlh)->kind, EVENT_NETCONF);
	assert_int_equal(event.netconf.ifindex, NETCONF_ALL);
	assert_int_equal(event.netconf.forwarding, 1);
	assert_int_equal(event.netconf.rp_filter, -1);
	assert_int_equal(event.netconf.proxy_neigh, -1);
	assert_int_equal(event.netconf.ignore_linkdown, -1);
	assert_int_equal(NETCONF_DEFAULT, NETCONFA_IFINDEX_DEFAULT);
}

/* --- all messages -------------------------------------------------------------------------------- */

static void other_messages_are_of_no_interest(void **state)
{
	static const __u16 types[] = { NLMSG_NOOP,	     NLMSG_DONE,    NLMSG_ERROR,
				       RTM_GETNEIGH,	     RTM_NEWTCLASS, RTM_NEWPREFIX,
				       RTM_NEWNEXTHOPBUCKET, 0xffff };
	struct nlmsghdr *nlh;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		assert_int_equal(parse(message(types[i], "", 1)), 0);
	nlh = MESSAGE(RTM_NEWROUTE, rtmsg, .rtm_family = RTNL_FAMILY_IPMR, .rtm_dst_len = 200);
	assert_int_equal(parse(nlh), 0);
	nlh = MESSAGE(RTM_NEWNETCONF, netconfmsg, .ncm_family = AF_MPLS);
	assert_int_equal(parse(nlh), 0);
}

static void a_broken_attribute_is_malformed(void **state)
{
	static const __u16 lengths[] = { 0, 1, 3, 100, 0xffff };
	struct nlmsghdr *nlh;
	struct nlattr *a;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		nlh = route4();
		a = mnl_nlmsg_get_payload_tail(nlh);
		mnl_attr_put_u32(nlh, RTA_OIF, 3);
		a->nla_len = lengths[i];
		assert_int_equal(parse(nlh), -EBADMSG);
	}
}

static void an_unknown_attribute_is_skipped(void **state)
{
	struct nlmsghdr *nlh = route4();

	mnl_attr_put(nlh, 900, 5, "odd!");
	mnl_attr_put_u32(nlh, RTA_OIF | NLA_F_NET_BYTEORDER, 3);
	assert_int_equal(accepted(nlh)->route.leg[0].ifindex, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bare_link_has_the_documented_defaults),
		cmocka_unit_test(a_link_tells_all_of_its_fields),
		cmocka_unit_test(an_older_kernel_has_shorter_arrays),
		cmocka_unit_test(only_plain_ethernet_is_ether),
		cmocka_unit_test(only_a_plain_vlan_has_a_vid),
		cmocka_unit_test(a_long_lladdr_is_cut_but_keeps_its_length),
		cmocka_unit_test(programs_in_several_modes_still_have_an_id),
		cmocka_unit_test(ipv6s_link_message_is_partial),
		cmocka_unit_test(a_device_that_loses_ipv6_is_not_deleted),
		cmocka_unit_test(bridge_ports_and_wireless_events_are_no_links),
		cmocka_unit_test(the_local_end_of_a_peer_address_counts),
		cmocka_unit_test(an_ipv6_address_has_no_local_attribute),
		cmocka_unit_test(the_default_rules_are_not_selective),
		cmocka_unit_test(any_selector_makes_a_rule_selective),
		cmocka_unit_test(a_route_with_one_leg),
		cmocka_unit_test(a_route_without_a_device_has_no_leg),
		cmocka_unit_test(a_gateway_of_the_other_family_keeps_it),
		cmocka_unit_test(a_multipath_route_keeps_weights_and_flags),
		cmocka_unit_test(more_legs_than_fit_are_said_to_be),
		cmocka_unit_test(a_broken_leg_is_malformed),
		cmocka_unit_test(table_metrics_and_nexthop_id),
		cmocka_unit_test(host_bits_of_a_destination_do_not_count),
		cmocka_unit_test(a_cached_route_is_an_answer_but_no_event),
		cmocka_unit_test(lengths_beyond_the_family_are_malformed),
		cmocka_unit_test(a_nexthop_with_a_gateway),
		cmocka_unit_test(a_nexthop_group_has_sixteen_bit_weights),
		cmocka_unit_test(blackhole_fdb_and_encap_nexthops),
		cmocka_unit_test(broken_nexthops_are_malformed),
		cmocka_unit_test(a_neighbour_tells_when_it_was_used),
		cmocka_unit_test(proxied_and_bridged_neighbours),
		cmocka_unit_test(netconf_has_only_what_was_sent),
		cmocka_unit_test(other_messages_are_of_no_interest),
		cmocka_unit_test(a_broken_attribute_is_malformed),
		cmocka_unit_test(an_unknown_attribute_is_skipped),
	};

	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}

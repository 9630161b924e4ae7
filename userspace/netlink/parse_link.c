/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Links: the device as a whole, and IPv6's own view of it.
 */
#include <endian.h>
#include <net/if.h> /* before linux/if.h, which then leaves out what they share */
#include <net/if_arp.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "attr.h"

enum { ETHERTYPE_8021Q = 0x8100 };

/* Element n of an array of 32-bit integers, -1 if it is too short for that. */
static int array_get(const struct attr *a, unsigned int n)
{
	int value;

	if (a->payload.len / sizeof(value) <= n)
		return -1;
	memcpy(&value, a->payload.data + n * sizeof(value), sizeof(value));
	return value;
}

/* A VLAN device that is more than a plain 802.1Q tag keeps vid 0. */
static void parse_vlan(struct span data, struct link_event *link, const char **why)
{
	struct ifla_vlan_flags flags = { .flags = VLAN_FLAG_REORDER_HDR };
	__u16 vid = 0, protocol = htobe16(ETHERTYPE_8021Q);
	bool egress_map = false;
	struct attr a;

	for_each_attr(&a, data, why) {
		switch (a.type) {
		case IFLA_VLAN_ID:
			vid = get_u16(&a, why);
			break;
		case IFLA_VLAN_FLAGS:
			get(&a, &flags, sizeof(flags), why);
			break;
		case IFLA_VLAN_PROTOCOL:
			protocol = get_u16(&a, why);
			break;
		case IFLA_VLAN_EGRESS_QOS:
			egress_map = true;
			break;
		}
	}
	if (protocol == htobe16(ETHERTYPE_8021Q) && flags.flags & VLAN_FLAG_REORDER_HDR &&
	    !egress_map)
		link->vid = vid;
}

static void parse_linkinfo(struct span info, struct link_event *link, const char **why)
{
	struct span data = {};
	struct attr a;

	for_each_attr(&a, info, why) {
		switch (a.type) {
		case IFLA_INFO_KIND:
			get_name(&a, link->kind, sizeof(link->kind));
			break;
		case IFLA_INFO_SLAVE_KIND:
			get_name(&a, link->slave_kind, sizeof(link->slave_kind));
			break;
		case IFLA_INFO_DATA:
			data = a.payload;
			break;
		}
	}
	if (!strcmp(link->kind, "vlan"))
		parse_vlan(data, link, why);
}

/* With programs in several modes there is no IFLA_XDP_PROG_ID, but one attribute for each mode. */
static void parse_xdp(struct span xdp, struct link_event *link, const char **why)
{
	struct attr a;

	for_each_attr(&a, xdp, why) {
		switch (a.type) {
		case IFLA_XDP_PROG_ID:
		case IFLA_XDP_DRV_PROG_ID:
		case IFLA_XDP_SKB_PROG_ID:
		case IFLA_XDP_HW_PROG_ID:
			if (!link->xdp_prog_id)
				link->xdp_prog_id = get_u32(&a, why);
			break;
		}
	}
}

static void parse_inet(struct span inet, struct link_event *link, const char **why)
{
	struct ip4_conf *c = &link->ip4;
	struct attr a;

	for_each_attr(&a, inet, why) {
		if (a.type != IFLA_INET_CONF)
			continue;
		/* The kernel leaves out the unused index 0. */
		c->forwarding = array_get(&a, IPV4_DEVCONF_FORWARDING - 1);
		c->rp_filter = array_get(&a, IPV4_DEVCONF_RP_FILTER - 1);
		c->accept_local = array_get(&a, IPV4_DEVCONF_ACCEPT_LOCAL - 1);
		c->send_redirects = array_get(&a, IPV4_DEVCONF_SEND_REDIRECTS - 1);
		c->route_localnet = array_get(&a, IPV4_DEVCONF_ROUTE_LOCALNET - 1);
		c->bc_forwarding = array_get(&a, IPV4_DEVCONF_BC_FORWARDING - 1);
		c->proxy_arp = array_get(&a, IPV4_DEVCONF_PROXY_ARP - 1);
		c->ignore_routes_with_linkdown =
			array_get(&a, IPV4_DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN - 1);
		c->shared_media = array_get(&a, IPV4_DEVCONF_SHARED_MEDIA - 1);
		link->has_ip4_conf = true;
	}
}

static void parse_inet6(struct span inet6, struct link_event *link, const char **why)
{
	struct attr a;

	for_each_attr(&a, inet6, why) {
		if (a.type != IFLA_INET6_CONF)
			continue;
		link->ip6.forwarding = array_get(&a, DEVCONF_FORWARDING);
		link->ip6.disable = array_get(&a, DEVCONF_DISABLE_IPV6);
		link->ip6.mtu = array_get(&a, DEVCONF_MTU6);
		link->has_ip6_conf = true;
	}
}

static void parse_af_spec(struct span families, struct link_event *link, const char **why)
{
	struct attr a;

	for_each_attr(&a, families, why) {
		if (a.type == AF_INET)
			parse_inet(a.payload, link, why);
		else if (a.type == AF_INET6)
			parse_inet6(a.payload, link, why);
	}
}

static void init_link(struct link_event *link, const struct ifinfomsg *ifi)
{
	static const struct link_event none = {
		.lower_nsid = -1,
		.ip4 = { -1, -1, -1, -1, -1, -1, -1, -1, -1 },
		.ip6 = { -1, -1, -1 },
	};
	unsigned int flags = ifi->ifi_flags;

	*link = none;
	link->ifindex = ifi->ifi_index;
	link->up = flags & IFF_UP;
	link->carrier = flags & IFF_LOWER_UP && !(flags & IFF_DORMANT);
	link->ether = ifi->ifi_type == ARPHRD_ETHER &&
		      !(flags & (IFF_NOARP | IFF_LOOPBACK | IFF_POINTOPOINT));
}

/*
 * IPv6's own view of a link, sent when its settings change. It also says RTM_DELLINK, when the
 * device loses IPv6: that is no news about the device.
 */
static bool parse_link6(struct span msg, struct event *ev, const char **why)
{
	struct link_event *link = &ev->link;
	struct attr a;

	link->partial = true;
	if (ev->del) {
		ev->del = false;
		return true;
	}
	for_each_attr(&a, msg, why) {
		if (a.type == IFLA_PROTINFO)
			parse_inet6(a.payload, link, why);
	}
	return true;
}

bool parse_link(struct span msg, struct event *ev, const char **why)
{
	struct link_event *link = &ev->link;
	struct ifinfomsg ifi;
	bool wireless = false;
	struct attr a;

	ev->kind = EVENT_LINK;
	if (!take_header(&msg, &ifi, sizeof(ifi), why))
		return false;
	init_link(link, &ifi);
	if (ifi.ifi_family == AF_INET6)
		return parse_link6(msg, ev, why);
	if (ifi.ifi_family != AF_UNSPEC)
		return false;

	for_each_attr(&a, msg, why) {
		switch (a.type) {
		case IFLA_IFNAME:
			get_name(&a, link->name, sizeof(link->name));
			break;
		case IFLA_ADDRESS:
			get_lladdr(&a, &link->mac);
			break;
		case IFLA_MTU:
			link->mtu = get_u32(&a, why);
			break;
		case IFLA_MASTER:
			link->master = get_u32(&a, why);
			break;
		case IFLA_LINK:
			link->lower = get_u32(&a, why);
			break;
		case IFLA_LINK_NETNSID:
			link->lower_nsid = get_u32(&a, why);
			break;
		case IFLA_LINKINFO:
			parse_linkinfo(a.payload, link, why);
			break;
		case IFLA_XDP:
			parse_xdp(a.payload, link, why);
			break;
		case IFLA_AF_SPEC:
			parse_af_spec(a.payload, link, why);
			break;
		case IFLA_WIRELESS:
			wireless = true;
			break;
		}
	}
	/* A wireless event has the header and name of its device and nothing else about it. */
	return !wireless;
}

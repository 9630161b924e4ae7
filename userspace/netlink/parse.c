/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rtnetlink bytes -> events. Every byte is read through struct attr, which knows its length, and by
 * memcpy(), so that neither truncated nor unaligned input matters (mnl_attr_*() want both right).
 * Errors stick: a getter that finds its attribute too short sets *why and returns 0, and
 * parse_message() looks at *why once, at the end. Attributes that we do not know are skipped, since
 * kernels grow new ones; only in a rule they count, for each may be a selector.
 *
 * struct event is large because of its legs; nothing here clears more of it than it uses.
 */
#include <endian.h>
#include <errno.h>
#include <net/if.h> /* before linux/if.h, which then leaves out what they share */
#include <net/if_arp.h>
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
#include <string.h>

#include "parse.h"

enum { ETHERTYPE_8021Q = 0x8100 };

struct span {
	const __u8 *data;
	size_t len;
};

struct attr {
	unsigned int type;
	struct span payload;
};

static void fail(const char **why, const char *reason)
{
	if (!*why)
		*why = reason;
}

/* The next attribute, cut off `rest`. Less than a header left over is padding, as for the kernel. */
static bool next_attr(struct span *rest, struct attr *a, const char **why)
{
	struct nlattr header;
	size_t step;

	if (rest->len < sizeof(header))
		return false;
	memcpy(&header, rest->data, sizeof(header));
	if (header.nla_len < sizeof(header) || header.nla_len > rest->len) {
		fail(why, "attribute length out of bounds");
		return false;
	}

	a->type = header.nla_type & NLA_TYPE_MASK;
	a->payload.data = rest->data + NLA_HDRLEN;
	a->payload.len = header.nla_len - NLA_HDRLEN;

	step = NLA_ALIGN(header.nla_len);
	if (step > rest->len)
		step = rest->len;
	rest->data += step;
	rest->len -= step;
	return true;
}

#define for_each_attr(a, attrs, why) \
	for (struct span rest_ = (attrs); next_attr(&rest_, (a), (why));)

/* The attribute's first `len` bytes; structs grow at their end, so it may be longer. */
static bool get(const struct attr *a, void *value, size_t len, const char **why)
{
	if (a->payload.len < len) {
		fail(why, "attribute shorter than its type");
		return false;
	}
	memcpy(value, a->payload.data, len);
	return true;
}

static __u16 get_u16(const struct attr *a, const char **why)
{
	__u16 value = 0;

	get(a, &value, sizeof(value), why);
	return value;
}

static __u32 get_u32(const struct attr *a, const char **why)
{
	__u32 value = 0;

	get(a, &value, sizeof(value), why);
	return value;
}

static struct addr get_addr(const struct attr *a, enum family f, const char **why)
{
	if (a->payload.len != family_bits(f) / 8) {
		fail(why, "address of a wrong length");
		return (struct addr){};
	}
	return addr_from_bytes(f, a->payload.data);
}

/* A name, cut to fit; the kernel's end with a NUL byte, but that is not relied on. */
static void get_name(const struct attr *a, char *name, size_t size)
{
	size_t len = strnlen((const char *)a->payload.data, a->payload.len);

	if (len >= size)
		len = size - 1;
	memcpy(name, a->payload.data, len);
	name[len] = '\0';
}

static void get_lladdr(const struct attr *a, struct lladdr *mac)
{
	size_t len = a->payload.len;

	*mac = (struct lladdr){ .len = len < 255 ? len : 255 };
	memcpy(mac->bytes, a->payload.data, len < sizeof(mac->bytes) ? len : sizeof(mac->bytes));
}

/* Element n of an array of 32-bit integers, -1 if it is too short for that. */
static int array_get(const struct attr *a, unsigned int n)
{
	int value;

	if (a->payload.len / sizeof(value) <= n)
		return -1;
	memcpy(&value, a->payload.data + n * sizeof(value), sizeof(value));
	return value;
}

/* Cuts the message's own header off `msg`. */
static bool take_header(struct span *msg, void *header, size_t len, const char **why)
{
	size_t step = NLMSG_ALIGN(len);

	if (msg->len < len) {
		fail(why, "message shorter than its header");
		return false;
	}
	memcpy(header, msg->data, len);
	if (step > msg->len)
		step = msg->len;
	msg->data += step;
	msg->len -= step;
	return true;
}

static bool known_family(unsigned int af, enum family *f)
{
	*f = af == AF_INET6 ? IP6 : IP4;
	return af == AF_INET || af == AF_INET6;
}

/* --- links -------------------------------------------------------------------------------------- */

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

static bool parse_link(struct span msg, struct event *ev, const char **why)
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

/* --- addresses, rules ----------------------------------------------------------------------------- */

static bool parse_addr(struct span msg, struct event *ev, const char **why)
{
	struct addr_event *addr = &ev->addr;
	bool found = false, local = false;
	struct ifaddrmsg ifa;
	struct attr a;

	ev->kind = EVENT_ADDR;
	if (!take_header(&msg, &ifa, sizeof(ifa), why) ||
	    !known_family(ifa.ifa_family, &addr->family))
		return false;
	addr->ifindex = ifa.ifa_index;
	addr->prefixlen = ifa.ifa_prefixlen;
	if (addr->prefixlen > family_bits(addr->family))
		fail(why, "prefix length out of bounds");

	for_each_attr(&a, msg, why) {
		if (a.type != IFA_LOCAL && (a.type != IFA_ADDRESS || local))
			continue;
		addr->addr = get_addr(&a, addr->family, why);
		local = a.type == IFA_LOCAL;
		found = true;
	}
	if (!found)
		fail(why, "address message without an address");
	return true;
}

/* Whether an attribute leaves the rule a plain "from all lookup TABLE". */
static bool plain_rule_attr(const struct attr *a, const char **why)
{
	switch (a->type) {
	case FRA_UNSPEC:
	case FRA_PAD:
	case FRA_PRIORITY:
	case FRA_TABLE:
	case FRA_PROTOCOL:
		return true;
	case FRA_SUPPRESS_PREFIXLEN:
	case FRA_SUPPRESS_IFGROUP:
		return get_u32(a, why) == ~0u; /* none, and sent all the same */
	default:
		return false;
	}
}

static bool parse_rule(struct span msg, struct event *ev, const char **why)
{
	struct rule_event *rule = &ev->rule;
	struct fib_rule_hdr frh;
	struct attr a;

	ev->kind = EVENT_RULE;
	if (!take_header(&msg, &frh, sizeof(frh), why) || !known_family(frh.family, &rule->family))
		return false;
	rule->priority = 0;
	rule->table = frh.table;
	rule->action = frh.action;
	rule->selective = frh.dst_len || frh.src_len || frh.tos || frh.flags & FIB_RULE_INVERT;

	for_each_attr(&a, msg, why) {
		if (!plain_rule_attr(&a, why))
			rule->selective = true;
		else if (a.type == FRA_PRIORITY)
			rule->priority = get_u32(&a, why);
		else if (a.type == FRA_TABLE)
			rule->table = get_u32(&a, why);
	}
	return true;
}

/* --- legs, nexthop objects, routes ------------------------------------------------------------------- */

static void init_leg(struct leg *leg, int ifindex, unsigned int weight, unsigned int flags)
{
	*leg = (struct leg){ .ifindex = ifindex, .weight = weight, .flags = flags };
}

static void set_gateway(struct leg *leg, enum family f, struct addr gateway)
{
	leg->has_gateway = true;
	leg->gateway_family = f;
	leg->gateway = gateway;
}

/* RTA_VIA: a gateway with its family in front. */
static void parse_via(const struct attr *a, struct leg *leg, const char **why)
{
	struct attr address = *a;
	enum family f;
	__u16 af;

	if (!get(a, &af, sizeof(af), why))
		return;
	if (!known_family(af, &f)) {
		fail(why, "gateway of an unknown family");
		return;
	}
	address.payload.data += sizeof(af);
	address.payload.len -= sizeof(af);
	set_gateway(leg, f, get_addr(&address, f, why));
}

/* Attributes that a route with one leg carries itself, and one with more in each struct rtnexthop. */
static void parse_leg_attr(const struct attr *a, enum family f, struct leg *leg, const char **why)
{
	switch (a->type) {
	case RTA_GATEWAY:
		set_gateway(leg, f, get_addr(a, f, why));
		break;
	case RTA_VIA:
		parse_via(a, leg, why);
		break;
	case RTA_ENCAP_TYPE:
		leg->encap = get_u16(a, why) != LWTUNNEL_ENCAP_NONE;
		break;
	}
}

static void parse_multipath(struct span legs, struct route_event *route, const char **why)
{
	struct rtnexthop rtnh;
	struct span attrs;
	struct leg *leg;
	struct attr a;
	size_t step;

	route->multipath = true;
	route->legs = 0;
	for (; legs.len >= sizeof(rtnh); legs.data += step, legs.len -= step) {
		memcpy(&rtnh, legs.data, sizeof(rtnh));
		if (rtnh.rtnh_len < sizeof(rtnh) || rtnh.rtnh_len > legs.len) {
			fail(why, "leg length out of bounds");
			return;
		}
		if (route->legs == NEXTHOP_LEGS_MAX) {
			route->truncated = true;
			return;
		}

		leg = &route->leg[route->legs++];
		init_leg(leg, rtnh.rtnh_ifindex, rtnh.rtnh_hops + 1, rtnh.rtnh_flags);
		attrs = (struct span){ legs.data + sizeof(rtnh), rtnh.rtnh_len - sizeof(rtnh) };
		for_each_attr(&a, attrs, why)
			parse_leg_attr(&a, route->family, leg, why);

		step = RTNH_ALIGN(rtnh.rtnh_len);
		if (step > legs.len)
			step = legs.len;
	}
}

static void parse_metrics(struct span metrics, struct route_event *route, const char **why)
{
	struct attr a;

	for_each_attr(&a, metrics, why) {
		if (a.type == RTAX_MTU)
			route->mtu = get_u32(&a, why);
		else if (a.type == RTAX_LOCK)
			route->mtu_lock = get_u32(&a, why) & 1u << RTAX_MTU;
	}
}

static void init_route(struct route_event *route, const struct rtmsg *rtm)
{
	route->dst = route->src = (struct addr){};
	route->dst_len = rtm->rtm_dst_len;
	route->src_len = rtm->rtm_src_len;
	route->table = rtm->rtm_table;
	route->priority = 0;
	route->tos = rtm->rtm_tos;
	route->type = rtm->rtm_type;
	route->protocol = rtm->rtm_protocol;
	route->scope = rtm->rtm_scope;
	route->flags = rtm->rtm_flags;
	route->nhid = 0;
	route->mtu = 0;
	route->mtu_lock = false;
	route->cloned = rtm->rtm_flags & RTM_F_CLONED;
	route->pref_expires = false;
	route->multipath = false;
	route->legs = 0;
	route->truncated = false;
}

/* One leg, unless RTA_MULTIPATH has more. Its flags share the low byte of rtm_flags. */
static void route_attr(const struct attr *a, struct route_event *route, const char **why)
{
	struct rta_cacheinfo cache;

	switch (a->type) {
	case RTA_DST:
		route->dst = get_addr(a, route->family, why);
		break;
	case RTA_SRC:
		route->src = get_addr(a, route->family, why);
		break;
	case RTA_TABLE:
		route->table = get_u32(a, why);
		break;
	case RTA_PRIORITY:
		route->priority = get_u32(a, why);
		break;
	case RTA_NH_ID:
		route->nhid = get_u32(a, why);
		break;
	case RTA_METRICS:
		parse_metrics(a->payload, route, why);
		break;
	case RTA_CACHEINFO:
		if (get(a, &cache, sizeof(cache), why))
			route->pref_expires = cache.rta_expires != 0;
		break;
	case RTA_MULTIPATH:
		parse_multipath(a->payload, route, why);
		break;
	}
}

static bool parse_route(struct span msg, struct event *ev, const char **why)
{
	struct route_event *route = &ev->route;
	bool single = false;
	unsigned int bits;
	struct rtmsg rtm;
	struct leg leg;
	struct attr a;

	ev->kind = EVENT_ROUTE;
	if (!take_header(&msg, &rtm, sizeof(rtm), why) ||
	    !known_family(rtm.rtm_family, &route->family))
		return false;
	init_route(route, &rtm);
	bits = family_bits(route->family);
	if (rtm.rtm_dst_len > bits || rtm.rtm_src_len > bits)
		fail(why, "prefix length out of bounds");

	init_leg(&leg, 0, 1, rtm.rtm_flags & 0xff);
	for_each_attr(&a, msg, why) {
		if (a.type == RTA_OIF)
			leg.ifindex = get_u32(&a, why);
		single |= a.type == RTA_OIF || a.type == RTA_GATEWAY || a.type == RTA_VIA;
		parse_leg_attr(&a, route->family, &leg, why);
		route_attr(&a, route, why);
	}
	route->dst = addr_mask(route->dst, route->dst_len);
	route->src = addr_mask(route->src, route->src_len);
	if (single && !route->multipath) {
		route->leg[0] = leg;
		route->legs = 1;
	}
	return true;
}

/* struct nexthop_grp of newer headers; in older ones weight_high is padding, which the kernel zeroes. */
struct group_entry {
	__u32 id;
	__u8 weight, weight_high;
	__u16 reserved;
};
_Static_assert(sizeof(struct group_entry) == sizeof(struct nexthop_grp), "one layout");

static void parse_members(const struct attr *a, struct nexthop_event *nh, const char **why)
{
	size_t count = a->payload.len / sizeof(struct group_entry);
	struct group_entry entry;

	if (a->payload.len % sizeof(entry))
		fail(why, "nexthop group of a wrong length");
	nh->group = true;
	nh->truncated = count > NEXTHOP_LEGS_MAX;
	nh->members = nh->truncated ? NEXTHOP_LEGS_MAX : count;
	for (size_t i = 0; i < nh->members; i++) {
		memcpy(&entry, a->payload.data + i * sizeof(entry), sizeof(entry));
		nh->member[i].id = entry.id;
		nh->member[i].weight = (entry.weight_high << 8 | entry.weight) + 1;
	}
}

static void nexthop_attr(const struct attr *a, struct nexthop_event *nh, const char **why)
{
	switch (a->type) {
	case NHA_ID:
		nh->id = get_u32(a, why);
		break;
	case NHA_GROUP:
		parse_members(a, nh, why);
		break;
	case NHA_GROUP_TYPE: /* no type but this is known to spread flows as a route's legs do */
		nh->resilient = get_u16(a, why) != NEXTHOP_GRP_TYPE_MPATH;
		break;
	case NHA_BLACKHOLE:
		nh->blackhole = true;
		break;
	case NHA_FDB:
		nh->fdb = true;
		break;
	case NHA_OIF:
		nh->leg.ifindex = get_u32(a, why);
		break;
	case NHA_GATEWAY:
		set_gateway(&nh->leg, nh->family, get_addr(a, nh->family, why));
		break;
	case NHA_ENCAP_TYPE:
		nh->leg.encap = get_u16(a, why) != LWTUNNEL_ENCAP_NONE;
		break;
	}
}

static bool parse_nexthop(struct span msg, struct event *ev, const char **why)
{
	struct nexthop_event *nh = &ev->nexthop;
	struct nhmsg nhm;
	struct attr a;

	ev->kind = EVENT_NEXTHOP;
	if (!take_header(&msg, &nhm, sizeof(nhm), why))
		return false;
	/* A group has no family of its own. */
	if (!known_family(nhm.nh_family, &nh->family) && nhm.nh_family != AF_UNSPEC)
		return false;
	nh->id = 0;
	nh->blackhole = nh->fdb = nh->group = nh->resilient = nh->truncated = false;
	nh->members = 0;
	init_leg(&nh->leg, 0, 1, nhm.nh_flags);

	for_each_attr(&a, msg, why)
		nexthop_attr(&a, nh, why);
	if (!nh->id)
		fail(why, "nexthop without an id");
	return true;
}

/* --- neighbours, netconf ----------------------------------------------------------------------------- */

/* struct nda_cacheinfo counts in USER_HZ, which is 100 on every architecture we run on. */
static __u32 ticks_to_ms(__u32 ticks)
{
	__u64 ms = ticks * 10ull;

	return ms > ~0u ? ~0u : ms;
}

static bool parse_neigh(struct span msg, struct event *ev, const char **why)
{
	struct neigh_event *neigh = &ev->neigh;
	struct nda_cacheinfo cache;
	bool found = false;
	struct ndmsg ndm;
	struct attr a;

	ev->kind = EVENT_NEIGH;
	if (!take_header(&msg, &ndm, sizeof(ndm), why) ||
	    !known_family(ndm.ndm_family, &neigh->family))
		return false;
	neigh->ifindex = ndm.ndm_ifindex;
	neigh->mac = (struct lladdr){};
	neigh->state = ndm.ndm_state;
	neigh->flags = ndm.ndm_flags;
	neigh->proxy = ndm.ndm_flags & NTF_PROXY;
	neigh->used_ms = 0;

	for_each_attr(&a, msg, why) {
		switch (a.type) {
		case NDA_DST:
			neigh->addr = get_addr(&a, neigh->family, why);
			found = true;
			break;
		case NDA_LLADDR:
			get_lladdr(&a, &neigh->mac);
			break;
		case NDA_CACHEINFO:
			if (get(&a, &cache, sizeof(cache), why))
				neigh->used_ms = ticks_to_ms(cache.ndm_used);
			break;
		case NDA_FLAGS_EXT:
			neigh->flags |= get_u32(&a, why) << 16;
			break;
		}
	}
	if (!found)
		fail(why, "neighbour without an address");
	return true;
}

static bool parse_netconf(struct span msg, struct event *ev, const char **why)
{
	struct netconf_event *conf = &ev->netconf;
	struct netconfmsg ncm;
	bool found = false;
	struct attr a;

	ev->kind = EVENT_NETCONF;
	if (!take_header(&msg, &ncm, sizeof(ncm), why) ||
	    !known_family(ncm.ncm_family, &conf->family))
		return false;
	conf->forwarding = conf->rp_filter = conf->proxy_neigh = conf->ignore_linkdown = -1;

	for_each_attr(&a, msg, why) {
		switch (a.type) {
		case NETCONFA_IFINDEX:
			conf->ifindex = get_u32(&a, why);
			found = true;
			break;
		case NETCONFA_FORWARDING:
			conf->forwarding = get_u32(&a, why);
			break;
		case NETCONFA_RP_FILTER:
			conf->rp_filter = get_u32(&a, why);
			break;
		case NETCONFA_PROXY_NEIGH:
			conf->proxy_neigh = get_u32(&a, why);
			break;
		case NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN:
			conf->ignore_linkdown = get_u32(&a, why);
			break;
		}
	}
	if (!found)
		fail(why, "netconf message without an interface");
	return true;
}

/* --- messages -------------------------------------------------------------------------------------- */

/* Fills *ev and returns true, unless the message is of no interest or *why was set. */
static bool parse_body(unsigned int type, struct span msg, struct event *ev, const char **why)
{
	switch (type) {
	case RTM_DELLINK:
	case RTM_DELADDR:
	case RTM_DELRULE:
	case RTM_DELNEXTHOP:
	case RTM_DELROUTE:
	case RTM_DELNEIGH:
	case RTM_DELNETCONF:
		ev->del = true;
		break;
	default:
		ev->del = false;
	}

	switch (type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		return parse_link(msg, ev, why);
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return parse_addr(msg, ev, why);
	case RTM_NEWRULE:
	case RTM_DELRULE:
		return parse_rule(msg, ev, why);
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		return parse_nexthop(msg, ev, why);
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		return parse_route(msg, ev, why);
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		return parse_neigh(msg, ev, why);
	case RTM_NEWNETCONF:
	case RTM_DELNETCONF:
		return parse_netconf(msg, ev, why);
	default:
		return false;
	}
}

int parse_answer(const struct nlmsghdr *nlh, size_t len, struct event *ev, const char **why)
{
	const char *reason = NULL;
	struct nlmsghdr header;
	struct span msg;
	bool wanted = false;

	if (len >= sizeof(header))
		memcpy(&header, nlh, sizeof(header));
	if (len < sizeof(header) || header.nlmsg_len < sizeof(header) || header.nlmsg_len > len) {
		fail(&reason, "message length out of bounds");
	} else {
		ev->dump = false;
		ev->replace = header.nlmsg_flags & NLM_F_REPLACE;
		ev->append = header.nlmsg_flags & NLM_F_APPEND;
		msg = (struct span){ (const __u8 *)nlh + NLMSG_HDRLEN,
				     header.nlmsg_len - NLMSG_HDRLEN };
		wanted = parse_body(header.nlmsg_type, msg, ev, &reason);
	}

	if (reason) {
		*why = reason;
		return -EBADMSG;
	}
	return wanted;
}

int parse_message(const struct nlmsghdr *nlh, size_t len, struct event *ev, const char **why)
{
	int ret = parse_answer(nlh, len, ev, why);

	return ret == 1 && ev->kind == EVENT_ROUTE && ev->route.cloned ? 0 : ret;
}

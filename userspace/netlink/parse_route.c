/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Routes and nexthop objects, which share their legs. struct event is large because of these:
 * nothing here clears more of it than it uses.
 */
#include <linux/lwtunnel.h>
#include <linux/nexthop.h>

#include "attr.h"

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
	struct leg beyond, *leg;
	struct span attrs;
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
		route->truncated = route->legs == NEXTHOP_LEGS_MAX;
		leg = route->truncated ? &beyond : &route->leg[route->legs++];
		init_leg(leg, rtnh.rtnh_ifindex, rtnh.rtnh_hops + 1, rtnh.rtnh_flags);
		attrs = (struct span){ legs.data + sizeof(rtnh), rtnh.rtnh_len - sizeof(rtnh) };
		for_each_attr(&a, attrs, why) {
			parse_leg_attr(&a, route->family, leg, why);
			route->flow |= a.type == RTA_FLOW;
		}

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
	route->flow = false;
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
	case RTA_FLOW:
		route->flow = true;
		break;
	case RTA_MULTIPATH:
		parse_multipath(a->payload, route, why);
		break;
	}
}

bool parse_route(struct span msg, struct event *ev, const char **why)
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

bool parse_nexthop(struct span msg, struct event *ev, const char **why)
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

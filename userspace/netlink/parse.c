/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rtnetlink bytes -> events: the messages, and the short ones of them whole. Attributes that we do
 * not know are skipped, since kernels grow new ones; only in a rule they count, for each may be a
 * selector.
 */
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>

#include "attr.h"
#include "parse.h"

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

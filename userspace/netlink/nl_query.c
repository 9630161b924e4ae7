/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Single questions and one order.
 */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "nl.h"
#include "parse.h"
#include "socket.h"

struct nl_query {
	struct nl_talk talk;
	struct event event;
};

int nl_query_open(struct nl_query **query)
{
	_cleanup_free_ struct nl_query *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	err = nl_talk_open(&q->talk, NETLINK_ROUTE);
	if (err)
		return err;

	*query = TAKE_PTR(q);
	return 0;
}

void nl_query_free(struct nl_query *query)
{
	if (!query)
		return;
	nl_talk_close(&query->talk);
	free(query);
}

static void put_addr(struct nlmsghdr *nlh, __u16 type, enum family f, struct addr addr)
{
	__u8 bytes[16];

	addr_to_bytes(f, addr, bytes);
	mnl_attr_put(nlh, type, family_bits(f) / 8, bytes);
}

/*
 * How the kernel says that it would not deliver such a packet. -EINVAL is a blackhole or a martian,
 * -EXDEV a source that the reverse path filter refuses. -EMSGSIZE: it has no words for the answer (IPv6
 * multicast without a device).
 */
static bool is_routing_error(int err)
{
	return err == -ENETUNREACH || err == -EHOSTUNREACH || err == -EACCES || err == -EINVAL ||
	       err == -EXDEV || err == -EMSGSIZE;
}

static void clear_answer(struct nl_answer *answer)
{
	memset(answer, 0, offsetof(struct nl_answer, leg));
}

static void fill_answer(const struct route_event *route, struct nl_answer *answer)
{
	const struct leg *first = &route->leg[0];

	clear_answer(answer);
	answer->type = route->type;
	answer->table = route->table;
	answer->mtu = route->mtu;
	answer->prefix = route->dst;
	answer->prefixlen = route->dst_len;
	answer->legs = route->legs;
	memcpy(answer->leg, route->leg, route->legs * sizeof(*route->leg));
	if (!route->legs)
		return;
	answer->oif = first->ifindex;
	answer->has_gateway = first->has_gateway;
	answer->gateway_family = first->gateway_family;
	answer->gateway = first->gateway;
}

int nl_query_route(struct nl_query *query, enum family f, struct addr dst, const struct addr *src,
		   int iif, bool fib_match, struct nl_answer *answer)
{
	const struct rtmsg rtm = {
		.rtm_family = family_af(f),
		.rtm_dst_len = family_bits(f),
		.rtm_src_len = src ? family_bits(f) : 0,
		.rtm_flags = RTM_F_LOOKUP_TABLE | (fib_match ? RTM_F_FIB_MATCH : 0),
	};
	struct nlmsghdr *nlh = nl_talk_begin(&query->talk, RTM_GETROUTE, &rtm, sizeof(rtm));
	const struct nlmsghdr *reply = NULL;
	const char *why;
	int ret;

	put_addr(nlh, RTA_DST, f, dst);
	if (src)
		put_addr(nlh, RTA_SRC, f, *src);
	if (iif)
		mnl_attr_put_u32(nlh, RTA_IIF, iif);

	ret = nl_talk_ask(&query->talk, nlh, &reply);
	if (is_routing_error(ret)) {
		clear_answer(answer);
		answer->error = ret;
		return 0;
	}
	if (ret)
		return ret;

	ret = parse_answer(reply, reply->nlmsg_len, &query->event, &why);
	if (ret != 1 || query->event.kind != EVENT_ROUTE)
		return -EBADMSG;
	fill_answer(&query->event.route, answer);
	return 0;
}

int nl_query_probe(struct nl_query *query, enum family f, int ifindex, struct addr addr)
{
	const struct ndmsg ndm = {
		.ndm_family = family_af(f),
		.ndm_ifindex = ifindex,
		.ndm_flags = NTF_USE,
	};
	struct nlmsghdr *nlh = nl_talk_begin(&query->talk, RTM_NEWNEIGH, &ndm, sizeof(ndm));

	put_addr(nlh, NDA_DST, f, addr);
	return nl_talk_send(&query->talk, nlh);
}

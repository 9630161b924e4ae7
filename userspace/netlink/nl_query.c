/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Single questions and one order. The kernel works on a request inside sendmsg(), so that its
 * answer lies in the socket when that returns: nothing here waits.
 */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nl.h"
#include "parse.h"
#include "socket.h"

struct nl_query {
	struct mnl_socket *socket;
	__u32 seq;
	struct event event;
	struct nl_buffer buffer;
};

static void cleanup_query(struct nl_query **query)
{
	nl_query_free(*query);
}

int nl_query_open(struct nl_query **query)
{
	_cleanup_(cleanup_query) struct nl_query *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	err = nl_socket_open(NETLINK_ROUTE, true, &q->socket);
	if (err)
		return err;

	*query = TAKE_PTR(q);
	return 0;
}

void nl_query_free(struct nl_query *query)
{
	if (!query)
		return;
	if (query->socket)
		mnl_socket_close(query->socket);
	free(query);
}

static struct nlmsghdr *put_header(struct nl_query *q, __u16 type, const void *header, size_t len)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(q->buffer.data);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = ++q->seq;
	memcpy(mnl_nlmsg_put_extra_header(nlh, len), header, len);
	return nlh;
}

static void put_addr(struct nlmsghdr *nlh, __u16 type, enum family f, struct addr addr)
{
	__u8 bytes[16];

	addr_to_bytes(f, addr, bytes);
	mnl_attr_put(nlh, type, family_bits(f) / 8, bytes);
}

static int send_message(struct nl_query *q, const struct nlmsghdr *nlh)
{
	return mnl_socket_sendto(q->socket, nlh, nlh->nlmsg_len) < 0 ? -errno : 0;
}

/* The answer to the last message sent. Refused probes of before are still in the socket. */
static int receive_answer(struct nl_query *q, const struct nlmsghdr **answer)
{
	struct nlmsghdr *nlh;
	ssize_t len;
	int left;

	for (;;) {
		len = nl_socket_receive(q->socket, q->buffer.data, sizeof(q->buffer.data));
		if (len == -ENOBUFS)
			continue;
		if (len < 0)
			return len;
		nl_for_each_message(nlh, left, q->buffer.data, len) {
			if (nlh->nlmsg_seq == q->seq) {
				*answer = nlh;
				return 0;
			}
		}
	}
}

/*
 * How the kernel says that it would not deliver such a packet. -EINVAL is a blackhole or a martian;
 * -EXDEV a source that the reverse path filter refuses.
 */
static bool is_routing_error(int err)
{
	return err == -ENETUNREACH || err == -EHOSTUNREACH || err == -EACCES || err == -EINVAL ||
	       err == -EXDEV || err == -EAGAIN;
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

static int take_answer(struct nl_query *q, const struct nlmsghdr *nlh, struct nl_answer *answer)
{
	const char *why;
	int ret;

	if (nlh->nlmsg_type == NLMSG_ERROR) {
		ret = nl_message_error(nlh);
		if (!is_routing_error(ret))
			return ret ?: -EBADMSG;
		clear_answer(answer);
		answer->error = ret;
		return 0;
	}

	ret = parse_answer(nlh, nlh->nlmsg_len, &q->event, &why);
	if (ret != 1 || q->event.kind != EVENT_ROUTE)
		return ret < 0 ? ret : -EBADMSG;
	fill_answer(&q->event.route, answer);
	return 0;
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
	struct nlmsghdr *nlh = put_header(query, RTM_GETROUTE, &rtm, sizeof(rtm));
	const struct nlmsghdr *reply = NULL;
	int err;

	put_addr(nlh, RTA_DST, f, dst);
	if (src)
		put_addr(nlh, RTA_SRC, f, *src);
	if (iif)
		mnl_attr_put_u32(nlh, RTA_IIF, iif);

	err = send_message(query, nlh);
	if (!err)
		err = receive_answer(query, &reply);
	return err ?: take_answer(query, reply, answer);
}

int nl_query_probe(struct nl_query *query, enum family f, int ifindex, struct addr addr)
{
	const struct ndmsg ndm = {
		.ndm_family = family_af(f),
		.ndm_ifindex = ifindex,
		.ndm_flags = NTF_USE,
	};
	struct nlmsghdr *nlh;

	/* What earlier probes left in the socket: the kernel answers those that it refuses. */
	while (nl_socket_receive(query->socket, query->buffer.data, sizeof(query->buffer.data)) > 0)
		;
	nlh = put_header(query, RTM_NEWNEIGH, &ndm, sizeof(ndm));
	put_addr(nlh, NDA_DST, f, addr);
	return send_message(query, nlh);
}

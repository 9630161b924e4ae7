/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dumps. The kernel runs one dump a socket and refuses another until its end was read, so a dump
 * that nobody wants any more is read to its end and ignored before the next request goes out. The
 * sequence number of a message says which dump it belongs to.
 *
 * A malformed message fails the dump: a table with a hole must not be taken for a whole one.
 */
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>

#include "nl.h"
#include "parse.h"
#include "socket.h"

/* Messages laid aside, one after the other. */
struct store {
	char *data;
	size_t len, size;
};

struct nl_dump {
	struct mnl_socket *socket;
	__u32 seq;    /* of the last request that was sent */
	bool running; /* its end has not been read */
	bool wanted;  /* its messages are */
	bool queued;  /* `table` waits for the end of an abandoned dump */
	enum nl_table table;
	struct store *store; /* messages go there instead of being parsed */
	struct event event;
	struct nl_buffer buffer;
};

/* What asks for a table: the message type and the header of that type. */
static const struct request {
	__u16 type;
	__u8 header_len;
	union {
		struct ifinfomsg link;
		struct ifaddrmsg addr;
		struct fib_rule_hdr rule;
		struct netconfmsg netconf;
		struct nhmsg nexthop;
		struct rtmsg route;
		struct ndmsg neigh;
	} header;
} requests[NL_TABLES] = {
/* clang-format off */
#define REQUEST(type, member, ...) \
	{ type, sizeof(((struct request *)0)->header.member), { .member = { __VA_ARGS__ } } }
	[NL_LINKS]    = REQUEST(RTM_GETLINK, link, .ifi_family = AF_UNSPEC),
	[NL_ADDRS]    = REQUEST(RTM_GETADDR, addr, .ifa_family = AF_UNSPEC),
	[NL_RULES4]   = REQUEST(RTM_GETRULE, rule, .family = AF_INET),
	[NL_RULES6]   = REQUEST(RTM_GETRULE, rule, .family = AF_INET6),
	[NL_NETCONF4] = REQUEST(RTM_GETNETCONF, netconf, .ncm_family = AF_INET),
	[NL_NETCONF6] = REQUEST(RTM_GETNETCONF, netconf, .ncm_family = AF_INET6),
	[NL_NEXTHOPS] = REQUEST(RTM_GETNEXTHOP, nexthop, .nh_family = AF_UNSPEC),
	[NL_ROUTES4]  = REQUEST(RTM_GETROUTE, route, .rtm_family = AF_INET),
	[NL_ROUTES6]  = REQUEST(RTM_GETROUTE, route, .rtm_family = AF_INET6),
	[NL_NEIGHS]   = REQUEST(RTM_GETNEIGH, neigh, .ndm_family = AF_UNSPEC),
	[NL_PROXIES]  = REQUEST(RTM_GETNEIGH, neigh, .ndm_flags = NTF_PROXY),
#undef REQUEST
	/* clang-format on */
};

static void cleanup_dump(struct nl_dump **dump)
{
	nl_dump_free(*dump);
}

int nl_dump_open(struct nl_dump **dump)
{
	_cleanup_(cleanup_dump) struct nl_dump *d = calloc(1, sizeof(*d));
	int err, on = 1;

	if (!d)
		return -ENOMEM;
	err = nl_socket_open(NETLINK_ROUTE, &d->socket);
	if (err)
		return err;
	if (mnl_socket_setsockopt(d->socket, NETLINK_GET_STRICT_CHK, &on, sizeof(on)) < 0)
		return -errno;

	*dump = TAKE_PTR(d);
	return 0;
}

void nl_dump_free(struct nl_dump *dump)
{
	if (!dump)
		return;
	if (dump->socket)
		mnl_socket_close(dump->socket);
	free(dump);
}

int nl_dump_fd(const struct nl_dump *dump)
{
	return mnl_socket_get_fd(dump->socket);
}

static int send_request(struct nl_dump *d)
{
	const struct request *r = &requests[d->table];
	char buf[128] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = r->type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = ++d->seq;
	memcpy(mnl_nlmsg_put_extra_header(nlh, r->header_len), &r->header, r->header_len);
	if (r->type == RTM_GETLINK)
		mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);

	if (mnl_socket_sendto(d->socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	d->queued = false;
	d->running = d->wanted = true;
	return 0;
}

int nl_dump_start(struct nl_dump *dump, enum nl_table table)
{
	dump->table = table;
	dump->wanted = false;
	dump->queued = dump->running;
	return dump->running ? 0 : send_request(dump);
}

/* A table that the kernel does not have (no IPv6, say) is an empty one. */
static int end_of_dump(const struct nlmsghdr *nlh)
{
	int err = nl_message_error(nlh);

	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		return -EINTR;
	return err == -EOPNOTSUPP || err == -EAFNOSUPPORT ? 0 : err;
}

static int store_message(struct store *store, const struct nlmsghdr *nlh)
{
	size_t len = MNL_ALIGN(nlh->nlmsg_len), size = store->size;
	char *data;

	while (store->len + len > size)
		size = size ? 2 * size : NL_BUFFER;
	if (size > store->size) {
		data = realloc(store->data, size);
		if (!data)
			return -ENOMEM;
		store->data = data;
		store->size = size;
	}
	memcpy(store->data + store->len, nlh, nlh->nlmsg_len);
	store->len += len;
	return 1;
}

/*
 * A kernel without IPv6 (ipv6.disable=1) answers a question about it with what all other families
 * have (rtnl_dump_all()).
 */
static bool belongs(const struct event *ev, enum nl_table table)
{
	switch (table) {
	case NL_ROUTES4:
	case NL_ROUTES6:
		return ev->kind == EVENT_ROUTE &&
		       ev->route.family == (table == NL_ROUTES4 ? IP4 : IP6);
	case NL_NETCONF4:
	case NL_NETCONF6:
		return ev->kind == EVENT_NETCONF &&
		       ev->netconf.family == (table == NL_NETCONF4 ? IP4 : IP6);
	default:
		return true;
	}
}

static int deliver(struct nl_dump *d, const struct nlmsghdr *nlh, nl_event_fn fn, void *arg)
{
	const char *why;
	int ret;

	ret = parse_message(nlh, nlh->nlmsg_len, &d->event, &why);
	if (ret < 0)
		return ret;
	if (ret == 1 && belongs(&d->event, d->table)) {
		d->event.dump = true;
		fn(&d->event, arg);
	}
	return 1;
}

/* 1: on to the next message; 0: the table is complete; -errno: the dump has failed. */
static int take_message(struct nl_dump *d, const struct nlmsghdr *nlh, nl_event_fn fn, void *arg)
{
	if (nlh->nlmsg_seq != d->seq)
		return 1;
	if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR) {
		d->running = false;
		return end_of_dump(nlh);
	}
	if (!d->wanted)
		return 1;
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR || nlh->nlmsg_type == NLMSG_OVERRUN)
		return -EINTR;
	return d->store ? store_message(d->store, nlh) : deliver(d, nlh, fn, arg);
}

/*
 * The first result other than 1 is the dump's. The rest of the datagram is walked all the same: it
 * may hold the end, which a dump that waits in the queue must not miss.
 */
static int take_datagram(struct nl_dump *d, size_t len, nl_event_fn fn, void *arg)
{
	struct nlmsghdr *nlh;
	int left, ret, result = 1;

	nl_for_each_message(nlh, left, &d->buffer, len) {
		ret = take_message(d, nlh, fn, arg);
		if (ret != 1 && d->wanted) {
			result = ret;
			d->wanted = false;
		}
	}
	return result;
}

int nl_dump_step(struct nl_dump *dump, nl_event_fn fn, void *arg)
{
	ssize_t len;
	int ret;

	if (!dump->running)
		return 0;
	len = nl_socket_receive(dump->socket, &dump->buffer);
	if (len == -EAGAIN)
		return 1;
	if (len < 0) {
		dump->wanted = false;
		return len == -ENOBUFS ? -EINTR : len;
	}

	ret = take_datagram(dump, len, fn, arg);
	if (!dump->running && dump->queued)
		return send_request(dump) ?: 1;
	return ret;
}

/* --- the whole table at once ------------------------------------------------------------------------ */

enum { DUMP_TRIES = 5 };

static int run_dump(struct nl_dump *d, enum nl_table table)
{
	struct pollfd pollfd = { .fd = nl_dump_fd(d), .events = POLLIN };
	int ret;

	d->store->len = 0;
	ret = nl_dump_start(d, table) ?: 1;
	while (ret == 1) {
		if (poll(&pollfd, 1, -1) < 0 && errno != EINTR)
			return -errno;
		ret = nl_dump_step(d, NULL, NULL);
	}
	return ret;
}

static void cleanup_store(struct store *store)
{
	free(store->data);
}

/* Messages are parsed only once the dump is known to be whole, so that fn sees no entry twice. */
int nl_dump_all(enum nl_table table, nl_event_fn fn, void *arg)
{
	_cleanup_(cleanup_dump) struct nl_dump *d = NULL;
	_cleanup_(cleanup_store) struct store store = {};
	struct nlmsghdr *nlh;
	size_t step;
	int ret;

	ret = nl_dump_open(&d);
	if (ret)
		return ret;
	d->store = &store;
	ret = -EINTR;
	for (int i = 0; ret == -EINTR && i < DUMP_TRIES; i++)
		ret = run_dump(d, table);

	for (size_t at = 0; !ret && at < store.len; at += step) {
		nlh = (void *)(store.data + at);
		step = MNL_ALIGN(nlh->nlmsg_len);
		ret = deliver(d, nlh, fn, arg) < 0 ? -EBADMSG : 0;
	}
	return ret;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notifications. The kernel sends one message a datagram. When it had to leave some out it says so
 * once, by ENOBUFS; that goes to the caller at once and unchanged, for only a dump can repair it.
 */
#include <errno.h>
#include <linux/rtnetlink.h>

#include "nl.h"
#include "parse.h"
#include "socket.h"

struct nl_monitor {
	struct mnl_socket *socket;
	unsigned long malformed;
	const char *why;
	struct event event;
	struct nl_buffer buffer;
};

/* clang-format off */
static const int control_groups[] = {
	RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE,
	RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_NEXTHOP, RTNLGRP_IPV4_NETCONF,
	RTNLGRP_IPV6_NETCONF, RTNLGRP_IPV6_IFINFO, 0
};
/* clang-format on */

static const int neighbour_groups[] = { RTNLGRP_NEIGH, 0 };

static int join(struct mnl_socket *socket, const int *groups)
{
	for (int group; (group = *groups); groups++) {
		if (mnl_socket_setsockopt(socket, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
			return -errno;
	}
	return 0;
}

/* The kernel doubles what it is asked for, to account for its own overhead, and reports that. */
static int set_rcvbuf(const struct mnl_socket *socket, int bytes, int *granted)
{
	int fd = mnl_socket_get_fd(socket), got;
	socklen_t len = sizeof(got);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &len) < 0)
		return -errno;
	*granted = got / 2;
	return 0;
}

static void cleanup_monitor(struct nl_monitor **monitor)
{
	nl_monitor_free(*monitor);
}

int nl_monitor_open(enum nl_channel channel, int rcvbuf, struct nl_monitor **monitor, int *granted)
{
	_cleanup_(cleanup_monitor) struct nl_monitor *m = calloc(1, sizeof(*m));
	int err, got = 0;

	if (!m)
		return -ENOMEM;
	err = nl_socket_open(NETLINK_ROUTE, &m->socket);
	if (!err)
		err = set_rcvbuf(m->socket, rcvbuf, &got);
	if (!err)
		err = join(m->socket, channel == NL_CONTROL ? control_groups : neighbour_groups);
	if (err)
		return err;

	*granted = got;
	*monitor = TAKE_PTR(m);
	return 0;
}

void nl_monitor_free(struct nl_monitor *monitor)
{
	if (!monitor)
		return;
	if (monitor->socket)
		mnl_socket_close(monitor->socket);
	free(monitor);
}

int nl_monitor_fd(const struct nl_monitor *monitor)
{
	return mnl_socket_get_fd(monitor->socket);
}

static int deliver(struct nl_monitor *m, size_t len, nl_event_fn fn, void *arg)
{
	struct nlmsghdr *nlh;
	int left, ret, messages = 0;

	nl_for_each_message(nlh, left, &m->buffer, len) {
		messages++;
		ret = parse_message(nlh, nlh->nlmsg_len, &m->event, &m->why);
		if (ret == 1)
			fn(&m->event, arg);
		else if (ret < 0)
			m->malformed++;
	}
	return messages;
}

int nl_monitor_drain(struct nl_monitor *m, unsigned int budget, nl_event_fn fn, void *arg)
{
	unsigned int messages = 0;
	ssize_t len;

	while (messages < budget) {
		len = nl_socket_receive(m->socket, &m->buffer);
		if (len == -EAGAIN)
			return 0;
		/* A message that did not fit is as lost as one that was not sent. */
		if (len == -EMSGSIZE)
			return -ENOBUFS;
		if (len < 0)
			return len;
		messages += deliver(m, len, fn, arg);
	}
	return 1;
}

unsigned long nl_monitor_malformed(const struct nl_monitor *monitor, const char **why)
{
	*why = monitor->why;
	return monitor->malformed;
}

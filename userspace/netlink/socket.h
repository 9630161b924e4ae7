/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the netlink sockets of this room have in common: how they are opened, and the one way to
 * receive, which believes the kernel only. Private to netlink/.
 */
#pragma once

#include <libmnl/libmnl.h>

/* The kernel sends at most 32 KiB of a dump at once; a notification may be longer. */
enum { NL_BUFFER = 256 << 10 };

struct nl_buffer {
	_Alignas(struct nlmsghdr) char data[NL_BUFFER];
};

static inline void cleanup_mnl_socket(struct mnl_socket **socket)
{
	if (*socket)
		mnl_socket_close(*socket);
}

#define _cleanup_mnl_socket_ _cleanup_(cleanup_mnl_socket)

/* bus: NETLINK_ROUTE, ... Close-on-exec, bound, extended acks on; non-blocking if asked for. */
int nl_socket_open(int bus, bool nonblocking, struct mnl_socket **socket);

/*
 * One datagram from the kernel: its length, at least 1, or -errno: -EAGAIN when there is none,
 * -ENOBUFS when the kernel had to leave some out, -EMSGSIZE when it did not fit. Datagrams from
 * other processes, which may send to any socket, are skipped.
 */
ssize_t nl_socket_receive(const struct mnl_socket *socket, void *buf, size_t size);

/* Walks the messages of a datagram; a broken length ends it. */
#define nl_for_each_message(nlh, left, buf, len) \
	for ((left) = (len), (nlh) = (void *)(buf); mnl_nlmsg_ok(nlh, left); \
	     (nlh) = mnl_nlmsg_next(nlh, &(left)))

/* The code that an NLMSG_ERROR or NLMSG_DONE carries: 0 or -errno; -EBADMSG if it is cut short. */
int nl_message_error(const struct nlmsghdr *nlh);

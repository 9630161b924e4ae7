/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the netlink sockets of this room have in common: how they are opened, the one way to
 * receive, which believes the kernel only, and asking a question. Private to netlink/.
 */
#pragma once

#include <libmnl/libmnl.h>
#include <stdlib.h>

#include "common/cleanup.h"

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

/* bus: NETLINK_ROUTE, ... The socket is bound, non-blocking, close-on-exec. */
int nl_socket_open(int bus, struct mnl_socket **socket);

/*
 * One datagram from the kernel: its length, at least 1, or -errno: -EAGAIN when there is none,
 * -ENOBUFS when the kernel had to leave some out, -EMSGSIZE when it did not fit. Datagrams from
 * other processes, which may send to any socket, are skipped.
 */
ssize_t nl_socket_receive(const struct mnl_socket *socket, struct nl_buffer *buffer);

/* Walks the messages of a datagram; a broken length ends it. */
#define nl_for_each_message(nlh, left, buffer, len) \
	for ((left) = (len), (nlh) = (void *)(buffer)->data; mnl_nlmsg_ok(nlh, left); \
	     (nlh) = mnl_nlmsg_next(nlh, &(left)))

/* The code that an NLMSG_ERROR or NLMSG_DONE carries: 0 or -errno; -EBADMSG if it is cut short. */
int nl_message_error(const struct nlmsghdr *nlh);

/*
 * A socket for requests, one at a time, and the buffer of request and answer. The kernel works on a
 * request inside sendmsg(): the answer lies in the socket when that returns, nothing here waits.
 */
struct nl_talk {
	struct mnl_socket *socket;
	__u32 seq;
	struct nl_buffer buffer;
};

int nl_talk_open(struct nl_talk *talk, int bus);
void nl_talk_close(struct nl_talk *talk); /* a zeroed one is fine */

/* Begins a request; attributes are put to the result, which lives in the buffer. */
struct nlmsghdr *nl_talk_begin(struct nl_talk *talk, __u16 type, const void *header, size_t len);

/* Sends it and leaves what the kernel may say to it unread. */
int nl_talk_send(struct nl_talk *talk, const struct nlmsghdr *request);

/* Sends it; *answer, in the buffer, is no NLMSG_ERROR: that is returned as its -errno. */
int nl_talk_ask(struct nl_talk *talk, const struct nlmsghdr *request,
		const struct nlmsghdr **answer);

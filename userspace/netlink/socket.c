/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opening netlink sockets and receiving from them. mnl_socket_recvfrom() does not tell who sent a
 * datagram, so receiving is done here.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/cleanup.h"
#include "socket.h"

int nl_socket_open(int bus, bool nonblocking, struct mnl_socket **socket)
{
	_cleanup_mnl_socket_ struct mnl_socket *opened = NULL;
	int on = 1;

	opened = mnl_socket_open2(bus, SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0));
	if (!opened || mnl_socket_bind(opened, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	if (mnl_socket_setsockopt(opened, NETLINK_EXT_ACK, &on, sizeof(on)) < 0)
		return -errno;

	*socket = TAKE_PTR(opened);
	return 0;
}

ssize_t nl_socket_receive(const struct mnl_socket *socket, void *buf, size_t size)
{
	struct sockaddr_nl from;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = { .msg_name = &from, .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	for (;;) {
		msg.msg_namelen = sizeof(from);
		n = recvmsg(mnl_socket_get_fd(socket), &msg, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (msg.msg_namelen != sizeof(from) || from.nl_pid != 0)
			continue;
		if (msg.msg_flags & MSG_TRUNC)
			return -EMSGSIZE;
		if (n > 0)
			return n;
	}
}

int nl_message_error(const struct nlmsghdr *nlh)
{
	int error;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(error))
		return -EBADMSG;
	memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof(error));
	return error <= 0 ? error : -EBADMSG;
}

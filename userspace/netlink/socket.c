/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opening netlink sockets, receiving from them and asking. mnl_socket_recvfrom() does not tell who
 * sent a datagram, so receiving is done here.
 */
#include <errno.h>
#include <string.h>

#include "socket.h"

int nl_socket_open(int bus, struct mnl_socket **socket)
{
	_cleanup_mnl_socket_ struct mnl_socket *opened = NULL;

	opened = mnl_socket_open2(bus, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!opened || mnl_socket_bind(opened, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;

	*socket = TAKE_PTR(opened);
	return 0;
}

ssize_t nl_socket_receive(const struct mnl_socket *socket, struct nl_buffer *buffer)
{
	struct iovec iov = { .iov_base = buffer->data, .iov_len = sizeof(buffer->data) };
	struct sockaddr_nl from;
	struct msghdr msg = { .msg_name = &from, .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	for (;;) {
		msg.msg_namelen = sizeof(from);
		n = recvmsg(mnl_socket_get_fd(socket), &msg, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0 || msg.msg_namelen != sizeof(from) || from.nl_pid != 0)
			continue;
		return msg.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
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

int nl_talk_open(struct nl_talk *talk, int bus)
{
	return nl_socket_open(bus, &talk->socket);
}

void nl_talk_close(struct nl_talk *talk)
{
	if (talk->socket)
		mnl_socket_close(talk->socket);
	talk->socket = NULL;
}

struct nlmsghdr *nl_talk_begin(struct nl_talk *talk, __u16 type, const void *header, size_t len)
{
	struct nlmsghdr *nlh;
	ssize_t left;

	/* What the kernel had to say to requests that were only sent. */
	do
		left = nl_socket_receive(talk->socket, &talk->buffer);
	while (left > 0 || left == -ENOBUFS);

	nlh = mnl_nlmsg_put_header(talk->buffer.data);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = ++talk->seq;
	memcpy(mnl_nlmsg_put_extra_header(nlh, len), header, len);
	return nlh;
}

int nl_talk_send(struct nl_talk *talk, const struct nlmsghdr *request)
{
	return mnl_socket_sendto(talk->socket, request, request->nlmsg_len) < 0 ? -errno : 0;
}

int nl_talk_ask(struct nl_talk *talk, const struct nlmsghdr *request,
		const struct nlmsghdr **answer)
{
	struct nlmsghdr *nlh;
	ssize_t len;
	int err, left;

	err = nl_talk_send(talk, request);
	if (err)
		return err;

	for (;;) {
		len = nl_socket_receive(talk->socket, &talk->buffer);
		if (len < 0)
			return len;
		nl_for_each_message(nlh, left, &talk->buffer, len) {
			if (nlh->nlmsg_seq != talk->seq)
				continue;
			if (nlh->nlmsg_type == NLMSG_ERROR)
				return nl_message_error(nlh) ?: -EBADMSG;
			*answer = nlh;
			return 0;
		}
	}
}

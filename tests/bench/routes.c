// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Puts a full table into the kernel of the namespace it runs in, 128 routes a system call: ip(8) takes
 * ten times as long.
 *
 *   routes add IF < ROUTES
 *
 * ROUTES: lines "PREFIX GATEWAY". Fails at the first route that the kernel refuses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#define BATCH 128
#define MESSAGE_MAX 256

struct route {
	__u8 family, length;
	__u8 prefix[16], gateway[16];
};

static int parse_route(char *line, struct route *route)
{
	char *gateway = strpbrk(line, " \t"), *slash = strchr(line, '/');

	*route = (struct route){ .family = strchr(line, ':') ? AF_INET6 : AF_INET };
	if (!gateway || !slash || slash > gateway)
		return -EINVAL;
	*gateway++ = *slash++ = '\0';
	gateway[strcspn(gateway, "\n")] = '\0';
	route->length = atoi(slash);
	return inet_pton(route->family, line, route->prefix) == 1 &&
			       inet_pton(route->family, gateway, route->gateway) == 1 ?
		       0 : -EINVAL;
}

static struct nlmsghdr *route_message(void *buffer, const struct route *route, int ifindex, __u16 flags)
{
	size_t width = route->family == AF_INET6 ? 16 : 4;
	struct nlmsghdr *h = mnl_nlmsg_put_header(buffer);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(h, sizeof(*rtm));

	h->nlmsg_type = RTM_NEWROUTE;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	rtm->rtm_family = route->family;
	rtm->rtm_dst_len = route->length;
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = RTPROT_STATIC;
	rtm->rtm_type = RTN_UNICAST;
	mnl_attr_put(h, RTA_DST, width, route->prefix);
	mnl_attr_put(h, RTA_GATEWAY, width, route->gateway);
	mnl_attr_put_u32(h, RTA_OIF, ifindex);
	return h;
}

/* The kernel answers the last message and those that fail. */
static int send_batch(struct mnl_socket *nl, const void *buffer, size_t length, __u32 last)
{
	char answer[MNL_SOCKET_BUFFER_SIZE];

	if (mnl_socket_sendto(nl, buffer, length) < 0)
		return -errno;
	for (;;) {
		int n = mnl_socket_recvfrom(nl, answer, sizeof(answer));
		const struct nlmsghdr *h = (const void *)answer;

		if (n < 0)
			return -errno;
		for (; mnl_nlmsg_ok(h, n); h = mnl_nlmsg_next(h, &n)) {
			const struct nlmsgerr *error = mnl_nlmsg_get_payload(h);

			if (h->nlmsg_type != NLMSG_ERROR)
				continue;
			if (error->error)
				return error->error;
			if (h->nlmsg_seq == last)
				return 0;
		}
	}
}

static int verb_add(struct mnl_socket *nl, int ifindex)
{
	static char buffer[BATCH * MESSAGE_MAX];
	struct nlmsghdr *message = NULL;
	size_t used = 0;
	__u32 seq = 0;
	char line[256];
	int rc = 0;

	while (!rc && fgets(line, sizeof(line), stdin)) {
		struct route route;

		rc = parse_route(line, &route);
		if (rc)
			break;
		message = route_message(buffer + used, &route, ifindex, NLM_F_CREATE | NLM_F_EXCL);
		message->nlmsg_seq = ++seq;
		used += NLMSG_ALIGN(message->nlmsg_len);
		if (seq % BATCH)
			continue;
		message->nlmsg_flags |= NLM_F_ACK;
		rc = send_batch(nl, buffer, used, seq);
		used = 0;
	}
	if (rc || !used)
		return rc;
	message->nlmsg_flags |= NLM_F_ACK;
	return send_batch(nl, buffer, used, seq);
}

int main(int argc, char **argv)
{
	int ifindex = argc == 3 && !strcmp(argv[1], "add") ? if_nametoindex(argv[2]) : 0;
	struct mnl_socket *nl;
	int rc;

	if (!ifindex) {
		fprintf(stderr, "usage: routes add IF, see routes.c\n");
		return 2;
	}
	nl = mnl_socket_open(NETLINK_ROUTE);
	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID)) {
		perror("routes: netlink");
		return EXIT_FAILURE;
	}
	rc = verb_add(nl, ifindex);
	mnl_socket_close(nl);
	if (rc)
		fprintf(stderr, "routes: %s\n", strerror(-rc));
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

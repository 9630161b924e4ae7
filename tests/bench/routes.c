// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Puts a full table into the kernel of the namespace it runs in, 128 routes a system call, which takes
 * ip(8) ten times as long; and then changes it at a given pace.
 *
 *   routes add IF ROUTES
 *   routes churn IF ROUTES	for each line "COUNT RATE" of input: so many updates, so many a second
 *				(0: as fast as it goes); then prints "NANOSECONDS"
 *
 * ROUTES: a file of lines "PREFIX GATEWAY". An update is in turn another gateway for a route, its removal,
 * and the route as it was. Fails at the first thing that the kernel refuses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"

#define BATCH	    128
#define MESSAGE_MAX 256

struct route {
	__u8 family, length;
	__u8 prefix[16], gateway[16];
};

struct routes {
	struct route *all;
	size_t count;
};

/* Requests that go to the kernel together. */
struct batch {
	struct mnl_socket *nl;
	int ifindex;
	__u32 seq;
	unsigned int messages;
	size_t used;
	struct nlmsghdr *last;
	char buffer[BATCH * MESSAGE_MAX];
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
			       inet_pton(route->family, gateway, route->gateway) == 1
		       ? 0
		       : -EINVAL;
}

static int read_routes(const char *file, struct routes *routes)
{
	_cleanup_fclose_ FILE *f = fopen(file, "re");
	size_t room = 0;
	char line[256];
	int rc = 0;

	if (!f)
		return -errno;
	while (!rc && fgets(line, sizeof(line), f)) {
		if (routes->count == room) {
			room = room ? 2 * room : 1024;

			struct route *grown = reallocarray(routes->all, room, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			routes->all = grown;
		}
		rc = parse_route(line, &routes->all[routes->count++]);
	}
	return rc;
}

/* --- requests ---------------------------------------------------------------------------------- */

static struct nlmsghdr *put_route(struct batch *b, __u16 type, __u16 flags,
				  const struct route *route, const __u8 *gateway)
{
	size_t width = route->family == AF_INET6 ? 16 : 4;
	struct nlmsghdr *h = mnl_nlmsg_put_header(b->buffer + b->used);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(h, sizeof(*rtm));

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_seq = ++b->seq;
	rtm->rtm_family = route->family;
	rtm->rtm_dst_len = route->length;
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = RTPROT_STATIC;
	rtm->rtm_type = RTN_UNICAST;
	mnl_attr_put(h, RTA_DST, width, route->prefix);
	if (gateway)
		mnl_attr_put(h, RTA_GATEWAY, width, gateway);
	mnl_attr_put_u32(h, RTA_OIF, b->ifindex);
	return h;
}

/* The kernel answers the last request and those that fail. */
static int take_answers(struct batch *b, __u32 last)
{
	char answer[MNL_SOCKET_BUFFER_SIZE];

	for (;;) {
		int n = mnl_socket_recvfrom(b->nl, answer, sizeof(answer));
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

static int flush(struct batch *b)
{
	size_t used = b->used;

	if (!used)
		return 0;
	b->last->nlmsg_flags |= NLM_F_ACK;
	b->used = b->messages = 0;
	if (mnl_socket_sendto(b->nl, b->buffer, used) < 0)
		return -errno;
	return take_answers(b, b->seq);
}

static int request(struct batch *b, __u16 type, __u16 flags, const struct route *route,
		   const __u8 *gateway)
{
	b->last = put_route(b, type, flags, route, gateway);
	b->used += NLMSG_ALIGN(b->last->nlmsg_len);
	return ++b->messages == BATCH ? flush(b) : 0;
}

static int verb_add(struct batch *b, const struct routes *routes)
{
	int rc = 0;

	for (size_t i = 0; i < routes->count && !rc; i++) {
		const struct route *route = &routes->all[i];

		rc = request(b, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route, route->gateway);
	}
	return rc ?: flush(b);
}

/* --- churn ------------------------------------------------------------------------------------- */

static __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void sleep_until(__u64 ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* One of the family's gateways that other routes have. */
static const __u8 *other_gateway(const struct routes *routes, const struct route *route)
{
	for (;;) {
		const struct route *other = &routes->all[random() % routes->count];

		if (other->family == route->family)
			return other->gateway;
	}
}

/* The update with this number. Every third one leaves all routes as they were. */
static int update(struct batch *b, const struct routes *routes, __u64 number)
{
	static const struct route *route;

	switch (number % 3) {
	case 0:
		route = &routes->all[random() % routes->count];
		return request(b, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, route,
			       other_gateway(routes, route));
	case 1:
		/* Whatever its gateway is: not the one that the file says. */
		return request(b, RTM_DELROUTE, 0, route, NULL);
	default:
		return request(b, RTM_NEWROUTE, NLM_F_CREATE, route, route->gateway);
	}
}

/* Each millisecond's updates at once. */
static int churn(struct batch *b, const struct routes *routes, __u64 count, __u64 rate)
{
	const __u64 tick = 1000000;
	static __u64 number;
	__u64 start = now_ns(), done = 0;
	int rc = 0;

	for (__u64 ticks = 1; done < count && !rc; ticks++) {
		__u64 due = rate ? ticks * tick * rate / 1000000000 : count;

		for (; done < due && done < count && !rc; done++)
			rc = update(b, routes, number++);
		rc = rc ?: flush(b);
		if (rate && !rc)
			sleep_until(start + ticks * tick);
	}
	if (!rc)
		printf("%llu\n", now_ns() - start);
	fflush(stdout);
	return rc;
}

static int verb_churn(struct batch *b, const struct routes *routes)
{
	unsigned long long count, rate;
	int rc = 0;

	while (!rc && scanf("%llu %llu", &count, &rate) == 2)
		rc = churn(b, routes, count, rate);
	return rc;
}

int main(int argc, char **argv)
{
	static struct routes routes;
	static struct batch b;
	bool add = argc == 4 && !strcmp(argv[1], "add");
	int rc;

	if (!add && !(argc == 4 && !strcmp(argv[1], "churn"))) {
		fprintf(stderr, "usage: routes add|churn IF ROUTES, see routes.c\n");
		return 2;
	}
	b.ifindex = if_nametoindex(argv[2]);
	b.nl = mnl_socket_open(NETLINK_ROUTE);
	if (!b.ifindex || !b.nl || mnl_socket_bind(b.nl, 0, MNL_SOCKET_AUTOPID)) {
		perror("routes");
		return EXIT_FAILURE;
	}
	rc = read_routes(argv[3], &routes);
	rc = rc ?: add ? verb_add(&b, &routes) : verb_churn(&b, &routes);
	mnl_socket_close(b.nl);
	free(routes.all);
	if (rc)
		fprintf(stderr, "routes: %s\n", strerror(-rc));
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libFuzzer target: any bytes as one rtnetlink message. The input is copied to an odd address at the
 * end of an allocation, so that the sanitizers see a read beyond it and one that wants alignment; what
 * the parser accepts must keep the bounds that event.h promises to the model.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check_prefix(enum family f, struct addr a, unsigned int len)
{
	require(f < FAMILIES && len <= family_bits(f));
	require(f == IP6 || (a.lo == 0 && !(a.hi & 0xffffffff)));
}

static void check_leg(const struct leg *leg)
{
	require(leg->weight >= 1 && leg->weight <= 65536);
	if (leg->has_gateway)
		check_prefix(leg->gateway_family, leg->gateway, 0);
}

static void check_link(const struct link_event *link)
{
	require(memchr(link->name, 0, sizeof(link->name)) &&
		memchr(link->kind, 0, sizeof(link->kind)) &&
		memchr(link->slave_kind, 0, sizeof(link->slave_kind)));
	require(link->vid <= 0xffff);
}

static void check_route(const struct route_event *route)
{
	check_prefix(route->family, route->dst, route->dst_len);
	check_prefix(route->family, route->src, route->src_len);
	require(addr_equal(route->dst, addr_mask(route->dst, route->dst_len)));
	require(route->legs <= NEXTHOP_LEGS_MAX && !route->cloned);
	for (unsigned int i = 0; i < route->legs; i++)
		check_leg(&route->leg[i]);
}

static void check_nexthop(const struct nexthop_event *nh)
{
	require(nh->id && nh->family < FAMILIES && nh->members <= NEXTHOP_LEGS_MAX);
	check_leg(&nh->leg);
	for (unsigned int i = 0; i < nh->members; i++)
		require(nh->member[i].weight >= 1 && nh->member[i].weight <= 65536);
}

static void check_event(const struct event *ev)
{
	require(ev->kind < EVENT_KINDS && !ev->dump);
	switch (ev->kind) {
	case EVENT_LINK:
		require(!ev->link.partial || !ev->del);
		check_link(&ev->link);
		break;
	case EVENT_ADDR:
		check_prefix(ev->addr.family, ev->addr.addr, ev->addr.prefixlen);
		break;
	case EVENT_ROUTE:
		check_route(&ev->route);
		break;
	case EVENT_NEXTHOP:
		check_nexthop(&ev->nexthop);
		break;
	case EVENT_NEIGH:
		check_prefix(ev->neigh.family, ev->neigh.addr, 0);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct event event;
	const char *why = NULL;
	char *copy = malloc(size + 1);
	int ret;

	require(copy);
	memcpy(copy + 1, data, size);
	ret = parse_message((void *)(copy + 1), size, &event, &why);
	free(copy);
	require(ret == 1 || ret == 0 || why);
	if (ret == 1)
		check_event(&event);
	return 0;
}

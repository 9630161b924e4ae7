// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See kernel.h. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"
#include "text.h"

int kernel_ask(struct nl_query *query, enum family f, struct addr dst, const struct addr *src,
	       int iif, struct nl_answer *answer, bool *partial)
{
	int r = nl_query_route(query, f, dst, src, iif, true, answer);

	if (r)
		return r;
	*partial = false;
	if (!kernel_forwards(answer) || answer->legs)
		return 0;
	r = nl_query_route(query, f, dst, src, iif, false, answer);
	if (r)
		return r;
	*partial = true;
	answer->leg[0] = kernel_path(answer);
	answer->legs = 1;
	return 0;
}

bool kernel_forwards(const struct nl_answer *answer)
{
	return !answer->error && answer->type == RTN_UNICAST;
}

struct leg kernel_path(const struct nl_answer *answer)
{
	return (struct leg){
		.ifindex = answer->oif,
		.has_gateway = answer->has_gateway,
		.gateway_family = answer->gateway_family,
		.gateway = answer->gateway,
		.weight = 1,
	};
}

bool leg_is_hop(const struct leg *leg, const struct hop *hop)
{
	if (leg->ifindex != hop->ifindex || leg->has_gateway != hop->has_via)
		return false;
	return !hop->has_via ||
	       (leg->gateway_family == hop->via_family && addr_equal(leg->gateway, hop->via));
}

bool kernel_has_hop(const struct nl_answer *answer, const struct hop *hop)
{
	for (unsigned int i = 0; i < answer->legs; i++)
		if (!(answer->leg[i].flags & RTNH_F_DEAD) && leg_is_hop(&answer->leg[i], hop))
			return true;
	return false;
}

const char *kernel_type(const struct nl_answer *answer)
{
	switch (answer->error) {
	case 0:
		return route_type_name(answer->type);
	case -ENETUNREACH:
		return "none";
	case -EHOSTUNREACH:
		return "unreachable";
	case -EACCES:
		return "prohibit";
	case -EINVAL:
		return "blackhole";
	case -EXDEV:
		return "reverse_path";
	default:
		return NULL;
	}
}

const char *leg_text(const struct leg *leg, char buf[static LEG_STRLEN])
{
	char via[ADDR_STRLEN];

	if (leg->has_gateway)
		snprintf(buf, LEG_STRLEN, "via %s dev %s",
			 addr_format(leg->gateway_family, leg->gateway, via),
			 ifname_of(leg->ifindex));
	else
		snprintf(buf, LEG_STRLEN, "dev %s", ifname_of(leg->ifindex));
	return buf;
}

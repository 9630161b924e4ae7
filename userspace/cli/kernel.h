/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's own answer about a route, and whether a next hop of ours is in it. */
#pragma once

#include "leaf.h"
#include "netlink/nl.h"

/*
 * The matching route with all of its legs. Where a nexthop object hides them (nexthop_compat_mode
 * 0), the one leg that the kernel takes: *partial is set. src may be NULL, iif 0: locally sent.
 */
int kernel_ask(struct nl_query *query, enum family f, struct addr dst, const struct addr *src,
	       int iif, struct nl_answer *answer, bool *partial);

/* The kernel sends such packets on. */
bool kernel_forwards(const struct nl_answer *answer);

/* Whether a usable leg of the answer is this hop: same device, same gateway or none. */
bool kernel_has_hop(const struct nl_answer *answer, const struct hop *hop);

/* The leg that an answer without fib_match took. */
struct leg kernel_path(const struct nl_answer *answer);
bool leg_is_hop(const struct leg *leg, const struct hop *hop);

/* "unicast", "local", "unreachable", ...: an error by the route type that gives it. NULL: it is no answer. */
const char *kernel_type(const struct nl_answer *answer);

enum { LEG_STRLEN = ADDR_STRLEN + 32 };
const char *leg_text(const struct leg *leg, char buf[static LEG_STRLEN]);

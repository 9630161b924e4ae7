/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rtnetlink bytes -> events. Pure: no socket, no clock, no allocation, nothing global; safe on any
 * bytes (fuzzed), also when they are not aligned.
 */
#pragma once

#include <linux/netlink.h>

#include "event.h"

/*
 * One message. `len` bytes are readable at nlh. Returns 1 with *ev filled, 0 if the message is of no
 * interest (NLMSG_NOOP, NLMSG_DONE, another family, AF_BRIDGE, a cached route, ...), -EBADMSG if it is
 * malformed: *why then says what, in a static string. *ev is undefined unless 1 is returned.
 */
int parse_message(const struct nlmsghdr *nlh, size_t len, struct event *ev, const char **why);

/* The same for the answer to a question about one route, which the kernel marks as a cached route. */
int parse_answer(const struct nlmsghdr *nlh, size_t len, struct event *ev, const char **why);

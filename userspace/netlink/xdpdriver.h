/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a device can transmit redirected frames, for kernels that do not say so (before 6.3).
 * Private to netlink/.
 */
#pragma once

#include <stdbool.h>

#include "socket.h"

/* rtnl: a NETLINK_ROUTE talk. 0, or -errno (-ENODEV: no such device). */
int xdpdriver_can_transmit(struct nl_talk *rtnl, int ifindex, bool *can);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a driver counts of redirected frames that it could not send. */
#pragma once

#include <linux/types.h>

/* -EOPNOTSUPP if the driver's counters are not known to tell. */
int ethtool_tx_drops(const char *ifname, __u64 *drops);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a packet that `lookup` asks about comes from, when nobody says so. */
#pragma once

#include "common/addr.h"

/*
 * The first host in a subnet of the interface that is neither we nor dst: the route back to it leads
 * there, so that it passes a reverse path filter. Without a subnet, an address for documentation.
 */
int source_choose(enum family f, struct addr dst, int ifindex, struct addr *src);

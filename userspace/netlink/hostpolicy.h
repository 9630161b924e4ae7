/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the administrator put on the kernel's path that XDP would pass by: netfilter, IPsec policies,
 * queueing disciplines and filters of traffic control. Found and named, no more: whether a packet
 * would really meet it is not worked out, a whole family or port counts. What cannot be read counts
 * as found.
 */
#pragma once

#include <net/if.h>

#include "abi.h"
#include "common/addr.h"

enum policy_kind { POLICY_NETFILTER, POLICY_XFRM, POLICY_TC, POLICY_KINDS };

/* One line for each that names the first thing found; "" if there is none. */
struct port_policy {
	__u32 ifindex; /* 0: no port */
	char name[IFNAMSIZ];
	char ingress[XFIB_REASON], egress[XFIB_REASON];
};

/* tracking: the kernel's connection tracking is on the path, which concerns fragments alone. */
struct host_policy {
	char family[FAMILIES][XFIB_REASON];
	char tracking[FAMILIES][XFIB_REASON];
	struct port_policy port[XFIB_PORTS];
};

struct hostpolicy;

/* Never fails for what the kernel does not have. */
int hostpolicy_open(struct hostpolicy **hp);
void hostpolicy_free(struct hostpolicy *hp); /* NULL is fine */

/*
 * Readable when something of this kind has changed; -1: the kernel does not say. Legacy iptables, IPVS
 * and tcx programs come and go without a word in any case: look once a second besides.
 */
int hostpolicy_fd(const struct hostpolicy *hp, enum policy_kind kind);

/* Reads and forgets what the fd has: whether it asks for a look. */
bool hostpolicy_drain(struct hostpolicy *hp, enum policy_kind kind);

/* Fills in all but the ifindex of the ports, which is the caller's. */
void hostpolicy_look(struct hostpolicy *hp, enum policy_kind kind, struct host_policy *policy);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BPF programs on the kernel's path, which no netlink message tells of. A kernel that does not know
 * a kind of program has none. Private to netlink/.
 */
#pragma once

#include "hostpolicy.h"

/* tcx programs of the ports. */
void policy_bpf_tcx(struct host_policy *policy);

/* Programs on netfilter hooks. The kernel does not say in which namespace: those of all count. */
void policy_bpf_netfilter(struct host_policy *policy);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages and /proc files -> reasons of struct host_policy. Pure: no socket, no file; safe on any
 * bytes that mnl_nlmsg_ok() lets pass, in a buffer that is aligned and at least NLMSG_ALIGN(nlmsg_len)
 * long. Each adds what it finds where nothing was found before. Private to netlink/.
 */
#pragma once

#include <linux/netlink.h>

#include "hostpolicy.h"

/*
 * Return 0, or -EBADMSG for a malformed message. The ports' ifindex and name are given; messages of
 * other types say nothing.
 */
int policy_parse_chain(const struct nlmsghdr *nlh, struct host_policy *policy);
int policy_parse_hook(const struct nlmsghdr *nlh, struct host_policy *policy);
int policy_parse_xfrm(const struct nlmsghdr *nlh, struct host_policy *policy);

/*
 * As above, of what stands anywhere in nf_tables and makes the kernel track connections: a rule, one
 * that goes too, a set or an object.
 */
int policy_parse_tracker(const struct nlmsghdr *nlh, char tracking[FAMILIES][XFIB_REASON]);

/* A queueing discipline that is harmless unless filters are attached to it. */
struct classifier {
	__u32 ifindex, handle; /* 0: the root one */
};

/* As above; 1: *ask for filters, then say policy_tc_filter() of those that have some. */
int policy_parse_qdisc(const struct nlmsghdr *nlh, struct host_policy *policy, struct classifier *ask);
void policy_tc_filter(struct host_policy *policy, const struct classifier *at);
void policy_tc_program(struct host_policy *policy, __u32 ifindex, bool ingress);

/* A BPF link on a netfilter hook. pf: NFPROTO_*; defrag: it has the kernel defragment. */
void policy_netfilter_link(struct host_policy *policy, __u32 id, __u32 pf, __u32 hooknum, bool defrag);

/* Lines of /proc/net/ip_tables_names (or ip6_) and ip_vs. */
void policy_parse_table(const char *line, enum family family, struct host_policy *policy);
void policy_parse_service(const char *line, struct host_policy *policy);

/* What could not be read: `what` in words, err is -errno. */
void policy_unreadable(struct host_policy *policy, enum policy_kind kind, const char *what, int err);

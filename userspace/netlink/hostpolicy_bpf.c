// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See hostpolicy_bpf.h. Both kinds are younger than the headers we build with: 6.6 and 6.4. */
#include <bpf/bpf.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "hostpolicy_bpf.h"
#include "hostpolicy_parse.h"

enum { TCX_INGRESS = 46, TCX_EGRESS = 47 };
enum { LINK_TYPE_NETFILTER = 10, FLAG_DEFRAG = 1 };

/* struct bpf_link_info, as far as it concerns a netfilter link. */
union link_info {
	struct {
		__u32 type, id, prog_id, pad;
		__u32 pf, hooknum;
		__s32 priority;
		__u32 flags;
	};
	__u8 room[256];
};

static bool has_tcx(__u32 ifindex, int where)
{
	__u32 count = 0;

	return !bpf_prog_query(ifindex, where, 0, NULL, NULL, &count) && count;
}

void policy_bpf_tcx(struct host_policy *policy)
{
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		__u32 ifindex = policy->port[i].ifindex;

		if (ifindex && has_tcx(ifindex, TCX_INGRESS))
			policy_tc_program(policy, ifindex, true);
		if (ifindex && has_tcx(ifindex, TCX_EGRESS))
			policy_tc_program(policy, ifindex, false);
	}
}

/* A link may go while it is looked at; then it says nothing any more. */
static void look_at_link(__u32 id, struct host_policy *policy)
{
	_cleanup_close_ int fd = bpf_link_get_fd_by_id(id);
	union link_info info = {};
	__u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) || info.type != LINK_TYPE_NETFILTER)
		return;
	policy_netfilter_link(policy, info.id, info.pf, info.hooknum, info.flags & FLAG_DEFRAG);
}

void policy_bpf_netfilter(struct host_policy *policy)
{
	__u32 id = 0;

	while (!bpf_link_get_next_id(id, &id))
		look_at_link(id, policy);
}

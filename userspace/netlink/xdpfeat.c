/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * XDP features of devices, from the generic netlink family "netdev" where the kernel has it.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

#include "socket.h"
#include "xdpdriver.h"
#include "xdpfeat.h"

/* From linux/netdev.h, which is younger (6.3) than the headers we build with. */
enum { NETDEV_FAMILY_VERSION = 1 };
enum { NETDEV_A_DEV_IFINDEX = 1, NETDEV_A_DEV_XDP_FEATURES = 3 };
enum {
	NETDEV_CMD_DEV_GET = 1,
	NETDEV_CMD_DEV_ADD_NTF,
	NETDEV_CMD_DEV_DEL_NTF,
	NETDEV_CMD_DEV_CHANGE_NTF
};
enum { NETDEV_XDP_ACT_NDO_XMIT = 4, NETDEV_XDP_ACT_NDO_XMIT_SG = 64 };

struct xdpfeat {
	__u16 family;		    /* 0: the kernel has none */
	struct nl_talk genl, rtnl;  /* one of them is open */
	struct mnl_socket *changes; /* NULL without the family */
	struct nl_buffer buffer;
};

struct family_info {
	__u16 id;
	int mgmt; /* the multicast group of changes */
};

static struct nlmsghdr *begin(struct nl_talk *genl, __u16 family, __u8 command, __u8 version)
{
	const struct genlmsghdr header = { .cmd = command, .version = version };

	return nl_talk_begin(genl, family, &header, sizeof(header));
}

static void parse_groups(const struct nlattr *groups, struct family_info *info)
{
	const struct nlattr *group, *a;
	const char *name;
	int id;

	mnl_attr_for_each_nested(group, groups) {
		name = "";
		id = 0;
		mnl_attr_for_each_nested(a, group) {
			if (mnl_attr_get_type(a) == CTRL_ATTR_MCAST_GRP_NAME)
				name = mnl_attr_get_str(a);
			else if (mnl_attr_get_type(a) == CTRL_ATTR_MCAST_GRP_ID)
				id = mnl_attr_get_u32(a);
		}
		if (!strcmp(name, "mgmt"))
			info->mgmt = id;
	}
}

/* -ENOENT: the kernel does not have it. */
static int find_family(struct nl_talk *genl, struct family_info *info)
{
	struct nlmsghdr *nlh = begin(genl, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	const struct nlmsghdr *reply = NULL;
	const struct nlattr *a;
	int err;

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, "netdev");
	err = nl_talk_ask(genl, nlh, &reply);
	if (err)
		return err;

	*info = (struct family_info){};
	mnl_attr_for_each(a, reply, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_ID)
			info->id = mnl_attr_get_u16(a);
		else if (mnl_attr_get_type(a) == CTRL_ATTR_MCAST_GROUPS)
			parse_groups(a, info);
	}
	return info->id && info->mgmt ? 0 : -ENOENT;
}

static int follow_changes(struct xdpfeat *xf, int group)
{
	int err = nl_socket_open(NETLINK_GENERIC, &xf->changes);

	if (err)
		return err;
	if (mnl_socket_setsockopt(xf->changes, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return -errno;
	return 0;
}

static void cleanup_xdpfeat(struct xdpfeat **xf)
{
	xdpfeat_free(*xf);
}

int xdpfeat_open(struct xdpfeat **xf)
{
	_cleanup_(cleanup_xdpfeat) struct xdpfeat *x = calloc(1, sizeof(*x));
	struct family_info info;
	int err;

	if (!x)
		return -ENOMEM;
	err = nl_talk_open(&x->genl, NETLINK_GENERIC);
	if (!err)
		err = find_family(&x->genl, &info);
	if (!err) {
		x->family = info.id;
		err = follow_changes(x, info.mgmt);
	} else if (err == -ENOENT || err == -EPROTONOSUPPORT) {
		nl_talk_close(&x->genl);
		err = nl_talk_open(&x->rtnl, NETLINK_ROUTE);
	}
	if (err)
		return err;

	*xf = TAKE_PTR(x);
	return 0;
}

void xdpfeat_free(struct xdpfeat *xf)
{
	if (!xf)
		return;
	if (xf->changes)
		mnl_socket_close(xf->changes);
	nl_talk_close(&xf->genl);
	nl_talk_close(&xf->rtnl);
	free(xf);
}

int xdpfeat_fd(const struct xdpfeat *xf)
{
	return xf->changes ? mnl_socket_get_fd(xf->changes) : -1;
}

static bool is_change(const struct xdpfeat *xf, const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);

	return nlh->nlmsg_type == xf->family && mnl_nlmsg_get_payload_len(nlh) >= sizeof(*genl) &&
	       genl->cmd >= NETDEV_CMD_DEV_ADD_NTF && genl->cmd <= NETDEV_CMD_DEV_CHANGE_NTF;
}

int xdpfeat_drain(struct xdpfeat *xf)
{
	struct nlmsghdr *nlh;
	int left, changed = 0;
	ssize_t len;

	if (!xf->changes)
		return 0;
	for (;;) {
		len = nl_socket_receive(xf->changes, &xf->buffer);
		if (len == -EAGAIN)
			return changed;
		/* What was lost may have been a change. */
		if (len == -ENOBUFS || len == -EMSGSIZE) {
			changed = 1;
			continue;
		}
		if (len < 0)
			return len;
		nl_for_each_message(nlh, left, &xf->buffer, len)
			changed |= is_change(xf, nlh);
	}
}

static int ask_kernel(struct xdpfeat *xf, int ifindex, struct xdp_features *features)
{
	struct nlmsghdr *nlh;
	const struct nlmsghdr *reply = NULL;
	const struct nlattr *a;
	__u64 bits = 0;
	int err;

	nlh = begin(&xf->genl, xf->family, NETDEV_CMD_DEV_GET, NETDEV_FAMILY_VERSION);
	mnl_attr_put_u32(nlh, NETDEV_A_DEV_IFINDEX, ifindex);
	err = nl_talk_ask(&xf->genl, nlh, &reply);
	if (err)
		return err;

	mnl_attr_for_each(a, reply, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(a) == NETDEV_A_DEV_XDP_FEATURES)
			bits = mnl_attr_get_u64(a);
	}
	*features = (struct xdp_features){
		.known = true,
		.xmit = bits & NETDEV_XDP_ACT_NDO_XMIT,
		.sg = bits & NETDEV_XDP_ACT_NDO_XMIT_SG,
	};
	return 0;
}

int xdpfeat_get(struct xdpfeat *xf, int ifindex, struct xdp_features *features)
{
	bool can;
	int err;

	if (xf->family)
		return ask_kernel(xf, ifindex, features);
	err = xdpdriver_can_transmit(&xf->rtnl, ifindex, &can);
	if (err)
		return err;

	*features = (struct xdp_features){ .xmit = can };
	return 0;
}

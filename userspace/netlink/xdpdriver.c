/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The drivers of kernel 6.1 that implement ndo_xdp_xmit. Most of them set up the queues for it only
 * while a program runs on the device itself, so that is asked of all. veth is the other way round:
 * it hands frames to its peer, which needs a program, or GRO, to have the ring that takes them.
 * Anything that is not known for sure is a "no".
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>

#include "xdpdriver.h"

/* As `ethtool -i` names them. Found by their .ndo_xdp_xmit in drivers/net/ of Linux 6.1. */
/* clang-format off */
static const char *const transmitters[] = {
	"atlantic", "bnxt_en", "ena", "fsl_dpaa2_eth", "fsl_enetc", "funeth", "hv_netvsc", "i40e",
	"ice", "igb", "igc", "ixgbe", "mana", "mlx5_core", "mtk_soc_eth", "mvneta", "mvpp2", "qede",
	"rvu-nicpf", "sfc", "st_gmac", "tun", "virtio_net",
};
/* clang-format on */

/* What a link says of itself that matters here. */
struct device {
	char name[IFNAMSIZ];
	int peer, peer_nsid; /* IFLA_LINK, IFLA_LINK_NETNSID: -1 here */
	bool native_xdp;     /* runs a program in the driver */
};

static void parse_xdp(const struct nlattr *xdp, struct device *dev)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, xdp) {
		if (mnl_attr_get_type(a) == IFLA_XDP_DRV_PROG_ID)
			dev->native_xdp = mnl_attr_get_u32(a) != 0;
	}
}

/* nsid: -1 for a device of our own namespace. */
static int get_device(struct nl_talk *rtnl, int ifindex, int nsid, struct device *dev)
{
	const struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };
	struct nlmsghdr *nlh = nl_talk_begin(rtnl, RTM_GETLINK, &ifi, sizeof(ifi));
	const struct nlmsghdr *reply = NULL;
	const struct nlattr *a;
	int err;

	if (nsid >= 0)
		mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, nsid);
	err = nl_talk_ask(rtnl, nlh, &reply);
	if (err)
		return err;
	if (reply->nlmsg_type != RTM_NEWLINK)
		return -EBADMSG;

	*dev = (struct device){ .peer_nsid = -1 };
	mnl_attr_for_each(a, reply, sizeof(ifi)) {
		switch (mnl_attr_get_type(a)) {
		case IFLA_IFNAME:
			strncpy(dev->name, mnl_attr_get_str(a), sizeof(dev->name) - 1);
			break;
		case IFLA_LINK:
			dev->peer = mnl_attr_get_u32(a);
			break;
		case IFLA_LINK_NETNSID:
			dev->peer_nsid = mnl_attr_get_u32(a);
			break;
		case IFLA_XDP:
			parse_xdp(a, dev);
			break;
		}
	}
	return 0;
}

static int ethtool(const char *name, void *command)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_data = command };

	if (fd < 0)
		return -errno;
	strncpy(ifr.ifr_name, name, sizeof(ifr.ifr_name) - 1);
	return ioctl(fd, SIOCETHTOOL, &ifr) < 0 ? -errno : 0;
}

static bool is_transmitter(const char *driver)
{
	for (size_t i = 0; i < sizeof(transmitters) / sizeof(*transmitters); i++) {
		if (!strcmp(driver, transmitters[i]))
			return true;
	}
	return false;
}

/* GRO of a peer in another namespace cannot be seen from here. */
static bool veth_can_transmit(struct nl_talk *rtnl, const struct device *dev)
{
	struct ethtool_value gro = { .cmd = ETHTOOL_GGRO };
	struct device peer;

	if (get_device(rtnl, dev->peer, dev->peer_nsid, &peer))
		return false;
	if (peer.native_xdp)
		return true;
	return dev->peer_nsid < 0 && !ethtool(peer.name, &gro) && gro.data;
}

int xdpdriver_can_transmit(struct nl_talk *rtnl, int ifindex, bool *can)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct device dev;
	int err;

	err = get_device(rtnl, ifindex, -1, &dev);
	if (err)
		return err;

	if (ethtool(dev.name, &info))
		*can = false;
	else if (!strcmp(info.driver, "veth"))
		*can = veth_can_transmit(rtnl, &dev);
	else
		*can = dev.native_xdp && is_transmitter(info.driver);
	return 0;
}

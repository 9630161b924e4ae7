// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See ethtool.h. A frame that XDP redirects and the driver does not take is freed without a word
 * (bq_xmit_all() in kernel/bpf/devmap.c); only drivers that count this themselves can tell, each
 * under its own names. A driver is listed here only if its source says that it counts this. (veth
 * does not count what is lost because the far end is down or has neither XDP nor GRO.)
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "ethtool.h"

static const struct {
	const char *driver;
	const char *suffix; /* of the counters to add up: one for each queue */
} drivers[] = {
	{ "veth", "_xdp_xmit_errors" }, /* veth_xdp_xmit(): the peer's ring is full, or too long */
	{ "virtio_net", "_xdp_tx_drops" }, /* virtnet_xdp_xmit(): no free descriptor */
};

static int ask(int fd, const char *ifname, void *cmd)
{
	struct ifreq ifr = { .ifr_data = cmd };

	strncpy(ifr.ifr_name, ifname, sizeof(ifr.ifr_name) - 1);
	return ioctl(fd, SIOCETHTOOL, &ifr) ? -errno : 0;
}

static int driver_suffix(int fd, const char *ifname, const char **suffix)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	int r = ask(fd, ifname, &info);

	for (size_t i = 0; !r && i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (!strcmp(info.driver, drivers[i].driver)) {
			*suffix = drivers[i].suffix;
			return 0;
		}
	return r ? r : -EOPNOTSUPP;
}

static int count_stats(int fd, const char *ifname, __u32 *count)
{
	struct {
		struct ethtool_sset_info info;
		__u32 count;
	} cmd = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_STATS } };
	int r = ask(fd, ifname, &cmd);

	if (r)
		return r;
	*count = cmd.info.sset_mask ? cmd.count : 0;
	return 0;
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t n = strnlen(text, ETH_GSTRING_LEN), m = strlen(suffix);

	return n >= m && !memcmp(text + n - m, suffix, m);
}

int ethtool_tx_drops(const char *ifname, __u64 *drops)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	_cleanup_free_ struct ethtool_gstrings *names = NULL;
	_cleanup_free_ struct ethtool_stats *stats = NULL;
	const char *suffix;
	__u64 sum = 0;
	__u32 count;
	int r;

	if (fd < 0)
		return -errno;
	r = driver_suffix(fd, ifname, &suffix);
	if (!r)
		r = count_stats(fd, ifname, &count);
	if (r)
		return r;
	names = calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
	stats = calloc(1, sizeof(*stats) + (size_t)count * sizeof(__u64));
	if (!names || !stats)
		return -ENOMEM;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = count;
	stats->cmd = ETHTOOL_GSTATS;
	stats->n_stats = count;
	r = ask(fd, ifname, names);
	if (!r)
		r = ask(fd, ifname, stats);
	if (r)
		return r;
	if (names->len != count || stats->n_stats != count)
		return -EAGAIN; /* the queues changed in between */
	for (__u32 i = 0; i < count; i++)
		if (ends_with((char *)names->data + (size_t)i * ETH_GSTRING_LEN, suffix))
			sum += stats->data[i];
	*drops = sum;
	return 0;
}

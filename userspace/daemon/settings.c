// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sysctls that the kernel does not announce: read every second, and at once when a link or an
 * address has changed, which is what some of them lead to.
 */
#include <limits.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "daemon.h"

/* The number in /proc/sys/net/NAME; `absent` if there is none (an older kernel, no IPv6). */
static int read_sysctl(const char *name, int absent)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[PATH_MAX];
	int value;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	f = fopen(path, "re");
	return f && fscanf(f, "%d", &value) == 1 ? value : absent;
}

static int read_conf(const char *family, const struct link *link, const char *name, int absent)
{
	char path[64 + IFNAMSIZ];

	snprintf(path, sizeof(path), "%s/conf/%s/%s", family, link->ev.name, name);
	return read_sysctl(path, absent);
}

/* Per interface only for ports: nothing else depends on it. */
static void update_ports(struct daemon *d)
{
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		const struct link *link = model_link(&d->model, d->fib.port[i].ifindex);
		struct link_settings s;

		if (!link)
			continue;
		s.send_redirects = read_conf("ipv4", link, "send_redirects", 1);
		s.disable_ipv6 = read_conf("ipv6", link, "disable_ipv6", 1);
		s.mtu6 = read_conf("ipv6", link, "mtu", 0);
		model_set_link_settings(&d->model, link->ifindex, &s);
	}
}

void settings_update(struct daemon *d)
{
	const struct settings s = {
		.rp_filter_all = read_sysctl("ipv4/conf/all/rp_filter", 1),
		.send_redirects_all = read_sysctl("ipv4/conf/all/send_redirects", 1),
		.ip_forward_use_pmtu = read_sysctl("ipv4/ip_forward_use_pmtu", 0),
		.fib_multipath_use_neigh = read_sysctl("ipv4/fib_multipath_use_neigh", 0),
		.hash_policy4 = read_sysctl("ipv4/fib_multipath_hash_policy", 0),
		.hash_policy6 = read_sysctl("ipv6/fib_multipath_hash_policy", 0),
		.forwarding6_all = read_sysctl("ipv6/conf/all/forwarding", 0),
	};

	model_set_settings(&d->model, &s);
	update_ports(d);
}

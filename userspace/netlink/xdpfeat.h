/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a device can transmit frames that XDP redirects to it. From kernel 6.3 on the generic
 * netlink family "netdev" says it and announces changes; before that a table of drivers does, whose
 * default is "no". Without this a redirect is a silent drop (xdp_do_flush() -> -EOPNOTSUPP).
 */
#pragma once

#include <stdbool.h>

struct xdpfeat;

struct xdp_features {
	bool known; /* false: from the driver table */
	bool xmit;  /* NETDEV_XDP_ACT_NDO_XMIT */
	bool sg;    /* NETDEV_XDP_ACT_NDO_XMIT_SG */
};

/* Never fails for lack of the family: xdpfeat_fd() is then -1 and the table answers. */
int xdpfeat_open(struct xdpfeat **xf);
void xdpfeat_free(struct xdpfeat *xf);
int xdpfeat_fd(const struct xdpfeat *xf); /* readable: features of some device changed; -1: poll */

/* Reads and forgets what the fd has; 1 if any device's features changed, 0 if none, -errno. */
int xdpfeat_drain(struct xdpfeat *xf);

int xdpfeat_get(struct xdpfeat *xf, int ifindex, struct xdp_features *features);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Internal to loader/: one program on one interface, by either way. Direct: a bpf_link pinned as
 * links/IFNAME. Dispatcher: a component of libxdp's dispatcher, beside the programs of others; libxdp
 * pins it. Knows nothing of ports and intents.
 */
#pragma once

#include <bpf/libbpf.h>

#include "load.h"

/* An interface of this namespace, and how our program is, or is to be, attached to it. */
struct link {
	char ifname[XFIB_IFNAMSIZ];
	int ifindex;
	enum xfib_mode mode;
	enum xfib_attach how;
	__u32 prog_id;
};

/*
 * Decides how, before anything is touched. -EBUSY with a clear line if a program is attached that we
 * cannot share the interface with.
 */
int link_choose(const struct instance *instance, struct link *link, struct load_error *err);

/* Attaches the opened (not loaded) object and sets prog_id. -EAGAIN: the dispatcher does not work after
 * all, choose again and bring a fresh object. */
int link_attach(const struct instance *instance, struct link *link, struct bpf_object *obj,
		struct load_error *err);

/* Puts the opened object in the place of the attached program without a moment between. */
int link_replace(const struct instance *instance, struct link *link, struct bpf_object *obj,
		 struct load_error *err);

/*
 * Whether our program runs on ifname with this ifindex, as link->how says; tells its prog_id. A pinned
 * link whose device has gone, was renamed or moved away is none.
 */
bool link_alive(const struct instance *instance, struct link *link);

/* Whatever namespace it was in: its device is gone for good. An attachment of a dispatcher cannot be told: false. */
bool link_is_dead(const struct instance *instance, const struct link *link);

/*
 * Detaches our program by whichever way it is attached, wherever its device is by now. ifindex: where it
 * was attached. 0 also if there is none.
 */
int link_detach(const struct instance *instance, const struct link *link);

/* The interface that a pin under links/ is of. */
void link_pin_ifname(const char *pin, char ifname[static XFIB_IFNAMSIZ]);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Owns the attachments: which interface runs which program, and the wanted ports (the intent map).
 * Invariant: a port whose intent is in the map and whose device exists is attached or carries the
 * reason in intent.error; a detached interface is as it was before. A slot is used again only after a
 * grace period, with its counters zeroed. A slot whose intent has an ifindex but no name is being left.
 */
#pragma once

#include "load.h"

/*
 * Wants the port and attaches it (idempotent: attached already with the same mode = 0, *slot told).
 * Through libxdp's dispatcher where the kernel allows it, else directly by a pinned bpf_link. Native
 * unless XFIB_MODE_SKB is asked for; never falls back to skb by itself. The twin is loaded and passes
 * the self-test before the interface is touched. On failure nothing is left behind, except that
 * `keep` leaves the intent with its error (what the daemon does for its command line).
 */
int port_attach(struct instance *instance, const char *ifname, enum xfib_mode mode, bool keep,
		unsigned int *slot, struct load_error *err);

/*
 * Removes the intent first, then the attachment, then the twin. In between it waits, without the lock,
 * until the daemon has taken the port out of the tables and the devmap (2 s at most); where there is
 * no daemon it does that itself. So no frame is sent to a device that has no program any more.
 * -ENOENT if it is no port.
 */
int port_detach(struct instance *instance, const char *ifname, struct load_error *err);

/*
 * For the daemon: makes the attachments agree with the intents. Attaches wanted names that exist and
 * are not attached to that ifindex (gone and back), cleans up after devices that are gone or have
 * changed their namespace or name, replaces programs of another version or generation. What cannot be
 * attached is tried again after 1, 2, 4 ... 32 s. Never waits for the lock: -EAGAIN if it is taken.
 * Returns the number of changes made, or -errno.
 */
int ports_reconcile(struct instance *instance, struct load_error *err);

/* intents[XFIB_PORTS], by slot. */
int ports_read(const struct instance *instance, struct xfib_intent *intents);

/* The devmap: the daemon enters an attached port before it publishes XFIB_L3IF_EGRESS, and removes
 * it a grace period after taking that away. ifindex 0 removes. */
int port_set_tx(const struct instance *instance, unsigned int slot, int ifindex);

/*
 * Runs the twin of a port on one frame. out: the frame as it would leave (same length), result as
 * XFIB_TWIN_RESULT(). -EMSGSIZE above 3,000 bytes.
 */
int twin_run(const struct instance *instance, unsigned int generation, unsigned int slot,
	     const void *in, size_t len, void *out, __u32 *result);

/* The file that is touched when the intent map changes; the daemon watches it. */
int ports_watch_path(const struct instance *instance, char *path, size_t size);

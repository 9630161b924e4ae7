/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An instance as the CLI sees it: open read-only, with a consistent copy of what the daemon says
 * about itself. The tables are live shared memory and change while they are read.
 */
#pragma once

#include "cli.h"
#include "loader/attach.h"

struct view {
	struct instance *instance;
	struct generation *gen;
	struct xfib_status *status; /* a copy */
	struct xfib_intent intents[XFIB_PORTS];
	bool alive;		    /* there is a daemon, and its tables are confirmed */
	bool open;		    /* the dead-man switch lets packets through */
	__s64 age_ms;		    /* of the last confirmation, -1: never */
};

#define _cleanup_view_ __attribute__((cleanup(view_done)))

/* Opens the instance. On failure it has said why on stderr. Without `tables` gen is NULL. */
int view_open(const struct cli *cli, bool tables, struct view *v);
void view_done(struct view *v);

/* Opens the new tables if the daemon has replaced them. */
int view_follow(struct view *v);

/* {"ports": [...]} as status has them, none if there is no instance. In status.c. */
void print_ports_json(const struct cli *cli);

/* Copies the status out of shared memory; -EAGAIN if its writer died in the middle. */
int status_copy(const struct xfib_status *shared, struct xfib_status *copy);

/* Why the daemon is not alive, "" if it is. */
const char *view_dead_reason(const struct view *v, char *buf, size_t size);

/* The slot of a port by name, -1 if there is none. */
int view_port(const struct view *v, const char *ifname);

/* Whether the port of this device is enabled; it forwards if the view is open too. */
bool view_port_enabled(const struct view *v, int ifindex);

/* Bit n: FIB n is used by some interface. */
__u64 view_fibs(const struct view *v);

/* What status says of an interface, NULL: nothing. */
const struct xfib_l3if_status *view_l3if(const struct view *v, int ifindex);

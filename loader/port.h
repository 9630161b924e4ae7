/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internal to loader/: what attaching and switching generations have in common. All under the lock. */
#pragma once

#include "link.h"
#include "load.h"

/* Stores the intent of a slot and touches the file that the daemon watches. */
int intent_write(const struct instance *instance, unsigned int slot, const struct xfib_intent *intent);

struct link link_of(const struct xfib_intent *intent);

/* Runs the self-test, once per process. */
int program_test(struct load_error *err);

/* Whether the port runs this version's program on this generation. */
bool port_current(const struct instance *instance, unsigned int slot, const struct xfib_intent *intent);

/* Attaches the program of a generation, and pins its twin. Fills in the intent, does not store it. */
int port_start(const struct instance *instance, const struct generation *gen, unsigned int slot, int ifindex,
	       struct xfib_intent *intent, struct load_error *err);

/* Moves an attached port to (this version's program on) a generation, and stores the intent. */
int port_move(const struct instance *instance, const struct generation *gen, unsigned int slot,
	      struct xfib_intent *intent, struct load_error *err);

/* Loads the twin of a port and pins it in gen-N. */
int twin_make(const struct instance *instance, const struct generation *gen, unsigned int slot,
	      struct load_error *err);
void twin_unpin(const struct instance *instance, unsigned int generation, unsigned int slot);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which addresses `verify` asks about: the prefixes that the maps or the kernel know, and places in
 * and around them.
 */
#pragma once

#include "common/addr.h"
#include "loader/load.h"

struct prefix {
	struct addr addr;
	__u8 family, len;
};

struct prefixes {
	struct prefix *p;
	size_t count, room;
	int error;
};

/* Sorted, each once, with the whole address space of each family. The caller frees list->p. */
int addresses_gather(const struct generation *gen, struct prefixes *list);

/* A random number; *state is the seed. */
__u64 addresses_draw(__u64 *state);

enum place { FIRST, LAST, BEFORE, BEHIND, EDGES, INSIDE = EDGES, PLACES };

/* An address in or beside a prefix. It wraps around at the ends of the address space. */
struct addr addresses_at(const struct prefix *p, enum place place, __u64 *random);

/* The program looks up its route; others are punted before and have no answer to compare. */
bool addresses_looked_up(enum family f, struct addr a);

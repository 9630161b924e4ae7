/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tables.h of a family whose routes are in an LPM trie, with map syscalls. */
#pragma once

#include "tables.h"

int lpm_walk(const struct generation *gen, enum family f, struct routes *list);

/* The longest prefix of at most `len` bits that covers the address, as the program has it; -ENOENT. */
int lpm_lookup(const struct generation *gen, enum family f, __u32 fib, struct addr a,
	       unsigned int len, __u32 *value);

/* The same with that prefix itself in *route. */
int lpm_match(const struct generation *gen, enum family f, __u32 fib, struct addr a,
	      unsigned int len, struct route *route);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tables.h of a family whose routes are compiled. */
#pragma once

#include "tables.h"

int trie_walk(const struct generation *gen, enum family f, struct routes *list);
int trie_match(const struct generation *gen, enum family f, __u32 fib, struct addr a,
	       unsigned int len, struct routes *list);
int trie_lookup(const struct generation *gen, enum family f, __u32 fib, struct addr a,
		unsigned int *leaf);

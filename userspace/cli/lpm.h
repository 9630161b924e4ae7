/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the route tables lpm4 and lpm6, which may change at any time, with map syscalls. */
#pragma once

#include "common/addr.h"
#include "loader/load.h"

struct lpm_entry {
	struct addr addr;
	__u32 fib;
	__u32 value; /* XFIB_LEAF_VALUE() */
	__u8 len;
};

/*
 * All entries, sorted by FIB and prefix, each prefix once. While the table changes, an entry that
 * was there all the time is listed; one that came or went may be. The caller frees *entries.
 */
int lpm_walk(const struct generation *gen, enum family f, struct lpm_entry **entries,
	     size_t *count);

/* The longest prefix of at most `len` bits that covers the address, as the program has it; -ENOENT. */
int lpm_lookup(const struct generation *gen, enum family f, __u32 fib, struct addr a,
	       unsigned int len, __u32 *value);

/* The same with that prefix itself in *entry. */
int lpm_match(const struct generation *gen, enum family f, __u32 fib, struct addr a,
	      unsigned int len, struct lpm_entry *entry);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a compiled trie (layout: abi.h) that its writer may be changing. Whatever the memory holds, no
 * read leaves it. A block is believed if, after it was read, everything that led there is still as it
 * was: the writer lets a block rest for a grace period before it writes anything else there.
 */
#pragma once

#include "abi.h"
#include "common/addr.h"

struct trie_view {
	enum family family;
	const __u8 *memory;
	__u32 bytes;
	const __u32 *root;
};

/* Addresses with one leaf; ends included. */
struct trie_range {
	struct addr first, last;
	__u32 leaf;
};

/* The leaf of an address, in a range around it. 0; -EAGAIN: it changes too fast; -EPROTO: this is no trie. */
int trie_find(const struct trie_view *view, struct addr addr, struct trie_range *range);

/*
 * Calls fn for all ranges in order, each as large as it can be. What changes meanwhile appears as it was
 * or as it is. fn returns 0 to go on; anything else ends the walk and is returned. Else as trie_find().
 */
int trie_ranges(const struct trie_view *view, int (*fn)(void *arg, const struct trie_range *range),
		void *arg);

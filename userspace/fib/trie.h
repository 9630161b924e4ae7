/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The trie of one FIB and family, in the memory that the XDP program reads (layout: abi.h; reader:
 * bpf/trie.h). Compiled from the RIB: the prefixes that are installed there, with their leaf ids.
 *
 * Invariants. A block that packets can reach changes only by aligned stores of one entry or leaf, each of
 * which takes an address from an answer that the RIB gave before to one that it gives now. Records never change. A new
 * block is complete before the store that leads to it, and what that store replaces rests in limbo
 * for a grace period. Where there is no room, a whole slot becomes the leaf PUNT_CAPACITY.
 *
 * Pure: memory in, memory out.
 */
#pragma once

#include "abi.h"
#include "common/addr.h"
#include "model/rib.h"
#include "slots.h"

/* Memory that tries share, in units of XFIB_TRIE_UNIT. Unit 0 is never used. */
struct trie_pool {
	__u8 *memory;
	struct buddy blocks;
};

struct trie {
	struct trie_pool *pool;
	const struct rib *rib;
	__u32 *root;	/* the entry that stands for the whole address space */
	__u64 starved;	/* slots that are PUNT_CAPACITY for want of room, since it was last complete */
	__u64 stores;	/* published, to see what an update costs */
	__u32 updates;	/* some of them look at the shape of what they pass */
};

/* bytes: a power of two, of zeroed or adopted memory, which stays the caller's. 0 or -ENOMEM. */
int trie_pool_init(struct trie_pool *pool, void *memory, __u32 bytes);
void trie_pool_done(struct trie_pool *pool);

/*
 * Makes the trie right for everything inside a prefix that has changed in the RIB, whether it is there, is
 * gone, or has another leaf. Length 0: for all addresses, however wrong they were.
 */
void trie_update(struct trie *trie, struct addr prefix, unsigned int len);

/* Takes the blocks that the root leads to as in use: of a trie that an earlier process left. False: it is no trie. */
bool trie_adopt(struct trie *trie);

/* Gives all blocks back and leaves one leaf. */
void trie_clear(struct trie *trie, __u32 leaf);

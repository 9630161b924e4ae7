/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks a compiled trie (layout: abi.h; writer: userspace/fib/trie.c). Every step is one load of an
 * entry or a leaf, and what an entry leads to stays as it is for longer than this program runs: a
 * change in the tables is seen whole or not at all.
 */
#pragma once

#include <stdbool.h>
#include <bpf/bpf_endian.h>

#include "config.h"
#include "maps.h"

/* Address bits that are still to be used, from the top. */
struct trie_key {
	__u64 hi, lo;
};

/* Memory of one family. mask: its size less one, a constant to the verifier. */
struct trie_memory {
	const __u8 *base;
	__u64 mask;
};

/* ip6: a constant, here and below, so that the mask is one. */
static __always_inline struct trie_memory trie_memory(__u32 ip6)
{
	return (struct trie_memory){ ip6 ? trie6 : trie4, cfg.trie_mask[ip6] };
}

static __always_inline void trie_key_shift(struct trie_key *key, __u32 bits)
{
	key->hi = key->hi << bits | key->lo >> (64 - bits);
	key->lo <<= bits;
}

/*
 * The verifier follows every path through a lookup with what it knows of the leaf at its end. Told the
 * same at all ends, it takes them for one.
 */
static __always_inline __u32 trie_leaf(__u32 leaf)
{
	asm volatile("%0 &= 0xffff" : "+r"(leaf));
	return leaf;
}

/* How many of a pair of boundaries the key has reached, each in its half of the result. */
static __always_inline __u64 trie_reached(__u64 keys, __u64 boundaries)
{
	return (keys - boundaries) >> 31 & 0x0000000100000001ull;
}

static __always_inline __u32 trie_record(struct trie_memory m, __u32 entry, __u64 hi)
{
	__u64 keys = (hi >> 33) * 0x0000000100000001ull | 0x8000000080000000ull, reached;
	const __u64 *word = (const void *)(m.base + (XFIB_TRIE_OFFSET(entry) & m.mask));
	__u32 words = XFIB_TRIE_KIND(entry) - XFIB_TRIE_RECORD, i;

	/* The number of words is known before their cache line is here: these branches cost nothing. */
	reached = trie_reached(keys, word[0]);
	if (words > 1) {
		reached += trie_reached(keys, word[1]);
		if (words > 2) {
			reached += trie_reached(keys, word[2]);
			if (words > 3) {
				reached += trie_reached(keys, word[3]);
				if (words > 4)
					reached += trie_reached(keys, word[4]);
			}
		}
	}
	i = ((__u32)reached + (__u32)(reached >> 32)) & 15;
	return trie_leaf(*(const __u16 *)((const __u8 *)word + (words & 7) * 8 + i * 2));
}

/* One step into a table. True: *entry is the leaf. */
static __always_inline bool trie_step(struct trie_memory m, __u32 *entry, struct trie_key *key)
{
	__u32 kind = XFIB_TRIE_KIND(*entry);
	__u64 i = key->hi >> (64 - XFIB_TRIE_BITS(kind));
	__u64 at = XFIB_TRIE_OFFSET(*entry);

	if (kind >= XFIB_TRIE_LEAVES) {
		*entry = trie_leaf(*(const volatile __u16 *)(m.base + (at + 2 * i & m.mask)));
		return true;
	}
	*entry = *(const volatile __u32 *)(m.base + (at + 4 * i & m.mask));
	trie_key_shift(key, XFIB_TRIE_BITS(kind));
	if (*entry & XFIB_TRIE_BLOCK)
		return false;
	*entry = trie_leaf(*entry);
	return true;
}

enum { TRIE_STEPS = 34 }; /* 128 bits by 4, and the ends */

/* Anything, as deep as it is: for what the fast steps leave over. */
static __always_inline __u32 trie_walk(__u32 ip6, __u32 entry, struct trie_key key)
{
	const struct trie_memory m = trie_memory(ip6);

	for (int i = 0; i < TRIE_STEPS; i++) {
		__u32 kind = XFIB_TRIE_KIND(entry);

		if (!(entry & XFIB_TRIE_BLOCK))
			return trie_leaf(entry);
		if (kind > XFIB_TRIE_RECORD)
			return trie_record(m, entry, key.hi);
		if (kind == XFIB_TRIE_SKIP) {
			const struct xfib_trie_skip *skip =
				(const void *)(m.base + (XFIB_TRIE_OFFSET(entry) & m.mask));
			__u32 len = skip->len & 63;

			if ((key.hi ^ skip->bits) >> (64 - len))
				return trie_leaf(skip->outside);
			entry = *(const volatile __u32 *)&skip->inside;
			trie_key_shift(&key, len);
			continue;
		}
		if (trie_step(m, &entry, &key))
			return entry;
	}
	return trie_leaf(XFIB_PUNT_RACE);
}

/* Not static: the verifier looks at each once and not at every call. */
__noinline __u32 trie_walk4(__u32 entry, __u64 hi)
{
	return trie_walk(0, entry, (struct trie_key){ hi, 0 });
}

__noinline __u32 trie_walk6(__u32 entry, __u64 hi, __u64 lo)
{
	return trie_walk(1, entry, (struct trie_key){ hi, lo });
}

/* steps: tables that most addresses need; like ip6 a constant. */
static __always_inline __u32 trie_lookup(__u32 fib, __u32 ip6, struct trie_key key, int steps)
{
	__u32 entry = trie_roots[XFIB_TRIE_ROOT(fib, ip6) & (XFIB_TRIE_ROOTS - 1)];
	const struct trie_memory m = trie_memory(ip6);

	if (!(entry & XFIB_TRIE_BLOCK))
		return trie_leaf(entry);
#pragma clang loop unroll(full)
	for (int i = 0; i < steps; i++) {
		if (XFIB_TRIE_KIND(entry) > XFIB_TRIE_RECORD)
			return trie_record(m, entry, key.hi);
		if (XFIB_TRIE_KIND(entry) == XFIB_TRIE_SKIP)
			break;
		if (trie_step(m, &entry, &key))
			return entry;
	}
	return trie_leaf(ip6 ? trie_walk6(entry, key.hi, key.lo) : trie_walk4(entry, key.hi));
}

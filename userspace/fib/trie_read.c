// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See trie_read.h. */
#include "trie_read.h"

#include <errno.h>
#include <string.h>

enum {
	DEPTH = 34, /* blocks on the way to a leaf */
	TRIES = 1000,
};

/* The words that led to a block, and what they were. */
struct trail {
	const __u32 *at[DEPTH];
	__u32 was[DEPTH];
	unsigned int n;
};

/* All bits from `depth` on set. */
static struct addr filled(struct addr a, unsigned int depth)
{
	if (depth < 64)
		a.hi |= ~0ull >> depth;
	if (depth < 128)
		a.lo |= depth <= 64 ? ~0ull : ~0ull >> (depth - 64);
	return a;
}

static bool follow(struct trail *trail, const __u32 *word)
{
	if (trail->n == DEPTH)
		return false;
	trail->at[trail->n] = word;
	trail->was[trail->n] = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	trail->n++;
	return true;
}

static bool still_so(const struct trail *trail)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (unsigned int i = 0; i < trail->n; i++)
		if (__atomic_load_n(trail->at[i], __ATOMIC_RELAXED) != trail->was[i])
			return false;
	return true;
}

/* NULL: outside the memory. */
static const void *block(const struct trie_view *v, __u32 entry, size_t size)
{
	__u64 at = XFIB_TRIE_OFFSET(entry);

	return at + size <= v->bytes ? v->memory + at : NULL;
}

static bool is_block(__u32 entry)
{
	return entry & XFIB_TRIE_BLOCK;
}

/* --- blocks -------------------------------------------------------------------------------------- */

/*
 * Ranges of the block that the trail leads to, one after the other: the one that `key` is in, which
 * becomes *first..*last (in the block's 64-bit terms) and either a leaf or a word to follow.
 */
struct part {
	__u64 first, last;
	__u32 leaf;
	const __u32 *word; /* NULL: it is the leaf */
	unsigned int bits; /* ... else how deep it leads */
};

static bool table_part(const struct trie_view *v, __u32 entry, __u64 key, struct part *part)
{
	unsigned int kind = XFIB_TRIE_KIND(entry), bits = XFIB_TRIE_BITS(kind);
	bool leaves = kind >= XFIB_TRIE_LEAVES;
	const void *table = block(v, entry, (size_t)(leaves ? 2 : 4) << bits);
	__u64 i = key >> (64 - bits);

	if (!table || (leaves && bits == XFIB_TRIE_BITS_MAX))
		return false;
	*part = (struct part){ .first = i << (64 - bits), .bits = bits };
	part->last = part->first | ~0ull >> bits;
	if (leaves)
		part->leaf = __atomic_load_n((const __u16 *)table + i, __ATOMIC_RELAXED);
	else
		part->word = (const __u32 *)table + i;
	return true;
}

static bool skip_part(const struct trie_view *v, __u32 entry, __u64 key, struct part *part)
{
	const struct xfib_trie_skip *skip = block(v, entry, sizeof(*skip));
	__u64 bits, end;

	if (!skip || !skip->len || skip->len > 63)
		return false;
	bits = skip->bits;
	end = bits | ~0ull >> skip->len;
	*part = (struct part){ .leaf = skip->outside, .last = ~0ull };
	if (key < bits) {
		part->last = bits - 1;
	} else if (key > end) {
		part->first = end + 1;
	} else {
		*part = (struct part){ bits, end, 0, &skip->inside, skip->len };
	}
	return true;
}

static bool record_part(const struct trie_view *v, __u32 entry, __u64 key, struct part *part)
{
	unsigned int words = XFIB_TRIE_KIND(entry) - XFIB_TRIE_RECORD;
	const __u64 *word =
		block(v, entry, words * sizeof(*word) + (2 * words + 1) * sizeof(__u16));
	const __u16 *leaf = (const __u16 *)(word + words);
	__u64 start = 0, end = 1ull << XFIB_TRIE_RECORD_BITS;
	unsigned int i = 0;

	if (!word)
		return false;
	for (; i < 2 * words; i++) {
		__u64 boundary = word[i / 2] >> (i & 1 ? 32 : 0) & 0xffffffff;

		if (key >> 33 < boundary) {
			end = boundary;
			break;
		}
		start = boundary;
	}
	*part = (struct part){ .first = start << 33, .last = (end << 33) - 1, .leaf = leaf[i] };
	return start < end;
}

static bool part_of(const struct trie_view *v, __u32 entry, __u64 key, struct part *part)
{
	unsigned int kind = XFIB_TRIE_KIND(entry);

	if (kind > XFIB_TRIE_RECORD)
		return record_part(v, entry, key, part);
	if (kind == XFIB_TRIE_SKIP)
		return skip_part(v, entry, key, part);
	return kind < XFIB_TRIE_SKIP && table_part(v, entry, key, part);
}

/* --- addresses ------------------------------------------------------------------------------------ */

/* False: it makes no sense. If the trail is still so, it is no trie. */
static bool find(const struct trie_view *v, struct addr addr, struct trail *trail,
		 struct trie_range *range)
{
	struct addr base = {};
	unsigned int depth = 0;
	struct part part;

	trail->n = 0;
	follow(trail, v->root);
	for (;;) {
		__u32 entry = trail->was[trail->n - 1];

		if (!is_block(entry)) {
			*range = (struct trie_range){ base, filled(base, depth), entry };
			return true;
		}
		if (depth >= 128 || !part_of(v, entry, addr_window(addr, depth), &part))
			return false;
		if (!part.word)
			break;
		base = addr_with_window(base, depth, part.first);
		depth += part.bits;
		if (!follow(trail, part.word))
			return false;
	}
	range->first = addr_with_window(base, depth, part.first);
	range->last = filled(addr_with_window(base, depth, part.last), depth + 64);
	range->leaf = part.leaf;
	return true;
}

int trie_find(const struct trie_view *v, struct addr addr, struct trie_range *range)
{
	struct trail trail;
	bool sense = true;

	for (int i = 0; i < TRIES; i++) {
		sense = find(v, addr, &trail, range);
		if (!still_so(&trail))
			continue;
		if (!sense)
			return -EPROTO;
		if (v->family == IP4) {
			range->first.lo = range->last.lo = 0;
			range->first.hi &= ~0ull << 32;
			range->last.hi &= ~0ull << 32;
		}
		return 0;
	}
	return -EAGAIN;
}

/* The address behind it; false: there is none. */
static bool next(enum family f, struct addr *a)
{
	if (f == IP4) {
		a->hi += 1ull << 32;
		return a->hi;
	}
	a->hi += !++a->lo;
	return a->hi || a->lo;
}

int trie_ranges(const struct trie_view *v, int (*fn)(void *arg, const struct trie_range *range),
		void *arg)
{
	struct trie_range whole, more;
	struct addr at;
	int r = trie_find(v, (struct addr){}, &whole);

	if (r)
		return r;
	for (at = whole.last; next(v->family, &at); at = more.last) {
		r = trie_find(v, at, &more);
		if (r)
			return r;
		if (more.leaf == whole.leaf) {
			whole.last = more.last;
			continue;
		}
		r = fn(arg, &whole);
		if (r)
			return r;
		more.first = at; /* it may have grown to what was told already */
		whole = more;
	}
	return fn(arg, &whole);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Building and changing tries: see trie.h. */
#include "trie.h"

#include <stdlib.h>
#include <string.h>

enum {
	RANGES = 2 * XFIB_TRIE_RECORD_WORDS + 1, /* that a record holds */
	RANGES_SHRINK = RANGES / 2 + 1,		 /* a table that fits so few becomes one */
	BUDGET =
		2048, /* RIB nodes to look at before a subtree is taken for too large for a record */
	SKIP_MIN = 8, /* bits that a SKIP saves at least */
	SKIP_MAX = 63,
	LOOK = 64, /* one update in so many looks at the width of all tables on its way */
};

/* The prefixes inside a slot: the topmost RIB node there, 0 if there is none, and what covers the slot. */
struct slot {
	__u32 node, leaf;
};

static __u32 index_at(struct addr a, unsigned int depth, unsigned int bits)
{
	return addr_window(a, depth) >> (64 - bits);
}

/* --- entries ---------------------------------------------------------------------------------- */

static bool is_block(__u32 entry)
{
	return entry & XFIB_TRIE_BLOCK;
}

static bool is_table(__u32 entry)
{
	return is_block(entry) && XFIB_TRIE_KIND(entry) < XFIB_TRIE_LEAVES;
}

static bool is_leaves(__u32 entry)
{
	return is_block(entry) && XFIB_TRIE_KIND(entry) >= XFIB_TRIE_LEAVES &&
	       XFIB_TRIE_KIND(entry) < XFIB_TRIE_SKIP;
}

static bool is_skip(__u32 entry)
{
	return is_block(entry) && XFIB_TRIE_KIND(entry) == XFIB_TRIE_SKIP;
}

static bool is_record(__u32 entry)
{
	return is_block(entry) && XFIB_TRIE_KIND(entry) > XFIB_TRIE_RECORD;
}

static void *block_at(const struct trie *t, __u32 entry)
{
	return t->pool->memory + XFIB_TRIE_OFFSET(entry);
}

static __u32 kind_bytes(unsigned int kind)
{
	unsigned int words = kind - XFIB_TRIE_RECORD;

	if (kind < XFIB_TRIE_LEAVES)
		return sizeof(__u32) << XFIB_TRIE_BITS(kind);
	if (kind < XFIB_TRIE_SKIP)
		return sizeof(__u16) << XFIB_TRIE_BITS(kind);
	if (kind == XFIB_TRIE_SKIP)
		return sizeof(struct xfib_trie_skip);
	return words * sizeof(__u64) + (2 * words + 1) * sizeof(__u16);
}

static unsigned int kind_order(unsigned int kind)
{
	return buddy_order((kind_bytes(kind) + XFIB_TRIE_UNIT - 1) / XFIB_TRIE_UNIT);
}

/* 0, which is no block, if there is no room. The bytes are what they were. */
static __u32 block_new(struct trie *t, unsigned int kind)
{
	__u32 unit = buddy_get(&t->pool->blocks, kind_order(kind));

	return unit == BUDDY_NONE ? 0 : XFIB_TRIE_ENTRY(kind, unit);
}

/* Of a block that no packet can have seen, or that none can see any more. */
static void block_drop(struct trie *t, __u32 entry, bool seen)
{
	unsigned int order = kind_order(XFIB_TRIE_KIND(entry));
	__u32 unit = XFIB_TRIE_OFFSET(entry) / XFIB_TRIE_UNIT;

	if (seen)
		buddy_retire(&t->pool->blocks, unit, order);
	else
		buddy_put(&t->pool->blocks, unit, order);
}

static void drop(struct trie *t, __u32 entry, bool seen)
{
	const __u32 *table = block_at(t, entry);
	const struct xfib_trie_skip *skip = block_at(t, entry);

	if (!is_block(entry))
		return;
	if (is_table(entry))
		for (__u32 i = 0; i < 1u << XFIB_TRIE_BITS(XFIB_TRIE_KIND(entry)); i++)
			drop(t, table[i], seen);
	else if (is_skip(entry))
		drop(t, skip->inside, seen);
	block_drop(t, entry, seen);
}

/* --- the RIB below a slot ------------------------------------------------------------------------ */

static __u32 leaf_of(const struct rib_node *node, __u32 covering)
{
	return node->installed ? XFIB_LEAF(node->published) : covering;
}

/* What each of the 2^bits slots at `depth` holds, given what the slot above them does. */
static void expand_node(const struct rib *rib, struct slot at, unsigned int depth,
			unsigned int bits, struct slot *out)
{
	const struct rib_node *node = &rib->node[at.node];
	__u32 first, n, leaf;

	first = index_at(node->prefix, depth, bits);
	if (node->len >= depth + bits) {
		out[first].node = at.node;
		return;
	}
	leaf = leaf_of(node, at.leaf);
	if (leaf != at.leaf) {
		n = 1u << (depth + bits - node->len);
		for (__u32 i = first; i < first + n; i++)
			out[i].leaf = leaf;
	}
	for (int c = 0; c < 2; c++)
		if (node->child[c])
			expand_node(rib, (struct slot){ node->child[c], leaf }, depth, bits, out);
}

static void expand(const struct rib *rib, struct slot at, unsigned int depth, unsigned int bits,
		   struct slot *out)
{
	for (__u32 i = 0; i < 1u << bits; i++)
		out[i] = (struct slot){ 0, at.leaf };
	if (at.node)
		expand_node(rib, at, depth, bits, out);
}

/* One of those slots. prefix: any address in it. */
static struct slot descend(const struct rib *rib, struct slot at, unsigned int depth,
			   struct addr prefix)
{
	while (at.node) {
		const struct rib_node *node = &rib->node[at.node];
		unsigned int common = addr_common(node->prefix, prefix);

		if (node->len >= depth)
			return common >= depth ? at : (struct slot){ 0, at.leaf };
		if (common < node->len)
			return (struct slot){ 0, at.leaf };
		at = (struct slot){ node->child[addr_bit(prefix, node->len)],
				    leaf_of(node, at.leaf) };
	}
	return at;
}

/* The ranges of equal leaves in a slot, as far as 31 bits tell them apart. */
struct ranges {
	unsigned int n; /* above RANGES: too many */
	unsigned int budget;
	__u32 start[RANGES + 1];
	__u16 leaf[RANGES + 1];
};

static void too_many(struct ranges *r)
{
	r->n = RANGES + 1;
	r->budget = 0;
}

/* From `start` on the leaf is this one. Ranges come in order; a later one may begin where the last does. */
static void range_begin(struct ranges *r, __u32 start, __u32 leaf)
{
	if (r->n && r->start[r->n - 1] == start)
		r->n--;
	if (r->n && r->leaf[r->n - 1] == leaf)
		return;
	if (r->n == RANGES + 1) {
		too_many(r);
		return;
	}
	r->start[r->n] = start;
	r->leaf[r->n] = leaf;
	r->n++;
}

static void ranges_node(const struct rib *rib, struct slot at, unsigned int depth, struct ranges *r)
{
	const struct rib_node *node = &rib->node[at.node], *child;
	__u32 start = addr_window(node->prefix, depth) >> 33, leaf = leaf_of(node, at.leaf);
	bool deep = node->len > depth + XFIB_TRIE_RECORD_BITS;

	if (!r->budget || (deep && leaf != at.leaf)) {
		too_many(r);
		return;
	}
	r->budget--;
	if (!deep)
		range_begin(r, start, leaf);
	for (int c = 0; c < 2; c++) {
		__u64 end;

		if (!node->child[c] || !r->budget)
			continue;
		child = &rib->node[node->child[c]];
		ranges_node(rib, (struct slot){ node->child[c], leaf }, depth, r);
		if (child->len > depth + XFIB_TRIE_RECORD_BITS || !r->budget)
			continue;
		end = (addr_window(child->prefix, depth) >> 33) +
		      (1ull << (XFIB_TRIE_RECORD_BITS - (child->len - depth)));
		if (end < 1u << XFIB_TRIE_RECORD_BITS)
			range_begin(r, end, leaf);
	}
}

static void ranges_of(const struct rib *rib, struct slot at, unsigned int depth, struct ranges *r)
{
	const struct rib_node *node = &rib->node[at.node];
	__u64 end;

	r->n = 0;
	r->budget = BUDGET;
	range_begin(r, 0, at.leaf);
	if (!at.node)
		return;
	ranges_node(rib, at, depth, r);
	if (!r->budget || node->len > depth + XFIB_TRIE_RECORD_BITS)
		return;
	end = (addr_window(node->prefix, depth) >> 33) +
	      (1ull << (XFIB_TRIE_RECORD_BITS - (node->len - depth)));
	if (end < 1u << XFIB_TRIE_RECORD_BITS)
		range_begin(r, end, at.leaf);
}

/* --- how wide a table is --------------------------------------------------------------------------- */

/* How many prefixes are inside, at most `limit`. */
static __u32 weigh(const struct rib *rib, __u32 n, __u32 limit)
{
	const struct rib_node *node = &rib->node[n];
	__u32 sum = node->installed;

	for (int c = 0; c < 2 && sum < limit; c++)
		if (node->child[c])
			sum += weigh(rib, node->child[c], limit - sum);
	return sum;
}

/* From wide to narrow: the prefixes that make a table worth its memory, 32 bytes each. */
static const struct {
	unsigned int bits;
	__u32 prefixes;
} widths[] = { { 16, 8192 }, { 12, 512 }, { 8, 16 }, { 4, 0 } };
enum { WIDTHS = sizeof(widths) / sizeof(widths[0]) };

/* 16 bits are for the root alone. */
static bool heavier(const struct rib *rib, struct slot at, unsigned int depth, unsigned int bits,
		    __u32 prefixes)
{
	if (bits == XFIB_TRIE_BITS_MAX)
		return !depth && rib->prefixes >= prefixes;
	return weigh(rib, at.node, prefixes) >= prefixes;
}

static unsigned int pick_bits(const struct rib *rib, struct slot at, unsigned int depth)
{
	unsigned int i = 0;

	while (!heavier(rib, at, depth, widths[i].bits, widths[i].prefixes))
		i++;
	return widths[i].bits;
}

/* Whether a table of this width is not too wide by half nor too narrow by twice. */
static bool suits(const struct rib *rib, struct slot at, unsigned int depth, unsigned int bits)
{
	for (unsigned int i = 0; i < WIDTHS; i++) {
		if (widths[i].bits == bits)
			return heavier(rib, at, depth, bits, widths[i].prefixes / 2);
		if (heavier(rib, at, depth, widths[i].bits, 2 * widths[i].prefixes))
			return false;
	}
	return true;
}

/* --- building -------------------------------------------------------------------------------------- */

static __u32 no_room(struct trie *t)
{
	t->starved++;
	return XFIB_PUNT_CAPACITY;
}

static __u32 build(struct trie *t, struct slot at, unsigned int depth);

static __u32 build_record(struct trie *t, const struct ranges *r)
{
	unsigned int words = r->n / 2;
	__u32 entry = block_new(t, XFIB_TRIE_RECORD + words);
	__u64 *word = block_at(t, entry);
	__u16 *leaf = (__u16 *)(word + words);

	if (!entry)
		return no_room(t);
	for (unsigned int i = 0; i < words; i++) {
		__u64 low = r->start[2 * i + 1];
		__u64 high = 2 * i + 2 < r->n ? r->start[2 * i + 2] : 1u << XFIB_TRIE_RECORD_BITS;

		word[i] = high << 32 | low;
	}
	for (unsigned int i = 0; i < 2 * words + 1; i++)
		leaf[i] = i < r->n ? r->leaf[i] : 0;
	return entry;
}

/* Everything inside the slot lies in one prefix far below it. */
static __u32 build_skip(struct trie *t, struct slot at, unsigned int depth, unsigned int len)
{
	__u32 entry = block_new(t, XFIB_TRIE_SKIP);
	struct xfib_trie_skip *skip = block_at(t, entry);

	if (!entry)
		return no_room(t);
	skip->bits = addr_window(t->rib->node[at.node].prefix, depth) & ~0ull << (64 - len);
	skip->outside = at.leaf;
	skip->len = len;
	skip->inside = build(t, at, depth + len);
	return entry;
}

/* Entries of a slot each, into a block of leaves if they all are. Takes over what they lead to. */
static __u32 build_block(struct trie *t, const __u32 *entries, unsigned int bits, bool leaves)
{
	__u32 entry = block_new(t, (leaves ? XFIB_TRIE_LEAVES : XFIB_TRIE_TABLE) + bits / 4 - 1);
	__u32 n = 1u << bits;
	__u16 *leaf = block_at(t, entry);

	if (!entry) {
		for (__u32 i = 0; i < n; i++)
			drop(t, entries[i], false);
		return no_room(t);
	}
	if (leaves)
		for (__u32 i = 0; i < n; i++)
			leaf[i] = entries[i];
	else
		memcpy(block_at(t, entry), entries, n * sizeof(*entries));
	return entry;
}

static __u32 build_table(struct trie *t, struct slot at, unsigned int depth, unsigned int bits)
{
	__u32 n = 1u << bits, entry;
	struct slot *slots = malloc(n * sizeof(*slots));
	__u32 *entries = malloc(n * sizeof(*entries));
	bool leaves = bits < XFIB_TRIE_BITS_MAX;

	if (!slots || !entries) {
		free(slots);
		free(entries);
		return no_room(t);
	}
	expand(t->rib, at, depth, bits, slots);
	for (__u32 i = 0; i < n; i++) {
		entries[i] = build(t, slots[i], depth + bits);
		leaves &= !is_block(entries[i]);
	}
	entry = build_block(t, entries, bits, leaves);
	free(slots);
	free(entries);
	return entry;
}

/* How many bits all that is inside a slot has in common, if a SKIP is worth it; else 0. */
static unsigned int skip_len(const struct trie *t, struct slot at, unsigned int depth)
{
	unsigned int len = at.node ? t->rib->node[at.node].len - depth : 0;

	if (len < SKIP_MIN)
		return 0;
	return len < SKIP_MAX ? len : SKIP_MAX;
}

static __u32 build(struct trie *t, struct slot at, unsigned int depth)
{
	struct ranges ranges;
	unsigned int len;

	if (!at.node)
		return at.leaf;
	ranges_of(t->rib, at, depth, &ranges);
	if (ranges.n == 1)
		return ranges.leaf[0];
	if (ranges.n <= RANGES)
		return build_record(t, &ranges);
	len = skip_len(t, at, depth);
	if (len)
		return build_skip(t, at, depth, len);
	return build_table(t, at, depth, pick_bits(t->rib, at, depth));
}

/* --- changing --------------------------------------------------------------------------------------- */

/* What has changed, and what the store of an entry is called. */
struct change {
	struct addr prefix;
	unsigned int len;
};

static void store(struct trie *t, __u32 *at, __u32 entry)
{
	__u32 old = *at;

	if (old == entry)
		return;
	__atomic_store_n(at, entry, __ATOMIC_RELEASE);
	t->stores++;
	drop(t, old, true);
}

static bool same_record(const struct trie *t, __u32 a, __u32 b)
{
	return is_record(a) && XFIB_TRIE_KIND(a) == XFIB_TRIE_KIND(b) && is_block(b) &&
	       !memcmp(block_at(t, a), block_at(t, b), kind_bytes(XFIB_TRIE_KIND(a)));
}

/* must: what is there is wrong, so that it may become a marker; else it stays if there is no room. */
static void rebuild(struct trie *t, __u32 *entry, struct slot at, unsigned int depth, bool must)
{
	__u64 starved = t->starved;
	__u32 fresh = build(t, at, depth);

	if (!must && t->starved != starved) {
		drop(t, fresh, false);
		t->starved = starved;
	} else if (same_record(t, fresh, *entry)) {
		block_drop(t, fresh, false);
	} else {
		store(t, entry, fresh);
	}
}

/* A slot with its place among the addresses. */
struct place {
	struct slot at;
	struct addr base;
	unsigned int depth;
};

static bool update(struct trie *t, __u32 *entry, const struct place *p, const struct change *c);

/* The slots of a table that a change touches: first..last. */
static void touched_slots(const struct place *p, unsigned int bits, const struct change *c,
			  __u32 *first, __u32 *last)
{
	unsigned int end = p->depth + bits;

	*first = 0;
	*last = (1u << bits) - 1;
	if (c->len <= p->depth)
		return;
	*first = index_at(c->prefix, p->depth, bits);
	*last = c->len < end ? *first + (1u << (end - c->len)) - 1 : *first;
}

static struct place place_in(const struct trie *t, const struct place *p, unsigned int bits,
			     __u32 i)
{
	__u64 top = (__u64)i << (64 - bits);
	struct place in = {
		.base = addr_with_window(p->base, p->depth, top),
		.depth = p->depth + bits,
	};

	in.at = descend(t->rib, p->at, in.depth, in.base);
	return in;
}

/* What an entry leads to: tables of one width are one shape, and all records are. */
static unsigned int shape(__u32 entry)
{
	if (!is_block(entry))
		return ~0u;
	return is_record(entry) ? XFIB_TRIE_RECORD : XFIB_TRIE_KIND(entry);
}

/* Returns whether some slot has got another shape, so that the table may have to. */
static bool update_table(struct trie *t, __u32 *entry, const struct place *p,
			 const struct change *c)
{
	unsigned int bits = XFIB_TRIE_BITS(XFIB_TRIE_KIND(*entry));
	__u32 *table = block_at(t, *entry), first, last;
	bool reshaped = false;

	touched_slots(p, bits, c, &first, &last);
	for (__u32 i = first; i <= last; i++) {
		struct place in = place_in(t, p, bits, i);

		reshaped |= update(t, &table[i], &in, c);
	}
	return reshaped;
}

/* False: a slot has become more than a leaf. */
static bool update_leaves(struct trie *t, __u32 entry, const struct place *p,
			  const struct change *c)
{
	unsigned int bits = XFIB_TRIE_BITS(XFIB_TRIE_KIND(entry));
	__u16 *leaf = block_at(t, entry);
	__u32 first, last;

	touched_slots(p, bits, c, &first, &last);
	for (__u32 i = first; i <= last; i++) {
		struct place in = place_in(t, p, bits, i);
		struct ranges ranges;

		ranges_of(t->rib, in.at, in.depth, &ranges);
		if (ranges.n > 1)
			return false;
		if (leaf[i] == ranges.leaf[0])
			continue;
		__atomic_store_n(&leaf[i], ranges.leaf[0], __ATOMIC_RELEASE);
		t->stores++;
	}
	return true;
}

/* False: what is inside the slot is not where it was. */
static bool update_skip(struct trie *t, __u32 entry, const struct place *p, const struct change *c)
{
	struct xfib_trie_skip *skip = block_at(t, entry);
	unsigned int len = skip_len(t, p->at, p->depth);
	struct place in = *p;
	__u64 bits;

	if (!len || len != skip->len || skip->outside != p->at.leaf)
		return false;
	bits = addr_window(t->rib->node[p->at.node].prefix, p->depth) & ~0ull << (64 - len);
	if (skip->bits != bits)
		return false;
	in.base = addr_mask(t->rib->node[p->at.node].prefix, p->depth + len);
	in.depth += len;
	update(t, &skip->inside, &in, c);
	return true;
}

static bool fits_record(const struct trie *t, const struct place *p, unsigned int n)
{
	struct ranges ranges;

	ranges_of(t->rib, p->at, p->depth, &ranges);
	return ranges.n <= n;
}

/* Whether only leaves are left in a table that can be a block of leaves. */
static bool all_leaves(const struct trie *t, __u32 entry)
{
	unsigned int bits = XFIB_TRIE_BITS(XFIB_TRIE_KIND(entry));
	const __u32 *table = block_at(t, entry);

	if (bits == XFIB_TRIE_BITS_MAX)
		return false;
	for (__u32 i = 0; i < 1u << bits; i++)
		if (is_block(table[i]))
			return false;
	return true;
}

enum inside { RIGHT, UNFIT, WRONG };

/* Changes what is in the slot's block. UNFIT: it is right now, but another block would suit it more. */
static enum inside update_inside(struct trie *t, __u32 *entry, const struct place *p,
				 const struct change *c)
{
	unsigned int bits = XFIB_TRIE_BITS(XFIB_TRIE_KIND(*entry));

	if (!p->at.node)
		return WRONG;
	if (is_skip(*entry))
		return update_skip(t, *entry, p, c) ? RIGHT : WRONG;
	if (is_leaves(*entry)) {
		if (!update_leaves(t, *entry, p, c))
			return WRONG;
	} else if (!is_table(*entry)) {
		return WRONG;
	} else if (!update_table(t, entry, p, c) && t->updates % LOOK) {
		return RIGHT;
	} else if (all_leaves(t, *entry)) {
		return UNFIT;
	}
	return !fits_record(t, p, RANGES_SHRINK) && suits(t->rib, p->at, p->depth, bits) ? RIGHT
											 : UNFIT;
}

/* Returns whether the entry has got another shape. */
static bool update(struct trie *t, __u32 *entry, const struct place *p, const struct change *c)
{
	enum inside inside = update_inside(t, entry, p, c);
	__u32 was = *entry;

	if (inside != RIGHT)
		rebuild(t, entry, p->at, p->depth, inside == WRONG);
	return shape(was) != shape(*entry);
}

void trie_update(struct trie *t, struct addr prefix, unsigned int len)
{
	const struct change change = { prefix, len };
	const struct place all = { .at = { .node = RIB_ROOT } };

	t->updates++;
	update(t, t->root, &all, &change);
}

void trie_clear(struct trie *t, __u32 leaf)
{
	store(t, t->root, leaf);
}

/* --- adopting ---------------------------------------------------------------------------------------- */

static bool adopt(struct trie *t, __u32 entry, unsigned int depth)
{
	unsigned int kind = XFIB_TRIE_KIND(entry), order;
	__u32 unit = XFIB_TRIE_OFFSET(entry) / XFIB_TRIE_UNIT;
	const __u32 *table = block_at(t, entry);

	if (!is_block(entry))
		return entry < XFIB_NEXTHOPS;
	if (depth >= 128 || kind == XFIB_TRIE_SKIP + 1 || kind == XFIB_TRIE_RECORD ||
	    kind == XFIB_TRIE_LEAVES + 3)
		return false;
	order = kind_order(kind);
	if (unit >= t->pool->blocks.size || !buddy_adopt(&t->pool->blocks, unit, order))
		return false;
	if (is_skip(entry)) {
		const struct xfib_trie_skip *skip = block_at(t, entry);

		return skip->len && skip->len <= SKIP_MAX &&
		       adopt(t, skip->inside, depth + skip->len);
	}
	if (!is_table(entry))
		return true;
	for (__u32 i = 0; i < 1u << XFIB_TRIE_BITS(kind); i++)
		if (!adopt(t, table[i], depth + XFIB_TRIE_BITS(kind)))
			return false;
	return true;
}

bool trie_adopt(struct trie *t)
{
	return adopt(t, *t->root, 0);
}

/* --- memory ------------------------------------------------------------------------------------------ */

int trie_pool_init(struct trie_pool *pool, void *memory, __u32 bytes)
{
	pool->memory = memory;
	return buddy_init(&pool->blocks, bytes / XFIB_TRIE_UNIT);
}

void trie_pool_done(struct trie_pool *pool)
{
	buddy_done(&pool->blocks);
}

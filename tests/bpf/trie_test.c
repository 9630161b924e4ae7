// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The program's walk through a compiled trie (bpf/trie.h), block by block: blocks of each kind are laid out
 * here by hand, as abi.h has it and with nothing of userspace/fib/, with a leaf of its own for each range of
 * addresses. All of them are then asked for, each at its first and its last address.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expect.h"

/* Everywhere that nothing was laid; whatever it is read as, it is leaf 0x5eed. */
#define POISON 0x5eed5eedu

/* Blocks, each where the path's address lies in the one before. 0 ends the list. */
#define TABLE(bits)  (0x100 + (bits))
#define LEAVES(bits) (0x200 + (bits))
#define SKIP(len)    (0x300 + (len))
#define RECORD(n)    (0x400 + (n))
#define UNEVEN(n)    (0x500 + (n)) /* a record with one boundary less than it has room for */
#define KIND(block)  ((block) & ~0xffu)
#define SIZE(block)  ((block)&0xffu)

enum { MEMORY = 1 << 20, DEEP = 33, RANGES_MAX = 1 << 18 };

struct path {
	const char *addr;
	unsigned int block[DEEP];
};

struct range {
	struct addr first, last;
	__u32 leaf;
};

static struct laid {
	struct router *router;
	enum family family;
	struct addr addr; /* of the path */
	__u8 *memory;
	__u32 units;  /* taken */
	__u32 *entry; /* to be written next */
	unsigned int depth;
	struct range range[RANGES_MAX];
	unsigned int ranges;
} t;

/* --- what is expected --------------------------------------------------------------------------------- */

/* What follows the path for `depth` bits and then is first..last in the next 64 has this leaf. */
static void expect_range(__u64 first, __u64 last, __u32 leaf)
{
	struct addr base = addr_mask(t.addr, t.depth);
	struct range *r = &t.range[t.ranges++];

	assert_true(t.ranges <= RANGES_MAX);
	r->first = addr_with_window(base, t.depth, first);
	r->last = addr_with_window(base, t.depth, last);
	if (t.depth < 64)
		r->last.lo |= ~0ull >> t.depth;
	r->leaf = leaf;
}

static __u32 next_leaf(void)
{
	return XFIB_NH_FIRST + (t.ranges * 251u) % (XFIB_NH_LAST - XFIB_NH_FIRST);
}

static __u32 range(__u64 first, __u64 last)
{
	__u32 leaf = next_leaf();

	expect_range(first, last, leaf);
	return leaf;
}

/* --- laying out --------------------------------------------------------------------------------------- */

static void *take(unsigned int kind, __u32 bytes)
{
	__u32 unit = t.units;

	while (bytes > XFIB_TRIE_UNIT && unit % 4) /* a cache line */
		unit++;
	t.units = unit + (bytes + XFIB_TRIE_UNIT - 1) / XFIB_TRIE_UNIT;
	assert_true(t.units * XFIB_TRIE_UNIT <= MEMORY);
	*t.entry = XFIB_TRIE_ENTRY(kind, unit);
	return t.memory + unit * XFIB_TRIE_UNIT;
}

static void lay_table(unsigned int bits, bool leaves)
{
	__u32 on = addr_window(t.addr, t.depth) >> (64 - bits), n = 1u << bits;
	void *table = take((leaves ? XFIB_TRIE_LEAVES : XFIB_TRIE_TABLE) + bits / 4 - 1,
			   n * (leaves ? sizeof(__u16) : sizeof(__u32)));

	for (__u32 i = 0; i < n; i++) {
		__u64 first = (__u64)i << (64 - bits);

		if (leaves)
			((__u16 *)table)[i] = range(first, first | ~0ull >> bits);
		else if (i != on)
			((__u32 *)table)[i] = range(first, first | ~0ull >> bits);
	}
	t.entry = leaves ? NULL : (__u32 *)table + on;
	t.depth += bits;
}

static void lay_skip(unsigned int len)
{
	struct xfib_trie_skip *skip = take(XFIB_TRIE_SKIP, sizeof(*skip));
	__u64 bits = addr_window(t.addr, t.depth) & ~0ull << (64 - len);

	*skip = (struct xfib_trie_skip){ .bits = bits, .len = len, .outside = next_leaf() };
	for (unsigned int i = 0; i < len; i++) {
		__u64 other = (bits ^ 1ull << (63 - i)) & ~0ull << (63 - i);

		expect_range(other, other | ~0ull >> i >> 1, skip->outside);
	}
	t.entry = &skip->inside;
	t.depth += len;
}

/* Boundaries at odd places, the first at `odd`, as far as the family has bits. */
static void lay_record(unsigned int words, unsigned int boundaries)
{
	__u64 *word = take(XFIB_TRIE_RECORD + words,
			   words * sizeof(*word) + (2 * words + 1) * sizeof(__u16));
	unsigned int bits = family_bits(t.family) - t.depth;
	unsigned int shift = bits < XFIB_TRIE_RECORD_BITS ? XFIB_TRIE_RECORD_BITS - bits : 0;
	__u32 step = (1u << (XFIB_TRIE_RECORD_BITS - shift)) / (boundaries + 1);
	__u64 start = 0, end;

	assert_true(step);
	for (unsigned int i = 0; i <= boundaries; i++) {
		end = i < boundaries ? (__u64)((i + 1) * step | (step > 1)) << shift
				     : 1ull << XFIB_TRIE_RECORD_BITS;
		((__u16 *)(word + words))[i] = range(start << 33, (end << 33) - 1);
		if (i < 2 * words)
			word[i / 2] = i % 2 ? word[i / 2] | end << 32 : end;
		start = end;
	}
	t.entry = NULL;
}

static void lay(const struct path *path)
{
	assert_int_equal(addr_parse(path->addr, &t.family, &t.addr), 0);
	t.memory = t.router->trie[t.family];
	t.entry = &t.router->trie_roots[XFIB_TRIE_ROOT(ROUTER_FIB, t.family == IP6)];
	t.units = 1;
	t.depth = t.ranges = 0;
	for (__u32 i = 0; i < MEMORY / sizeof(__u32); i++)
		((__u32 *)t.memory)[i] = POISON;
	for (const unsigned int *b = path->block; *b; b++) {
		assert_non_null(t.entry);
		if (KIND(*b) == TABLE(0) || KIND(*b) == LEAVES(0))
			lay_table(SIZE(*b), KIND(*b) == LEAVES(0));
		else if (KIND(*b) == SKIP(0))
			lay_skip(SIZE(*b));
		else
			lay_record(SIZE(*b), 2 * SIZE(*b) - (KIND(*b) == UNEVEN(0)));
	}
	if (t.entry)
		*t.entry = range(0, ~0ull);
}

/* --- asking ------------------------------------------------------------------------------------------- */

static struct pkt frame, out;

static void build_frame(void)
{
	const struct pkt_spec ip4 = PKT_IP4(), ip6 = PKT_IP6();

	pkt_build(t.family == IP4 ? &ip4 : &ip6, &frame);
}

/* False: no address that can be forwarded to. */
static bool ask(struct addr a, __u32 *leaf)
{
	__u32 result;

	if (t.family == IP4) {
		addr_to_bytes(IP4, a, &frame.v4.ip.daddr);
		frame.v4.ip.check = 0;
		frame.v4.ip.check = pkt_ip4_check(&frame);
	} else {
		addr_to_bytes(IP6, a, &frame.v6.ip.daddr);
	}
	result = router_run(t.router, &frame, &out);
	*leaf = XFIB_TWIN_LEAF(result);
	/* No leaf has a next hop. */
	return XFIB_TWIN_VERDICT(result) == XFIB_PUNT_RACE;
}

static bool expect_leaf(struct addr a, __u32 want)
{
	char text[ADDR_STRLEN];
	__u32 leaf;

	if (t.family == IP4)
		a = addr_mask(a, 32);
	if (!ask(a, &leaf))
		return false;
	if (leaf != want)
		fail_msg("%s: leaf %u, not %u", addr_format(t.family, a, text), leaf, want);
	return true;
}

static bool before(struct addr a, struct addr b)
{
	return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

static bool inside(const struct range *r, struct addr a)
{
	return !before(a, r->first) && !before(r->last, a);
}

static void expect_path(const struct path *path)
{
	unsigned int reached = 0;

	lay(path);
	build_frame();
	for (unsigned int i = 0; i < t.ranges; i++) {
		const struct range *r = &t.range[i];

		reached += expect_leaf(r->first, r->leaf) + expect_leaf(r->last, r->leaf);
		if (inside(r, t.addr))
			reached += expect_leaf(t.addr, r->leaf);
	}
	assert_true(reached);
}

static void expect_paths(const struct path *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		expect_path(&paths[i]);
}

#define EXPECT_PATHS(...)                                            \
	do {                                                         \
		static const struct path paths[] = { __VA_ARGS__ };  \
		expect_paths(paths, sizeof(paths) / sizeof(*paths)); \
	} while (0)

/* --- the tests ---------------------------------------------------------------------------------------- */

#define V4 "85.170.90.165"
#define V6 "2a55:aa5a:a5a5:5a5a:a55a:5aa5:55aa:aa55"

static void test_tables(void **state)
{
	EXPECT_PATHS({ V4, { TABLE(4) } }, { V4, { TABLE(8) } }, { V4, { TABLE(12) } },
		     { V4, { TABLE(16) } }, { V6, { TABLE(4) } }, { V6, { TABLE(8) } },
		     { V6, { TABLE(12) } }, { V6, { TABLE(16) } });
}

static void test_leaves(void **state)
{
	EXPECT_PATHS({ V4, { LEAVES(4) } }, { V4, { LEAVES(8) } }, { V4, { LEAVES(12) } },
		     { V4, { TABLE(16), LEAVES(8) } }, { V4, { TABLE(16), TABLE(12), LEAVES(4) } },
		     { V6, { LEAVES(4) } }, { V6, { LEAVES(8) } }, { V6, { LEAVES(12) } },
		     { V6, { TABLE(16), LEAVES(12) } },
		     { V6, { TABLE(16), TABLE(16), LEAVES(8) } });
}

static void test_records(void **state)
{
	EXPECT_PATHS({ V4, { RECORD(1) } }, { V4, { RECORD(2) } }, { V4, { RECORD(3) } },
		     { V4, { RECORD(4) } }, { V4, { RECORD(5) } }, { V4, { UNEVEN(1) } },
		     { V4, { UNEVEN(2) } }, { V4, { UNEVEN(3) } }, { V4, { UNEVEN(4) } },
		     { V4, { UNEVEN(5) } }, { V4, { TABLE(16), RECORD(5) } },
		     { V4, { TABLE(16), TABLE(12), RECORD(3) } }, { V6, { RECORD(5) } },
		     { V6, { TABLE(16), RECORD(1) } }, { V6, { TABLE(16), RECORD(2) } },
		     { V6, { TABLE(16), UNEVEN(3) } }, { V6, { TABLE(16), TABLE(16), RECORD(3) } },
		     { V6, { TABLE(16), TABLE(16), TABLE(4), RECORD(4) } },
		     { V6, { TABLE(16), TABLE(12), TABLE(8), TABLE(8), UNEVEN(5) } });
}

static void test_skips(void **state)
{
	EXPECT_PATHS({ V4, { SKIP(1) } }, { V4, { SKIP(31) } }, { V4, { SKIP(8), TABLE(8) } },
		     { V4, { TABLE(16), SKIP(8), LEAVES(8) } },
		     { V4, { TABLE(8), SKIP(20), RECORD(3) } }, { V6, { SKIP(63) } },
		     { V6, { SKIP(63), SKIP(63) } },
		     { V6, { SKIP(8), TABLE(4), SKIP(9), RECORD(2) } },
		     { V6, { TABLE(16), SKIP(63), TABLE(8), SKIP(33), LEAVES(8) } },
		     { V6, { SKIP(29), RECORD(5) } }, { V6, { SKIP(60), RECORD(4) } });
}

#define FOUR(block) block, block, block, block

/* More tables than the program takes quickly, to the last bit. */
static void test_deep(void **state)
{
	EXPECT_PATHS({ V4, { FOUR(TABLE(4)), FOUR(TABLE(4)) } },
		     { V4, { TABLE(8), TABLE(8), TABLE(8), LEAVES(8) } },
		     { V4, { TABLE(8), TABLE(8), TABLE(8), RECORD(5) } },
		     { V6, { FOUR(FOUR(TABLE(4))), FOUR(FOUR(TABLE(4))) } },
		     { V6, { FOUR(FOUR(TABLE(8))) } },
		     { V6, { FOUR(TABLE(12)), FOUR(TABLE(12)), TABLE(16), TABLE(8), LEAVES(8) } },
		     { V6, { FOUR(TABLE(12)), FOUR(TABLE(12)), TABLE(4), LEAVES(12) } },
		     { V6, { TABLE(16), TABLE(16), FOUR(TABLE(12)), TABLE(16), RECORD(5) } },
		     { V6, { TABLE(16), FOUR(TABLE(12)), SKIP(60), RECORD(2) } });
}

static void test_root_is_a_leaf(void **state)
{
	EXPECT_PATHS({ V4, {} }, { V6, {} });
}

/* The FIB of the interface, and of the family. */
static void test_roots(void **state)
{
	__u32 *roots = t.router->trie_roots, leaf;

	for (__u32 fib = 0; fib < XFIB_FIBS; fib++)
		for (__u32 f = 0; f < FAMILIES; f++)
			roots[XFIB_TRIE_ROOT(fib, f)] = XFIB_NH_FIRST + 2 * fib + f;
	for (t.family = IP4; t.family < FAMILIES; t.family++) {
		enum family parsed;

		build_frame();
		assert_int_equal(addr_parse(t.family == IP4 ? V4 : V6, &parsed, &t.addr), 0);
		for (__u32 fib = 0; fib < XFIB_FIBS; fib++) {
			t.router->l3ifs[L3IF_LAN].fib = fib;
			assert_true(ask(t.addr, &leaf));
			assert_int_equal(leaf, XFIB_NH_FIRST + 2 * fib + (t.family == IP6));
		}
	}
}

/* What leads nowhere ends, and the kernel gets the packet. */
static void test_endless(void **state)
{
	for (t.family = IP4; t.family < FAMILIES; t.family++) {
		__u32 *root = &t.router->trie_roots[XFIB_TRIE_ROOT(ROUTER_FIB, t.family == IP6)];
		__u32 *table = (__u32 *)t.router->trie[t.family] + 4, leaf;

		build_frame();
		*root = XFIB_TRIE_ENTRY(XFIB_TRIE_TABLE, 1);
		for (int i = 0; i < 16; i++)
			table[i] = *root;
		assert_true(ask(t.addr, &leaf));
		assert_int_equal(leaf, XFIB_PUNT_RACE);
	}
}

/* The router's own routes are never asked for, and no leaf but verdicts has a next hop. */
static int setup(void **state)
{
	setenv("ROUTER_ENGINE", "trie", 1);
	t.router = router_new(expect_object(), ROUTER_CFG(.twin = 1));
	if (!t.router)
		return -1;
	memset(&t.router->nexthops[XFIB_NH_FIRST], 0,
	       (XFIB_NEXTHOPS - XFIB_NH_FIRST) * sizeof(*t.router->nexthops));
	return 0;
}

static int teardown(void **state)
{
	router_free(t.router);
	return 0;
}

static int empty(void **state)
{
	memset(t.router->trie_roots, 0, XFIB_TRIE_ROOTS * sizeof(*t.router->trie_roots));
	t.router->l3ifs[L3IF_LAN].fib = ROUTER_FIB;
	return 0;
}

int main(int argc, char **argv)
{
#define TEST(name, function)                      \
	{                                         \
		name, function, empty, NULL, NULL \
	}
	static const struct CMUnitTest tests[] = {
		TEST("tables of each width", test_tables),
		TEST("leaves of each width", test_leaves),
		TEST("records of each size, at each boundary", test_records),
		TEST("skips, inside and outside", test_skips),
		TEST("walks to the last bit", test_deep),
		TEST("a FIB that is one leaf", test_root_is_a_leaf),
		TEST("each FIB and family has its root", test_roots),
		TEST("a walk that leads nowhere ends", test_endless),
	};

	if (expect_args(argc, argv))
		return 2;
	return cmocka_run_group_tests_name("trie", tests, setup, teardown);
}

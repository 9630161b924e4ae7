// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See set.h. */
#include "set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "common/cleanup.h"

enum { LEAVES = 1000, LEAF_STEP = 65 };
_Static_assert(XFIB_NH_FIRST + LEAVES * LEAF_STEP < XFIB_NH_LAST, "they are leaf ids");

static __u64 rng = 88172645463325252ull;

__u64 draw(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng * 0x2545f4914f6cdd1dull;
}

unsigned int chance(unsigned int n)
{
	return (draw() >> 33) % n;
}

__u32 some_leaf(void)
{
	return XFIB_NH_FIRST + chance(LEAVES) * LEAF_STEP;
}

/* --- prefixes ------------------------------------------------------------------------------------- */

void set_add(struct set *s, struct addr addr, unsigned int len)
{
	if (s->n == s->size) {
		s->size = s->size ? 2 * s->size : 65536;
		s->p = realloc(s->p, s->size * sizeof(*s->p));
		if (!s->p) {
			perror("equality");
			exit(1);
		}
	}
	s->p[s->n++] = (struct prefix){ addr_mask(addr, len), len, some_leaf() };
}

/* So many side by side: what tables are wide for. */
static void add_row(struct set *s, struct addr a, unsigned int len, unsigned int n)
{
	for (; n && len <= 64; n--) {
		set_add(s, a, len);
		a.hi += 1ull << (64 - len);
	}
}

/* One within the other, down to a host. */
static void add_ladder(struct set *s, struct addr a, unsigned int len)
{
	for (; len <= family_bits(s->family); len += 1 + chance(3))
		set_add(s, a, len);
}

/*
 * About the lengths of the Internet's tables, in the networks where they are, and on top what those do not
 * have: hosts, prefixes within prefixes, whole ladders of them.
 */
void set_generate(struct set *s, unsigned int n)
{
	static const __u8 len4[] = {
		24, 24, 24, 24, 24, 24, 23, 22, 22, 21, 20, 19, 18, 16, 16, 32
	};
	static const __u8 len6[] = {
		48, 48, 48, 48, 44, 40, 36, 32, 32, 29, 64, 56, 46, 47, 33, 128
	};

	while (s->n < n) {
		struct addr a = { draw(), draw() };
		unsigned int len = s->family == IP4 ? len4[chance(16)] : len6[chance(16)];

		a.hi = s->family == IP4
			       ? (__u64)(1 + chance(222)) << 56 | (a.hi >> 8 & 0xffffff00000000ull)
			       : (__u64)(0x2400 + 0x100 * chance(8)) << 48 | a.hi >> 20;
		if (s->family == IP4)
			a.lo = 0;
		set_add(s, a, len);
		if (!chance(100))
			add_row(s, addr_mask(a, len), len, 16 << chance(5));
		if (!chance(200))
			add_ladder(s, a, len);
	}
}

void set_read(struct set *s, const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	enum family family;
	unsigned int len;
	struct addr a;
	char line[128];

	if (!f) {
		fprintf(stderr, "equality: cannot read %s: %m\n", path);
		exit(1);
	}
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \t\r\n")] = '\0';
		if (!prefix_parse(line, &family, &a, &len) && family == s->family && len)
			set_add(s, a, len);
	}
}

static int by_prefix(const void *a, const void *b)
{
	const struct prefix *x = a, *y = b;

	if (x->addr.hi != y->addr.hi)
		return x->addr.hi < y->addr.hi ? -1 : 1;
	if (x->addr.lo != y->addr.lo)
		return x->addr.lo < y->addr.lo ? -1 : 1;
	return (int)x->len - (int)y->len;
}

void set_swap(struct set *s, unsigned int i, unsigned int j)
{
	struct prefix p = s->p[i];

	s->p[i] = s->p[j];
	s->p[j] = p;
}

void set_shuffle(struct set *s)
{
	unsigned int kept = 0;

	if (!s->n)
		return;
	qsort(s->p, s->n, sizeof(*s->p), by_prefix);
	for (unsigned int i = 1; i < s->n; i++)
		if (by_prefix(&s->p[kept], &s->p[i]))
			s->p[++kept] = s->p[i];
	s->n = kept + 1;
	for (unsigned int i = s->n - 1; i; i--)
		set_swap(s, i, chance(i + 1));
}

void set_free(struct set *s)
{
	free(s->p);
}

/* --- addresses ------------------------------------------------------------------------------------- */

static struct addr cut(enum family f, struct addr a)
{
	return f == IP4 ? (struct addr){ a.hi & ~0ull << 32, 0 } : a;
}

/* The bits behind the first `len` are those of `rest`. */
static struct addr with_rest(struct addr a, unsigned int len, struct addr rest)
{
	struct addr high = addr_mask(rest, len);

	a = addr_mask(a, len);
	return (struct addr){ a.hi | (rest.hi ^ high.hi), a.lo | (rest.lo ^ high.lo) };
}

static struct addr next_to(enum family f, struct addr a, int by)
{
	if (f == IP4)
		return (struct addr){ a.hi + ((__u64)by << 32), 0 };
	if (by > 0)
		a.hi += !++a.lo;
	else
		a.hi -= !a.lo--;
	return a;
}

void edges_of(enum family f, const struct prefix *p, struct addr edges[EDGES])
{
	struct addr last = cut(f, with_rest(p->addr, p->len, (struct addr){ ~0ull, ~0ull }));

	edges[0] = next_to(f, p->addr, -1);
	edges[1] = p->addr;
	edges[2] = next_to(f, p->addr, 1);
	edges[3] = next_to(f, last, -1);
	edges[4] = last;
	edges[5] = next_to(f, last, 1);
}

struct addr addr_inside(enum family f, const struct prefix *p)
{
	return cut(f, with_rest(p->addr, p->len, (struct addr){ draw(), draw() }));
}

static struct addr flip(struct addr a, unsigned int bit)
{
	if (bit < 64)
		a.hi ^= 1ull << (63 - bit);
	else
		a.lo ^= 1ull << (127 - bit);
	return a;
}

struct addr some_addr(const struct set *s)
{
	const struct prefix *p = &s->p[chance(s->n)];
	struct addr edges[EDGES], a = { draw(), draw() };

	switch (chance(3)) {
	case 0:
		return addr_inside(s->family, p);
	case 1:
		/* Of IPv6 mostly the eighth that is in use. */
		a.hi = s->family == IP6 && chance(4) ? a.hi >> 3 | 1ull << 61 : a.hi;
		return cut(s->family, a);
	default:
		edges_of(s->family, p, edges);
		return flip(edges[chance(2) ? 1 : 4], chance(family_bits(s->family)));
	}
}

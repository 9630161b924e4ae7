// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * equality OBJECT [--full] [--table FILE] [--updates FILE] [--churn N]: do all lookups agree? The compiled trie (read by
 * userspace in the memory that packets use), the kernel's LPM trie map, the XDP program and a naive model, on
 * the edges of every prefix, on random addresses, and after each of many changes. Exit code 1 on any difference.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bed.h"

enum { LEAVES = 1000, SMALL = 20000, EXAMPLES = 10 };

struct options {
	const char *object, *table, *updates;
	bool full;
	unsigned long churn;
};

struct set {
	enum family family;
	struct prefix *p;
	unsigned int n, size;
};

static __u64 rng = 88172645463325252ull;
static unsigned long differences;
static unsigned int passed, failed;

static __u64 draw(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng * 0x2545f4914f6cdd1dull;
}

static unsigned int chance(unsigned int n)
{
	return (draw() >> 33) % n;
}

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* Few enough to be met often, and all over the ids that there are. */
static __u32 some_leaf(void)
{
	return XFIB_NH_FIRST + chance(LEAVES) * 65;
}
_Static_assert(XFIB_NH_FIRST + LEAVES * 65 < XFIB_NH_LAST, "they are leaf ids");

/* --- tables --------------------------------------------------------------------------------------- */

static void add(struct set *s, struct addr addr, unsigned int len)
{
	if (s->n == s->size) {
		s->size = s->size ? 2 * s->size : 65536;
		s->p = realloc(s->p, s->size * sizeof(*s->p));
		if (!s->p)
			exit(1);
	}
	s->p[s->n++] = (struct prefix){ addr_mask(addr, len), len, some_leaf() };
}

/*
 * About the lengths of the Internet's tables, in the networks where they are, and on top what those do not
 * have: hosts, prefixes within prefixes, whole ladders of them.
 */
static void generate(struct set *s, unsigned int n)
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
		add(s, a, len);
		if (!chance(100))
			for (unsigned int i = 16 << chance(5); i; i--) {
				add(s, a, len);
				a.hi += len <= 64 ? 1ull << (64 - len) : 0;
			}
		if (!chance(200))
			for (unsigned int l = len; l <= family_bits(s->family); l += 1 + chance(3))
				add(s, a, l);
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

/* Each prefix once, and then in no order. */
static void shuffle(struct set *s)
{
	unsigned int kept = 0;

	if (!s->n)
		return;
	qsort(s->p, s->n, sizeof(*s->p), by_prefix);
	for (unsigned int i = 1; i < s->n; i++)
		if (by_prefix(&s->p[kept], &s->p[i]))
			s->p[++kept] = s->p[i];
	s->n = kept + 1;
	for (unsigned int i = s->n - 1; i; i--) {
		unsigned int j = chance(i + 1);
		struct prefix p = s->p[i];

		s->p[i] = s->p[j];
		s->p[j] = p;
	}
}

static void read_table(struct set *s, const char *path)
{
	FILE *f = fopen(path, "r");
	struct addr a;
	enum family family;
	unsigned int len;
	char line[128];

	if (!f) {
		fprintf(stderr, "equality: cannot read %s: %m\n", path);
		exit(1);
	}
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \t\r\n")] = '\0';
		if (!prefix_parse(line, &family, &a, &len) && family == s->family && len)
			add(s, a, len);
	}
	fclose(f);
}

/* --- addresses ------------------------------------------------------------------------------------- */

static struct addr last_of(const struct set *s, const struct prefix *p)
{
	struct addr a = p->addr;

	a.hi |= p->len < 64 ? ~0ull >> p->len : 0;
	a.lo |= p->len <= 64 ? ~0ull : p->len < 128 ? ~0ull >> (p->len - 64) : 0;
	return s->family == IP4 ? (struct addr){ a.hi & ~0ull << 32, 0 } : a;
}

static struct addr next_to(const struct set *s, struct addr a, int by)
{
	if (s->family == IP4)
		return (struct addr){ a.hi + ((__u64)by << 32), 0 };
	if (by > 0)
		a.hi += !++a.lo;
	else
		a.hi -= !a.lo--;
	return a;
}

/* Uniform over prefixes, over the space, or a bit away from an edge. */
static struct addr some_addr(const struct set *s)
{
	const struct prefix *p = &s->p[chance(s->n)];
	struct addr a = { draw(), draw() }, low = addr_mask(a, p->len);

	switch (chance(3)) {
	case 0:
		a = (struct addr){ (a.hi ^ low.hi) | p->addr.hi, (a.lo ^ low.lo) | p->addr.lo };
		break;
	case 1:
		a.hi = s->family == IP6 && chance(4) ? a.hi >> 3 | 1ull << 61 : a.hi;
		break;
	default:
		a = chance(2) ? p->addr : last_of(s, p);
		a.hi ^= 1ull << chance(64);
	}
	return s->family == IP4 ? (struct addr){ a.hi & ~0ull << 32, 0 } : a;
}

static void expect(const struct set *s, const char *what, struct addr addr, __u32 leaf, __u32 want)
{
	char text[ADDR_STRLEN];

	if (leaf == want)
		return;
	if (differences++ < EXAMPLES)
		printf("%s: %s has leaf %u instead of %u\n", addr_format(s->family, addr, text),
		       what, leaf, want);
}

static void check_edges(const struct set *s, const struct bed *bed, const struct model *m,
			const struct prefix *p, bool lpm)
{
	const struct addr last = last_of(s, p);
	const struct addr edges[] = { p->addr, next_to(s, p->addr, -1), last, next_to(s, last, 1) };

	for (int i = 0; i < 4; i++) {
		__u32 want = model_find(m, edges[i]);

		expect(s, "the trie", edges[i], bed_find_trie(bed, edges[i]), want);
		if (lpm)
			expect(s, "the LPM trie", edges[i], bed_find_lpm(bed, edges[i]), want);
	}
}

/* --- proofs ----------------------------------------------------------------------------------------- */

static void all_agree(const struct set *s, const struct options *o)
{
	unsigned long random = o->full ? 10000000 : 300000, packets = o->full ? 100000 : 20000,
		      reached = 0;
	struct model m;
	struct bed bed;
	double start;

	model_open(&m, s->n);
	bed_open(&bed, o->object, s->family, 64u << 20, s->n);
	for (unsigned int i = 0; i < s->n; i++) {
		model_put(&m, &s->p[i]);
		bed_put(&bed, &s->p[i]);
		bed_put_lpm(&bed, &s->p[i]);
	}
	start = cpu_us();
	trie_update(&bed.trie, (struct addr){}, 0);
	printf("%u prefixes compiled in %.0f ms, %.2f MB\n", s->n, (cpu_us() - start) / 1e3,
	       bed.pool.blocks.used * XFIB_TRIE_UNIT / 1e6);
	for (unsigned int i = 0; i < s->n; i++)
		check_edges(s, &bed, &m, &s->p[i], true);
	for (unsigned long i = 0; i < random; i++) {
		struct addr a = some_addr(s);

		expect(s, "the trie", a, bed_find_trie(&bed, a), model_find(&m, a));
	}
	for (unsigned long i = 0; i < packets; i++) {
		struct addr a = some_addr(s);
		__u32 leaf = bed_find_xdp(&bed, a);

		if (leaf == ~0u)
			continue;
		reached++;
		expect(s, "the XDP program", a, leaf, model_find(&m, a));
	}
	printf("%u edges in trie and LPM trie, %lu random addresses in the trie, %lu of %lu packets through the XDP program\n",
	       4 * s->n, random, reached, packets);
	if (reached < packets / 4 || bed.trie.starved)
		differences++;
	bed_close(&bed);
	model_close(&m);
}

static struct prefix change(struct set *s)
{
	struct prefix *p = &s->p[chance(s->n)];

	p->leaf = p->leaf && chance(2) ? 0 : some_leaf();
	return *p;
}

/* After each change the addresses around it are looked at. */
static void changes_agree(const struct set *all, const struct options *o)
{
	unsigned long changes = o->full ? 100000 : 10000;
	struct set s = { .family = all->family };
	struct model m;
	struct bed bed;

	for (unsigned int i = 0; i < SMALL && i < all->n; i++)
		add(&s, all->p[i].addr, all->p[i].len);
	model_open(&m, s.n);
	bed_open(&bed, o->object, s.family, 8u << 20, s.n);
	for (unsigned long i = 0; i < changes; i++) {
		struct prefix p = change(&s);

		model_put(&m, &p);
		bed_put(&bed, &p);
		trie_update(&bed.trie, p.addr, p.len);
		bed_forget(&bed, &p);
		check_edges(&s, &bed, &m, &p, false);
		if (i % 256 == 0)
			bed_grace(&bed);
	}
	printf("%lu changes of a table of %u prefixes, the edges looked at after each\n", changes,
	       s.n);
	bed_close(&bed);
	model_close(&m);
	free(s.p);
}

static int by_value(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct times {
	float *us;
	unsigned long n, size;
};

static void note_time(struct times *t, double us)
{
	if (t->n == t->size) {
		t->size = t->size ? 2 * t->size : 65536;
		t->us = realloc(t->us, t->size * sizeof(*t->us));
	}
	t->us[t->n++] = us;
}

static void print_times(struct times *t)
{
	double sum = 0;

	if (!t->n)
		return;
	for (unsigned long i = 0; i < t->n; i++)
		sum += t->us[i];
	qsort(t->us, t->n, sizeof(*t->us), by_value);
	printf("an update takes %.2f us (mean), median %.2f, p99 %.2f, max %.0f\n", sum / t->n,
	       t->us[t->n / 2], t->us[t->n - 1 - t->n / 100], t->us[t->n - 1]);
	free(t->us);
}

/* A full table that changes for a long time: what the memory does, and the time. */
static void lives_on(const struct set *s, const struct options *o)
{
	struct set all = *s;
	struct times times = {};
	struct model m;
	struct bed bed;
	__u32 first, most = 0;

	model_open(&m, s->n);
	bed_open(&bed, o->object, s->family, 64u << 20, s->n);
	for (unsigned int i = 0; i < s->n; i++)
		bed_put(&bed, &s->p[i]);
	trie_update(&bed.trie, (struct addr){}, 0);
	first = bed.pool.blocks.used;
	for (unsigned long i = 0; i < o->churn; i++) {
		struct prefix p = change(&all);
		double start = cpu_us();

		bed_put(&bed, &p);
		trie_update(&bed.trie, p.addr, p.len);
		if (i < 1000000)
			note_time(&times, cpu_us() - start);
		bed_forget(&bed, &p);
		if (i % 512 == 0) {
			bed_grace(&bed);
			most = bed.pool.blocks.used > most ? bed.pool.blocks.used : most;
		}
	}
	for (unsigned int i = 0; i < all.n; i++)
		model_put(&m, &all.p[i]);
	for (unsigned int i = 0; i < all.n; i += 16)
		check_edges(&all, &bed, &m, &all.p[i], false);
	printf("%lu updates: from %.2f MB to at most %.2f MB (%+.1f %%)\n", o->churn,
	       first * XFIB_TRIE_UNIT / 1e6, most * XFIB_TRIE_UNIT / 1e6,
	       100.0 * most / first - 100);
	if (most > first + first / 5) {
		printf("that is more than 20 %%\n");
		differences++;
	}
	print_times(&times);
	bed_close(&bed);
	model_close(&m);
}

/* Real changes in their order: lines "A\tPREFIX" and "W\tPREFIX". */
static void replay(const struct set *s, const struct options *o)
{
	FILE *f = fopen(o->updates, "r");
	struct times times = {};
	struct model m;
	struct bed bed;
	char line[128];

	if (!f) {
		fprintf(stderr, "equality: cannot read %s: %m\n", o->updates);
		exit(1);
	}
	model_open(&m, 2 * s->n + 4000000);
	bed_open(&bed, o->object, s->family, 64u << 20, 2 * s->n + 1000000);
	for (unsigned int i = 0; i < s->n; i++) {
		model_put(&m, &s->p[i]);
		bed_put(&bed, &s->p[i]);
	}
	trie_update(&bed.trie, (struct addr){}, 0);
	for (unsigned long i = 0; fgets(line, sizeof(line), f); i++) {
		struct prefix p;
		enum family family;
		double start;

		line[strcspn(line, "\r\n")] = '\0';
		if (line[1] != '\t' || prefix_parse(line + 2, &family, &p.addr, &p.len) ||
		    family != s->family || !p.len)
			continue;
		p.leaf = line[0] == 'A' ? some_leaf() : 0;
		model_put(&m, &p);
		start = cpu_us();
		bed_put(&bed, &p);
		trie_update(&bed.trie, p.addr, p.len);
		note_time(&times, cpu_us() - start);
		bed_forget(&bed, &p);
		if (i % 512 == 0)
			bed_grace(&bed);
		if (i % 64 == 0)
			check_edges(s, &bed, &m, &p, false);
	}
	fclose(f);
	printf("%lu updates of %s\n", times.n, o->updates);
	print_times(&times);
	bed_close(&bed);
	model_close(&m);
}

static void prove(void (*proof)(const struct set *s, const struct options *o), const struct set *s,
		  const struct options *o)
{
	unsigned long before = differences;

	proof(s, o);
	if (differences == before)
		passed++;
	else
		failed++;
}

/* --- the command line --------------------------------------------------------------------------------- */

static const struct argp_option arg_options[] = {
	{ "full", 'f', NULL, 0, "as many addresses and changes as it takes minutes for", 0 },
	{ "table", 't', "FILE", 0, "prefixes, one a line; else they are made up", 0 },
	{ "updates", 'u', "FILE", 0, "changes of that table to replay", 0 },
	{ "churn", 'c', "N", 0, "so many random changes of the whole table", 0 },
	{}
};

static error_t parse_arg(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'f':
		o->full = true;
		return 0;
	case 't':
		o->table = arg;
		return 0;
	case 'u':
		o->updates = arg;
		return 0;
	case 'c':
		o->churn = strtoul(arg, NULL, 10);
		return 0;
	case ARGP_KEY_ARG:
		o->object = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->object)
			argp_error(state, "which object?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	const struct argp argp = { arg_options, parse_arg, "OBJECT", "Do all lookups agree?",
				   NULL,	NULL,	   NULL };
	struct options o = { .churn = 50000 };

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (enum family f = IP4; f < FAMILIES; f++) {
		struct set s = { .family = f };

		if (o.table)
			read_table(&s, o.table);
		else
			generate(&s, o.full ? (f == IP4 ? 900000 : 160000) : 30000);
		shuffle(&s);
		if (!s.n)
			continue;
		printf("IPv%c\n", f == IP4 ? '4' : '6');
		prove(all_agree, &s, &o);
		prove(changes_agree, &s, &o);
		prove(lives_on, &s, &o);
		if (o.updates)
			prove(replay, &s, &o);
		free(s.p);
	}
	printf("%lu differences\n", differences);
	printf("equality: %u passed, %u failed\n", passed, failed);
	return failed != 0;
}

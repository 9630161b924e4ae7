// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * equality OBJECT [--full] [--table FILE] [--updates FILE] [--churn N]: do all lookups agree? The compiled trie (read
 * by userspace in the memory that packets use), the kernel's LPM trie map, the XDP program with either engine and a
 * naive model, on the edges of every prefix, on random addresses, and after each of many changes. Exit code 1
 * on any difference.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bed.h"
#include "common/cleanup.h"
#include "set.h"

enum {
	SMALL = 30000, /* prefixes that come and go; two thirds of them are there */
	GRACE = 512,   /* updates from one grace period to the next */
	EXAMPLES = 10, /* differences that are told one by one */
	GROWTH = 20,   /* percent of memory that a day may cost */
	BYTES = 64 << 20,
	SMALL_BYTES = 8 << 20,
	MANY = 1000000, /* updates from which on it is told how it goes */
};

struct options {
	const char *object, *table, *updates;
	bool full;
	unsigned long churn;
};

static unsigned long differences;
static unsigned int passed, failed;

/* --- time ------------------------------------------------------------------------------------------- */

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* What updates take, the first so many of them. */
enum { TIMES = 2000000 };

struct times {
	float *us;
	unsigned long n, size;
};

static void note_time(struct times *t, double us)
{
	if (t->n == t->size) {
		t->size = t->size ? 2 * t->size : 65536;
		t->us = realloc(t->us, t->size * sizeof(*t->us));
		if (!t->us) {
			perror("equality");
			exit(1);
		}
	}
	t->us[t->n++] = us;
}

static int by_value(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
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

/* --- what is asked ------------------------------------------------------------------------------------- */

/* A table and everything that answers for it. */
struct world {
	const struct set *set;
	struct model model;
	struct bed bed;
	struct times times;
	unsigned long updates, packets;
};

typedef __u32 (*find_fn)(const struct bed *bed, struct addr addr);

static const struct asked {
	const char *name;
	find_fn find;
} trie = { "the trie", bed_find_trie }, lpm = { "the LPM trie", bed_find_lpm },
  xdp_trie = { "the program with the trie", bed_find_xdp },
  xdp_lpm = { "the program with the LPM trie", bed_find_xdp_lpm };

/* False: it gives no answer for such an address. */
static bool ask(struct world *w, const struct asked *who, struct addr addr)
{
	__u32 leaf = who->find(&w->bed, addr), want = model_find(&w->model, addr);
	char text[ADDR_STRLEN];

	if (leaf == ~0u)
		return false;
	w->packets += who == &xdp_trie || who == &xdp_lpm;
	if (leaf == want)
		return true;
	if (differences++ < EXAMPLES)
		printf("%s: %s has leaf %u instead of %u\n",
		       addr_format(w->set->family, addr, text), who->name, leaf, want);
	return true;
}

static void ask_edges(struct world *w, const struct asked *who, const struct prefix *p)
{
	struct addr edges[EDGES];

	edges_of(w->set->family, p, edges);
	for (int i = 0; i < EDGES; i++)
		ask(w, who, edges[i]);
}

/* --- changes ------------------------------------------------------------------------------------------- */

static void open_world(struct world *w, const struct set *s, const struct options *o, __u32 bytes,
		       __u32 room)
{
	*w = (struct world){ .set = s };
	model_open(&w->model, room);
	bed_open(&w->bed, o->object, s->family, bytes, room);
}

/* The first n prefixes, in one go. */
static void fill(struct world *w, unsigned int n)
{
	double start;

	for (unsigned int i = 0; i < n; i++) {
		model_put(&w->model, &w->set->p[i]);
		bed_put(&w->bed, &w->set->p[i]);
	}
	start = cpu_us();
	trie_update(&w->bed.trie, (struct addr){}, 0);
	printf("%u prefixes compiled in %.0f ms, %.2f MB\n", n, (cpu_us() - start) / 1e3,
	       w->bed.pool.blocks.used * XFIB_TRIE_UNIT / 1e6);
}

/* In everything but the LPM trie. */
static void put(struct world *w, const struct prefix *p)
{
	bool timed = w->updates++ < TIMES;
	double start;

	model_put(&w->model, p);
	bed_put(&w->bed, p);
	start = timed ? cpu_us() : 0;
	trie_update(&w->bed.trie, p->addr, p->len);
	if (timed)
		note_time(&w->times, cpu_us() - start);
	bed_forget(&w->bed, p);
	if (w->updates % GRACE == 0)
		bed_grace(&w->bed);
}

static void close_world(struct world *w)
{
	if (w->bed.trie.starved) {
		printf("%llu slots found no room\n", w->bed.trie.starved);
		differences++;
	}
	print_times(&w->times);
	bed_close(&w->bed);
	model_close(&w->model);
}

/* --- proofs ----------------------------------------------------------------------------------------- */

static void ask_packets(struct world *w, const struct asked *who, unsigned long packets)
{
	unsigned long reached = 0;

	for (unsigned long i = 0; i < 10 * packets && reached < packets; i++)
		reached += ask(w, who, some_addr(w->set));
	printf("%lu random addresses in %s\n", reached, who->name);
	if (reached < packets)
		differences++;
}

static void all_agree(const struct set *s, const struct options *o)
{
	const unsigned long random = o->full ? 10000000 : 200000;
	const unsigned long packets = o->full ? 100000 : 10000;
	struct world w;

	open_world(&w, s, o, BYTES, s->n);
	fill(&w, s->n);
	for (unsigned int i = 0; i < s->n; i++)
		bed_put_lpm(&w.bed, &s->p[i]);
	for (unsigned int i = 0; i < s->n; i++) {
		ask_edges(&w, &trie, &s->p[i]);
		ask_edges(&w, &lpm, &s->p[i]);
		ask_edges(&w, &xdp_trie, &s->p[i]);
	}
	printf("%u edges in the trie and the LPM trie, %lu of them in the program with the trie\n",
	       EDGES * s->n, w.packets);
	for (unsigned long i = 0; i < random; i++)
		ask(&w, &trie, some_addr(s));
	printf("%lu random addresses in %s\n", random, trie.name);
	ask_packets(&w, &lpm, 10 * packets);
	ask_packets(&w, &xdp_trie, packets);
	ask_packets(&w, &xdp_lpm, packets);
	close_world(&w);
}

/* One that is there goes or gets another leaf, one that is not comes. */
static const struct prefix *some_change(struct set *s)
{
	struct prefix *p = &s->p[chance(s->n)];

	p->leaf = p->leaf && chance(2) ? 0 : some_leaf();
	return p;
}

static void ask_around(struct world *w, const struct prefix *p)
{
	const struct addr inside = addr_inside(w->set->family, p);
	const struct asked *const all[] = { &trie, &lpm, &xdp_trie };

	for (int i = 0; i < 3; i++) {
		ask_edges(w, all[i], p);
		ask(w, all[i], inside);
	}
}

/* After each change the addresses around it are looked at. */
static void changes_agree(const struct set *all, const struct options *o)
{
	unsigned long changes = o->full ? 100000 : 5000;
	struct set s = { .family = all->family };
	struct world w;

	for (unsigned int i = 0; i < SMALL && i < all->n; i++)
		set_add(&s, all->p[i].addr, all->p[i].len);
	open_world(&w, &s, o, SMALL_BYTES, s.n);
	fill(&w, s.n * 2 / 3);
	for (unsigned int i = 0; i < s.n; i++) {
		if (i >= s.n * 2 / 3)
			s.p[i].leaf = 0;
		bed_put_lpm(&w.bed, &s.p[i]);
	}
	for (unsigned long i = 0; i < changes; i++) {
		const struct prefix *p = some_change(&s);

		put(&w, p);
		bed_put_lpm(&w.bed, p);
		ask_around(&w, p);
	}
	printf("%lu changes, the edges looked at after each: %lu packets\n", changes, w.packets);
	close_world(&w);
	set_free(&s);
}

/*
 * As tables live: half of the changes replace a leaf, the others take a prefix away or bring one. Those
 * that are there come first; there are always nineteen of twenty, or about.
 */
static const struct prefix *daily_change(struct set *s, unsigned int *there)
{
	unsigned int absent = s->n - *there, i;

	if (chance(2)) {
		i = chance(*there);
		s->p[i].leaf = some_leaf();
		return &s->p[i];
	}
	if (absent > s->n / 12 || (absent > s->n / 40 && chance(2))) {
		set_swap(s, *there + chance(absent), *there);
		s->p[*there].leaf = some_leaf();
		return &s->p[(*there)++];
	}
	set_swap(s, chance(*there), *there - 1);
	s->p[--*there].leaf = 0;
	return &s->p[*there];
}

static __u64 used(const struct world *w)
{
	return (__u64)w->bed.pool.blocks.used * XFIB_TRIE_UNIT;
}

static void print_life(const struct world *w, unsigned int there)
{
	printf("%10lu updates: %u prefixes, %.2f MB in blocks, which end at %.2f MB\n", w->updates,
	       there, used(w) / 1e6, bed_extent(&w->bed) / 1e6);
}

static void check_growth(const char *what, __u64 first, __u64 most)
{
	printf("%s: from %.2f MB to %.2f MB (%+.1f %%)\n", what, first / 1e6, most / 1e6,
	       100.0 * most / first - 100);
	if (most * 100 <= first * (100 + GROWTH))
		return;
	printf("that is more than %d %%\n", GROWTH);
	differences++;
}

/* A table that changes for a long time: what the memory does, and the time. */
static void lives_on(const struct set *s, const struct options *o)
{
	struct set all = *s;
	struct world w;
	unsigned int there = s->n - s->n / 20;
	unsigned long hour = o->churn / 24 + 1;
	__u64 blocks, extent, most = 0;

	open_world(&w, &all, o, BYTES, s->n);
	fill(&w, there);
	blocks = used(&w);
	extent = bed_extent(&w.bed);
	for (unsigned long i = 1; i <= o->churn; i++) {
		put(&w, daily_change(&all, &there));
		most = used(&w) > most ? used(&w) : most;
		if (o->churn >= MANY && i % hour == 0)
			print_life(&w, there);
	}
	print_life(&w, there);
	check_growth("blocks", blocks, most);
	check_growth("their extent", extent, bed_extent(&w.bed));
	for (unsigned int i = 0; i < all.n; i++)
		ask_edges(&w, &trie, &all.p[i]);
	printf("%u edges in %s afterwards\n", EDGES * all.n, trie.name);
	close_world(&w);
}

/* One line of real changes: "A\tPREFIX" or "W\tPREFIX". False: it is none of this family. */
static bool read_update(enum family family, char *line, struct prefix *p)
{
	enum family f;

	line[strcspn(line, "\r\n")] = '\0';
	if (!line[0] || line[1] != '\t' || prefix_parse(line + 2, &f, &p->addr, &p->len) ||
	    f != family || !p->len)
		return false;
	p->leaf = line[0] == 'A' ? some_leaf() : 0;
	return true;
}

static void replay(const struct set *s, const struct options *o)
{
	_cleanup_fclose_ FILE *f = fopen(o->updates, "r");
	struct world w;
	__u64 blocks;
	char line[128];

	if (!f) {
		fprintf(stderr, "equality: cannot read %s: %m\n", o->updates);
		exit(1);
	}
	open_world(&w, s, o, BYTES, s->n + 1000000);
	fill(&w, s->n);
	blocks = used(&w);
	while (fgets(line, sizeof(line), f)) {
		struct prefix p;

		if (!read_update(s->family, line, &p))
			continue;
		put(&w, &p);
		ask_edges(&w, &trie, &p);
	}
	for (unsigned int i = 0; i < s->n; i++)
		ask_edges(&w, &trie, &s->p[i]);
	printf("%lu updates of %s, the edges looked at after each, and %u at the end\n", w.updates,
	       o->updates, EDGES * s->n);
	printf("blocks: from %.2f MB to %.2f MB\n", blocks / 1e6, used(&w) / 1e6);
	close_world(&w);
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
	{ "churn", 'c', "N", 0, "so many random changes of the whole table; 86400000 is a day", 0 },
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
			set_read(&s, o.table);
		else
			set_generate(&s, o.full ? (f == IP4 ? 900000 : 160000) : 20000);
		set_shuffle(&s);
		if (!s.n)
			continue;
		printf("IPv%c\n", f == IP4 ? '4' : '6');
		prove(all_agree, &s, &o);
		prove(changes_agree, &s, &o);
		if (o.churn)
			prove(lives_on, &s, &o);
		if (o.updates)
			prove(replay, &s, &o);
		set_free(&s);
	}
	printf("%lu differences\n", differences);
	printf("equality: %u passed, %u failed\n", passed, failed);
	return failed != 0;
}

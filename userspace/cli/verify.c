// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xfib verify: asks the maps and the kernel about many addresses, in and around the prefixes that
 * either knows. A disagreement counts only if it stays while the kernel's answer stays the same: the
 * tables follow the kernel with some delay.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "addresses.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "kernel.h"
#include "leaf.h"
#include "tables.h"
#include "text.h"
#include "view.h"

enum {
	SAMPLES = 10000,
	EXAMPLES = 10,
	ROUNDS = 5,	      /* that a disagreement must last */
	ROUND_NS = 100000000, /* apart: well above the time that the daemon takes to follow */
};

struct verify_args {
	__u64 samples, seed;
	bool all, has_samples;
};

static __u64 parse_number(struct argp_state *state, const char *arg, __u64 max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' || n > max)
		argp_error(state, "'%s' is no number from 0 to %llu", arg, max);
	return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct verify_args *args = state->input;

	switch (key) {
	case 's':
		args->samples = parse_number(state, arg, 1000000000);
		args->has_samples = true;
		return 0;
	case 'a':
		args->all = true;
		return 0;
	case 'e':
		args->seed = parse_number(state, arg, ~0ull >> 1);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one argument too many", arg);
		return 0;
	case ARGP_KEY_END:
		if (args->all && args->has_samples)
			argp_error(state, "--samples or --all, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "samples", 's', "N", 0, "ask about N addresses (default: 10000)", 0 },
	{ "all", 'a', NULL, 0, "ask about the edges of every prefix", 0 },
	{ "seed", 'e', "S", 0, "draw the same addresses as the run that printed S", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Compare what XDP would do with the kernel's answers, for addresses in and at the "
	       "edges of the prefixes that either knows. Exit status 1 on any mismatch.\v"
	       "Example: xfib verify --samples 100000",
};

/* --- one address ---------------------------------------------------------------------------- */

struct verify {
	struct view *view;
	struct nl_query *query;
	unsigned int fib;
	__u64 checked;
	struct nl_answer answer;
	bool partial; /* see kernel_ask() */
};

/* An address that was answered differently, and what the kernel said. */
struct suspect {
	struct prefix host;
	__u64 answer;
	bool changed; /* ... and has said something else since */
};

static __u64 mix(__u64 hash, __u64 word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15ull ^ hash >> 32;
}

/* Of all that decides about a packet: equal for equal answers. */
static __u64 fingerprint(const struct nl_answer *a)
{
	__u64 hash = mix(mix(1, a->error), a->type);

	for (unsigned int i = 0; i < a->legs; i++) {
		const struct leg *leg = &a->leg[i];

		hash = mix(mix(hash, leg->ifindex), leg->flags & RTNH_F_DEAD);
		if (leg->has_gateway)
			hash = mix(mix(mix(hash, leg->gateway_family), leg->gateway.hi),
				   leg->gateway.lo);
	}
	return hash;
}

static bool via_a_port(const struct view *v, const struct nl_answer *a)
{
	for (unsigned int i = 0; i < a->legs; i++)
		if (view_port_enabled(v, a->leg[i].ifindex))
			return true;
	return false;
}

/* Verdicts that claim a type of route; the others are markers: whatever it is, the kernel does it. */
static bool claims_no_unicast(enum xfib_verdict verdict)
{
	switch (verdict) {
	case XFIB_PUNT_NO_ROUTE:
	case XFIB_PUNT_LOCAL:
	case XFIB_PUNT_BROADCAST:
	case XFIB_PUNT_ANYCAST:
	case XFIB_PUNT_MULTICAST:
	case XFIB_PUNT_BLACKHOLE:
	case XFIB_PUNT_UNREACHABLE:
	case XFIB_PUNT_PROHIBIT:
	case XFIB_DROP_BLACKHOLE:
		return true;
	default:
		return false;
	}
}

/* Why leaf and answer do not fit; NULL if they do. */
static const char *judge(const struct verify *v, const struct leaf *leaf)
{
	const struct nl_answer *a = &v->answer;
	bool fits = false;

	if (leaf->kind == XFIB_NH_VERDICT) {
		if (leaf->hop[0].verdict == XFIB_DROP_BLACKHOLE && a->error != -EINVAL)
			return "dropped, but the kernel has no blackhole route";
		return claims_no_unicast(leaf->hop[0].verdict) && kernel_forwards(a) &&
				       via_a_port(v->view, a)
			       ? "not forwarded, but the kernel forwards it by a port"
			       : NULL;
	}
	if (!kernel_forwards(a))
		return "forwarded, but the kernel does not forward it";
	for (unsigned int i = 0; i < leaf->hops; i++) {
		if (leaf->hop[i].kind == XFIB_NH_VERDICT)
			continue;
		if (kernel_has_hop(a, &leaf->hop[i]))
			fits = true;
		else if (!v->partial)
			return "forwarded to a next hop that the kernel does not use";
	}
	return fits || !v->partial ? NULL : "forwarded to next hops that the kernel does not use";
}

static int read_leaf(const struct verify *v, enum family f, struct addr a, struct leaf **leaf)
{
	const struct generation *gen = v->view->gen;
	unsigned int id;
	int r = tables_lookup(gen, f, v->fib, a, &id);

	return r ? r : leaf_read(gen, leaf_id(f, v->fib, id), leaf);
}

/* Asks both. *why: NULL if they agree. */
static int check(struct verify *v, enum family f, struct addr a, struct leaf **leaf,
		 const char **why)
{
	int r = kernel_ask(v->query, f, a, NULL, 0, &v->answer, &v->partial);

	if (!r)
		r = read_leaf(v, f, a, leaf);
	if (!r)
		*why = judge(v, *leaf);
	return r;
}

/* --- all of them ---------------------------------------------------------------------------- */

struct suspects {
	struct suspect *s;
	size_t count, room;
};

static int add_suspect(struct suspects *list, enum family f, struct addr a, __u64 answer)
{
	struct suspect *grown;

	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		grown = reallocarray(list->s, list->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->s = grown;
	}
	list->s[list->count++] =
		(struct suspect){ .host = { a, f, family_bits(f) }, .answer = answer };
	return 0;
}

static int check_first(struct verify *v, enum family f, struct addr a, struct suspects *suspects)
{
	_cleanup_free_ struct leaf *leaf = NULL;
	const char *why = NULL;
	int r;

	if (!addresses_looked_up(f, a))
		return 0;
	r = check(v, f, a, &leaf, &why);
	if (r)
		return r;
	v->checked++;
	return why ? add_suspect(suspects, f, a, fingerprint(&v->answer)) : 0;
}

static int check_edges(struct verify *v, const struct prefixes *list, struct suspects *suspects)
{
	int r = 0;

	for (size_t i = 0; i < list->count; i++)
		for (enum place place = FIRST; place < EDGES && !r; place++)
			r = check_first(v, list->p[i].family,
					addresses_at(&list->p[i], place, NULL), suspects);
	return r;
}

/* Draws until enough were asked; of a table with nothing to ask about, not for ever. */
static int check_samples(struct verify *v, const struct prefixes *list,
			 const struct verify_args *args, struct suspects *suspects)
{
	__u64 random = args->seed, tries = 10 * args->samples;
	int r = 0;

	while (v->checked < args->samples && tries-- && !r) {
		const struct prefix *p = &list->p[addresses_draw(&random) % list->count];
		enum place place = addresses_draw(&random) % PLACES;

		r = check_first(v, p->family, addresses_at(p, place, &random), suspects);
	}
	return r;
}

/* Asks about the suspects again and keeps those that still differ. */
static int check_again(struct verify *v, struct suspects *suspects)
{
	const struct timespec pause = { .tv_nsec = ROUND_NS };
	size_t kept = 0;
	int r;

	nanosleep(&pause, NULL);
	r = view_follow(v->view);
	if (r)
		return r;
	for (size_t i = 0; i < suspects->count; i++) {
		_cleanup_free_ struct leaf *leaf = NULL;
		struct suspect s = suspects->s[i];
		const char *why = NULL;

		r = check(v, s.host.family, s.host.addr, &leaf, &why);
		if (r)
			return r;
		s.changed |= fingerprint(&v->answer) != s.answer;
		if (why)
			suspects->s[kept++] = s;
	}
	suspects->count = kept;
	return 0;
}

/* Takes those off the list that the kernel itself answered in more than one way. */
static size_t drop_changed(struct suspects *suspects)
{
	size_t kept = 0, dropped;

	for (size_t i = 0; i < suspects->count; i++)
		if (!suspects->s[i].changed)
			suspects->s[kept++] = suspects->s[i];
	dropped = suspects->count - kept;
	suspects->count = kept;
	return dropped;
}

/* Leaves in `suspects` what counts; *unsettled: how many changed too often to tell. */
static int run(struct verify *v, const struct prefixes *list, const struct verify_args *args,
	       struct suspects *suspects, size_t *unsettled)
{
	int r = args->all ? check_edges(v, list, suspects) : check_samples(v, list, args, suspects);

	for (int i = 0; i < ROUNDS && suspects->count && !r; i++)
		r = check_again(v, suspects);
	*unsettled = drop_changed(suspects);
	return r;
}

/* --- the report ----------------------------------------------------------------------------- */

struct example {
	char dst[ADDR_STRLEN], xfib[4 * HOP_STRLEN], kernel[4 * LEG_STRLEN];
	const char *why;
};

static void append(char *to, size_t size, const char *text)
{
	size_t used = strlen(to);

	snprintf(to + used, size - used, "%s%s", used ? ", " : "", text);
}

/* 1: it differs no longer. */
static int make_example(struct verify *v, const struct suspect *s, struct example *e)
{
	_cleanup_free_ struct leaf *leaf = NULL;
	char hop[HOP_STRLEN], leg[LEG_STRLEN];
	int r;

	*e = (struct example){ 0 };
	r = check(v, s->host.family, s->host.addr, &leaf, &e->why);
	if (r || !e->why)
		return r ? r : 1;
	addr_format(s->host.family, s->host.addr, e->dst);
	for (unsigned int i = 0; i < leaf->hops; i++)
		append(e->xfib, sizeof(e->xfib), hop_text(&leaf->hop[i], hop));
	append(e->kernel, sizeof(e->kernel), kernel_type(&v->answer) ?: "-");
	for (unsigned int i = 0; i < v->answer.legs; i++)
		append(e->kernel, sizeof(e->kernel), leg_text(&v->answer.leg[i], leg));
	return 0;
}

static int report(struct verify *v, const struct cli *cli, const struct verify_args *args,
		  const struct suspects *suspects, size_t unsettled)
{
	size_t mismatches = suspects->count;
	json_t *examples = json_array();
	struct example e;
	int r;

	if (!cli->json)
		printf("%llu addresses checked, %zu mismatches%s", v->checked, mismatches,
		       args->all ? "\n" : "");
	if (!cli->json && !args->all)
		printf(" (seed %llu)\n", args->seed);
	if (!cli->json && unsettled)
		printf("%zu more changed while they were checked\n", unsettled);
	for (size_t i = 0; i < mismatches && i < EXAMPLES; i++) {
		r = make_example(v, &suspects->s[i], &e);
		if (r < 0) {
			json_decref(examples);
			return r;
		}
		if (r)
			continue;
		json_array_append_new(examples,
				      json_pack("{s:s, s:s, s:s, s:s}", "dst", e.dst, "xfib",
						e.xfib, "kernel", e.kernel, "why", e.why));
		if (!cli->json)
			printf("%s: %s\n  xfib    %s\n  kernel  %s\n", e.dst, e.why, e.xfib,
			       e.kernel);
	}
	if (!cli->json) {
		json_decref(examples);
		return 0;
	}
	json_print(json_pack("{s:I, s:I, s:o, s:I, s:o}", "checked", (json_int_t)v->checked,
			     "mismatches", (json_int_t)mismatches, "examples", examples,
			     "unsettled", (json_int_t)unsettled, "seed",
			     args->all ? json_null() : json_integer(args->seed)));
	return 0;
}

static __u64 new_seed(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ((__u64)ts.tv_sec * 1000000000ull + ts.tv_nsec) % 1000000000;
}

static void warn_unconfirmed(const struct view *v)
{
	char dead[96];

	if (!v->alive)
		log_warning("the tables are not followed: %s",
			    view_dead_reason(v, dead, sizeof(dead)));
	else if (v->status->sync != XFIB_SYNC_SYNCED)
		log_warning("the tables are not in sync yet: mismatches are to be expected");
}

/* Returns an exit code. */
static int verify(struct verify *v, const struct cli *cli, const struct verify_args *args)
{
	struct suspects suspects = { 0 };
	struct prefixes list = { 0 };
	size_t unsettled = 0;
	int r = addresses_gather(v->view->gen, &list);

	if (!r)
		r = nl_query_open(&v->query);
	if (!r)
		r = run(v, &list, args, &suspects, &unsettled);
	if (!r)
		r = report(v, cli, args, &suspects, unsettled);
	nl_query_free(v->query);
	free(list.p);
	free(suspects.s);
	if (r)
		tables_failed(r, "compare the tables with the kernel");
	return r || suspects.count ? CLI_FAILED : CLI_OK;
}

int word_verify(struct cli *cli, int argc, char **argv)
{
	struct verify_args args = { .samples = SAMPLES, .seed = new_seed() };
	_cleanup_free_ struct verify *v = calloc(1, sizeof(*v));
	_cleanup_view_ struct view view = { 0 };

	cli_parse(cli, &argp, argc, argv, &args);
	if (!v) {
		log_errno(-ENOMEM, "cannot compare the tables");
		return CLI_FAILED;
	}
	if (view_open(cli, true, &view))
		return CLI_FAILED;
	warn_unconfirmed(&view);
	v->view = &view;
	v->fib = __builtin_ctzll(view_fibs(&view));
	return verify(v, cli, &args);
}

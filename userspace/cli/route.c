// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xfib route: the prefixes that XDP looks up and where they lead. Each leaf is read once a run: a
 * million routes share a few next hops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "leaf.h"
#include "lpm.h"
#include "text.h"
#include "view.h"

struct route_args {
	const char *prefix; /* NULL: all */
	bool verb;
	enum family family;
	struct addr addr;
	unsigned int len;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct route_args *args = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (!args->verb) {
		if (strcmp(arg, "show"))
			argp_error(state, "'%s': only 'show' can follow", arg);
		args->verb = true;
		return 0;
	}
	if (args->prefix)
		argp_error(state, "'%s' is one argument too many", arg);
	if (prefix_parse(arg, &args->family, &args->addr, &args->len))
		argp_error(state,
			   "'%s' is no prefix: ADDRESS or ADDRESS/LEN without bits behind LEN",
			   arg);
	args->prefix = arg;
	return 0;
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "[show [PREFIX]]",
	.doc = "The routes that XDP uses; of PREFIX, the route of exactly this prefix, else the "
	       "longest one that covers it. A kind of punt_... goes to the kernel.\v"
	       "Example: xfib route show 192.0.2.1",
};

struct output {
	const struct view *view;
	bool json;
	int width;			  /* of the prefix column */
	struct leaf *leaf[XFIB_NEXTHOPS]; /* those read so far */
};

static const char *table_name(__u32 table)
{
	static const char *const names[XFIB_TABLE_COUNT] = {
		[XFIB_TABLE_MARKER] = "marker",	  [XFIB_TABLE_LOCAL] = "local",
		[XFIB_TABLE_OWN] = "own",	  [XFIB_TABLE_MAIN] = "main",
		[XFIB_TABLE_DEFAULT] = "default",
	};

	return table < XFIB_TABLE_COUNT ? names[table] : "unknown";
}

static const struct leaf *get_leaf(struct output *out, unsigned int id)
{
	if (!out->leaf[id] && leaf_read(out->view->gen, id, &out->leaf[id]))
		return NULL;
	return out->leaf[id];
}

static json_t *json_hop(const struct hop *hop)
{
	bool device = hop->kind != XFIB_NH_VERDICT;

	return json_pack(
		"{s:o, s:o, s:o, s:i}", "dev", json_text(device ? ifname_of(hop->ifindex) : NULL),
		"via", hop->has_via ? json_addr(hop->via_family, hop->via) : json_null(), "lladdr",
		hop->lladdr.tag & XFIB_NEIGH_L3IF ? json_mac(hop->lladdr.mac) : json_null(),
		"weight", (int)hop->weight);
}

static json_t *json_hops(const struct leaf *leaf)
{
	json_t *hops = json_array();

	for (unsigned int i = 0; i < leaf->hops; i++)
		if (leaf->kind != XFIB_NH_VERDICT)
			json_array_append_new(hops, json_hop(&leaf->hop[i]));
	return hops;
}

static void print_hop(const struct hop *hop, bool weight)
{
	char text[HOP_STRLEN], mac[MAC_STRLEN];

	fputs(hop_text(hop, text), stdout);
	if (hop->has_via)
		printf(" lladdr %s",
		       hop->lladdr.tag & XFIB_NEIGH_L3IF ? mac_format(hop->lladdr.mac, mac) : "-");
	if (hop->kind != XFIB_NH_VERDICT && hop->mtu != 0xffff)
		printf(" mtu %u", hop->mtu);
	if (weight)
		printf(" weight %u", hop->weight);
	putchar('\n');
}

static void print_text(const struct output *out, const char *prefix, const char *table,
		       const struct leaf *leaf)
{
	printf("%-*s  %-7s  ", out->width, prefix, table);
	if (leaf->hops == 1) {
		print_hop(&leaf->hop[0], false);
		return;
	}
	printf("group of %u\n", leaf->hops);
	for (unsigned int i = 0; i < leaf->hops; i++) {
		printf("%*s", out->width + 11, "");
		print_hop(&leaf->hop[i], true);
	}
}

static int print_entry(struct output *out, enum family f, const struct lpm_entry *e)
{
	unsigned int id = leaf_id(f, e->fib, XFIB_LEAF(e->value));
	const struct leaf *leaf = get_leaf(out, id);
	const char *table = table_name(XFIB_LEAF_TABLE(e->value));
	char prefix[PREFIX_STRLEN];

	if (!leaf)
		return log_errno(-ENOMEM, "cannot print a route");
	prefix_format(f, e->addr, e->len, prefix);
	if (!out->json)
		print_text(out, prefix, table, leaf);
	else
		json_stream(json_pack("{s:s, s:s, s:i, s:s, s:o}", "prefix", prefix, "table", table,
				      "fib", (int)e->fib, "kind", leaf_kind_name(leaf), "nexthops",
				      json_hops(leaf)));
	return 0;
}

/* The default route has no entry in the tries: leaf 0 is what no prefix covers. */
static bool default_entry(const struct view *v, enum family f, unsigned int fib,
			  struct lpm_entry *e)
{
	struct xfib_nexthop nh = nexthop_load(&v->gen->nexthops[XFIB_NH_DEFAULT(fib, f == IP6)]);

	*e = (struct lpm_entry){ .fib = fib, .value = XFIB_LEAF_VALUE(0, XFIB_TABLE_MAIN) };
	return nh.kind || nh.arg;
}

static int prefix_width(enum family f, const struct lpm_entry *entries, size_t count)
{
	int width = 18, n; /* of 255.255.255.255/32 */
	char prefix[PREFIX_STRLEN];

	for (size_t i = 0; f == IP6 && i < count; i++) {
		n = strlen(prefix_format(f, entries[i].addr, entries[i].len, prefix));
		width = n > width ? n : width;
	}
	return width;
}

static int show_family(struct output *out, enum family f)
{
	_cleanup_free_ struct lpm_entry *entries = NULL;
	__u64 fibs = view_fibs(out->view);
	struct lpm_entry def;
	size_t count = 0;
	int r;

	r = lpm_walk(out->view->gen, f, &entries, &count);
	if (r == -EAGAIN)
		log_error("the routes change faster than they can be listed; try again");
	if (r)
		return r == -EAGAIN ? r : log_errno(r, "cannot list the routes");
	out->width = prefix_width(f, entries, count);
	for (unsigned int fib = 0; fib < XFIB_FIBS && !r; fib++)
		if (fibs >> fib & 1 && default_entry(out->view, f, fib, &def))
			r = print_entry(out, f, &def);
	for (size_t i = 0; i < count && !r; i++)
		r = print_entry(out, f, &entries[i]);
	return r;
}

static int show_prefix(struct output *out, const struct route_args *args)
{
	__u64 fibs = view_fibs(out->view);
	struct lpm_entry entry;
	unsigned int found = 0;
	int r;

	out->width = PREFIX_STRLEN / 2;
	for (unsigned int fib = 0; fib < XFIB_FIBS; fib++) {
		if (!(fibs >> fib & 1))
			continue;
		r = lpm_match(out->view->gen, args->family, fib, args->addr, args->len, &entry);
		if (r && r != -ENOENT)
			return log_errno(r, "cannot look up %s", args->prefix);
		if (r && !default_entry(out->view, args->family, fib, &entry))
			continue;
		r = print_entry(out, args->family, &entry);
		if (r)
			return r;
		found++;
	}
	if (!found && !out->json)
		log_error("no route covers %s", args->prefix);
	return found ? 0 : -ENOENT;
}

static int show(struct output *out, const struct route_args *args)
{
	int r;

	if (out->json)
		json_stream_begin();
	if (args->prefix) {
		r = show_prefix(out, args);
	} else {
		r = show_family(out, IP4);
		if (!r)
			r = show_family(out, IP6);
	}
	if (out->json)
		json_stream_end();
	return r;
}

int word_route(struct cli *cli, int argc, char **argv)
{
	_cleanup_free_ struct output *out = calloc(1, sizeof(*out));
	_cleanup_view_ struct view v = { 0 };
	struct route_args args = { 0 };
	int r;

	cli_parse(cli, &argp, argc, argv, &args);
	if (!out)
		return CLI_FAILED;
	if (view_open(cli, true, &v))
		return CLI_FAILED;
	out->view = &v;
	out->json = cli->json;
	r = show(out, &args);
	for (unsigned int i = 0; i < XFIB_NEXTHOPS; i++)
		free(out->leaf[i]);
	return r ? CLI_FAILED : CLI_OK;
}

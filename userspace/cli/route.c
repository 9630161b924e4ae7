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
#include "tables.h"
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
	       "longest one that covers it. A kind of punt_... goes to the kernel. Compiled routes "
	       "(engine trie) are listed as the fewest prefixes that mean the same, and their table "
	       "is not known.\v"
	       "Example: xfib route show 192.0.2.1",
};

struct output {
	const struct view *view;
	bool json;
	int width;			  /* of the prefix column */
	struct leaf *leaf[XFIB_NEXTHOPS]; /* those read so far */
};

/* NULL: not known. */
static const char *table_name(__u8 table)
{
	static const char *const names[XFIB_TABLE_COUNT] = {
		[XFIB_TABLE_MARKER] = "marker",	  [XFIB_TABLE_LOCAL] = "local",
		[XFIB_TABLE_OWN] = "own",	  [XFIB_TABLE_MAIN] = "main",
		[XFIB_TABLE_DEFAULT] = "default",
	};

	return table < XFIB_TABLE_COUNT ? names[table] : NULL;
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
	printf("%-*s  %-7s  ", out->width, prefix, table ? table : "-");
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

static int print_route(struct output *out, enum family f, const struct route *route)
{
	const struct leaf *leaf = get_leaf(out, leaf_id(f, route->fib, route->leaf));
	const char *table = table_name(route->table);
	char prefix[PREFIX_STRLEN];

	if (!leaf)
		return log_errno(-ENOMEM, "cannot print a route");
	prefix_format(f, route->addr, route->len, prefix);
	if (!out->json)
		print_text(out, prefix, table, leaf);
	else
		json_stream(json_pack("{s:s, s:s?, s:i, s:s, s:o}", "prefix", prefix, "table",
				      table, "fib", (int)route->fib, "kind", leaf_kind_name(leaf),
				      "nexthops", json_hops(leaf)));
	return 0;
}

static int print_routes(struct output *out, enum family f, const struct routes *list)
{
	int r = 0;

	for (size_t i = 0; i < list->count && !r; i++)
		r = print_route(out, f, &list->route[i]);
	return r;
}

/* Whether the daemon has written what no prefix covers. */
static bool has_default(const struct view *v, enum family f, unsigned int fib)
{
	struct xfib_nexthop nh = nexthop_load(&v->gen->nexthops[XFIB_NH_DEFAULT(fib, f == IP6)]);

	return nh.kind || nh.arg;
}

static int prefix_width(enum family f, const struct routes *list)
{
	int width = 18, n; /* of 255.255.255.255/32 */
	char prefix[PREFIX_STRLEN];

	for (size_t i = 0; f == IP6 && i < list->count; i++) {
		n = strlen(prefix_format(f, list->route[i].addr, list->route[i].len, prefix));
		width = n > width ? n : width;
	}
	return width;
}

static int show_family(struct output *out, enum family f)
{
	_cleanup_routes_ struct routes list = { 0 };
	__u64 fibs = view_fibs(out->view);
	int r = tables_walk(out->view->gen, f, &list);

	if (r)
		return tables_failed(r, "list the routes");
	out->width = prefix_width(f, &list);
	for (unsigned int fib = 0; fib < XFIB_FIBS && !r; fib++) {
		const struct route other = route_default(fib);

		if (fibs >> fib & 1 && has_default(out->view, f, fib))
			r = print_route(out, f, &other);
	}
	return r ? r : print_routes(out, f, &list);
}

/* Takes the default route off the list, which begins with it, if there is none. */
static void drop_default(struct routes *list, const struct view *v, enum family f, unsigned int fib)
{
	if (list->count && !list->route->leaf && !has_default(v, f, fib))
		memmove(list->route, list->route + 1, --list->count * sizeof(*list->route));
}

static int show_prefix(struct output *out, const struct route_args *args)
{
	__u64 fibs = view_fibs(out->view);
	size_t found = 0;
	int r;

	for (unsigned int fib = 0; fib < XFIB_FIBS; fib++) {
		_cleanup_routes_ struct routes list = { 0 };

		if (!(fibs >> fib & 1))
			continue;
		r = tables_match(out->view->gen, args->family, fib, args->addr, args->len, &list);
		if (r)
			return tables_failed(r, "look up the prefix");
		drop_default(&list, out->view, args->family, fib);
		out->width = prefix_width(args->family, &list);
		r = print_routes(out, args->family, &list);
		if (r)
			return r;
		found += list.count;
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

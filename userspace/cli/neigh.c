// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xfib neigh: the neighbours that packets can be led to: those in the hash maps (of connected
 * routes) and the gateways of adjacencies. Their states are the kernel's; the maps only know whether
 * an entry is valid, watched for use (STALE in the kernel) or unresolved.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "leaf.h"
#include "netlink/nl.h"
#include "text.h"
#include "view.h"

/* A neighbour: the key, what the kernel says, and the slot in the maps. */
struct row {
	enum family family;
	int ifindex;
	struct addr addr;
	unsigned int slot;
	unsigned int state; /* NUD_*, 0: the kernel has none */
	__u32 used_ms;
};

struct rows {
	struct row *row;
	size_t count, room;
	int error;
};

static void add_row(struct rows *rows, const struct row *row)
{
	struct row *grown;

	if (rows->count == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 256;
		grown = realloc(rows->row, rows->room * sizeof(*grown));
		if (!grown) {
			rows->error = -ENOMEM;
			rows->room = rows->count;
			return;
		}
		rows->row = grown;
	}
	rows->row[rows->count++] = *row;
}

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	if (x->addr.hi != y->addr.hi)
		return x->addr.hi < y->addr.hi ? -1 : 1;
	return x->addr.lo < y->addr.lo ? -1 : x->addr.lo > y->addr.lo;
}

static void add_kernel(const struct event *ev, void *arg)
{
	const struct neigh_event *n = &ev->neigh;
	const struct row row = {
		.family = n->family,
		.ifindex = n->ifindex,
		.addr = n->addr,
		.state = n->state,
		.used_ms = n->used_ms,
	};

	if (ev->kind == EVENT_NEIGH && !n->proxy)
		add_row(arg, &row);
}

/* --- slots in use --------------------------------------------------------------------------- */

struct slots {
	bool used[XFIB_NEIGHS];
};

/* While entries come and go the walk may begin again: bounded by what the map can hold. */
static void mark_hash(struct slots *slots, int fd)
{
	struct xfib_neigh6_key key, next;
	void *from = NULL;
	__u32 slot;

	for (unsigned int i = 0; i < 2 * XFIB_NEIGHS_MAX && !bpf_map_get_next_key(fd, from, &next);
	     i++) {
		if (!bpf_map_lookup_elem(fd, &next, &slot))
			slots->used[slot % XFIB_NEIGHS] = true;
		key = next;
		from = &key;
	}
}

static void mark_adjacencies(struct slots *slots, const struct generation *gen)
{
	struct xfib_nexthop nh, bucket;

	for (unsigned int id = XFIB_NH_FIRST; id < XFIB_NEXTHOPS; id++) {
		nh = nexthop_load(&gen->nexthops[id]);
		if (nh.kind == XFIB_NH_ADJACENCY)
			slots->used[nh.arg % XFIB_NEIGHS] = true;
		if (nh.kind != XFIB_NH_GROUP_L3 && nh.kind != XFIB_NH_GROUP_L4)
			continue;
		for (unsigned int i = 0; i < nh.count; i++) {
			bucket = nexthop_load(&gen->members[(nh.arg + i) % XFIB_MEMBERS]);
			if (bucket.kind == XFIB_NH_ADJACENCY)
				slots->used[bucket.arg % XFIB_NEIGHS] = true;
		}
	}
}

/* The rows to print, sorted, each neighbour once. */
static int collect(const struct generation *gen, const struct rows *kernel, struct rows *rows)
{
	_cleanup_free_ struct slots *slots = calloc(1, sizeof(*slots));
	const struct row *known;

	if (!slots)
		return -ENOMEM;
	mark_hash(slots, gen->fd[XFIB_MAP_neigh4]);
	mark_hash(slots, gen->fd[XFIB_MAP_neigh6]);
	mark_adjacencies(slots, gen);
	for (unsigned int slot = 1; slot < XFIB_NEIGHS; slot++) {
		const struct xfib_neigh *n = &gen->neighs[slot];
		enum family f = n->ip6 ? IP6 : IP4;
		struct row row = { .family = f,
				   .ifindex = n->ifindex,
				   .slot = slot,
				   .addr = addr_from_bytes(f, n->addr) };

		if (!slots->used[slot] || !n->ifindex)
			continue;
		known = kernel->count
				? bsearch(&row, kernel->row, kernel->count, sizeof(row), compare)
				: NULL;
		if (known) {
			row.state = known->state;
			row.used_ms = known->used_ms;
		}
		add_row(rows, &row);
	}
	if (rows->count)
		qsort(rows->row, rows->count, sizeof(*rows->row), compare);
	return rows->error;
}

/* --- printing ------------------------------------------------------------------------------- */

static const char *state_name(const struct row *row)
{
	switch (row->state) {
	case NUD_INCOMPLETE:
		return "INCOMPLETE";
	case NUD_REACHABLE:
		return "REACHABLE";
	case NUD_STALE:
		return "STALE";
	case NUD_DELAY:
		return "DELAY";
	case NUD_PROBE:
		return "PROBE";
	case NUD_FAILED:
		return "FAILED";
	case NUD_NOARP:
		return "NOARP";
	case NUD_PERMANENT:
		return "PERMANENT";
	default:
		return "NONE";
	}
}

static const char *map_state(struct xfib_lladdr lladdr)
{
	if (!(lladdr.tag & XFIB_NEIGH_L3IF))
		return "unresolved";
	return lladdr.tag & XFIB_NEIGH_WATCH ? "watched" : "valid";
}

/* Milliseconds since the entry was last used by XDP or the kernel, whichever is later; -1: unknown. */
static json_int_t used_ms(const struct generation *gen, const struct row *row, __u64 jiffies)
{
	__u32 hit = __atomic_load_n(&gen->hits[row->slot], __ATOMIC_RELAXED);
	__u32 age = (__u32)(jiffies >> XFIB_HIT_SHIFT) - hit;
	json_int_t xdp =
		hit && jiffies ? ((json_int_t)age << XFIB_HIT_SHIFT) * 1000 / clock_hz() : -1;
	json_int_t kernel = row->state ? (json_int_t)row->used_ms : -1;

	if (xdp < 0 || kernel < 0)
		return xdp < 0 ? kernel : xdp;
	return xdp < kernel ? xdp : kernel;
}

static void print_json(const struct generation *gen, const struct rows *rows, __u64 jiffies)
{
	struct xfib_lladdr lladdr;
	json_int_t used;

	json_stream_begin();
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->row[i];

		lladdr = neigh_lladdr(gen, row->slot);
		used = used_ms(gen, row, jiffies);
		json_stream(json_pack(
			"{s:o, s:s, s:o, s:s, s:o, s:s}", "addr", json_addr(row->family, row->addr),
			"dev", ifname_of(row->ifindex), "lladdr",
			lladdr.tag & XFIB_NEIGH_L3IF ? json_mac(lladdr.mac) : json_null(), "state",
			state_name(row), "used_ms", used < 0 ? json_null() : json_integer(used),
			"xdp", map_state(lladdr)));
	}
	json_stream_end();
}

static void print_text(const struct generation *gen, const struct rows *rows, __u64 jiffies)
{
	struct table *t = TABLE("NEIGHBOUR", "DEV", "LLADDR", "KERNEL", "XDP", ">USED");
	char addr[ADDR_STRLEN], mac[MAC_STRLEN];
	struct xfib_lladdr lladdr;
	json_int_t used;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->row[i];

		lladdr = neigh_lladdr(gen, row->slot);
		used = used_ms(gen, row, jiffies);
		table_cell(t, "%s", addr_format(row->family, row->addr, addr));
		table_cell(t, "%s", ifname_of(row->ifindex));
		table_cell(t, "%s",
			   lladdr.tag & XFIB_NEIGH_L3IF ? mac_format(lladdr.mac, mac) : "-");
		table_cell(t, "%s", state_name(row));
		table_cell(t, "%s", map_state(lladdr));
		if (used < 0)
			table_cell(t, "-");
		else
			table_cell(t, "%.1f s", used / 1000.0);
	}
	table_print(t);
}

static int show(const struct cli *cli, const struct generation *gen, struct rows *kernel,
		struct rows *rows)
{
	__u64 jiffies = 0;
	int r;

	r = nl_dump_all(NL_NEIGHS, add_kernel, kernel);
	if (r || kernel->error)
		return log_errno(r ? r : kernel->error, "cannot read the kernel's neighbours");
	if (kernel->count)
		qsort(kernel->row, kernel->count, sizeof(*kernel->row), compare);
	r = collect(gen, kernel, rows);
	if (r)
		return log_errno(r, "cannot list the neighbours");
	r = clock_jiffies(&jiffies);
	if (r)
		log_warning("cannot read the kernel's clock, USED is the kernel's alone: %s",
			    strerror(-r));
	if (cli->json)
		print_json(gen, rows, jiffies);
	else
		print_text(gen, rows, jiffies);
	return 0;
}

int word_neigh(struct cli *cli, int argc, char **argv)
{
	struct rows kernel = { 0 }, rows = { 0 };
	_cleanup_view_ struct view v = { 0 };
	int r;

	cli_parse_nothing(
		cli,
		"The neighbours that XDP uses, with the kernel's state and the last use by either."
		"\vExample: xfib neigh",
		argc, argv);
	if (view_open(cli, true, &v))
		return CLI_FAILED;
	r = show(cli, v.gen, &kernel, &rows);
	free(kernel.row);
	free(rows.row);
	return r ? CLI_FAILED : CLI_OK;
}

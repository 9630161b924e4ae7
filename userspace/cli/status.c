// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xfib status: is it forwarding, and if not, why; per family, per port, per interface. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "view.h"

static const char *sync_name(const struct view *v)
{
	static const char *const names[] = {
		[XFIB_SYNC_NONE] = "dirty",
		[XFIB_SYNC_DUMPING] = "dumping",
		[XFIB_SYNC_DIRTY] = "dirty",
		[XFIB_SYNC_SYNCED] = "synced",
	};
	__u32 sync = v->status->sync;

	/* What nobody confirms may differ from the kernel by now. */
	return v->alive && sync < sizeof(names) / sizeof(names[0]) ? names[sync] : "dirty";
}

static const char *engine_name(__u8 engine)
{
	static const char *const names[] = {
		[XFIB_ENGINE_LPM] = "lpm", [XFIB_ENGINE_TRIE] = "trie"
	};

	return engine < sizeof(names) / sizeof(names[0]) ? names[engine] : "unknown";
}

static const char *mode_name(const struct xfib_intent *port)
{
	return port->mode == XFIB_MODE_SKB ? "skb" : "native";
}

/* NULL: not attached. */
static const char *attach_name(const struct xfib_intent *port)
{
	switch (port->attach) {
	case XFIB_ATTACH_DISPATCHER:
		return "dispatcher";
	case XFIB_ATTACH_DIRECT:
		return "direct";
	default:
		return NULL;
	}
}

static bool port_enabled(const struct view *v, int slot)
{
	return v->open && v->intents[slot].attach != XFIB_DETACHED &&
	       v->gen->ports[slot].flags & XFIB_PORT_ENABLED;
}

/* Between an attachment, or the loss of one, and the next look of xfibd. */
static const char *unsettled_reason(const struct view *v, const struct xfib_intent *port)
{
	char name[IF_NAMESIZE];

	if (port->attach == XFIB_DETACHED)
		return "xfibd has not attached it yet";
	if (!if_indextoname(port->ifindex, name))
		return "the interface has just left this network namespace";
	if (v->status->sync == XFIB_SYNC_DUMPING)
		return "xfibd is still reading the kernel's tables";
	if (!view_l3if(v, port->ifindex))
		return "xfibd has not seen it yet: it looks every second";
	return "not enabled by xfibd";
}

/* Why a port as such does not forward; "" if it does. */
static const char *port_reason(const struct view *v, int slot, char *buf, size_t size)
{
	if (v->intents[slot].error[0])
		return v->intents[slot].error;
	if (!v->open && !v->alive)
		return view_dead_reason(v, buf, size);
	return port_enabled(v, slot) ? "" : unsettled_reason(v, &v->intents[slot]);
}

/* ... or what of its traffic does not, as its interface says. */
static const char *port_any_reason(const struct view *v, int slot, char *buf, size_t size)
{
	const struct xfib_l3if_status *l3if = view_l3if(v, v->intents[slot].ifindex);
	const char *reason = port_reason(v, slot, buf, size);

	return l3if && l3if->reason[0] && (!*reason || v->alive) ? l3if->reason : reason;
}

/* --- JSON ----------------------------------------------------------------------------------- */

static json_t *json_table(const struct xfib_table_status *t)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "routes", (json_int_t)t->entries, "capacity",
			 (json_int_t)t->capacity, "bytes", (json_int_t)t->bytes, "punt_markers",
			 (json_int_t)t->punt_markers, "overflow", (json_int_t)t->overflow);
}

static json_t *json_entries(const struct xfib_table_status *t)
{
	return json_pack("{s:I, s:I, s:I}", "entries", (json_int_t)t->entries, "capacity",
			 (json_int_t)t->capacity, "overflow", (json_int_t)t->overflow);
}

static void json_reasons(json_t *to, const char *family, const char reason[4][XFIB_REASON])
{
	for (int i = 0; i < 4; i++)
		if (reason[i][0])
			json_array_append_new(to, json_sprintf("%s: %s", family, reason[i]));
}

static json_t *json_fast_path(const struct view *v)
{
	const struct xfib_status *s = v->status;
	json_t *reasons = json_array();
	char dead[96];

	if (!v->alive)
		json_array_append_new(reasons,
				      json_string(view_dead_reason(v, dead, sizeof(dead))));
	json_reasons(reasons, "ipv4", s->reason4);
	json_reasons(reasons, "ipv6", s->reason6);
	return json_pack("{s:b, s:b, s:o}", "ipv4", v->open && s->fast4, "ipv6",
			 v->open && s->fast6, "reasons", reasons);
}

static json_t *json_ports(const struct view *v)
{
	json_t *ports = json_array();
	const struct xfib_intent *p;
	char buf[96];

	for (int slot = 0; slot < XFIB_PORTS; slot++) {
		p = &v->intents[slot];
		if (!*p->ifname)
			continue;
		json_array_append_new(
			ports, json_pack("{s:s, s:i, s:s, s:s?, s:b, s:o}", "ifname", p->ifname,
					 "ifindex", (int)p->ifindex, "mode", mode_name(p), "attach",
					 attach_name(p), "enabled", port_enabled(v, slot), "reason",
					 json_text(port_any_reason(v, slot, buf, sizeof(buf)))));
	}
	return ports;
}

void print_ports_json(const struct cli *cli)
{
	_cleanup_view_ struct view v = { 0 };
	struct instance *instance;
	struct load_error err;
	int r = instance_open(cli->instance, &instance, &err);

	if (!r)
		instance_free(instance);
	if (!r)
		r = view_open(cli, true, &v);
	json_print(json_pack("{s:o}", "ports", r ? json_array() : json_ports(&v)));
}

static json_t *json_l3ifs(const struct view *v)
{
	json_t *l3ifs = json_array();
	const struct xfib_l3if_status *l;

	for (int i = 0; i < XFIB_L3IFS_MAX && v->status->l3ifs[i].ifindex; i++) {
		l = &v->status->l3ifs[i];
		json_array_append_new(
			l3ifs,
			json_pack("{s:s, s:i, s:o, s:i, s:i, s:b, s:b, s:b, s:b, s:o}", "ifname",
				  l->ifname, "ifindex", (int)l->ifindex, "port",
				  json_text(v->intents[l->port % XFIB_PORTS].ifname), "vid", l->vid,
				  "fib", l->fib, "enabled", v->open && (l->ip4 || l->ip6), "ipv4",
				  v->open && l->ip4, "ipv6", v->open && l->ip6, "egress",
				  v->open && l->egress, "reason", json_text(l->reason)));
	}
	return l3ifs;
}

static json_t *json_daemon(const struct view *v)
{
	json_t *age = v->age_ms < 0 ? json_null() : json_integer(v->age_ms);

	return json_pack("{s:b, s:o, s:i, s:o, s:I}", "alive", v->alive, "age_ms", age, "pid",
			 (int)v->status->pid, "version", json_text(v->status->daemon_version),
			 "hold_ms", (json_int_t)v->status->hold_ms);
}

static void print_json(const struct view *v)
{
	const struct xfib_status *s = v->status;

	json_print(json_pack(
		"{s:s, s:s, s:o, s:{s:s, s:s}, s:o, s:{s:s, s:I, s:I, s:I, s:I, s:I},"
		" s:{s:o, s:o, s:o, s:o, s:o}, s:o, s:o}",
		"instance", v->instance->name, "version", XFIB_VERSION, "daemon", json_daemon(v),
		"engine", "ipv4", engine_name(s->engine4), "ipv6", engine_name(s->engine6),
		"fast_path", json_fast_path(v), "sync", "state", sync_name(v), "generation",
		(json_int_t)s->generation, "resyncs", (json_int_t)s->resyncs, "drift",
		(json_int_t)s->drift, "synced_ms", (json_int_t)s->synced_ms, "lag_us",
		(json_int_t)s->lag_us, "tables", "ipv4", json_table(&s->route4), "ipv6",
		json_table(&s->route6), "neighbours", json_entries(&s->neigh), "nexthops",
		json_entries(&s->nexthop), "group_members", json_entries(&s->member), "ports",
		json_ports(v), "l3ifs", json_l3ifs(v)));
}

/* --- for people ----------------------------------------------------------------------------- */

static void print_daemon(const struct view *v)
{
	const struct xfib_status *s = v->status;
	char dead[96];

	if (!v->alive) {
		view_dead_reason(v, dead, sizeof(dead));
		if (v->open)
			printf("WARNING: %s; XDP forwards by its last tables\n", dead);
		else
			printf("NOT FORWARDING in XDP: %s; the kernel forwards everything\n", dead);
		return;
	}
	printf("xfibd %s, instance %s, pid %u, tables %s (confirmed %lld ms ago)\n",
	       s->daemon_version, v->instance->name, s->pid, sync_name(v), v->age_ms);
	if (s->resyncs || s->drift)
		printf("all tables read again: %llu; differences that an audit repaired: %llu\n",
		       s->resyncs, s->drift);
}

static void print_family(const struct view *v, const char *name, bool on,
			 const char reason[4][XFIB_REASON])
{
	bool any = false;

	printf("%s  %s", name, v->open && on ? "fast path on" : "fast path OFF");
	for (int i = 0; i < 4; i++) {
		if (!reason[i][0])
			continue;
		printf("%s%s", any ? "\n      " : ": ", reason[i]);
		any = true;
	}
	putchar('\n');
}

static void table_line(struct table *t, const char *name, const char *engine,
		       const struct xfib_table_status *s)
{
	char bytes[HUMAN_STRLEN];

	table_cell(t, "%s", name);
	table_cell(t, "%s", engine);
	table_cell(t, "%llu", s->entries);
	table_cell(t, "%llu", s->capacity);
	table_cell(t, "%s", s->bytes ? human_bytes(s->bytes, bytes) : "-");
	table_cell(t, "%llu", s->punt_markers);
	table_cell(t, "%s", s->overflow ? "FULL: some stay in the kernel" : "");
}

static void print_tables(const struct view *v)
{
	const struct xfib_status *s = v->status;
	struct table *t = TABLE("TABLE", "ENGINE", ">USED", ">CAPACITY", ">MEMORY", ">PUNTED", "");

	table_line(t, "ipv4 routes", engine_name(s->engine4), &s->route4);
	table_line(t, "ipv6 routes", engine_name(s->engine6), &s->route6);
	table_line(t, "neighbours", "", &s->neigh);
	table_line(t, "next hops", "", &s->nexthop);
	table_line(t, "group buckets", "", &s->member);
	table_print(t);
}

static void print_ports(const struct view *v)
{
	struct table *t = TABLE("PORT", "MODE", "ATTACHED", "FORWARDS", "REASON");
	const struct xfib_intent *p;
	const char *attach;
	char buf[96];

	for (int slot = 0; slot < XFIB_PORTS; slot++) {
		p = &v->intents[slot];
		if (!*p->ifname)
			continue;
		attach = attach_name(p);
		table_cell(t, "%s", p->ifname);
		table_cell(t, "%s", mode_name(p));
		table_cell(t, "%s", attach ? attach : "NO");
		table_cell(t, "%s", port_enabled(v, slot) ? "yes" : "NO");
		table_cell(t, "%s", port_reason(v, slot, buf, sizeof(buf)));
	}
	table_print(t);
}

static void print_l3ifs(const struct view *v)
{
	struct table *t = TABLE("INTERFACE", "PORT", ">VID", ">FIB", "IN4", "IN6", "OUT", "REASON");
	const struct xfib_l3if_status *l;

	for (int i = 0; i < XFIB_L3IFS_MAX && v->status->l3ifs[i].ifindex; i++) {
		l = &v->status->l3ifs[i];
		table_cell(t, "%s", l->ifname);
		table_cell(t, "%s", v->intents[l->port % XFIB_PORTS].ifname);
		table_cell(t, "%u", l->vid);
		table_cell(t, "%u", l->fib);
		table_cell(t, "%s", v->open && l->ip4 ? "yes" : "no");
		table_cell(t, "%s", v->open && l->ip6 ? "yes" : "no");
		table_cell(t, "%s", v->open && l->egress ? "yes" : "no");
		table_cell(t, "%s", l->reason);
	}
	table_print(t);
}

static void print_text(const struct view *v)
{
	print_daemon(v);
	print_family(v, "ipv4", v->status->fast4, v->status->reason4);
	print_family(v, "ipv6", v->status->fast6, v->status->reason6);
	putchar('\n');
	print_ports(v);
	if (v->status->l3ifs[0].ifindex) {
		putchar('\n');
		print_l3ifs(v);
	}
	putchar('\n');
	print_tables(v);
}

int word_status(struct cli *cli, int argc, char **argv)
{
	_cleanup_view_ struct view v = { 0 };

	cli_parse_nothing(
		cli,
		"Is it forwarding in XDP, and if not, why: per family, per port, per interface."
		"\vExample: xfib -j status",
		argc, argv);
	if (view_open(cli, true, &v))
		return CLI_FAILED;
	if (cli->json)
		print_json(&v);
	else
		print_text(&v);
	return CLI_OK;
}

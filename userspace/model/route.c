// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Route events into the RIB. A route is told apart as the kernel does it: IPv4 by table, prefix,
 * TOS, priority and then content, in the kernel's order (fib_table_insert()); IPv6 by table, prefix, source and
 * metric, where gateways of one metric are siblings of one multipath route (fib6_add_rt2node()) and
 * every message carries all of them.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "model.h"

/* IPv6 has no rule that asks the default table. */
static enum xfib_table table_of(enum family family, __u32 table)
{
	switch (table) {
	case RT_TABLE_LOCAL:
		return XFIB_TABLE_LOCAL;
	case RT_TABLE_MAIN:
		return XFIB_TABLE_MAIN;
	case RT_TABLE_DEFAULT:
		return family == IP4 ? XFIB_TABLE_DEFAULT : XFIB_TABLE_COUNT;
	default:
		return XFIB_TABLE_COUNT;
	}
}

static enum nl_table dump_of(enum family family)
{
	return family == IP4 ? NL_ROUTES4 : NL_ROUTES6;
}

/* What one notification speaks of: the routes of this prefix, table, priority, and TOS or source. */
struct route_id {
	struct addr prefix;
	__u32 priority;
	__u16 selector;
	__u8 len, table;
};

static __u64 id_mark(const struct rib_node *node, const struct rib_route *r)
{
	struct route_id id = {
		.prefix = node->prefix,
		.priority = r->priority,
		.selector = r->selector,
		.len = node->len,
		.table = r->table,
	};

	return touched_mark(&id, sizeof(id));
}

static bool same_id(const struct rib_route *a, const struct rib_route *b)
{
	return a->table == b->table && a->priority == b->priority && a->selector == b->selector;
}

/* The first route of this identity at or behind `r`, 0 if there is none. */
static __u32 next_same(const struct rib *rib, __u32 r, const struct rib_route *id)
{
	while (r && !same_id(&rib->route[r], id))
		r = rib->route[r].next;
	return r;
}

/* IPv4 routes of one path may still differ in their protocol. */
static __u32 find_path(const struct rib *rib, __u32 node, const struct rib_route *id, __u32 path)
{
	__u32 r = next_same(rib, rib->node[node].routes, id);

	while (r && (rib->route[r].path != path ||
		     (rib->family == IP4 && rib->route[r].protocol != id->protocol)))
		r = next_same(rib, rib->route[r].next, id);
	return r;
}

static __u32 find_key(const struct model *m, const struct rib *rib, __u32 node,
		      const struct rib_route *id, const struct path_key *key)
{
	const struct path *path = path_find(&m->paths, key);

	return path ? find_path(rib, node, id, path->index) : 0;
}

/* rt6_qualify_for_ecmp(). What the kernel itself learned from an RA stands alone; it has a lifetime. */
static bool joins_siblings(const struct path *path, __u8 protocol)
{
	return path->ecmp && (protocol != RTPROT_RA || path->key.modelled);
}

/* The first route of this identity that joins siblings, or that does not. */
static __u32 find_joining(const struct model *m, __u32 node, const struct rib_route *id,
			  bool joining)
{
	const struct rib *rib = &m->rib[IP6];
	__u32 r = next_same(rib, rib->node[node].routes, id);

	while (r && joins_siblings(path_at(&m->paths, rib->route[r].path),
				   rib->route[r].protocol) != joining)
		r = next_same(rib, rib->route[r].next, id);
	return r;
}

/* The route whose place a replacement takes: fib_table_insert(), fib6_add_rt2node(). */
static __u32 find_replaced(const struct model *m, const struct rib *rib, __u32 node,
			   const struct rib_route *id, bool joining)
{
	__u32 r = rib->family == IP6 ? find_joining(m, node, id, joining) : 0;

	return r ? r : next_same(rib, rib->node[node].routes, id);
}

/* Takes over the caller's reference to `path`. */
static void route_set_path(struct model *m, struct rib *rib, __u32 r, struct path *path)
{
	path_unref(&m->paths, path_at(&m->paths, rib->route[r].path));
	rib->route[r].path = path->index;
}

static void route_remove(struct model *m, struct rib *rib, __u32 node, __u32 r)
{
	path_unref(&m->paths, path_at(&m->paths, rib->route[r].path));
	rib_route_del(rib, node, r);
}

/* --- dumps ------------------------------------------------------------------------------------- */

/*
 * A dump under way and the notifications meanwhile. What a notification speaks of is touched: a dump may tell
 * of it as it was before. So of a touched identity a dump only confirms routes that are there; of one
 * that is not, either a notification took it away, which was noted, or something was lost and the
 * table has to be dumped once more. What neither confirms is swept.
 */
static __u64 gone_mark(__u64 id, const struct path_key *key)
{
	const __u64 parts[] = { id, touched_mark(key, path_key_len(key)) };

	return touched_mark(parts, sizeof(parts));
}

static void touch(struct model *m, enum family family, __u64 mark)
{
	enum nl_table table = dump_of(family);

	if (m->table[table].dumping && !touched_add(&m->table[table].touched, mark))
		m->wanted |= 1u << table;
}

/* A notification takes away this route, or what it leads to. */
static void note_gone(struct model *m, const struct rib *rib, __u32 node, __u32 r)
{
	const struct path *path = path_at(&m->paths, rib->route[r].path);

	touch(m, rib->family, gone_mark(id_mark(&rib->node[node], &rib->route[r]), &path->key));
}

static bool is_touched(const struct model *m, enum family family, __u64 mark)
{
	const enum nl_table table = dump_of(family);

	return m->table[table].dumping && touched_has(&m->table[table].touched, mark);
}

/* A dump tells of a touched identity. */
static void confirm(struct model *m, struct rib *rib, const struct rib_node *at,
		    const struct rib_route *id, const struct path_key *key)
{
	__u32 node = rib_node_find(rib, at->prefix, at->len, NULL);
	__u32 r = node ? find_key(m, rib, node, id, key) : 0;

	if (r)
		rib->route[r].generation = id->generation;
	else if (!is_touched(m, rib->family, gone_mark(id_mark(at, id), key)))
		m->wanted |= 1u << dump_of(rib->family);
}

/*
 * What a notification makes of several routes of one identity depends on which there are and in what
 * order. A dump that is ahead or behind, or a loss, may have another idea of that, so it is dumped to be sure.
 */
static void doubt_order(struct model *m, const struct rib *rib, __u32 node,
			const struct rib_route *id)
{
	__u32 r = next_same(rib, rib->node[node].routes, id);

	if (r && next_same(rib, rib->route[r].next, id))
		m->wanted |= 1u << dump_of(rib->family);
}

/* Notifications have put routes of this identity in order: the dump must not change it. */
static void keep_order(struct rib *rib, __u32 node, const struct rib_route *id)
{
	for (__u32 r = next_same(rib, rib->node[node].routes, id); r;
	     r = next_same(rib, rib->route[r].next, id))
		rib->route[r].order = id->order;
}

/* --- changes ------------------------------------------------------------------------------------- */

/*
 * Adds or replaces. Takes over the reference to `path`. Returns 1 if the route was known as it is
 * (a dump, or a message that a dump has overtaken), 0 if something changed, -ENOSPC.
 */
static int route_add(struct model *m, struct rib *rib, __u32 node, const struct rib_route *id,
		     struct path *path, const struct event *ev)
{
	bool joining = rib->family == IP6 && joins_siblings(path, id->protocol);
	__u32 r = find_path(rib, node, id, path->index);

	/* The dump was faster than this notification: now it is told where the route belongs. */
	if (r && !ev->dump && rib->route[r].fresh && rib->route[r].generation == id->generation) {
		route_remove(m, rib, node, r);
		r = 0;
	}
	/* A replacement that is there: a nexthop object's change, told once more for each of its routes. */
	if (!r && joining)
		r = find_joining(m, node, id, true);
	if (!r && ev->replace)
		r = find_replaced(m, rib, node, id, joining);
	if (r) {
		bool same = rib->route[r].path == path->index;

		if (!same && !ev->dump)
			note_gone(m, rib, node, r);
		route_set_path(m, rib, r, path);
		rib->route[r].generation = id->generation;
		rib->route[r].order = id->order;
		rib->route[r].protocol = id->protocol;
		rib->route[r].fresh = 0;
		return same;
	}
	/* `ip route prepend` goes before its equals, as fib_table_insert() does without NLM_F_APPEND. */
	if (!rib_route_add(rib, node, id, rib->family == IP4 && !ev->append && !ev->dump)) {
		path_unref(&m->paths, path);
		return -ENOSPC;
	}
	return 0;
}

/* One or more siblings of a multipath route go, or the whole route. */
static void siblings_del(struct model *m, struct rib *rib, __u32 node, __u32 r,
			 const struct path_key *gone)
{
	const struct path *old = path_at(&m->paths, rib->route[r].path);
	struct path_key_buf buf;
	struct path_key *key = (struct path_key *)buf.bytes;
	struct path *path;

	note_gone(m, rib, node, r);
	rib->route[r].generation = m->table[dump_of(rib->family)].generation;
	memcpy(key, &old->key, old->key_len);
	if (!path_key_remove(key, gone)) {
		route_remove(m, rib, node, r);
		return;
	}
	path = path_get(&m->paths, key);
	if (path)
		route_set_path(m, rib, r, path);
	else
		m->wanted |= 1u << dump_of(rib->family);
}

static void route_del(struct model *m, struct rib *rib, __u32 node, const struct rib_route *id,
		      struct path_key *key)
{
	bool joining = path_key_joins(key) && (id->protocol != RTPROT_RA || key->modelled);
	__u32 r = find_key(m, rib, node, id, key);

	if (!r && joining && (r = find_joining(m, node, id, true))) {
		siblings_del(m, rib, node, r, key);
		return;
	}
	if (!r && key->modelled) {
		/* A lifetime that is over is not told any more. */
		key->modelled = 0;
		r = find_key(m, rib, node, id, key);
	}
	if (r) {
		note_gone(m, rib, node, r);
		route_remove(m, rib, node, r);
	} else if (next_same(rib, rib->node[node].routes, id)) {
		/* A dump was faster, or this is about one that we know as another. */
		m->wanted |= 1u << dump_of(rib->family);
	}
}

static void set_dirty(struct rib *rib, __u32 node)
{
	rib->node[node].dirty = 1;
	rib->dirty = true;
}

/* Reports a changed prefix, or leaves it to the ordered flush. */
static void prefix_changed(struct model *m, enum family family, __u32 node, __u8 above, bool dump)
{
	struct rib_node *n = &m->rib[family].node[node];
	struct addr prefix = n->prefix;
	unsigned int len = n->len;

	if (dump || !m->table[dump_of(family)].complete) {
		set_dirty(&m->rib[family], node);
		m->table[dump_of(family)].changes++;
		return;
	}
	m->hooks->prefix(m->hooks_arg, family, node, above);
	rib_node_put(&m->rib[family], prefix, len);
}

void model_set_full(struct model *m, enum family family, bool full)
{
	if (m->full[family] == full)
		return;
	m->full[family] = full;
	m->hooks->policy(m->hooks_arg);
}

static int no_room(struct model *m, enum family family)
{
	m->overflowed[family] = true;
	model_set_full(m, family, true);
	return -ENOSPC;
}

void model_look_up_sources(struct model *m)
{
	if (m->looks_up_sources)
		return;
	m->looks_up_sources = true;
	m->hooks->policy(m->hooks_arg);
}

/* The kernel makes local routes for its addresses, which it announces before them. */
static bool custom_local(const struct model *m, const struct route_event *route)
{
	const struct host_addr *own;

	if (route->type != RTN_LOCAL)
		return false;
	if (route->protocol != RTPROT_KERNEL)
		return true;
	for (own = m->own; own; own = own->hh.next)
		if (own->key.family == IP4 &&
		    prefix_covers(route->dst, route->dst_len, own->key.addr))
			return false;
	return true;
}

/* The node that the event speaks of, made if it is to hold a route. 0: there is none, and none is wanted. */
static int node_of(struct model *m, const struct event *ev, __u32 *node, __u8 *above)
{
	const struct route_event *route = &ev->route;
	struct rib *rib = &m->rib[route->family];

	if (!ev->del)
		return rib_node_get(rib, route->dst, route->dst_len, node, above);
	*node = rib_node_find(rib, route->dst, route->dst_len, above);
	return 0;
}

/* Returns 1 if nothing has changed, 0, -ENOMEM, -ENOSPC. */
static int change_route(struct model *m, const struct event *ev, __u32 node, struct rib_route *id,
			struct path_key *key)
{
	enum family family = ev->route.family;
	struct path *path;

	if (ev->del) {
		route_del(m, &m->rib[family], node, id, key);
		return 0;
	}
	path = path_get(&m->paths, key);
	if (!path) {
		m->wanted |= 1u << dump_of(family);
		return -ENOMEM;
	}
	id->path = path->index;
	return route_add(m, &m->rib[family], node, id, path, ev);
}

int model_apply_route(struct model *m, const struct event *ev)
{
	const struct route_event *route = &ev->route;
	enum nl_table table = dump_of(route->family);
	struct rib *rib = &m->rib[route->family];
	struct rib_route id = {
		.priority = route->priority,
		.generation = m->table[table].generation,
		.order = m->table[table].order,
		.table = table_of(route->family, route->table),
		.fresh = ev->dump,
		.protocol = route->protocol,
	};
	const struct rib_node at = { .prefix = route->dst, .len = route->dst_len };
	struct path_key_buf buf;
	struct path_key *key;
	__u64 mark;
	__u32 node;
	__u8 above;
	int err;

	if (id.table == XFIB_TABLE_COUNT || route->cloned)
		return 0;
	key = path_key_of_route(route, &buf);
	id.selector = key->selector;
	if (ev->dump)
		m->table[table].order++;
	if (route->family == IP4 && !ev->del && (route->flow || custom_local(m, route)))
		model_look_up_sources(m);
	mark = id_mark(&at, &id);
	if (ev->dump && is_touched(m, route->family, mark)) {
		confirm(m, rib, &at, &id, key);
		return 0;
	}
	if (!ev->dump)
		touch(m, route->family, mark);
	if (ev->del)
		touch(m, route->family, gone_mark(mark, key));
	err = node_of(m, ev, &node, &above);
	if (err)
		return no_room(m, route->family);
	if (!node)
		return 0;
	if (!ev->dump)
		doubt_order(m, rib, node, &id);
	err = change_route(m, ev, node, &id, key);
	if (err == -ENOMEM)
		return err;
	if (!ev->dump) {
		doubt_order(m, rib, node, &id);
		keep_order(rib, node, &id);
	}
	if (err <= 0)
		prefix_changed(m, route->family, node, above, ev->dump);
	return err < 0 ? no_room(m, route->family) : 0;
}

int model_mark_host(struct model *m, struct host_mark mark, struct addr addr)
{
	const struct event add = { .kind = EVENT_ROUTE };
	struct path_key key = { .family = mark.family, .type = mark.type, .modelled = 1 };
	struct rib_route id = { .table = mark.table };
	struct rib *rib = &m->rib[mark.family];
	struct path *path;
	__u32 node;
	__u8 above;
	int err;

	if (rib_node_get(rib, addr, family_bits(mark.family), &node, &above))
		return no_room(m, mark.family);
	path = path_get(&m->paths, &key);
	if (!path)
		return no_room(m, mark.family);
	id.path = path->index;
	err = route_add(m, rib, node, &id, path, &add);
	prefix_changed(m, mark.family, node, above, false);
	return err < 0 ? no_room(m, mark.family) : 0;
}

void model_unmark_host(struct model *m, struct host_mark mark, struct addr addr)
{
	struct path_key key = { .family = mark.family, .type = mark.type, .modelled = 1 };
	const struct rib_route id = { .table = mark.table };
	struct rib *rib = &m->rib[mark.family];
	__u32 node;
	__u8 above;

	node = rib_node_find(rib, addr, family_bits(mark.family), &above);
	if (!node)
		return;
	route_del(m, rib, node, &id, &key);
	prefix_changed(m, mark.family, node, above, false);
}

/* Of model_mark_host(): no dump of the routes tells it. */
static bool is_mark(const struct rib_route *route)
{
	return route->table == XFIB_TABLE_MARKER || route->table == XFIB_TABLE_OWN;
}

struct sweep {
	struct model *m;
	enum nl_table table;
};

/* Removes what the dump did not confirm, and takes over the kernel's order of equal routes. */
static void sweep_node(struct rib *rib, __u32 node, __u8 above, void *arg)
{
	struct sweep *s = arg;
	__u32 first = rib->node[node].routes, r, next;

	for (r = first; r; r = next) {
		next = rib->route[r].next;
		if (is_mark(&rib->route[r]) ||
		    rib->route[r].generation == s->m->table[s->table].generation)
			continue;
		route_remove(s->m, rib, node, r);
		set_dirty(rib, node);
		s->m->table[s->table].changes++;
	}
	r = rib->node[node].routes;
	if (r && rib->route[r].next) {
		rib_route_sort(rib, node);
		if (rib->node[node].routes != first)
			set_dirty(rib, node);
	}
}

void model_sweep_routes(struct model *m, enum family family)
{
	struct sweep s = { .m = m, .table = dump_of(family) };

	rib_walk(&m->rib[family], RIB_ROOT, RIB_PRE, sweep_node, RIB_NO_TABLE, &s);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* See naive.h. */
#include "naive.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct event *event_of(enum event_kind kind, bool del)
{
	static struct event ev; /* large */

	/* Arrays at the end are filled as far as they are used. */
	memset(&ev, 0, offsetof(struct event, link) + sizeof(struct link_event));
	ev.kind = kind;
	ev.del = del;
	return &ev;
}

static void emit(struct naive *k, const struct event *ev)
{
	if (k->emit)
		k->emit(k->arg, ev);
}

#define remove_at(array, count, i) \
	memmove(&(array)[i], &(array)[(i) + 1], (--(count) - (i)) * sizeof((array)[0]))

/* --- start ------------------------------------------------------------------------------------ */

static struct naive_link link_new(int ifindex)
{
	struct naive_link link = {
		.there = true,
		.xmit = true,
		.ev = {
			.ifindex = ifindex,
			.up = true,
			.carrier = true,
			.ether = ifindex > 1,
			.mac = { .bytes = { 2, 0, 0, 0, 0, ifindex }, .len = 6 },
			.mtu = 1500,
			.lower_nsid = -1,
			.has_ip4_conf = true,
			.has_ip6_conf = true,
			.ip4 = { .forwarding = 1 },
			.ip6 = { .forwarding = 1, .mtu = 1500 },
		},
	};

	snprintf(link.ev.name, sizeof(link.ev.name), ifindex > 1 ? "eth%d" : "lo", ifindex);
	return link;
}

void naive_init(struct naive *k)
{
	static const struct {
		__u32 priority, table;
	} usual[] = {
		{ 0, RT_TABLE_LOCAL },
		{ 32766, RT_TABLE_MAIN },
		{ 32767, RT_TABLE_DEFAULT },
	};

	*k = (struct naive){ .settings = { .forwarding6_all = 1, .hash_policy4 = 1 } };
	for (int i = 1; i < NAIVE_LINKS; i++)
		k->link[i] = link_new(i);
	for (int f = 0; f < FAMILIES; f++)
		for (int i = 0; i < (f == IP4 ? 3 : 2); i++)
			k->rule[f][k->rules[f]++] = (struct rule_event){
				.family = f,
				.priority = usual[i].priority,
				.table = usual[i].table,
				.action = FR_ACT_TO_TBL,
			};
}

/* --- routes ----------------------------------------------------------------------------------- */

static bool same_place(const struct naive_route *a, const struct naive_route *b)
{
	return a->family == b->family && a->table == b->table && a->len == b->len &&
	       addr_equal(a->dst, b->dst) &&
	       (a->family == IP4 || (a->src_len == b->src_len && addr_equal(a->src, b->src)));
}

static bool same_leg(const struct leg *a, const struct leg *b)
{
	return a->ifindex == b->ifindex && a->has_gateway == b->has_gateway &&
	       a->weight == b->weight &&
	       (!a->has_gateway ||
		(a->gateway_family == b->gateway_family && addr_equal(a->gateway, b->gateway)));
}

/* fib_find_info() and fa_type: content that makes two IPv4 routes one. */
static bool same_info(const struct naive_route *a, const struct naive_route *b)
{
	if (a->type != b->type || a->protocol != b->protocol || a->nhid != b->nhid ||
	    a->mtu != b->mtu || a->legs != b->legs)
		return false;
	for (unsigned int i = 0; i < a->legs; i++)
		if (!same_leg(&a->leg[i], &b->leg[i]))
			return false;
	return true;
}

/* rt6_qualify_for_ecmp(): RTF_ADDRCONF, which is not told, goes with a lifetime. */
static bool can_ecmp(const struct naive_route *r)
{
	return r->type == RTN_UNICAST && !r->nhid && r->legs && r->leg[0].has_gateway &&
	       !r->expires;
}

static bool are_siblings(const struct naive_route *a, const struct naive_route *b)
{
	return a->family == IP6 && same_place(a, b) && a->priority == b->priority && can_ecmp(a) &&
	       can_ecmp(b);
}

/* A message about a route: its own legs, or for IPv6 itself and then its siblings. */
static struct event *route_event(const struct naive *k, const struct naive_route *r, bool siblings,
				 bool del)
{
	struct event *ev = event_of(EVENT_ROUTE, del);
	struct route_event *e = &ev->route;

	e->family = r->family;
	e->dst = r->dst;
	e->src = r->src;
	e->dst_len = r->len;
	e->src_len = r->src_len;
	e->table = r->table;
	e->priority = r->priority;
	e->tos = r->tos;
	e->type = r->type;
	e->protocol = r->protocol;
	e->nhid = r->nhid;
	e->mtu = r->mtu;
	e->pref_expires = r->expires;
	e->legs = 0;
	for (unsigned int i = 0; i < r->legs; i++)
		e->leg[e->legs++] = r->leg[i];
	for (unsigned int i = 0; siblings && i < k->routes; i++)
		if (&k->route[i] != r && are_siblings(&k->route[i], r) &&
		    e->legs < NEXTHOP_LEGS_MAX)
			e->leg[e->legs++] = k->route[i].leg[0];
	e->multipath = e->legs > 1;
	if (e->legs == 1)
		e->leg[0].weight = 1; /* only RTA_MULTIPATH has weights */
	return ev;
}

static void emit_new(struct naive *k, unsigned int i, bool replace, bool append)
{
	struct event *ev = route_event(k, &k->route[i], true, false);

	ev->replace = replace;
	ev->append = append;
	emit(k, ev);
}

static void insert_at(struct naive *k, unsigned int i, const struct naive_route *r)
{
	memmove(&k->route[i + 1], &k->route[i], (k->routes++ - i) * sizeof(*r));
	k->route[i] = *r;
}

/* Where a route that has no equal goes: by TOS (IPv4, higher first), then priority. */
static unsigned int place_of(const struct naive *k, const struct naive_route *r)
{
	unsigned int i, at = k->routes;

	for (i = 0; i < k->routes; i++) {
		const struct naive_route *o = &k->route[i];

		if (!same_place(o, r))
			continue;
		if (o->tos < r->tos || (o->tos == r->tos && o->priority > r->priority))
			return i;
		at = i + 1;
	}
	return at;
}

/* fib_table_insert() */
static int insert4(struct naive *k, const struct naive_route *r, unsigned int flags)
{
	int first = -1, match = -1, last = -1;

	for (unsigned int i = 0; i < k->routes; i++) {
		const struct naive_route *o = &k->route[i];

		if (!same_place(o, r) || o->tos != r->tos || o->priority != r->priority)
			continue;
		first = first < 0 ? (int)i : first;
		last = i;
		if (match < 0 && same_info(o, r))
			match = i;
	}
	if (first >= 0 && flags & NLM_F_EXCL)
		return -EEXIST;
	if (first >= 0 && flags & NLM_F_REPLACE) {
		if (match >= 0)
			return match == first ? 0 : -EEXIST;
		k->route[first] = *r;
		emit_new(k, first, true, false);
		return 0;
	}
	if (match >= 0)
		return -EEXIST;
	if (!(flags & NLM_F_CREATE))
		return -ENOENT;
	if (first < 0)
		first = place_of(k, r);
	else if (flags & NLM_F_APPEND)
		first = last + 1;
	insert_at(k, first, r);
	emit_new(k, first, false, flags & NLM_F_APPEND && last >= 0);
	return 0;
}

static bool same_nexthop6(const struct naive_route *a, const struct naive_route *b)
{
	const struct leg none = {}, *x = a->legs ? &a->leg[0] : &none,
			 *y = b->legs ? &b->leg[0] : &none;

	if (a->nhid || b->nhid)
		return a->nhid == b->nhid;
	return x->ifindex == y->ifindex && x->has_gateway == y->has_gateway &&
	       addr_equal(x->gateway, y->gateway);
}

/* The route that a replacement takes the place of: one that also joins siblings (or not), else the first. */
static int replaced6(const struct naive *k, const struct naive_route *r)
{
	int fallback = -1;

	for (unsigned int i = 0; i < k->routes; i++) {
		const struct naive_route *o = &k->route[i];

		if (!same_place(o, r) || o->priority != r->priority)
			continue;
		if (can_ecmp(o) == can_ecmp(r))
			return i;
		fallback = fallback < 0 ? (int)i : fallback;
	}
	return fallback;
}

/* fib6_add_rt2node() for one leg, without the notification; *at, *replaced tell what was done. */
static int insert6(struct naive *k, const struct naive_route *r, unsigned int flags,
		   unsigned int *at, bool *replaced)
{
	int i = flags & NLM_F_REPLACE ? replaced6(k, r) : -1;

	*replaced = false;
	/* The kernel would hold the same route twice then; nobody does that. */
	for (unsigned int j = 0; i >= 0 && j < k->routes; j++)
		if ((int)j != i && same_place(&k->route[j], r) &&
		    k->route[j].priority == r->priority &&
		    !are_siblings(&k->route[j], &k->route[i]) && same_nexthop6(&k->route[j], r))
			return -EEXIST;
	if (i >= 0) {
		struct naive_route old = k->route[i];

		k->route[i] = *r;
		for (unsigned int j = k->routes; can_ecmp(&old) && j-- > 0;)
			if ((int)j != i && are_siblings(&k->route[j], &old)) {
				remove_at(k->route, k->routes, j);
				i -= (int)j < i;
			}
		*at = i;
		*replaced = true;
		return 0;
	}
	for (unsigned int j = 0; j < k->routes; j++)
		if (same_place(&k->route[j], r) && k->route[j].priority == r->priority &&
		    (flags & NLM_F_EXCL || same_nexthop6(&k->route[j], r)))
			return -EEXIST;
	if (!(flags & NLM_F_CREATE))
		return -ENOENT;
	*at = place_of(k, r);
	insert_at(k, *at, r);
	return 0;
}

static struct naive_route one_leg(const struct naive_route *r, unsigned int leg)
{
	struct naive_route one = *r;

	one.legs = r->legs ? 1 : 0;
	if (r->legs) {
		one.leg[0] = r->leg[leg];
		one.leg[0].weight = r->leg[leg].weight;
	}
	return one;
}

/* ip6_route_multipath_add(): one message in the end, none for the legs on the way. */
static int insert6_all(struct naive *k, const struct naive_route *r, unsigned int flags)
{
	unsigned int at = 0, leg = 0, notify = flags;
	bool replaced = false, any = false;
	int err;

	do {
		struct naive_route one = one_leg(r, leg);

		err = insert6(k, &one, flags, &at, &any);
		if (err)
			break;
		replaced |= any;
		flags = (flags & ~(NLM_F_EXCL | NLM_F_REPLACE)) | NLM_F_CREATE;
	} while (++leg < r->legs);
	if (leg)
		emit_new(k, at, replaced, notify & NLM_F_APPEND);
	return err;
}

static bool legs_up(const struct naive *k, const struct naive_route *r)
{
	for (unsigned int i = 0; i < r->legs; i++)
		if (!k->link[r->leg[i].ifindex].there || !k->link[r->leg[i].ifindex].ev.up)
			return false;
	return true;
}

static const struct naive_object *object(const struct naive *k, __u32 id)
{
	for (unsigned int i = 0; i < k->objects; i++)
		if (k->object[i].id == id)
			return &k->object[i];
	return NULL;
}

int naive_route_new(struct naive *k, const struct naive_route *route, unsigned int flags)
{
	if (k->routes + NAIVE_LEGS > NAIVE_ROUTES)
		return -ENOSPC;
	if (route->nhid && !object(k, route->nhid))
		return -EINVAL;
	if (!route->nhid && route->type == RTN_UNICAST && !legs_up(k, route))
		return -ENETDOWN;
	return route->family == IP4 ? insert4(k, route, flags) : insert6_all(k, route, flags);
}

void naive_route_del(struct naive *k, unsigned int i, bool siblings)
{
	struct naive_route gone = k->route[i];
	struct event *ev = route_event(k, &k->route[i], siblings, true);

	/* The message is made before or after the removal, but says the same. */
	for (unsigned int j = k->routes; siblings && j-- > 0;)
		if (j != i && are_siblings(&k->route[j], &gone)) {
			remove_at(k->route, k->routes, j);
			i -= j < i;
		}
	remove_at(k->route, k->routes, i);
	emit(k, ev);
}

/* --- links ------------------------------------------------------------------------------------ */

static void emit_link(struct naive *k, int ifindex, bool partial, bool del)
{
	struct event *ev = event_of(EVENT_LINK, del);

	ev->link = k->link[ifindex].ev;
	if (partial)
		ev->link = (struct link_event){
			.ifindex = ifindex,
			.partial = true,
			.has_ip6_conf = ev->link.has_ip6_conf,
			.ip6 = ev->link.ip6,
		};
	if (!ev->link.has_ip6_conf)
		ev->link.ip6.forwarding = ev->link.ip6.disable = ev->link.ip6.mtu = -1;
	emit(k, ev);
}

static bool leg_dead(const struct naive *k, const struct leg *leg)
{
	return !k->link[leg->ifindex].there || !k->link[leg->ifindex].ev.up;
}

/* fib_sync_down_dev() and fib_flush(): silently. */
static void flush4(struct naive *k)
{
	for (unsigned int i = k->routes; i-- > 0;) {
		const struct naive_route *r = &k->route[i];
		bool dead = r->legs > 0;

		if (r->family != IP4 || r->nhid || r->type != RTN_UNICAST)
			continue;
		for (unsigned int j = 0; j < r->legs; j++)
			dead &= leg_dead(k, &r->leg[j]);
		if (dead)
			remove_at(k->route, k->routes, i);
	}
}

/* fib6_ifdown(): a route goes with its last leg, each leg with a message. */
static void flush6(struct naive *k)
{
	for (unsigned int i = 0; i < k->routes;) {
		const struct naive_route *r = &k->route[i];
		bool dead = r->family == IP6 && r->type == RTN_UNICAST && !r->nhid &&
			    leg_dead(k, &r->leg[0]);

		for (unsigned int j = 0; dead && j < k->routes; j++)
			if (are_siblings(&k->route[j], r))
				dead = leg_dead(k, &k->route[j].leg[0]);
		if (dead)
			naive_route_del(k, i, false);
		else
			i++;
	}
}

static void object_gone(struct naive *k, __u32 id, bool told);

/* nexthop_flush_dev(): silently. */
static void flush_objects(struct naive *k, int ifindex)
{
	for (unsigned int i = 0; i < k->objects;) {
		if (!k->object[i].group && !k->object[i].blackhole &&
		    k->object[i].leg.ifindex == ifindex) {
			object_gone(k, k->object[i].id, false);
			i = 0;
		} else {
			i++;
		}
	}
}

/* neigh_ifdown(), or neigh_carrier_down(), which spares permanent ones. */
static void flush_neighs(struct naive *k, int ifindex, bool all)
{
	for (unsigned int i = k->neighs; i-- > 0;)
		if (k->neigh[i].ifindex == ifindex && (all || !(k->neigh[i].state & NUD_PERMANENT)))
			naive_neigh_del(k, i);
}

void naive_link_set(struct naive *k, int ifindex, bool up, bool carrier)
{
	struct link_event *ev = &k->link[ifindex].ev;
	bool was_up = ev->up, had_carrier = ev->carrier;

	ev->up = up;
	ev->carrier = up && carrier;
	emit_link(k, ifindex, false, false);
	if (was_up && !up) {
		flush4(k);
		flush6(k);
	}
	if ((was_up && !up) || (had_carrier && !ev->carrier)) {
		flush_objects(k, ifindex);
		flush_neighs(k, ifindex, !up);
	}
}

/* Settings are told before the device is. */
void naive_link_add(struct naive *k, int ifindex)
{
	k->link[ifindex] = link_new(ifindex);
	for (int f = 0; f < FAMILIES; f++)
		naive_netconf(k, f, ifindex, 1, f == IP4 ? 0 : -1, k->ignore_linkdown_default);
	emit_link(k, ifindex, false, false);
}

void naive_link_changed(struct naive *k, int ifindex)
{
	emit_link(k, ifindex, false, false);
}

/* IPv6 follows after the message was made (addrconf_notify()). */
void naive_link_mtu(struct naive *k, int ifindex, unsigned int mtu)
{
	if (k->link[ifindex].ev.mtu == mtu)
		return;
	k->link[ifindex].ev.mtu = mtu;
	emit_link(k, ifindex, false, false);
	if (k->link[ifindex].ev.has_ip6_conf)
		k->link[ifindex].ev.ip6.mtu = mtu;
}

void naive_link6_changed(struct naive *k, int ifindex)
{
	emit_link(k, ifindex, true, false);
}

/* All that has a leg there goes: an IPv4 route whole and silently, an IPv6 one leg by leg. */
static void flush_device(struct naive *k, int ifindex)
{
	for (unsigned int i = k->routes; i-- > 0;) {
		const struct naive_route *r = &k->route[i];
		bool there = false;

		for (unsigned int j = 0; j < r->legs; j++)
			there |= r->leg[j].ifindex == ifindex;
		if (!there)
			continue;
		if (r->family == IP4)
			remove_at(k->route, k->routes, i);
		else
			naive_route_del(k, i, false);
	}
}

void naive_link_del(struct naive *k, int ifindex)
{
	if (k->link[ifindex].ev.up)
		naive_link_set(k, ifindex, false, false);
	flush_device(k, ifindex);
	k->link[ifindex].there = false;
	emit_link(k, ifindex, false, true);
}

void naive_netconf(struct naive *k, enum family family, int ifindex, int forwarding, int rp_filter,
		   int ignore_linkdown)
{
	struct event *ev = event_of(EVENT_NETCONF, false);
	struct naive_link *link = &k->link[ifindex];

	ev->netconf = (struct netconf_event){
		.family = family,
		.ifindex = ifindex,
		.forwarding = forwarding,
		.rp_filter = rp_filter,
		.proxy_neigh = -1,
		.ignore_linkdown = ignore_linkdown,
	};
	if (forwarding >= 0 && family == IP4)
		link->ev.ip4.forwarding = forwarding;
	if (forwarding >= 0 && family == IP6)
		link->ev.ip6.forwarding = forwarding;
	if (rp_filter >= 0)
		link->ev.ip4.rp_filter = rp_filter;
	if (ignore_linkdown >= 0)
		link->ignore_linkdown[family] = ignore_linkdown;
	if (ignore_linkdown >= 0 && family == IP4)
		link->ev.ip4.ignore_routes_with_linkdown = ignore_linkdown;
	emit(k, ev);
}

/* --- nexthop objects -------------------------------------------------------------------------- */

static struct event *object_event(const struct naive_object *o, bool del)
{
	struct event *ev = event_of(EVENT_NEXTHOP, del);
	struct nexthop_event *e = &ev->nexthop;

	memset(e, 0, offsetof(struct nexthop_event, member));
	e->id = o->id;
	e->family = o->family;
	e->blackhole = o->blackhole;
	e->group = o->group;
	e->resilient = o->resilient;
	e->leg = o->leg;
	e->members = o->members;
	for (unsigned int i = 0; i < o->members; i++) {
		e->member[i].id = o->member[i].id;
		e->member[i].weight = o->member[i].weight;
	}
	return ev;
}

static bool has_member(const struct naive_object *group, __u32 id)
{
	for (unsigned int i = 0; i < group->members; i++)
		if (group->member[i].id == id)
			return true;
	return false;
}

/* nexthop_replace_notify(): routes are told again, each in its own place (nexthop_compat_mode is 1). */
static void tell_routes(struct naive *k, __u32 id)
{
	for (unsigned int i = 0; i < k->routes; i++) {
		const struct naive_object *o =
			k->route[i].nhid ? object(k, k->route[i].nhid) : NULL;

		if (o && (o->id == id || has_member(o, id)))
			emit_new(k, i, true, false);
	}
}

int naive_object_new(struct naive *k, const struct naive_object *new)
{
	struct naive_object *old = (struct naive_object *)object(k, new->id);
	const struct naive_link *link = &k->link[new->leg.ifindex];
	struct event *ev;

	if (!new->group && !new->blackhole && (!link->there || !link->ev.up || !link->ev.carrier))
		return -ENETDOWN;
	for (unsigned int i = 0; i < new->members; i++) {
		const struct naive_object *m = object(k, new->member[i].id);

		if (!m || m->group || m->blackhole)
			return -EINVAL;
	}
	if (!old && k->objects == NAIVE_OBJECTS)
		return -ENOSPC;
	if (old && (old->group != new->group || old->family != new->family || new->blackhole))
		return -EINVAL;
	if (old)
		*old = *new;
	else
		k->object[k->objects++] = *new;
	ev = object_event(new, false);
	ev->replace = old;
	emit(k, ev);
	if (old)
		tell_routes(k, new->id);
	return 0;
}

/* __remove_nexthop_fib(): IPv4 routes go silently, IPv6 ones with a message. */
static void flush_object_routes(struct naive *k, __u32 id)
{
	for (unsigned int i = k->routes; i-- > 0;) {
		if (k->route[i].nhid != id)
			continue;
		if (k->route[i].family == IP6)
			naive_route_del(k, i, false);
		else
			remove_at(k->route, k->routes, i);
	}
}

/* remove_nh_grp_entry(): a group without members is gone too. */
static void leave_groups(struct naive *k, __u32 id, bool told)
{
	for (unsigned int i = 0; i < k->objects; i++) {
		struct naive_object *g = &k->object[i];

		if (!g->group || !has_member(g, id))
			continue;
		for (unsigned int j = g->members; j-- > 0;)
			if (g->member[j].id == id)
				remove_at(g->member, g->members, j);
		if (!g->members) {
			object_gone(k, g->id, told);
			i = -1; /* from the start */
		} else if (told) {
			struct event *ev = object_event(g, false);

			ev->replace = true;
			emit(k, ev);
		}
	}
}

static void object_gone(struct naive *k, __u32 id, bool told)
{
	unsigned int i = 0;

	while (k->object[i].id != id)
		i++;
	if (told)
		emit(k, object_event(&k->object[i], true));
	remove_at(k->object, k->objects, i);
	flush_object_routes(k, id);
	leave_groups(k, id, told);
}

void naive_object_del(struct naive *k, __u32 id)
{
	if (object(k, id))
		object_gone(k, id, true);
}

/* --- neighbours, addresses, rules ------------------------------------------------------------- */

const struct neigh_event *naive_neigh(const struct naive *k, enum family family, int ifindex,
				      struct addr addr)
{
	for (unsigned int i = 0; i < k->neighs; i++)
		if (k->neigh[i].family == family && k->neigh[i].ifindex == ifindex &&
		    addr_equal(k->neigh[i].addr, addr))
			return &k->neigh[i];
	return NULL;
}

static void emit_neigh(struct naive *k, const struct neigh_event *n, bool del)
{
	struct event *ev = event_of(EVENT_NEIGH, del);

	ev->neigh = *n;
	emit(k, ev);
}

void naive_neigh_set(struct naive *k, const struct neigh_event *n)
{
	struct neigh_event *old =
		(struct neigh_event *)naive_neigh(k, n->family, n->ifindex, n->addr);

	if (!k->link[n->ifindex].there || !k->link[n->ifindex].ev.up ||
	    (!old && k->neighs == NAIVE_NEIGHS))
		return;
	if (old)
		*old = *n;
	else
		k->neigh[k->neighs++] = *n;
	emit_neigh(k, n, false);
}

void naive_neigh_del(struct naive *k, unsigned int i)
{
	struct neigh_event n = k->neigh[i];

	remove_at(k->neigh, k->neighs, i);
	emit_neigh(k, &n, true);
}

static struct naive_route local_route(const struct addr_event *own)
{
	return (struct naive_route){
		.family = own->family,
		.dst = own->addr,
		.len = family_bits(own->family),
		.table = RT_TABLE_LOCAL,
		.type = RTN_LOCAL,
		.protocol = RTPROT_KERNEL,
	};
}

void naive_own_add(struct naive *k, const struct addr_event *own)
{
	struct naive_route local = local_route(own);
	struct event *ev = event_of(EVENT_ADDR, false);

	for (unsigned int i = 0; i < k->owns; i++)
		if (k->own[i].family == own->family && addr_equal(k->own[i].addr, own->addr))
			return;
	if (k->owns == NAIVE_HOSTS)
		return;
	k->own[k->owns++] = *own;
	ev->addr = *own;
	emit(k, ev);
	naive_route_new(k, &local, NLM_F_CREATE | NLM_F_APPEND);
}

void naive_own_del(struct naive *k, unsigned int i)
{
	struct naive_route local = local_route(&k->own[i]);
	struct event *ev = event_of(EVENT_ADDR, true);

	ev->addr = k->own[i];
	remove_at(k->own, k->owns, i);
	emit(k, ev);
	for (unsigned int j = 0; j < k->routes; j++)
		if (same_place(&k->route[j], &local) && k->route[j].protocol == RTPROT_KERNEL) {
			naive_route_del(k, j, false);
			return;
		}
}

void naive_proxy_add(struct naive *k, int ifindex, struct addr addr)
{
	struct neigh_event n = {
		.family = IP6,
		.ifindex = ifindex,
		.addr = addr,
		.flags = NTF_PROXY,
		.proxy = true,
	};

	for (unsigned int i = 0; i < k->proxies; i++)
		if (k->proxy[i].ifindex == ifindex && addr_equal(k->proxy[i].addr, addr))
			return;
	if (k->proxies == NAIVE_HOSTS)
		return;
	k->proxy[k->proxies++] = n;
	emit_neigh(k, &n, false);
}

void naive_proxy_del(struct naive *k, unsigned int i)
{
	struct neigh_event n = k->proxy[i];

	remove_at(k->proxy, k->proxies, i);
	emit_neigh(k, &n, true);
}

void naive_rule_add(struct naive *k, const struct rule_event *rule)
{
	struct event *ev = event_of(EVENT_RULE, false);

	if (k->rules[rule->family] == NAIVE_RULES)
		return;
	k->rule[rule->family][k->rules[rule->family]++] = *rule;
	ev->rule = *rule;
	emit(k, ev);
}

void naive_rule_del(struct naive *k, enum family family, unsigned int i)
{
	struct event *ev = event_of(EVENT_RULE, true);

	ev->rule = k->rule[family][i];
	remove_at(k->rule[family], k->rules[family], i);
	emit(k, ev);
}

bool naive_rules_default(const struct naive *k, enum family family)
{
	struct naive fresh;

	naive_init(&fresh);
	if (k->rules[family] != fresh.rules[family])
		return false;
	for (unsigned int i = 0; i < fresh.rules[family]; i++) {
		const struct rule_event *want = &fresh.rule[family][i];
		bool found = false;

		for (unsigned int j = 0; j < k->rules[family]; j++) {
			const struct rule_event *have = &k->rule[family][j];

			found |= have->priority == want->priority && have->table == want->table &&
				 !have->selective && have->action == want->action;
		}
		if (!found)
			return false;
	}
	return true;
}

/* --- dumps ------------------------------------------------------------------------------------ */

static int compare_place(const struct naive_route *r, const struct naive_cursor *c)
{
	if (r->table != c->table)
		return r->table < c->table ? -1 : 1;
	if (r->dst.hi != c->dst.hi)
		return r->dst.hi < c->dst.hi ? -1 : 1;
	if (r->dst.lo != c->dst.lo)
		return r->dst.lo < c->dst.lo ? -1 : 1;
	return (r->len > c->len) - (r->len < c->len);
}

static struct naive_cursor cursor_at(const struct naive_route *r)
{
	return (struct naive_cursor){
		.started = true, .table = r->table, .dst = r->dst, .len = r->len
	};
}

static bool first_sibling(const struct naive *k, unsigned int i)
{
	for (unsigned int j = 0; j < i; j++)
		if (are_siblings(&k->route[j], &k->route[i]))
			return false;
	return true;
}

static bool dump_prefix(const struct naive *k, enum family family, struct naive_cursor *cursor,
			void (*fn)(void *arg, const struct event *ev), void *arg)
{
	const struct naive_route *next = NULL;

	for (unsigned int i = 0; i < k->routes; i++) {
		const struct naive_route *r = &k->route[i];
		struct naive_cursor best = next ? cursor_at(next) : (struct naive_cursor){};

		if (r->family == family && (!cursor->started || compare_place(r, cursor) > 0) &&
		    (!next || compare_place(r, &best) < 0))
			next = r;
	}
	if (!next)
		return false;
	*cursor = cursor_at(next);
	for (unsigned int i = 0; i < k->routes; i++)
		if (k->route[i].family == family && !compare_place(&k->route[i], cursor) &&
		    first_sibling(k, i)) {
			struct event *ev = route_event(k, &k->route[i], true, false);

			ev->dump = true;
			fn(arg, ev);
		}
	return true;
}

struct dumped {
	void (*fn)(void *arg, const struct event *ev);
	void *arg;
};

static void as_dump(void *arg, const struct event *ev)
{
	struct event *mine = (struct event *)ev; /* of event_of() */
	const struct dumped *d = arg;

	mine->dump = true;
	mine->replace = false;
	d->fn(d->arg, ev);
}

static void dump_netconf(struct naive *k, enum family f)
{
	for (int i = 1; i < NAIVE_LINKS; i++) {
		const struct link_event *ev = &k->link[i].ev;

		if (k->link[i].there)
			naive_netconf(k, f, i, f == IP4 ? ev->ip4.forwarding : ev->ip6.forwarding,
				      f == IP4 ? ev->ip4.rp_filter : -1,
				      k->link[i].ignore_linkdown[f]);
	}
}

bool naive_dump(const struct naive *real, enum nl_table table, struct naive_cursor *cursor,
		void (*fn)(void *arg, const struct event *ev), void *arg)
{
	static struct naive copy; /* told again from the start; the real one stays as it is */
	struct naive *k = &copy;
	struct dumped d = { fn, arg };

	if (table == NL_ROUTES4 || table == NL_ROUTES6)
		return dump_prefix(real, table == NL_ROUTES4 ? IP4 : IP6, cursor, fn, arg);
	if (cursor->started)
		return false;
	cursor->started = true;
	copy = *real;
	k->emit = as_dump;
	k->arg = &d;
	for (int i = 1; table == NL_LINKS && i < NAIVE_LINKS; i++)
		if (k->link[i].there)
			emit_link(k, i, false, false);
	for (unsigned int i = 0; table == NL_ADDRS && i < k->owns; i++) {
		struct event *ev = event_of(EVENT_ADDR, false);

		ev->addr = k->own[i];
		emit(k, ev);
	}
	for (int f = 0; f < FAMILIES; f++)
		for (unsigned int i = 0;
		     table == (f == IP4 ? NL_RULES4 : NL_RULES6) && i < k->rules[f]; i++) {
			struct event *ev = event_of(EVENT_RULE, false);

			ev->rule = k->rule[f][i];
			emit(k, ev);
		}
	if (table == NL_NETCONF4 || table == NL_NETCONF6)
		dump_netconf(k, table == NL_NETCONF4 ? IP4 : IP6);
	for (unsigned int i = 0; table == NL_NEXTHOPS && i < k->objects; i++)
		emit(k, object_event(&k->object[i], false));
	for (unsigned int i = 0; table == NL_NEIGHS && i < k->neighs; i++)
		emit_neigh(k, &k->neigh[i], false);
	for (unsigned int i = 0; table == NL_PROXIES && i < k->proxies; i++)
		emit_neigh(k, &k->proxy[i], false);
	return true;
}

/* --- lookup ----------------------------------------------------------------------------------- */

/* fib_table_lookup(), rt6_score_route(): a leg that the kernel leaves out. */
static bool skipped(const struct naive *k, const struct leg *leg, enum family family)
{
	const struct naive_link *link = &k->link[leg->ifindex];

	return leg_dead(k, leg) || (!link->ev.carrier && link->ignore_linkdown[family]);
}

static void add_leg(const struct naive *k, const struct leg *leg, unsigned int weight,
		    enum family family, struct naive_answer *a)
{
	if (skipped(k, leg, family))
		return;
	a->leg[a->legs] = *leg;
	a->leg[a->legs++].weight = weight;
}

static __u32 reject(__u8 type)
{
	switch (type) {
	case RTN_LOCAL:
		return XFIB_PUNT_LOCAL;
	case RTN_BROADCAST:
		return XFIB_PUNT_BROADCAST;
	case RTN_BLACKHOLE:
		return XFIB_PUNT_BLACKHOLE;
	case RTN_UNREACHABLE:
		return XFIB_PUNT_UNREACHABLE;
	case RTN_PROHIBIT:
		return XFIB_PUNT_PROHIBIT;
	case RTN_THROW:
		return XFIB_PUNT_THROW;
	default:
		return XFIB_PUNT_UNSUPPORTED_ROUTE;
	}
}

static void object_answer(const struct naive *k, const struct naive_route *r,
			  struct naive_answer *a)
{
	const struct naive_object *o = object(k, r->nhid);

	a->object = true;
	if (o->resilient) {
		a->verdict = XFIB_PUNT_UNSUPPORTED_ROUTE;
	} else if (o->blackhole) {
		a->verdict = XFIB_PUNT_BLACKHOLE;
	} else if (!o->group) {
		add_leg(k, &o->leg, 1, r->family, a);
	} else {
		for (unsigned int i = 0; i < o->members; i++)
			add_leg(k, &object(k, o->member[i].id)->leg, o->member[i].weight, r->family,
				a);
	}
}

/* Whether the route counts; then *a is its answer. Kinds that xfib leaves to the kernel always count. */
static bool route_answer(const struct naive *k, const struct naive_route *r, struct naive_answer *a)
{
	*a = (struct naive_answer){ .mtu = r->mtu };
	if (r->expires) {
		a->verdict = XFIB_PUNT_UNSUPPORTED_ROUTE;
		return true;
	}
	if (r->type != RTN_UNICAST) {
		a->verdict = reject(r->type);
		return true;
	}
	if (r->nhid) {
		object_answer(k, r, a);
		return a->verdict || a->legs;
	}
	for (unsigned int i = 0; i < r->legs; i++)
		if (r->leg[i].encap) {
			a->verdict = XFIB_PUNT_ENCAP;
			return true;
		}
	for (unsigned int i = 0; i < r->legs; i++)
		add_leg(k, &r->leg[i], r->leg[i].weight, r->family, a);
	for (unsigned int i = 0; i < k->routes; i++)
		if (are_siblings(&k->route[i], r) && k->route[i].leg[0].encap) {
			a->verdict = XFIB_PUNT_ENCAP;
			return true;
		}
	for (unsigned int i = 0; i < k->routes; i++)
		if (&k->route[i] != r && are_siblings(&k->route[i], r))
			add_leg(k, &k->route[i].leg[0], k->route[i].leg[0].weight, r->family, a);
	return a->legs;
}

/* The first route of this table and length for the address that counts. */
static const struct naive_route *winner(const struct naive *k, enum family family, __u32 table,
					unsigned int len, struct addr addr, struct naive_answer *a,
					bool *selective)
{
	const struct naive_route *found = NULL;
	struct naive_answer other;

	*selective = false;
	for (unsigned int i = 0; i < k->routes; i++) {
		const struct naive_route *r = &k->route[i];

		if (r->family != family || r->table != table || r->len != len ||
		    !prefix_covers(r->dst, len, addr))
			continue;
		*selective |= r->tos || r->src_len;
		if (!found && route_answer(k, r, &other)) {
			found = r;
			*a = other;
		}
	}
	return found;
}

/* Others of the same metric that are no siblings: their preference decides, which is not told. */
static bool has_equals(const struct naive *k, const struct naive_route *r)
{
	for (unsigned int i = 0; i < k->routes; i++)
		if (&k->route[i] != r && same_place(&k->route[i], r) &&
		    k->route[i].priority == r->priority && !are_siblings(&k->route[i], r))
			return true;
	return false;
}

/* The longest length of a prefix for the address that is not above `most`; -1: none. */
static int next_len(const struct naive *k, enum family family, __u32 table, struct addr addr,
		    int most)
{
	int len = -1;

	for (unsigned int i = 0; i < k->routes; i++) {
		const struct naive_route *r = &k->route[i];

		if (r->family == family && r->table == table && (int)r->len <= most &&
		    (int)r->len > len && prefix_covers(r->dst, r->len, addr))
			len = r->len;
	}
	return len;
}

/* Somebody may have taken the local route of an own address away: it is left to the kernel all the same. */
static bool is_own(const struct naive *k, struct addr addr)
{
	for (unsigned int i = 0; i < k->owns; i++)
		if (k->own[i].family == IP4 && addr_equal(k->own[i].addr, addr))
			return true;
	return false;
}

void naive_lookup(const struct naive *k, enum family family, struct addr addr,
		  struct naive_answer *a)
{
	static const __u32 tables[] = { RT_TABLE_LOCAL, RT_TABLE_MAIN, RT_TABLE_DEFAULT };

	for (unsigned int i = 0; i < k->proxies; i++)
		if (family == IP6 && addr_equal(k->proxy[i].addr, addr)) {
			*a = (struct naive_answer){ .verdict = XFIB_PUNT_PROXY };
			return;
		}
	for (int t = 0; t < (family == IP4 ? 3 : 2); t++) {
		if (t == 1 && family == IP4 && is_own(k, addr)) {
			*a = (struct naive_answer){ .verdict = XFIB_PUNT_LOCAL };
			return;
		}
		for (int len = next_len(k, family, tables[t], addr, 128); len >= 0;
		     len = next_len(k, family, tables[t], addr, len - 1)) {
			const struct naive_route *r;
			bool selective;

			r = winner(k, family, tables[t], len, addr, a, &selective);
			if (!r)
				continue;
			if (selective)
				*a = (struct naive_answer){ .verdict = XFIB_PUNT_SELECTIVE_ROUTE };
			else if (family == IP6 && has_equals(k, r))
				*a = (struct naive_answer){ .verdict =
								    XFIB_PUNT_UNSUPPORTED_ROUTE };
			/* Without rules ever, local and main are one IPv4 trie: a longer prefix of main may win. */
			else if (family == IP4 && t == 0 &&
				 (r->type == RTN_UNICAST || r->type == RTN_BLACKHOLE))
				*a = (struct naive_answer){ .verdict =
								    XFIB_PUNT_UNSUPPORTED_ROUTE };
			return;
		}
	}
	*a = (struct naive_answer){ .verdict = XFIB_PUNT_NO_ROUTE };
}

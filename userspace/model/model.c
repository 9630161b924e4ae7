// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Everything of the model but routes: see model.h. */
#include "model.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

int model_init(struct model *m, __u32 max_routes, const struct model_hooks *hooks, void *arg)
{
	int err;

	*m = (struct model){ .hooks = hooks, .hooks_arg = arg };
	err = rib_init(&m->rib[IP4], IP4, max_routes);
	if (!err)
		err = rib_init(&m->rib[IP6], IP6, max_routes);
	if (err)
		model_done(m);
	return err;
}

#define FREE_ALL(head, item, tmp, more) \
	HASH_ITER(hh, head, item, tmp)  \
	{                               \
		HASH_DEL(head, item);   \
		more;                   \
		free(item);             \
	}

void model_done(struct model *m)
{
	struct host_addr *host, *host_tmp;
	struct nexthop *nexthop, *nexthop_tmp;
	struct neigh *neigh, *neigh_tmp;
	struct link *link, *link_tmp;
	struct rule *rule, *rule_tmp;

	FREE_ALL(m->links, link, link_tmp, )
	FREE_ALL(m->own, host, host_tmp, )
	FREE_ALL(m->proxies, host, host_tmp, )
	FREE_ALL(m->rules, rule, rule_tmp, )
	FREE_ALL(m->nexthops, nexthop, nexthop_tmp, free(nexthop->ev))
	FREE_ALL(m->neighs, neigh, neigh_tmp, )
	path_set_done(&m->paths);
	for (int i = 0; i < NL_TABLES; i++)
		touched_clear(&m->table[i].touched);
	rib_done(&m->rib[IP4]);
	rib_done(&m->rib[IP6]);
}

/*
 * For objects whose message says all of their state: during a dump, what a notification touched is
 * younger than what the dump says of it. Returns true if the event is to be left out.
 */
static bool overtaken(struct model *m, enum nl_table table, const struct event *ev, const void *key,
		      size_t len)
{
	__u64 mark;

	if (!m->table[table].dumping)
		return false;
	mark = touched_mark(key, len);
	if (ev->dump)
		return touched_has(&m->table[table].touched, mark);
	if (!touched_add(&m->table[table].touched, mark))
		m->wanted |= 1u << table;
	return false;
}

static const enum nl_table routes_of[FAMILIES] = { [IP4] = NL_ROUTES4, [IP6] = NL_ROUTES6 };

static void settle_begin(struct model *m, struct settle *settle)
{
	settle->on = true;
	for (int f = 0; f < FAMILIES; f++) {
		settle->after[f] = m->table[routes_of[f]].generation;
		m->wanted |= 1u << routes_of[f];
	}
}

/* Whether it has just settled. */
static bool settle_end(const struct model *m, struct settle *settle)
{
	if (!settle->on)
		return false;
	for (int f = 0; f < FAMILIES; f++)
		if (m->table[routes_of[f]].done <= settle->after[f])
			return false;
	settle->on = false;
	return true;
}

/* --- links --------------------------------------------------------------------------------- */

struct link *model_link(const struct model *m, __u32 ifindex)
{
	struct link *link;

	HASH_FIND_INT(m->links, &ifindex, link);
	return link;
}

static void nexthop_remove(struct model *m, struct nexthop *nexthop);

/* Whether the kernel has an object of this group still. */
static bool has_members(const struct model *m, const struct nexthop_event *group)
{
	for (unsigned int i = 0; i < group->members; i++) {
		const struct nexthop *member;

		HASH_FIND_INT(m->nexthops, &group->member[i].id, member);
		if (member && !member->gone)
			return true;
	}
	return false;
}

/*
 * nexthop_flush_dev(): with a device that goes down or loses its carrier its nexthop objects go, and
 * groups that are left without one, all without a message.
 */
static void flush_nexthops(struct model *m, __u32 ifindex)
{
	struct nexthop *nexthop, *tmp;

	HASH_ITER(hh, m->nexthops, nexthop, tmp)
	if (!nexthop->gone && !nexthop->ev->group && (__u32)nexthop->ev->leg.ifindex == ifindex)
		nexthop_remove(m, nexthop);
	HASH_ITER(hh, m->nexthops, nexthop, tmp)
	if (!nexthop->gone && nexthop->ev->group && !has_members(m, nexthop->ev))
		nexthop_remove(m, nexthop);
}

static void link_remove(struct model *m, struct link *link)
{
	flush_nexthops(m, link->ifindex);
	HASH_DEL(m->links, link);
	m->hooks->link(m->hooks_arg, link, true);
	free(link);
	/* Nexthop objects and IPv4 routes go with the device, and the kernel does not say so. */
	m->wanted |= 1u << NL_NEXTHOPS | 1u << NL_ROUTES4 | 1u << NL_ROUTES6;
}

/*
 * Settings come in messages of their own and in those about links. What a notification said of one is
 * younger than both dumps under way.
 */
enum conf { CONF_FORWARDING, CONF_RP_FILTER, CONF_LINKDOWN, CONF_IP6 };

static bool conf_overtaken(struct model *m, enum nl_table table, const struct event *ev,
			   enum family family, __u32 ifindex, enum conf conf)
{
	const __u32 key[] = { family, ifindex, conf };

	return overtaken(m, table, ev, key, sizeof(key));
}

static void set_conf(struct model *m, enum nl_table table, const struct event *ev,
		     enum family family, __u32 ifindex, enum conf conf, int value, int *to)
{
	static const enum nl_table netconf[FAMILIES] = { [IP4] = NL_NETCONF4, [IP6] = NL_NETCONF6 };
	bool late;

	if (value < 0)
		return;
	late = conf_overtaken(m, table, ev, family, ifindex, conf);
	/* The other dump that tells it. */
	if (!ev->dump)
		conf_overtaken(m, table == NL_LINKS ? netconf[family] : NL_LINKS, ev, family,
			       ifindex, conf);
	if (!late)
		*to = value;
}

static bool has_legs(const struct model *m, __u32 ifindex)
{
	for (__u32 i = 1; i < m->paths.used; i++) {
		const struct path *path = path_at(&m->paths, i);

		for (__u32 j = 0; path && path->refs && j < path->key.legs; j++)
			if (path->key.leg[j].ifindex == ifindex)
				return true;
	}
	return false;
}

static void set_ip6(struct model *m, const struct event *ev, struct link *link)
{
	const struct link_event *e = &ev->link;

	link->ev.ip6 = e->ip6;
	link->ev.has_ip6_conf = e->has_ip6_conf;
	if (!e->has_ip6_conf)
		link->ev.ip6.disable = 1;
	set_conf(m, NL_LINKS, ev, IP6, link->ifindex, CONF_FORWARDING,
		 e->has_ip6_conf ? e->ip6.forwarding : -1, &link->forwarding6);
}

/* IPv6 settings of a device that a full message has described. */
static int apply_link6(struct model *m, const struct event *ev, struct link *link)
{
	conf_overtaken(m, NL_LINKS, ev, IP6, ev->link.ifindex, CONF_IP6);
	if (!link)
		return 0;
	set_ip6(m, ev, link);
	m->hooks->link(m->hooks_arg, link, false);
	return 0;
}

static struct link *link_new(struct model *m, __u32 ifindex)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link) {
		m->wanted |= 1u << NL_LINKS;
		return NULL;
	}
	link->ifindex = ifindex;
	link->forwarding4 = link->forwarding6 = link->rp_filter = -1;
	link->ignore_linkdown4 = link->ignore_linkdown6 = -1;
	link->fib.port = -1;
	HASH_ADD_INT(m->links, ifindex, link);
	link->reborn = has_legs(m, ifindex);
	if (link->reborn)
		settle_begin(m, &link->settle);
	/* Its settings were told before the device was. */
	m->wanted |= 1u << NL_NETCONF4 | 1u << NL_NETCONF6;
	return link;
}

/* What a full message says of a device, `was` the one before. */
static void set_link(struct model *m, const struct event *ev, struct link *link,
		     const struct link_event *was)
{
	const struct link_event *e = &ev->link;

	link->ev = *e;
	if (was->ifindex && conf_overtaken(m, NL_LINKS, ev, IP6, e->ifindex, CONF_IP6)) {
		link->ev.ip6 = was->ip6;
		link->ev.has_ip6_conf = was->has_ip6_conf;
	} else {
		set_ip6(m, ev, link);
	}
	/* A new MTU becomes IPv6's too, but only after this message was made (addrconf_notify()). */
	if (was->mtu && was->mtu != e->mtu)
		link->ev.ip6.mtu = e->mtu;
	if (!e->has_ip4_conf)
		return;
	set_conf(m, NL_LINKS, ev, IP4, e->ifindex, CONF_FORWARDING, e->ip4.forwarding,
		 &link->forwarding4);
	set_conf(m, NL_LINKS, ev, IP4, e->ifindex, CONF_RP_FILTER, e->ip4.rp_filter,
		 &link->rp_filter);
	set_conf(m, NL_LINKS, ev, IP4, e->ifindex, CONF_LINKDOWN,
		 e->ip4.ignore_routes_with_linkdown, &link->ignore_linkdown4);
}

static int apply_link(struct model *m, const struct event *ev)
{
	const struct link_event *e = &ev->link;
	__u32 ifindex = e->ifindex;
	struct link *link = model_link(m, ifindex);
	struct link_event was;

	if (e->partial)
		return apply_link6(m, ev, link);
	if (overtaken(m, NL_LINKS, ev, &ifindex, sizeof(ifindex))) {
		if (link)
			link->generation = m->table[NL_LINKS].generation;
		return 0;
	}
	if (ev->del) {
		if (link)
			link_remove(m, link);
		return 0;
	}
	if (!link)
		link = link_new(m, ifindex);
	if (!link)
		return -ENOMEM;
	was = link->ev;
	set_link(m, ev, link, &was);
	link->generation = m->table[NL_LINKS].generation;
	/* Going down it takes routes with it. Coming up it finds those gone whose last leg went meanwhile. */
	if (was.ifindex && was.up != e->up)
		settle_begin(m, &link->settle);
	if ((was.up && !e->up) || (was.carrier && !e->carrier))
		flush_nexthops(m, ifindex);
	m->hooks->link(m->hooks_arg, link, false);
	/*
	 * On down the kernel removes IPv4 routes and nexthop objects without a word, on up IPv6 routes
	 * come back in the same way (fib_sync_down_dev(), nexthop_flush_dev(), fib6_ifup()).
	 */
	if (was.up != link->ev.up || was.carrier != link->ev.carrier)
		m->wanted |= 1u << NL_NEXTHOPS | 1u << NL_ROUTES4 | 1u << NL_ROUTES6;
	return 0;
}

void model_set_features(struct model *m, __u32 ifindex, bool xmit, bool sg)
{
	struct link *link = model_link(m, ifindex);

	if (!link || (link->xmit == xmit && link->sg == sg))
		return;
	link->xmit = xmit;
	link->sg = sg;
	m->hooks->link(m->hooks_arg, link, false);
}

void model_set_link_settings(struct model *m, __u32 ifindex, const struct link_settings *settings)
{
	struct link *link = model_link(m, ifindex);
	struct link_event *ev = link ? &link->ev : NULL;

	if (!ev || (ev->ip4.send_redirects == settings->send_redirects &&
		    ev->ip6.disable == settings->disable_ipv6 && ev->ip6.mtu == settings->mtu6))
		return;
	ev->ip4.send_redirects = settings->send_redirects;
	ev->ip6.disable = settings->disable_ipv6;
	ev->ip6.mtu = settings->mtu6;
	m->hooks->link(m->hooks_arg, link, false);
}

static int apply_netconf(struct model *m, const struct event *ev)
{
	const struct netconf_event *e = &ev->netconf;
	enum nl_table table = e->family == IP4 ? NL_NETCONF4 : NL_NETCONF6;
	struct link *link;

	if (ev->del) {
		/* The device has lost this family, with an MTU below IPv6's least for example. */
		link = e->ifindex > 0 ? model_link(m, e->ifindex) : NULL;
		if (!link)
			return 0;
		set_conf(m, table, ev, e->family, e->ifindex, CONF_FORWARDING, 0,
			 e->family == IP4 ? &link->forwarding4 : &link->forwarding6);
		m->hooks->link(m->hooks_arg, link, false);
		return 0;
	}
	if (e->ifindex == NETCONF_ALL) {
		if (e->family == IP6 && e->forwarding >= 0 &&
		    m->settings.forwarding6_all != e->forwarding) {
			m->settings.forwarding6_all = e->forwarding;
			m->hooks->policy(m->hooks_arg);
		}
		if (e->family == IP4 && e->rp_filter >= 0 &&
		    m->settings.rp_filter_all != e->rp_filter) {
			m->settings.rp_filter_all = e->rp_filter;
			m->hooks->policy(m->hooks_arg);
		}
		return 0;
	}
	link = e->ifindex > 0 ? model_link(m, e->ifindex) : NULL;
	if (!link)
		return 0;
	set_conf(m, table, ev, e->family, e->ifindex, CONF_FORWARDING, e->forwarding,
		 e->family == IP4 ? &link->forwarding4 : &link->forwarding6);
	set_conf(m, table, ev, e->family, e->ifindex, CONF_LINKDOWN, e->ignore_linkdown,
		 e->family == IP4 ? &link->ignore_linkdown4 : &link->ignore_linkdown6);
	if (e->family == IP4)
		set_conf(m, table, ev, IP4, e->ifindex, CONF_RP_FILTER, e->rp_filter,
			 &link->rp_filter);
	m->hooks->link(m->hooks_arg, link, false);
	return 0;
}

/* --- own and proxied addresses ------------------------------------------------------------- */

static struct neigh_key host_key(enum family f, __u32 ifindex, struct addr addr)
{
	return (struct neigh_key){ .addr = addr, .ifindex = ifindex, .family = f };
}

/* Returns 1 if the set changed, 0 if not, -ENOMEM. */
static int host_apply(struct model *m, struct host_addr **set, enum nl_table table,
		      const struct event *ev, const struct neigh_key *key)
{
	struct host_addr *host;

	HASH_FIND(hh, *set, key, sizeof(*key), host);
	if (overtaken(m, table, ev, key, sizeof(*key))) {
		if (host)
			host->generation = m->table[table].generation;
		return 0;
	}
	if (ev->del) {
		if (!host)
			return 0;
		HASH_DEL(*set, host);
		free(host);
		return 1;
	}
	if (host) {
		host->generation = m->table[table].generation;
		return 0;
	}
	host = calloc(1, sizeof(*host));
	if (!host) {
		m->wanted |= 1u << table;
		return -ENOMEM;
	}
	host->key = *key;
	host->generation = m->table[table].generation;
	HASH_ADD(hh, *set, key, sizeof(*key), host);
	return 1;
}

/*
 * The kernel may answer for a proxied IPv6 address instead of forwarding to it
 * (ip6_forward_proxy_check()). It refuses packets from an own IPv4 address, and finds that out in its
 * list of addresses (inet_lookup_ifaddr_rcu()): their local routes may be gone.
 */
static const struct host_mark proxy_mark = { IP6, XFIB_TABLE_MARKER, PATH_PROXY };
static const struct host_mark own_mark = { IP4, XFIB_TABLE_OWN, PATH_OWN };

static void unmark_host(struct model *m, const struct host_addr *set, struct host_mark mark,
			struct addr addr)
{
	const struct host_addr *host;

	for (host = set; host; host = host->hh.next)
		if (host->key.family == mark.family && addr_equal(host->key.addr, addr))
			return; /* another interface has it as well */
	model_unmark_host(m, mark, addr);
}

/* What finds no room is forgotten, so that the next dump tries again. */
static int mark_host(struct model *m, struct host_addr **set, enum nl_table table,
		     struct host_mark mark, const struct neigh_key *key)
{
	int err = model_mark_host(m, mark, key->addr);
	struct host_addr *host;

	if (!err)
		return 0;
	HASH_FIND(hh, *set, key, sizeof(*key), host);
	HASH_DEL(*set, host);
	free(host);
	m->wanted |= 1u << table;
	return err;
}

static int apply_addr(struct model *m, const struct event *ev)
{
	struct neigh_key key = host_key(ev->addr.family, ev->addr.ifindex, ev->addr.addr);
	int changed = host_apply(m, &m->own, NL_ADDRS, ev, &key);

	int err = 0;

	if (changed <= 0 || ev->addr.family != IP4)
		return changed < 0 ? changed : 0;
	if (ev->del)
		unmark_host(m, m->own, own_mark, key.addr);
	else
		err = mark_host(m, &m->own, NL_ADDRS, own_mark, &key);
	m->hooks->own(m->hooks_arg);
	return err;
}

bool model_has_ip4_addr(const struct model *m, __u32 ifindex)
{
	const struct host_addr *own;

	for (own = m->own; own; own = own->hh.next)
		if (own->key.family == IP4 && own->key.ifindex == ifindex)
			return true;
	return false;
}

static int apply_proxy(struct model *m, const struct event *ev)
{
	struct neigh_key key = host_key(IP6, ev->neigh.ifindex, ev->neigh.addr);
	int changed;

	if (ev->neigh.family != IP6)
		return 0;
	changed = host_apply(m, &m->proxies, NL_PROXIES, ev, &key);
	if (changed <= 0)
		return changed;
	if (!ev->del)
		return mark_host(m, &m->proxies, NL_PROXIES, proxy_mark, &key);
	unmark_host(m, m->proxies, proxy_mark, key.addr);
	return 0;
}

/* --- rules --------------------------------------------------------------------------------- */

static const struct {
	__u32 priority, table;
} usual[] = {
	{ 0, RT_TABLE_LOCAL },
	{ 32766, RT_TABLE_MAIN },
	{ 32767, RT_TABLE_DEFAULT },
};

/* IPv6 has no rule for the default table. */
static int usual_rules(enum family family)
{
	return family == IP4 ? 3 : 2;
}

/* Which of the kernel's own rules this is, -1: none. */
static int usual_rule(const struct rule_key *key)
{
	for (int i = 0; i < usual_rules(key->family); i++)
		if (key->priority == usual[i].priority && key->table == usual[i].table &&
		    key->action == FR_ACT_TO_TBL && !key->selective)
			return i;
	return -1;
}

static int apply_rule(struct model *m, const struct event *ev)
{
	struct rule_key key = {
		.family = ev->rule.family,
		.priority = ev->rule.priority,
		.table = ev->rule.table,
		.action = ev->rule.action,
		.selective = ev->rule.selective,
	};
	struct rule *rule;

	if (key.family == IP4 && !ev->del && usual_rule(&key) < 0)
		model_look_up_sources(m);
	HASH_FIND(hh, m->rules, &key, sizeof(key), rule);
	if (!rule) {
		if (ev->del)
			return 0;
		rule = calloc(1, sizeof(*rule));
		if (!rule) {
			m->wanted |= 1u << (key.family == IP4 ? NL_RULES4 : NL_RULES6);
			return -ENOMEM;
		}
		rule->key = key;
		HASH_ADD(hh, m->rules, key, sizeof(key), rule);
	}
	if (ev->dump) {
		rule->dumped++;
		return 0; /* counted when the dump is complete */
	}
	/* Rules that differ only in what we do not keep look alike: count them, and count again soon. */
	rule->count += ev->del ? (rule->count ? -1 : 0) : 1;
	if (m->table[ev->rule.family == IP4 ? NL_RULES4 : NL_RULES6].dumping)
		m->wanted |= 1u << (key.family == IP4 ? NL_RULES4 : NL_RULES6);
	m->hooks->policy(m->hooks_arg);
	return 0;
}

/* The counts of a finished dump replace the old ones, unless notifications came in between: dump again. */
static void sweep_rules(struct model *m, enum family family)
{
	struct rule *rule, *tmp;

	if (m->wanted & 1u << (family == IP4 ? NL_RULES4 : NL_RULES6))
		return;
	HASH_ITER(hh, m->rules, rule, tmp)
	{
		if (rule->key.family != family)
			continue;
		rule->count = rule->dumped;
		rule->dumped = 0;
		if (!rule->count) {
			HASH_DEL(m->rules, rule);
			free(rule);
		}
	}
	m->hooks->policy(m->hooks_arg);
}

bool model_rules_default(const struct model *m, enum family family, __u32 *priority)
{
	const int n = usual_rules(family);
	unsigned int seen = 0;
	const struct rule *rule;

	for (rule = m->rules; rule; rule = rule->hh.next) {
		int i = usual_rule(&rule->key);

		if (rule->key.family != family || !rule->count)
			continue;
		if (i < 0 || rule->count != 1) {
			*priority = rule->key.priority;
			return false;
		}
		seen |= 1u << i;
	}
	for (int i = 0; i < n; i++)
		if (!(seen & 1u << i)) {
			*priority = usual[i].priority;
			return false;
		}
	return true;
}

/* --- nexthop objects ----------------------------------------------------------------------- */

static struct nexthop *nexthop_find(const struct model *m, __u32 id)
{
	struct nexthop *nexthop;

	HASH_FIND_INT(m->nexthops, &id, nexthop);
	return nexthop;
}

struct nexthop *model_nexthop(const struct model *m, __u32 id)
{
	struct nexthop *nexthop = nexthop_find(m, id);

	return nexthop && !nexthop->gone && !nexthop->settle.on ? nexthop : NULL;
}

static void nexthop_free(struct model *m, struct nexthop *nexthop)
{
	HASH_DEL(m->nexthops, nexthop);
	free(nexthop->ev);
	free(nexthop);
}

static bool has_routes(const struct model *m, __u32 nhid)
{
	for (__u32 i = 1; i < m->paths.used; i++) {
		const struct path *path = path_at(&m->paths, i);

		if (path && path->refs && path->key.nhid == nhid)
			return true;
	}
	return false;
}

/*
 * Its routes go with it, IPv4 ones without a notification. A routing daemon that tidies up its unused
 * objects must not make us read a million routes again.
 */
static void nexthop_remove(struct model *m, struct nexthop *nexthop)
{
	__u32 id = nexthop->id;

	nexthop->gone = true;
	if (has_routes(m, id))
		settle_begin(m, &nexthop->settle);
	m->hooks->nexthop(m->hooks_arg, id);
	if (!nexthop->settle.on)
		nexthop_free(m, nexthop);
}

static void nexthop_settled(struct model *m, struct nexthop *nexthop)
{
	if (nexthop->gone)
		nexthop_free(m, nexthop);
	else
		m->hooks->nexthop(m->hooks_arg, nexthop->id);
}

static int apply_nexthop(struct model *m, const struct event *ev)
{
	const struct nexthop_event *e = &ev->nexthop;
	struct nexthop *nexthop = nexthop_find(m, e->id);
	/* A copy as long as its members; the rest of the array is not there. */
	size_t len = offsetof(struct nexthop_event, member) + e->members * sizeof(e->member[0]);
	struct nexthop_event *copy;

	if (overtaken(m, NL_NEXTHOPS, ev, &e->id, sizeof(e->id))) {
		if (nexthop)
			nexthop->generation = m->table[NL_NEXTHOPS].generation;
		return 0;
	}
	if (ev->del) {
		if (nexthop && !nexthop->gone)
			nexthop_remove(m, nexthop);
		return 0;
	}
	copy = malloc(len);
	if (copy && !nexthop) {
		nexthop = calloc(1, sizeof(*nexthop));
		if (nexthop) {
			nexthop->id = e->id;
			HASH_ADD_INT(m->nexthops, id, nexthop);
		}
	}
	if (!copy || !nexthop) {
		free(copy);
		m->wanted |= 1u << NL_NEXTHOPS;
		return -ENOMEM;
	}
	memcpy(copy, e, len);
	free(nexthop->ev);
	nexthop->ev = copy;
	nexthop->gone = false;
	nexthop->generation = m->table[NL_NEXTHOPS].generation;
	m->hooks->nexthop(m->hooks_arg, e->id);
	return 0;
}

/* --- neighbours ---------------------------------------------------------------------------- */

struct neigh *model_neigh(const struct model *m, enum family f, __u32 ifindex, struct addr addr)
{
	struct neigh_key key = host_key(f, ifindex, addr);
	struct neigh *neigh;

	HASH_FIND(hh, m->neighs, &key, sizeof(key), neigh);
	return neigh;
}

struct neigh *model_neigh_get(struct model *m, enum family f, __u32 ifindex, struct addr addr)
{
	struct neigh *neigh = model_neigh(m, f, ifindex, addr);

	if (neigh)
		return neigh;
	neigh = calloc(1, sizeof(*neigh));
	if (!neigh)
		return NULL;
	neigh->key = host_key(f, ifindex, addr);
	HASH_ADD(hh, m->neighs, key, sizeof(neigh->key), neigh);
	return neigh;
}

void model_neigh_put(struct model *m, struct neigh *neigh)
{
	if (neigh->present || neigh->fib.refs || neigh->fib.slot)
		return;
	HASH_DEL(m->neighs, neigh);
	free(neigh);
}

static void neigh_gone(struct model *m, struct neigh *neigh)
{
	neigh->present = false;
	neigh->state = NUD_NONE;
	m->hooks->neigh(m->hooks_arg, neigh);
	model_neigh_put(m, neigh);
}

static int apply_neigh(struct model *m, const struct event *ev)
{
	const struct neigh_event *e = &ev->neigh;
	struct neigh_key key = host_key(e->family, e->ifindex, e->addr);
	struct neigh *neigh = model_neigh(m, e->family, e->ifindex, e->addr);

	if (overtaken(m, NL_NEIGHS, ev, &key, sizeof(key))) {
		if (neigh)
			neigh->generation = m->table[NL_NEIGHS].generation;
		return 0;
	}
	if (ev->del) {
		if (neigh && neigh->present)
			neigh_gone(m, neigh);
		return 0;
	}
	neigh = model_neigh_get(m, e->family, e->ifindex, e->addr);
	if (!neigh) {
		m->wanted |= 1u << NL_NEIGHS;
		return -ENOMEM;
	}
	neigh->present = true;
	neigh->mac = e->mac;
	neigh->state = e->state;
	neigh->flags = e->flags;
	neigh->generation = m->table[NL_NEIGHS].generation;
	m->hooks->neigh(m->hooks_arg, neigh);
	return 0;
}

/* --- all of them ---------------------------------------------------------------------------- */

int model_apply(struct model *m, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_LINK:
		return apply_link(m, ev);
	case EVENT_ADDR:
		return apply_addr(m, ev);
	case EVENT_RULE:
		return apply_rule(m, ev);
	case EVENT_NEXTHOP:
		return apply_nexthop(m, ev);
	case EVENT_ROUTE:
		return model_apply_route(m, ev);
	case EVENT_NEIGH:
		return ev->neigh.proxy ? apply_proxy(m, ev) : apply_neigh(m, ev);
	case EVENT_NETCONF:
		return apply_netconf(m, ev);
	default:
		return 0;
	}
}

void model_set_settings(struct model *m, const struct settings *settings)
{
	if (!memcmp(&m->settings, settings, sizeof(*settings)))
		return;
	m->settings = *settings;
	m->hooks->policy(m->hooks_arg);
}

void model_set_policy(struct model *m, const struct host_policy *policy)
{
	if (!memcmp(&m->policy, policy, sizeof(*policy)))
		return;
	m->policy = *policy;
	m->hooks->policy(m->hooks_arg);
}

void model_dump_begin(struct model *m, enum nl_table table)
{
	struct rule *rule;

	m->wanted &= ~(1u << table);
	m->table[table].dumping = m->table[table].partial = true;
	m->table[table].generation++;
	m->table[table].order = 0;
	m->table[table].changes = 0;
	touched_clear(&m->table[table].touched);
	if (table == NL_ROUTES4 || table == NL_ROUTES6)
		m->overflowed[table == NL_ROUTES4 ? IP4 : IP6] = false;
	if (table == NL_RULES4 || table == NL_RULES6)
		for (rule = m->rules; rule; rule = rule->hh.next)
			if (rule->key.family == (table == NL_RULES4 ? IP4 : IP6))
				rule->dumped = 0;
}

static void sweep_hosts(struct model *m, struct host_addr **set, enum nl_table table,
			struct host_mark mark)
{
	struct host_addr *host, *tmp;
	bool own4 = false;

	HASH_ITER(hh, *set, host, tmp)
	{
		struct neigh_key key = host->key;

		if (host->generation == m->table[table].generation)
			continue;
		own4 |= table == NL_ADDRS && key.family == IP4;
		HASH_DEL(*set, host);
		free(host);
		if (key.family == mark.family)
			unmark_host(m, *set, mark, key.addr);
	}
	if (own4)
		m->hooks->own(m->hooks_arg);
}

void model_dump_end(struct model *m, enum nl_table table)
{
	__u32 generation = m->table[table].generation;
	struct nexthop *nexthop, *nexthop_tmp;
	struct neigh *neigh, *neigh_tmp;
	struct link *link, *link_tmp;

	switch (table) {
	case NL_LINKS:
		HASH_ITER(hh, m->links, link, link_tmp)
		if (link->generation != generation)
			link_remove(m, link);
		break;
	case NL_ADDRS:
		sweep_hosts(m, &m->own, NL_ADDRS, own_mark);
		break;
	case NL_PROXIES:
		sweep_hosts(m, &m->proxies, NL_PROXIES, proxy_mark);
		break;
	case NL_RULES4:
	case NL_RULES6:
		sweep_rules(m, table == NL_RULES4 ? IP4 : IP6);
		break;
	case NL_NEXTHOPS:
		HASH_ITER(hh, m->nexthops, nexthop, nexthop_tmp)
		if (!nexthop->gone && nexthop->generation != generation)
			nexthop_remove(m, nexthop);
		break;
	case NL_NEIGHS:
		HASH_ITER(hh, m->neighs, neigh, neigh_tmp)
		if (neigh->present && neigh->generation != generation)
			neigh_gone(m, neigh);
		break;
	case NL_ROUTES4:
	case NL_ROUTES6:
		model_sweep_routes(m, table == NL_ROUTES4 ? IP4 : IP6);
		model_set_full(m, table == NL_ROUTES4 ? IP4 : IP6,
			       m->overflowed[table == NL_ROUTES4 ? IP4 : IP6]);
		break;
	default:
		break;
	}
	m->table[table].dumping = m->table[table].partial = false;
	m->table[table].complete = true;
	m->table[table].done = generation;
	touched_clear(&m->table[table].touched);
}

void model_settle(struct model *m)
{
	struct nexthop *nexthop, *nexthop_tmp;
	struct link *link, *link_tmp;

	HASH_ITER(hh, m->links, link, link_tmp)
	if (settle_end(m, &link->settle)) {
		link->reborn = false;
		m->hooks->link(m->hooks_arg, link, false);
	}
	HASH_ITER(hh, m->nexthops, nexthop, nexthop_tmp)
	if (settle_end(m, &nexthop->settle))
		nexthop_settled(m, nexthop);
}

bool model_routes_partial(const struct model *m, enum family family)
{
	return m->table[routes_of[family]].partial;
}

void model_dump_abort(struct model *m, enum nl_table table)
{
	m->table[table].dumping = false;
	touched_clear(&m->table[table].touched);
	m->wanted |= 1u << table;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What single messages do to the model, by cases of the kernel that are easily mistaken. Routes of a
 * prefix are written as a string: one letter for each, in the order in which they are tried.
 */
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/model.h"

static struct model m;
static struct event ev; /* large */
static struct {
	unsigned int prefix, link, neigh, nexthop, own, policy;
} told;

static void on_prefix(void *arg, enum family family, __u32 node, __u8 above)
{
	told.prefix++;
}

static void on_link(void *arg, struct link *link, bool gone)
{
	told.link++;
}

static void on_neigh(void *arg, struct neigh *neigh)
{
	told.neigh++;
}

static void on_nexthop(void *arg, __u32 id)
{
	told.nexthop++;
}

static void on_own(void *arg)
{
	told.own++;
}

static void on_policy(void *arg)
{
	told.policy++;
}

static const struct model_hooks hooks = {
	.prefix = on_prefix,
	.link = on_link,
	.neigh = on_neigh,
	.nexthop = on_nexthop,
	.own = on_own,
	.policy = on_policy,
};

static int setup(void **state)
{
	assert_int_equal(model_init(&m, 64, &hooks, NULL), 0);
	memset(&told, 0, sizeof(told));
	for (int t = 0; t < NL_TABLES; t++) {
		model_dump_begin(&m, t);
		model_dump_end(&m, t);
	}
	m.wanted = 0;
	return 0;
}

static int teardown(void **state)
{
	model_done(&m);
	return 0;
}

/* --- messages ------------------------------------------------------------------------------------ */

enum { NEW = 0, DEL = 1, REPLACE = 2, APPEND = 4, DUMP = 8, EXPIRES = 16, RA = 32, BGP = 64 };

static struct event *start(enum event_kind kind, int flags)
{
	memset(&ev, 0, offsetof(struct event, route.leg));
	ev.kind = kind;
	ev.del = flags & DEL;
	ev.replace = flags & REPLACE;
	ev.append = flags & APPEND;
	ev.dump = flags & DUMP;
	return &ev;
}

/* One leg for each letter: a capital one by the gateway of that name, a small one without. */
static void route_of(enum family family, int flags, const char *legs)
{
	struct route_event *r = &start(EVENT_ROUTE, flags)->route;

	r->family = family;
	r->dst_len = 16;
	r->dst.hi = 0x20010000ull << 32;
	r->table = RT_TABLE_MAIN;
	r->priority = 100;
	r->type = RTN_UNICAST;
	r->protocol = flags & RA ? RTPROT_RA : flags & BGP ? RTPROT_BGP : RTPROT_STATIC;
	r->pref_expires = flags & EXPIRES;
	for (; *legs; legs++) {
		bool gateway = *legs < 'a';

		r->leg[r->legs++] = (struct leg){
			.ifindex = 1 + (*legs & 31),
			.has_gateway = gateway,
			.gateway_family = family,
			.gateway.hi = gateway ? (__u64)*legs << 32 : 0,
			.weight = 1,
		};
	}
}

static void apply(void)
{
	assert_int_equal(model_apply(&m, &ev), 0);
}

static void route(enum family family, int flags, const char *legs)
{
	route_of(family, flags, legs);
	apply();
}

/* The routes of the prefix that route_of() speaks of; several legs in brackets. */
static const char *routes(enum family family)
{
	static char text[128];
	const struct rib *rib = &m.rib[family];
	__u32 n = rib_node_find(rib, (struct addr){ .hi = 0x20010000ull << 32 }, 16, NULL);
	char *p = text;

	for (__u32 r = n ? rib->node[n].routes : 0; r; r = rib->route[r].next) {
		const struct path_key *key = &path_at(&m.paths, rib->route[r].path)->key;

		*p++ = key->legs > 1 ? '(' : ' ';
		for (__u32 i = 0; i < key->legs; i++)
			*p++ = key->leg[i].ifindex - 1 + (key->leg[i].has_gateway ? 64 : 96);
		if (key->nhid)
			*p++ = '0' + key->nhid;
		if (key->legs > 1)
			*p++ = ')';
	}
	*p = '\0';
	return text;
}

#define check_routes(family, want) assert_string_equal(routes(family), want)

static void nexthop(int flags, __u32 id, int ifindex)
{
	struct nexthop_event *nh = &start(EVENT_NEXTHOP, flags)->nexthop;

	memset(nh, 0, offsetof(struct nexthop_event, member));
	nh->id = id;
	nh->leg.ifindex = ifindex;
	nh->leg.weight = 1;
	apply();
}

static void route_by(enum family family, int flags, __u32 nhid)
{
	route_of(family, flags, "");
	ev.route.nhid = nhid;
	apply();
}

static void link_of(int flags, int ifindex, bool up)
{
	start(EVENT_LINK, flags);
	memset(&ev.link, 0, sizeof(ev.link));
	ev.link.ifindex = ifindex;
	ev.link.up = ev.link.carrier = up;
	ev.link.mtu = 1500;
	ev.link.has_ip4_conf = ev.link.has_ip6_conf = true;
	ev.link.ip4.forwarding = ev.link.ip6.forwarding = 1;
	ev.link.ip6.mtu = 1500;
}

static void dump_routes(enum family family)
{
	enum nl_table t = family == IP4 ? NL_ROUTES4 : NL_ROUTES6;

	model_dump_begin(&m, t);
	model_dump_end(&m, t);
	model_settle(&m);
}

/* --- IPv4: a list -------------------------------------------------------------------------------- */

static void append_goes_behind_its_equals_and_add_before(void **state)
{
	route(IP4, NEW, "A");
	route(IP4, APPEND, "B");
	route(IP4, NEW, "C");
	check_routes(IP4, " C A B");
	route_of(IP4, APPEND, "D");
	ev.route.priority = 5;
	apply();
	check_routes(IP4, " D C A B");
	assert_int_equal(told.prefix, 4);
}

static void replace_takes_the_place_of_the_first(void **state)
{
	route(IP4, NEW, "A");
	route(IP4, APPEND, "B");
	route(IP4, REPLACE, "C");
	check_routes(IP4, " C B");
	route_of(IP4, REPLACE, "D"); /* nothing of this metric is there */
	ev.route.priority = 7;
	apply();
	check_routes(IP4, " D C B");
}

/* nexthop_replace_notify() tells each route of a changed object as if it had been replaced. */
static void a_changed_object_moves_no_route(void **state)
{
	nexthop(NEW, 3, 2);
	route(IP4, NEW, "A");
	route_by(IP4, APPEND, 3);
	route_by(IP4, REPLACE, 3);
	check_routes(IP4, " A 3");
}

static void routes_that_differ_in_protocol_are_two(void **state)
{
	route(IP4, NEW, "A");
	route(IP4, APPEND | BGP, "A");
	check_routes(IP4, " A A");
	route(IP4, DEL | BGP, "A");
	check_routes(IP4, " A");
}

static void what_is_deleted_is_what_was_told(void **state)
{
	route(IP4, NEW, "A");
	m.wanted = 0;
	route(IP4, DEL, "B"); /* a dump was faster, say */
	check_routes(IP4, " A");
	assert_true(m.wanted & 1u << NL_ROUTES4);
	route(IP4, DEL, "A");
	check_routes(IP4, "");
}

static void several_routes_are_dumped_to_be_sure(void **state)
{
	route(IP4, NEW, "A");
	assert_int_equal(m.wanted, 0);
	route(IP4, APPEND, "B");
	assert_true(m.wanted & 1u << NL_ROUTES4);
}

static void tos_makes_another_route(void **state)
{
	route(IP4, NEW, "A");
	route_of(IP4, REPLACE, "B");
	ev.route.tos = 0x10;
	apply();
	check_routes(IP4, " B A");
	route(IP4, REPLACE, "C");
	check_routes(IP4, " B C");
}

/* --- IPv6: siblings ------------------------------------------------------------------------------ */

static void a_message_has_all_siblings(void **state)
{
	route(IP6, NEW, "A");
	route(IP6, NEW, "AB");
	check_routes(IP6, "(AB)");
	route(IP6, APPEND, "CBA"); /* whatever their order */
	check_routes(IP6, "(ABC)");
	route(IP6, DEL, "B");
	check_routes(IP6, "(AC)");
	route(IP6, DEL, "A");
	check_routes(IP6, " C");
	route(IP6, REPLACE, "BA");
	check_routes(IP6, "(AB)");
	route(IP6, DEL, "AB");
	check_routes(IP6, "");
}

/* A single leg is told without a weight, whatever it has. */
static void the_last_sibling_has_no_weight(void **state)
{
	const struct rib *rib = &m.rib[IP6];

	route_of(IP6, NEW, "AB");
	ev.route.leg[0].weight = 5;
	apply();
	route(IP6, DEL, "B");
	dump_routes(IP4);
	model_dump_begin(&m, NL_ROUTES6);
	route(IP6, DUMP, "A");
	model_dump_end(&m, NL_ROUTES6);
	assert_int_equal(m.table[NL_ROUTES6].changes, 0);
	assert_int_equal(rib->live_routes, 1);
}

static void a_route_without_gateway_stands_alone(void **state)
{
	route(IP6, NEW, "A");
	route(IP6, APPEND, "b");
	route(IP6, APPEND, "CA");
	check_routes(IP6, "(AC) b");
	route(IP6, REPLACE, "d"); /* fib6_add_rt2node(): of its own kind */
	check_routes(IP6, "(AC) d");
	route(IP6, DEL, "d");
	route(IP6, REPLACE, "e"); /* else of any */
	check_routes(IP6, " e");
}

/* What the kernel itself learned from an RA has a lifetime; what a user calls so need not. */
static void advertised_routes_join_only_if_a_user_made_them(void **state)
{
	route(IP6, NEW | RA | EXPIRES, "A");
	route(IP6, NEW | RA | EXPIRES, "B");
	check_routes(IP6, " A B");
	route(IP6, DEL | RA | EXPIRES, "A");
	/* A lifetime that is over is not told. */
	route(IP6, DEL | RA, "B");
	check_routes(IP6, "");
	route(IP6, NEW | RA, "A");
	route(IP6, NEW | RA, "AB");
	check_routes(IP6, "(AB)");
}

static void sources_make_other_routes(void **state)
{
	route(IP6, NEW, "A");
	for (int i = 1; i < 3; i++) {
		route_of(IP6, REPLACE, i == 1 ? "B" : "C");
		ev.route.src_len = 32;
		ev.route.src.hi = (__u64)i << 32;
		apply();
	}
	check_routes(IP6, " A B C");
}

static void the_encapsulation_goes_with_its_leg(void **state)
{
	const struct rib *rib = &m.rib[IP6];
	__u32 n;

	route_of(IP6, NEW, "AB");
	ev.route.leg[1].encap = true;
	apply();
	route(IP6, DEL, "B");
	check_routes(IP6, " A");
	n = rib_node_find(rib, (struct addr){ .hi = 0x20010000ull << 32 }, 16, NULL);
	assert_false(path_at(&m.paths, rib->route[rib->node[n].routes].path)->key.encap);
}

/* --- tables and markers -------------------------------------------------------------------------- */

static unsigned int kept(enum family family, __u32 table)
{
	unsigned int before = m.rib[family].live_routes, n;

	route_of(family, NEW, "A");
	ev.route.table = table;
	apply();
	n = m.rib[family].live_routes - before;
	ev.del = true;
	apply();
	assert_int_equal(m.rib[family].live_routes, before);
	return n;
}

static void only_what_the_default_rules_ask_is_kept(void **state)
{
	assert_int_equal(kept(IP4, RT_TABLE_LOCAL), 1);
	assert_int_equal(kept(IP4, RT_TABLE_MAIN), 1);
	assert_int_equal(kept(IP4, RT_TABLE_DEFAULT), 1);
	assert_int_equal(kept(IP4, 100), 0);
	assert_int_equal(kept(IP6, RT_TABLE_LOCAL), 1);
	assert_int_equal(kept(IP6, RT_TABLE_MAIN), 1);
	assert_int_equal(kept(IP6, RT_TABLE_DEFAULT), 0);
}

static void proxy(int flags, int ifindex)
{
	start(EVENT_NEIGH, flags);
	ev.neigh.family = IP6;
	ev.neigh.ifindex = ifindex;
	ev.neigh.addr.hi = 5;
	ev.neigh.flags = NTF_PROXY;
	ev.neigh.proxy = true;
	apply();
}

/* The kernel may answer for it on any interface: the marker stays with the last of them. */
static void a_proxied_address_is_marked_once(void **state)
{
	proxy(NEW, 2);
	proxy(NEW, 3);
	assert_int_equal(m.rib[IP6].live_routes, 1);
	proxy(DEL, 2);
	assert_int_equal(m.rib[IP6].live_routes, 1);
	proxy(DEL, 3);
	assert_int_equal(m.rib[IP6].live_routes, 0);
	proxy(NEW, 2);
	model_dump_begin(&m, NL_PROXIES);
	model_dump_end(&m, NL_PROXIES);
	assert_int_equal(m.rib[IP6].live_routes, 0);
}

/* --- dumps --------------------------------------------------------------------------------------- */

static void what_a_dump_does_not_tell_is_swept(void **state)
{
	route(IP4, NEW, "A");
	route(IP4, APPEND, "B");
	model_dump_begin(&m, NL_ROUTES4);
	route(IP4, DUMP, "B");
	model_dump_end(&m, NL_ROUTES4);
	check_routes(IP4, " B");
	assert_int_equal(m.table[NL_ROUTES4].changes, 1);
	assert_true(m.rib[IP4].dirty);
}

static void a_dump_that_fails_sweeps_nothing(void **state)
{
	route(IP4, NEW, "A");
	model_dump_begin(&m, NL_ROUTES4);
	model_dump_abort(&m, NL_ROUTES4);
	check_routes(IP4, " A");
	assert_true(m.wanted & 1u << NL_ROUTES4);
}

static void the_order_of_a_dump_is_the_kernels(void **state)
{
	route(IP4, NEW, "A");
	route(IP4, APPEND, "B");
	model_dump_begin(&m, NL_ROUTES4);
	route(IP4, DUMP, "B");
	route(IP4, DUMP, "A");
	model_dump_end(&m, NL_ROUTES4);
	check_routes(IP4, " B A");
}

/* The dump was made before: it may speak of the past, and nothing is amiss. */
static void a_dump_that_is_behind_changes_nothing(void **state)
{
	route(IP4, NEW, "A");
	model_dump_begin(&m, NL_ROUTES4);
	route(IP4, REPLACE, "B");
	route(IP4, DUMP, "A");
	model_dump_end(&m, NL_ROUTES4);
	check_routes(IP4, " B");
	model_dump_begin(&m, NL_ROUTES4);
	route(IP4, DEL, "B");
	route(IP4, DUMP, "B");
	model_dump_end(&m, NL_ROUTES4);
	check_routes(IP4, "");
	assert_int_equal(m.wanted, 0);
}

/* The dump was made after: the notification finds its work done. */
static void a_dump_that_is_ahead_is_caught_up_with(void **state)
{
	route(IP4, NEW, "A");
	model_dump_begin(&m, NL_ROUTES4);
	route(IP4, DUMP, "B");
	check_routes(IP4, " A B");
	route(IP4, REPLACE, "B");
	check_routes(IP4, " B");
	model_dump_end(&m, NL_ROUTES4);
	check_routes(IP4, " B");
}

/* {A} was {A, B} in truth, but that message was lost. */
static void a_dump_that_knows_better_is_repeated(void **state)
{
	route(IP6, NEW, "A");
	model_dump_begin(&m, NL_ROUTES6);
	route(IP6, DEL, "A");
	route(IP6, DUMP, "B");
	model_dump_end(&m, NL_ROUTES6);
	assert_true(m.wanted & 1u << NL_ROUTES6);
}

static void a_notification_vouches_for_its_own_route_alone(void **state)
{
	route(IP4, NEW, "A");
	model_dump_begin(&m, NL_ROUTES4); /* A went silently */
	route(IP4, APPEND, "B");
	model_dump_end(&m, NL_ROUTES4);
	check_routes(IP4, " B");
}

static void netconf(int flags, enum family family, int ifindex, int forwarding)
{
	start(EVENT_NETCONF, flags)->netconf = (struct netconf_event){
		.family = family,
		.ifindex = ifindex,
		.forwarding = forwarding,
		.rp_filter = -1,
		.proxy_neigh = -1,
		.ignore_linkdown = -1,
	};
	apply();
}

static void a_setting_that_was_told_is_younger_than_dumps(void **state)
{
	link_of(NEW, 2, true);
	apply();
	model_dump_begin(&m, NL_LINKS);
	model_dump_begin(&m, NL_NETCONF4);
	netconf(NEW, IP4, 2, 0);
	netconf(DUMP, IP4, 2, 1);
	assert_int_equal(model_link(&m, 2)->forwarding4, 0);
	link_of(DUMP, 2, true);
	apply();
	assert_int_equal(model_link(&m, 2)->forwarding4, 0);
	assert_int_equal(model_link(&m, 2)->forwarding6, 1);
}

static void news_about_ipv6_do_not_hide_the_device(void **state)
{
	model_dump_begin(&m, NL_LINKS);
	link_of(NEW, 2, true);
	ev.link.partial = true;
	apply();
	assert_null(model_link(&m, 2));
	link_of(DUMP, 2, true);
	apply();
	model_dump_end(&m, NL_LINKS);
	assert_non_null(model_link(&m, 2));
	/* Its settings were told before it was there. */
	assert_true(m.wanted & 1u << NL_NETCONF6);
}

static void a_device_without_ipv6_has_it_disabled(void **state)
{
	link_of(NEW, 2, true);
	ev.link.has_ip6_conf = false;
	apply();
	assert_true(model_link(&m, 2)->ev.ip6.disable > 0);
}

/* --- rules --------------------------------------------------------------------------------------- */

static void rule(int flags, __u32 priority, __u32 table)
{
	start(EVENT_RULE, flags)->rule = (struct rule_event){
		.family = IP6,
		.priority = priority,
		.table = table,
		.action = FR_ACT_TO_TBL,
	};
	apply();
}

static void a_dump_of_rules_that_was_crossed_does_not_count(void **state)
{
	__u32 priority = 0;

	rule(NEW, 0, RT_TABLE_LOCAL);
	rule(NEW, 32766, RT_TABLE_MAIN);
	assert_true(model_rules_default(&m, IP6, &priority));
	model_dump_begin(&m, NL_RULES6);
	rule(DUMP, 0, RT_TABLE_LOCAL);
	rule(NEW, 100, 100); /* the dump was made before */
	rule(DUMP, 32766, RT_TABLE_MAIN);
	model_dump_end(&m, NL_RULES6);
	assert_false(model_rules_default(&m, IP6, &priority));
	assert_int_equal(priority, 100);
	assert_true(m.wanted & 1u << NL_RULES6);
	rule(NEW, 0, RT_TABLE_LOCAL); /* twice */
	rule(DEL, 100, 100);
	assert_false(model_rules_default(&m, IP6, &priority));
	rule(DEL, 0, RT_TABLE_LOCAL);
	assert_true(model_rules_default(&m, IP6, &priority));
}

/* --- what goes silently -------------------------------------------------------------------------- */

static void an_object_is_not_used_until_its_routes_were_read(void **state)
{
	nexthop(NEW, 3, 2);
	route_by(IP4, NEW, 3);
	nexthop(DEL, 3, 2);
	assert_null(model_nexthop(&m, 3));
	assert_true(m.wanted & 1u << NL_ROUTES4);
	nexthop(NEW, 3, 4); /* its old routes are gone, and nobody said so */
	assert_null(model_nexthop(&m, 3));
	dump_routes(IP4);
	assert_null(model_nexthop(&m, 3));
	dump_routes(IP6);
	assert_non_null(model_nexthop(&m, 3));
	m.wanted = 0;
	nexthop(DEL, 3, 4); /* without routes there is nothing to read */
	assert_int_equal(m.wanted, 0);
}

static void objects_go_with_the_carrier_of_their_device(void **state)
{
	link_of(NEW, 2, true);
	apply();
	nexthop(NEW, 3, 2);
	nexthop(NEW, 4, 5);
	link_of(NEW, 2, true);
	ev.link.carrier = false;
	apply();
	assert_null(model_nexthop(&m, 3));
	assert_non_null(model_nexthop(&m, 4));
	assert_true(m.wanted & 1u << NL_NEXTHOPS);
}

static void a_device_waits_for_its_routes(void **state)
{
	link_of(NEW, 2, true);
	apply();
	assert_false(model_link(&m, 2)->settle.on);
	link_of(NEW, 2, false);
	apply();
	dump_routes(IP4);
	dump_routes(IP6);
	assert_false(model_link(&m, 2)->settle.on);
	/* While it was down another one took the last legs of some. */
	link_of(NEW, 2, true);
	apply();
	assert_true(model_link(&m, 2)->settle.on);
	dump_routes(IP4);
	assert_true(model_link(&m, 2)->settle.on);
	dump_routes(IP6);
	assert_false(model_link(&m, 2)->settle.on);
}

static void a_device_of_an_old_number_waits_too(void **state)
{
	link_of(NEW, 2, true);
	apply();
	route(IP4, NEW, "A"); /* on 2 */
	link_of(DEL, 2, true);
	apply();
	link_of(NEW, 2, true);
	apply();
	assert_true(model_link(&m, 2)->reborn);
	dump_routes(IP4);
	dump_routes(IP6);
	assert_false(model_link(&m, 2)->reborn);
}

/* --- room and paths ------------------------------------------------------------------------------ */

static void beyond_its_size_the_family_is_the_kernels(void **state)
{
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		route_of(IP4, NEW, "A");
		ev.route.dst_len = 32;
		ev.route.dst.hi = (__u64)(i * 0x9e3779b1u) << 32;
		if (model_apply(&m, &ev))
			break;
	}
	assert_in_range(i, 64, 900);
	assert_true(m.full[IP4]);
	assert_false(m.full[IP6]);
	assert_true(told.policy);
	/* What is still there fits. */
	dump_routes(IP4);
	assert_false(m.full[IP4]);
	assert_int_equal(m.rib[IP4].live_routes, 0);
}

static void equal_content_is_one_path(void **state)
{
	__u32 used;

	route(IP4, NEW, "A");
	used = m.paths.used;
	for (unsigned int i = 0; i < 10; i++) {
		route_of(IP4, NEW, "A");
		ev.route.dst.hi = (__u64)i << 48;
		apply();
	}
	assert_int_equal(m.paths.used, used);
	route(IP4, REPLACE, "B");
	assert_int_equal(m.paths.used, used + 1);
	/* Without routes it is parked, and found again. */
	route(IP4, REPLACE, "C");
	assert_non_null(m.paths.parked);
	route(IP4, REPLACE, "B");
	assert_int_equal(m.paths.used, used + 2);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(append_goes_behind_its_equals_and_add_before),
		test(replace_takes_the_place_of_the_first),
		test(a_changed_object_moves_no_route),
		test(routes_that_differ_in_protocol_are_two),
		test(what_is_deleted_is_what_was_told),
		test(several_routes_are_dumped_to_be_sure),
		test(tos_makes_another_route),
		test(a_message_has_all_siblings),
		test(the_last_sibling_has_no_weight),
		test(a_route_without_gateway_stands_alone),
		test(advertised_routes_join_only_if_a_user_made_them),
		test(sources_make_other_routes),
		test(the_encapsulation_goes_with_its_leg),
		test(only_what_the_default_rules_ask_is_kept),
		test(a_proxied_address_is_marked_once),
		test(what_a_dump_does_not_tell_is_swept),
		test(a_dump_that_fails_sweeps_nothing),
		test(the_order_of_a_dump_is_the_kernels),
		test(a_dump_that_is_behind_changes_nothing),
		test(a_dump_that_is_ahead_is_caught_up_with),
		test(a_dump_that_knows_better_is_repeated),
		test(a_notification_vouches_for_its_own_route_alone),
		test(a_setting_that_was_told_is_younger_than_dumps),
		test(news_about_ipv6_do_not_hide_the_device),
		test(a_device_without_ipv6_has_it_disabled),
		test(a_dump_of_rules_that_was_crossed_does_not_count),
		test(an_object_is_not_used_until_its_routes_were_read),
		test(objects_go_with_the_carrier_of_their_device),
		test(a_device_waits_for_its_routes),
		test(a_device_of_an_old_number_waits_too),
		test(beyond_its_size_the_family_is_the_kernels),
		test(equal_content_is_one_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

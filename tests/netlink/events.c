/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * events: shows what netlink/ makes of the kernel's answers, as JSON, for the tests in Python.
 *
 *	events dump TABLE...                    an array of events for each table, a line each
 *	events monitor control|neighbours       an event a line, from the line "ready" on, until
 *	                                        standard input ends
 *	events time TABLE                       how many events, in how many milliseconds
 *	events route DST SRC|- IIF lookup|match what nl_query_route() answers
 */
#include <errno.h>
#include <jansson.h>
#include <linux/fib_rules.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "netlink/nl.h"

static const char *const kinds[EVENT_KINDS] = {
	[EVENT_LINK] = "link",	     [EVENT_ADDR] = "addr",   [EVENT_RULE] = "rule",
	[EVENT_NEXTHOP] = "nexthop", [EVENT_ROUTE] = "route", [EVENT_NEIGH] = "neigh",
	[EVENT_NETCONF] = "netconf",
};

static const char *const tables[NL_TABLES] = {
	[NL_LINKS] = "links",	    [NL_ADDRS] = "addrs",	[NL_RULES4] = "rules4",
	[NL_RULES6] = "rules6",	    [NL_NETCONF4] = "netconf4", [NL_NETCONF6] = "netconf6",
	[NL_NEXTHOPS] = "nexthops", [NL_ROUTES4] = "routes4",	[NL_ROUTES6] = "routes6",
	[NL_NEIGHS] = "neighs",	    [NL_PROXIES] = "proxies",
};

static void put_int(json_t *o, const char *key, json_int_t value)
{
	json_object_set_new(o, key, json_integer(value));
}

static void put_bool(json_t *o, const char *key, bool value)
{
	json_object_set_new(o, key, json_boolean(value));
}

static void put_text(json_t *o, const char *key, const char *value)
{
	json_object_set_new(o, key, json_string(value));
}

static void put_addr(json_t *o, const char *key, enum family f, struct addr addr)
{
	char buf[ADDR_STRLEN];

	put_text(o, key, addr_format(f, addr, buf));
}

static void put_prefix(json_t *o, const char *key, enum family f, struct addr addr,
		       unsigned int len)
{
	char buf[PREFIX_STRLEN];

	put_text(o, key, prefix_format(f, addr, len, buf));
}

static void put_mac(json_t *o, const struct lladdr *mac)
{
	char buf[MAC_STRLEN];

	put_text(o, "mac", mac->len == 6 ? mac_format(mac->bytes, buf) : "");
}

static void put_family(json_t *o, enum family f)
{
	put_int(o, "family", f == IP4 ? 4 : 6);
}

static void show_link(json_t *o, const struct link_event *link)
{
	put_int(o, "ifindex", link->ifindex);
	put_bool(o, "partial", link->partial);
	put_text(o, "name", link->name);
	put_bool(o, "up", link->up);
	put_bool(o, "carrier", link->carrier);
	put_bool(o, "ether", link->ether);
	put_mac(o, &link->mac);
	put_int(o, "mtu", link->mtu);
	put_int(o, "master", link->master);
	put_int(o, "lower", link->lower);
	put_int(o, "lower_nsid", link->lower_nsid);
	put_text(o, "kind", link->kind);
	put_text(o, "slave_kind", link->slave_kind);
	put_int(o, "vid", link->vid);
	put_int(o, "xdp_prog_id", link->xdp_prog_id);
	put_bool(o, "has_ip4_conf", link->has_ip4_conf);
	put_bool(o, "has_ip6_conf", link->has_ip6_conf);
	json_object_set_new(
		o, "ip4",
		json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "forwarding",
			  link->ip4.forwarding, "rp_filter", link->ip4.rp_filter, "accept_local",
			  link->ip4.accept_local, "send_redirects", link->ip4.send_redirects,
			  "route_localnet", link->ip4.route_localnet, "bc_forwarding",
			  link->ip4.bc_forwarding, "proxy_arp", link->ip4.proxy_arp, "shared_media",
			  link->ip4.shared_media, "ignore_routes_with_linkdown",
			  link->ip4.ignore_routes_with_linkdown));
	json_object_set_new(o, "ip6",
			    json_pack("{s:i, s:i, s:i}", "forwarding", link->ip6.forwarding,
				      "disable_ipv6", link->ip6.disable, "mtu", link->ip6.mtu));
}

static void show_addr(json_t *o, const struct addr_event *addr)
{
	put_family(o, addr->family);
	put_int(o, "ifindex", addr->ifindex);
	put_addr(o, "addr", addr->family, addr->addr);
	put_int(o, "prefixlen", addr->prefixlen);
}

static void show_rule(json_t *o, const struct rule_event *rule)
{
	put_family(o, rule->family);
	put_int(o, "priority", rule->priority);
	put_int(o, "table", rule->table);
	put_bool(o, "lookup", rule->action == FR_ACT_TO_TBL);
	put_bool(o, "selective", rule->selective);
}

static json_t *show_leg(const struct leg *leg)
{
	json_t *o = json_object();

	put_int(o, "ifindex", leg->ifindex);
	put_int(o, "weight", leg->weight);
	put_int(o, "flags", leg->flags);
	put_bool(o, "encap", leg->encap);
	if (leg->has_gateway)
		put_addr(o, "gateway", leg->gateway_family, leg->gateway);
	return o;
}

static void show_nexthop(json_t *o, const struct nexthop_event *nh)
{
	json_t *members = json_array();

	put_int(o, "id", nh->id);
	put_bool(o, "blackhole", nh->blackhole);
	put_bool(o, "fdb", nh->fdb);
	put_bool(o, "group", nh->group);
	put_bool(o, "resilient", nh->resilient);
	if (!nh->group)
		put_family(o, nh->family);
	json_object_set_new(o, "leg", show_leg(&nh->leg));
	for (unsigned int i = 0; i < nh->members; i++)
		json_array_append_new(members, json_pack("[I, i]", (json_int_t)nh->member[i].id,
							 nh->member[i].weight));
	json_object_set_new(o, "members", members);
}

static void show_route(json_t *o, const struct route_event *route)
{
	json_t *legs = json_array();

	put_family(o, route->family);
	put_prefix(o, "dst", route->family, route->dst, route->dst_len);
	put_prefix(o, "src", route->family, route->src, route->src_len);
	put_int(o, "table", route->table);
	put_int(o, "priority", route->priority);
	put_int(o, "tos", route->tos);
	put_int(o, "type", route->type);
	put_int(o, "protocol", route->protocol);
	put_int(o, "scope", route->scope);
	put_int(o, "nhid", route->nhid);
	put_int(o, "mtu", route->mtu);
	put_bool(o, "mtu_lock", route->mtu_lock);
	put_bool(o, "expires", route->pref_expires);
	put_bool(o, "multipath", route->multipath);
	for (unsigned int i = 0; i < route->legs; i++)
		json_array_append_new(legs, show_leg(&route->leg[i]));
	json_object_set_new(o, "legs", legs);
}

static void show_neigh(json_t *o, const struct neigh_event *neigh)
{
	put_family(o, neigh->family);
	put_int(o, "ifindex", neigh->ifindex);
	put_addr(o, "addr", neigh->family, neigh->addr);
	put_mac(o, &neigh->mac);
	put_int(o, "state", neigh->state);
	put_int(o, "flags", neigh->flags);
	put_bool(o, "proxy", neigh->proxy);
}

static void show_netconf(json_t *o, const struct netconf_event *conf)
{
	put_family(o, conf->family);
	put_int(o, "ifindex", conf->ifindex);
	put_int(o, "forwarding", conf->forwarding);
	put_int(o, "rp_filter", conf->rp_filter);
	put_int(o, "proxy_neigh", conf->proxy_neigh);
	put_int(o, "ignore_linkdown", conf->ignore_linkdown);
}

static json_t *show(const struct event *ev)
{
	json_t *o = json_object();

	put_text(o, "event", kinds[ev->kind]);
	put_bool(o, "del", ev->del);
	put_bool(o, "dump", ev->dump);
	put_bool(o, "replace", ev->replace);
	put_bool(o, "append", ev->append);
	switch (ev->kind) {
	case EVENT_LINK:
		show_link(o, &ev->link);
		break;
	case EVENT_ADDR:
		show_addr(o, &ev->addr);
		break;
	case EVENT_RULE:
		show_rule(o, &ev->rule);
		break;
	case EVENT_NEXTHOP:
		show_nexthop(o, &ev->nexthop);
		break;
	case EVENT_ROUTE:
		show_route(o, &ev->route);
		break;
	case EVENT_NEIGH:
		show_neigh(o, &ev->neigh);
		break;
	default:
		show_netconf(o, &ev->netconf);
	}
	return o;
}

static void print_json(json_t *value)
{
	json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
	putchar('\n');
	json_decref(value);
}

static void append_event(const struct event *ev, void *array)
{
	json_array_append_new(array, show(ev));
}

static void print_event(const struct event *ev, void *arg)
{
	print_json(show(ev));
}

static void count_event(const struct event *ev, void *count)
{
	++*(unsigned long *)count;
}

static int fail(int err, const char *what)
{
	fprintf(stderr, "events: %s: %s\n", what, strerror(-err));
	return 1;
}

static int find_table(const char *name)
{
	for (int i = 0; i < NL_TABLES; i++) {
		if (!strcmp(tables[i], name))
			return i;
	}
	fprintf(stderr, "events: no table %s\n", name);
	exit(2);
}

static int do_dump(char **names)
{
	json_t *array;
	int err;

	for (; *names; names++) {
		array = json_array();
		err = nl_dump_all(find_table(*names), append_event, array);
		if (err)
			return fail(err, *names);
		print_json(array);
	}
	return 0;
}

/* As a daemon reads: a step whenever there is something. */
static int do_time(const char *name)
{
	struct nl_dump *dump = NULL;
	struct timespec from, to;
	struct pollfd pollfd = { .events = POLLIN };
	unsigned long count = 0;
	double ms;
	int ret;

	clock_gettime(CLOCK_MONOTONIC, &from);
	ret = nl_dump_open(&dump) ?: nl_dump_start(dump, find_table(name)) ?: 1;
	if (ret < 0)
		return fail(ret, name);
	pollfd.fd = nl_dump_fd(dump);
	while (ret == 1 && poll(&pollfd, 1, -1) >= 0)
		ret = nl_dump_step(dump, count_event, &count);
	clock_gettime(CLOCK_MONOTONIC, &to);
	nl_dump_free(dump);
	if (ret)
		return fail(ret, name);

	ms = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
	print_json(json_pack("{s:I, s:f}", "events", (json_int_t)count, "ms", ms));
	return 0;
}

static int do_monitor(const char *channel)
{
	enum nl_channel which = strcmp(channel, "neighbours") ? NL_CONTROL : NL_NEIGHBOURS;
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .events = POLLIN } };
	struct nl_monitor *monitor = NULL;
	int granted, err;

	err = nl_monitor_open(which, 8 << 20, &monitor, &granted);
	if (err)
		return fail(err, channel);
	fds[1].fd = nl_monitor_fd(monitor);
	setlinebuf(stdout);
	puts("ready");
	while (!err && poll(fds, 2, -1) > 0 && !fds[0].revents)
		err = nl_monitor_drain(monitor, 1000, print_event, NULL);
	if (!err)
		err = nl_monitor_drain(monitor, 1000, print_event, NULL);
	nl_monitor_free(monitor);
	return err ? fail(err, channel) : 0;
}

static int do_route(char **argv)
{
	static struct nl_answer answer;
	struct nl_query *query = NULL;
	struct addr dst, src;
	enum family f;
	json_t *o = json_object(), *legs = json_array();
	bool match = !strcmp(argv[3], "match"), has_src = strcmp(argv[1], "-");
	int err;

	err = addr_parse(argv[0], &f, &dst);
	if (!err && has_src)
		err = addr_parse(argv[1], &f, &src);
	if (!err)
		err = nl_query_open(&query);
	if (!err)
		err = nl_query_route(query, f, dst, has_src ? &src : NULL, atoi(argv[2]), match,
				     &answer);
	nl_query_free(query);
	if (err)
		return fail(err, argv[0]);

	put_text(o, "error", answer.error ? strerrorname_np(-answer.error) : "");
	put_int(o, "type", answer.type);
	put_int(o, "oif", answer.oif);
	put_int(o, "table", answer.table);
	put_int(o, "mtu", answer.mtu);
	if (answer.has_gateway)
		put_addr(o, "gateway", answer.gateway_family, answer.gateway);
	put_prefix(o, "prefix", f, answer.prefix, answer.prefixlen);
	for (unsigned int i = 0; i < answer.legs; i++)
		json_array_append_new(legs, show_leg(&answer.leg[i]));
	json_object_set_new(o, "legs", legs);
	print_json(o);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "dump"))
		return do_dump(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "monitor"))
		return do_monitor(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "time"))
		return do_time(argv[2]);
	if (argc == 6 && !strcmp(argv[1], "route"))
		return do_route(argv + 2);
	fputs("usage: events dump TABLE... | monitor CHANNEL | time TABLE | route DST SRC IIF HOW\n",
	      stderr);
	return 2;
}

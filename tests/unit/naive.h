/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A deliberately naive kernel: lists, searched from end to end. Each operation changes the lists as
 * the kernel's functions do (named where they matter) and emits the notifications that the kernel
 * would send, in its order and in the shape that netlink/parse.c gives them; what the kernel does
 * without a word is done without an event. Not built on anything of model/ or fib/ but their words.
 */
#pragma once

#include "model/model.h"

enum {
	NAIVE_LINKS = 6, /* ifindex 1..NAIVE_LINKS - 1; 1 is lo */
	NAIVE_LEGS = 8,
	NAIVE_ROUTES = 600,
	NAIVE_OBJECTS = 12,
	NAIVE_NEIGHS = 320,
	NAIVE_HOSTS = 24,
	NAIVE_RULES = 8,
};

struct naive_link {
	bool there;
	struct link_event ev;
	int ignore_linkdown[FAMILIES];
	bool xmit, sg; /* XDP features: not the kernel's to tell by rtnetlink */
};

/* IPv6: one leg each; what has the same place, metric and a gateway is a sibling (struct fib6_info). */
struct naive_route {
	enum family family;
	struct addr dst, src;
	unsigned int len, src_len;
	__u32 table, priority, nhid, mtu;
	__u8 tos, type, protocol;
	bool expires; /* learned by the kernel from an RA (RTF_ADDRCONF) */
	unsigned int legs;
	struct leg leg[NAIVE_LEGS];
};

struct naive_object {
	__u32 id;
	enum family family;
	bool blackhole, group, resilient;
	struct leg leg;
	unsigned int members;
	struct {
		__u32 id;
		unsigned int weight;
	} member[NAIVE_LEGS];
};

struct naive {
	struct naive_link link[NAIVE_LINKS];
	struct naive_route
		route[NAIVE_ROUTES]; /* of one place: in the order in which they are tried */
	unsigned int routes;
	struct naive_object object[NAIVE_OBJECTS];
	unsigned int objects;
	struct neigh_event neigh[NAIVE_NEIGHS];
	unsigned int neighs;
	struct addr_event own[NAIVE_HOSTS];
	unsigned int owns;
	struct neigh_event proxy[NAIVE_HOSTS];
	unsigned int proxies;
	struct rule_event rule[FAMILIES][NAIVE_RULES];
	unsigned int rules[FAMILIES];
	struct settings settings;
	int ignore_linkdown_default;			 /* of new devices */
	void (*emit)(void *arg, const struct event *ev); /* NULL: nobody listens */
	void *arg;
};

/* What the kernel would do with a packet to an address, as far as xfib means to do the same. */
struct naive_answer {
	__u32 verdict; /* XFIB_FORWARDED: by one of the legs; else the punt that is expected */
	__u32 mtu;
	bool object; /* the legs are a nexthop object's */
	unsigned int legs;
	struct leg leg[NAIVE_LEGS * NAIVE_LEGS];
};

/* Loopback and NAIVE_LINKS - 2 Ethernet devices, up; default rules; everything that forwarding needs on. */
void naive_init(struct naive *k);

/* flags: NLM_F_REPLACE, EXCL, CREATE, APPEND. 0 or -errno, as RTM_NEWROUTE answers. */
int naive_route_new(struct naive *k, const struct naive_route *route, unsigned int flags);
/* IPv6 with siblings: all of them at once, or this one alone. */
void naive_route_del(struct naive *k, unsigned int i, bool siblings);

void naive_link_set(struct naive *k, int ifindex, bool up, bool carrier);
/* Something else about a device has changed: tells all of it. */
void naive_link_changed(struct naive *k, int ifindex);
void naive_link_mtu(struct naive *k, int ifindex, unsigned int mtu);
/* IPv6 of a device has changed: tells that alone. */
void naive_link6_changed(struct naive *k, int ifindex);
void naive_link_add(struct naive *k, int ifindex); /* as new, up */
void naive_link_del(struct naive *k, int ifindex);
void naive_netconf(struct naive *k, enum family family, int ifindex, int forwarding, int rp_filter,
		   int ignore_linkdown);

int naive_object_new(struct naive *k,
		     const struct naive_object *object); /* replaces one of the same id */
void naive_object_del(struct naive *k, __u32 id);

void naive_neigh_set(struct naive *k, const struct neigh_event *neigh);
void naive_neigh_del(struct naive *k, unsigned int i);
const struct neigh_event *naive_neigh(const struct naive *k, enum family family, int ifindex,
				      struct addr addr);
void naive_own_add(struct naive *k, const struct addr_event *own);
void naive_own_del(struct naive *k, unsigned int i);
void naive_proxy_add(struct naive *k, int ifindex, struct addr addr);
void naive_proxy_del(struct naive *k, unsigned int i);
void naive_rule_add(struct naive *k, const struct rule_event *rule);
void naive_rule_del(struct naive *k, enum family family, unsigned int i);

/*
 * A dump, as recvmsg() gives it: each call emits what the next prefix has (or all of a table that is
 * not a routing table) as it is now. *cursor starts as {}; false: it is complete.
 */
struct naive_cursor {
	bool started;
	__u32 table;
	struct addr dst;
	unsigned int len;
};
bool naive_dump(const struct naive *k, enum nl_table table, struct naive_cursor *cursor,
		void (*emit)(void *arg, const struct event *ev), void *arg);

void naive_lookup(const struct naive *k, enum family family, struct addr addr,
		  struct naive_answer *answer);
/* Whether nothing but the default rules is there. */
bool naive_rules_default(const struct naive *k, enum family family);

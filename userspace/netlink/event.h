/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel said, in our words: one event for each netlink message that matters, made by
 * parse.c from bytes, consumed by model/. Pure data; attributes that a message did not carry have
 * the value that is named here.
 */
#pragma once

#include <net/if.h>

#include "common/addr.h"

/* A MAC is valid only if len == 6; anything longer than 8 bytes is cut, len keeps the true length. */
struct lladdr {
	__u8 bytes[8];
	__u8 len;
};

/* IFLA_INET_CONF indices that the fast path depends on; -1 where the message has none. */
struct ip4_conf {
	int forwarding, rp_filter, accept_local, send_redirects, route_localnet, bc_forwarding,
		proxy_arp, ignore_routes_with_linkdown, shared_media;
};

/*
 * partial: IPv6 alone has changed; only ifindex, has_ip6_conf and ip6 say anything. Without
 * has_ip6_conf the device lost its IPv6. Never together with ev->del.
 */
struct link_event {
	int ifindex;
	bool partial;
	char name[IFNAMSIZ];
	bool up;	   /* IFF_UP */
	bool carrier;	   /* IFF_LOWER_UP and not IFF_DORMANT */
	bool ether;	   /* ARPHRD_ETHER and neither IFF_NOARP, IFF_LOOPBACK nor IFF_POINTOPOINT */
	struct lladdr mac;
	unsigned int mtu;
	int master;	   /* IFLA_MASTER, 0: none */
	int lower;	   /* IFLA_LINK, 0: none */
	int lower_nsid;	   /* IFLA_LINK_NETNSID, -1: same namespace */
	char kind[16];	   /* IFLA_INFO_KIND, "" if none (a physical device) */
	char slave_kind[16]; /* IFLA_INFO_SLAVE_KIND: "bridge", "bond", "vrf", ... */
	unsigned int vid;  /* of a plain "vlan" device: 802.1Q, reorder_hdr, no egress map; else 0 */
	__u32 xdp_prog_id; /* 0: none */
	bool has_ip4_conf, has_ip6_conf;
	struct ip4_conf ip4;
	struct { /* IFLA_INET6_CONF; -1 where absent */
		int forwarding, disable, mtu;
	} ip6;
};

struct addr_event {
	enum family family;
	int ifindex;
	struct addr addr; /* IFA_LOCAL, else IFA_ADDRESS */
	unsigned int prefixlen;
};

/* A rule is only told apart from the default ones: local 0, main 32766, default 32767. */
struct rule_event {
	enum family family;
	__u32 priority, table;
	__u8 action;	/* FR_ACT_* */
	bool selective; /* has any selector, inversion, goto, l3mdev, suppressor or flow */
};

enum { NEXTHOP_LEGS_MAX = 512 };

struct leg {
	int ifindex;		 /* 0: none */
	bool has_gateway;
	enum family gateway_family; /* may differ from the route's (RTA_VIA, RFC 5549) */
	struct addr gateway;
	unsigned int weight;	 /* 1..65536: rtnh_hops + 1 */
	unsigned int flags;	 /* RTNH_F_* */
	bool encap;		 /* RTA_ENCAP_TYPE other than LWTUNNEL_ENCAP_NONE */
};

struct nexthop_event {
	__u32 id;
	enum family family;
	bool blackhole, fdb;
	bool group, resilient;	/* a group: no family, member ids and weights below; else one leg */
	struct leg leg;
	unsigned int members;
	bool truncated;		/* more than NEXTHOP_LEGS_MAX */
	struct { __u32 id; unsigned int weight; } member[NEXTHOP_LEGS_MAX];
};

struct route_event {
	enum family family;
	struct addr dst, src;
	unsigned int dst_len, src_len;
	__u32 table, priority;
	__u8 tos, type /* RTN_* */, protocol, scope;
	unsigned int flags;	/* rtm_flags: RTM_F_*, RTNH_F_* */
	__u32 nhid;		/* RTA_NH_ID, 0: none; legs may be given beside it */
	__u32 mtu;		/* RTAX_MTU, 0: none */
	bool mtu_lock;
	bool cloned;		/* RTM_F_CLONED: a cached route, only from parse_answer() */
	bool pref_expires;	/* the route has a lifetime */
	bool flow;		/* some leg has a realm (RTA_FLOW) */
	bool multipath;		/* came as RTA_MULTIPATH */
	unsigned int legs;
	bool truncated;		/* more than NEXTHOP_LEGS_MAX */
	struct leg leg[NEXTHOP_LEGS_MAX];
};

struct neigh_event {
	enum family family;
	int ifindex;
	struct addr addr;
	struct lladdr mac;
	unsigned int state;	/* NUD_* */
	unsigned int flags;	/* NTF_* and, in the upper half, NTF_EXT_* << 16 */
	bool proxy;		/* NTF_PROXY: addr is answered for, mac and state mean nothing */
	__u32 used_ms;		/* NDA_CACHEINFO, 0 if absent */
};

enum { NETCONF_ALL = -1, NETCONF_DEFAULT = -2 };

/* ev->del: the interface lost the family. */
struct netconf_event { /* -1 where the message has none */
	enum family family;
	int ifindex; /* or NETCONF_ALL, NETCONF_DEFAULT */
	int forwarding, rp_filter, proxy_neigh, ignore_linkdown;
};

enum event_kind {
	EVENT_LINK, EVENT_ADDR, EVENT_RULE, EVENT_NEXTHOP, EVENT_ROUTE, EVENT_NEIGH, EVENT_NETCONF,
	EVENT_KINDS
};

struct event {
	enum event_kind kind;
	bool del;
	bool dump;		/* part of a dump, not a notification */
	bool replace, append;	/* NLM_F_REPLACE, NLM_F_APPEND of a notification */
	union {
		struct link_event link;
		struct addr_event addr;
		struct rule_event rule;
		struct nexthop_event nexthop;
		struct route_event route;
		struct neigh_event neigh;
		struct netconf_event netconf;
	};
};

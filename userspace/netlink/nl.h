/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rtnetlink sockets: notifications (one socket for neighbours, one for all else, so that an ARP
 * flood cannot lose a route), dumps that are read a buffer at a time between other work, and
 * single questions. Nothing here keeps state about the kernel; lost messages are reported, never
 * patched over.
 */
#pragma once

#include "event.h"

/* Called for each parsed event. A malformed notification is counted; it fails a dump (-EBADMSG). */
typedef void (*nl_event_fn)(const struct event *ev, void *arg);

enum nl_channel { NL_CONTROL /* all but neighbours */, NL_NEIGHBOURS };

struct nl_monitor;

/*
 * Opens a non-blocking socket subscribed to the channel's groups: links, addresses (4, 6), rules
 * (4, 6), routes (4, 6), nexthops, netconf (4, 6), IPv6 ifinfo; or neighbours. rcvbuf bytes are
 * asked for with SO_RCVBUFFORCE (falling back to SO_RCVBUF); *granted is what the kernel gave, in the
 * same measure (getsockopt() says twice that).
 */
int nl_monitor_open(enum nl_channel channel, int rcvbuf, struct nl_monitor **monitor, int *granted);
void nl_monitor_free(struct nl_monitor *monitor); /* NULL is fine */
int nl_monitor_fd(const struct nl_monitor *monitor);

/*
 * Reads until the socket is empty or `budget` messages were read. Returns 0 when empty, 1 when the
 * budget ran out, -ENOBUFS when messages were lost (the socket works on; dump again), else -errno.
 */
int nl_monitor_drain(struct nl_monitor *monitor, unsigned int budget, nl_event_fn fn, void *arg);

/* Malformed messages seen so far, and the static reason of the last one (NULL: none). */
unsigned long nl_monitor_malformed(const struct nl_monitor *monitor, const char **why);

enum nl_table {
	NL_LINKS, NL_ADDRS, NL_RULES4, NL_RULES6, NL_NETCONF4, NL_NETCONF6, NL_NEXTHOPS, NL_ROUTES4,
	NL_ROUTES6, NL_NEIGHS, NL_PROXIES /* NTF_PROXY neighbours */, NL_TABLES
};

struct nl_dump;

/* One socket for dumps, one after the other. Strict checking on (cached routes are left out). */
int nl_dump_open(struct nl_dump **dump);
void nl_dump_free(struct nl_dump *dump);
int nl_dump_fd(const struct nl_dump *dump);

/* Asks for a table. A dump that is under way is abandoned: its remaining messages are ignored. */
int nl_dump_start(struct nl_dump *dump, enum nl_table table);

/*
 * Reads what one recv() gives, without blocking; events have ev->dump set. Returns 1 while there is
 * more to come (wait for the fd), 0 when the table is complete, -EINTR when the kernel says that it
 * changed meanwhile (NLM_F_DUMP_INTR, or the socket overran): start again; else -errno.
 */
int nl_dump_step(struct nl_dump *dump, nl_event_fn fn, void *arg);

/* The whole table at once, blocking: for the CLI. Retries an interrupted dump up to 5 times. */
int nl_dump_all(enum nl_table table, nl_event_fn fn, void *arg);

/*
 * What the kernel would do with a packet: RTM_GETROUTE with RTM_F_FIB_MATCH unset, i.e. the result
 * for this very destination. src may be NULL, iif 0 = locally sent. type is RTN_*; for an error that
 * the kernel answers as one (no route, unreachable, prohibit, blackhole, a martian source) *answer
 * says so in `error` (-ENETUNREACH, -EHOSTUNREACH, -EACCES, -EINVAL, -EXDEV, or -EMSGSIZE, which is no
 * answer: the kernel has no words for it) and 0 is returned.
 */
struct nl_answer {
	int error;
	__u8 type;
	int oif;
	bool has_gateway;
	enum family gateway_family;
	struct addr gateway;
	__u32 table;
	__u32 mtu;
	/* With fib_match: the route that matched, all of its legs. */
	struct addr prefix;
	unsigned int prefixlen;
	unsigned int legs;
	struct leg leg[NEXTHOP_LEGS_MAX];
};

struct nl_query;
int nl_query_open(struct nl_query **query);
void nl_query_free(struct nl_query *query);
/* fib_match: ask for the matching route itself (RTM_F_FIB_MATCH) instead of the resolved path. */
int nl_query_route(struct nl_query *query, enum family f, struct addr dst, const struct addr *src,
		   int iif, bool fib_match, struct nl_answer *answer);

/*
 * Asks the kernel to probe a neighbour (NTF_USE). The caller has checked that its state is STALE and
 * that it is not PERMANENT, NOARP, extern_learn or managed. Fire and forget.
 */
int nl_query_probe(struct nl_query *query, enum family f, int ifindex, struct addr addr);

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where host policy is read: a request socket and one for notifications on each of three netlink
 * buses, some files of /proc, and BPF. Every look reads everything of its kind anew. A subsystem that
 * the kernel does not have is an empty one; any other error is a finding, since the packets must then
 * stay in the kernel.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_hook.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <string.h>

#include "hostpolicy.h"
#include "hostpolicy_bpf.h"
#include "hostpolicy_parse.h"
#include "socket.h"

enum { DUMP_TRIES = 10, DRAIN_MAX = 4096, CLASSIFIERS = 1024 };

struct source {
	struct nl_talk talk;	    /* opened by the first look that can */
	struct mnl_socket *changes; /* NULL: no notifications */
};

/* Where connections may be tracked from. They are many, so each kind is read again when it changed. */
enum tracker { RULES, SETS, OBJECTS, TRACKERS };

struct trackers {
	char tracking[FAMILIES][XFIB_REASON]; /* by one of this kind */
	bool known;
};

struct hostpolicy {
	struct source source[POLICY_KINDS];
	unsigned int absent; /* bits of enum table */
	struct classifier ask[CLASSIFIERS];
	unsigned int asks;
	struct trackers trackers[TRACKERS];
	struct nl_buffer buffer; /* of notifications */
};

static const struct {
	int bus;
	unsigned int group;
} sources[POLICY_KINDS] = {
	[POLICY_NETFILTER] = { NETLINK_NETFILTER, NFNLGRP_NFTABLES },
	[POLICY_XFRM] = { NETLINK_XFRM, XFRMNLGRP_POLICY },
	[POLICY_TC] = { NETLINK_ROUTE, RTNLGRP_TC },
};

/* --- notifications ---------------------------------------------------------------------------- */

static void follow(struct source *s, enum policy_kind kind)
{
	_cleanup_mnl_socket_ struct mnl_socket *socket = NULL;
	int group = sources[kind].group;

	if (nl_socket_open(sources[kind].bus, &socket))
		return;
	if (!mnl_socket_setsockopt(socket, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
		s->changes = TAKE_PTR(socket);
}

int hostpolicy_open(struct hostpolicy **hp)
{
	struct hostpolicy *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	for (int kind = 0; kind < POLICY_KINDS; kind++)
		follow(&h->source[kind], kind);
	*hp = h;
	return 0;
}

void hostpolicy_free(struct hostpolicy *hp)
{
	if (!hp)
		return;
	for (int kind = 0; kind < POLICY_KINDS; kind++) {
		if (hp->source[kind].changes)
			mnl_socket_close(hp->source[kind].changes);
		nl_talk_close(&hp->source[kind].talk);
	}
	free(hp);
}

int hostpolicy_fd(const struct hostpolicy *hp, enum policy_kind kind)
{
	const struct source *s = &hp->source[kind];

	return s->changes ? mnl_socket_get_fd(s->changes) : -1;
}

static void forget_trackers(struct hostpolicy *hp)
{
	for (int t = 0; t < TRACKERS; t++)
		hp->trackers[t].known = false;
}

/* Of a family that none of its kind tracks. */
static bool begins_to_track(const struct trackers *trackers, const struct nlmsghdr *nlh)
{
	char tracking[FAMILIES][XFIB_REASON] = {};

	if (policy_parse_tracker(nlh, tracking))
		return true;
	for (int f = 0; f < FAMILIES; f++)
		if (tracking[f][0] && !trackers->tracking[f][0])
			return true;
	return false;
}

/* It may have been the last one. */
static bool ends_to_track(const struct trackers *trackers, const struct nlmsghdr *nlh)
{
	const struct trackers none = {};

	if (!trackers->tracking[IP4][0] && !trackers->tracking[IP6][0])
		return false;
	/* Only of a rule it is told what it was. */
	return NFNL_MSG_TYPE(nlh->nlmsg_type) != NFT_MSG_DELRULE || begins_to_track(&none, nlh);
}

static bool is_tracker_change(struct trackers *trackers, const struct nlmsghdr *nlh, bool gone)
{
	if (gone ? !ends_to_track(trackers, nlh) : !begins_to_track(trackers, nlh))
		return false;
	trackers->known = false;
	return true;
}

/* Younger than the headers we build with (6.3). */
enum { MSG_DESTROYRULE = 28, MSG_DESTROYSET, MSG_DESTROYSETELEM, MSG_DESTROYOBJ };

/* Rules, sets and their elements come and go by the thousand, and few of them count. */
static bool is_nft_change(struct hostpolicy *hp, const struct nlmsghdr *nlh)
{
	switch (NFNL_MSG_TYPE(nlh->nlmsg_type)) {
	case NFT_MSG_NEWSETELEM:
	case NFT_MSG_DELSETELEM:
	case MSG_DESTROYSETELEM:
	case NFT_MSG_NEWGEN:
		return false;
	case NFT_MSG_NEWRULE:
		return is_tracker_change(&hp->trackers[RULES], nlh, false);
	case NFT_MSG_DELRULE:
	case MSG_DESTROYRULE:
		return is_tracker_change(&hp->trackers[RULES], nlh, true);
	case NFT_MSG_NEWSET:
		return is_tracker_change(&hp->trackers[SETS], nlh, false);
	case NFT_MSG_DELSET:
	case MSG_DESTROYSET:
		return is_tracker_change(&hp->trackers[SETS], nlh, true);
	case NFT_MSG_NEWOBJ:
		return is_tracker_change(&hp->trackers[OBJECTS], nlh, false);
	case NFT_MSG_DELOBJ:
	case MSG_DESTROYOBJ:
		return is_tracker_change(&hp->trackers[OBJECTS], nlh, true);
	case NFT_MSG_NEWTABLE:
	case NFT_MSG_NEWCHAIN:
	case NFT_MSG_DELCHAIN: /* its rules went before */
		return true;
	default:
		forget_trackers(hp);
		return true;
	}
}

static bool is_change(struct hostpolicy *hp, enum policy_kind kind, const struct nlmsghdr *nlh)
{
	if (kind != POLICY_NETFILTER)
		return true;
	return NFNL_SUBSYS_ID(nlh->nlmsg_type) == NFNL_SUBSYS_NFTABLES && is_nft_change(hp, nlh);
}

bool hostpolicy_drain(struct hostpolicy *hp, enum policy_kind kind)
{
	struct mnl_socket *socket = hp->source[kind].changes;
	struct nlmsghdr *nlh;
	bool changed = false;
	ssize_t len;
	int left;

	/* Bounded: the fd stays readable for the next turn. */
	for (int i = 0; socket && i < DRAIN_MAX; i++) {
		len = nl_socket_receive(socket, &hp->buffer);
		if (len == -EAGAIN)
			break;
		/* What was lost may have been a change. */
		if (len < 0) {
			changed = true;
			forget_trackers(hp);
		}
		nl_for_each_message(nlh, left, &hp->buffer, len)
			changed |= is_change(hp, kind, nlh);
	}
	return changed;
}

/* --- requests --------------------------------------------------------------------------------- */

typedef int (*message_fn)(const struct nlmsghdr *nlh, void *arg);

/* Nothing was said in vain: what an interrupted dump tells was true at some moment of it. */
static int read_dump(struct nl_talk *talk, message_fn fn, void *arg)
{
	struct nlmsghdr *nlh;
	int left, err, bad = 0;
	ssize_t len;

	for (;;) {
		len = nl_socket_receive(talk->socket, &talk->buffer);
		if (len < 0)
			return len;
		nl_for_each_message(nlh, left, &talk->buffer, len) {
			if (nlh->nlmsg_seq != talk->seq)
				continue;
			if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
				bad = -EINTR;
			if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR)
				return nl_message_error(nlh) ?: bad;
			err = fn(nlh, arg);
			if (err < 0 && !bad)
				bad = err;
		}
	}
}

/* Begins with enum tracker. */
enum table { CHAINS = TRACKERS, HOOKS, POLICIES, QDISCS, FILTERS, TABLES };

static const struct {
	enum policy_kind kind;
	__u16 request;
	const char *module; /* that has it; NULL: none alone */
} tables[TABLES] = {
	[CHAINS] = { POLICY_NETFILTER, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN, "nf_tables" },
	[RULES] = { POLICY_NETFILTER, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETRULE, "nf_tables" },
	[SETS] = { POLICY_NETFILTER, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETSET, "nf_tables" },
	[OBJECTS] = { POLICY_NETFILTER, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETOBJ, "nf_tables" },
	[HOOKS] = { POLICY_NETFILTER, NFNL_SUBSYS_HOOK << 8 | NFNL_MSG_HOOK_GET, "nfnetlink_hook" },
	[POLICIES] = { POLICY_XFRM, XFRM_MSG_GETPOLICY, "xfrm_user" },
	[QDISCS] = { POLICY_TC, RTM_GETQDISC, NULL },
	[FILTERS] = { POLICY_TC, RTM_GETTFILTER, NULL },
};

/* How the kernel says that it does not have the table: nfnetlink calls it invalid. */
static bool is_absent(enum policy_kind kind, int err)
{
	return err == -EPROTONOSUPPORT || err == -EOPNOTSUPP ||
	       (err == -EINVAL && kind == POLICY_NETFILTER);
}

/* What was not there comes with its module only; to ask all the same makes the kernel run modprobe. */
static bool still_absent(const struct hostpolicy *hp, enum table table)
{
	char path[64];

	if (!(hp->absent & 1u << table) || !tables[table].module)
		return false;
	snprintf(path, sizeof(path), "/sys/module/%s", tables[table].module);
	return access(path, F_OK) != 0;
}

static int ask_for(struct source *s, enum table table, const void *header, size_t len,
		   message_fn fn, void *arg)
{
	int err = s->talk.socket ? 0 : nl_talk_open(&s->talk, sources[tables[table].kind].bus);
	struct nlmsghdr *nlh;

	if (err)
		return err;
	err = -EINTR;
	for (int i = 0; err == -EINTR && i < DUMP_TRIES; i++) {
		nlh = nl_talk_begin(&s->talk, tables[table].request, header, len);
		nlh->nlmsg_flags |= NLM_F_DUMP;
		err = nl_talk_send(&s->talk, nlh) ?: read_dump(&s->talk, fn, arg);
	}
	return err;
}

/* Hands every message of a table to fn; none if the kernel does not have it. */
static int dump(struct hostpolicy *hp, enum table table, const void *header, size_t len,
		message_fn fn, void *arg)
{
	enum policy_kind kind = tables[table].kind;
	int err;

	if (still_absent(hp, table))
		return 0;
	err = ask_for(&hp->source[kind], table, header, len, fn, arg);
	hp->absent &= ~(1u << table);
	if (!is_absent(kind, err))
		return err;
	hp->absent |= 1u << table;
	return 0;
}

typedef void (*line_fn)(const char *line, enum family family, struct host_policy *policy);

/* A file that is not there belongs to a module that is not there. */
static int read_lines(const char *path, line_fn fn, enum family family, struct host_policy *policy)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char line[256];

	if (!f)
		return errno == ENOENT ? 0 : -errno;
	while (fgets(line, sizeof(line), f))
		fn(line, family, policy);
	return ferror(f) ? -EIO : 0;
}

/* --- netfilter -------------------------------------------------------------------------------- */

static int on_chain(const struct nlmsghdr *nlh, void *arg)
{
	return policy_parse_chain(nlh, arg);
}

static int on_tracker(const struct nlmsghdr *nlh, void *arg)
{
	struct trackers *trackers = arg;

	return policy_parse_tracker(nlh, trackers->tracking);
}

static void on_service(const char *line, enum family family, struct host_policy *policy)
{
	policy_parse_service(line, policy);
}

static int on_hook(const struct nlmsghdr *nlh, void *arg)
{
	return policy_parse_hook(nlh, arg);
}

/* Whatever else hooks in: programs in BPF, modules of any kind. Found last: the rest has better names. */
static void look_at_hooks(struct hostpolicy *hp, struct host_policy *policy)
{
	static const __u8 families[] = { NFPROTO_IPV4, NFPROTO_IPV6 };
	static const __u32 hooks[] = { NF_INET_PRE_ROUTING, NF_INET_FORWARD, NF_INET_POST_ROUTING };
	int err;

	for (unsigned int i = 0; i < 2 * 3; i++) {
		const struct {
			struct nfgenmsg header;
			struct nlattr attr;
			__be32 hooknum;
		} which = {
			{ .nfgen_family = families[i / 3], .version = NFNETLINK_V0 },
			{ .nla_len = 8, .nla_type = NFNLA_HOOK_HOOKNUM },
			htonl(hooks[i % 3]),
		};

		err = dump(hp, HOOKS, &which, sizeof(which), on_hook, policy);
		if (err)
			policy_unreadable(policy, POLICY_NETFILTER, "the hooks of netfilter", err);
	}
	if (hp->absent & 1u << HOOKS)
		policy_bpf_netfilter(policy);
}

static void read_trackers(struct hostpolicy *hp, enum tracker t, struct host_policy *policy)
{
	const struct nfgenmsg all = { .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0 };
	struct trackers *trackers = &hp->trackers[t];
	int err;

	memset(trackers->tracking, 0, sizeof(trackers->tracking));
	err = dump(hp, (enum table)t, &all, sizeof(all), on_tracker, trackers);
	if (err)
		policy_unreadable(policy, POLICY_NETFILTER,
				  "the rules, sets and objects of nf_tables", err);
	/* Without notifications they are read every time. */
	trackers->known = !err && hp->source[POLICY_NETFILTER].changes;
}

/* What wants connections to be tracked, be it for the router's own: it is on the path of all packets. */
static void look_at_trackers(struct hostpolicy *hp, struct host_policy *policy)
{
	for (int t = 0; t < TRACKERS; t++) {
		const struct trackers *trackers = &hp->trackers[t];

		if (!trackers->known)
			read_trackers(hp, t, policy);
		for (int f = 0; f < FAMILIES; f++)
			if (!policy->tracking[f][0])
				memcpy(policy->tracking[f], trackers->tracking[f], XFIB_REASON);
	}
}

static void look_at_netfilter(struct hostpolicy *hp, struct host_policy *policy)
{
	static const struct {
		const char *path;
		line_fn fn;
		enum family family;
	} files[] = {
		{ "/proc/net/ip_tables_names", policy_parse_table, IP4 },
		{ "/proc/net/ip6_tables_names", policy_parse_table, IP6 },
		{ "/proc/net/ip_vs", on_service, IP4 },
	};
	const struct nfgenmsg all = { .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0 };
	int err;

	err = dump(hp, CHAINS, &all, sizeof(all), on_chain, policy);
	if (err)
		policy_unreadable(policy, POLICY_NETFILTER, "the chains of nf_tables", err);
	look_at_trackers(hp, policy);
	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		err = read_lines(files[i].path, files[i].fn, files[i].family, policy);
		if (err)
			policy_unreadable(policy, POLICY_NETFILTER, files[i].path, err);
	}
	look_at_hooks(hp, policy);
}

/* --- IPsec ------------------------------------------------------------------------------------ */

static int on_policy(const struct nlmsghdr *nlh, void *arg)
{
	return policy_parse_xfrm(nlh, arg);
}

/* Kernels before 5.15 have no default but to let pass. */
static int ask_default(struct source *s, struct host_policy *policy)
{
	const struct xfrm_userpolicy_default none = {};
	const struct nlmsghdr *answer;
	struct nlmsghdr *nlh;
	int err;

	nlh = nl_talk_begin(&s->talk, XFRM_MSG_GETDEFAULT, &none, sizeof(none));
	err = nl_talk_ask(&s->talk, nlh, &answer);
	if (err)
		return err == -EINVAL ? 0 : err;
	return policy_parse_xfrm(answer, policy);
}

static void look_at_xfrm(struct hostpolicy *hp, struct host_policy *policy)
{
	const struct xfrm_userpolicy_id all = {};
	int err;

	err = dump(hp, POLICIES, &all, sizeof(all), on_policy, policy);
	if (!err && !(hp->absent & 1u << POLICIES))
		err = ask_default(&hp->source[POLICY_XFRM], policy);
	if (err)
		policy_unreadable(policy, POLICY_XFRM, "the IPsec policies", err);
}

/* --- traffic control -------------------------------------------------------------------------- */

struct tc_look {
	struct hostpolicy *hp;
	struct host_policy *policy;
};

static int on_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	struct tc_look *look = arg;
	struct classifier ask;
	int ret = policy_parse_qdisc(nlh, look->policy, &ask);

	if (ret != 1)
		return ret;
	if (look->hp->asks == CLASSIFIERS)
		return -ENOSPC;
	look->hp->ask[look->hp->asks++] = ask;
	return 0;
}

static int on_filter(const struct nlmsghdr *nlh, void *arg)
{
	*(bool *)arg |= nlh->nlmsg_type == RTM_NEWTFILTER;
	return 0;
}

static int look_at_filters(struct hostpolicy *hp, const struct classifier *at,
			   struct host_policy *policy)
{
	const struct tcmsg header = { .tcm_ifindex = at->ifindex, .tcm_parent = at->handle };
	bool any = false;
	int err = dump(hp, FILTERS, &header, sizeof(header), on_filter, &any);

	if (any)
		policy_tc_filter(policy, at);
	return err;
}

static void look_at_tc(struct hostpolicy *hp, struct host_policy *policy)
{
	const struct tcmsg all = {};
	struct tc_look look = { .hp = hp, .policy = policy };
	int err;

	hp->asks = 0;
	err = dump(hp, QDISCS, &all, sizeof(all), on_qdisc, &look);
	for (unsigned int i = 0; !err && i < hp->asks; i++)
		err = look_at_filters(hp, &hp->ask[i], policy);
	if (err)
		policy_unreadable(policy, POLICY_TC, "the queueing disciplines", err);
	policy_bpf_tcx(policy);
}

void hostpolicy_look(struct hostpolicy *hp, enum policy_kind kind, struct host_policy *policy)
{
	static void (*const looks[POLICY_KINDS])(struct hostpolicy * hp,
						 struct host_policy * policy) = {
		[POLICY_NETFILTER] = look_at_netfilter,
		[POLICY_XFRM] = look_at_xfrm,
		[POLICY_TC] = look_at_tc,
	};

	memset(policy->family, 0, sizeof(policy->family));
	memset(policy->tracking, 0, sizeof(policy->tracking));
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		struct port_policy *port = &policy->port[i];

		*port = (struct port_policy){ .ifindex = port->ifindex };
		if (port->ifindex && !if_indextoname(port->ifindex, port->name))
			port->name[0] = '\0';
	}
	looks[kind](hp, policy);
}

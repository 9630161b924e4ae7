// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What stands on the path of a forwarded packet, in the kernel's words, and what of it XDP may pass
 * by without anybody noticing. Names come from others and go to a terminal: only what prints is kept.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_hook.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hostpolicy_parse.h"

/* Younger than the headers we build with (6.17): the name is a prefix, for any device. */
enum { DEVICE_PREFIX = NFTA_DEVICE_NAME + 1 };

/* --- reasons ------------------------------------------------------------------------------------- */

/* What was found first stays. */
static __attribute__((format(printf, 2, 3))) void found(char reason[static XFIB_REASON],
							const char *fmt, ...)
{
	va_list args;

	if (reason[0])
		return;
	va_start(args, fmt);
	vsnprintf(reason, XFIB_REASON, fmt, args);
	va_end(args);
	for (char *c = reason; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static struct port_policy *port_of(struct host_policy *policy, __u32 ifindex)
{
	for (unsigned int i = 0; ifindex && i < XFIB_PORTS; i++)
		if (policy->port[i].ifindex == ifindex)
			return &policy->port[i];
	return NULL;
}

void policy_unreadable(struct host_policy *policy, enum policy_kind kind, const char *what, int err)
{
	if (kind != POLICY_TC) {
		for (int f = 0; f < FAMILIES; f++)
			found(policy->family[f], "cannot read %s: %s", what, strerror(-err));
		return;
	}
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		if (!policy->port[i].ifindex)
			continue;
		found(policy->port[i].ingress, "cannot read %s: %s", what, strerror(-err));
		found(policy->port[i].egress, "cannot read %s: %s", what, strerror(-err));
	}
}

/* The attribute's text if it ends where it should, else NULL. */
static const char *text_of(const struct nlattr *a)
{
	return mnl_attr_validate(a, MNL_TYPE_NUL_STRING) < 0 ? NULL : mnl_attr_get_str(a);
}

/* --- nf_tables ----------------------------------------------------------------------------------- */

struct chain {
	__u8 family; /* NFPROTO_* */
	const char *table, *name;
	const struct nlattr *hook; /* NULL: not a base chain */
	__u32 hooknum;
	bool nat;
};

/* The hooks that a packet meets which is neither for this host nor from it. */
static bool hook_forwards(__u32 hooknum)
{
	return hooknum == NF_INET_PRE_ROUTING || hooknum == NF_INET_FORWARD ||
	       hooknum == NF_INET_POST_ROUTING;
}

/* The first NAT chain, on whatever hook, puts NAT on all of them (nf_nat_register_fn()). */
static bool chain_forwards(const struct chain *c)
{
	return c->nat || hook_forwards(c->hooknum);
}

static void chain_on_family(const struct chain *c, enum family family, const char *word,
			    struct host_policy *policy)
{
	found(policy->family[family], "nft chain %s %.38s %.38s is on the path", word, c->table,
	      c->name);
}

static void chain_on_device(const struct chain *c, const char *device, bool prefix,
			    struct host_policy *policy)
{
	const bool egress = c->family == NFPROTO_NETDEV && c->hooknum == NF_NETDEV_EGRESS;
	const char *word = c->family == NFPROTO_NETDEV ? "netdev" : "inet";

	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		struct port_policy *p = &policy->port[i];

		if (!p->ifindex || strncmp(p->name, device, prefix ? strlen(device) : IFNAMSIZ))
			continue;
		found(egress ? p->egress : p->ingress,
		      "nft chain %s %.30s %.30s is on the %s of %s", word, c->table, c->name,
		      egress ? "egress" : "ingress", p->name);
	}
}

static int chain_on_devices(const struct chain *c, struct host_policy *policy)
{
	const struct nlattr *a, *device;
	const char *name;

	mnl_attr_for_each_nested(a, c->hook) {
		if (mnl_attr_get_type(a) == NFTA_HOOK_DEV) {
			name = text_of(a);
			if (!name)
				return -EBADMSG;
			chain_on_device(c, name, false, policy);
		}
		if (mnl_attr_get_type(a) != NFTA_HOOK_DEVS)
			continue;
		mnl_attr_for_each_nested(device, a) {
			name = text_of(device);
			if (!name)
				return -EBADMSG;
			chain_on_device(c, name, mnl_attr_get_type(device) == DEVICE_PREFIX,
					policy);
		}
	}
	return 0;
}

static int parse_hook(struct chain *c)
{
	const struct nlattr *a;
	bool known = false;

	mnl_attr_for_each_nested(a, c->hook) {
		if (mnl_attr_get_type(a) != NFTA_HOOK_HOOKNUM)
			continue;
		if (mnl_attr_validate(a, MNL_TYPE_U32) < 0)
			return -EBADMSG;
		c->hooknum = ntohl(mnl_attr_get_u32(a));
		known = true;
	}
	return known ? 0 : -EBADMSG;
}

static int judge_chain(const struct chain *c, struct host_policy *policy)
{
	switch (c->family) {
	case NFPROTO_IPV4:
		if (chain_forwards(c))
			chain_on_family(c, IP4, "ip", policy);
		return 0;
	case NFPROTO_IPV6:
		if (chain_forwards(c))
			chain_on_family(c, IP6, "ip6", policy);
		return 0;
	case NFPROTO_INET:
		if (c->hooknum == NF_INET_INGRESS)
			return chain_on_devices(c, policy);
		for (int f = 0; chain_forwards(c) && f < FAMILIES; f++)
			chain_on_family(c, f, "inet", policy);
		return 0;
	case NFPROTO_NETDEV:
		return chain_on_devices(c, policy);
	default: /* arp, bridge: no IP packet between two ports */
		return 0;
	}
}

int policy_parse_chain(const struct nlmsghdr *nlh, struct host_policy *policy)
{
	struct chain c = {};
	struct nfgenmsg header;
	const struct nlattr *a;
	int err;

	if (nlh->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN))
		return 0;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(header))
		return -EBADMSG;
	memcpy(&header, mnl_nlmsg_get_payload(nlh), sizeof(header));
	c.family = header.nfgen_family;

	mnl_attr_for_each(a, nlh, sizeof(header)) {
		switch (mnl_attr_get_type(a)) {
		case NFTA_CHAIN_TABLE:
			c.table = text_of(a);
			break;
		case NFTA_CHAIN_NAME:
			c.name = text_of(a);
			break;
		case NFTA_CHAIN_HOOK:
			c.hook = a;
			break;
		case NFTA_CHAIN_TYPE:
			c.nat = text_of(a) && !strcmp(text_of(a), "nat");
			break;
		}
	}
	if (!c.table || !c.name)
		return -EBADMSG;
	if (!c.hook)
		return 0;
	err = parse_hook(&c);
	return err ? err : judge_chain(&c, policy);
}

/* --- what tracks connections ---------------------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}
#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof(list[0]))

/*
 * Their init functions take no reference to conntrack (nf_ct_netns_get()) or to defragmentation
 * (nf_defrag_ipv4_enable()). What is not listed may.
 */
static bool expression_is_plain(const char *name)
{
	static const char *const plain[] = {
		"immediate", "cmp",   "bitwise", "byteorder", "payload", "exthdr", "meta",
		"lookup",    "range", "counter", "limit",     "quota",	 "log",	   "reject",
		"numgen",    "hash",  "fib",	 "rt",	      "osf",	 "last",   "queue",
		"dup",	     "fwd",   "inner",	 "tunnel",    "xfrm",	 "socket",
	};

	return IS_ONE_OF(name, plain);
}

/* The same of iptables' matches and targets, in rules that iptables-nft made. */
static bool extension_is_plain(const char *name)
{
	static const char *const plain[] = {
		"addrtype", "comment",	"dscp",	     "ecn",	"esp",	     "ah",	"frag",
		"hl",	    "icmp",	"icmp6",     "iprange", "length",    "limit",	"hashlimit",
		"mac",	    "mark",	"multiport", "owner",	"physdev",   "pkttype", "quota",
		"recent",   "rt",	"sctp",	     "set",	"statistic", "string",	"tcp",
		"tcpmss",   "time",	"tos",	     "ttl",	"u32",	     "udp",	"udplite",
		"AUDIT",    "CLASSIFY", "DSCP",	     "HL",	"LOG",	     "MARK",	"NFLOG",
		"NFQUEUE",  "RATEEST",	"REJECT",    "SET",	"TCPMSS",    "TOS",	"TTL",
	};

	return IS_ONE_OF(name, plain);
}

/* Objects of conntrack's: helpers, timeouts, expectations; and limits of connections, synproxies. */
static bool object_is_plain(__u32 type)
{
	return type == NFT_OBJECT_COUNTER || type == NFT_OBJECT_QUOTA || type == NFT_OBJECT_LIMIT ||
	       type == NFT_OBJECT_TUNNEL || type == NFT_OBJECT_SECMARK;
}

static const struct nlattr *find(const struct nlattr *nest, __u16 type)
{
	const struct nlattr *a;

	if (!nest)
		return NULL;
	mnl_attr_for_each_nested(a, nest) {
		if (mnl_attr_get_type(a) == type)
			return a;
	}
	return NULL;
}

static bool expression_tracks(const struct nlattr *expression);

/* Of a rule, or of the elements of a set. */
static bool any_tracks(const struct nlattr *list)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, list) {
		if (expression_tracks(a))
			return true;
	}
	return false;
}

/* Statements that a rule makes for each element of a set. */
static bool elements_track(const struct nlattr *data)
{
	const struct nlattr *one = find(data, NFTA_DYNSET_EXPR),
			    *list = find(data, NFTA_DYNSET_EXPRESSIONS);

	return (one && expression_tracks(one)) || (list && any_tracks(list));
}

/* What nobody knows may need it. */
static bool expression_tracks(const struct nlattr *expression)
{
	const struct nlattr *name = find(expression, NFTA_EXPR_NAME);
	const struct nlattr *data = find(expression, NFTA_EXPR_DATA), *a;
	const char *text = name ? text_of(name) : NULL;

	if (!text)
		return true;
	if (!strcmp(text, "dynset"))
		return elements_track(data);
	if (!strcmp(text, "match") || !strcmp(text, "target")) {
		a = find(data, NFTA_MATCH_NAME); /* NFTA_TARGET_NAME is the same */
		return !a || !text_of(a) || !extension_is_plain(text_of(a));
	}
	if (!strcmp(text, "objref")) {
		a = find(data, NFTA_OBJREF_IMM_TYPE);
		return a && (mnl_attr_validate(a, MNL_TYPE_U32) < 0 ||
			     !object_is_plain(ntohl(mnl_attr_get_u32(a))));
	}
	return !expression_is_plain(text);
}
_Static_assert((int)NFTA_MATCH_NAME == (int)NFTA_TARGET_NAME, "one attribute for both");

/* Of a message about a rule, a set or an object. */
struct tracker {
	__u8 family; /* NFPROTO_* */
	const char *what, *table, *name;
	bool tracks;
};

static void parse_rule(const struct nlattr *a, struct tracker *t)
{
	if (mnl_attr_get_type(a) == NFTA_RULE_TABLE)
		t->table = text_of(a);
	else if (mnl_attr_get_type(a) == NFTA_RULE_CHAIN)
		t->name = text_of(a);
	else if (mnl_attr_get_type(a) == NFTA_RULE_EXPRESSIONS)
		t->tracks = any_tracks(a);
}

/* What it is to do for each element takes the reference; the elements only copy it. */
static void parse_set(const struct nlattr *a, struct tracker *t)
{
	if (mnl_attr_get_type(a) == NFTA_SET_TABLE)
		t->table = text_of(a);
	else if (mnl_attr_get_type(a) == NFTA_SET_NAME)
		t->name = text_of(a);
	else if (mnl_attr_get_type(a) == NFTA_SET_EXPR)
		t->tracks = expression_tracks(a);
	else if (mnl_attr_get_type(a) == NFTA_SET_EXPRESSIONS)
		t->tracks = any_tracks(a);
}

static void parse_object(const struct nlattr *a, struct tracker *t)
{
	if (mnl_attr_get_type(a) == NFTA_OBJ_TABLE)
		t->table = text_of(a);
	else if (mnl_attr_get_type(a) == NFTA_OBJ_NAME)
		t->name = text_of(a);
	else if (mnl_attr_get_type(a) == NFTA_OBJ_TYPE)
		t->tracks = mnl_attr_validate(a, MNL_TYPE_U32) < 0 ||
			    !object_is_plain(ntohl(mnl_attr_get_u32(a)));
}

static const struct tracker_kind {
	__u8 message;
	const char *what;
	void (*parse)(const struct nlattr *a, struct tracker *t);
} tracker_kinds[] = {
	{ NFT_MSG_NEWRULE, "chain", parse_rule },
	{ NFT_MSG_DELRULE, "chain", parse_rule },
	{ NFT_MSG_NEWSET, "set", parse_set },
	{ NFT_MSG_NEWOBJ, "object", parse_object },
};

static const struct tracker_kind *tracker_kind_of(__u16 type)
{
	for (size_t i = 0; i < sizeof(tracker_kinds) / sizeof(tracker_kinds[0]); i++)
		if (type == (NFNL_SUBSYS_NFTABLES << 8 | tracker_kinds[i].message))
			return &tracker_kinds[i];
	return NULL;
}

/* NULL: connections are not tracked there. */
static const char *word_of_family(__u8 family)
{
	switch (family) {
	case NFPROTO_IPV4:
		return "ip";
	case NFPROTO_IPV6:
		return "ip6";
	case NFPROTO_INET:
		return "inet";
	case NFPROTO_BRIDGE:
		return "bridge";
	default:
		return NULL;
	}
}

/* A bridge's connections are those of both families (nf_ct_netns_get()). */
static void tracker_found(const struct tracker *t, const char *word,
			  char tracking[FAMILIES][XFIB_REASON])
{
	if (t->family != NFPROTO_IPV6)
		found(tracking[IP4], "nft %s %s %.30s %.30s tracks connections", t->what, word,
		      t->table, t->name);
	if (t->family != NFPROTO_IPV4)
		found(tracking[IP6], "nft %s %s %.30s %.30s tracks connections", t->what, word,
		      t->table, t->name);
}

int policy_parse_tracker(const struct nlmsghdr *nlh, char tracking[FAMILIES][XFIB_REASON])
{
	const struct tracker_kind *kind = tracker_kind_of(nlh->nlmsg_type);
	struct nfgenmsg header;
	const struct nlattr *a;
	struct tracker t = {};
	const char *word;

	if (!kind)
		return 0;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(header))
		return -EBADMSG;
	memcpy(&header, mnl_nlmsg_get_payload(nlh), sizeof(header));
	word = word_of_family(header.nfgen_family);
	if (!word)
		return 0;
	t.family = header.nfgen_family;
	t.what = kind->what;
	/* A set tells only what it does. */
	t.tracks = kind->parse != parse_set;
	mnl_attr_for_each(a, nlh, sizeof(header))
		kind->parse(a, &t);
	if (!t.table || !t.name)
		return -EBADMSG;
	if (t.tracks)
		tracker_found(&t, word, tracking);
	return 0;
}

/* --- hooks of any other kind ---------------------------------------------------------------------- */

/* Those that come with connection tracking, by whatever it is wanted. */
static bool hook_tracks(const char *function)
{
	static const char *const tracking[] = {
		"ipv4_conntrack_in", "ipv6_conntrack_in", "ipv4_conntrack_defrag", "ipv6_defrag",
		"nf_confirm",	     "ipv4_confirm",	  "ipv6_confirm",
	};

	return IS_ONE_OF(function, tracking);
}

/* Security modules act on marks that rules set, which are found by themselves. */
static bool hook_is_harmless(const char *function)
{
	static const char *const harmless[] = {
		"selinux_ip_forward",	 "selinux_ip_postroute",   "selinux_ipv4_forward",
		"selinux_ipv6_forward",	 "selinux_ipv4_postroute", "selinux_ipv6_postroute",
		"apparmor_ip_postroute", "ip_sabotage_in",
	};

	return IS_ONE_OF(function, harmless);
}

/* Whether the hook is an nf_tables chain, which names itself better. */
static bool is_chain(const struct nlattr *info)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, info) {
		if (mnl_attr_get_type(a) == NFNLA_HOOK_INFO_TYPE &&
		    mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
			return ntohl(mnl_attr_get_u32(a)) == NFNL_HOOK_TYPE_NFTABLES;
	}
	return false;
}

int policy_parse_hook(const struct nlmsghdr *nlh, struct host_policy *policy)
{
	const char *function = "of unknown name";
	struct nfgenmsg header;
	const struct nlattr *a;
	enum family f;

	if (nlh->nlmsg_type != (NFNL_SUBSYS_HOOK << 8 | NFNL_MSG_HOOK_GET))
		return 0;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(header))
		return -EBADMSG;
	memcpy(&header, mnl_nlmsg_get_payload(nlh), sizeof(header));
	if (header.nfgen_family != NFPROTO_IPV4 && header.nfgen_family != NFPROTO_IPV6)
		return 0;

	mnl_attr_for_each(a, nlh, sizeof(header)) {
		if (mnl_attr_get_type(a) == NFNLA_HOOK_CHAIN_INFO && is_chain(a))
			return 0;
		if (mnl_attr_get_type(a) == NFNLA_HOOK_FUNCTION_NAME && text_of(a))
			function = text_of(a);
	}
	f = header.nfgen_family == NFPROTO_IPV6 ? IP6 : IP4;
	if (hook_tracks(function))
		found(policy->tracking[f], "netfilter hook %.64s tracks connections", function);
	else if (!hook_is_harmless(function))
		found(policy->family[f], "netfilter hook %.64s is on the path", function);
	return 0;
}

void policy_netfilter_link(struct host_policy *policy, __u32 id, __u32 pf, __u32 hooknum,
			   bool defrag)
{
	const enum family f = pf == NFPROTO_IPV6 ? IP6 : IP4;

	if (pf != NFPROTO_IPV4 && pf != NFPROTO_IPV6)
		return;
	if (hook_forwards(hooknum))
		found(policy->family[f], "BPF link %u on a netfilter hook is on the path", id);
	if (defrag)
		found(policy->tracking[f], "BPF link %u has the kernel defragment", id);
}

/* --- legacy tables, IPVS --------------------------------------------------------------------------- */

/* The first word of a line. */
static unsigned int word_len(const char *line)
{
	return strcspn(line, " \t\n");
}

void policy_parse_table(const char *line, enum family family, struct host_policy *policy)
{
	unsigned int len = word_len(line);

	if (len)
		found(policy->family[family], "table %.*s of legacy ip%stables is on the path",
		      len < 32 ? (int)len : 32, line, family == IP6 ? "6" : "");
}

/* "TCP  0A000001:0050 wlc", "UDP  [2001:...]:0035 rr", or "FWM  00000001 rr", which may be of either family. */
void policy_parse_service(const char *line, struct host_policy *policy)
{
	static const char *const protocols[] = { "TCP ", "UDP ", "SCTP", "FWM " };
	const char *service = line + word_len(line);
	unsigned int known = 0, addr, port;
	char text[64];

	while (known < sizeof(protocols) / sizeof(protocols[0]) &&
	       strncmp(line, protocols[known], 4))
		known++;
	if (known == sizeof(protocols) / sizeof(protocols[0]))
		return;
	service += strspn(service, " ");
	if (sscanf(service, "%8x:%4x", &addr, &port) == 2)
		snprintf(text, sizeof(text), "%u.%u.%u.%u:%u", addr >> 24, addr >> 16 & 255,
			 addr >> 8 & 255, addr & 255, port);
	else
		snprintf(text, sizeof(text), "%.*s", (int)word_len(service), service);
	for (int f = 0; f < FAMILIES; f++)
		if (!strncmp(line, "FWM", 3) || (*service == '[') == (f == IP6))
			found(policy->family[f], "IPVS service %.*s %s is on the path",
			      (int)word_len(line), line, text);
}

/* --- IPsec --------------------------------------------------------------------------------------- */

static int parse_policy(const struct nlmsghdr *nlh, struct host_policy *policy)
{
	char src[PREFIX_STRLEN], dst[PREFIX_STRLEN];
	struct xfrm_userpolicy_info info;
	const struct xfrm_selector *sel = &info.sel;
	enum family f;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(info))
		return -EBADMSG;
	memcpy(&info, mnl_nlmsg_get_payload(nlh), sizeof(info));
	/* Those of sockets have directions of their own. */
	if (info.dir != XFRM_POLICY_FWD && info.dir != XFRM_POLICY_OUT)
		return 0;
	f = sel->family == AF_INET6 ? IP6 : IP4;
	if ((f == IP4 && sel->family != AF_INET) || sel->prefixlen_s > family_bits(f) ||
	    sel->prefixlen_d > family_bits(f))
		return -EBADMSG;
	prefix_format(f, addr_from_bytes(f, &sel->saddr), sel->prefixlen_s, src);
	prefix_format(f, addr_from_bytes(f, &sel->daddr), sel->prefixlen_d, dst);
	found(policy->family[f], "IPsec policy %s -> %s (%s)", src, dst,
	      info.dir == XFRM_POLICY_FWD ? "fwd" : "out");
	return 0;
}

static int parse_default(const struct nlmsghdr *nlh, struct host_policy *policy)
{
	struct xfrm_userpolicy_default dflt;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(dflt))
		return -EBADMSG;
	memcpy(&dflt, mnl_nlmsg_get_payload(nlh), sizeof(dflt));
	for (int f = 0; f < FAMILIES; f++) {
		if (dflt.fwd == XFRM_USERPOLICY_BLOCK)
			found(policy->family[f], "the default IPsec policy is to block (fwd)");
		else if (dflt.out == XFRM_USERPOLICY_BLOCK)
			found(policy->family[f], "the default IPsec policy is to block (out)");
	}
	return 0;
}

int policy_parse_xfrm(const struct nlmsghdr *nlh, struct host_policy *policy)
{
	switch (nlh->nlmsg_type) {
	case XFRM_MSG_NEWPOLICY:
		return parse_policy(nlh, policy);
	case XFRM_MSG_GETDEFAULT:
		return parse_default(nlh, policy);
	default:
		return 0;
	}
}

/* --- traffic control ------------------------------------------------------------------------------- */

/* A per-flow rate holds for flows that are forwarded too. */
static bool fq_is_shaped(const struct nlattr *options)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, options) {
		if (mnl_attr_get_type(a) == TCA_FQ_FLOW_MAX_RATE)
			return mnl_attr_validate(a, MNL_TYPE_U32) < 0 || mnl_attr_get_u32(a) != ~0u;
	}
	return false;
}

/* The attributes come behind a structure; offloaded, the device may share out its bandwidth. */
static bool mqprio_is_offloaded(const struct nlattr *options)
{
	struct tc_mqprio_qopt opt;

	if (mnl_attr_get_payload_len(options) < sizeof(opt))
		return true;
	memcpy(&opt, mnl_attr_get_payload(options), sizeof(opt));
	return opt.hw;
}

/* Neither shapes nor drops on purpose: a frame that passes it by is only early. */
static bool qdisc_is_harmless(const char *kind, const struct nlattr *options)
{
	static const char *const harmless[] = { "noqueue", "pfifo_fast", "pfifo",
						"bfifo",   "fq_codel",	 "mq" };

	for (unsigned int i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (!strcmp(kind, harmless[i]))
			return true;
	if (!strcmp(kind, "fq"))
		return !options || !fq_is_shaped(options);
	return !strcmp(kind, "mqprio") && options && !mqprio_is_offloaded(options);
}

static int judge_qdisc(const struct tcmsg *tc, const char *kind, const struct nlattr *options,
		       struct port_policy *port, struct classifier *ask)
{
	const bool clsact = !strcmp(kind, "clsact");

	if (clsact || !strcmp(kind, "ingress"))
		found(port->ingress, "qdisc %s on %s may filter what enters", kind, port->name);
	if (clsact)
		found(port->egress, "qdisc %s on %s may filter what leaves", kind, port->name);
	if (tc->tcm_parent == TC_H_INGRESS)
		return 0;
	if (!qdisc_is_harmless(kind, options))
		found(port->egress, "qdisc %.32s on %s shapes or filters what leaves", kind,
		      port->name);
	/* Of the harmless ones only this has room for filters; without a handle only at the root. */
	if (strcmp(kind, "fq_codel") || (!tc->tcm_handle && tc->tcm_parent != TC_H_ROOT))
		return 0;
	*ask = (struct classifier){ .ifindex = tc->tcm_ifindex, .handle = tc->tcm_handle };
	return 1;
}

int policy_parse_qdisc(const struct nlmsghdr *nlh, struct host_policy *policy,
		       struct classifier *ask)
{
	const struct nlattr *a, *options = NULL;
	const char *kind = NULL;
	struct port_policy *port;
	struct tcmsg tc;

	if (nlh->nlmsg_type != RTM_NEWQDISC)
		return 0;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(tc))
		return -EBADMSG;
	memcpy(&tc, mnl_nlmsg_get_payload(nlh), sizeof(tc));
	port = port_of(policy, tc.tcm_ifindex);
	if (!port)
		return 0;

	mnl_attr_for_each(a, nlh, sizeof(tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			kind = text_of(a);
		else if (mnl_attr_get_type(a) == TCA_OPTIONS)
			options = a;
	}
	return kind ? judge_qdisc(&tc, kind, options, port, ask) : -EBADMSG;
}

void policy_tc_filter(struct host_policy *policy, const struct classifier *at)
{
	struct port_policy *port = port_of(policy, at->ifindex);

	if (port)
		found(port->egress, "a tc filter on %s may filter what leaves", port->name);
}

void policy_tc_program(struct host_policy *policy, __u32 ifindex, bool ingress)
{
	struct port_policy *port = port_of(policy, ifindex);

	if (port)
		found(ingress ? port->ingress : port->egress,
		      "a tcx program on %s may filter what %s", port->name,
		      ingress ? "enters" : "leaves");
}

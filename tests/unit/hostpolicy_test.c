// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the kernel says of its filters, IPsec policies and queueing disciplines, through the parser of
 * host policy. Each message is also parsed cut short at every length, in an allocation that ends
 * there, and with bytes changed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_hook.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>

#include "netlink/hostpolicy_parse.h"

enum { P0 = 7, P1 = 9, ELSEWHERE = 11 };

static _Alignas(8) char buffer[4096];
static struct host_policy policy;
static struct classifier ask;

static void nothing_found_yet(void)
{
	policy = (struct host_policy){
		.port = { { .ifindex = P0, .name = "p0" }, { .ifindex = P1, .name = "p1" } },
	};
}

static int reset(void **state)
{
	nothing_found_yet();
	ask = (struct classifier){};
	return 0;
}

static void assert_ports(const char *in0, const char *out0, const char *in1, const char *out1)
{
	assert_string_equal(policy.port[0].ingress, in0);
	assert_string_equal(policy.port[0].egress, out0);
	assert_string_equal(policy.port[1].ingress, in1);
	assert_string_equal(policy.port[1].egress, out1);
	for (int i = 2; i < XFIB_PORTS; i++) {
		assert_string_equal(policy.port[i].ingress, "");
		assert_string_equal(policy.port[i].egress, "");
	}
}

static void assert_families(const char *ip4, const char *ip6)
{
	assert_string_equal(policy.family[IP4], ip4);
	assert_string_equal(policy.family[IP6], ip6);
}

/* --- parsing ------------------------------------------------------------------------------------ */

static int parse_one(const struct nlmsghdr *nlh)
{
	int chain = policy_parse_chain(nlh, &policy), xfrm = policy_parse_xfrm(nlh, &policy);
	int qdisc = policy_parse_qdisc(nlh, &policy, &ask), hook = policy_parse_hook(nlh, &policy);
	int tracker = policy_parse_tracker(nlh, policy.tracking);

	/* A message is of one kind. */
	assert_true(!!chain + !!xfrm + !!qdisc + !!hook + !!tracker <= 1);
	return chain ?: xfrm ?: qdisc ?: hook ?: tracker;
}

static void parse_copy(const struct nlmsghdr *nlh, __u32 len)
{
	struct nlmsghdr *copy = calloc(1, NLMSG_ALIGN(len));
	int ret;

	assert_non_null(copy);
	memcpy(copy, nlh, len);
	if (copy->nlmsg_len > len)
		copy->nlmsg_len = len;
	if (mnl_nlmsg_ok(copy, len)) {
		ret = parse_one(copy);
		assert_true(ret == 0 || ret == 1 || ret == -EBADMSG);
	}
	free(copy);
}

static void abuse(const struct nlmsghdr *nlh)
{
	static _Alignas(8) char changed[sizeof(buffer)];
	const __u8 values[] = { 0, 1, 0x7f, 0xff };

	for (__u32 len = sizeof(*nlh); len < nlh->nlmsg_len; len++)
		parse_copy(nlh, len);
	for (__u32 at = 0; at < nlh->nlmsg_len; at++) {
		for (unsigned int i = 0; i < sizeof(values); i++) {
			memcpy(changed, nlh, nlh->nlmsg_len);
			changed[at] = values[i];
			parse_copy((void *)changed, nlh->nlmsg_len);
		}
	}
}

static int parse(const struct nlmsghdr *nlh)
{
	struct host_policy before = policy;

	abuse(nlh);
	policy = before;
	return parse_one(nlh);
}

/* --- building: nf_tables ---------------------------------------------------------------------------- */

static struct nlmsghdr *message(__u16 type, const void *header, size_t len)
{
	struct nlmsghdr *nlh;

	memset(buffer, 0, sizeof(buffer));
	nlh = mnl_nlmsg_put_header(buffer);
	nlh->nlmsg_type = type;
	memcpy(mnl_nlmsg_put_extra_header(nlh, len), header, len);
	return nlh;
}

static struct nlmsghdr *chain(__u8 family, const char *table, const char *name)
{
	const struct nfgenmsg header = { .nfgen_family = family };
	struct nlmsghdr *nlh =
		message(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN, &header, sizeof(header));

	mnl_attr_put_strz(nlh, NFTA_CHAIN_TABLE, table);
	mnl_attr_put_strz(nlh, NFTA_CHAIN_NAME, name);
	return nlh;
}

/* devices: up to two; with `prefix` the second one stands for all that begin so. */
static int parse_base_chain(__u8 family, __u32 hooknum, const char *first, const char *second,
			    bool prefix)
{
	struct nlmsghdr *nlh = chain(family, "fw", "c");
	struct nlattr *hook = mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK), *devices;

	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(hooknum));
	mnl_attr_put_u32(nlh, NFTA_HOOK_PRIORITY, htonl(-10));
	if (first && !second)
		mnl_attr_put_strz(nlh, NFTA_HOOK_DEV, first);
	if (second) {
		devices = mnl_attr_nest_start(nlh, NFTA_HOOK_DEVS);
		mnl_attr_put_strz(nlh, NFTA_DEVICE_NAME, first);
		mnl_attr_put_strz(nlh, NFTA_DEVICE_NAME + prefix, second);
		mnl_attr_nest_end(nlh, devices);
	}
	mnl_attr_nest_end(nlh, hook);
	mnl_attr_put_strz(nlh, NFTA_CHAIN_TYPE, "filter");
	return parse(nlh);
}

static void a_chain_on_the_path_names_itself(void **state)
{
	static const __u32 hooks[] = { NF_INET_PRE_ROUTING, NF_INET_FORWARD, NF_INET_POST_ROUTING };

	for (unsigned int i = 0; i < 3; i++) {
		nothing_found_yet();
		assert_int_equal(parse_base_chain(NFPROTO_INET, hooks[i], NULL, NULL, false), 0);
		assert_families("nft chain inet fw c is on the path",
				"nft chain inet fw c is on the path");
		nothing_found_yet();
		assert_int_equal(parse_base_chain(NFPROTO_IPV4, hooks[i], NULL, NULL, false), 0);
		assert_families("nft chain ip fw c is on the path", "");
		nothing_found_yet();
		assert_int_equal(parse_base_chain(NFPROTO_IPV6, hooks[i], NULL, NULL, false), 0);
		assert_families("", "nft chain ip6 fw c is on the path");
		assert_ports("", "", "", "");
	}
}

static void a_chain_beside_the_path_is_no_reason(void **state)
{
	static const __u8 families[] = { NFPROTO_INET, NFPROTO_IPV4, NFPROTO_IPV6 };

	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(parse_base_chain(families[i], NF_INET_LOCAL_IN, NULL, NULL, false),
				 0);
		assert_int_equal(
			parse_base_chain(families[i], NF_INET_LOCAL_OUT, NULL, NULL, false), 0);
	}
	for (__u32 hook = 0; hook < 5; hook++) {
		assert_int_equal(parse_base_chain(NFPROTO_ARP, hook, NULL, NULL, false), 0);
		assert_int_equal(parse_base_chain(NFPROTO_BRIDGE, hook, NULL, NULL, false), 0);
	}
	assert_int_equal(parse(chain(NFPROTO_INET, "fw", "not-a-base-chain")), 0);
	assert_families("", "");
	assert_ports("", "", "", "");
}

static void a_nat_chain_is_on_the_path_from_any_hook(void **state)
{
	struct nlmsghdr *nlh = chain(NFPROTO_IPV4, "fw", "c");
	struct nlattr *hook = mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK);

	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(NF_INET_LOCAL_OUT));
	mnl_attr_nest_end(nlh, hook);
	mnl_attr_put_strz(nlh, NFTA_CHAIN_TYPE, "nat");
	assert_int_equal(parse(nlh), 0);
	assert_families("nft chain ip fw c is on the path", "");
}

static void a_chain_on_a_device_concerns_that_port_alone(void **state)
{
	assert_int_equal(parse_base_chain(NFPROTO_NETDEV, NF_NETDEV_EGRESS, "p1", NULL, false), 0);
	assert_int_equal(parse_base_chain(NFPROTO_NETDEV, NF_NETDEV_INGRESS, "p", "p0", false), 0);
	assert_int_equal(parse_base_chain(NFPROTO_NETDEV, NF_NETDEV_INGRESS, "p11", "eth0", false),
			 0);
	assert_families("", "");
	assert_ports("nft chain netdev fw c is on the ingress of p0", "", "",
		     "nft chain netdev fw c is on the egress of p1");
}

static void the_ingress_hook_of_inet_is_a_device_s(void **state)
{
	assert_int_equal(parse_base_chain(NFPROTO_INET, NF_INET_INGRESS, "p0", "p1", false), 0);
	assert_families("", "");
	assert_ports("nft chain inet fw c is on the ingress of p0", "",
		     "nft chain inet fw c is on the ingress of p1", "");
}

static void a_device_may_be_given_by_its_prefix(void **state)
{
	assert_int_equal(parse_base_chain(NFPROTO_NETDEV, NF_NETDEV_EGRESS, "eth0", "p", true), 0);
	assert_ports("", "nft chain netdev fw c is on the egress of p0", "",
		     "nft chain netdev fw c is on the egress of p1");
}

static void what_was_found_first_stays(void **state)
{
	assert_int_equal(parse_base_chain(NFPROTO_IPV4, NF_INET_FORWARD, NULL, NULL, false), 0);
	assert_int_equal(parse_base_chain(NFPROTO_INET, NF_INET_FORWARD, NULL, NULL, false), 0);
	assert_families("nft chain ip fw c is on the path", "nft chain inet fw c is on the path");
}

static void names_that_do_not_print_or_fit_are_made_to(void **state)
{
	static const char longest[] = "nft chain ip \x1b[31m\n\xff ";
	char name[256];
	struct nlmsghdr *nlh;
	struct nlattr *hook;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	nlh = chain(NFPROTO_IPV4, "\x1b[31m\n\xff", name);
	hook = mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK);
	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(NF_INET_FORWARD));
	mnl_attr_nest_end(nlh, hook);
	assert_int_equal(parse(nlh), 0);
	assert_memory_equal(policy.family[IP4], "nft chain ip ?[31m?? xxx", 24);
	assert_non_null(strstr(policy.family[IP4], "xxx is on the path"));
	assert_int_equal(strlen(policy.family[IP4]),
			 sizeof(longest) - 1 + 38 + strlen(" is on the path"));
}

static void a_chain_without_its_hook_number_is_malformed(void **state)
{
	struct nlmsghdr *nlh = chain(NFPROTO_INET, "fw", "c");

	mnl_attr_nest_end(nlh, mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK));
	assert_int_equal(parse(nlh), -EBADMSG);
	assert_families("", "");
}

/* --- what tracks connections ---------------------------------------------------------------------- */

/* One expression, and the name or type inside that tells it from others of its kind. */
struct expression {
	const char *name, *extension;
	__u32 object;
};

static void put_expression(struct nlmsghdr *nlh, __u16 type, const struct expression *e)
{
	struct nlattr *one = mnl_attr_nest_start(nlh, type), *data;

	mnl_attr_put_strz(nlh, NFTA_EXPR_NAME, e->name);
	data = mnl_attr_nest_start(nlh, NFTA_EXPR_DATA);
	if (e->extension && !strcmp(e->name, "dynset"))
		put_expression(nlh, NFTA_DYNSET_EXPR,
			       &(struct expression){ e->extension, NULL, 0 });
	else if (e->extension)
		mnl_attr_put_strz(nlh, NFTA_MATCH_NAME, e->extension);
	if (e->object)
		mnl_attr_put_u32(nlh, NFTA_OBJREF_IMM_TYPE, htonl(e->object));
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, one);
}

/* Of a rule the name is its chain's: all have their table and name in the same places. */
static struct nlmsghdr *tracker(__u8 message_type, __u8 family, const char *name)
{
	const struct nfgenmsg header = { .nfgen_family = family };
	struct nlmsghdr *nlh =
		message(NFNL_SUBSYS_NFTABLES << 8 | message_type, &header, sizeof(header));

	_Static_assert((int)NFTA_RULE_TABLE == (int)NFTA_SET_TABLE &&
			       (int)NFTA_RULE_TABLE == (int)NFTA_OBJ_TABLE &&
			       (int)NFTA_RULE_CHAIN == (int)NFTA_SET_NAME &&
			       (int)NFTA_RULE_CHAIN == (int)NFTA_OBJ_NAME,
		       "the same places");
	mnl_attr_put_strz(nlh, NFTA_RULE_TABLE, "fw");
	mnl_attr_put_strz(nlh, NFTA_RULE_CHAIN, name);
	return nlh;
}

static int parse_rule_as(__u8 message_type, __u8 family, const struct expression *e)
{
	const struct expression before = { "meta", NULL, 0 }, after = { "immediate", NULL, 0 };
	struct nlmsghdr *nlh = tracker(message_type, family, "in");
	struct nlattr *list;

	list = mnl_attr_nest_start(nlh, NFTA_RULE_EXPRESSIONS);
	put_expression(nlh, NFTA_LIST_ELEM, &before);
	put_expression(nlh, NFTA_LIST_ELEM, e);
	put_expression(nlh, NFTA_LIST_ELEM, &after);
	mnl_attr_nest_end(nlh, list);
	return parse(nlh);
}

static int parse_rule(__u8 family, const struct expression *e)
{
	return parse_rule_as(NFT_MSG_NEWRULE, family, e);
}

static void assert_tracking(const char *ip4, const char *ip6)
{
	assert_string_equal(policy.tracking[IP4], ip4);
	assert_string_equal(policy.tracking[IP6], ip6);
	assert_families("", "");
}

static void a_rule_that_tracks_connections_names_its_chain(void **state)
{
	static const struct expression tracking[] = {
		{ "ct", NULL, 0 },
		{ "masq", NULL, 0 },
		{ "connlimit", NULL, 0 },
		{ "flow_offload", NULL, 0 },
		{ "tproxy", NULL, 0 },
		{ "what-is-this", NULL, 0 },
		{ "match", "conntrack", 0 },
		{ "match", "state", 0 },
		{ "match", NULL, 0 },
		{ "target", "CT", 0 },
		{ "dynset", "connlimit", 0 },
		{ "objref", NULL, NFT_OBJECT_CT_HELPER },
		{ "objref", NULL, NFT_OBJECT_CONNLIMIT },
	};

	for (unsigned int i = 0; i < sizeof(tracking) / sizeof(tracking[0]); i++) {
		nothing_found_yet();
		assert_int_equal(parse_rule(NFPROTO_IPV4, &tracking[i]), 0);
		assert_tracking("nft chain ip fw in tracks connections", "");
		nothing_found_yet();
		assert_int_equal(parse_rule(NFPROTO_IPV6, &tracking[i]), 0);
		assert_tracking("", "nft chain ip6 fw in tracks connections");
		nothing_found_yet();
		assert_int_equal(parse_rule(NFPROTO_INET, &tracking[i]), 0);
		assert_tracking("nft chain inet fw in tracks connections",
				"nft chain inet fw in tracks connections");
		nothing_found_yet();
		assert_int_equal(parse_rule(NFPROTO_BRIDGE, &tracking[i]), 0);
		assert_tracking("nft chain bridge fw in tracks connections",
				"nft chain bridge fw in tracks connections");
		nothing_found_yet();
		assert_int_equal(parse_rule(NFPROTO_ARP, &tracking[i]), 0);
		assert_int_equal(parse_rule(NFPROTO_NETDEV, &tracking[i]), 0);
		assert_tracking("", "");
	}
}

static void a_plain_rule_is_no_reason(void **state)
{
	static const struct expression plain[] = {
		{ "payload", NULL, 0 }, { "counter", NULL, 0 },
		{ "match", "tcp", 0 },	{ "target", "REJECT", 0 },
		{ "dynset", NULL, 0 },	{ "dynset", "limit", 0 },
		{ "objref", NULL, 0 },	{ "objref", NULL, NFT_OBJECT_COUNTER },
		{ "socket", NULL, 0 },
	};

	for (unsigned int i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		assert_int_equal(parse_rule(NFPROTO_INET, &plain[i]), 0);
	assert_tracking("", "");
}

static void a_rule_that_goes_tells_what_it_was(void **state)
{
	const struct expression ct = { "ct", NULL, 0 }, counter = { "counter", NULL, 0 };

	assert_int_equal(parse_rule_as(NFT_MSG_DELRULE, NFPROTO_INET, &counter), 0);
	assert_tracking("", "");
	assert_int_equal(parse_rule_as(NFT_MSG_DELRULE, NFPROTO_IPV4, &ct), 0);
	assert_tracking("nft chain ip fw in tracks connections", "");
	assert_int_equal(parse(tracker(NFT_MSG_DELRULE, NFPROTO_IPV6, "mute")), 0);
	assert_tracking("nft chain ip fw in tracks connections",
			"nft chain ip6 fw mute tracks connections");
}

/* in_list: as a kernel says it that knows sets with more than one expression. */
static int parse_set(const char *name, const struct expression *e, bool in_list)
{
	struct nlmsghdr *nlh = tracker(NFT_MSG_NEWSET, NFPROTO_IPV4, name);
	struct nlattr *list;

	mnl_attr_put_u32(nlh, NFTA_SET_FLAGS, htonl(NFT_SET_EVAL));
	if (e && !in_list)
		put_expression(nlh, NFTA_SET_EXPR, e);
	if (e && in_list) {
		list = mnl_attr_nest_start(nlh, NFTA_SET_EXPRESSIONS);
		put_expression(nlh, NFTA_LIST_ELEM, &(struct expression){ "counter", NULL, 0 });
		put_expression(nlh, NFTA_LIST_ELEM, e);
		mnl_attr_nest_end(nlh, list);
	}
	return parse(nlh);
}

static void a_set_that_tracks_connections_names_itself(void **state)
{
	const struct expression connlimit = { "connlimit", NULL, 0 }, limit = { "limit", NULL, 0 };

	assert_int_equal(parse_set("bare", NULL, false), 0);
	assert_int_equal(parse_set("rates", &limit, false), 0);
	assert_int_equal(parse_set("rates", &limit, true), 0);
	assert_tracking("", "");
	assert_int_equal(parse_set("one", &connlimit, false), 0);
	assert_tracking("nft set ip fw one tracks connections", "");
	nothing_found_yet();
	assert_int_equal(parse_set("many", &connlimit, true), 0);
	assert_tracking("nft set ip fw many tracks connections", "");
}

static int parse_object(__u8 family, const char *name, __u32 type)
{
	struct nlmsghdr *nlh = tracker(NFT_MSG_NEWOBJ, family, name);

	if (type)
		mnl_attr_put_u32(nlh, NFTA_OBJ_TYPE, htonl(type));
	return parse(nlh);
}

static void an_object_that_tracks_connections_names_itself(void **state)
{
	static const __u32 plain[] = { NFT_OBJECT_COUNTER, NFT_OBJECT_QUOTA, NFT_OBJECT_LIMIT,
				       NFT_OBJECT_TUNNEL, NFT_OBJECT_SECMARK };
	static const __u32 tracking[] = { NFT_OBJECT_CT_HELPER,
					  NFT_OBJECT_CONNLIMIT,
					  NFT_OBJECT_CT_TIMEOUT,
					  NFT_OBJECT_CT_EXPECT,
					  NFT_OBJECT_SYNPROXY,
					  99,
					  0 };

	for (unsigned int i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		assert_int_equal(parse_object(NFPROTO_INET, "o", plain[i]), 0);
	assert_tracking("", "");
	for (unsigned int i = 0; i < sizeof(tracking) / sizeof(tracking[0]); i++) {
		nothing_found_yet();
		assert_int_equal(parse_object(NFPROTO_INET, "o", tracking[i]), 0);
		assert_tracking("nft object inet fw o tracks connections",
				"nft object inet fw o tracks connections");
	}
}

/* --- hooks of any other kind ---------------------------------------------------------------------- */

/* function NULL: the kernel has no symbols; type 0: no more is known. */
static int parse_hook(__u8 family, const char *function, __u32 type)
{
	const struct nfgenmsg header = { .nfgen_family = family };
	struct nlmsghdr *nlh =
		message(NFNL_SUBSYS_HOOK << 8 | NFNL_MSG_HOOK_GET, &header, sizeof(header));
	struct nlattr *info;

	mnl_attr_put_u32(nlh, NFNLA_HOOK_HOOKNUM, htonl(NF_INET_FORWARD));
	mnl_attr_put_u32(nlh, NFNLA_HOOK_PRIORITY, 0);
	if (function)
		mnl_attr_put_strz(nlh, NFNLA_HOOK_FUNCTION_NAME, function);
	if (type) {
		info = mnl_attr_nest_start(nlh, NFNLA_HOOK_CHAIN_INFO);
		mnl_attr_put_u32(nlh, NFNLA_HOOK_INFO_TYPE, htonl(type));
		mnl_attr_nest_end(nlh, info);
	}
	return parse(nlh);
}

static void a_hook_that_nobody_knows_is_a_reason(void **state)
{
	assert_int_equal(parse_hook(NFPROTO_IPV4, "nf_hook_run_bpf", NFNL_HOOK_TYPE_NFTABLES + 1),
			 0);
	assert_int_equal(parse_hook(NFPROTO_IPV6, NULL, 0), 0);
	assert_families("netfilter hook nf_hook_run_bpf is on the path",
			"netfilter hook of unknown name is on the path");
}

static void hooks_that_only_help_others_are_no_reason(void **state)
{
	assert_int_equal(parse_hook(NFPROTO_IPV4, "apparmor_ip_postroute", 0), 0);
	assert_int_equal(parse_hook(NFPROTO_IPV4, "nft_do_chain_ipv4", NFNL_HOOK_TYPE_NFTABLES), 0);
	assert_int_equal(parse_hook(NFPROTO_ARP, "arpt_do_table", 0), 0);
	assert_families("", "");
}

static void hooks_of_connection_tracking_concern_fragments(void **state)
{
	assert_int_equal(parse_hook(NFPROTO_IPV4, "ipv4_conntrack_defrag", 0), 0);
	assert_int_equal(parse_hook(NFPROTO_IPV6, "ipv6_defrag", 0), 0);
	assert_tracking("netfilter hook ipv4_conntrack_defrag tracks connections",
			"netfilter hook ipv6_defrag tracks connections");
}

static void a_bpf_link_on_the_path_names_itself(void **state)
{
	policy_netfilter_link(&policy, 3, NFPROTO_IPV4, NF_INET_LOCAL_IN, false);
	policy_netfilter_link(&policy, 4, NFPROTO_ARP, NF_INET_FORWARD, true);
	assert_tracking("", "");
	policy_netfilter_link(&policy, 5, NFPROTO_IPV6, NF_INET_FORWARD, false);
	assert_families("", "BPF link 5 on a netfilter hook is on the path");
}

static void a_bpf_link_that_defragments_concerns_fragments(void **state)
{
	policy_netfilter_link(&policy, 6, NFPROTO_IPV6, NF_INET_LOCAL_IN, true);
	assert_tracking("", "BPF link 6 has the kernel defragment");
}

/* --- legacy tables, IPVS ----------------------------------------------------------------------------- */

static void a_legacy_table_names_itself(void **state)
{
	policy_parse_table("\n", IP4, &policy);
	assert_families("", "");
	policy_parse_table("mangle\n", IP4, &policy);
	policy_parse_table("filter\n", IP6, &policy);
	assert_families("table mangle of legacy iptables is on the path",
			"table filter of legacy ip6tables is on the path");
}

static void an_ipvs_service_names_itself(void **state)
{
	policy_parse_service("IP Virtual Server version 1.2.1 (size=4096)\n", &policy);
	policy_parse_service("Prot LocalAddress:Port Scheduler Flags\n", &policy);
	policy_parse_service("  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n",
			     &policy);
	policy_parse_service("  -> 0A000202:0050      Masq    1      0          0\n", &policy);
	assert_families("", "");
	policy_parse_service("TCP  0A000001:0050 wlc  \n", &policy);
	assert_families("IPVS service TCP 10.0.0.1:80 is on the path", "");
	policy_parse_service("UDP  [fd00:0000:0000:0000:0000:0000:0000:0001]:0035 rr \n", &policy);
	assert_string_equal(
		policy.family[IP6],
		"IPVS service UDP [fd00:0000:0000:0000:0000:0000:0000:0001]:0035 is on the path");
}

static void an_ipvs_service_by_mark_may_be_of_either_family(void **state)
{
	policy_parse_service("FWM  00000007 wlc  \n", &policy);
	assert_families("IPVS service FWM 00000007 is on the path",
			"IPVS service FWM 00000007 is on the path");
	policy_parse_service("", &policy);
	policy_parse_service("TCP ", &policy);
}

/* --- IPsec ------------------------------------------------------------------------------------------ */

static int parse_ipsec(__u8 dir, __u16 af, const char *src, __u8 src_len, const char *dst,
		       __u8 dst_len)
{
	struct xfrm_userpolicy_info info = {
		.sel = { .family = af, .prefixlen_s = src_len, .prefixlen_d = dst_len },
		.dir = dir,
	};

	inet_pton(af, src, &info.sel.saddr);
	inet_pton(af, dst, &info.sel.daddr);
	return parse(message(XFRM_MSG_NEWPOLICY, &info, sizeof(info)));
}

static void an_ipsec_policy_names_itself(void **state)
{
	assert_int_equal(parse_ipsec(XFRM_POLICY_FWD, AF_INET, "10.0.0.0", 24, "10.1.0.0", 16), 0);
	assert_families("IPsec policy 10.0.0.0/24 -> 10.1.0.0/16 (fwd)", "");
	assert_int_equal(parse_ipsec(XFRM_POLICY_OUT, AF_INET6, "::", 0, "fd00:1::", 64), 0);
	assert_string_equal(policy.family[IP6], "IPsec policy ::/0 -> fd00:1::/64 (out)");
}

static void an_ipsec_policy_for_local_traffic_is_no_reason(void **state)
{
	assert_int_equal(parse_ipsec(XFRM_POLICY_IN, AF_INET, "10.0.0.0", 24, "10.1.0.0", 16), 0);
	/* Of a socket: the direction and XFRM_POLICY_MAX. */
	assert_int_equal(
		parse_ipsec(XFRM_POLICY_MAX + XFRM_POLICY_IN, AF_INET, "0.0.0.0", 0, "0.0.0.0", 0),
		0);
	assert_int_equal(
		parse_ipsec(XFRM_POLICY_MAX + XFRM_POLICY_OUT, AF_INET, "0.0.0.0", 0, "0.0.0.0", 0),
		0);
	assert_families("", "");
}

static void an_ipsec_policy_that_makes_no_sense_is_malformed(void **state)
{
	assert_int_equal(parse_ipsec(XFRM_POLICY_FWD, AF_INET, "10.0.0.0", 33, "10.1.0.0", 16),
			 -EBADMSG);
	assert_int_equal(parse_ipsec(XFRM_POLICY_FWD, AF_INET6, "::", 0, "::", 129), -EBADMSG);
	assert_int_equal(parse_ipsec(XFRM_POLICY_FWD, AF_UNSPEC, "", 0, "", 0), -EBADMSG);
	assert_families("", "");
}

static int parse_default(__u8 in, __u8 fwd, __u8 out)
{
	const struct xfrm_userpolicy_default dflt = { .in = in, .fwd = fwd, .out = out };

	return parse(message(XFRM_MSG_GETDEFAULT, &dflt, sizeof(dflt)));
}

static void a_default_that_blocks_is_a_reason(void **state)
{
	const __u8 block = XFRM_USERPOLICY_BLOCK, accept = XFRM_USERPOLICY_ACCEPT;

	assert_int_equal(parse_default(block, accept, accept), 0);
	assert_families("", "");
	assert_int_equal(parse_default(accept, block, accept), 0);
	assert_families("the default IPsec policy is to block (fwd)",
			"the default IPsec policy is to block (fwd)");
	nothing_found_yet();
	assert_int_equal(parse_default(accept, accept, block), 0);
	assert_families("the default IPsec policy is to block (out)",
			"the default IPsec policy is to block (out)");
}

/* --- traffic control --------------------------------------------------------------------------------- */

static struct nlmsghdr *qdisc(int ifindex, __u32 parent, __u32 handle, const char *kind)
{
	const struct tcmsg tc = { .tcm_ifindex = ifindex,
				  .tcm_parent = parent,
				  .tcm_handle = handle };
	struct nlmsghdr *nlh = message(RTM_NEWQDISC, &tc, sizeof(tc));

	mnl_attr_put_strz(nlh, TCA_KIND, kind);
	return nlh;
}

static struct nlmsghdr *fq(__u32 max_rate)
{
	struct nlmsghdr *nlh = qdisc(P1, TC_H_ROOT, 0, "fq");
	struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put_u32(nlh, TCA_FQ_PLIMIT, 10000);
	mnl_attr_put_u32(nlh, TCA_FQ_FLOW_MAX_RATE, max_rate);
	mnl_attr_nest_end(nlh, options);
	return nlh;
}

static struct nlmsghdr *mqprio(__u8 hw)
{
	const struct tc_mqprio_qopt opt = { .num_tc = 2, .hw = hw };
	struct nlmsghdr *nlh = qdisc(P1, TC_H_ROOT, 0x10000, "mqprio");

	mnl_attr_put(nlh, TCA_OPTIONS, sizeof(opt), &opt);
	return nlh;
}

static void a_queue_that_only_queues_is_no_reason(void **state)
{
	static const char *const kinds[] = {
		"noqueue", "pfifo_fast", "pfifo", "bfifo", "mq", "fq"
	};

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		assert_int_equal(parse(qdisc(P1, TC_H_ROOT, 0, kinds[i])), 0);
	assert_int_equal(parse(fq(~0u)), 0);
	assert_int_equal(parse(mqprio(TC_MQPRIO_HW_OFFLOAD_NONE)), 0);
	assert_ports("", "", "", "");
}

static void any_other_queue_keeps_what_leaves(void **state)
{
	static const char *const kinds[] = { "htb",  "tbf",   "cake",	"hfsc",
					     "prio", "netem", "taprio", "fq_pie" };
	char text[XFIB_REASON];

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		nothing_found_yet();
		assert_int_equal(parse(qdisc(P1, TC_H_ROOT, 0x10000, kinds[i])), 0);
		snprintf(text, sizeof(text), "qdisc %s on p1 shapes or filters what leaves",
			 kinds[i]);
		assert_ports("", "", "", text);
	}
	nothing_found_yet();
	assert_int_equal(parse(qdisc(P0, 0x10001, 0x20000, "htb")), 0); /* below mq */
	assert_ports("", "qdisc htb on p0 shapes or filters what leaves", "", "");
}

static void a_rate_makes_a_shaper_of_fq_and_mqprio(void **state)
{
	assert_int_equal(parse(fq(125000)), 0);
	assert_ports("", "", "", "qdisc fq on p1 shapes or filters what leaves");
	nothing_found_yet();
	assert_int_equal(parse(mqprio(TC_MQPRIO_HW_OFFLOAD_TCS)), 0);
	assert_ports("", "", "", "qdisc mqprio on p1 shapes or filters what leaves");
	nothing_found_yet();
	assert_int_equal(parse(qdisc(P1, TC_H_ROOT, 0x10000, "mqprio")), 0);
	assert_ports("", "", "", "qdisc mqprio on p1 shapes or filters what leaves");
}

static void hooks_for_filters_keep_their_direction(void **state)
{
	assert_int_equal(parse(qdisc(P0, TC_H_INGRESS, 0xffff0000, "ingress")), 0);
	assert_int_equal(parse(qdisc(P1, TC_H_CLSACT, 0xffff0000, "clsact")), 0);
	assert_ports("qdisc ingress on p0 may filter what enters", "",
		     "qdisc clsact on p1 may filter what enters",
		     "qdisc clsact on p1 may filter what leaves");
}

static void fq_codel_is_asked_for_its_filters(void **state)
{
	const struct classifier root = { .ifindex = P1 },
				child = { .ifindex = P0, .handle = 0x20000 };

	assert_int_equal(parse(qdisc(P1, TC_H_ROOT, 0, "fq_codel")), 1);
	assert_memory_equal(&ask, &root, sizeof(ask));
	assert_int_equal(parse(qdisc(P0, 0x10001, 0x20000, "fq_codel")), 1);
	assert_memory_equal(&ask, &child, sizeof(ask));
	/* A child that nothing can be attached to. */
	assert_int_equal(parse(qdisc(P0, 0x10001, 0, "fq_codel")), 0);
	assert_ports("", "", "", "");

	policy_tc_filter(&policy, &child);
	assert_ports("", "a tc filter on p0 may filter what leaves", "", "");
}

static void other_devices_are_no_concern(void **state)
{
	assert_int_equal(parse(qdisc(ELSEWHERE, TC_H_ROOT, 0x10000, "htb")), 0);
	assert_int_equal(parse(qdisc(0, TC_H_CLSACT, 0xffff0000, "clsact")), 0);
	assert_int_equal(parse(qdisc(ELSEWHERE, TC_H_ROOT, 0, "fq_codel")), 0);
	policy_tc_program(&policy, ELSEWHERE, true);
	assert_ports("", "", "", "");
}

static void a_tcx_program_keeps_its_direction(void **state)
{
	policy_tc_program(&policy, P0, true);
	policy_tc_program(&policy, P1, false);
	assert_ports("a tcx program on p0 may filter what enters", "", "",
		     "a tcx program on p1 may filter what leaves");
}

static void a_qdisc_without_a_kind_is_malformed(void **state)
{
	const struct tcmsg tc = { .tcm_ifindex = P0, .tcm_parent = TC_H_ROOT };

	assert_int_equal(parse(message(RTM_NEWQDISC, &tc, sizeof(tc))), -EBADMSG);
	assert_ports("", "", "", "");
}

/* --- what cannot be read ------------------------------------------------------------------------------- */

static void what_cannot_be_read_counts_as_found(void **state)
{
	policy_unreadable(&policy, POLICY_XFRM, "the IPsec policies", -ENOMEM);
	assert_families("cannot read the IPsec policies: Cannot allocate memory",
			"cannot read the IPsec policies: Cannot allocate memory");
	assert_ports("", "", "", "");
	nothing_found_yet();
	policy_unreadable(&policy, POLICY_TC, "the queueing disciplines", -EINTR);
	assert_families("", "");
	assert_ports("cannot read the queueing disciplines: Interrupted system call",
		     "cannot read the queueing disciplines: Interrupted system call",
		     "cannot read the queueing disciplines: Interrupted system call",
		     "cannot read the queueing disciplines: Interrupted system call");
}

static void other_messages_say_nothing(void **state)
{
	const struct rtmsg rtm = {};

	assert_int_equal(parse(message(RTM_NEWROUTE, &rtm, sizeof(rtm))), 0);
	assert_int_equal(parse(message(NLMSG_NOOP, &rtm, 0)), 0);
	assert_families("", "");
	assert_ports("", "", "", "");
}

#define TEST(f) cmocka_unit_test_setup(f, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_chain_on_the_path_names_itself),
		TEST(a_chain_beside_the_path_is_no_reason),
		TEST(a_nat_chain_is_on_the_path_from_any_hook),
		TEST(a_chain_on_a_device_concerns_that_port_alone),
		TEST(the_ingress_hook_of_inet_is_a_device_s),
		TEST(a_device_may_be_given_by_its_prefix),
		TEST(what_was_found_first_stays),
		TEST(names_that_do_not_print_or_fit_are_made_to),
		TEST(a_chain_without_its_hook_number_is_malformed),
		TEST(a_hook_that_nobody_knows_is_a_reason),
		TEST(hooks_that_only_help_others_are_no_reason),
		TEST(hooks_of_connection_tracking_concern_fragments),
		TEST(a_rule_that_tracks_connections_names_its_chain),
		TEST(a_plain_rule_is_no_reason),
		TEST(a_rule_that_goes_tells_what_it_was),
		TEST(a_set_that_tracks_connections_names_itself),
		TEST(an_object_that_tracks_connections_names_itself),
		TEST(a_bpf_link_on_the_path_names_itself),
		TEST(a_bpf_link_that_defragments_concerns_fragments),
		TEST(a_legacy_table_names_itself),
		TEST(an_ipvs_service_names_itself),
		TEST(an_ipvs_service_by_mark_may_be_of_either_family),
		TEST(an_ipsec_policy_names_itself),
		TEST(an_ipsec_policy_for_local_traffic_is_no_reason),
		TEST(an_ipsec_policy_that_makes_no_sense_is_malformed),
		TEST(a_default_that_blocks_is_a_reason),
		TEST(a_queue_that_only_queues_is_no_reason),
		TEST(any_other_queue_keeps_what_leaves),
		TEST(a_rate_makes_a_shaper_of_fq_and_mqprio),
		TEST(hooks_for_filters_keep_their_direction),
		TEST(fq_codel_is_asked_for_its_filters),
		TEST(other_devices_are_no_concern),
		TEST(a_tcx_program_keeps_its_direction),
		TEST(a_qdisc_without_a_kind_is_malformed),
		TEST(what_cannot_be_read_counts_as_found),
		TEST(other_messages_say_nothing),
	};

	return cmocka_run_group_tests_name("hostpolicy", tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Host policy as the kernel tells it: what a look finds of what nft(8), ip(8) and tc(8) have made, and
 * that the kernel says so when it changes. Each test begins in a fresh network namespace.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/ip_vs.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "netlink/hostpolicy.h"

static struct hostpolicy *hp;
static struct host_policy policy;

__attribute__((format(printf, 1, 2))) static void run(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	if (system(command))
		fail_msg("%s", command);
}

static int set_up(void **state)
{
	if (unshare(CLONE_NEWNET))
		return -1;
	run("ip link add left type veth peer name right");
	policy = (struct host_policy){
		.port = { { .ifindex = if_nametoindex("left") } },
	};
	return hostpolicy_open(&hp);
}

static int tear_down(void **state)
{
	hostpolicy_free(hp);
	hp = NULL;
	return 0;
}

/* What one kind finds. The other reasons are then empty. */
static const struct host_policy *look(enum policy_kind kind)
{
	hostpolicy_look(hp, kind, &policy);
	return &policy;
}

/* Netlink delivers a notification before the request that causes it ends. */
static bool is_told(enum policy_kind kind)
{
	struct pollfd pollfd = { .fd = hostpolicy_fd(hp, kind), .events = POLLIN };

	assert_true(pollfd.fd >= 0);
	return poll(&pollfd, 1, 0) == 1;
}

static void assert_told(enum policy_kind kind)
{
	assert_true(is_told(kind));
	assert_true(hostpolicy_drain(hp, kind));
	assert_false(hostpolicy_drain(hp, kind));
	assert_false(is_told(kind));
}

static void a_bare_namespace_has_no_policy(void **state)
{
	static const struct host_policy none;

	for (int kind = 0; kind < POLICY_KINDS; kind++) {
		assert_memory_equal(look(kind)->family, none.family, sizeof(none.family));
		assert_string_equal(policy.port[0].name, "left");
		assert_string_equal(policy.port[0].ingress, "");
		assert_string_equal(policy.port[0].egress, "");
	}
}

static void a_chain_is_told_when_it_comes_and_goes(void **state)
{
	run("nft add table ip t");
	assert_told(POLICY_NETFILTER);
	run("nft add chain ip t c '{ type nat hook postrouting priority srcnat; }'");
	assert_told(POLICY_NETFILTER);
	assert_string_equal(look(POLICY_NETFILTER)->family[IP4], "nft chain ip t c is on the path");
	assert_string_equal(policy.family[IP6], "");
	run("nft flush ruleset");
	assert_told(POLICY_NETFILTER);
	assert_string_equal(look(POLICY_NETFILTER)->family[IP4], "");
}

static void rules_and_set_elements_ask_for_no_look(void **state)
{
	run("nft 'add table ip t; add chain ip t c; add set ip t s { type ipv4_addr; }'");
	assert_told(POLICY_NETFILTER);
	run("nft 'add rule ip t c accept; add element ip t s { 10.0.0.1 }'");
	assert_true(is_told(POLICY_NETFILTER));
	assert_false(hostpolicy_drain(hp, POLICY_NETFILTER));
}

static void a_chain_on_a_device_concerns_its_port(void **state)
{
	run("nft add table netdev t");
	run("nft add chain netdev t c '{ type filter hook ingress device left priority 0; }'");
	assert_string_equal(look(POLICY_NETFILTER)->port[0].ingress,
			    "nft chain netdev t c is on the ingress of left");
	assert_string_equal(policy.port[0].egress, "");
	assert_string_equal(policy.family[IP4], "");
}

static void many_chains_are_all_looked_at(void **state)
{
	FILE *nft = popen("nft -f -", "w");

	assert_non_null(nft);
	fprintf(nft, "table ip6 t {\n");
	for (int i = 0; i < 2000; i++)
		fprintf(nft, "chain c%d { }\n", i);
	fprintf(nft, "chain last { type filter hook forward priority 0; }\n}\n");
	assert_int_equal(pclose(nft), 0);
	assert_string_equal(look(POLICY_NETFILTER)->family[IP6],
			    "nft chain ip6 t last is on the path");
	assert_string_equal(policy.family[IP4], "");
}

static void an_ipsec_policy_is_told_when_it_comes_and_goes(void **state)
{
	run("ip xfrm policy add src 10.0.0.0/24 dst 10.1.0.0/24 dir fwd action block");
	assert_told(POLICY_XFRM);
	assert_string_equal(look(POLICY_XFRM)->family[IP4],
			    "IPsec policy 10.0.0.0/24 -> 10.1.0.0/24 (fwd)");
	assert_string_equal(policy.family[IP6], "");
	run("ip xfrm policy flush");
	assert_told(POLICY_XFRM);
	assert_string_equal(look(POLICY_XFRM)->family[IP4], "");
}

static void an_ipsec_default_is_told_when_it_changes(void **state)
{
	run("ip xfrm policy setdefault out block");
	assert_told(POLICY_XFRM);
	assert_string_equal(look(POLICY_XFRM)->family[IP6],
			    "the default IPsec policy is to block (out)");
	run("ip xfrm policy setdefault out accept");
	assert_told(POLICY_XFRM);
	assert_string_equal(look(POLICY_XFRM)->family[IP6], "");
}

static void a_qdisc_is_told_when_it_comes_and_goes(void **state)
{
	run("tc qdisc add dev left root tbf rate 1gbit burst 100k latency 9ms");
	assert_told(POLICY_TC);
	assert_string_equal(look(POLICY_TC)->port[0].egress,
			    "qdisc tbf on left shapes or filters what leaves");
	assert_string_equal(policy.port[0].ingress, "");
	run("tc qdisc del dev left root");
	assert_told(POLICY_TC);
	assert_string_equal(look(POLICY_TC)->port[0].egress, "");
}

static void a_qdisc_elsewhere_is_no_concern(void **state)
{
	run("tc qdisc add dev right root tbf rate 1gbit burst 100k latency 9ms");
	run("tc qdisc add dev right clsact");
	assert_string_equal(look(POLICY_TC)->port[0].egress, "");
	assert_string_equal(policy.port[0].ingress, "");
}

/* fq_codel is not in every kernel. */
static void a_filter_on_a_harmless_qdisc_is_found(void **state)
{
	if (system("tc qdisc add dev left root fq_codel 2>/dev/null"))
		skip();
	assert_string_equal(look(POLICY_TC)->port[0].egress, "");
	run("tc filter add dev left protocol ip u32 match ip dst 10.9.9.9 action drop");
	assert_told(POLICY_TC);
	assert_string_equal(look(POLICY_TC)->port[0].egress,
			    "a tc filter on left may filter what leaves");
}

static void a_rate_for_the_flows_of_fq_is_found(void **state)
{
	if (system("tc qdisc add dev left root fq 2>/dev/null"))
		skip();
	assert_string_equal(look(POLICY_TC)->port[0].egress, "");
	run("tc qdisc change dev left root fq maxrate 1mbit");
	assert_told(POLICY_TC);
	assert_string_equal(look(POLICY_TC)->port[0].egress,
			    "qdisc fq on left shapes or filters what leaves");
}

static void an_ipvs_service_is_found(void **state)
{
	const struct ip_vs_service_user service = {
		.protocol = IPPROTO_TCP,
		.addr = htonl(0x0a000001),
		.port = htons(80),
		.sched_name = "rr",
		.netmask = ~0u,
	};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);

	if (system("modprobe -q -a ip_vs ip_vs_rr"))
		skip();
	assert_return_code(setsockopt(fd, IPPROTO_IP, IP_VS_SO_SET_ADD, &service, sizeof(service)),
			   errno);
	assert_string_equal(look(POLICY_NETFILTER)->family[IP4],
			    "IPVS service TCP 10.0.0.1:80 is on the path");
	assert_string_equal(policy.family[IP6], "");
}

static void a_legacy_table_is_found(void **state)
{
	if (system("ip6tables-legacy -t raw -A PREROUTING -j ACCEPT 2>/dev/null"))
		skip();
	assert_string_equal(look(POLICY_NETFILTER)->family[IP6],
			    "table raw of legacy ip6tables is on the path");
	assert_string_equal(policy.family[IP4], "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_bare_namespace_has_no_policy),
		TEST(a_chain_is_told_when_it_comes_and_goes),
		TEST(rules_and_set_elements_ask_for_no_look),
		TEST(a_chain_on_a_device_concerns_its_port),
		TEST(many_chains_are_all_looked_at),
		TEST(an_ipsec_policy_is_told_when_it_comes_and_goes),
		TEST(an_ipsec_default_is_told_when_it_changes),
		TEST(a_qdisc_is_told_when_it_comes_and_goes),
		TEST(a_qdisc_elsewhere_is_no_concern),
		TEST(a_filter_on_a_harmless_qdisc_is_found),
		TEST(a_rate_for_the_flows_of_fq_is_found),
		TEST(an_ipvs_service_is_found),
		TEST(a_legacy_table_is_found),
	};

	return cmocka_run_group_tests_name("hostpolicy in the kernel", tests, NULL, NULL);
}

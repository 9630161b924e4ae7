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
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/ip_vs.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "netlink/hostpolicy.h"

static struct hostpolicy *hp;
static struct host_policy policy;

static char command[1024];

__attribute__((format(printf, 1, 2))) static void run(const char *fmt, ...)
{
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

/* --- connection tracking, as the kernel has it ---------------------------------------------------- */

/* A counter of this namespace, in a file of lines "name value". */
static unsigned long counter6(const char *name)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/net/snmp6", "re");
	unsigned long value;
	char at[64];

	assert_non_null(f);
	while (fscanf(f, "%63s %lu", at, &value) == 2)
		if (!strcmp(at, name))
			return value;
	fail_msg("no %s", name);
	return 0;
}

/* ... and in one of pairs of lines: names, values. */
static unsigned long counter4(const char *name)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/net/snmp", "re");
	char names[1024], values[1024], *n, *v, *rest_n, *rest_v;

	assert_non_null(f);
	assert_non_null(fgets(names, sizeof(names), f));
	assert_non_null(fgets(values, sizeof(values), f));
	n = strtok_r(names, " \n", &rest_n);
	v = strtok_r(values, " \n", &rest_v);
	for (; n && v; n = strtok_r(NULL, " \n", &rest_n), v = strtok_r(NULL, " \n", &rest_v))
		if (!strcmp(n, name))
			return strtoul(v, NULL, 10);
	fail_msg("no %s", name);
	return 0;
}

/* From left to right, and received when this returns. */
static void send_frame(unsigned long (*counter)(const char *), const char *received, __u16 proto,
		       const void *packet, size_t len)
{
	const struct sockaddr_ll to = { .sll_family = AF_PACKET,
					.sll_protocol = htons(proto),
					.sll_ifindex = if_nametoindex("left"),
					.sll_halen = ETH_ALEN,
					.sll_addr = { 2, 0, 0, 0, 0, 2 } };
	_cleanup_close_ int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const unsigned long before = counter(received);

	/* Sent again while the link still comes up. */
	for (int i = 0; i < 10000 && counter(received) == before; i++) {
		if (i % 100 == 0)
			assert_int_equal(sendto(fd, packet, len, 0, (const void *)&to, sizeof(to)),
					 len);
		usleep(1000);
	}
	assert_true(counter(received) > before);
}

/* Whether a first fragment for somebody else is kept until the rest of it comes. */
static bool kernel_defragments4(void)
{
	static __u16 id;
	struct {
		struct iphdr ip;
		__u8 payload[64];
	} packet = { .ip = { .version = 4,
			     .ihl = 5,
			     .tot_len = htons(sizeof(packet)),
			     .id = htons(++id),
			     .frag_off = htons(IP_MF),
			     .ttl = 64,
			     .protocol = IPPROTO_UDP,
			     .saddr = htonl(0x0a010001),
			     .daddr = htonl(0x0a090909) } };
	const unsigned long before = counter4("ReasmReqds");
	const __u16 *word = (const void *)&packet.ip;
	__u32 sum = 0;

	for (int i = 0; i < 10; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	packet.ip.check = ~(sum + (sum >> 16));
	send_frame(counter4, "InReceives", ETH_P_IP, &packet, sizeof(packet));
	return counter4("ReasmReqds") > before;
}

/* Connection tracking does not count here: what it kept has found no route. */
static bool kernel_defragments6(void)
{
	static __u32 id;
	struct {
		struct ip6_hdr ip;
		struct ip6_frag fragment;
		__u8 payload[64];
	} packet = { .ip = { .ip6_flow = htonl(6u << 28),
			     .ip6_plen = htons(sizeof(packet) - sizeof(packet.ip)),
			     .ip6_nxt = IPPROTO_FRAGMENT,
			     .ip6_hlim = 64,
			     .ip6_src.s6_addr = { 0xfd, [15] = 1 },
			     .ip6_dst.s6_addr = { 0xfd, 9, [15] = 9 } },
		     .fragment = { .ip6f_nxt = IPPROTO_UDP,
				   .ip6f_offlg = IP6F_MORE_FRAG,
				   .ip6f_ident = htonl(++id) } };
	const unsigned long before = counter6("Ip6InNoRoutes");

	send_frame(counter6, "Ip6InReceives", ETH_P_IPV6, &packet, sizeof(packet));
	return counter6("Ip6InNoRoutes") == before;
}

static void can_receive(void)
{
	/* Without an address of its own a device is silent. */
	run("ip link set left addrgenmode none && ip link set right addrgenmode none");
	run("ip link set right address 02:00:00:00:00:02 && ip link set lo up && "
	    "ip link set left up && ip link set right up");
}

static void assert_tracking(const char *ip4, const char *ip6)
{
	look(POLICY_NETFILTER);
	assert_string_equal(policy.tracking[IP4], ip4);
	assert_string_equal(policy.tracking[IP6], ip6);
	assert_int_equal(kernel_defragments4(), *ip4 != '\0');
	assert_int_equal(kernel_defragments6(), *ip6 != '\0');
}

#define INPUT	"type filter hook input priority 0;"
#define DYNAMIC "{ type ipv4_addr; flags dynamic;"

static void what_tracks_connections_is_found_wherever_it_stands(void **state)
{
	static const struct {
		const char *family, *what, *named; /* NULL: no reason */
	} cases[] = {
		{ "ip", "chain c { " INPUT " ct state new accept; }", "chain" },
		{ "ip6", "chain c { " INPUT " ct state new accept; }", "chain" },
		{ "inet", "chain c { " INPUT " ct state new accept; }", "chain" },
		{ "bridge", "chain c { " INPUT " ct state new accept; }", "chain" },
		{ "inet", "flags dormant; chain c { " INPUT " ct state new; }", "chain" },
		{ "inet", "chain c { type filter hook output priority 0; ct mark set 1; }",
		  "chain" },
		{ "inet", "chain c { meta mark set ct mark; }", "chain" },
		{ "ip", "chain c { ct count over 3 drop; }", "chain" },
		{ "ip", "chain c { type nat hook output priority 0; oif lo redirect; }", "chain" },
		{ "ip", "chain c { type nat hook input priority 100; snat to 10.0.0.1; }",
		  "chain" },
		{ "inet", "chain c { " INPUT " tcp flags syn synproxy mss 1460; }", "chain" },
		{ "ip", "set s " DYNAMIC " }; chain c { add @s { ip saddr ct count over 3 }; }",
		  "chain" },
		{ "ip", "set c " DYNAMIC " ct count over 3; }", "set" },
		{ "ip6", "ct helper c { type \"ftp\" protocol tcp; l3proto ip6; }", "object" },
		{ "inet", "ct timeout c { protocol tcp; policy = { established : 10 }; }",
		  "object" },
		{ "ip", "ct expectation c { protocol tcp; dport 9; timeout 2m; size 9; }",
		  "object" },
		{ "inet", "synproxy c { mss 1460; wscale 7; }", "object" },
		{ "inet", "chain c { " INPUT " counter limit rate 1/second log drop; }", NULL },
		{ "inet", "chain c { " INPUT " tcp dport { 22, 80 } fib saddr type local; }",
		  NULL },
		{ "inet", "chain c { " INPUT " socket transparent 1 accept; }", NULL },
		{ "inet", "chain c { numgen random mod 2 0; jhash ip saddr mod 2 0; }", NULL },
		{ "inet", "chain c { osf name \"Linux\"; }", NULL },
		{ "inet", "chain c { meta ipsec exists; rt ip nexthop 10.0.0.1; }", NULL },
		{ "ip", "chain c { reject; }", NULL },
		{ "ip", "chain c { dup to 10.0.0.1 device left; }", NULL },
		{ "inet", "quota q { over 9 bytes; }; counter k { }; limit l { rate 1/hour; }",
		  NULL },
		{ "ip", "set s " DYNAMIC " limit rate 1/hour; }; chain c { add @s { ip saddr }; }",
		  NULL },
		{ "ip", "set s " DYNAMIC " elements = { 10.0.0.1 ct count over 3 }; }", NULL },
		{ "netdev", "chain c { type filter hook ingress device right priority 0; }", NULL },
	};
	const size_t n = sizeof(cases) / sizeof(cases[0]);
	char reason[XFIB_REASON] = "";
	unsigned int seen = 0;

	can_receive();
	assert_tracking("", "");
	for (size_t i = 0; i < n; i++) {
		const char *family = cases[i].family;

		/* Not every kernel and nft has all of it. */
		snprintf(command, sizeof(command), "nft 'table %s t { %s; }' 2>/dev/null", family,
			 cases[i].what);
		if (system(command))
			continue;
		seen++;
		if (cases[i].named)
			snprintf(reason, sizeof(reason), "nft %s %s t c tracks connections",
				 cases[i].named, family);
		print_message("  %s: %s\n", family, cases[i].what);
		hostpolicy_drain(hp, POLICY_NETFILTER);
		assert_tracking(cases[i].named && strcmp(family, "ip6") ? reason : "",
				cases[i].named && strcmp(family, "ip") ? reason : "");
		run("nft flush ruleset");
		assert_told(POLICY_NETFILTER);
		assert_tracking("", "");
	}
	print_message("%u of %zu known here\n", seen, n);
	assert_true(seen > 10);
}

static void iptables_on_nft_is_known_by_its_extensions(void **state)
{
	if (system("iptables-nft -A OUTPUT -m conntrack --ctstate NEW -j ACCEPT 2>/dev/null"))
		skip();
	can_receive();
	hostpolicy_drain(hp, POLICY_NETFILTER);
	assert_tracking("nft chain ip filter OUTPUT tracks connections", "");
	run("iptables-nft -F");
	assert_told(POLICY_NETFILTER);
	run("iptables-nft -A INPUT -p tcp -m multiport --dports 22,80 -m comment --comment hi "
	    "-m limit --limit 1/s -j REJECT");
	assert_tracking("", "");
}

static void what_begins_and_ends_to_track_is_told_and_nothing_else(void **state)
{
	run("nft 'add table inet t; add chain inet t c { " INPUT " }; add chain inet t d'");
	assert_told(POLICY_NETFILTER);
	assert_string_equal(look(POLICY_NETFILTER)->tracking[IP4], "");
	for (int i = 0; i < 2; i++) {
		run("nft 'add rule inet t d ct state new'");
		assert_told(POLICY_NETFILTER);
		assert_string_equal(look(POLICY_NETFILTER)->tracking[IP4],
				    "nft chain inet t d tracks connections");
		/* One more changes nothing, nor do plain ones that come and go. */
		run("nft 'add rule inet t c ct state new; add rule inet t c counter; "
		    "add counter inet t k; delete counter inet t k; "
		    "add set inet t s { type ipv4_addr; }; delete set inet t s'");
		run("nft -a list chain inet t c | sed -n "
		    "'s/.*counter .*handle/delete rule inet t c handle/p' | nft -f -");
		assert_true(is_told(POLICY_NETFILTER));
		assert_false(hostpolicy_drain(hp, POLICY_NETFILTER));
		run("nft flush chain inet t d");
		assert_told(POLICY_NETFILTER);
		assert_string_equal(look(POLICY_NETFILTER)->tracking[IP6],
				    "nft chain inet t c tracks connections");
		run("nft flush chain inet t c");
		assert_told(POLICY_NETFILTER);
		assert_string_equal(look(POLICY_NETFILTER)->tracking[IP6], "");
	}
}

static void a_set_or_an_object_that_goes_is_told_if_one_tracked(void **state)
{
	run("nft 'add table inet t; add set inet t s " DYNAMIC " ct count over 3; };"
	    "add synproxy inet t o { mss 1460; wscale 7; }'");
	assert_told(POLICY_NETFILTER);
	assert_string_equal(look(POLICY_NETFILTER)->tracking[IP4],
			    "nft set inet t s tracks connections");
	run("nft delete set inet t s");
	assert_told(POLICY_NETFILTER);
	assert_string_equal(look(POLICY_NETFILTER)->tracking[IP4],
			    "nft object inet t o tracks connections");
	run("nft delete synproxy inet t o");
	assert_told(POLICY_NETFILTER);
	assert_string_equal(look(POLICY_NETFILTER)->tracking[IP4], "");
}

static void a_message_that_was_lost_may_have_told_of_it(void **state)
{
	const int fd = hostpolicy_fd(hp, POLICY_NETFILTER), little = 1;
	FILE *nft;

	assert_string_equal(look(POLICY_NETFILTER)->tracking[IP4], "");
	assert_return_code(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &little, sizeof(little)),
			   errno);
	nft = popen("nft -f -", "w");
	assert_non_null(nft);
	fprintf(nft, "table ip t {\nchain c {\n");
	for (int i = 0; i < 1000; i++)
		fprintf(nft, "tcp dport %d counter\n", i);
	fprintf(nft, "ct state new\n}\n}\n");
	assert_int_equal(pclose(nft), 0);
	assert_true(hostpolicy_drain(hp, POLICY_NETFILTER));
	assert_string_equal(look(POLICY_NETFILTER)->tracking[IP4],
			    "nft chain ip t c tracks connections");
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

static void many_rules_are_all_looked_at(void **state)
{
	FILE *nft = popen("nft -f -", "w");

	assert_non_null(nft);
	fprintf(nft, "table ip6 t {\nchain c {\n");
	for (int i = 0; i < 10000; i++)
		fprintf(nft, "tcp dport %d counter\n", i);
	fprintf(nft, "}\nchain last { ct state new; }\n}\n");
	assert_int_equal(pclose(nft), 0);
	while (hostpolicy_drain(hp, POLICY_NETFILTER))
		;
	assert_string_equal(look(POLICY_NETFILTER)->tracking[IP6],
			    "nft chain ip6 t last tracks connections");
	assert_string_equal(policy.tracking[IP4], "");
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
		TEST(what_tracks_connections_is_found_wherever_it_stands),
		TEST(iptables_on_nft_is_known_by_its_extensions),
		TEST(what_begins_and_ends_to_track_is_told_and_nothing_else),
		TEST(a_set_or_an_object_that_goes_is_told_if_one_tracked),
		TEST(a_message_that_was_lost_may_have_told_of_it),
		TEST(a_chain_on_a_device_concerns_its_port),
		TEST(many_chains_are_all_looked_at),
		TEST(many_rules_are_all_looked_at),
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

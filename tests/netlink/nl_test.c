/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sockets of netlink/ against the kernel: what they do when messages are lost, forged or
 * unwanted. The program runs in a network namespace of its own; each test begins with a fresh one.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "netlink/nl.h"
#include "netlink/xdpdriver.h"
#include "netlink/xdpfeat.h"

/* --- the namespace ------------------------------------------------------------------------------- */

static int fresh_namespace(void **state)
{
	return unshare(CLONE_NEWNET) || system("ip link set lo up");
}

/* Runs ip(8) in the namespace; a test whose set-up fails has failed. */
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

static void add_veth(void)
{
	run("ip link add left type veth peer name right");
}

static void add_routes(int count)
{
	FILE *ip = popen("ip -batch -", "w");

	assert_non_null(ip);
	for (int i = 0; i < count; i++)
		fprintf(ip, "route add 10.%d.%d.%d dev lo\n", i >> 16, i >> 8 & 255, i & 255);
	assert_int_equal(pclose(ip), 0);
}

/* A process that holds another namespace, until it is killed or this one ends. */
static pid_t other_namespace(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		close(ready[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!unshare(CLONE_NEWNET) && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct addr address(const char *text)
{
	enum family f;
	struct addr a;

	assert_int_equal(addr_parse(text, &f, &a), 0);
	return a;
}

/* --- events -------------------------------------------------------------------------------------- */

struct seen {
	unsigned int kinds[EVENT_KINDS];
	unsigned int all, dumped;
	unsigned int neigh_state; /* of the last IPv4 neighbour; IPv6 makes some of its own */
};

static void note(const struct event *ev, void *arg)
{
	struct seen *seen = arg;

	seen->kinds[ev->kind]++;
	seen->all++;
	seen->dumped += ev->dump;
	if (ev->kind == EVENT_NEIGH && ev->neigh.family == IP4)
		seen->neigh_state = ev->neigh.state;
}

static struct nl_monitor *open_monitor(enum nl_channel channel, int rcvbuf)
{
	struct nl_monitor *monitor = NULL;
	int granted = 0;

	assert_int_equal(nl_monitor_open(channel, rcvbuf, &monitor, &granted), 0);
	assert_true(granted > 0);
	return monitor;
}

static void wait_for(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&pollfd, 1, 5000), 1);
}

/* To the end of the table, or to its failure. */
static int finish(struct nl_dump *dump, struct seen *seen)
{
	int ret;

	do {
		wait_for(nl_dump_fd(dump));
		ret = nl_dump_step(dump, note, seen);
	} while (ret == 1);
	return ret;
}

/* --- monitors ------------------------------------------------------------------------------------ */

static void the_receive_buffer_is_what_was_asked_for(void **state)
{
	struct nl_monitor *monitor = NULL;
	int granted = 0;

	assert_int_equal(nl_monitor_open(NL_CONTROL, 128 << 20, &monitor, &granted), 0);
	assert_int_equal(granted, 128 << 20);
	nl_monitor_free(monitor);
}

static void a_budget_ends_a_drain(void **state)
{
	struct nl_monitor *monitor = open_monitor(NL_CONTROL, 1 << 20);
	struct seen seen = {};

	add_routes(10);
	assert_int_equal(nl_monitor_drain(monitor, 4, note, &seen), 1);
	assert_int_equal(seen.all, 4);
	assert_int_equal(nl_monitor_drain(monitor, 100, note, &seen), 0);
	assert_int_equal(seen.kinds[EVENT_ROUTE], 10);
	assert_int_equal(seen.dumped, 0);
	nl_monitor_free(monitor);
}

static void lost_messages_are_reported_and_the_socket_works_on(void **state)
{
	struct nl_monitor *monitor = open_monitor(NL_CONTROL, 4096);
	struct seen seen = {};
	int ret;

	add_routes(500);
	do
		ret = nl_monitor_drain(monitor, 1000, note, &seen);
	while (ret == 1);
	assert_int_equal(ret, -ENOBUFS);
	while (nl_monitor_drain(monitor, 1000, note, &seen))
		;
	assert_true(seen.all < 500);

	seen = (struct seen){};
	run("ip route add 192.0.2.0/24 dev lo");
	assert_int_equal(nl_monitor_drain(monitor, 1000, note, &seen), 0);
	assert_int_equal(seen.kinds[EVENT_ROUTE], 1);
	nl_monitor_free(monitor);
}

/* Sends what the kernel would say of a new route, or of a link's end, to another process's socket. */
static void forge(int victim, __u16 type)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	struct sockaddr_nl to = {};
	socklen_t len = sizeof(to);
	struct {
		struct nlmsghdr nlh;
		struct rtmsg rtm;
		__u32 pad[4];
	} msg = { .nlh = { .nlmsg_len = sizeof(msg), .nlmsg_type = type },
		  .rtm = { .rtm_family = AF_INET, .rtm_type = RTN_BLACKHOLE } };

	assert_int_equal(getsockname(victim, (struct sockaddr *)&to, &len), 0);
	assert_int_equal(sendto(fd, &msg, sizeof(msg), 0, (struct sockaddr *)&to, len),
			 sizeof(msg));
}

static void only_the_kernel_is_believed(void **state)
{
	struct nl_monitor *monitor = open_monitor(NL_CONTROL, 1 << 20);
	struct seen seen = {};
	const char *why;

	forge(nl_monitor_fd(monitor), RTM_NEWROUTE);
	wait_for(nl_monitor_fd(monitor)); /* it did arrive */
	assert_int_equal(nl_monitor_drain(monitor, 100, note, &seen), 0);
	run("ip route add 192.0.2.0/24 dev lo");
	assert_int_equal(nl_monitor_drain(monitor, 100, note, &seen), 0);
	assert_int_equal(seen.all, 1);
	assert_int_equal(nl_monitor_malformed(monitor, &why), 0);
	assert_null(why);
	nl_monitor_free(monitor);
}

static void each_channel_has_its_own_kinds(void **state)
{
	struct nl_monitor *control = open_monitor(NL_CONTROL, 1 << 20);
	struct nl_monitor *neighbours = open_monitor(NL_NEIGHBOURS, 1 << 20);
	struct seen of_control = {}, of_neighbours = {};

	add_veth();
	run("ip link set left up && ip link set right up");
	run("ip address add 192.0.2.1/24 dev left");
	run("ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 nud stale dev left");
	run("ip rule add from 192.0.2.0/24 lookup 100");
	run("ip nexthop add id 1 dev left");
	run("sysctl -qw net.ipv4.conf.left.forwarding=1");
	run("sysctl -qw net.ipv6.conf.left.forwarding=1");
	assert_int_equal(nl_monitor_drain(control, 1000, note, &of_control), 0);
	assert_int_equal(nl_monitor_drain(neighbours, 1000, note, &of_neighbours), 0);
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		assert_int_equal(of_control.kinds[kind] > 0, kind != EVENT_NEIGH);
		assert_int_equal(of_neighbours.kinds[kind] > 0, kind == EVENT_NEIGH);
	}
	nl_monitor_free(control);
	nl_monitor_free(neighbours);
}

/* --- dumps --------------------------------------------------------------------------------------- */

static void every_table_comes_to_an_end(void **state)
{
	struct nl_dump *dump = NULL;
	struct seen seen = {};

	assert_int_equal(nl_dump_open(&dump), 0);
	for (int table = 0; table < NL_TABLES; table++) {
		assert_int_equal(nl_dump_start(dump, table), 0);
		assert_int_equal(finish(dump, &seen), 0);
		assert_int_equal(nl_dump_step(dump, note, &seen), 0); /* and stays there */
	}
	assert_int_equal(seen.kinds[EVENT_LINK], 1);
	assert_int_equal(seen.kinds[EVENT_RULE], 5);
	assert_true(seen.kinds[EVENT_ADDR] >= 2);
	assert_int_equal(seen.dumped, seen.all);
	nl_dump_free(dump);
}

static void a_step_without_news_returns_at_once(void **state)
{
	struct nl_dump *dump = NULL;
	struct seen seen = {};

	add_routes(2000);
	assert_int_equal(nl_dump_open(&dump), 0);
	assert_int_equal(nl_dump_step(dump, note, &seen), 0); /* nothing was asked for */
	assert_int_equal(nl_dump_start(dump, NL_ROUTES4), 0);
	assert_int_equal(fcntl(nl_dump_fd(dump), F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(finish(dump, &seen), 0);
	assert_true(seen.kinds[EVENT_ROUTE] >= 2000);
	nl_dump_free(dump);
}

static void an_abandoned_dump_is_not_heard_of_again(void **state)
{
	struct nl_dump *dump = NULL;
	struct seen routes = {}, links = {};

	add_routes(5000);
	assert_int_equal(nl_dump_open(&dump), 0);
	assert_int_equal(nl_dump_start(dump, NL_ROUTES4), 0);
	wait_for(nl_dump_fd(dump));
	assert_int_equal(nl_dump_step(dump, note, &routes), 1);
	assert_true(routes.all > 0 && routes.all < 5000);

	assert_int_equal(nl_dump_start(dump, NL_ADDRS), 0);
	assert_int_equal(nl_dump_start(dump, NL_LINKS), 0); /* changed our mind */
	assert_int_equal(finish(dump, &links), 0);
	assert_int_equal(links.kinds[EVENT_LINK], 1);
	assert_int_equal(links.all, 1);
	nl_dump_free(dump);
}

static void a_table_that_changes_meanwhile_is_dumped_again(void **state)
{
	struct nl_dump *dump = NULL;
	struct seen seen = {};

	for (int i = 0; i < 60; i++)
		run("ip link add a%d type veth peer name b%d", i, i);
	assert_int_equal(nl_dump_open(&dump), 0);
	assert_int_equal(nl_dump_start(dump, NL_LINKS), 0);
	wait_for(nl_dump_fd(dump));
	assert_int_equal(nl_dump_step(dump, note, &seen), 1);
	run("ip link add late type veth peer name later");
	assert_int_equal(finish(dump, &seen), -EINTR);

	seen = (struct seen){};
	assert_int_equal(nl_dump_start(dump, NL_LINKS), 0);
	assert_int_equal(finish(dump, &seen), 0);
	assert_int_equal(seen.kinds[EVENT_LINK], 123);
	nl_dump_free(dump);
}

static void forged_answers_do_not_end_a_dump(void **state)
{
	struct nl_dump *dump = NULL;
	struct seen seen = {};

	assert_int_equal(nl_dump_open(&dump), 0);
	forge(nl_dump_fd(dump), NLMSG_DONE);
	assert_int_equal(nl_dump_start(dump, NL_RULES4), 0);
	assert_int_equal(finish(dump, &seen), 0);
	assert_int_equal(seen.kinds[EVENT_RULE], 3);
	nl_dump_free(dump);
}

static void the_whole_table_at_once(void **state)
{
	struct seen seen = {};

	add_routes(3000);
	assert_int_equal(nl_dump_all(NL_ROUTES4, note, &seen), 0);
	assert_true(seen.kinds[EVENT_ROUTE] >= 3000);
	assert_int_equal(seen.dumped, seen.all);
}

/* --- questions ------------------------------------------------------------------------------------ */

static struct nl_answer answer;

static int ask(enum family f, const char *dst, bool match)
{
	struct nl_query *query = NULL;

	assert_int_equal(nl_query_open(&query), 0);
	assert_int_equal(nl_query_route(query, f, address(dst), NULL, 0, match, &answer), 0);
	nl_query_free(query);
	return answer.error;
}

static void the_kernel_says_which_way(void **state)
{
	add_veth();
	run("ip link set left up && ip link set right up");
	run("ip address add 192.0.2.1/24 dev left");
	run("ip route add 198.51.100.0/24 via 192.0.2.9 mtu 1300");
	assert_int_equal(ask(IP4, "198.51.100.7", false), 0);
	assert_int_equal(answer.type, RTN_UNICAST);
	assert_int_equal(answer.oif, if_nametoindex("left"));
	assert_true(answer.has_gateway);
	assert_true(addr_equal(answer.gateway, address("192.0.2.9")));
	assert_int_equal(answer.table, RT_TABLE_MAIN);
	assert_int_equal(answer.mtu, 1300);

	assert_int_equal(ask(IP4, "198.51.100.7", true), 0);
	assert_true(addr_equal(answer.prefix, address("198.51.100.0")));
	assert_int_equal(answer.prefixlen, 24);
	assert_int_equal(answer.legs, 1);

	assert_int_equal(ask(IP4, "192.0.2.1", false), 0);
	assert_int_equal(answer.type, RTN_LOCAL);
	assert_false(answer.has_gateway);
}

static void refusals_are_answers(void **state)
{
	static const struct {
		const char *type;
		int error;
	} cases[] = { { "blackhole", -EINVAL },
		      { "unreachable", -EHOSTUNREACH },
		      { "prohibit", -EACCES },
		      { "throw", -ENETUNREACH } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		run("ip route replace %s 198.51.100.0/24", cases[i].type);
		run("ip -6 route replace %s 2001:db8:1::/64", cases[i].type);
		assert_int_equal(ask(IP4, "198.51.100.1", false), cases[i].error);
		assert_int_not_equal(ask(IP6, "2001:db8:1::1", false), 0);
	}
	assert_int_equal(ask(IP4, "203.0.113.1", false), -ENETUNREACH);
	assert_int_equal(ask(IP6, "2001:db8:2::1", false), -ENETUNREACH);
}

static void a_question_about_no_device_fails(void **state)
{
	struct addr dst = address("203.0.113.1");
	struct nl_query *query = NULL;

	assert_int_equal(nl_query_open(&query), 0);
	answer.oif = 77;
	assert_int_equal(nl_query_route(query, IP4, dst, &dst, 12345, false, &answer), -ENODEV);
	assert_int_equal(answer.oif, 77);
	nl_query_free(query);
}

static void a_probe_starts_the_kernels_own(void **state)
{
	struct nl_query *query = NULL;
	struct seen seen = {};
	int ifindex;

	add_veth();
	run("ip link set left up && ip link set right up");
	run("ip address add 192.0.2.1/24 dev left");
	run("ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 nud stale dev left");
	ifindex = if_nametoindex("left");
	assert_int_equal(nl_query_open(&query), 0);
	for (int i = 0; i < 1000; i++) /* refused, and never read until the next request */
		assert_int_equal(nl_query_probe(query, IP4, ifindex, address("192.0.2.77")), 0);
	assert_int_equal(nl_query_probe(query, IP4, ifindex, address("192.0.2.9")), 0);
	assert_int_equal(nl_dump_all(NL_NEIGHS, note, &seen), 0);
	assert_true(seen.neigh_state & (NUD_DELAY | NUD_PROBE));
	assert_int_equal(nl_query_route(query, IP4, address("192.0.2.1"), NULL, 0, false, &answer),
			 0);
	assert_int_equal(answer.type, RTN_LOCAL);
	nl_query_free(query);
}

/* --- XDP features ---------------------------------------------------------------------------------- */

static bool by_table(int ifindex)
{
	static struct nl_talk rtnl;
	bool can = false;

	assert_int_equal(nl_talk_open(&rtnl, NETLINK_ROUTE), 0);
	assert_int_equal(xdpdriver_can_transmit(&rtnl, ifindex, &can), 0);
	nl_talk_close(&rtnl);
	return can;
}

/* What the kernel says, where it does; else what the table says. */
static bool can_transmit(struct xdpfeat *xf, int ifindex)
{
	struct xdp_features features;

	assert_int_equal(xdpfeat_get(xf, ifindex, &features), 0);
	assert_int_equal(features.known, xdpfeat_fd(xf) >= 0);
	return features.xmit;
}

static void assert_transmits(struct xdpfeat *xf, const char *name, bool can)
{
	assert_int_equal(can_transmit(xf, if_nametoindex(name)), can);
	assert_int_equal(by_table(if_nametoindex(name)), can);
}

static void attach_program(const char *name, int prog)
{
	assert_int_equal(bpf_xdp_attach(if_nametoindex(name), prog, XDP_FLAGS_DRV_MODE, NULL), 0);
}

static int load_program(void)
{
	static const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "pass", "GPL", pass, 2, NULL);

	assert_true(fd >= 0);
	return fd;
}

static void veth_transmits_if_its_peer_can_receive(void **state)
{
	_cleanup_close_ int prog = load_program();
	struct xdpfeat *xf = NULL;

	add_veth();
	run("ip link set left up && ip link set right up");
	assert_int_equal(xdpfeat_open(&xf), 0);
	assert_transmits(xf, "left", false);
	assert_transmits(xf, "right", false);
	run("ethtool -K right gro on");
	assert_transmits(xf, "left", true);
	assert_transmits(xf, "right", false);
	run("ethtool -K right gro off");
	assert_transmits(xf, "left", false);
	attach_program("right", prog);
	assert_transmits(xf, "left", true);
	assert_transmits(xf, "right", false);
	xdpfeat_free(xf);
}

static void the_peer_may_be_elsewhere(void **state)
{
	_cleanup_close_ int prog = load_program();
	struct xdpfeat *xf = NULL;
	pid_t pid = other_namespace();

	add_veth();
	attach_program("right", prog);
	run("ip link set right netns %d && ip link set left up", pid);
	assert_int_equal(xdpfeat_open(&xf), 0);
	assert_transmits(xf, "left", true);
	run("nsenter --net=/proc/%d/ns/net ip link set right xdp off", pid);
	run("nsenter --net=/proc/%d/ns/net ethtool -K right gro off", pid);
	assert_transmits(xf, "left", false);
	xdpfeat_free(xf);
	end_process(pid);
}

static void other_devices_do_not(void **state)
{
	struct xdp_features features;
	struct xdpfeat *xf = NULL;

	run("ip link add bridge0 type bridge");
	assert_int_equal(xdpfeat_open(&xf), 0);
	assert_transmits(xf, "lo", false);
	assert_transmits(xf, "bridge0", false);
	assert_int_equal(xdpfeat_get(xf, 12345, &features), -ENODEV);
	xdpfeat_free(xf);
}

static void changes_of_features_are_announced(void **state)
{
	struct xdpfeat *xf = NULL;

	add_veth();
	run("ip link set left up && ip link set right up");
	assert_int_equal(xdpfeat_open(&xf), 0);
	if (xdpfeat_fd(xf) < 0) {
		assert_int_equal(xdpfeat_drain(xf), 0);
		xdpfeat_free(xf);
		return;
	}
	assert_int_equal(xdpfeat_drain(xf), 0);
	run("ethtool -K right gro on");
	wait_for(xdpfeat_fd(xf));
	assert_int_equal(xdpfeat_drain(xf), 1);
	assert_int_equal(xdpfeat_drain(xf), 0);
	xdpfeat_free(xf);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh_namespace)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_receive_buffer_is_what_was_asked_for),
		TEST(a_budget_ends_a_drain),
		TEST(lost_messages_are_reported_and_the_socket_works_on),
		TEST(only_the_kernel_is_believed),
		TEST(each_channel_has_its_own_kinds),
		TEST(every_table_comes_to_an_end),
		TEST(a_step_without_news_returns_at_once),
		TEST(an_abandoned_dump_is_not_heard_of_again),
		TEST(a_table_that_changes_meanwhile_is_dumped_again),
		TEST(forged_answers_do_not_end_a_dump),
		TEST(the_whole_table_at_once),
		TEST(the_kernel_says_which_way),
		TEST(refusals_are_answers),
		TEST(a_question_about_no_device_fails),
		TEST(a_probe_starts_the_kernels_own),
		TEST(veth_transmits_if_its_peer_can_receive),
		TEST(the_peer_may_be_elsewhere),
		TEST(other_devices_do_not),
		TEST(changes_of_features_are_announced),
	};

	return cmocka_run_group_tests_name("netlink", tests, NULL, NULL);
}

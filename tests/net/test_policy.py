#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What an operator may set that XDP would bypass: sysctls, rules, filters, IPsec, queueing disciplines.

A sysctl without a notification is polled every second, hence the `eventually`."""

import sys

import pytest

from lib.frames import host4, host6, udp4, udp6

NET_REDIRECT, REDIRECT6 = (5, 1), (137, 0)


def both(port=0):
    return [udp4("10.9.9.9", port=port), udp6("fd09::9", port=port)]


@pytest.fixture
def routed(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    net.check(both(), verdict="forwarded", out="p1")
    return net


def four():
    return udp4("10.9.9.9")


def six():
    return udp6("fd09::9")


# --- forwarding ---

def test_ipv4_forwarding_can_be_switched_off_and_on(routed):
    routed.sysctl({"ipv4.ip_forward": 0})
    routed.check(four(), verdict="punt_ip4_disabled")
    routed.check(six(), verdict="forwarded", out="p1")
    routed.sysctl({"ipv4.ip_forward": 1})
    routed.check(four(), verdict="forwarded", out="p1")


def test_ipv6_forwarding_can_be_switched_off_and_on(routed):
    routed.sysctl({"ipv6.conf.all.forwarding": 0})
    routed.check(six(), verdict="punt_ip6_disabled")
    routed.check(four(), verdict="forwarded", out="p1")
    routed.sysctl({"ipv6.conf.all.forwarding": 1})
    routed.check(six(), verdict="forwarded", out="p1")


def test_ipv4_forwarding_off_on_one_interface_is_about_what_comes_in_there(routed):
    routed.sysctl({"ipv4.conf.p0.forwarding": 0})
    routed.check(four(), verdict="punt_ip4_disabled")
    routed.check(udp4("10.9.9.9", port=2), verdict="forwarded", out="p1", port=2)


def test_ipv6_forwarding_off_on_one_interface_is_about_what_comes_in_there(routed):
    routed.sysctl({"ipv6.conf.p0.forwarding": 0})
    routed.same(routed.exchange([six()], 0, 0, "punt_ip6_disabled"))
    routed.check(udp6("fd09::9", port=2), verdict="forwarded", out="p1", port=2)


def test_ipv6_disabled_on_an_interface_is_left_to_the_kernel(routed):
    routed.sysctl({"ipv6.conf.p0.disable_ipv6": 1})
    routed.eventually(lambda: routed.check(six(), verdict="punt_ip6_disabled"))


# --- rules ---

def test_a_rule_takes_its_family_to_the_kernel_until_it_is_gone(routed):
    routed.ip(f"route add 10.9.0.0/16 via {host4(2)} table 100", f"rule add from {host4(0)} table 100")
    routed.check(four(), verdict="punt_ip4_disabled", out="p2")
    routed.check(six(), verdict="forwarded", out="p1")
    routed.ip(f"rule del from {host4(0)} table 100")
    routed.check(four(), verdict="forwarded", out="p1")


def test_an_ipv6_rule_takes_its_family_to_the_kernel_until_it_is_gone(routed):
    routed.ip(f"-6 route add fd09::/32 via {host6(2)} table 100", f"-6 rule add from {host6(0)} table 100")
    routed.check(six(), verdict="punt_ip6_disabled", out="p2")
    routed.check(four(), verdict="forwarded", out="p1")
    routed.ip(f"-6 rule del from {host6(0)} table 100")
    routed.check(six(), verdict="forwarded", out="p1")


def test_a_missing_default_rule_takes_its_family_to_the_kernel(routed):
    routed.ip("rule del pref 32766")
    routed.check(four(), verdict="punt_ip4_disabled")
    routed.ip("rule add pref 32766 table main")
    routed.check(four(), verdict="forwarded", out="p1")


@pytest.mark.parametrize("rule", ("fwmark 7 table 100", "iif p0 table 100", "to 10.9.0.0/16 table 100",
                                  "tos 0x10 table 100", "ipproto udp dport 9 table 100", "from all prohibit"))
def test_rules_of_every_kind_are_obeyed(routed, rule):
    routed.ip(f"route add 10.9.0.0/16 via {host4(2)} table 100", f"rule add pref 100 {rule}")
    routed.same(routed.exchange([four(), udp4("10.9.9.9", tos=0x10)], 0, 2, "punt_ip4_disabled"))


# --- reverse path filter ---

def test_strict_rp_filter_forwards_what_came_the_right_way_and_only_that(routed):
    routed.sysctl({"ipv4.conf.all.rp_filter": 1})
    routed.check(four(), verdict="forwarded", out="p1")
    routed.check(udp4("10.9.9.9", src=host4(2)), verdict="punt_ip4_reverse_path")
    routed.check(udp4("10.9.9.9", src="192.0.2.1"), verdict="punt_ip4_reverse_path")


def test_loose_rp_filter_wants_any_route_back(routed):
    routed.sysctl({"ipv4.conf.all.rp_filter": 2})
    routed.check([four(), udp4("10.9.9.9", src=host4(2))], verdict="forwarded", out="p1")
    routed.check(udp4("10.9.9.9", src="192.0.2.1"), verdict="punt_ip4_reverse_path")


def test_the_larger_of_the_two_rp_filter_settings_counts(routed):
    routed.sysctl({"ipv4.conf.all.rp_filter": 1, "ipv4.conf.p0.rp_filter": 2})
    routed.check(udp4("10.9.9.9", src=host4(2)), verdict="forwarded", out="p1")
    routed.check(udp4("10.9.9.9", src=host4(1), port=2), verdict="punt_ip4_reverse_path", port=2)


def test_without_rp_filter_any_source_is_forwarded(routed):
    routed.check([udp4("10.9.9.9", src=host4(2)), udp4("10.9.9.9", src="192.0.2.1")], verdict="forwarded", out="p1")


# --- turning back where it came from ---

def test_a_packet_that_turns_back_makes_the_kernel_send_a_redirect(net):
    net.ip("route add 10.9.0.0/16 via 10.0.0.3", "-6 route add fd09::/32 via fe80::33 dev p0",
           "neigh replace 10.0.0.3 lladdr 02:00:00:00:00:33 dev p0 nud reachable",
           "neigh replace fe80::33 lladdr 02:00:00:00:00:33 dev p0 nud reachable")
    net.check(four(), verdict="punt_same_port", out="p0", icmp=NET_REDIRECT)
    net.check(six(), verdict="punt_same_port", out="p0", icmp=REDIRECT6)


def test_without_send_redirects_ipv4_turns_back_fast(net):
    net.ip("route add 10.9.0.0/16 via 10.0.0.3",
           "neigh replace 10.0.0.3 lladdr 02:00:00:00:00:33 dev p0 nud reachable")
    net.sysctl({"ipv4.conf.all.send_redirects": 0, "ipv4.conf.p0.send_redirects": 0})
    net.eventually(lambda: net.check(four(), verdict="forwarded", out="p0"))


# --- netfilter, IPsec, queueing disciplines ---

def nft(net, family, chain):
    """A table t with one base chain, and nothing else."""
    net.each_router("nft", "-f", "-", input=f"flush ruleset\ntable {family} t {{\nchain c {{ {chain} }}\n}}\n")


def test_an_nft_chain_on_the_forward_path_is_obeyed(routed):
    nft(routed, "inet", "type filter hook forward priority 0; ip daddr 10.9.9.9 drop; ip6 daddr fd09::9 drop;")
    routed.eventually(lambda: routed.check(four(), verdict="punt_ip4_disabled"))
    routed.eventually(lambda: routed.check(six(), verdict="punt_ip6_disabled"))
    routed.each_router("nft", "flush", "ruleset")
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_an_nft_chain_for_one_family_leaves_the_other_alone(routed):
    nft(routed, "ip6", "type filter hook prerouting priority 0; ip6 daddr fd09::9 drop;")
    routed.eventually(lambda: routed.check(six(), verdict="punt_ip6_disabled"))
    routed.check(four(), verdict="forwarded", out="p1")


def test_an_nft_chain_that_forwarded_packets_never_meet_is_no_reason(routed):
    nft(routed, "inet", "type filter hook input priority 0;")
    routed.sync()
    routed.check(both(), verdict="forwarded", out="p1")


def test_a_legacy_iptables_table_is_obeyed(routed):
    try:
        routed.each_router("iptables-legacy", "-A", "FORWARD", "-d", "10.9.9.9", "-j", "DROP")
    except RuntimeError as error:
        pytest.skip(f"no iptables-legacy here: {error}")
    routed.eventually(lambda: routed.check(four(), verdict="punt_ip4_disabled"))


def test_an_ipsec_policy_for_forwarded_traffic_is_obeyed(routed):
    routed.ip("xfrm policy add src 0.0.0.0/0 dst 10.9.0.0/16 dir fwd action block")
    routed.eventually(lambda: routed.check(four(), verdict="punt_ip4_disabled"))
    routed.ip("xfrm policy del src 0.0.0.0/0 dst 10.9.0.0/16 dir fwd")
    routed.eventually(lambda: routed.check(four(), verdict="forwarded", out="p1"))


def test_a_shaper_on_the_egress_is_not_bypassed(routed):
    routed.each_router("tc", "qdisc", "add", "dev", "p1", "root", "tbf", "rate", "1gbit", "burst", "100k", "latency", "50ms")
    routed.eventually(lambda: routed.check(both(), verdict="punt_egress_down", out="p1"))
    routed.each_router("tc", "qdisc", "del", "dev", "p1", "root")
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_a_qdisc_without_shaping_on_the_egress_is_no_reason(routed):
    routed.each_router("tc", "qdisc", "add", "dev", "p1", "root", "pfifo_fast")
    routed.sync()
    routed.check(both(), verdict="forwarded", out="p1")


def test_a_filter_on_the_egress_is_not_bypassed(routed):
    nft(routed, "netdev", 'type filter hook egress device "p1" priority 0; drop;')
    routed.eventually(lambda: routed.check(both(), verdict=("punt_egress_down", "punt_ip4_disabled", "punt_ip6_disabled")))


def test_clsact_on_the_egress_is_not_bypassed(routed):
    routed.each_router("tc", "qdisc", "add", "dev", "p1", "clsact")
    routed.eventually(lambda: routed.check(both(), verdict="punt_egress_down", out="p1"))


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every kind of route, and every way in which a route changes."""

import sys
import time

import pytest

from lib.flow import Flow
from lib.frames import host4, host6, host_mac, udp4, udp6

PORT_UNREACHABLE4, PORT_UNREACHABLE6 = (3, 3), (1, 4)
NET_UNREACHABLE, HOST_UNREACHABLE, PROHIBITED = (3, 0), (3, 1), (3, 13)
NO_ROUTE6, PROHIBITED6 = (1, 0), (1, 1)


def both(last="9"):
    """One packet of each family for the networks that these tests route, 10.9/16 and fd09::/32."""
    return [udp4(f"10.9.9.{last}"), udp6(f"fd09:0:9::{last}")]


# --- kinds ---

def test_without_a_route_the_kernel_answers(net):
    net.check(udp4("10.9.0.1"), verdict="punt_no_route", icmp=NET_UNREACHABLE)
    net.check(udp6("fd09::1"), verdict="punt_no_route", icmp=NO_ROUTE6)


def test_a_main_prefix_inside_a_local_prefix_is_left_to_the_kernel(net):
    """Linux keeps the local and the main IPv4 table in one trie until the first ip rule is added: till
    then the longer main prefix wins, from then on (also when the rule is gone) the local one. That
    cannot be told from outside, so such a prefix is the kernel's in either case."""
    net.ip("route add local 10.9.0.0/16 dev lo", f"route add 10.9.9.0/24 via {host4(1)}")
    net.check(udp4("10.9.9.9"), verdict="punt_local", out="p1")
    net.ip("rule add from 192.0.2.1 table main pref 5")
    net.ip("rule del pref 5")
    net.check(udp4("10.9.9.9"), verdict="punt_local", icmp=PORT_UNREACHABLE4)


def test_the_ipv6_local_table_wins_over_a_longer_prefix_of_the_main_table(net):
    net.ip("-6 route add local fd09::/32 dev lo table local", f"-6 route add fd09:0:9::/48 via {host6(1)}")
    net.check(udp6("fd09:0:9::9"), verdict="punt_local", icmp=PORT_UNREACHABLE6)


def test_when_the_local_prefix_goes_the_longer_main_prefix_is_used(net):
    net.ip("route add local 10.9.0.0/16 dev lo", f"route add 10.9.9.0/24 via {host4(1)}",
           "-6 route add local fd09::/32 dev lo table local", f"-6 route add fd09:0:9::/48 via {host6(1)}")
    net.ip("route del local 10.9.0.0/16 dev lo", "-6 route del local fd09::/32 dev lo table local")
    net.check(both(), verdict="forwarded", out="p1")


def test_a_new_address_of_the_router_is_local_at_once_and_forwarded_when_it_is_gone(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")
    net.ip("addr add 10.9.9.9/32 dev p2")
    net.check(udp4("10.9.9.9"), verdict="punt_local", icmp=PORT_UNREACHABLE4)
    net.ip("addr del 10.9.9.9/32 dev p2")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")


@pytest.mark.parametrize("kind, answer4, answer6", (
    ("unreachable", HOST_UNREACHABLE, NO_ROUTE6), ("prohibit", PROHIBITED, PROHIBITED6), ("blackhole", None, None)))
def test_a_route_that_refuses_keeps_its_prefix_from_the_shorter_one(net, kind, answer4, answer6):
    net.ip(f"route add 10.0.0.0/8 via {host4(1)}", f"route add {kind} 10.9.9.0/24",
           f"-6 route add fd09::/16 via {host6(1)}", f"-6 route add {kind} fd09:0:9::/48")
    net.check(udp4("10.9.9.9"), verdict=f"punt_{kind}", icmp=answer4)
    net.check(udp6("fd09:0:9::9"), verdict=f"punt_{kind}", icmp=answer6)
    net.check([udp4("10.9.8.9"), udp6("fd09:0:8::9")], verdict="forwarded", out="p1")


def test_a_throw_route_leads_on_to_the_next_table(net):
    net.ip(f"route add 10.0.0.0/8 via {host4(1)}", "route add throw 10.9.9.0/24")
    net.check(udp4("10.9.9.9"), verdict=("punt_throw", "punt_no_route"), icmp=NET_UNREACHABLE)
    net.ip(f"route add default via {host4(2)} table default")
    net.check(udp4("10.9.9.9"), out="p2")


def test_a_route_of_the_default_table_is_used_when_main_has_none(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(2)} table default")
    net.check(udp4("10.9.9.9"), out="p2")
    net.ip(f"route add 10.0.0.0/8 via {host4(1)}")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")


def test_a_route_with_encapsulation_is_left_to_the_kernel(net):
    net.ip(f"route add 10.9.0.0/16 encap ip id 7 dst {host4(1)} via {host4(1)} dev p1")
    net.check(udp4("10.9.9.9"), verdict="punt_encap", out="p1")


def test_a_route_that_looks_at_tos_leaves_its_prefix_to_the_kernel(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"route add 10.9.0.0/16 tos 0x10 via {host4(2)}")
    net.check(udp4("10.9.9.9", tos=0x10), verdict="punt_selective_route", out="p2")
    net.check(udp4("10.9.9.9"), verdict="punt_selective_route", out="p1")
    net.ip("route del 10.9.0.0/16 tos 0x10")
    net.check(udp4("10.9.9.9", tos=0x10), verdict="forwarded", out="p1")


def test_a_source_specific_route_leaves_its_prefix_to_the_kernel(net):
    net.ip(f"-6 route add fd09::/32 via {host6(1)}", f"-6 route add fd09::/32 from fd00:0::/64 via {host6(2)}")
    net.check(udp6("fd09::9"), verdict="punt_selective_route", out="p2")
    # Linux does not fall back to the route without a source here, and answers.
    net.ip(f"-6 route add fd77::/32 via {host6(0)}")
    net.check(udp6("fd09::9", src="fd77::1"), verdict="punt_selective_route", icmp=NO_ROUTE6)
    net.ip("-6 route del fd09::/32 from fd00:0::/64")
    net.check(udp6("fd09::9"), verdict="forwarded", out="p1")


def test_a_source_specific_default_route_leaves_everything_under_it_to_the_kernel(net):
    net.ip(f"-6 route add default via {host6(1)}", f"-6 route add default from fd00:0::/64 via {host6(2)}",
           f"-6 route add fd09::/32 via {host6(1)}")
    net.check(udp6("2001:db8::1"), verdict="punt_selective_route", out="p2")
    net.check(udp6("2001:db8::1", src="fd77::1"), out="p1")
    net.check(udp6("fd09::9"), out="p1")


def test_an_ipv4_route_may_have_an_ipv6_gateway(net):
    net.ip(f"route add 10.9.0.0/16 via inet6 {host6(1)} dev p1")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")


def test_an_onlink_gateway_works(net):
    net.ip("neigh replace 192.0.2.1 lladdr 02:00:00:00:01:02 dev p1 nud reachable",
           "route add 10.9.0.0/16 via 192.0.2.1 dev p1 onlink")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")


def test_a_device_route_asks_for_the_destination_itself(net):
    net.ip("route add 10.9.0.0/16 dev p1", f"neigh replace 10.9.9.9 lladdr {host_mac(1)} dev p1 nud reachable",
           "-6 route add fd09::/32 dev p1", f"neigh replace fd09:0:9::9 lladdr {host_mac(1)} dev p1 nud reachable")
    net.check(both(), verdict="forwarded", out="p1")


def test_scopes_protocols_and_preferred_sources_do_not_matter(net):
    net.ip("addr add 10.7.7.7/32 dev p2", f"route add 10.9.0.0/16 via {host4(1)} proto bird src 10.7.7.7 metric 77",
           f"-6 route add fd09::/32 via {host6(1)} proto bgp metric 77")
    net.check(both(), verdict="forwarded", out="p1")


@pytest.mark.net(attach=["p0", "p1"])
def test_a_route_out_of_a_device_without_xfib_is_left_to_the_kernel(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(2)}", f"-6 route add fd09::/32 via {host6(2)}")
    net.check(both(), verdict="punt_not_a_port", out="p2")


@pytest.mark.net(attach=["p0", "p1"])
def test_traffic_that_came_in_without_xfib_is_the_kernels(net):
    net.check([udp4(host4(1), port=2), udp6(host6(1), port=2)], out="p1", port=2)


# --- changes ---

def test_a_replaced_route_is_followed(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    net.check(both(), verdict="forwarded", out="p1")
    net.ip(f"route replace 10.9.0.0/16 via {host4(2)}", f"-6 route replace fd09::/32 via {host6(2)}")
    net.check(both(), verdict="forwarded", out="p2")


def test_a_replaced_default_route_is_followed(net):
    net.ip(f"route add default via {host4(1)}", f"-6 route add default via {host6(1)}")
    net.check(both(), verdict="forwarded", out="p1")
    net.ip(f"route replace default via {host4(2)}", f"-6 route replace default via {host6(2)}")
    net.check(both(), verdict="forwarded", out="p2")
    net.ip("route del default", "-6 route del default")
    net.check(udp4("10.9.0.1"), verdict="punt_no_route", icmp=NET_UNREACHABLE)
    net.check(udp6("fd09::1"), verdict="punt_no_route", icmp=NO_ROUTE6)


def test_deleting_a_route_exposes_the_next_metric(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)} metric 10", f"route add 10.9.0.0/16 via {host4(2)} metric 20",
           f"-6 route add fd09::/32 via {host6(1)} metric 10", f"-6 route add fd09::/32 via {host6(2)} metric 20")
    net.check(both(), verdict="forwarded", out="p1")
    net.ip("route del 10.9.0.0/16 metric 10", "-6 route del fd09::/32 metric 10")
    net.check(both(), verdict="forwarded", out="p2")


def test_a_better_metric_takes_over(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)} metric 20", f"-6 route add fd09::/32 via {host6(1)} metric 20")
    net.check(both(), verdict="forwarded", out="p1")
    net.ip(f"route add 10.9.0.0/16 via {host4(2)} metric 10", f"-6 route add fd09::/32 via {host6(2)} metric 10")
    net.check(both(), verdict="forwarded", out="p2")


def test_metrics_are_compared_as_32_bits(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)} metric 4294967295", f"route add 10.9.0.0/16 via {host4(2)} metric 256",
           f"-6 route add fd09::/32 via {host6(1)} metric 4294967295", f"-6 route add fd09::/32 via {host6(2)} metric 256")
    net.check(both(), verdict="forwarded", out="p2")


def test_of_appended_routes_the_first_counts_until_it_goes(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"route append 10.9.0.0/16 via {host4(2)}")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")
    net.ip(f"route del 10.9.0.0/16 via {host4(1)}")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p2")


def test_a_prepended_route_counts_at_once(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"route prepend 10.9.0.0/16 via {host4(2)}")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p2")
    net.ip(f"route del 10.9.0.0/16 via {host4(2)}")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")


def test_when_a_longer_prefix_goes_the_shorter_one_covers_it_again(net):
    net.ip(f"route add 10.0.0.0/8 via {host4(1)}", f"route add 10.9.9.0/24 via {host4(2)}",
           f"-6 route add fd09::/32 via {host6(1)}", f"-6 route add fd09:0:9::/48 via {host6(2)}")
    net.check(both(), verdict="forwarded", out="p2")
    net.ip("route del 10.9.9.0/24", "-6 route del fd09:0:9::/48")
    net.check(both(), verdict="forwarded", out="p1")


def test_an_expired_ipv6_route_is_used_no_more(net):
    """The kernel passes it by at once, but deletes and announces it up to half a minute later."""
    net.ip(f"-6 route add fd09::/32 via {host6(1)}", f"-6 route add fd09:0:9::/48 via {host6(2)} expires 2")
    net.check(udp6("fd09:0:9::9"), out="p2")
    time.sleep(2.1)
    net.eventually(lambda: net.check(udp6("fd09:0:9::9"), out="p1"), timeout=2)


def test_a_flushed_table_leaves_nothing_behind(net):
    net.ip(*(f"route add 10.9.{i}.0/24 via {host4(1)}" for i in range(200)))
    net.check([udp4(f"10.9.{i}.1") for i in range(200)], verdict="forwarded", out="p1")
    for world in net.worlds:
        world.router.ip("route flush via 10.0.1.2")
    net.sync()
    # The kernel answers five packets at once and then one a second.
    net.check([udp4(f"10.9.{i}.1") for i in range(0, 200, 40)], verdict="punt_no_route", icmp=NET_UNREACHABLE)


def test_a_route_that_is_replaced_all_the_time_loses_no_packet(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    changes = []
    for i in range(100):
        port = 2 - i % 2
        changes += [f"route replace 10.9.0.0/16 via {host4(port)}", f"-6 route replace fd09::/32 via {host6(port)}"]
    with Flow(net.other, both()) as flow:
        net.other.router.ip(*changes)
    flow.assert_whole({"p1", "p2"})


def test_covering_and_covered_prefixes_that_come_and_go_lose_no_packet(net):
    net.ip(f"route add 10.0.0.0/8 via {host4(1)}")
    changes = [f"route {word} {prefix} via {host4(2)}" for _ in range(30) for word in ("add", "del")
               for prefix in ("10.9.0.0/16", "10.9.9.0/24", "10.9.9.9/32")]
    with Flow(net.other, [udp4("10.9.9.9"), udp4("10.9.9.8"), udp4("10.9.8.8")]) as flow:
        net.other.router.ip(*changes)
    flow.assert_whole({"p1", "p2"})


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

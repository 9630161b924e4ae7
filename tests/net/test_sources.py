#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""IPv4 sources that the kernel drops although rp_filter is off, or only loose: none may be forwarded.

fib_validate_source() looks a source up only from the day on that the namespace had a custom rule, a
custom local route or a realm, and never forgets it. Until then only its own addresses are refused."""

import sys

import pytest

from lib.frames import host4, router4, udp4

BROADCAST = "10.0.2.255"  # of the network on p2
OWN = "punt_ip4_own_source"
RPF = "punt_ip4_reverse_path"


def packet(source):
    return udp4("10.9.9.9", src=source)


@pytest.fixture
def routed(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    net.check(packet(host4(2)), verdict="forwarded", out="p1")
    return net


def refused(net, source, verdict=None):
    """Neither router forwards it; another source still is, so it is not for want of forwarding."""
    net.check(packet(source), verdict=verdict)
    net.check(packet(host4(2)), verdict="forwarded", out="p1")


# --- broadcast sources ---

def test_a_broadcast_source_is_forwarded_as_long_as_nobody_looks(routed):
    routed.check(packet(BROADCAST), out="p1")


def test_a_broadcast_source_is_dropped_after_a_rule_came_and_went(routed):
    routed.ip("rule add from 192.0.2.1 table 100")
    routed.ip("rule del from 192.0.2.1 table 100")
    refused(routed, BROADCAST, RPF)


def test_a_broadcast_source_is_dropped_after_a_rule_was_there_for_a_moment(routed):
    routed.ip("rule add from 192.0.2.1 table 100", "rule del from 192.0.2.1 table 100")
    refused(routed, BROADCAST, RPF)


def test_an_ipv6_rule_is_no_reason_to_look_at_ipv4_sources(routed):
    routed.ip("-6 rule add from fd99::/16 table 100")
    routed.check(packet(BROADCAST), out="p1")


def test_a_broadcast_source_is_dropped_after_a_route_with_a_realm(routed):
    routed.ip(f"route add 10.8.0.0/16 via {host4(1)} realm 5")
    refused(routed, BROADCAST, RPF)
    routed.ip("route del 10.8.0.0/16")
    routed.check(packet(host4(2)), verdict="forwarded", out="p1")


def test_a_broadcast_source_is_dropped_after_a_multipath_route_with_a_realm(routed):
    routed.ip(f"route add 10.8.0.0/16 nexthop via {host4(1)} nexthop via {host4(2)} realm 5")
    refused(routed, BROADCAST, RPF)


# --- local routes of somebody's own ---

@pytest.mark.parametrize("protocol", ("kernel", "static", "boot"))
def test_a_source_inside_a_local_route_of_ones_own_is_dropped(routed, protocol):
    routed.ip(f"route add local 172.20.0.0/16 dev lo proto {protocol} table local")
    refused(routed, "172.20.1.1")


def test_once_there_was_a_local_route_of_ones_own_sources_are_looked_at(routed):
    routed.ip("route add local 172.20.0.0/16 dev lo proto kernel table local")
    routed.ip("route del local 172.20.0.0/16 dev lo table local")
    refused(routed, BROADCAST, RPF)


# --- own addresses ---

def test_an_own_source_is_dropped_when_its_local_route_is_gone(routed):
    routed.ip(f"route del local {router4(2)} dev p2 table local")
    refused(routed, router4(2), OWN)


def test_an_own_source_of_two_ports_is_dropped_as_long_as_one_has_it(routed):
    routed.ip("addr add 172.16.5.5/32 dev p1", "addr add 172.16.5.5/32 dev p2",
              "addr del 172.16.5.5/32 dev p1")
    refused(routed, "172.16.5.5", OWN)
    routed.ip("addr del 172.16.5.5/32 dev p2")
    routed.check(packet("172.16.5.5"), verdict="forwarded", out="p1")


FULL = [f"route add 10.{10 + i}.0.0/16 via {host4(1)}" for i in range(60)]


@pytest.mark.net(options=["--routes4", "40", "--routes6", "40"])
def test_an_own_source_is_dropped_when_the_table_is_full(routed):
    routed.ip(*FULL)
    routed.ip("addr add 172.16.5.5/24 dev p2")
    routed.xfib.wait(lambda status: status["tables"]["ipv4"]["overflow"], "the table to be full")
    routed.check(packet(router4(0)), verdict=OWN)
    routed.check(packet("172.16.5.5"))


@pytest.mark.net(options=["--routes4", "40", "--routes6", "40"])
def test_a_source_that_is_no_longer_ones_own_is_forwarded_when_there_is_room(routed):
    routed.ip(*FULL)
    routed.ip("addr add 172.16.5.5/32 dev p2")
    routed.ip(*(line.replace("add", "del") for line in FULL[:30]))
    routed.eventually(lambda: routed.check(packet("172.16.5.5"), verdict=OWN))
    routed.ip("addr del 172.16.5.5/32 dev p2")
    routed.eventually(lambda: routed.check(packet("172.16.5.5"), verdict="forwarded", out="p1"))


# --- rp_filter without an address ---

def test_loose_rp_filter_is_strict_on_a_port_without_an_ipv4_address(routed):
    routed.sysctl({"ipv4.conf.all.rp_filter": 2})
    routed.check(packet(host4(2)), verdict="forwarded", out="p1")
    routed.ip(f"addr del {router4(0)}/24 dev p0", "route add 10.0.0.0/24 dev p0")
    routed.settle()
    routed.check(packet(host4(2)), verdict=RPF)
    routed.check(packet(host4(0)), verdict="forwarded", out="p1")
    routed.ip("addr add 198.51.100.1/32 dev p0")
    routed.check(packet(host4(2)), verdict="forwarded", out="p1")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

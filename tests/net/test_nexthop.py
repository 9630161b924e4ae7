#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Nexthop objects: routes that name an id, and what happens when only the object changes."""

import sys

import pytest

from lib.flow import Flow
from lib.frames import host4, host6, udp4, udp6

NET_UNREACHABLE, NO_ROUTE6 = (3, 0), (1, 0)


def both():
    return [udp4("10.9.9.9"), udp6("fd09::9")]


def spread():
    return ([udp4(f"10.9.0.{i}", src=f"10.0.0.{i}", sport=1000 + i) for i in range(3, 103)] +
            [udp6(f"fd09::{i:x}", src=f"fd00::{i:x}", sport=1000 + i) for i in range(3, 103)])


@pytest.fixture
def objects(net):
    """Ids 1 and 2: ports 1 and 2, IPv4; 61 and 62: the same, IPv6."""
    net.ip(*(f"nexthop add id {port} via {host4(port)} dev p{port}" for port in (1, 2)),
           *(f"nexthop add id 6{port} via {host6(port)} dev p{port}" for port in (1, 2)))
    return net


@pytest.fixture
def routed(objects):
    objects.ip("route add 10.9.0.0/16 nhid 1", "-6 route add fd09::/32 nhid 61")
    return objects


@pytest.fixture
def grouped(objects):
    objects.ip("nexthop add id 10 group 1/2", "nexthop add id 60 group 61/62",
               "route add 10.9.0.0/16 nhid 10", "-6 route add fd09::/32 nhid 60")
    return objects


def test_a_route_uses_its_object(routed):
    routed.check(both(), verdict="forwarded", out="p1")


def test_an_object_is_replaced_without_any_route_message(routed):
    routed.ip(f"nexthop replace id 1 via {host4(2)} dev p2", f"nexthop replace id 61 via {host6(2)} dev p2")
    routed.check(both(), verdict="forwarded", out="p2")


def test_an_ipv4_route_may_use_an_ipv6_object(objects):
    objects.ip("route add 10.9.0.0/16 nhid 62")
    objects.check(udp4("10.9.9.9"), verdict="forwarded", out="p2")


def test_a_device_object_asks_for_the_destination_itself(objects):
    objects.ip("nexthop add id 5 dev p1", "route add 10.9.0.0/16 nhid 5",
               "neigh replace 10.9.9.9 lladdr 02:00:00:00:01:02 dev p1 nud reachable")
    objects.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")


def test_deleting_an_object_deletes_its_routes_without_a_message(routed):
    routed.ip("nexthop del id 1", "nexthop del id 61")
    routed.check(udp4("10.9.9.9"), verdict="punt_no_route", icmp=NET_UNREACHABLE)
    routed.check(udp6("fd09::9"), verdict="punt_no_route", icmp=NO_ROUTE6)


def test_deleting_an_object_exposes_the_shorter_prefix(routed):
    routed.ip("route add 10.0.0.0/8 nhid 2", "-6 route add fd00::/8 nhid 62")
    routed.check(both(), verdict="forwarded", out="p1")
    routed.ip("nexthop del id 1", "nexthop del id 61")
    routed.check(both(), verdict="forwarded", out="p2")


def test_a_blackhole_object_drops_in_the_kernel(objects):
    objects.ip("nexthop add id 9 blackhole", "route add 10.9.0.0/16 nhid 9", f"route add 10.0.0.0/8 via {host4(1)}")
    objects.check(udp4("10.9.9.9"), verdict="punt_blackhole")


def test_an_object_can_become_a_blackhole_and_come_back(routed):
    routed.ip("nexthop replace id 1 blackhole")
    routed.check(udp4("10.9.9.9"), verdict="punt_blackhole")
    routed.ip(f"nexthop replace id 1 via {host4(1)} dev p1")
    routed.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")


def test_deleting_a_blackhole_object_deletes_its_routes_without_a_message(objects):
    objects.ip("nexthop replace id 1 blackhole", "route add 10.0.0.0/8 nhid 2", "route add 10.9.0.0/16 nhid 1")
    objects.check(udp4("10.9.9.9"), verdict="punt_blackhole")
    objects.ip("nexthop del id 1")
    objects.check(udp4("10.9.9.9"), verdict="forwarded", out="p2")


def test_an_object_that_was_a_blackhole_when_its_route_came_can_become_a_gateway(objects):
    objects.ip("nexthop add id 9 blackhole", "route add 10.9.0.0/16 nhid 9")
    objects.check(udp4("10.9.9.9"), verdict="punt_blackhole")
    objects.ip(f"nexthop replace id 9 via {host4(1)} dev p1")
    objects.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")


def test_a_group_spreads_over_its_members(grouped):
    assert len(grouped.check(spread(), verdict="forwarded", out={"p1", "p2"}, any_leg=True).legs()) == 2


def test_a_group_obeys_weights(objects):
    objects.ip("nexthop add id 10 group 1,9/2,1", "route add 10.9.0.0/16 nhid 10")
    frames = [udp4(f"10.9.{i}.1") for i in range(250)] + [udp4(f"10.9.{i}.2") for i in range(150)]
    legs = objects.check(frames, verdict="forwarded", out={"p1", "p2"}, any_leg=True).legs()
    assert 10 <= legs["p2"] <= 70, f"{dict(legs)} is not 9:1"


def test_a_group_is_replaced_without_any_route_message(grouped):
    grouped.ip("nexthop replace id 10 group 2", "nexthop replace id 60 group 62")
    grouped.check(spread(), verdict="forwarded", out="p2")
    grouped.ip("nexthop replace id 10 group 1", "nexthop replace id 60 group 61")
    grouped.check(spread(), verdict="forwarded", out="p1")


def test_a_deleted_member_leaves_its_group(grouped):
    grouped.ip("nexthop del id 1", "nexthop del id 61")
    grouped.check(spread(), verdict="forwarded", out="p2")


def test_a_replaced_member_is_followed_by_its_group(grouped):
    grouped.ip(f"nexthop replace id 1 via {host4(2)} dev p2", f"nexthop replace id 61 via {host6(2)} dev p2")
    grouped.check(spread(), verdict="forwarded", out="p2")


def test_deleting_the_last_member_deletes_group_and_routes(grouped):
    grouped.ip("nexthop del id 1", "nexthop del id 2")
    grouped.check(udp4("10.9.9.9"), verdict="punt_no_route", icmp=NET_UNREACHABLE)


def test_a_member_whose_device_goes_down_is_left_alone(grouped):
    grouped.ip("link set p2 down")
    grouped.check(spread(), verdict="forwarded", out="p1")


def test_objects_are_gone_after_their_device_was_down(routed):
    """The kernel deletes objects and their routes when a device goes down, and does not bring them back."""
    routed.ip("link set p1 down")
    routed.ip("link set p1 up")
    routed.settle()
    routed.check(udp4("10.9.9.9"), verdict="punt_no_route", icmp=NET_UNREACHABLE)
    routed.check(udp6("fd09::9"), verdict="punt_no_route", icmp=NO_ROUTE6)


def test_flushing_all_objects_leaves_no_route(grouped):
    grouped.ip("nexthop flush")
    grouped.check(udp4("10.9.9.9"), verdict="punt_no_route", icmp=NET_UNREACHABLE)


def test_a_resilient_group_forwards_like_any_other(objects):
    objects.ip("nexthop add id 11 group 1/2 type resilient buckets 32", "route add 10.9.0.0/16 nhid 11")
    frames = [udp4(f"10.9.{i}.1") for i in range(100)]
    assert len(objects.check(frames, out={"p1", "p2"}, any_leg=True).legs()) == 2


def test_routes_with_and_without_objects_live_together(routed):
    routed.ip(f"route add 10.9.9.0/24 via {host4(2)}", "route add 10.9.9.8/32 nhid 1")
    routed.check([udp4("10.9.8.1"), udp4("10.9.9.8")], verdict="forwarded", out="p1")
    routed.check(udp4("10.9.9.9"), verdict="forwarded", out="p2")


def test_an_object_that_is_replaced_all_the_time_loses_no_packet(grouped):
    shapes = ("1/2", "1", "1,3/2,1", "2")
    changes = [f"nexthop replace id 10 group {shape}" for _ in range(20) for shape in shapes]
    changes += [f"nexthop replace id 1 via {host4(port)} dev p{port}" for _ in range(20) for port in (2, 1)]
    with Flow(grouped.other, [udp4(f"10.9.{i}.1") for i in range(50)]) as flow:
        grouped.other.router.ip(*changes)
    flow.assert_whole({"p1", "p2"})


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

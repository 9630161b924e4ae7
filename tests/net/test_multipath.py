#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Routes with several next hops: all legs used by weight, one flow on one leg, dead legs left alone.

The kernel's hash seed is its own, so the legs of the two routers are not compared, only what leaves."""

import sys

import pytest

from lib.flow import Flow
from lib.frames import host4, host6, raw4, udp4, udp6

pytestmark = pytest.mark.net(ports=4)

FLOWS = 400


def multipath(prefix, weights, host):
    """A route with one leg per (port, weight)."""
    family = "-6 " if host is host6 else ""
    return f"{family}route replace {prefix} " + " ".join(
        f"nexthop via {host(port)} weight {weight}" for port, weight in weights.items())


def flows4(count=FLOWS):
    """Flows that differ in both addresses and ports."""
    return [udp4(f"10.9.{i % 250}.{1 + i % 7}", src=f"10.0.0.{3 + i % 200}", sport=1000 + i) for i in range(count)]


def flows6(count=FLOWS):
    return [udp6(f"fd09::{i % 250:x}:{1 + i % 7}", src=f"fd00::{3 + i % 200:x}", sport=1000 + i) for i in range(count)]


def assert_shares(outcome, weights):
    """Each leg carries its share, within what 400 random flows allow (five standard deviations)."""
    legs, total = outcome.legs(), sum(weights.values())
    for port, weight in weights.items():
        expected = FLOWS * weight / total
        slack = 5 * (expected * (1 - weight / total)) ** 0.5
        assert abs(legs[f"p{port}"] - expected) <= slack, f"{dict(legs)} is not {weights}"


def several_legs(outcome):
    assert len(outcome.legs("kernel")) > 1 and len(outcome.legs()) > 1


def follow_ports(net, legs, version=4):
    """Until policy 1, which is polled, is followed: what differs in its ports alone leaves on more than one leg."""
    frames = [udp4("10.9.0.1", sport=1000 + i) if version == 4 else udp6("fd09::1", sport=1000 + i) for i in range(100)]
    net.eventually(lambda: several_legs(net.check(frames, verdict="forwarded", out=legs, any_leg=True)))


@pytest.mark.parametrize("policy", (0, 1))
@pytest.mark.parametrize("weights", ({1: 1, 2: 1}, {1: 1, 2: 1, 3: 1}, {1: 1, 2: 3}, {1: 10, 2: 20, 3: 70}))
def test_legs_are_used_by_their_weight(net, weights, policy):
    net.sysctl({"ipv4.fib_multipath_hash_policy": policy, "ipv6.fib_multipath_hash_policy": policy})
    net.ip(multipath("10.9.0.0/16", weights, host4), multipath("fd09::/32", weights, host6))
    legs = {f"p{port}" for port in weights}
    assert_shares(net.check(flows4(), verdict="forwarded", out=legs, any_leg=True), weights)
    assert_shares(net.check(flows6(), verdict="forwarded", out=legs, any_leg=True), weights)


@pytest.mark.parametrize("policy", (0, 1))
def test_a_flow_keeps_its_leg(net, policy):
    net.sysctl({"ipv4.fib_multipath_hash_policy": policy, "ipv6.fib_multipath_hash_policy": policy})
    net.ip(multipath("10.9.0.0/16", {1: 1, 2: 1, 3: 1}, host4), multipath("fd09::/32", {1: 1, 2: 1, 3: 1}, host6))
    legs = {"p1", "p2", "p3"}
    for version, flows in ((4, flows4), (6, flows6)):
        if policy == 1:
            follow_ports(net, legs, version)
        first, second = (net.check(flows(50), verdict="forwarded", out=legs, any_leg=True) for _ in range(2))
        ports = [[port for _, port, _ in sorted(outcome.xfib)] for outcome in (first, second)]
        assert ports[0] == ports[1]


def test_policy_0_looks_at_addresses_only(net):
    net.ip(multipath("10.9.0.0/16", {1: 1, 2: 1}, host4))
    outcome = net.check([udp4("10.9.0.1", sport=1000 + i) for i in range(100)], verdict="forwarded",
                        out={"p1", "p2"}, any_leg=True)
    assert len(outcome.legs("kernel")) == len(outcome.legs()) == 1


def test_policy_1_looks_at_ports(net):
    net.sysctl({"ipv4.fib_multipath_hash_policy": 1})
    net.ip(multipath("10.9.0.0/16", {1: 1, 2: 1}, host4))
    follow_ports(net, {"p1", "p2"})


def test_the_fragments_of_a_datagram_stay_together(net):
    net.sysctl({"ipv4.fib_multipath_hash_policy": 1})
    net.ip(multipath("10.9.0.0/16", {1: 1, 2: 1, 3: 1}, host4))
    follow_ports(net, {"p1", "p2", "p3"})
    for i in range(8):
        datagram = {"dst": f"10.9.0.{1 + i}", "id": 7 + i}
        rest = [raw4(content=b"data", proto=17, frag=offset, **datagram) for offset in (5, 9)]
        outcome = net.check([udp4(sport=1000 + i, flags="MF", **datagram), *rest], verdict="forwarded",
                            out={"p1", "p2", "p3"}, any_leg=True)
        assert len(outcome.legs()) == 1


@pytest.mark.parametrize("policy", (2, 3))
def test_other_hash_policies_are_the_kernels(net, policy):
    net.ip(multipath("10.9.0.0/16", {1: 1, 2: 1}, host4), multipath("fd09::/32", {1: 1, 2: 1}, host6))
    net.check(flows4(5), verdict="forwarded", out={"p1", "p2"}, any_leg=True)
    net.sysctl({"ipv4.fib_multipath_hash_policy": policy, "ipv6.fib_multipath_hash_policy": policy})
    net.eventually(lambda: net.check(flows4(5), verdict="punt_hash_policy", out={"p1", "p2"}, any_leg=True))
    net.eventually(lambda: net.check(flows6(5), verdict="punt_hash_policy", out={"p1", "p2"}, any_leg=True))


def test_a_leg_whose_device_goes_down_is_left_alone(net):
    net.ip(multipath("10.9.0.0/16", {1: 1, 2: 1}, host4), multipath("fd09::/32", {1: 1, 2: 1}, host6))
    net.ip("link set p2 down")
    net.check(flows4(100), verdict="forwarded", out="p1")
    net.check(flows6(100), verdict="forwarded", out="p1")


def test_a_leg_without_carrier_is_left_alone_when_linkdown_routes_are_ignored(net):
    net.sysctl({"ipv4.conf.all.ignore_routes_with_linkdown": 1, "ipv6.conf.all.ignore_routes_with_linkdown": 1,
                "ipv4.conf.p2.ignore_routes_with_linkdown": 1, "ipv6.conf.p2.ignore_routes_with_linkdown": 1})
    net.ip(multipath("10.9.0.0/16", {1: 1, 2: 1}, host4), multipath("fd09::/32", {1: 1, 2: 1}, host6))
    net.check(flows4(100), verdict="forwarded", out={"p1", "p2"}, any_leg=True)
    net.host_ip(2, "link set eth0 down")
    net.check(flows4(100), verdict="forwarded", out="p1")
    net.check(flows6(100), verdict="forwarded", out="p1")
    net.host_ip(2, "link set eth0 up")
    net.settle()
    net.eventually(lambda: net.check(flows4(100), verdict="forwarded", out={"p1", "p2"}, any_leg=True))
    net.eventually(lambda: net.check(flows6(100), verdict="forwarded", out={"p1", "p2"}, any_leg=True))


def test_a_leg_without_carrier_still_counts_when_linkdown_routes_are_not_ignored(net):
    """The kernel goes on sending to it and so loses half of the packets. xfib leaves its half to the kernel,
    which sends half of that to the other leg: no packet may be lost that the kernel would have sent."""
    net.ip(multipath("10.9.0.0/16", {1: 1, 2: 1}, host4))
    net.host_ip(2, "link set eth0 down")
    outcome = net.exchange(flows4(200), 0, 50)
    assert set(outcome.legs("kernel")) == set(outcome.legs("xfib")) == {"p1"}
    assert 50 < outcome.legs("kernel")["p1"] < 150 and 100 < outcome.legs("xfib")["p1"] < 190


def test_a_leg_whose_gateway_is_not_resolved_yet_goes_through_the_kernel(net):
    net.host_ip(2, "addr add 10.0.2.3/24 dev eth0")
    net.ip(f"route add 10.9.0.0/16 nexthop via {host4(1)} nexthop via 10.0.2.3")
    outcome = net.exchange(flows4(100), 0, 100)
    net.same(outcome, any_leg=True)
    assert len(outcome.legs()) == 2
    net.eventually(lambda: net.check(flows4(100), verdict="forwarded", out={"p1", "p2"}, any_leg=True))


def test_an_ipv6_leg_can_be_added_and_removed(net):
    net.ip(f"-6 route add fd09::/32 via {host6(1)}", f"-6 route append fd09::/32 via {host6(2)}")
    assert len(net.check(flows6(100), verdict="forwarded", out={"p1", "p2"}, any_leg=True).legs()) == 2
    net.ip(f"-6 route del fd09::/32 via {host6(1)}")
    net.check(flows6(100), verdict="forwarded", out="p2")
    net.ip(f"-6 route append fd09::/32 via {host6(3)}")
    assert len(net.check(flows6(100), verdict="forwarded", out={"p2", "p3"}, any_leg=True).legs()) == 2


def test_a_multipath_route_with_mixed_gateway_families_works(net):
    net.ip(f"route add 10.9.0.0/16 nexthop via {host4(1)} nexthop via inet6 {host6(2)} dev p2")
    assert len(net.check(flows4(100), verdict="forwarded", out={"p1", "p2"}, any_leg=True).legs()) == 2


@pytest.mark.net(ports=4, attach=["p0", "p1"])
def test_a_leg_out_of_a_device_without_xfib_goes_through_the_kernel(net):
    net.ip(multipath("10.9.0.0/16", {1: 1, 2: 1}, host4))
    outcome = net.check(flows4(100), out={"p1", "p2"}, any_leg=True)
    assert len(outcome.legs()) == 2


def test_a_multipath_route_that_changes_all_the_time_loses_no_packet(net):
    shapes = ({1: 1, 2: 1}, {1: 1}, {1: 1, 2: 2, 3: 3}, {3: 1})
    changes = [multipath(prefix, shape, host) for _ in range(20) for shape in shapes
               for prefix, host in (("10.9.0.0/16", host4), ("fd09::/32", host6))]
    net.ip(*changes[:2])
    with Flow(net.other, flows4(50) + flows6(50)) as flow:
        net.other.router.ip(*changes)
    flow.assert_whole({"p1", "p2", "p3"})


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

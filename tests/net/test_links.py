#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Interfaces that change under a running daemon: down, up, gone, back, moved, renamed, enslaved."""

import sys

import pytest

from lib.frames import ethernet, host4, host6, router4, router6, udp4, udp6
from lib.netns import Namespace

NET_UNREACHABLE, FRAG_NEEDED, PACKET_TOO_BIG = (3, 0), (3, 4), (2, 0)


def both():
    return [udp4("10.9.9.9"), udp6("fd09::9")]


ROUTES = (f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")


@pytest.fixture
def routed(net):
    net.ip(*ROUTES)
    net.check(both(), verdict="forwarded", out="p1")
    return net


def test_routes_of_an_egress_that_is_down_are_gone(routed):
    routed.ip("link set p1 down")
    routed.check(udp4("10.9.9.9"), verdict="punt_no_route", icmp=NET_UNREACHABLE)


def test_the_shorter_prefix_is_used_while_the_egress_is_down(routed):
    routed.ip(f"route add 10.0.0.0/8 via {host4(2)}", f"-6 route add fd00::/8 via {host6(2)}")
    routed.ip("link set p1 down")
    routed.check(both(), verdict="forwarded", out="p2")


def test_an_egress_that_comes_up_again_forwards_again(routed):
    routed.ip("link set p1 down")
    # The kernel drops IPv6 addresses and all routes with the link: whoever set them sets them again.
    routed.ip("link set p1 up", f"addr replace {router6(1)}/64 dev p1 nodad", *ROUTES)
    routed.settle()
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_an_ingress_that_goes_down_and_up_forwards_again(routed):
    routed.ip("link set p0 down")
    routed.ip("link set p0 up", f"addr replace {router6(0)}/64 dev p0 nodad")
    routed.settle()
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_without_carrier_the_kernel_decides(routed):
    """The routes stay, marked linkdown: the kernel goes on sending into the void."""
    routed.host_ip(1, "link set eth0 down")
    routed.same(routed.exchange(both(), 0, 0))
    routed.host_ip(1, "link set eth0 up")
    routed.settle()
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_the_shorter_prefix_is_used_without_carrier_when_linkdown_routes_are_ignored(routed):
    routed.sysctl({f"{family}.conf.{port}.ignore_routes_with_linkdown": 1
                   for family in ("ipv4", "ipv6") for port in ("all", "p1")})
    routed.ip(f"route add 10.0.0.0/8 via {host4(2)}", f"-6 route add fd00::/8 via {host6(2)}")
    routed.check(both(), verdict="forwarded", out="p1")
    routed.host_ip(1, "link set eth0 down")
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p2"))


def test_a_smaller_mtu_is_obeyed(routed):
    routed.ip("link set p1 mtu 1300")
    routed.check(udp4("10.9.9.9", size=1400, flags="DF"), verdict="punt_mtu", icmp=FRAG_NEEDED)
    routed.check(udp6("fd09::9", size=1400), verdict="punt_mtu", icmp=PACKET_TOO_BIG)


def test_a_larger_mtu_is_used(routed):
    routed.ip("link set p1 mtu 1300")
    routed.ip("link set p1 mtu 1500")
    routed.check(udp4("10.9.9.9", size=1400, flags="DF"), verdict="forwarded", out="p1")
    routed.eventually(lambda: routed.check(udp6("fd09::9", size=1400), verdict="forwarded", out="p1"))


def test_a_new_mac_of_the_egress_is_the_source_of_what_leaves(routed):
    routed.ip("link set p1 address 02:00:00:00:01:aa")
    routed.settle()  # the kernel forgets all neighbours of a device whose MAC changes
    for _, _, frame in routed.check(both(), verdict="forwarded", out="p1").xfib:
        assert frame[6:12] == bytes.fromhex("0200000001aa")


def test_a_new_mac_of_the_ingress_is_the_one_that_counts(routed):
    routed.ip("link set p0 address 02:00:00:00:00:aa")
    routed.check(both(), verdict="punt_not_our_mac")
    new = ethernet(dst="02:00:00:00:00:aa")
    routed.check([udp4("10.9.9.9", eth=new), udp6("fd09::9", eth=new)], verdict="forwarded", out="p1")


def replug(net, port):
    """Deletes a port's device and makes it again under the same name, with another ifindex."""
    for world in net.worlds:
        world.router.ip(f"link del p{port}")
        world.plug(port)
        world.retap(port)
        world.settle()
    net.sync()


@pytest.mark.parametrize("port", (0, 1))
def test_a_device_that_is_deleted_and_made_again_under_its_name_is_used_again(routed, port):
    replug(routed, port)
    if port == 1:
        routed.ip(*ROUTES)
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_a_deleted_egress_takes_its_routes_along(routed):
    for world in routed.worlds:
        world.router.ip("link del p1")
        world.out.taps.pop("p1").close()
        world.taps.taps.pop("p1").close()
    routed.sync()
    routed.check(udp4("10.9.9.9"), verdict="punt_no_route", icmp=NET_UNREACHABLE)
    routed.check(udp4(host4(2)), verdict="forwarded", out="p2")


def test_a_port_that_moved_to_another_namespace_forwards_nothing_there(routed):
    """It takes its XDP program along: that must not route with the tables of the old namespace."""
    elsewhere = Namespace("elsewhere")
    try:
        for world in routed.worlds:
            if world is routed.other:
                world.router.ip(f"link set p0 netns {elsewhere.name}")
                elsewhere.ip("link set p0 up")
            else:
                world.router.ip("link set p0 down")
        routed.sync()
        frames = [udp4("10.9.9.9"), udp6("fd09::9"), udp4(host4(1))]
        routed.other.clear()
        for frame in frames:
            routed.other.send(0, frame)
        routed.other.out.poll(0.2)
        assert not routed.other.out.tagged()
    finally:
        elsewhere.remove()


def test_a_port_that_came_back_from_another_namespace_is_used_again(routed):
    for world in routed.worlds:
        elsewhere = Namespace("elsewhere")
        world.router.ip(f"link set p0 netns {elsewhere.name}")
        elsewhere.ip(f"link set p0 netns {world.router.name}")
        elsewhere.remove()
        world.router.ip(f"addr add {router4(0)}/24 dev p0", f"addr add {router6(0)}/64 dev p0 nodad",
                        "link set p0 up")
        world.retap(0)
        world.settle()
    routed.sync()
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_a_renamed_device_goes_on_or_is_the_kernels(routed):
    """The name was what the operator asked for; in any case every packet leaves as the kernel's would."""
    routed.ip("link set p2 down", "link set p2 name uplink", "link set uplink up", f"route add 10.8.0.0/16 via {host4(2)}")
    routed.settle_port(2, "uplink")
    routed.check(udp4("10.8.0.1"), out="p2")


def test_a_port_of_a_bridge_is_the_kernels(net):
    net.ip("link add br0 address 02:00:00:00:02:01 type bridge", "link set br0 up", "link set p2 master br0",
           "addr del 10.0.2.1/24 dev p2", "addr add 10.0.2.1/24 dev br0", "addr del fd00:2::1/64 dev p2",
           "addr add fd00:2::1/64 dev br0 nodad", "route add 10.8.0.0/16 via 10.0.2.2", *ROUTES)
    net.settle_port(2, "br0")
    net.check(udp4("10.8.0.1"), verdict="punt_not_a_port", out="p2")
    net.check([udp4("10.9.9.9", port=2), udp6("fd09::9", port=2)], out="p1", port=2)


def test_a_port_that_left_its_bridge_is_fast_again(net):
    net.ip(*ROUTES, "link add br0 type bridge", "link set br0 up", "link set p2 master br0")
    net.same(net.exchange([udp4("10.9.9.9", port=2)], 2, 0))
    net.ip("link set p2 nomaster")
    net.eventually(lambda: net.check([udp4("10.9.9.9", port=2), udp6("fd09::9", port=2)],
                                     verdict="forwarded", out="p1", port=2))


def test_a_macvlan_on_a_port_gets_its_frames(routed):
    routed.ip("link add mv0 link p0 address 02:00:00:00:00:bb type macvlan mode bridge", "link set mv0 up",
              "addr add 10.0.0.9/24 dev mv0")
    frame = udp4("10.9.9.9", eth=ethernet(dst="02:00:00:00:00:bb"))
    routed.check(frame, verdict="punt_not_our_mac", out="p1")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

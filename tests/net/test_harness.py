#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The comparison itself: it must notice every way in which two routers can differ."""

import sys

import pytest

from lib import wire
from lib.frames import host4, host6, udp4, udp6
from lib.world import Net, Outcome

FRAME = udp4("10.9.0.1")
TAG = wire.tag_of(FRAME)


def outcome(kernel, xfib):
    return Outcome({TAG: FRAME}, kernel, xfib, set())


@pytest.mark.parametrize("position", range(0, len(FRAME), 5))
def test_one_changed_byte_is_a_difference(position):
    changed = bytearray(FRAME)
    changed[position] ^= 1
    with pytest.raises(AssertionError, match="differ"):
        Net.same(outcome([(TAG, "p1", FRAME)], [(TAG, "p1", bytes(changed))]))


@pytest.mark.parametrize("xfib", ([], [(TAG, "p2", FRAME)], [(TAG, "p1", FRAME)] * 2, [(TAG, "p1", FRAME + b"x" * 20)],
                                  [(TAG, "p1", FRAME[:-1])]))
def test_a_lost_misrouted_doubled_longer_or_shorter_packet_is_a_difference(xfib):
    with pytest.raises(AssertionError, match="differ"):
        Net.same(outcome([(TAG, "p1", FRAME)], xfib))


def test_only_ethernet_padding_is_no_difference():
    short = udp4("10.9.0.1", size=36)
    padded = short.ljust(60, b"\0")
    Net.same(outcome([(TAG, "p1", short)], [(TAG, "p1", padded)]))
    with pytest.raises(AssertionError, match="differ"):
        Net.same(outcome([(TAG, "p1", short)], [(TAG, "p1", short.ljust(61, b"\0"))]))


def test_a_router_that_is_built_differently_is_noticed(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    net.other.router.ip(f"route replace 10.9.0.0/16 via {host4(2)}")
    net.sync()
    with pytest.raises(AssertionError, match="differ"):
        net.check(udp4("10.9.0.1"), out={"p1", "p2"})


def test_errors_about_routes_are_not_kept_back_by_other_errors(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    net.check(udp4("10.9.0.1", ttl=1), icmp=(11, 0))
    net.check([udp4("10.8.0.1") for _ in range(5)], icmp=(3, 0))


def test_a_flood_of_errors_is_not_limited(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    net.check([udp4("10.9.0.1", ttl=1) for _ in range(300)], icmp=(11, 0))
    net.check([udp6("fd09::1", hlim=1) for _ in range(300)], icmp=(3, 0))


@pytest.mark.xfib
def test_a_wrong_verdict_is_noticed(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    with pytest.raises(AssertionError, match="should be punt_mtu"):
        net.check(udp4("10.9.0.1"), verdict="punt_mtu", out="p1")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""As many as there is room for: ports, neighbours and next hops; the last one works like the first."""

import sys

import pytest

from lib import wire
from lib.frames import host4, host_mac, router_mac, udp4

PORTS = 64      # XFIB_PORTS
COUNT = 60000   # of XFIB_NEIGHS_MAX neighbours, and of next hops


def gateway(i):
    return f"10.64.{i >> 8}.{i & 255}"


def neighbours():
    return [f"neigh replace {gateway(i)} lladdr 02:00:00:01:{i >> 8:02x}:{i & 255:02x} dev p1 nud permanent"
            for i in range(1, COUNT + 1)]


def more_ports(world, first):
    """Ports q3, q4, ... as cables to host 2 that only the last one uses."""
    names = [f"q{i}" for i in range(first, PORTS)]
    for name in names:
        world.router.ip(f"link add {name} address {router_mac(int(name[1:]))} type veth peer name {name} netns {world.hosts[2].name}", f"link set {name} up")
        world.hosts[2].ip(f"link set {name} up")
    last = names[-1]
    world.take_redirects(world.hosts[2], last)
    world.router.ip(f"addr add 10.77.0.1/24 dev {last}",
                    f"neigh replace 10.77.0.2 lladdr {host_mac(77)} dev {last} nud permanent")
    world.out.taps[last] = wire.Tap(world.hosts[2], last)
    return names


def test_as_many_ports_as_there_may_be_and_the_last_forwards(net):
    names = [more_ports(world, 3) for world in net.worlds][0]
    if net.xfib:
        net.xfib.cli("attach", *names)
    net.ip(f"route add 10.9.0.0/16 via 10.77.0.2 dev {names[-1]}")
    net.eventually(lambda: net.check(udp4("10.9.9.9"), verdict="forwarded", out=names[-1]))
    if net.xfib:
        assert sum(port["enabled"] for port in net.xfib.status()["ports"]) == PORTS
        net.each_router("ip", "link", "add", "one", "type", "veth", "peer", "name", "toomany")
        with pytest.raises(RuntimeError, match=str(PORTS)):
            net.xfib.cli("attach", "toomany")
        net.check(udp4("10.9.9.9"), verdict="forwarded", out=names[-1])


def test_the_last_of_many_neighbours_is_used(net):
    net.ip("route add 10.64.0.0/16 dev p1", *neighbours(), sync=False)
    frames = [udp4(gateway(i)) for i in (1, COUNT // 2, COUNT)]
    net.eventually(lambda: net.check(frames, verdict="forwarded", out="p1"), timeout=30)


def test_the_last_of_many_next_hops_is_used(net):
    net.ip("route add 10.64.0.0/16 dev p1", *neighbours(), sync=False)
    # Objects, because the kernel compares a route's gateway with those of all other routes of the device.
    net.ip(*(f"nexthop add id {i} via {gateway(i)} dev p1" for i in range(1, COUNT + 1)),
           *(f"route add 11.0.{i >> 8}.{i & 255}/32 nhid {i}" for i in range(1, COUNT + 1)), sync=False)
    frames = [udp4(f"11.0.{i >> 8}.{i & 255}") for i in (1, COUNT // 2, COUNT)]
    net.eventually(lambda: net.check(frames, verdict="forwarded", out="p1"), timeout=30)
    net.ip(f"route replace 11.0.{COUNT >> 8}.{COUNT & 255}/32 via {host4(2)}", sync=False)
    net.eventually(lambda: net.check(frames[-1:], verdict="forwarded", out="p2"), timeout=30)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

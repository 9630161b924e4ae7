#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Neighbours: resolved by the kernel, followed when they change, kept fresh while they are used."""

import json
import sys
import time

import pytest
from scapy.layers.l2 import ARP, Ether

from lib.flow import Flow
from lib.frames import host4, host6, host_mac, udp4, udp6

HOST_UNREACHABLE, ADDRESS_UNREACHABLE = (3, 1), (1, 3)
NEW_MAC = "02:00:00:00:01:99"


def state(world, address):
    entries = json.loads(world.router.show(f"-j neigh show {address}"))
    return entries[0]["state"][0] if entries else "NONE"


@pytest.fixture
def routed(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    return net


def both():
    return [udp4("10.9.9.9"), udp6("fd09::9")]


def test_an_unresolved_gateway_is_resolved_by_the_kernel_and_then_fast(net):
    net.host_ip(1, "addr add 10.0.1.3/24 dev eth0", "addr add fd00:1::3/64 dev eth0 nodad")
    net.ip("route add 10.9.0.0/16 via 10.0.1.3", "-6 route add fd09::/32 via fd00:1::3")
    net.check(both(), verdict="punt_no_neighbour", out="p1")
    net.eventually(lambda: net.check(both(), verdict="forwarded", out="p1"))


def test_an_unresolved_host_of_a_connected_network_is_resolved_and_then_fast(net):
    net.host_ip(1, "addr add 10.0.1.3/24 dev eth0", "addr add fd00:1::3/64 dev eth0 nodad")
    hosts = lambda: [udp4("10.0.1.3"), udp6("fd00:1::3")]
    net.check(hosts(), verdict="punt_no_neighbour", out="p1")
    net.eventually(lambda: net.check(hosts(), verdict="forwarded", out="p1"))


def test_packets_to_a_host_that_does_not_answer_come_back_as_unreachable(net):
    net.check(udp4("10.0.1.77"), verdict="punt_no_neighbour", icmp=HOST_UNREACHABLE)
    net.check(udp6("fd00:1::77"), verdict="punt_no_neighbour", icmp=ADDRESS_UNREACHABLE)


def test_a_new_mac_of_the_gateway_is_used_at_once(routed):
    routed.check(both(), verdict="forwarded", out="p1")
    routed.ip(f"neigh replace {host4(1)} lladdr {NEW_MAC} dev p1 nud reachable",
              f"neigh replace {host6(1)} lladdr {NEW_MAC} dev p1 nud reachable")
    for frame in routed.check(both(), verdict="forwarded", out="p1").xfib:
        assert frame[2].startswith(bytes.fromhex(NEW_MAC.replace(":", "")))


def test_a_gateway_that_announces_a_new_mac_is_followed(routed):
    """Gratuitous ARP from the host, as after a failover."""
    routed.sysctl({"ipv4.conf.p1.arp_accept": 1, "ipv4.neigh.p1.locktime": 0})
    routed.host_ip(1, "link set eth0 down", f"link set eth0 address {NEW_MAC}", "link set eth0 up")
    announcement = ARP(op="who-has", hwsrc=NEW_MAC, psrc=host4(1), hwdst="00:00:00:00:00:00", pdst=host4(1))
    for world in routed.worlds:
        world.send(1, bytes(Ether(src=NEW_MAC, dst="ff:ff:ff:ff:ff:ff") / announcement))
    routed.sync()
    outcome = routed.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")
    assert outcome.xfib[0][2].startswith(bytes.fromhex(NEW_MAC.replace(":", "")))


def test_a_failed_gateway_is_left_to_the_kernel_which_finds_it_again(routed):
    routed.ip(f"neigh change {host4(1)} dev p1 nud failed", f"neigh change {host6(1)} dev p1 nud failed")
    routed.check(both(), verdict="punt_no_neighbour", out="p1")
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_a_deleted_neighbour_is_left_to_the_kernel_which_finds_it_again(routed):
    routed.ip(f"neigh del {host4(1)} dev p1", f"neigh del {host6(1)} dev p1")
    routed.check(both(), verdict="punt_no_neighbour", out="p1")
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_a_permanent_neighbour_is_used(routed):
    routed.ip(f"neigh replace {host4(1)} lladdr {host_mac(1)} dev p1 nud permanent",
              f"neigh replace {host6(1)} lladdr {host_mac(1)} dev p1 nud permanent")
    routed.check(both(), verdict="forwarded", out="p1")


def test_a_stale_neighbour_is_still_used(routed):
    routed.ip(f"neigh replace {host4(1)} lladdr {host_mac(1)} dev p1 nud stale",
              f"neigh replace {host6(1)} lladdr {host_mac(1)} dev p1 nud stale")
    routed.check(both(), verdict="forwarded", out="p1")


def test_a_neighbour_with_a_group_mac_is_left_to_the_kernel(routed):
    routed.ip(f"neigh replace {host4(1)} lladdr 01:00:5e:00:00:01 dev p1 nud permanent")
    routed.check(udp4("10.9.9.9"), verdict="punt_no_neighbour", out="p1")


@pytest.mark.xfib
def test_a_stale_neighbour_that_carries_traffic_is_probed(routed):
    """The kernel does not see the packets: xfib has to ask for the probe."""
    router = routed.other.router
    router.sysctl({"ipv4.neigh.p1.delay_first_probe_time": 1, "ipv6.neigh.p1.delay_first_probe_time": 1})
    routed.settle()
    router.ip(f"neigh replace {host4(1)} lladdr {host_mac(1)} dev p1 nud stale",
              f"neigh replace {host6(1)} lladdr {host_mac(1)} dev p1 nud stale")
    deadline = time.monotonic() + 15
    with Flow(routed.other, both(), rate=500) as flow:
        while time.monotonic() < deadline and not (state(routed.other, host4(1)) == "REACHABLE" and
                                                   state(routed.other, host6(1)) == "REACHABLE"):
            time.sleep(0.2)
    assert state(routed.other, host4(1)) == state(routed.other, host6(1)) == "REACHABLE"
    flow.assert_whole({"p1"})


@pytest.mark.xfib
def test_a_stale_neighbour_without_traffic_is_left_alone(routed):
    router = routed.other.router
    router.sysctl({"ipv4.neigh.p2.delay_first_probe_time": 1})
    router.ip(f"neigh replace {host4(2)} lladdr {host_mac(2)} dev p2 nud stale")
    with Flow(routed.other, [udp4("10.9.9.9")], rate=500):
        time.sleep(3)
    assert state(routed.other, host4(2)) == "STALE"


@pytest.mark.xfib
def test_a_gateway_that_died_is_noticed_although_only_xfib_sends_to_it(routed):
    """STALE, probed, no answer: FAILED, and from then on the kernel answers with unreachable."""
    router = routed.other.router
    router.sysctl({"ipv4.neigh.p1.delay_first_probe_time": 1})
    routed.other.hosts[1].ip("addr del 10.0.1.2/24 dev eth0")
    router.ip(f"neigh replace {host4(1)} lladdr {host_mac(1)} dev p1 nud stale")
    deadline = time.monotonic() + 15
    with Flow(routed.other, [udp4("10.9.9.9")], rate=500):
        while time.monotonic() < deadline and state(routed.other, host4(1)) not in ("FAILED", "INCOMPLETE", "NONE"):
            time.sleep(0.2)
    assert state(routed.other, host4(1)) in ("FAILED", "INCOMPLETE", "NONE")


@pytest.mark.xfib
def test_permanent_and_externally_learned_neighbours_are_never_touched(routed):
    router = routed.other.router
    router.ip(f"neigh replace {host4(1)} lladdr {host_mac(1)} dev p1 nud permanent",
              f"neigh replace {host6(1)} lladdr {host_mac(1)} dev p1 nud stale extern_learn")
    before = [router.show(f"neigh show {address}") for address in (host4(1), host6(1))]
    with Flow(routed.other, both(), rate=500) as flow:
        time.sleep(3)
    assert [router.show(f"neigh show {address}") for address in (host4(1), host6(1))] == before
    flow.assert_whole({"p1"})


def test_a_proxied_ipv6_neighbour_is_the_kernels(net):
    net.sysctl({"ipv6.conf.all.proxy_ndp": 1, "ipv6.conf.p0.proxy_ndp": 1})
    net.ip(f"-6 route add fd00:0::99/128 via {host6(1)}")
    net.check(udp6("fd00:0::99"), verdict="forwarded", out="p1")
    # The kernel announces no change of proxied neighbours: xfib reads them now and then.
    net.ip("-6 neigh add proxy fd00:0::99 dev p0")
    net.eventually(lambda: net.check(udp6("fd00:0::99"), verdict="punt_proxy", out="p1"))
    net.ip("-6 neigh del proxy fd00:0::99 dev p0")
    net.eventually(lambda: net.check(udp6("fd00:0::99"), verdict="forwarded", out="p1"))


def test_many_hosts_of_a_connected_network_are_told_apart(net):
    net.ip(*(f"neigh replace 10.0.1.{i} lladdr 02:00:00:00:aa:{i:02x} dev p1 nud reachable" for i in range(10, 210)),
           *(f"neigh replace fd00:1::{i:x} lladdr 02:00:00:00:bb:{i:02x} dev p1 nud reachable" for i in range(10, 210)))
    net.check([udp4(f"10.0.1.{i}") for i in range(10, 210)], verdict="forwarded", out="p1")
    net.check([udp6(f"fd00:1::{i:x}") for i in range(10, 210)], verdict="forwarded", out="p1")


def test_a_gateway_whose_mac_changes_all_the_time_loses_no_packet(routed):
    changes = [f"neigh replace {host4(1)} lladdr 02:00:00:00:01:{i:02x} dev p1 nud reachable" for i in range(100)]
    with Flow(routed.other, [udp4("10.9.9.9")]) as flow:
        routed.other.router.ip(*changes)
    flow.assert_whole({"p1"})


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets that only the kernel may handle: they reach it untouched, and it answers as ever."""

import sys

import pytest
from scapy.layers.inet import IPOption_RR, IPOption_Router_Alert, IPOption_Timestamp
from scapy.layers.inet6 import IPv6ExtHdrHopByHop, PadN, RouterAlert
from scapy.layers.l2 import Dot1AD, Dot1Q

from lib import wire
from lib.frames import ethernet, fresh_tag, host4, host6, host_mac, router4, router6, router_mac, udp4, udp6

TIME_EXCEEDED4, TIME_EXCEEDED6 = (11, 0), (3, 0)
FRAG_NEEDED, PACKET_TOO_BIG = (3, 4), (2, 0)
NET_UNREACHABLE = (3, 0)
PORT_UNREACHABLE4, PORT_UNREACHABLE6 = (3, 3), (1, 4)


@pytest.fixture(scope="module")
def routed(shared_net):
    """Nothing that these tests send changes the routers, so they share one pair."""
    shared_net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    return shared_net


# --- time to live ---

def test_ttl_1_is_answered_with_time_exceeded(routed):
    routed.check(udp4("10.9.0.1", ttl=1), verdict="punt_ip4_ttl", icmp=TIME_EXCEEDED4)


def test_ttl_0_is_left_to_the_kernel(routed):
    routed.check(udp4("10.9.0.1", ttl=0), verdict="punt_ip4_ttl", icmp=TIME_EXCEEDED4)


def test_ttl_2_is_forwarded(routed):
    routed.check(udp4("10.9.0.1", ttl=2), verdict="forwarded", out="p1")


def test_hop_limit_1_is_answered_with_time_exceeded(routed):
    routed.check(udp6("fd09::1", hlim=1), verdict="punt_ip6_hop_limit", icmp=TIME_EXCEEDED6)


def test_hop_limit_2_is_forwarded(routed):
    routed.check(udp6("fd09::1", hlim=2), verdict="forwarded", out="p1")


# --- MTU ---

@pytest.fixture(scope="module")
def narrow(routed):
    """The egress takes 1400 bytes."""
    routed.ip("link set p1 mtu 1400")
    yield routed
    routed.ip("link set p1 mtu 1500")


def test_ipv4_of_exactly_the_mtu_is_forwarded(narrow):
    narrow.check([udp4("10.9.0.1", size=1400, flags="DF"), udp4("10.9.0.1", size=1400)],
                 verdict="forwarded", out="p1")


def test_ipv4_with_df_one_byte_over_the_mtu_is_answered_with_fragmentation_needed(narrow):
    narrow.check(udp4("10.9.0.1", size=1401, flags="DF"), verdict="punt_mtu", icmp=FRAG_NEEDED)


def test_ipv4_without_df_over_the_mtu_is_fragmented_by_the_kernel(narrow):
    narrow.check(udp4("10.9.0.1", size=1480), verdict="punt_mtu", out="p1", copies=2)


def test_ipv6_of_exactly_the_mtu_is_forwarded(narrow):
    narrow.check(udp6("fd09::1", size=1400), verdict="forwarded", out="p1")


@pytest.mark.parametrize("over", (1, 40, 41, 100))
def test_ipv6_over_the_mtu_is_answered_with_packet_too_big(narrow, over):
    narrow.check(udp6("fd09::1", size=1400 + over), verdict="punt_mtu", icmp=PACKET_TOO_BIG)


def test_an_ipv6_mtu_below_the_device_mtu_is_obeyed(net):
    net.ip(f"-6 route add fd09::/32 via {host6(1)}")
    net.sysctl({"ipv6.conf.p1.mtu": 1300})
    net.check(udp6("fd09::1", size=1300), verdict="forwarded", out="p1")
    net.eventually(lambda: net.check(udp6("fd09::1", size=1301), verdict="punt_mtu", icmp=PACKET_TOO_BIG))


def test_a_locked_route_mtu_is_obeyed(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)} mtu lock 1300")
    net.check(udp4("10.9.0.1", size=1300, flags="DF"), verdict="forwarded", out="p1")
    net.check(udp4("10.9.0.1", size=1400), verdict="punt_mtu", out="p1", copies=2)


def test_a_route_mtu_is_obeyed(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)} mtu 1300")
    net.check(udp4("10.9.0.1", size=1300, flags="DF"), verdict="forwarded", out="p1")
    net.check(udp4("10.9.0.1", size=1301, flags="DF"), verdict="punt_mtu", icmp=FRAG_NEEDED)


def test_an_ipv6_route_mtu_is_obeyed(net):
    net.ip(f"-6 route add fd09::/32 via {host6(1)} mtu 1300")
    net.check(udp6("fd09::1", size=1300), verdict="forwarded", out="p1")
    net.check(udp6("fd09::1", size=1301), verdict="punt_mtu", icmp=PACKET_TOO_BIG)


# --- headers ---

def test_ipv4_options_are_processed_by_the_kernel(routed):
    routed.check(udp4("10.9.0.1", options=[IPOption_RR(length=7, routers=["0.0.0.0"])]),
                 verdict="punt_ip4_options", out="p1")


def test_the_ipv4_router_alert_option_is_left_to_the_kernel(routed):
    routed.check(udp4("10.9.0.1", options=[IPOption_Router_Alert()]), verdict="punt_ip4_options", out="p1")


def test_ipv6_hop_by_hop_options_are_processed_by_the_kernel(routed):
    routed.check([udp6("fd09::1", headers=IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0\0\0\0")])),
                  udp6("fd09::1", headers=IPv6ExtHdrHopByHop(options=[RouterAlert(value=9)]))],
                 verdict="punt_ip6_hop_by_hop", out="p1")


def test_a_wrong_ipv4_checksum_is_dropped_by_the_kernel(routed):
    routed.check(udp4("10.9.0.1", chksum=0x1234), verdict="punt_ip4_checksum")


def test_broken_ipv4_headers_are_dropped_by_the_kernel(routed):
    frames = [udp4("10.9.0.1", version=5), udp4("10.9.0.1", ihl=4), udp4("10.9.0.1", len=19),
              udp4("10.9.0.1", len=1400)]
    routed.check(frames, verdict="punt_ip4_header")


def test_broken_ipv6_headers_are_dropped_by_the_kernel(routed):
    routed.check([udp6("fd09::1", version=4), udp6("fd09::1", plen=1400)], verdict="punt_ip6_header")


def test_a_frame_too_short_for_its_header_reaches_the_kernel(routed):
    routed.check([udp4("10.9.0.1")[:30]], out=None)


# --- addresses ---

def test_an_ipv4_source_that_no_packet_may_have_is_dropped_by_the_kernel(routed):
    sources = ("0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255")
    routed.check([udp4("10.9.0.1", src=source) for source in sources], verdict="punt_ip4_source")


def test_an_ipv4_source_of_a_reserved_network_is_left_to_the_kernel(routed):
    routed.check([udp4("10.9.0.1", src=source) for source in ("0.1.2.3", "240.0.0.1")],
                 verdict="punt_ip4_source", out="p1")


def test_the_routers_own_address_as_source_is_dropped_by_the_kernel(routed):
    routed.check([udp4("10.9.0.1", src=router4(port)) for port in (0, 1, 2)], verdict="punt_ip4_own_source")


def test_the_routers_own_ipv6_address_as_source_makes_no_difference_to_the_kernel(routed):
    routed.check([udp6("fd09::1", src=router6(port)) for port in (0, 1)], out="p1")


def test_an_ipv4_destination_that_is_not_unicast_is_left_to_the_kernel(routed):
    destinations = ("127.0.0.1", "224.0.0.5", "239.1.1.1", "255.255.255.255")
    routed.check([udp4(destination) for destination in destinations], verdict="punt_ip4_destination")


def test_an_ipv4_destination_of_a_special_network_is_left_to_the_kernel(routed):
    destinations = ("0.0.0.1", "240.0.0.1", "169.254.1.1")
    routed.check([udp4(destination) for destination in destinations], verdict="punt_ip4_destination",
                 icmp=NET_UNREACHABLE)


def test_an_odd_ipv6_source_is_left_to_the_kernel(routed):
    sources = ("::", "::1", "ff02::1", "::ffff:10.0.0.2", "::10.0.0.2", "fe80::ff:fe00:2")
    routed.same(routed.exchange([udp6("fd09::1", src=source) for source in sources], 0, 0, "punt_ip6_source"))


def test_an_odd_ipv6_destination_is_left_to_the_kernel(routed):
    destinations = ("::", "::1", "ff02::1", "ff0e::1", "fe80::1", "::ffff:10.9.0.1")
    frames = [udp6(destination) for destination in destinations]
    routed.same(routed.exchange(frames, 0, 0, "punt_ip6_destination"))


def test_packets_for_the_router_reach_its_own_sockets(routed):
    routed.check([udp4(router4(0)), udp4(router4(1)), udp4(router4(2))], verdict="punt_local", icmp=PORT_UNREACHABLE4)
    routed.check([udp6(router6(0)), udp6(router6(1))], verdict="punt_local", icmp=PORT_UNREACHABLE6)


def test_a_directed_broadcast_is_left_to_the_kernel(routed):
    routed.check(udp4("10.0.1.255"), verdict="punt_broadcast")


def test_a_directed_broadcast_is_forwarded_by_the_kernel_when_it_may(net):
    net.sysctl({"ipv4.conf.all.bc_forwarding": 1, "ipv4.conf.p0.bc_forwarding": 1})
    outcome = net.exchange([udp4("10.0.1.255")], 0, 1, "punt_broadcast")
    net.same(outcome)
    assert outcome.legs("kernel") == {"p1": 1}


# --- Ethernet ---

def test_a_frame_for_another_mac_is_not_routed(routed):
    routed.check(udp4("10.9.0.1", eth=ethernet(dst="02:00:00:00:00:99")), verdict="punt_not_our_mac")


def test_a_broadcast_frame_with_a_unicast_packet_is_left_to_the_kernel(routed):
    routed.check([udp4("10.9.0.1", eth=ethernet(dst="ff:ff:ff:ff:ff:ff")),
                  udp6("fd09::1", eth=ethernet(dst="33:33:00:00:00:01"))], verdict="punt_group_mac")


def test_an_odd_source_mac_is_left_to_the_kernel(routed):
    frames = [udp4("10.9.0.1", eth=ethernet(src=src)) for src in ("00:00:00:00:00:00", "01:00:5e:00:00:01", router_mac(0))]
    routed.check(frames, verdict="punt_source_mac", out="p1")


def test_vlan_tagged_frames_are_not_routed_on_the_parent(routed):
    tagged = [udp4("10.9.0.1", eth=ethernet() / Dot1Q(vlan=7)), udp6("fd09::1", eth=ethernet() / Dot1Q(vlan=7, prio=6)),
              udp4("10.9.0.1", eth=ethernet() / Dot1AD(vlan=7) / Dot1Q(vlan=8))]
    routed.check(tagged, verdict="punt_vlan")


def test_a_priority_tagged_frame_is_left_to_the_kernel(routed):
    outcome = routed.exchange([udp4("10.9.0.1", eth=ethernet() / Dot1Q(vlan=0, prio=5))], 0, 0, "punt_vlan")
    routed.same(outcome)


@pytest.mark.parametrize("ethertype", (0x8847, 0x8864, 0x88cc, 0x0200, 0x88e5))
def test_other_protocols_reach_the_kernel(routed, ethertype):
    frame = bytes(ethernet()) [:12] + ethertype.to_bytes(2, "big") + wire.payload(fresh_tag(), 46)
    routed.check(frame, verdict="punt_ethertype")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

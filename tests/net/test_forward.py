#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plain forwarding: what the fast path is for."""

import sys

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrRouting, PadN)

from lib.frames import host4, host6, host_mac, tcp4, udp4, udp6


def test_ipv4_is_forwarded_through_a_gateway(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    net.check([udp4(f"10.9.{i}.1") for i in range(20)], verdict="forwarded", out="p1")


def test_ipv6_is_forwarded_through_a_gateway(net):
    net.ip(f"-6 route add fd09::/32 via {host6(1)}")
    net.check([udp6(f"fd09::{i}") for i in range(20)], verdict="forwarded", out="p1")


def test_ipv4_is_forwarded_to_a_host_on_a_connected_network(net):
    net.check([udp4(host4(1)), udp4(host4(2))], verdict="forwarded", out={"p1", "p2"})


def test_ipv6_is_forwarded_to_a_host_on_a_connected_network(net):
    net.check([udp6(host6(1)), udp6(host6(2))], verdict="forwarded", out={"p1", "p2"})


def test_the_default_routes_are_used(net):
    net.ip(f"route add default via {host4(2)}", f"-6 route add default via {host6(2)}")
    net.check([udp4("192.0.2.1"), udp6("2001:db8::1")], verdict="forwarded", out="p2")


def test_the_longest_prefix_wins(net):
    net.ip(f"route add 10.0.0.0/8 via {host4(1)}", f"route add 10.9.0.0/16 via {host4(2)}",
           f"route add 10.9.9.0/24 via {host4(1)}", f"route add 10.9.9.9/32 via {host4(2)}",
           f"-6 route add fd09::/16 via {host6(1)}", f"-6 route add fd09:9::/32 via {host6(2)}",
           f"-6 route add fd09:9::9/128 via {host6(1)}")
    net.check([udp4("10.8.0.1"), udp4("10.9.9.1"), udp6("fd09:8::1"), udp6("fd09:9::9")],
              verdict="forwarded", out="p1")
    net.check([udp4("10.9.8.1"), udp4("10.9.9.9"), udp6("fd09:9::1")], verdict="forwarded", out="p2")


def test_ipv6_is_forwarded_through_a_link_local_gateway(net):
    link_local = "fe80::ff:fe00:102"
    net.ip(f"-6 neigh replace {link_local} lladdr {host_mac(1)} dev p1 nud reachable",
           f"-6 route add fd09::/32 via {link_local} dev p1")
    net.check([udp6(f"fd09::{i}") for i in range(5)], verdict="forwarded", out="p1")


def test_tcp_segments_keep_their_bytes(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    net.check([tcp4("10.9.0.1", sport=2000 + i, flags=flags) for i, flags in enumerate(("S", "SA", "R", "FA"))],
              verdict="forwarded", out="p1")


def test_every_length_up_to_the_mtu_is_forwarded(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    sizes = [*range(36, 80), 256, 575, 576, 577, 1279, 1280, 1281, 1499, 1500]
    net.check([udp4("10.9.0.1", size=size) for size in sizes], verdict="forwarded", out="p1")
    net.check([udp6("fd09::1", size=size) for size in sizes if size >= 56], verdict="forwarded", out="p1")


def test_ethernet_padding_does_not_matter(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    frames = [udp4("10.9.0.1", size=size) for size in (36, 40, 46)]
    net.check([frame.ljust(60, b"\0") for frame in frames], verdict="forwarded", out="p1")


def test_bytes_behind_the_packet_are_cut_off_by_the_kernel(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    net.check([udp4("10.9.0.1", size=60) + b"trailer", udp6("fd09::1", size=80) + b"trailer"],
              verdict="punt_trailer", out="p1")


def test_ipv4_fragments_are_forwarded(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    net.check([udp4("10.9.0.1", flags="MF"), udp4("10.9.0.1", frag=3), udp4("10.9.0.1", flags="MF", frag=99)],
              verdict="forwarded", out="p1")


def test_ipv6_extension_headers_other_than_hop_by_hop_are_forwarded(net):
    net.ip(f"-6 route add fd09::/32 via {host6(1)}")
    headers = [IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0\0\0\0")]), IPv6ExtHdrFragment(offset=0, m=1, id=7),
               IPv6ExtHdrFragment(offset=5, id=7), IPv6ExtHdrRouting(type=4, segleft=1, addresses=["fd09::2"])]
    net.check([udp6("fd09::1", headers=header) for header in headers], verdict="forwarded", out="p1")


def test_tos_and_ecn_pass_through(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    net.check([udp4("10.9.0.1", tos=tos) for tos in (0x10, 0xb8, 0x03, 0xff)], verdict="forwarded", out="p1")
    net.check([udp6("fd09::1", tc=tc, fl=0xabcde) for tc in (0xb8, 0x03)], verdict="forwarded", out="p1")


def with_checksum(wanted, **fields):
    """A packet whose header checksum is the wanted one: its id makes up the difference (RFC 1071)."""
    checksum = int.from_bytes(udp4("10.9.0.1", id=0, **fields)[24:26], "big")
    return udp4("10.9.0.1", id=(checksum - wanted) % 0xffff, **fields)


def test_the_checksum_is_right_also_where_it_wraps_around(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    edges = (0x0000, 0x0001, 0x00ff, 0x0100, 0xfe00, 0xfeff, 0xfefe, 0xff00, 0xff01, 0xfffe)
    frames = [with_checksum(wanted, ttl=ttl) for wanted in edges for ttl in (2, 64, 255)]
    assert {int.from_bytes(frame[24:26], "big") for frame in frames} >= set(edges) - {0}
    net.check(frames, verdict="forwarded", out="p1")


def test_traffic_back_is_forwarded_too(net):
    net.check([udp4(host4(0), port=1), udp6(host6(0), port=1)], verdict="forwarded", out="p0", port=1)


def test_real_connections_work_in_both_directions(net):
    """Through the hosts' own stacks: ping, and a TCP transfer."""
    for world in net.worlds:
        for peer in (host4(1), host6(1)):
            assert ", 0% packet loss" in world.hosts[0].run("ping", "-q", "-i", "0.01", "-c", "20", "-w", "5", peer)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

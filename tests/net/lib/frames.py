# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames that the client's host sends into the router: valid ones by default, everything can be overridden.

Each frame carries a tag of its own (wire.py), so a test can tell them apart.
"""

import itertools

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from . import wire

_tags = itertools.count(1)


def router_mac(port):
    return f"02:00:00:00:{port:02x}:01"


def host_mac(port):
    return f"02:00:00:00:{port:02x}:02"


def router4(port):
    return f"10.0.{port}.1"


def host4(port):
    return f"10.0.{port}.2"


def router6(port):
    return f"fd00:{port:x}::1"


def host6(port):
    return f"fd00:{port:x}::2"


def fresh_tag():
    return next(_tags)


def ethernet(port=0, src=None, dst=None):
    return Ether(src=src or host_mac(port), dst=dst or router_mac(port))


def _fill(packet, size):
    """Appends the tagged payload; size is that of the whole IP packet."""
    room = size - len(packet) if size else 24
    return packet / wire.payload(fresh_tag(), room)


def udp4(dst, size=0, port=0, sport=1024, dport=9, eth=None, **fields):
    fields = {"src": host4(port), "ttl": 64, "id": 1, **fields}
    packet = _fill(IP(dst=dst, **fields) / UDP(sport=sport, dport=dport), size)
    return bytes((eth or ethernet(port)) / packet)


def udp6(dst, size=0, port=0, sport=1024, dport=9, eth=None, headers=None, **fields):
    """headers: extension headers between the IPv6 and the UDP header."""
    fields = {"src": host6(port), "hlim": 64, **fields}
    upper = UDP(sport=sport, dport=dport)
    packet = _fill(IPv6(dst=dst, **fields) / (headers / upper if headers else upper), size)
    return bytes((eth or ethernet(port)) / packet)


def tcp4(dst, port=0, sport=1024, dport=80, **fields):
    packet = IP(dst=dst, src=host4(port), ttl=64, id=1) / TCP(sport=sport, dport=dport, **fields)
    return bytes(ethernet(port) / _fill(packet, 0))


def raw4(dst, content, port=0, **fields):
    """An IPv4 packet whose content is already bytes, behind a tag."""
    packet = IP(dst=dst, src=host4(port), ttl=64, **fields)
    return bytes(ethernet(port) / packet / (wire.payload(fresh_tag(), 16) + content))

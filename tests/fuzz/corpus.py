#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""corpus.py DIR: real rtnetlink messages for the fuzzer to start from, one file each.

Run it in a network namespace made for it (unshare -n), as root: it adds links, addresses, rules,
routes, nexthops and neighbours, and keeps one message of each shape (type, family, attributes) of
what the kernel notifies and dumps.
"""
import hashlib
import os
import socket
import struct
import subprocess
import sys

SETUP = """
link set lo up
link add left type veth peer name right
link set left up
link set right up
link add bridge0 type bridge
link set right master bridge0
link set right nomaster
link add vxlan0 type vxlan id 7 dstport 4789
link add macvlan0 link left type macvlan
address add 192.0.2.1/24 dev left
address add 198.51.100.1 peer 198.51.100.2/32 dev left
address add 2001:db8::1/64 dev left nodad
rule add prio 10 lookup 1000
rule add prio 20 from 192.0.2.0/24 iif left fwmark 1 lookup 100
rule add prio 30 lookup main suppress_prefixlength 0
nexthop add id 1 via 192.0.2.9 dev left
nexthop add id 2 dev right
nexthop add id 3 blackhole
nexthop add id 4 via 2001:db8::9 dev left
nexthop add id 10 group 1,3/2,5
route add 203.0.113.0/25 via 192.0.2.9
route add 203.0.113.128/25 via 192.0.2.9 metric 50 mtu lock 1300
route add 203.0.114.0/24 dev left tos 0x10
route add 203.0.115.0/24 via inet6 2001:db8::9 dev left
route add 203.0.116.0/24 nexthop via 192.0.2.9 weight 3 nexthop via inet6 2001:db8::9 dev left
route add blackhole 203.0.117.0/24
route add 203.0.118.0/24 nhid 1
route add 203.0.119.0/24 nhid 10
route add default via 192.0.2.9 table 70000
route replace 203.0.113.0/25 via 192.0.2.10
route del 203.0.117.0/24
route add 2001:db8:1::/64 via 2001:db8::9
route add 2001:db8:2::/64 via 2001:db8::9 metric 50 mtu 1300
route add 2001:db8:3::/64 nexthop via 2001:db8::9 weight 3 nexthop via 2001:db8::a dev left
route add unreachable 2001:db8:4::/64
route add 2001:db8:5::/64 dev left expires 1000
neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 nud stale dev left
neigh add 2001:db8::9 lladdr 02:00:00:00:00:09 nud reachable dev left router
neigh add 192.0.2.11 nud failed dev left
neigh add proxy 192.0.2.20 dev left
neigh del 192.0.2.9 dev left
rule del prio 10
nexthop del id 2
link set left mtu 1000
link set left mtu 1500
link del macvlan0
"""

# RTNLGRP_*: link, neigh, the families' addresses, routes and rules, ifinfo, nexthop, netconf.
GROUPS = [1, 3, 5, 7, 8, 9, 11, 12, 19, 24, 25, 32]
# RTM_GETLINK, ADDR, ROUTE, NEIGH, RULE, NETCONF, NEXTHOP: the length of the header of each.
DUMPS = {18: 16, 22: 8, 26: 12, 30: 12, 34: 12, 82: 1, 106: 8}
HEADERS = {kind - 2: size for kind, size in DUMPS.items()}
SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, NLM_F_REQUEST, NLM_F_DUMP = 270, 1, 1, 0x300


def messages(data):
    while len(data) >= 16:
        size = struct.unpack_from("=I", data)[0]
        yield data[:size]
        data = data[(size + 3) & ~3:]


def shape(message):
    """What tells a message from its likes: type, family and the sequence of attribute types."""
    kind, flags = struct.unpack_from("=HH", message, 4)
    header = HEADERS.get(kind & ~3)
    if header is None:
        return None
    at, attributes = 16 + ((header + 3) & ~3), []
    while at + 4 <= len(message):
        size, attribute = struct.unpack_from("=HH", message, at)
        attributes.append(attribute)
        at += max((size + 3) & ~3, 4)
    return kind, flags & 0xd00, message[16], tuple(attributes)


def drain(sock):
    while True:
        try:
            yield from messages(sock.recv(1 << 18))
        except BlockingIOError:
            return


def dump(kind, family):
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    header = bytes([family]).ljust(DUMPS[kind], b"\0")
    sock.send(struct.pack("=IHHII", 16 + len(header), kind, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + header)
    while True:
        for message in messages(sock.recv(1 << 18)):
            if struct.unpack_from("=H", message, 4)[0] in (2, 3):  # NLMSG_ERROR, NLMSG_DONE
                return
            yield message


def main(folder):
    monitor = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    monitor.bind((0, 0))
    monitor.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
    monitor.setblocking(False)
    for group in GROUPS:
        monitor.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)
    subprocess.run(["ip", "-force", "-batch", "-"], input=SETUP, text=True, check=False)
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as sysctl:
        sysctl.write("1")

    kept = {}
    found = list(drain(monitor))
    for kind in DUMPS:
        for family in (socket.AF_INET, socket.AF_INET6) if kind != 18 else (0,):
            found += dump(kind, family)
    for message in found:
        kept.setdefault(shape(message), message)
    kept.pop(None, None)

    os.makedirs(folder, exist_ok=True)
    for message in kept.values():
        name = hashlib.sha1(message).hexdigest()[:16]
        with open(os.path.join(folder, name), "wb") as file:
            file.write(message)


main(sys.argv[1])

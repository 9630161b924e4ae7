#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How long a change made with ip(8) takes until packets follow it.

A running `ip -batch` gets one line, and from then on packets are sent without a pause until the first
one does what the line says: that is the whole way, ip(8) and the kernel included. The same is
measured on the plain kernel router, so the difference is xfib's share.

   route      route replace: the next packets leave on another port
   neighbour  neigh replace of the gateway: they leave with its new MAC
   link       link set mtu: they are too big and answered with ICMP, or they leave again

Exit 1 if xfib takes longer than the goals, or if it was not XDP that forwarded nearly all of the packets: the
kernel behind it follows the same changes.
"""

import collections

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib.frames import host4, host6, udp4, udp6  # noqa: E402
from lib.wire import tag_of                       # noqa: E402
from lib.world import Net                         # noqa: E402

CHANGES = 200
GIVE_UP = 1.0
GOALS = {"median": (0.5, 0.005), "p99": (0.99, 0.020)}  # share of the changes, seconds
IN_XDP = 0.9  # share of the packets
BIG = 1400

Measured = collections.namedtuple("Measured", "taken sent")  # seconds for each change, number of packets


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


class Changer:
    """One ip(8) that carries out a line whenever it gets one."""

    def __init__(self, namespace, family):
        self.process = subprocess.Popen(("ip", family, "-n", namespace.name, "-batch", "-"), stdin=subprocess.PIPE, text=True)

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Family:
    """What is sent where, and the changes: each by a number, as (line for ip(8), port on which a packet that
    follows it is seen, MAC that it must have there or None). Those of two numbers in a row differ."""

    def __init__(self, option, prefix, host, udp, dst, **unfragmented):
        self.option, self.prefix, self.host = option, prefix, host
        small, big = udp(dst), udp(dst, size=BIG, **unfragmented)
        self.changes = {"route": (self.route, small), "neighbour": (self.neighbour, small), "link": (self.link, big)}

    def route(self, number):
        port = 2 - number % 2
        return f"route replace {self.prefix} via {self.host(port)}", port, None

    def neighbour(self, number):
        mac = f"02:00:00:01:{number >> 8:02x}:{number & 255:02x}"
        return f"neigh replace {self.host(1)} lladdr {mac} dev p1 nud permanent", 1, bytes.fromhex(mac.replace(":", ""))

    def link(self, number):
        too_big = number % 2
        return f"link set p1 mtu {BIG - 100 * too_big}", 0 if too_big else 1, None


FAMILIES = {"ipv4": Family("-4", "10.9.0.0/16", host4, udp4, "10.9.0.1", flags="DF"),
            "ipv6": Family("-6", "fd09::/32", host6, udp6, "fd09::1")}


def measure(world, family, kind, changes=CHANGES):
    """From handing the line to ip(8) to the first packet that follows it."""
    change, frame = family.changes[kind]
    changer = Changer(world.router, family.option)
    taken, sent = [], 0
    try:
        changer.do(family.route(1)[0])
        changer.do(change(0)[0])
        time.sleep(0.2)
        for number in range(1, changes + 1):
            line, port, mac = change(number)
            for tap in world.out.taps.values():
                tap.receive()
            start = time.monotonic()
            changer.do(line)
            now, count = first_packet(world, frame, f"p{port}", mac, start)
            taken.append(now - start)
            sent += count
            time.sleep(0.005)
        changer.do("link set p1 mtu 1500")
    finally:
        changer.close()
    world.settle_port(1, "p1")
    return Measured(taken, sent)


def first_packet(world, frame, port, mac, start):
    """When it came, and how many were sent."""
    tag = tag_of(frame)
    sent = 0
    while time.monotonic() - start < GIVE_UP:
        world.send(0, frame)
        sent += 1
        now = time.monotonic()
        if any(tag_of(got) == tag and mac in (None, got[:6]) for got in world.out.taps[port].receive()):
            return now, sent
        time.sleep(0.0001)
    raise AssertionError(f"no packet followed the change within {GIVE_UP} s")


def share_in_xdp(net, measure_it):
    """What measure_it() returns, and the share of its packets that XDP forwarded, those that are to be
    answered with ICMP aside."""
    before = net.xfib.verdicts()
    measured = measure_it()
    after = net.xfib.verdicts()
    forwarded, too_big = (after[name] - before[name] for name in ("forwarded", "punt_mtu"))
    return measured, forwarded / max(1, measured.sent - too_big)


def report(net, changes=CHANGES):
    """{"ipv4 route": (seconds, share in XDP), ...} of xfib; prints both routers."""
    result = {}
    columns = "".join(f"{name:>8}" for name in (*GOALS, "max"))
    print(f"{changes} changes each, ms" + "".join(f"{who:>11}{columns}" for who in ("kernel:", "xfib:")))
    for name, family in FAMILIES.items():
        for kind in family.changes:
            kernel = measure(net.kernel, family, kind, changes)
            xfib, share = share_in_xdp(net, lambda: measure(net.other, family, kind, changes))
            print(f"{name} {kind:16}" + "".join(f"{'':11}" + "".join(
                f"{percentile(taken, part) * 1e3:8.2f}" for part in (*(part for part, _ in GOALS.values()), 1))
                for taken in (kernel.taken, xfib.taken)), flush=True)
            result[f"{name} {kind}"] = xfib.taken, share
    print(f"forwarded in XDP: at least {min(share for _, share in result.values()):.1%} of the packets of a line")
    return result


def verdict(result):
    """What misses the goals, in lines."""
    slow = [f"{what}: {name} {percentile(taken, part) * 1e3:.2f} ms, not {goal * 1e3:.0f}"
            for what, (taken, _) in result.items() for name, (part, goal) in GOALS.items()
            if percentile(taken, part) > goal]
    return slow + [f"{what}: only {share:.1%} of the packets were forwarded in XDP"
                   for what, (_, share) in result.items() if share < IN_XDP]


def main():
    net = Net()
    try:
        wrong = verdict(report(net))
    finally:
        net.close()
    for line in wrong:
        print(f"latency: {line}", file=sys.stderr)
    if not wrong:
        print("within the goals: " + ", ".join(f"{name} {goal * 1e3:.0f} ms" for name, (_, goal) in GOALS.items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

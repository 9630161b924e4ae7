#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How long a change made with ip(8) takes until packets follow it.

A running `ip -batch` gets one line, `route replace ...`, and from then on packets are sent without a
pause until the first one leaves on the new port: that is the whole way, ip(8) and the kernel
included. The same is measured on the plain kernel router, so the difference is xfib's share.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib.frames import host4, host6, udp4, udp6  # noqa: E402
from lib.world import Net                         # noqa: E402

CHANGES = 200
GIVE_UP = 1.0


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


def measure(world, family, prefix, gateways, frame, changes=CHANGES):
    """Seconds from handing the line to ip(8) to the first packet on the new port, one per change."""
    taps = {port: world.out.taps[f"p{port}"] for port in gateways}
    changer = Changer(world.router, family)
    taken = []
    try:
        changer.do(f"route replace {prefix} via {gateways[1]}")
        time.sleep(0.2)
        for number in range(changes):
            port = 2 - number % 2
            for tap in taps.values():
                tap.receive()
            start = time.monotonic()
            changer.do(f"route replace {prefix} via {gateways[port]}")
            taken.append(first_packet(world, frame, taps[port], start) - start)
            time.sleep(0.005)
    finally:
        changer.close()
    return taken


def first_packet(world, frame, tap, start):
    while time.monotonic() - start < GIVE_UP:
        world.send(0, frame)
        now = time.monotonic()
        if any(got[12:] and got[14:16] == frame[14:16] for got in tap.receive()):
            return now
        time.sleep(0.0001)
    raise AssertionError(f"no packet took the new route within {GIVE_UP} s")


def report(net, changes=CHANGES):
    """{"ipv4": [seconds], "ipv6": [...]} of xfib; prints both routers."""
    result = {}
    for family, name, prefix, host, frame in (("-4", "ipv4", "10.9.0.0/16", host4, udp4("10.9.0.1")),
                                              ("-6", "ipv6", "fd09::/32", host6, udp6("fd09::1"))):
        for who, world in (("kernel", net.kernel), ("xfib", net.other)):
            taken = measure(world, family, prefix, {1: host(1), 2: host(2)}, frame, changes)
            print(f"{name} {who:6} {len(taken)} changes: median {percentile(taken, 0.5) * 1e3:.2f} ms, "
                  f"p99 {percentile(taken, 0.99) * 1e3:.2f} ms, max {max(taken) * 1e3:.2f} ms")
        result[name] = taken
    return result


if __name__ == "__main__":
    pair = Net()
    try:
        report(pair)
    finally:
        pair.close()

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""More at once than the daemon can read: lost messages are noticed and made up for, floods starve nobody."""

import signal
import sys
import threading

import pytest

from lib.frames import host4, host_mac, udp4

pytestmark = pytest.mark.xfib

COUNT = 5000


def network(i):
    return f"10.{100 + i // 250}.{i % 250}"


def burst(verb, port=1, first=0, count=COUNT):
    return [f"route {verb} {network(i)}.0/24 via {host4(port)}" for i in range(first, count)]


def probes():
    return [udp4(f"{network(i)}.1") for i in range(0, COUNT, 250)]


def resyncs(net):
    return net.xfib.status()["sync"]["resyncs"]


def equal_to_the_kernel(net):
    net.xfib.wait(lambda status: status["sync"]["state"] == "synced", "the resync", timeout=30)
    assert net.xfib.json("verify", "--all")["mismatches"] == 0


def burst_until_messages_are_lost(net, *batches):
    """The daemon is stopped meanwhile, so the loss is no matter of luck; it is shorter than the hold time."""
    before = resyncs(net)
    net.xfib.signal(signal.SIGSTOP)
    try:
        for batch in batches:
            net.ip(*batch, sync=False)
    finally:
        net.xfib.signal(signal.SIGCONT)
    net.xfib.wait(lambda status: status["sync"]["resyncs"] > before, "the loss to be noticed")


@pytest.mark.net(options=["--rcvbuf", "4096", "--hold", "60"])
def test_after_an_overrun_by_new_routes_the_tables_are_equal_to_the_kernel(net):
    burst_until_messages_are_lost(net, burst("add"))
    equal_to_the_kernel(net)
    net.check(probes(), verdict="forwarded", out="p1")


@pytest.mark.net(options=["--rcvbuf", "4096", "--hold", "60"])
def test_after_an_overrun_by_changed_and_deleted_routes_no_packet_goes_the_old_way(net):
    net.ip(*burst("add"), sync=False)
    net.eventually(lambda: net.check(probes(), verdict="forwarded", out="p1"))
    burst_until_messages_are_lost(net, burst("replace", 2, 0, 2500), burst("del", 1, 2500))
    equal_to_the_kernel(net)
    frames = probes()
    net.check(frames[:len(frames) // 2], verdict="forwarded", out="p2")
    net.check(frames[-4:], verdict="punt_no_route", icmp=(3, 0))  # the kernel answers five at once


@pytest.mark.net(options=["--rcvbuf", "4096", "--hold", "60"])
def test_a_burst_that_the_daemon_reads_as_it_comes_ends_equal_to_the_kernel(net):
    net.ip(*burst("add"), *burst("replace", 2), sync=False)
    equal_to_the_kernel(net)
    net.eventually(lambda: net.check(probes(), verdict="forwarded", out="p2"))


class Flood(threading.Thread):
    """Neighbours of port 2 that come and go, by thousands, in both routers, until the block ends."""

    def __init__(self, net):
        super().__init__()
        self.worlds = net.worlds
        self.running = True
        self.rounds = 0

    def run(self):
        hosts = [f"198.19.{i // 250}.{1 + i % 250}" for i in range(2000)]
        while self.running:
            mac = f"02:00:00:0{self.rounds % 10}:00:01"
            for world in self.worlds:
                world.router.ip(*(f"neigh replace {host} lladdr {mac} dev p2 nud permanent" for host in hosts))
            self.rounds += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.join()


@pytest.mark.net(options=["--rcvbuf", "4096"])
def test_a_flood_of_neighbours_does_not_keep_route_changes_back(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}")
    net.check(udp4("10.9.9.9"), verdict="forwarded", out="p1")
    with Flood(net) as flood:
        for turn in range(10):
            port = 2 - turn % 2
            net.ip(f"route replace 10.9.0.0/16 via {host4(port)}", sync=False)
            net.eventually(lambda: net.check(udp4("10.9.9.9"), verdict="forwarded", out=f"p{port}"), timeout=5)
        assert flood.is_alive(), "the flood broke off"
    net.xfib.wait(lambda status: status["sync"]["state"] == "synced", "the end of the flood", timeout=30)
    assert host_mac(1) in {n["lladdr"] for n in net.xfib.json("neigh")}


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

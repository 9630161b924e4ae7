#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Forwarders side by side on one CPU, end to end: packets made in one namespace, forwarded in another, counted
at their arrival in a third.

   generator g0 ---- r0 router r1 ---- s0 sink

A packet's time is that of the whole run divided by the packets that arrived: making, forwarding and
counting it, all on one CPU, one after the other, without the time for which other processes had that
CPU. `drop` ends at the router's door and `wire` forwards without looking at the packet: no forwarder
can be faster. All take turns within each repetition, in alternating order, so that a slow minute of
the machine hits all of them.

Prints a table; writes build/bench/smoke.json. Exit 1 if a forwarder loses packets or xfib is not the
given number of times as fast as the kernel (--at-least).
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../net"))

from lib import netns             # noqa: E402
from lib.daemon import Xfib, build_directory  # noqa: E402
from lib.netns import Namespace   # noqa: E402

MAC = {"g0": "02:00:00:00:00:02", "r0": "02:00:00:00:00:01", "r1": "02:00:00:00:01:01", "s0": "02:00:00:00:01:02"}
FLOWS = 64
FAMILIES = ("ipv4", "ipv6")


class Bed:
    """The three namespaces and what runs in them."""

    def __init__(self, cpu):
        self.cpu = cpu
        self.softirqd = netns.run("pgrep", "-x", f"ksoftirqd/{cpu}").strip()
        self.generator, self.router, self.sink = (Namespace(f"bench-{role}") for role in ("gen", "router", "sink"))
        self.cable("r0", "g0", self.generator)
        self.cable("r1", "s0", self.sink)
        self.router.sysctl({"ipv4.ip_forward": 1, "ipv6.conf.all.forwarding": 1,
                            "ipv4.conf.all.rp_filter": 0, "ipv4.conf.default.rp_filter": 0})
        for index in (0, 1):
            self.router.ip(f"addr add 10.0.{index}.1/24 dev r{index}", f"addr add fd00:{index}::1/64 dev r{index} nodad",
                           f"link set r{index} up")
        peer = MAC["s0"]
        self.router.ip(f"neigh add 10.0.1.2 lladdr {peer} dev r1 nud permanent",
                       f"neigh add fd00:1::2 lladdr {peer} dev r1 nud permanent",
                       *(f"route add 10.{i}.0.0/16 via 10.0.1.2" for i in range(10, 18)),
                       *(f"-6 route add fd0a:{i:x}::/32 via fd00:1::2" for i in range(8)))
        # What a redirect hands to g0 arrives at r0 only if r0 polls; XDP and GRO both make it poll.
        self.router.run("ethtool", "-K", "r0", "gro", "on")
        self.counter = self.start(self.sink, "sink", "s0")

    def cable(self, near, far, namespace):
        self.router.ip(f"link add {near} address {MAC[near]} type veth "
                       f"peer name {far} address {MAC[far]} netns {namespace.name}")
        namespace.sysctl({"ipv6.conf.all.disable_ipv6": 1})
        namespace.ip(f"link set {far} up")

    def traffic(self, namespace, *words):
        return namespace.command("taskset", "-c", str(self.cpu), f"{build_directory()}/tests/bench/traffic", *words)

    def start(self, namespace, *words):
        """A traffic program that stays; returns when it is attached."""
        process = subprocess.Popen(self.traffic(namespace, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if not process.stdout.readline():
            raise RuntimeError(f"traffic {' '.join(words)} failed")
        return process

    @staticmethod
    def count(counter):
        """How many packets a sink has got so far."""
        counter.stdin.write("\n")
        counter.stdin.flush()
        return int(counter.stdout.readline())

    def softirq_ns(self):
        """CPU time of the thread that softirqs may be handed over to."""
        with open(f"/proc/{self.softirqd}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0])

    def send(self, family, packets, counter=None):
        """(nanoseconds, packets that arrived)"""
        counter = counter or self.counter
        lines = "".join(f"{MAC['r0']} {self.flow(family, number)}\n" for number in range(FLOWS))
        before, softirq = self.count(counter), self.softirq_ns()
        done = subprocess.run(self.traffic(self.generator, "send", "g0", MAC["g0"], str(packets)), input=lines,
                              capture_output=True, text=True, check=True)
        passed, waited = (int(word) for word in done.stdout.split())
        return passed - waited + self.softirq_ns() - softirq, self.count(counter) - before

    @staticmethod
    def flow(family, number):
        if family == "ipv4":
            return f"10.0.0.2 10.{10 + number % 8}.{number}.9"
        return f"fd00:0::2 fd0a:{number % 8:x}::{number:x}"

    def close(self):
        stop(self.counter)
        for namespace in (self.generator, self.router, self.sink):
            namespace.remove()


def stop(process):
    process.stdin.close()
    process.wait()


# --- the forwarders: each a context in which the router forwards that way; yields a sink of its own if it has one ---

@contextlib.contextmanager
def kernel(bed):
    """No program at all."""
    yield


@contextlib.contextmanager
def staying(bed, *words):
    process = bed.start(bed.router, *words)
    try:
        yield
    finally:
        stop(process)


@contextlib.contextmanager
def drop(bed):
    """What the generator costs."""
    process = bed.start(bed.router, "sink", "r0")
    try:
        yield process
    finally:
        stop(process)


def wire(bed):
    return staying(bed, "wire", "r0", "r1", MAC["s0"], MAC["r1"])


def fib_helper(bed):
    return staying(bed, "fib", "r0", "r1")


@contextlib.contextmanager
def xdp_forward(bed):
    bed.router.run("xdp-forward", "load", "r0", "r1")
    try:
        yield
    finally:
        bed.router.run("xdp-forward", "unload", "r0", "r1")


@contextlib.contextmanager
def xfib(bed):
    daemon = Xfib(bed.router, ["r0", "r1"])
    try:
        yield
    finally:
        daemon.close()


def forwarders():
    found = {"drop": drop, "wire": wire, "kernel": kernel, "bpf_fib_lookup": fib_helper}
    if shutil.which("xdp-forward"):
        found["xdp-forward"] = xdp_forward
    if os.environ.get("XFIB") != "none":
        found["xfib"] = xfib
    return found


# --- the measurement ---

def measure(bed, context, packets):
    """One turn of a forwarder: {family: (ns a packet, arrived, lost)}"""
    turn = {}
    with context(bed) as counter:
        for family in FAMILIES:
            bed.send(family, packets // 8, counter)  # warm
            ns, arrived = bed.send(family, packets, counter)
            turn[family] = ns / max(arrived, 1), arrived, packets - arrived
    return turn


def run(arguments):
    results = {family: {name: [] for name in forwarders()} for family in FAMILIES}
    bed = Bed(arguments.cpu)
    try:
        for repetition in range(arguments.repetitions):
            order = list(forwarders().items())
            for name, context in order if repetition % 2 == 0 else reversed(order):
                for family, turn in measure(bed, context, arguments.packets).items():
                    results[family][name].append(turn)
    finally:
        bed.close()
    return results


def summary(results):
    """{family: {name: {...}}}, ready for JSON."""
    table = {}
    for family, rows in results.items():
        reference = statistics.median(ns for ns, _, _ in rows["kernel"])
        table[family] = {}
        for name, turns in rows.items():
            times = [ns for ns, _, _ in turns]
            table[family][name] = {
                "ns_min": min(times), "ns_median": statistics.median(times), "ns_max": max(times),
                "delivered": sum(arrived for _, arrived, _ in turns), "lost": sum(lost for _, _, lost in turns),
                "times_kernel": reference / statistics.median(times), "runs_ns": times,
            }
    return table


def show(table):
    print(f"{'':6}{'forwarder':16}{'ns a packet: min':>18}{'median':>8}{'max':>8}{'Mpps':>8}{'delivered':>12}{'lost':>9}{'x kernel':>10}")
    for family, rows in table.items():
        for name, row in rows.items():
            mark = "  LOSES PACKETS" if row["lost"] else ""
            print(f"{family:6}{name:16}{row['ns_min']:18.0f}{row['ns_median']:8.0f}{row['ns_max']:8.0f}"
                  f"{1e3 / row['ns_median']:8.2f}{row['delivered']:12}{row['lost']:9}{row['times_kernel']:10.2f}{mark}")


def verdict(table, at_least):
    """What is wrong with the result, in lines."""
    wrong = [f"{name} lost {row['lost']} {family} packets" for family, rows in table.items()
             for name, row in rows.items() if row["lost"]]
    for family, rows in table.items():
        if "xfib" in rows and rows["xfib"]["times_kernel"] < at_least:
            wrong.append(f"xfib is {rows['xfib']['times_kernel']:.2f} times the kernel for {family}, not {at_least}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--packets", type=int, default=1 << 19, help="in each run")
    parser.add_argument("--cpu", type=int, default=os.cpu_count() - 1, help="where everything runs")
    parser.add_argument("--at-least", type=float, default=2.5, help="how many times the kernel xfib must be")
    arguments = parser.parse_args()
    netns.sweep()
    table = summary(run(arguments))
    show(table)
    path = os.path.join(build_directory(), "bench/smoke.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        json.dump({"packets": arguments.packets, "kernel": os.uname().release, "results": table}, file, indent=1)
    wrong = verdict(table, arguments.at_least)
    for line in wrong:
        print(f"bench-smoke: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

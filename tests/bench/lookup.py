#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a route lookup costs: all paths side by side in one run, each frame counted at the far end.

Paths: floor (xfib without route and neighbour), trie and lpm (xfib with either engine), fib_lookup (a forwarder by
the kernel's helper), kernel. The programs are the product's own on maps that xfibd filled from the kernel.
Modes: dry (the program alone), live (live frames through a real redirect into a veth), wire (frames from another
namespace, received by the attached program on its veth).

Before a path is timed, every destination is sent through it and must arrive with the MAC of the gateway that
a naive model of the table names. All paths take turns within each repetition. A run that loses a frame does
not count and is made again; so is one that a slow moment of the machine had, if a better one can be had.

Prints tables and the figures to reach; writes build/bench/lookup.json (the cells) and lookup-figures.json. Exit 1
if an answer is wrong or a cell has no run that counts; a figure that is missed is told, and exit 1 only with --strict.
"""

import argparse
import contextlib
import fcntl
import json
import os
import random
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../net"), os.path.join(HERE, "../lib")]

import lookup_churn               # noqa: E402
import lookup_report as report    # noqa: E402
import table                      # noqa: E402
from lib import daemon, netns     # noqa: E402
from lib.daemon import build_directory  # noqa: E402
from lookup_bed import CPUS, FAMILIES, Bed, Runner, filled  # noqa: E402
from lookup_traffic import KINDS, Traffic, check, hand_over  # noqa: E402

PATHS = ("floor", "trie", "lpm", "fib_lookup", "kernel")
MODES = ("dry", "live", "wire")
PARTS = ("restore", "ingress", "parse", "source", "lookup", "nexthop", "neighbour", "admit", "redirect", "rewrite",
         "count")
ROUND_NS = 40e6              # how long a run should take ...
PACKETS = 1 << 16, 1 << 20   # ... within these
ATTEMPTS = 5                 # of a run that lost frames
SLOW = 1.15                  # a run on a machine that is so much slower than at its best is made once more


def full_tables(arguments):
    """{family: [prefix]}, in no order, so that its first prefixes are a smaller table of the same kind."""
    if arguments.table:
        found = table.from_file(arguments.table, 1 << 32, 1 << 32)
    else:
        found = table.prefixes4(arguments.routes4), table.prefixes6(arguments.routes6)
    result = {}
    for family, prefixes in zip(FAMILIES, found):
        result[family] = [prefix for prefix in dict.fromkeys(prefixes) if not prefix.endswith("/0")]
        random.Random(1).shuffle(result[family])
    return result


class Bench:
    """One run of all that was asked for."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.cells, self.memory = [], []
        self.sizes = {family: [] for family in arguments.families}
        self.parts = {}
        self.churn = self.started = None
        self.invalid = []  # texts
        self.bed = self.runner = self.traffic = None

    def run(self):
        full = full_tables(self.arguments)
        sizes = [size for size in self.arguments.tables if size] + [None] * (0 in self.arguments.tables)
        self.bed = Bed()
        try:
            with contextlib.closing(Runner(self.bed)) as self.runner:
                self.look_at_memory()
                for size in sizes:
                    self.table({family: some[:size] for family, some in full.items()}, size is None)
                self.look_at_memory()
        finally:
            self.bed.close()

    def look_at_memory(self):
        self.memory.append(self.runner.memory())
        print("\na load from anywhere in " + ", ".join(f"{size} MiB: {ns:.1f} ns" for size, ns in self.memory[-1].items()),
              flush=True)

    def table(self, prefixes, is_full):
        """All cells of a table."""
        start = time.monotonic()
        self.bed.fill(prefixes)
        print(f"\n{' and '.join(f'{len(some)} {family}' for family, some in prefixes.items())} routes: kernel "
              f"{time.monotonic() - start:.1f} s", end="", flush=True)
        self.traffic = {family: Traffic(family, prefixes[family]) for family in self.arguments.families}
        engines = [engine for engine in ("lpm", "trie") if engine in self.arguments.paths] or ["trie"]
        roles = {engine: engine for engine in engines}
        churn = is_full and self.arguments.churn
        if churn:
            roles = {"still": "trie", **roles, "trie": "trie"}
        with filled(self.bed, self.runner, roles) as instances:
            for role, instance in instances.items():
                print(f", xfibd {role} {instance.started['synced_ms']} ms", end="")
            print(flush=True)
            self.open_paths(instances[engines[-1]])
            for family in self.arguments.families:
                self.family(family, len(prefixes[family]))
                if is_full and "dry" in self.arguments.modes and "trie" in roles:
                    hand_over(self.runner, family, self.traffic[family].list("uniform"))
                    self.parts[family] = self.measure_parts(instances["trie"])
            if is_full and "trie" in roles:
                self.started = instances["trie"].started
            if churn:
                self.churn = lookup_churn.measure(self.bed, self.runner, instances["trie"], self.traffic,
                                                  self.arguments.churn)
                if self.churn["verify"]["mismatches"]:
                    raise SystemExit("bench: after the updates xfib and the kernel differ: "
                                     f"{self.churn['verify']['examples'][:1]}")

    def open_paths(self, instance):
        self.runner.ask("open", "floor", "floor", instance.name)
        self.runner.ask("open", "fib_lookup", "fib")
        self.runner.ask("open", "kernel", "pass")

    def family(self, family, routes):
        self.sizes[family].append(routes)
        for traffic in self.arguments.traffic:
            destinations = self.traffic[family].list(traffic)
            hand_over(self.runner, family, destinations)
            if traffic != "zipf":  # a choice of the same addresses
                self.check(self.traffic[family].gateways(destinations))
            for mode in self.arguments.modes:
                for cpus in self.arguments.cpus if mode != "dry" else (1,):
                    self.measure(family, routes, traffic, mode, cpus)

    def check(self, gateways):
        for path in self.arguments.paths:
            for mode in self.arguments.modes:
                expected = gateways if path != "floor" else [None] * len(gateways)
                wrong = mode != "dry" and check(self.runner, path, mode, expected)
                if wrong:
                    raise SystemExit(f"bench: {wrong}")

    def measure(self, family, routes, traffic, mode, cpus):
        """One cell of each path."""
        paths = [path for path in self.arguments.paths if mode != "dry" or path != "kernel"]
        key = {"family": family, "routes": routes, "traffic": traffic, "mode": mode, "cpus": cpus}
        runs = {path: [] for path in paths}
        packets = {path: self.warm(path, mode, cpus) for path in paths}
        for repetition in range(self.arguments.repetitions):
            for path in paths if repetition % 2 else reversed(paths):
                what = f"{family} {routes} {traffic} {path} {mode} {cpus} CPUs"
                run = self.run_once(path, mode, cpus, packets[path], what)
                if run:
                    runs[path].append(run)
        fresh = [{**key, "path": path, "ns_per_packet": report.summary(some), "sent": sum(run[1] for run in some),
                  "delivered": sum(run[2] for run in some)} for path, some in runs.items() if some]
        self.cells += fresh
        wanted = self.arguments.repetitions
        self.invalid += [f"{family} {routes} {traffic} {path} {mode} {cpus} CPUs: {len(some)} runs count, not {wanted}"
                         for path, some in runs.items() if len(some) < wanted]
        report.show_cells(fresh)
        sys.stdout.flush()

    @staticmethod
    def cpu_list(cpus):
        return range(CPUS - cpus, CPUS)

    def warm(self, path, mode, cpus):
        """Caches, and how many packets make a run."""
        ns, *_ = self.runner.run(path, mode, self.cpu_list(cpus), PACKETS[0])
        return int(min(max(ROUND_NS / ns / cpus, PACKETS[0]), PACKETS[1]))

    def run_once(self, path, mode, cpus, packets, what):
        """A run that has lost nothing, on a machine that is not slow if that can be had; or None."""
        best, lost = None, 0
        while lost < ATTEMPTS:
            run = self.runner.run(path, mode, self.cpu_list(cpus), packets)
            if run[1] != run[2]:
                lost += 1
            elif best or run[3] <= SLOW:
                best = min(best or run, run, key=lambda run: run[3])
                break
            else:
                best = run
        if lost:
            print(f"  {what}: {lost} runs lost frames and do not count", flush=True)
        return best

    def measure_parts(self, instance):
        """[(part, ns up to and with it)]: minima, as differences of medians are mostly noise."""
        for part in PARTS:
            self.runner.ask("open", f"part_{part}", f"part_{part}", instance.name)
        best = {part: None for part in PARTS}
        for _ in range(2 * self.arguments.repetitions):
            for part in PARTS:
                ns, *_ = self.runner.run(f"part_{part}", "dry", self.cpu_list(1), 1 << 18)
                best[part] = min(best[part] or ns, ns)
        return list(best.items())


def parse_arguments():
    environment = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", default=environment("BENCH") == "quick",
                        help="two small tables, live, one CPU: less than two minutes (also BENCH=quick)")
    parser.add_argument("--table", default=environment("TABLE"), metavar="FILE",
                        help="the full table's prefixes from a file, one a line (.gz and .xz too; also $TABLE)")
    parser.add_argument("--routes4", type=int, default=1000000, help="of a full table that is generated")
    parser.add_argument("--routes6", type=int, default=240000)
    parser.add_argument("--tables", nargs="+", type=int, default=[10, 1000, 100000, 0], metavar="ROUTES", help="0: full")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--traffic", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--paths", nargs="+", default=list(PATHS), choices=PATHS)
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    parser.add_argument("--cpus", nargs="+", type=int, default=[1, 2], choices=range(1, CPUS + 1))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--churn", type=float, default=8, metavar="SECONDS", help="of route updates in each family; 0: none")
    parser.add_argument("--strict", action="store_true", help="fail if a figure is missed")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.tables, arguments.modes, arguments.cpus, arguments.churn = [10, 0], ["live"], [1], 0
        arguments.traffic = ["one", "uniform"]
        arguments.routes4 = arguments.routes6 = 100000
    return arguments


@contextlib.contextmanager
def alone():
    """Two benchmarks at a time would measure each other."""
    with open("/run/xfib-bench.lock", "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("bench: waits for another one to end", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write(name, content):
    path = os.path.join(build_directory(), "bench", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        json.dump(content, file, indent=1)


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    netns.sweep()
    daemon.sweep()
    bench = Bench(arguments)
    with alone():
        bench.run()
    figures = report.figures(bench.cells, {family: max(some) for family, some in bench.sizes.items()},
                             {family: min(some) for family, some in bench.sizes.items()}, bench.churn, bench.started)
    if bench.parts:
        report.show_parts(bench.parts)
    report.show_figures(figures)
    write("lookup.json", bench.cells)
    write("lookup-figures.json", {"kernel": os.uname().release, "memory_ns": bench.memory, "figures": figures,
                                  "parts": bench.parts, "churn": bench.churn})
    for line in bench.invalid:
        print(f"bench: INVALID: {line}", file=sys.stderr)
    missed = [row for row in figures if row["reached"] is False]
    return 1 if bench.invalid or (arguments.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())

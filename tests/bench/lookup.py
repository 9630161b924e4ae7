#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a route lookup costs: every path side by side, on the same tables, each frame counted at the far end.

   generator g0 ---- r0 router r1 ---- s0 sink

Before a path is timed, every destination is sent through it once, and the far end notes the MAC that it was
sent to: it must be that of the gateway that a naive model of the table names.
"""

import argparse
import contextlib
import os
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../net"), os.path.join(HERE, "../lib")]

import naive                      # noqa: E402
import table                      # noqa: E402
from lib import daemon, netns     # noqa: E402
from lib.daemon import PIN_ROOT, Xfib, build_directory  # noqa: E402
from lib.netns import Namespace   # noqa: E402

MAC = {"g0": "02:00:00:00:00:02", "r0": "02:00:00:00:00:01", "r1": "02:00:00:00:01:01", "s0": "02:00:00:00:01:02"}
GATEWAYS = 64
DESTINATIONS = 65536
FAMILIES = {"ipv4": 4, "ipv6": 6}
CPUS = 2
PATHS = ("floor", "trie", "lpm", "fib_lookup", "kernel")


def gateway(family, index):
    return f"10.0.1.{index + 2}" if family == "ipv4" else f"fd00:1::{index + 2:x}"


def gateway_of(prefix):
    """Which gateway a prefix has: any, but always the same."""
    return zlib.crc32(prefix.encode()) % GATEWAYS


class Instance(Xfib):
    """An xfibd that fills its maps and is stopped: they stay as they are, and the ports are free again."""
    patience, pause = 120.0, 0.05

    def __init__(self, namespace, role, options):
        self.namespace, self.name = namespace, f"{namespace.name}-{role}"
        self.ports, self.options = ["r0", "r1"], [*options, "--hold", "0"]
        self.process, self.marks, self.ended = None, 0, False
        self.log_path = f"/tmp/{self.name}.log"
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def leave_ports(self):
        """Detaches the programs and leaves all tables: what xfib knows nothing of."""
        for port in self.ports:
            os.unlink(f"{PIN_ROOT}/{self.name}/links/{port}")


class Bed:
    """The three namespaces."""

    def __init__(self):
        self.generator, self.router, self.sink = (Namespace(f"lookup-{role}") for role in ("gen", "router", "sink"))
        self.cable("r0", "g0", self.generator)
        self.cable("r1", "s0", self.sink)
        self.router.sysctl({"ipv4.ip_forward": 1, "ipv6.conf.all.forwarding": 1,
                            "ipv4.conf.all.rp_filter": 0, "ipv4.conf.default.rp_filter": 0})
        for index in (0, 1):
            self.router.ip(f"addr add 10.0.{index}.1/24 dev r{index}", f"addr add fd00:{index}::1/64 dev r{index} nodad",
                           f"link set r{index} up")
        self.router.sysctl({f"ipv4.conf.r{index}.rp_filter": 0 for index in (0, 1)})
        self.router.ip(*(f"neigh add {gateway(family, index)} lladdr 02:00:00:00:02:{index:02x} dev r1 nud permanent"
                         for family in FAMILIES for index in range(GATEWAYS)))

    def cable(self, near, far, namespace):
        queues = f"numrxqueues {CPUS} numtxqueues {CPUS}"
        self.router.ip(f"link add {near} address {MAC[near]} {queues} type veth "
                       f"peer name {far} address {MAC[far]} {queues} netns {namespace.name}")
        namespace.sysctl({"ipv6.conf.all.disable_ipv6": 1})
        for where, name in ((self.router, near), (namespace, far)):
            where.run("ethtool", "-L", name, "rx", str(CPUS), "tx", str(CPUS))
        namespace.ip(f"link set {far} up")

    def fill(self, prefixes):
        """Adds routes, {family: [prefix]}."""
        lines = "".join(f"{prefix} {gateway(family, gateway_of(prefix))}\n"
                        for family, some in prefixes.items() for prefix in some)
        self.router.run(f"{build_directory()}/tests/bench/routes", "add", "r1", input=lines)

    def close(self):
        for namespace in (self.generator, self.router, self.sink):
            namespace.remove()


class Runner:
    """The program that runs the paths (lookup.c)."""

    def __init__(self, bed):
        words = bed.router.command(f"{build_directory()}/tests/bench/lookup",
                                   *(namespace.path for namespace in (bed.router, bed.generator, bed.sink)))
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=daemon.die_with_parent)
        self.best = None  # calibration
        self.answer()

    def answer(self):
        words = self.process.stdout.readline().split(maxsplit=1)
        if not words or words[0] != "ok":
            raise RuntimeError(f"lookup: {words[1].strip() if len(words) > 1 else 'ended'}")
        return words[1].split() if len(words) > 1 else []

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.answer()

    def run(self, path, mode, cpus, packets):
        """(nanoseconds a packet, sent, delivered, slowness of the machine: 1.0 is the best seen)"""
        ps, sent, delivered, calibration = (int(word) for word in self.ask("run", path, mode, cpus, packets))
        self.best = min(self.best or calibration, calibration)
        return ps / 1000, sent, delivered, calibration / self.best

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# --- tables and traffic ---

def tables(arguments):
    """{family: [prefix]} of the largest table."""
    if arguments.table:
        found = table.from_file(arguments.table, 1 << 32, 1 << 32)
    else:
        found = table.prefixes4(arguments.routes4), table.prefixes6(arguments.routes6)
    return {family: list(dict.fromkeys(some)) for family, some in zip(FAMILIES, found)}


def plain_unicast(family, address):
    """Whether routers forward there, and it is none of the bed's own networks."""
    if family == "ipv4":
        top = address >> 24
        return top not in (0, 10, 127) and top < 224 and address >> 16 != 0xa9fe
    return address >> 125 == 1  # 2000::/3


class Traffic:
    """The model of a table, and lists of destinations in it."""

    def __init__(self, family, prefixes, seed=1):
        self.family = family
        self.rng = random.Random(seed)
        self.width = 32 if family == "ipv4" else 128
        self.model = naive.Table(self.width)
        self.networks = []
        for prefix in prefixes:
            network, length, _ = naive.parse(prefix)
            self.model.add(network, length, gateway_of(prefix))
            self.networks.append((network, length))
        self.model.close()
        self.drawn = self.uniform()

    def draw(self):
        while True:
            network, length = self.rng.choice(self.networks)
            address = network | self.rng.getrandbits(self.width - length) if length < self.width else network
            if plain_unicast(self.family, address):
                return address

    def uniform(self):
        return [self.draw() for _ in range(DESTINATIONS)]

    def list(self, kind):
        if kind == "one":
            return self.drawn[:1]
        if kind == "zipf":
            weights = [1 / rank for rank in range(1, DESTINATIONS + 1)]
            return self.rng.choices(self.drawn, weights, k=DESTINATIONS)
        return self.drawn

    def expected(self, destinations):
        return [self.model.find(address) for address in destinations]


def hand_over(runner, family, destinations):
    width = 4 if family == "ipv4" else 16
    with tempfile.NamedTemporaryFile(prefix="xfib-lookup-") as file:
        file.write(b"".join(address.to_bytes(width, "big") for address in destinations))
        file.flush()
        runner.ask("list", FAMILIES[family], file.name)


def check(runner, path, mode, expected):
    """Sends each destination once and compares where to; the number of those compared."""
    with tempfile.NamedTemporaryFile(prefix="xfib-lookup-") as file:
        runner.ask("check", path, mode, file.name)
        seen = list(struct.iter_unpack("=II", file.read()))
    wrong = [(place, packets, got, want) for place, ((packets, got), want) in enumerate(zip(seen, expected))
             if packets != 1 or (want is not None and got != want)]
    if wrong:
        place, packets, got, want = wrong[0]
        raise SystemExit(f"bench: {path} ({mode}) sends {len(wrong)} of {len(expected)} destinations wrong, first "
                         f"number {place}: {packets} packets, to gateway {got}, not {want}")
    return len(seen)


# --- the measurement ---

PACKETS = {"floor": 1 << 20, "trie": 1 << 20, "lpm": 1 << 17, "fib_lookup": 1 << 17, "kernel": 1 << 17}
ATTEMPTS = 4   # of a run that lost frames, or that a slow machine had
SLOW = 1.08    # how much slower than its best the machine may be


def run_once(runner, path, mode, cpus, packets):
    """A run that has lost nothing, on a machine that is not slow if that can be had."""
    lost = 0
    usable = None
    for _ in range(ATTEMPTS):
        ns, sent, delivered, slowness = runner.run(path, mode, cpus, packets)
        if delivered != sent:
            lost += 1
            continue
        if usable is None or slowness < usable[3]:
            usable = ns, sent, delivered, slowness
        if slowness <= SLOW:
            break
    return usable, lost


def measure(runner, paths, mode, cpus, repetitions):
    """{path: [run]}; all paths take turns within each repetition."""
    runs = {path: [] for path in paths}
    for repetition in range(-1, repetitions):
        for path in paths if repetition % 2 else reversed(paths):
            run, lost = run_once(runner, path, mode, cpus, PACKETS[path])
            if lost:
                print(f"  {path} {mode}: {lost} runs lost frames and do not count", flush=True)
            if run and repetition >= 0:  # the first one warms up
                runs[path].append(run)
    return runs


@contextlib.contextmanager
def filled(bed, runner, paths):
    """Has xfibd fill an instance with each engine that is measured, and opens all paths; {engine: Instance}."""
    engines = [engine for engine in ("lpm", "trie") if engine in paths] or ["trie"]
    instances = {}
    try:
        for engine in engines:
            instances[engine] = instance = Instance(bed.router, engine, ["--engine", engine])
            status = instance.status()
            print(f"xfibd --engine {engine}: synced after {status['sync']['synced_ms']} ms", flush=True)
            instance.stop()
            runner.ask("open", engine, "product", instance.name)
            instance.leave_ports()
        runner.ask("open", "floor", "floor", instance.name)
        runner.ask("open", "fib_lookup", "fib")
        runner.ask("open", "kernel", "pass")
        yield instances
    finally:
        for instance in instances.values():
            instance.close()


def run(arguments):
    full = tables(arguments)
    bed = Bed()
    try:
        start = time.monotonic()
        bed.fill(full)
        print(f"{' and '.join(f'{len(some)} {family}' for family, some in full.items())} routes in "
              f"{time.monotonic() - start:.1f} s", flush=True)
        traffic = {family: Traffic(family, full[family]) for family in arguments.families}
        with contextlib.closing(Runner(bed)) as runner, filled(bed, runner, arguments.paths):
            for family in arguments.families:
                destinations = traffic[family].list("uniform")
                hand_over(runner, family, destinations)
                expected = traffic[family].expected(destinations)
                for path in arguments.paths:
                    count = check(runner, path, "live", expected if path != "floor" else [None] * len(expected))
                    print(f"{family} {path}: {count} destinations right", flush=True)
                show(family, measure(runner, arguments.paths, "live", "1", arguments.repetitions))
    finally:
        bed.close()


def show(family, runs):
    medians = {path: statistics.median(ns for ns, *_ in some) for path, some in runs.items() if some}
    for path, some in runs.items():
        if not some:
            print(f"{family} {path:12} invalid")
            continue
        times = [ns for ns, *_ in some]
        print(f"{family} {path:12}{min(times):9.1f}{medians[path]:9.1f}{max(times):9.1f}"
              f"{medians[path] / medians.get('floor', 1):8.2f} x floor"
              f"{medians.get('kernel', 0) / medians[path]:8.2f} kernel/it"
              f"   slowness {max(slowness for *_, slowness in some):.2f}", flush=True)


def main():
    environment = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default=environment("TABLE"), metavar="FILE",
                        help="prefixes from a file, one a line (.gz and .xz too; also $TABLE)")
    parser.add_argument("--routes4", type=int, default=900000)
    parser.add_argument("--routes6", type=int, default=160000)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--paths", nargs="+", default=list(PATHS), choices=PATHS)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    netns.sweep()
    daemon.sweep()
    run(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())

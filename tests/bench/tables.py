#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A full Internet table: how long xfibd takes to mirror it, how much memory, and whether it is the same.

   router  r0 ---- peers     10.0.I.1/24, fd00:I::1/64 on rI; four gateways behind each, in both
           r1 ---- peers     families, with static neighbours; every route has one of the eight

Three steps: xfibd starts on a new instance; it is stopped and one that takes its tables over starts;
`xfib verify` asks the kernel about addresses drawn from the tables. Time is xfibd's own, from its
start to tables that are complete; memory is its resident set after that (BPF maps are the kernel's
and not in it).

Prints the numbers; writes build/bench/tables.json. Exit 1 if a start or the memory is above its limit,
or the tables are not the kernel's.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../net"), os.path.join(HERE, "../lib")]

import table                      # noqa: E402
from lib import daemon, netns     # noqa: E402
from lib.daemon import Xfib, build_directory  # noqa: E402
from lib.netns import Namespace   # noqa: E402

PORTS = (0, 1)
GATEWAYS = range(2, 6)
BATCH = 100000  # routes that one ip(8) adds
ALL = 1 << 32  # of a file: as many as it has


class LargeXfib(Xfib):
    """Has time to read a large table; asked seldom, as asking takes CPU time from it."""
    patience, pause = 120.0, 0.1


class Bed:
    """The router, full of routes."""

    def __init__(self, prefixes4, prefixes6):
        self.router, self.peers = Namespace("tables-router"), Namespace("tables-peers")
        self.router.sysctl({"ipv4.ip_forward": 1, "ipv6.conf.all.forwarding": 1,
                            "ipv4.conf.all.rp_filter": 0, "ipv4.conf.default.rp_filter": 0})
        for port in PORTS:
            self.plug(port)
        self.fill(routes(prefixes4, "route add", "10.0.{port}.{host}"))
        self.fill(routes(prefixes6, "-6 route add", "fd00:{port}::{host}"))

    def plug(self, port):
        self.router.ip(f"link add r{port} type veth peer name peer{port} netns {self.peers.name}",
                       f"addr add 10.0.{port}.1/24 dev r{port}", f"addr add fd00:{port}::1/64 dev r{port} nodad",
                       f"link set r{port} up")
        self.peers.ip(f"link set peer{port} up")
        self.peers.run("ethtool", "-K", f"peer{port}", "gro", "on")
        self.router.ip(*(f"neigh add {address} lladdr 02:00:00:00:{port:02x}:{host:02x} dev r{port} nud permanent"
                         for host in GATEWAYS for address in (f"10.0.{port}.{host}", f"fd00:{port}::{host}")))

    def fill(self, lines):
        for start in range(0, len(lines), BATCH):
            self.router.ip(*lines[start:start + BATCH])

    def close(self):
        self.router.remove()
        self.peers.remove()


def routes(prefixes, add, gateway):
    rng = random.Random(1)
    gateways = [gateway.format(port=port, host=host) for port in PORTS for host in GATEWAYS]
    return [f"{add} {prefix} via {rng.choice(gateways)}" for prefix in prefixes]


def prefixes(arguments):
    """([IPv4 prefixes], [IPv6 prefixes]) as the command line wants them."""
    if arguments.table:
        found = table.from_file(arguments.table, arguments.routes4 or ALL, arguments.routes6 or ALL)
        return tuple(list(dict.fromkeys(family)) for family in found)
    sizes = arguments.routes4 or 900000, arguments.routes6 or 160000
    return table.prefixes4(sizes[0]), table.prefixes6(sizes[1])


# --- the measurement ---

def resident(pid):
    """Mebibytes of a process that are in memory."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS:"))


def started(xfib):
    """What a daemon that has just synced says."""
    status = xfib.wait(lambda status: status["daemon"]["pid"] == xfib.process.pid and
                       status["sync"]["state"] == "synced", "the daemon's status")
    return {"synced_ms": status["sync"]["synced_ms"], "rss_mib": resident(xfib.process.pid),
            "prefixes": {family: status["tables"][family]["routes"] for family in ("ipv4", "ipv6")}}


def verify(xfib, samples):
    start = time.monotonic()
    done = subprocess.run(xfib.namespace.command(xfib.program("xfib"), "-n", xfib.name, "-j", "verify",
                                                 "--samples", str(samples)), stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:
        raise RuntimeError("xfib verify failed")
    return {**json.loads(done.stdout), "seconds": time.monotonic() - start}


def measure(bed, samples):
    xfib = None
    try:
        xfib = LargeXfib(bed.router, [f"r{port}" for port in PORTS])
        result = {"fresh": started(xfib)}
        xfib.stop()
        xfib.start()
        result["adopting"] = started(xfib)
        result["verify"] = verify(xfib, samples)
    finally:
        if xfib:
            xfib.close()
    return result


def run(arguments):
    four, six = prefixes(arguments)
    print(f"{len(four)} IPv4 and {len(six)} IPv6 routes by {len(PORTS) * len(GATEWAYS)} gateways each", flush=True)
    start = time.monotonic()
    bed = Bed(four, six)
    try:
        print(f"ip -batch filled the kernel's tables in {time.monotonic() - start:.1f} s", flush=True)
        return {"routes": {"ipv4": len(four), "ipv6": len(six)}, **measure(bed, arguments.samples)}
    finally:
        bed.close()


def show(result):
    for name, start in (("a new instance", result["fresh"]), ("tables taken over", result["adopting"])):
        print(f"{name:18} synced_ms {start['synced_ms']:5}  VmRSS {start['rss_mib']:5.1f} MiB  "
              f"{start['prefixes']['ipv4']} IPv4 and {start['prefixes']['ipv6']} IPv6 prefixes")
    check = result["verify"]
    print(f"{'verify':18} {check['mismatches']} mismatches in {check['checked']} addresses, {check['seconds']:.1f} s "
          f"(seed {check['seed']}, {check['unsettled']} unsettled)")


def verdict(result, at_most_ms, at_most_mib):
    """What is wrong with the result, in lines."""
    wrong = []
    for name in ("fresh", "adopting"):
        start = result[name]
        if start["synced_ms"] > at_most_ms:
            wrong.append(f"{name}: synced after {start['synced_ms']} ms, not {at_most_ms}")
        if start["rss_mib"] > at_most_mib:
            wrong.append(f"{name}: {start['rss_mib']:.1f} MiB resident, not {at_most_mib}")
        wrong += [f"{name}: {count} of {result['routes'][family]} {family} prefixes are in the table"
                  for family, count in start["prefixes"].items() if count < result["routes"][family]]
    if result["verify"]["mismatches"]:
        wrong.append(f"{result['verify']['mismatches']} addresses are not looked up as the kernel does: "
                     f"{result['verify']['examples'][:1]}")
    return wrong


def main():
    environment = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--routes4", type=int, default=int(environment("ROUTES4") or 0),
                        help="IPv4 prefixes (900000, or all of the file; also $ROUTES4)")
    parser.add_argument("--routes6", type=int, default=int(environment("ROUTES6") or 0),
                        help="IPv6 prefixes (160000, or all of the file; also $ROUTES6)")
    parser.add_argument("--table", default=environment("TABLE"), metavar="FILE",
                        help="prefixes from a file, one a line (.gz and .xz too; also $TABLE)")
    parser.add_argument("--samples", type=int, default=100000, help="addresses that xfib verify compares")
    parser.add_argument("--at-most-ms", type=int, default=6000, help="limit for each start")
    parser.add_argument("--at-most-mib", type=int, default=250, help="limit for xfibd's memory")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    netns.sweep()
    daemon.sweep()
    result = run(arguments)
    show(result)
    path = os.path.join(build_directory(), "bench/tables.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        json.dump({"kernel": os.uname().release, "results": result}, file, indent=1)
    wrong = verdict(result, arguments.at_most_ms, arguments.at_most_mib)
    for line in wrong:
        print(f"bench-tables: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

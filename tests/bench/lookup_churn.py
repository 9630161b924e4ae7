# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What route updates cost: the packets that are forwarded meanwhile, and xfibd.

The measured CPU only forwards. On the other one the kernel's routes are changed and xfibd follows. Both the
table that xfibd changes and one that it has left alone are measured, in turn, under the same load: what is between
the two is the price of reading what is being written. The difference to an idle machine is told too, but that is
also the price of two CPUs that share a core.
"""

import contextlib
import statistics
import subprocess
import time

from lookup_bed import CPUS, tool
from lookup_traffic import hand_over

RATE = 10000         # updates a second
SINGLE = 300         # updates that are made one by one
BURST = 100000


class Churn:
    """The program that changes routes (routes.c)."""

    def __init__(self, bed, file, cpu):
        words = bed.router.command("taskset", "-c", str(cpu), tool("routes"), "churn", "r1", file)
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, count, rate):
        print(count, rate, file=self.process.stdin, flush=True)

    def finish(self):
        """Nanoseconds that it took."""
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the kernel refused an update of a route")
        return int(line)

    def make(self, count, rate=0):
        self.start(count, rate)
        return self.finish()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def at_rest(instance, patience=60.0):
    """Waits until the daemon does nothing; its CPU time then, and the moment since when."""
    deadline = time.monotonic() + patience
    used, since = instance.cpu_ns(), time.monotonic()
    while time.monotonic() < deadline:
        time.sleep(0.005)
        now = instance.cpu_ns()
        if now - used > 200000:  # more than a heartbeat
            used, since = now, time.monotonic()
        elif time.monotonic() - since > 0.1:
            return now, since
    raise RuntimeError("xfibd is never at rest")


def forwarding(runner, paths, packets, seconds):
    """{path: [packets a second]}, in turn, for some time."""
    rates = {path: [] for path in paths}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for path in paths:
            ns, sent, delivered, _ = runner.run(path, "live", (CPUS - 1,), packets)
            if sent == delivered:
                rates[path].append(1e9 / ns)
    return {path: statistics.median(some) for path, some in rates.items()}


def interference(runner, churn, instance, seconds, packets=1 << 18):
    """Packets a second of the table that is written and of the one that is not, idle and under load."""
    paths = ("trie", "still")
    idle = forwarding(runner, paths, packets, seconds / 2)
    before = instance.cpu_ns()
    count = int(RATE * seconds)
    churn.start(count, RATE)
    loaded = forwarding(runner, paths, packets, seconds - 0.5)
    took = churn.finish()
    after, _ = at_rest(instance)
    return {"updates_per_second": count / took * 1e9, "idle_pps": idle, "loaded_pps": loaded,
            "written_to_still": loaded["trie"] / loaded["still"], "loaded_to_idle": loaded["trie"] / idle["trie"],
            "xfibd_us_per_update": (after - before) / count / 1e3}


def single(churn, instance):
    """Microseconds of xfibd's own time for one update: median."""
    times = []
    for _ in range(SINGLE):
        before = instance.cpu_ns()
        churn.make(1)
        time.sleep(0.004)
        times.append((instance.cpu_ns() - before) / 1e3)
    return statistics.median(times)


def burst(churn, instance):
    """Updates a second that xfibd takes in when very many are waiting for it."""
    resyncs = instance.status()["sync"]["resyncs"]
    instance.signal(19)  # SIGSTOP
    churn.make(BURST)
    before, start = instance.cpu_ns(), time.monotonic()
    instance.signal(18)  # SIGCONT
    after, end = at_rest(instance)
    status = instance.status()
    return {"updates_per_second": BURST / (end - start), "cpu_updates_per_second": BURST / (after - before) * 1e9,
            "resyncs": status["sync"]["resyncs"] - resyncs}


def measure(bed, runner, instance, traffic, seconds):
    """All of the above with the tables of `instance`, whose daemon is started for it."""
    runner.ask("detach")
    instance.start()
    instance.pin_to(0)
    runner.ask("open", "trie", "product", instance.name)
    result = {}
    default = [f"{family} route add default via {gateway} dev r1"
               for family, gateway in (("-0", "10.0.1.2"), ("-6", "fd00:1::2"))]
    bed.router.ip(*(line.removeprefix("-0 ") for line in default))  # for prefixes that are away for a moment
    for family in traffic:
        hand_over(runner, family, traffic[family].list("uniform"))
        with bed.route_file({family: bed.routes[family]}) as file, \
             contextlib.closing(Churn(bed, file, 0)) as churn:
            churn.make(3)
            at_rest(instance)
            result[family] = {"interference": interference(runner, churn, instance, seconds),
                              "single_us": single(churn, instance), "burst": burst(churn, instance)}
    result["verify"] = instance.json("verify", "--samples", "20000")
    return result

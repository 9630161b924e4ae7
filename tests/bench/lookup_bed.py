# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The namespaces of the lookup benchmark, the instances of xfib in there, and the program that runs packets.

   generator g0 ---- r0 router r1 ---- s0 sink

Every route leads to one of 64 gateways behind r1, all of them resolved, each with a MAC of its own: every packet
is forwarded, all arrive at one far end, and the MAC tells by which route.
"""

import contextlib
import os
import subprocess
import tempfile
import zlib

from lib import daemon
from lib.daemon import PIN_ROOT, Xfib, build_directory
from lib.netns import Namespace

MAC = {"g0": "02:00:00:00:00:02", "r0": "02:00:00:00:00:01", "r1": "02:00:00:00:01:01", "s0": "02:00:00:00:01:02"}
GATEWAYS = 64
FAMILIES = {"ipv4": 4, "ipv6": 6}
CPUS = 2


def gateway(family, index):
    return f"10.0.1.{index + 2}" if family == "ipv4" else f"fd00:1::{index + 2:x}"


def gateway_of(prefix):
    """Which gateway a prefix has: any, but always the same."""
    return zlib.crc32(prefix.encode()) % GATEWAYS


def tool(name):
    return f"{build_directory()}/tests/bench/{name}"


class Instance(Xfib):
    """An xfibd that fills its maps. Once it is stopped they stay as they are, and the ports can be freed."""
    patience, pause = 120.0, 0.02

    def __init__(self, namespace, role, options):  # pylint: disable=super-init-not-called
        self.namespace, self.name = namespace, f"{namespace.name}-{role}"
        self.ports, self.options = ["r0", "r1"], [*options, "--hold", "0"]
        self.process, self.marks, self.ended = None, 0, False
        self.log_path = f"/tmp/{self.name}.log"
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def wait_for_room(self):
        """Returns the status when no prefix stays in the kernel for lack of room."""
        return self.wait(lambda status: status["sync"]["state"] == "synced" and
                         not any(status["tables"][family]["overflow"] for family in FAMILIES), "room for all prefixes", 20)

    def leave_ports(self):
        """Takes the programs off and leaves all tables, which is what xfib itself would not do."""
        self.stop()
        for port in self.ports:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{PIN_ROOT}/{self.name}/links/{port}")

    def resident(self):
        """Mebibytes of the daemon that are in memory."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS:"))

    def cpu_ns(self):
        """What the daemon has had of a CPU so far, all threads."""
        total = 0
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total

    def pin_to(self, cpu):
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            os.sched_setaffinity(int(thread), {cpu})


class Bed:
    """The three namespaces, and the routes in the one in the middle."""

    def __init__(self):
        self.generator, self.router, self.sink = (Namespace(f"lookup-{role}") for role in ("gen", "router", "sink"))
        self.routes = {family: [] for family in FAMILIES}
        self.cable("r0", "g0", self.generator)
        self.cable("r1", "s0", self.sink)
        self.router.sysctl({"ipv4.ip_forward": 1, "ipv6.conf.all.forwarding": 1, "ipv4.conf.all.rp_filter": 0})
        for index in (0, 1):
            self.router.sysctl({f"ipv4.conf.r{index}.rp_filter": 0})
            self.router.ip(f"addr add 10.0.{index}.1/24 dev r{index}", f"addr add fd00:{index}::1/64 dev r{index} nodad",
                           f"link set r{index} up")
        self.router.ip(*(f"neigh add {gateway(family, index)} lladdr 02:00:00:00:02:{index:02x} dev r1 nud permanent"
                         for family in FAMILIES for index in range(GATEWAYS)))
        # The kernel's path: each CPU sends into a queue of its own, as XDP does.
        self.each_cpu_a_queue("r1")

    def cable(self, near, far, namespace):
        queues = f"numrxqueues {CPUS} numtxqueues {CPUS}"
        self.router.ip(f"link add {near} address {MAC[near]} {queues} type veth "
                       f"peer name {far} address {MAC[far]} {queues} netns {namespace.name}")
        namespace.sysctl({"ipv6.conf.all.disable_ipv6": 1})
        for where, name in ((self.router, near), (namespace, far)):
            where.run("ethtool", "-L", name, "rx", str(CPUS), "tx", str(CPUS))
        namespace.ip(f"link set {far} up")

    def each_cpu_a_queue(self, device):
        for cpu in range(CPUS):
            # `ip netns exec` shows the /sys of the namespace.
            subprocess.run(("ip", "netns", "exec", self.router.name, "sh", "-c",
                            f"echo {1 << cpu:x} > /sys/class/net/{device}/queues/tx-{cpu}/xps_cpus"), check=True)

    @contextlib.contextmanager
    def route_file(self, prefixes):
        """A file of the routes, {family: [prefix]}, for the program `routes`."""
        with tempfile.NamedTemporaryFile("w", prefix="xfib-lookup-") as file:
            file.writelines(f"{prefix} {gateway(family, gateway_of(prefix))}\n"
                            for family, some in prefixes.items() for prefix in some)
            file.flush()
            yield file.name

    def fill(self, prefixes):
        """Adds those of the routes that are not there yet."""
        missing = {family: some[len(self.routes[family]):] for family, some in prefixes.items()}
        with self.route_file(missing) as file:
            subprocess.run(self.router.command(tool("routes"), "add", "r1", file), check=True)
        self.routes = prefixes

    def close(self):
        for namespace in (self.generator, self.router, self.sink):
            namespace.remove()


class Runner:
    """The program that runs the paths (lookup.c)."""

    def __init__(self, bed):
        words = bed.router.command(tool("lookup"), *(space.path for space in (bed.router, bed.generator, bed.sink)))
        # pylint: disable-next=consider-using-with
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
        """(nanoseconds a packet, sent, delivered, slowness of the machine: 1.0 is the best seen). Only packets that
        the path itself has forwarded count as delivered, not those that it left to the kernel."""
        words = self.ask("run", path, mode, ",".join(str(cpu) for cpu in cpus), packets)
        ps, sent, delivered, by_kernel, calibration = (int(word) for word in words)
        self.best = min(self.best or calibration, calibration)
        if mode != "dry":
            delivered = min(delivered, by_kernel if path == "kernel" else sent - by_kernel)
        return ps / 1000, sent, delivered, calibration / self.best

    def memory(self):
        """{mebibytes: nanoseconds of a load from anywhere in there}: what cache this machine gives us today."""
        return {size: int(self.ask("memory", size)[0]) / 1000 for size in (1, 4, 16, 64)}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@contextlib.contextmanager
def filled(bed, runner, roles):
    """Has xfibd fill an instance for each role, {role: engine}, and opens the role's path; {role: Instance}.
    All have been stopped."""
    instances = {}
    runner.ask("detach")  # r0 is for xfibd
    try:
        for role, engine in roles.items():
            instances[role] = instance = Instance(bed.router, role, ["--engine", engine])
            status = instance.wait_for_room()
            instance.started = {"synced_ms": status["sync"]["synced_ms"], "rss_mib": instance.resident(), "status": status}
            runner.ask("open", role, "product", instance.name)
            instance.leave_ports()
        yield instances
    finally:
        for instance in instances.values():
            instance.close()

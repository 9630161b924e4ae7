# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two routers built alike, one with xfib, and the comparison of what they do with the same frames.

         p0 --- host 0 (the client)             10.0.I.1/24, fd00:I::1/64 on port pI
 router  p1 --- host 1 (a server)               10.0.I.2/24, fd00:I::2/64 on eth0 of host I
         p2 --- host 2 (another server)         MAC 02:00:00:00:0I:01 (router), 02:00:00:00:0I:02 (host)

Net.check() is what nearly all tests do: it sends frames into the same port of both routers and
demands that the same bytes leave on the same ports; that xfib took the way the test expects (its
counters); and that what it left to the kernel reached the kernel exactly as it was sent (a tap
behind XDP on the ingress port).
"""

import collections
import os
import socket
import time

from . import frames as fr
from . import wire
from .daemon import Xfib
from .netns import Namespace, together
from .peer import take_redirects

QUIET = 0.03      # nothing more comes once nothing came for so long ...
DEADLINE = 3.0    # ... and what was expected is there; longest wait for that

# Verdicts that ARP, neighbour discovery and other chatter of the hosts raise too.
NOISY = {"punt_local", "punt_ethertype", "punt_group_mac", "punt_ip6_source", "punt_ip6_destination",
         "punt_ip6_hop_by_hop", "punt_not_our_mac"}

# No type of error is limited: not for one destination, nor for all namespaces together, which is one budget
# before kernel 6.13. icmp_ratelimit alone is no help: each error would then take what the same host has saved
# up for the errors about routes. Those keep that limit of theirs, five at once for a source and one a second;
# it belongs to the machine.
ROUTER_SYSCTL = {
    "ipv4.icmp_ratemask": 0,
    "ipv6.icmp.ratemask": "\n",
    "ipv6.auto_flowlabels": 0,
    "ipv4.conf.all.rp_filter": 0,
    "ipv4.conf.default.rp_filter": 0,
    "ipv4.conf.all.send_redirects": 1,
    "ipv4.conf.default.send_redirects": 1,
    "ipv4.conf.all.accept_redirects": 0,
    "ipv4.conf.default.accept_redirects": 0,
    "ipv6.conf.all.accept_dad": 0,
    "ipv6.conf.default.accept_dad": 0,
    "ipv6.conf.default.router_solicitations": 0,
    "ipv6.conf.default.accept_ra": 0,
    "ipv4.ip_forward": 1,
    "ipv6.conf.all.forwarding": 1,
}

HOST_SYSCTL = {
    "ipv4.conf.all.accept_redirects": 0,
    "ipv4.conf.default.accept_redirects": 0,
    "ipv4.conf.default.rp_filter": 0,
    "ipv6.conf.all.accept_dad": 0,
    "ipv6.conf.default.accept_dad": 0,
    "ipv6.conf.default.router_solicitations": 0,
    "ipv6.conf.default.accept_ra": 0,
    "ipv6.conf.default.accept_redirects": 0,
}


class World:
    """One router with its hosts."""

    def __init__(self, role, ports):
        self.ports = range(ports)
        self.router = Namespace(f"{role}-router")
        self.hosts = [Namespace(f"{role}-host{i}") for i in self.ports]
        self.router.sysctl(ROUTER_SYSCTL)
        self.router.ip("link set lo up")
        self.wires = {}
        self.sinks = []
        self.programs = []
        for port in self.ports:
            self.hosts[port].sysctl(HOST_SYSCTL)
            self.sink(self.hosts[port])
            self.plug(port)
        self.settle()
        self.out = wire.Capture(self.wires)
        self.taps = wire.Capture({f"p{i}": wire.Tap(self.router, f"p{i}") for i in self.ports})

    def plug(self, port):
        """Makes the cable of a port and everything on both its ends."""
        host = self.hosts[port]
        self.router.ip(
            f"link add p{port} address {fr.router_mac(port)} type veth "
            f"peer name eth0 address {fr.host_mac(port)} netns {host.name}",
            f"addr add {fr.router4(port)}/24 dev p{port}",
            f"addr add {fr.router6(port)}/64 dev p{port} nodad",
            f"link set p{port} up")
        self.router.sysctl({f"{family}.neigh.p{port}.retrans_time_ms": 200 for family in ("ipv4", "ipv6")})
        host.ip(
            "link set lo up",
            f"addr add {fr.host4(port)}/24 dev eth0",
            f"addr add {fr.host6(port)}/64 dev eth0 nodad",
            "link set eth0 up",
            f"route add default via {fr.router4(port)}",
            f"-6 route add default via {fr.router6(port)}")
        self.take_redirects(host, "eth0")
        self.wires[f"p{port}"] = wire.Tap(host, "eth0")

    def take_redirects(self, host, device):
        self.programs.append(take_redirects(host, device))

    def sink(self, host):
        """The discard port: a host answers nothing to our packets even when they are for it."""
        with host.inside():
            for family in (socket.AF_INET, socket.AF_INET6):
                sink = socket.socket(family, socket.SOCK_DGRAM)
                if family == socket.AF_INET6:
                    sink.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                sink.bind(("", 9))
                self.sinks.append(sink)

    def retap(self, port):
        """After a port's device was made anew."""
        name = f"p{port}"
        for capture, namespace, device in ((self.out, self.hosts[port], "eth0"),
                                           (self.taps, self.router, name)):
            capture.taps.pop(name).close()
            capture.taps[name] = wire.Tap(namespace, device)

    def settle(self):
        """Both ends know each other's MAC, as after any real exchange of packets."""
        for port in self.ports:
            self.settle_port(port, f"p{port}")
            self.hosts[port].ip(*(f"neigh replace {a} lladdr {fr.router_mac(port)} dev eth0 nud reachable"
                                  for a in (fr.router4(port), fr.router6(port))))

    def settle_port(self, port, device):
        self.router.ip(*(f"neigh replace {address} lladdr {fr.host_mac(port)} dev {device} nud reachable"
                         for address in (fr.host4(port), fr.host6(port))))

    def send(self, port, frame):
        self.out.taps[f"p{port}"].send(frame)

    def clear(self):
        self.out.clear()
        self.taps.clear()

    def close(self):
        together(*(tap.close for capture in (self.out, self.taps) for tap in capture.taps.values()))
        for sink in self.sinks:
            sink.close()
        for program in self.programs:
            if program is not None:
                os.close(program)
        together(*(namespace.remove for namespace in (self.router, *self.hosts)))


class Outcome:
    """What both routers did with a set of frames: [(tag, port, frame)] each."""

    def __init__(self, sent, kernel, xfib, punted):
        self.sent, self.kernel, self.xfib, self.punted = sent, kernel, xfib, punted

    def legs(self, which="xfib"):
        """{port: number of packets}"""
        return collections.Counter(port for _, port, _ in getattr(self, which))


class Net:
    """The pair of worlds that a test works on."""

    def __init__(self, ports=3, options=(), attach=None):
        self.kernel = self.other = self.xfib = None
        try:
            self.kernel, self.other = together(lambda: World("kernel", ports), lambda: World("xfib", ports))
            self.worlds = (self.kernel, self.other)
            if os.environ.get("XFIB") != "none":
                self.xfib = Xfib(self.other.router, attach or [f"p{i}" for i in range(ports)], options)
        except BaseException:
            self.close()
            raise

    def close(self):
        if self.xfib:
            self.xfib.close()
        together(*(world.close for world in (self.kernel, self.other) if world))

    # --- changes, made to both routers ---

    def ip(self, *lines, sync=True):
        for world in self.worlds:
            world.router.ip(*lines)
        if sync:
            self.sync()

    def sysctl(self, settings, sync=True):
        for world in self.worlds:
            world.router.sysctl(settings)
        if sync:
            self.sync()

    def host_ip(self, port, *lines, sync=True):
        for world in self.worlds:
            world.hosts[port].ip(*lines)
        if sync:
            self.sync()

    def each_router(self, *words, **options):
        """Runs a program in both routers."""
        for world in self.worlds:
            world.router.run(*words, **options)

    def settle(self):
        for world in self.worlds:
            world.settle()
        self.sync()

    def settle_port(self, port, device):
        """The host of a port is known on this device."""
        for world in self.worlds:
            world.settle_port(port, device)
        self.sync()

    def sync(self):
        """Returns when xfib has read everything that the kernel has announced by now."""
        if self.xfib:
            self.xfib.catch_up()

    def check_counts(self, during, none, some):
        """Of the traffic while during() runs, no packet got the one verdict, some the other."""
        before = self.xfib.verdicts()
        during()
        after = self.xfib.verdicts()
        assert after[none] == before[none] and after[some] > before[some], \
            f"{none}: {after[none] - before[none]}, {some}: {after[some] - before[some]}"

    @staticmethod
    def eventually(check, timeout=10.0):
        """For what only happens after a while: repeats a check until it holds."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                return check()
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    # --- the comparison ---

    def check(self, frames, verdict=None, out=None, icmp=None, port=0, any_leg=False, copies=1):
        """Sends frames into a port of both routers and compares.

        verdict   what xfib's counters must have said about each frame, one of several, or None: anything
        out       the port that each frame must leave on, a set of allowed ones, or None: none
        icmp      (type, code) of the error that must come back for each frame
        any_leg   multipath: the routers may choose different legs
        copies    frames out for each frame in (fragments)
        """
        frames = [frames] if isinstance(frames, bytes) else list(frames)
        outcome = self.exchange(frames, port, len(frames) * (copies * (out is not None) +
                                                             (icmp is not None)), verdict)
        self.same(outcome, any_leg)
        allowed = {out} if isinstance(out, str) else set(out or ())
        for tag, where, frame in outcome.kernel + outcome.xfib:
            error = wire.icmp_error(frame)
            if error:
                assert error == icmp and where == f"p{port}", f"unexpected on {where}: {wire.explain(frame)}"
            else:
                assert where in allowed, f"unexpected on {where}: {wire.explain(frame)}"
        for world in (outcome.kernel, outcome.xfib):
            errors = sum(bool(wire.icmp_error(frame)) for _, _, frame in world)
            assert errors == (len(frames) if icmp else 0), f"{errors} ICMP errors for {len(frames)} frames"
            assert len(world) - errors == (copies * len(frames) if allowed else 0), \
                f"{len(world) - errors} packets left for {len(frames)} frames"
        return outcome

    def exchange(self, frames, port, expected, verdict=None):
        """Sends, waits, and checks what concerns xfib alone: its counters and what the kernel got."""
        before = self.xfib.verdicts() if self.xfib else {}
        for world in self.worlds:
            world.clear()
        for frame in frames:
            for world in self.worlds:
                world.send(port, frame)
        for world in self.worlds:
            self._collect(world, expected)
        sent = {wire.tag_of(frame): frame for frame in frames}
        outcome = Outcome(sent, *([item for item in world.out.tagged() if item[0] in sent]
                                  for world in self.worlds), set())
        if self.xfib:
            self._check_punted(outcome, port)
            self._check_counters(before, self.xfib.verdicts(), verdict, len(frames))
            if verdict:
                count = len(frames) if "punt" in str(verdict) else 0
                assert len(outcome.punted) == count, f"the kernel saw {len(outcome.punted)} frames, not {count}"
        return outcome

    @staticmethod
    def _collect(world, expected):
        start = time.monotonic()
        world.out.last = start
        while True:
            world.out.poll(0.005)
            now = time.monotonic()
            done = len(world.out.tagged()) >= expected
            if now - start > DEADLINE or (done and now - world.out.last > QUIET):
                break
        world.taps.poll()

    def _check_punted(self, outcome, port):
        for tag, where, frame in self.other.taps.tagged():
            if where == f"p{port}" and tag in outcome.sent:
                assert frame == outcome.sent[tag], \
                    "the kernel got another frame than was sent:\n" \
                    f"sent {wire.explain(outcome.sent[tag])}\ngot  {wire.explain(frame)}"
                assert tag not in outcome.punted, f"the kernel got it twice: {wire.explain(frame)}"
                outcome.punted.add(tag)

    @staticmethod
    def _check_counters(before, after, verdict, count):
        delta = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
        if not verdict:
            return
        names = (verdict,) if isinstance(verdict, str) else verdict
        assert set(names) <= set(after), f"no verdict is called {verdict}"
        got = sum(delta.get(name, 0) for name in names)
        assert got == count or (set(names) & NOISY and got > count), f"{count} frames should be {verdict}: {delta}"
        if "forwarded" not in names:
            assert not delta.get("forwarded"), f"nothing should be forwarded: {delta}"

    @staticmethod
    def same(outcome, any_leg=False):
        """The two outputs, packet for packet; with any_leg without the port and what belongs to it."""
        def view(items):
            seen = collections.Counter()
            for tag, port, frame in items:
                if any_leg and not wire.icmp_error(frame):
                    index = int(port[1:])
                    ends = bytes.fromhex((fr.host_mac(index) + fr.router_mac(index)).replace(":", ""))
                    assert frame[:12] == ends, f"MACs of another port than {port}: {wire.explain(frame)}"
                    port, frame = "any", bytes(12) + frame[12:]
                seen[tag, port, wire.comparable(frame)] += 1
            return seen
        kernel, xfib = view(outcome.kernel), view(outcome.xfib)
        if kernel != xfib:
            lines = [f"kernel only, on {p}: {wire.explain(f)}" for _, p, f in (kernel - xfib).elements()]
            lines += [f"xfib only,   on {p}: {wire.explain(f)}" for _, p, f in (xfib - kernel).elements()]
            raise AssertionError("the two routers differ:\n" + "\n".join(lines[:20]))

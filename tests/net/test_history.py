#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random histories: both routers live through the same changes, and are compared again and again on the way.

SEED and ROUNDS in the environment make other and longer histories. Left out is what two kernels would
answer differently by chance: errors limited in time, and neighbours that have to be resolved."""

import os
import random
import subprocess
import sys

import pytest

from lib.frames import host4, host6, udp4, udp6

SEED = int(os.environ.get("SEED", "1"))
ROUNDS = int(os.environ.get("ROUNDS", "6"))
CHANGES = 12  # a round
FRAMES = 40   # of each family a round


class History:
    """Draws changes that often hit the same few prefixes, metrics and objects."""

    def __init__(self, seed, multipath):
        self.rng = random.Random(seed)
        self.multipath = multipath

    def prefix(self, family):
        rng = self.rng
        if family == 4:
            length = rng.choice((8, 12, 16, 20, 24, 28, 32))
            value = 20 << 24 | sum(rng.randrange(4) << shift for shift in (20, 14, 8, 3))
            value = value >> (32 - length) << (32 - length)
            return f"{value >> 24}.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}/{length}"
        length = rng.choice((20, 32, 36, 48, 52, 64, 128))
        value = 0x2a00 << 112 | sum(rng.randrange(4) << shift for shift in (106, 92, 72, 0))
        value = value >> (128 - length) << (128 - length)
        return ":".join(f"{value >> shift & 0xffff:x}" for shift in range(112, -1, -16)) + f"/{length}"

    def address(self, family):
        """An address in or near what prefix() draws."""
        base = self.prefix(family).split("/", maxsplit=1)[0]
        if family == 4:
            parts = base.split(".")
            return ".".join(parts[:3] + [str(int(parts[3]) & 0xf8 | self.rng.randrange(8))])
        return base.rsplit(":", 1)[0] + f":{self.rng.randrange(4):x}"

    def route(self):
        rng = self.rng
        family = rng.choice((4, 6))
        host = host4 if family == 4 else host6
        words = ["-6"] if family == 6 else []
        word = rng.choice(("add", "add", "replace", "replace", "append", "del", "del"))
        if word == "append" and family == 6 and not self.multipath:
            word = "add"  # an appended IPv6 route becomes another leg
        words += ["route", word, self.prefix(family)]
        if word != "del" or rng.random() < 0.5:
            kind = rng.choices(("via", "blackhole", "nhid", "multipath", "selective"),
                               (10, 1, 3, 3 if self.multipath else 0, 1))[0]
            if kind == "via":
                words += ["via", host(rng.choice((1, 2)))]
            elif kind == "blackhole":
                words.insert(-1, "blackhole")
            elif kind == "nhid":
                words += ["nhid", str(self.object(family))]
            elif kind == "multipath":
                for port in (1, 2):
                    words += ["nexthop", "via", host(port), "weight", str(rng.choice((1, 1, 2, 5)))]
            elif family == 4:
                words += ["tos", "0x10", "via", host(rng.choice((1, 2)))]
            else:
                words += ["from", "fd00:0::/64", "via", host(rng.choice((1, 2)))]
        if rng.random() < 0.4:
            words += ["metric", str(rng.choice((10, 20, 1024)))]
        return " ".join(words)

    def object(self, family):
        ids = [1, 2, 3] + ([10, 11] if self.multipath else [])
        return self.rng.choice(ids) + (60 if family == 6 else 0)

    def nexthop(self):
        rng = self.rng
        family = rng.choice((4, 6))
        number = self.object(family)
        word = rng.choice(("add", "replace", "replace", "del"))
        if word == "del":
            return f"nexthop del id {number}"
        if number % 60 >= 10:
            first, second = (member + number - number % 60 for member in rng.sample((1, 2, 3), 2))
            return f"nexthop {word} id {number} group {first},{rng.choice((1, 2))}/{second},{rng.choice((1, 2))}"
        if rng.random() < 0.15:
            return f"nexthop {word} id {number} blackhole"
        port = rng.choice((1, 2))
        return f"nexthop {word} id {number} via {(host4 if family == 4 else host6)(port)} dev p{port}"

    def local(self):
        """An address of the router inside the routed networks comes or goes."""
        word = self.rng.choice(("add", "del"))
        if self.rng.random() < 0.5:
            return f"addr {word} {self.address(4)}/32 dev p1"
        return f"addr {word} {self.address(6)}/128 dev p1" + (" nodad" if word == "add" else "")

    def neighbour(self):
        port = self.rng.choice((1, 2))
        host = self.rng.choice((host4, host6))(port)
        mac = f"02:00:00:00:{port:02x}:{self.rng.randrange(2, 6):02x}"
        return f"neigh replace {host} lladdr {mac} dev p{port} nud reachable"

    def link(self):
        return f"link set p2 {self.rng.choice(('down', 'up', 'up'))}"

    def rule(self):
        word = self.rng.choice(("add", "del", "del"))
        family, source = self.rng.choice((("", "10.77.0.0/16"), ("-6 ", "fd77::/16")))
        return f"{family}rule {word} pref 77 from {source} lookup main"

    def change(self):
        kinds = (self.route, self.nexthop, self.neighbour, self.local, self.link, self.rule)
        # With several legs the comparison knows a leg by its MACs, so they stay.
        return self.rng.choices(kinds, (30, 10, 0 if self.multipath else 4, 3, 1, 1))[0]()

    def frames(self):
        rng = self.rng
        return ([udp4(self.address(4), tos=rng.choice((0, 0, 0x10)), sport=rng.randrange(1, 65536))
                 for _ in range(FRAMES)] +
                [udp6(self.address(6), sport=rng.randrange(1, 65536)) for _ in range(FRAMES)])


def apply(net, line):
    """Makes a change in both routers, which must both take or both refuse it."""
    words = line.split()
    results = [subprocess.run(("ip", *(words[:1] if words[0] == "-6" else ()), "-n", world.router.name,
                               *words[words[0] == "-6":]), capture_output=True, text=True, check=False)
               for world in net.worlds]
    assert results[0].returncode == results[1].returncode, f"{line}: {[result.stderr for result in results]}"


def restore_link(net):
    """What the kernel takes away with a link: routes come back with later changes, addresses here."""
    for world in net.worlds:
        world.router.ip("link set p2 up", "addr replace fd00:2::1/64 dev p2 nodad")


@pytest.mark.parametrize("multipath", (False, True), ids=("single_path", "multipath"))
@pytest.mark.parametrize("number", range(2))
def test_routers_that_lived_through_the_same_changes_do_the_same(net, number, multipath):
    history = History(SEED * 100 + number, multipath)
    told = []
    # Instead of no route, see test_random.py.
    net.ip("route add blackhole 0.0.0.0/0 metric 4000", "-6 route add blackhole ::/0 metric 4000")
    forwarded = 0
    for _ in range(ROUNDS):
        for line in (history.change() for _ in range(CHANGES)):
            told.append(line)
            apply(net, line)
            if line == "link set p2 up":
                restore_link(net)
        settle(net)
        try:
            outcome = net.exchange(history.frames(), 0, 20)
            net.same(outcome, any_leg=multipath)
            if net.xfib:
                net.xfib.cli("verify", "--samples", "2000")
        except (AssertionError, RuntimeError):
            print("the history:\n  " + "\n  ".join(told))
            raise
        forwarded += len(outcome.kernel)
    assert forwarded > 20, "hardly anything was forwarded: this history says nothing"


def settle(net):
    """Neighbours that came with a link are known again; then xfib has seen everything."""
    for world in net.worlds:
        for port in (1, 2):
            for host in (host4(port), host6(port)):
                known = world.router.show(f"neigh show {host} dev p{port}")
                if "lladdr" not in known:
                    world.router.ip(f"neigh replace {host} lladdr 02:00:00:00:{port:02x}:02 dev p{port} nud reachable")
    net.sync()


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random frames into a router with random routes: valid, odd and broken ones. The seed is fixed, or taken from SEED."""

import ipaddress
import os
import random
import sys

import pytest

from lib.frames import ethernet, host4, host6, host_mac, router4, router6, router_mac, udp4, udp6

SEED = int(os.environ.get("SEED", "1"))
FRAMES = 600


def random_routes(rng):
    """Nested prefixes of all kinds that need no resolution; some metrics, some multipath to one port only."""
    lines = []
    for _ in range(120):
        length = rng.choice((8, 12, 16, 20, 24, 28, 30, 32))
        prefix = f"{rng.choice((10, 20, 30))}.{rng.randrange(8) * 32}.{rng.randrange(4) * 64}.{rng.randrange(256)}"
        kind = rng.choice(("via", "via", "via", "blackhole", "metric"))
        lines.append(route("", prefix, length, 32, kind, host4(rng.choice((1, 2))), rng))
        length6 = rng.choice((16, 32, 40, 48, 56, 64, 96, 128))
        prefix6 = f"20{rng.randrange(4):02x}:{rng.randrange(4):x}:{rng.randrange(4) * 0x4000:x}::{rng.randrange(3):x}"
        lines.append(route("-6 ", prefix6, length6, 128, kind, host6(rng.choice((1, 2))), rng))
    return lines


def route(family, prefix, length, bits, kind, gateway, rng):
    network = ipaddress.ip_network(f"{prefix}/{length}", strict=False)
    if kind == "blackhole":
        return f"{family}route replace blackhole {network} metric 5000"
    metric = f" metric {rng.randrange(1, 100)}" if kind == "metric" else ""
    return f"{family}route replace {network} via {gateway}{metric}"


def random_address4(rng):
    odd = ("0.0.0.0", "127.1.2.3", "224.0.0.9", "240.1.1.1", "255.255.255.255", "169.254.9.9", router4(0),
           router4(1), "10.0.1.255", host4(1), host4(0))
    if rng.random() < 0.15:
        return rng.choice(odd)
    return f"{rng.choice((10, 20, 30, 40))}.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}"


def random_address6(rng):
    odd = ("::", "::1", "fe80::9", "ff02::1", "ff0e::9", "::ffff:10.1.1.1", "fec0::1", router6(0), router6(1), host6(1))
    if rng.random() < 0.15:
        return rng.choice(odd)
    return f"20{rng.randrange(5):02x}:{rng.randrange(5):x}:{rng.randrange(65536):x}::{rng.randrange(4):x}"


def random_frame(rng):
    eth = ethernet(dst=rng.choices((router_mac(0), "ff:ff:ff:ff:ff:ff", "02:00:00:00:00:77"), (40, 1, 1))[0],
                   src=rng.choices((host_mac(0), "03:00:00:00:00:01", router_mac(0)), (40, 1, 1))[0])
    size = rng.choice((0, 0, 60, 120, 576, 1280, 1400, 1401, 1499, 1500))
    if rng.random() < 0.5:
        fields = {"ttl": rng.choice((0, 1, 2, 64, 255)), "tos": rng.choice((0, 0, 0x10, 0xb8)), "id": rng.randrange(65536),
                  "flags": rng.choice((0, 0, "DF", "MF")), "frag": rng.choice((0, 0, 0, 185))}
        broken = rng.choices((None, "chksum", "version", "ihl", "len"), (30, 1, 1, 1, 1))[0]
        if broken:
            fields[broken] = rng.randrange(16)
        source = host4(0) if rng.random() < 0.8 else random_address4(rng)
        frame = udp4(random_address4(rng), size=size, sport=rng.randrange(1, 65536), eth=eth, src=source, **fields)
    else:
        fields = {"hlim": rng.choice((0, 1, 2, 64, 255)), "tc": rng.choice((0, 0, 0xb8)), "fl": rng.randrange(1 << 20)}
        broken = rng.choices((None, "version", "plen", "nh"), (30, 1, 1, 2))[0]
        if broken:
            fields[broken] = rng.choice((0, 4, 43, 44, 59, 60))
        source = host6(0) if rng.random() < 0.8 else random_address6(rng)
        frame = udp6(random_address6(rng), size=size, sport=rng.randrange(1, 65536), eth=eth, src=source, **fields)
    cut = rng.random()
    if cut < 0.03:
        return frame[:rng.randrange(15, len(frame))]
    return (frame + bytes(rng.randrange(1, 40)))[:1514] if cut < 0.06 else frame


@pytest.mark.parametrize("round_", range(3))
def test_random_frames_are_treated_alike(net, round_):
    rng = random.Random(SEED * 1000 + round_)
    # Instead of no route: the kernel's answers to that are limited in time, so they differ by chance.
    net.ip("route add blackhole 0.0.0.0/0 metric 4000", "-6 route add blackhole ::/0 metric 4000", *random_routes(rng))
    for _ in range(FRAMES // 100):
        frames = [random_frame(rng) for _ in range(100)]
        outcome = net.exchange(frames, 0, 30)
        net.same(outcome)
    assert outcome.kernel, "nothing was forwarded at all"


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

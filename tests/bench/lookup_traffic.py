# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the packets of the lookup benchmark go, and where they must arrive."""

import random
import struct
import tempfile

import naive
from lookup_bed import FAMILIES, gateway_of

DESTINATIONS = 65536
KINDS = ("one", "uniform", "zipf")


def plain_unicast(width, address):
    """Whether routers forward there, and it is none of the bed's own networks."""
    if width == 32:
        return address >> 24 not in (0, 10, 127) and address >> 24 < 224 and address >> 16 != 0xa9fe
    return address >> 125 == 1  # 2000::/3


class Traffic:
    """A table as a naive model, and lists of destinations drawn from it."""

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
        self.drawn = [self.draw() for _ in range(DESTINATIONS)]

    def draw(self):
        """A random address in a random prefix."""
        while True:
            network, length = self.rng.choice(self.networks)
            address = network | self.rng.getrandbits(self.width - length) if length < self.width else network
            if plain_unicast(self.width, address):
                return address

    def list(self, kind):
        if kind == "one":
            return self.drawn[:1]
        if kind == "zipf":
            return self.rng.choices(self.drawn, [1 / rank for rank in range(1, DESTINATIONS + 1)], k=DESTINATIONS)
        return self.drawn

    def gateways(self, destinations):
        return [self.model.find(address) for address in destinations]


def hand_over(runner, family, destinations):
    """From now on packets go there, in this order."""
    width = 4 if family == "ipv4" else 16
    with tempfile.NamedTemporaryFile(prefix="xfib-lookup-") as file:
        file.write(b"".join(address.to_bytes(width, "big") for address in destinations))
        file.flush()
        runner.ask("list", FAMILIES[family], file.name)


def check(runner, path, mode, gateways):
    """Sends a packet to each destination; a text that says what went wrong, or None. gateways: where each must
    arrive, None: anywhere."""
    for _ in range(3):
        with tempfile.NamedTemporaryFile(prefix="xfib-lookup-") as file:
            sent, delivered, by_kernel = runner.ask("check", path, mode, file.name)
            seen = list(struct.iter_unpack("=II", file.read()))
        if sent == delivered:
            break
    if by_kernel != (sent if path == "kernel" else "0"):
        return f"{path} ({mode}): the kernel forwarded {by_kernel} of {sent} packets"
    wrong = [(place, packets, got, want) for place, ((packets, got), want) in enumerate(zip(seen, gateways))
             if packets != 1 or want not in (None, got)]
    if not wrong:
        return None
    place, packets, got, want = wrong[0]
    return (f"{path} ({mode}) is wrong for {len(wrong)} of {len(gateways)} destinations, first number {place}: "
            f"{packets} packets, to gateway {got}, not {want}")

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Routing tables of the shape that the Internet has: any number of prefixes, always the same ones for a seed.

The share of each prefix length is that of a full table of May 2026 (a peer of RIPE's route
collector: 1,042,325 IPv4 and 246,175 IPv6 prefixes), with the few longer ones that internal routes
add. As in reality many prefixes lie inside shorter ones and neighbours are near each other: both
are drawn from allocations. Private and special networks are left out, so a test can use them for
its own topology.

  table.py 100000 20000                        prefixes, one a line, IPv4 first
  table.py 1000 0 --via 10.0.1.2,10.0.2.2      lines for `ip -batch`, each prefix with one of the gateways
  table.py 0 1000 --file FILE                  at most so many prefixes from a file instead (.gz and .xz too)
"""

import argparse
import gzip
import ipaddress
import lzma
import random
import sys

LENGTHS4 = {8: 16, 9: 14, 10: 39, 11: 95, 12: 297, 13: 584, 14: 1201, 15: 2129, 16: 13635, 17: 8347,
            18: 13387, 19: 25516, 20: 45627, 21: 52463, 22: 113741, 23: 107869, 24: 657365, 25: 20,
            26: 4, 27: 12, 28: 20, 29: 20, 30: 4, 31: 4, 32: 1000}
LENGTHS6 = {19: 1, 20: 14, 21: 3, 22: 6, 23: 6, 24: 42, 25: 12, 26: 17, 27: 18, 28: 161, 29: 5435,
            30: 827, 31: 341, 32: 26740, 33: 5407, 34: 5197, 35: 1837, 36: 9424, 37: 1208, 38: 2677,
            39: 1829, 40: 23096, 41: 1697, 42: 2924, 43: 1453, 44: 24860, 45: 4511, 46: 5640, 47: 8925,
            48: 111866, 56: 36, 64: 280, 112: 3, 126: 30, 127: 65, 128: 10}

# Where the registries' IPv6 allocations lie: 16 bits to start with, and their share of the table.
REGIONS6 = {0x2001: 10, 0x2400: 20, 0x2600: 13, 0x2800: 20, 0x2a00: 32, 0x2c00: 2}

SPECIAL4 = [ipaddress.ip_network(text) for text in (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/16", "192.168.0.0/16", "198.18.0.0/15", "198.51.0.0/16", "203.0.0.0/16", "224.0.0.0/3")]


def quotas(lengths, count):
    """How many prefixes of each length: the shares, rounded so that they add up."""
    total = sum(lengths.values())
    result = {length: share * count // total for length, share in lengths.items()}
    common = max(lengths, key=lengths.get)
    result[common] += count - sum(result.values())
    return result


def network(value, length, bits):
    return value >> (bits - length) << (bits - length)


def draw(rng, quota, bits, allocation):
    """[(address, length)], sorted. allocation(): an address whose low bits are free to be chosen, and how many."""
    seen = set()
    for length in sorted(quota):
        wanted, misses = quota[length], 0
        while wanted:
            value, free = allocation(rng)
            key = network(value | rng.getrandbits(free), length, bits), length
            if key in seen:
                misses += 1
                if misses > 100 * quota[length] + 10000:
                    raise SystemExit(f"table.py: there are not so many prefixes of length {length}")
                continue
            seen.add(key)
            wanted -= 1
    return sorted(seen)


def special4(value):
    return any(value >> (32 - net.prefixlen) == int(net.network_address) >> (32 - net.prefixlen) for net in SPECIAL4)


def prefixes4(count, seed=1):
    rng = random.Random(seed)
    usable = [block for block in range(1 << 8, 224 << 8) if not special4(block << 16)]
    # A third of the /16 blocks hold most of the table, as in reality.
    dense = rng.sample(usable, len(usable) // 3)
    quota = quotas(LENGTHS4, count)

    def allocation(rng):
        return rng.choice(dense if rng.random() < 0.8 else usable) << 16, 16

    found = draw(rng, {length: n for length, n in quota.items() if length >= 16}, 32, allocation)
    # Up to /15 a block is larger than an allocation and must not cover anything special.
    short, seen = [], set()
    for length in (length for length in quota if length < 16):
        wanted = quota[length]
        while wanted:
            value = network(rng.choice(usable) << 16, length, 32)
            if (value, length) in seen or any(ipaddress.ip_network((value, length)).overlaps(net) for net in SPECIAL4):
                continue
            seen.add((value, length))
            short.append((value, length))
            wanted -= 1
    return [f"{ipaddress.IPv4Address(value)}/{length}" for value, length in sorted(found + short)]


def prefixes6(count, seed=1):
    rng = random.Random(seed + 1)
    regions, shares = list(REGIONS6), list(REGIONS6.values())

    def holder():
        """The first 32 bits of an allocation; the registries' regions are /12, but for 2001::/16."""
        region = rng.choices(regions, shares)[0]
        low = 0 if region == 0x2001 else rng.getrandbits(4)
        return (region | low) << 112 | rng.getrandbits(16) << 96

    holders = [holder() for _ in range(max(16, count // 8))]

    def allocation(rng):
        return holder() if rng.random() < 0.2 else rng.choice(holders), 96

    found = draw(rng, quotas(LENGTHS6, count), 128, allocation)
    return [f"{ipaddress.IPv6Address(value)}/{length}" for value, length in found]


def from_file(path, count4, count6):
    """The first prefixes of a file with one prefix at the start of each line."""
    opener = {"gz": gzip.open, "xz": lzma.open}.get(path.rsplit(".", 1)[-1], open)
    four, six = [], []
    with opener(path, "rt", encoding="ascii") as file:
        for line in file:
            prefix = line.split(maxsplit=1)[0] if line.strip() else ""
            if "/" in prefix:
                (six if ":" in prefix else four).append(prefix)
    return four[:count4], six[:count6]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ipv4", type=int, help="number of IPv4 prefixes")
    parser.add_argument("ipv6", type=int, help="number of IPv6 prefixes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file", help="take the prefixes from this file")
    parser.add_argument("--via", help="print `route add` lines with these gateways, separated by commas")
    parser.add_argument("--via6", help="the gateways of the IPv6 prefixes")
    arguments = parser.parse_args()
    if arguments.file:
        four, six = from_file(arguments.file, arguments.ipv4, arguments.ipv6)
    else:
        four, six = prefixes4(arguments.ipv4, arguments.seed), prefixes6(arguments.ipv6, arguments.seed)
    rng = random.Random(arguments.seed)
    for prefixes, gateways in ((four, arguments.via), (six, arguments.via6)):
        if gateways:
            gateways = gateways.split(",")
            prefixes = (f"route add {prefix} via {rng.choice(gateways)}" for prefix in prefixes)
        sys.stdout.writelines(prefix + "\n" for prefix in prefixes)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.stderr.close()

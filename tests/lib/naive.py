# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Longest prefix match as it is written in books: one table a prefix length, the longest is asked first."""

import socket


def parse(text):
    """(network as a number, length, width) of "ADDRESS/LENGTH"; bits behind the length are taken as they are."""
    address, length = text.split("/")
    packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    return int.from_bytes(packed, "big"), int(length), 8 * len(packed)


class Table:
    """Prefixes of one family, each with a value."""

    def __init__(self, width):
        self.width = width
        self.lengths = {}

    def add(self, network, length, value):
        self.lengths.setdefault(length, {})[network >> (self.width - length)] = value

    def close(self):
        """Call after the last add()."""
        self.lengths = dict(sorted(self.lengths.items(), reverse=True))

    def find(self, address):
        """The value of the longest prefix that covers the address, None if there is none."""
        for length, networks in self.lengths.items():
            value = networks.get(address >> (self.width - length))
            if value is not None:
                return value
        return None

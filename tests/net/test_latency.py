#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A change made with ip(8) is followed within milliseconds (latency.py prints the numbers). The bounds here are
ten times what is expected of an idle machine: they fail when xfib polls, not when the machine is busy."""

import sys

import pytest

from latency import percentile, report


@pytest.mark.xfib
def test_a_change_made_with_ip_is_followed_within_milliseconds(net):
    for change, taken in report(net).items():
        assert len(taken) == 200
        assert percentile(taken, 0.5) < 0.05, f"{change}: median {percentile(taken, 0.5):.4f} s"
        assert percentile(taken, 0.99) < 0.2, f"{change}: p99 {percentile(taken, 0.99):.4f} s"


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A change made with ip(8) is followed within milliseconds (latency.py prints the numbers). The bounds here are
ten times what is expected of an idle machine: they fail when xfib polls, not when the machine is busy."""

import sys

import pytest

from latency import FAMILIES, IN_XDP, percentile, report
from lib import daemon

pytestmark = pytest.mark.xfib


@pytest.fixture(scope="module")
def measured(shared_net):
    return report(shared_net)


def test_every_change_is_followed(measured):
    assert len(measured) == sum(len(family.changes) for family in FAMILIES.values())
    assert {len(taken) for taken, _ in measured.values()} == {200}


def test_nearly_all_packets_were_forwarded_in_xdp(measured):
    for change, (_, share) in measured.items():
        assert IN_XDP <= share <= 1, f"{change}: {share:.1%}"


@pytest.mark.skipif(daemon.instrumented(), reason="time bounds: the sanitizers' time is not xfib's")
def test_a_change_made_with_ip_is_followed_within_milliseconds(measured):
    for change, (taken, _) in measured.items():
        assert percentile(taken, 0.5) < 0.05, f"{change}: median {percentile(taken, 0.5):.4f} s"
        assert percentile(taken, 0.99) < 0.2, f"{change}: p99 {percentile(taken, 0.99):.4f} s"


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

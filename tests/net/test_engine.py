#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The two engines, and from one to the other while packets flow: none lost, none led astray."""

import sys
import time

import pytest

from lib.flow import Flow
from lib.frames import host4, host6, udp4, udp6

pytestmark = pytest.mark.xfib

ENGINES = ("lpm", "trie")
OTHER = {"p1": "p2", "p2": "p1"}


def prefix4(i):
    return f"10.{100 + i // 200}.{i % 200}"


def prefix6(i):
    return f"fd{i // 250:02x}:{i % 250:x}:7"


def many(verb, count, port, first=0):
    """Every prefix lies in one that port 1 covers: one that is left out would go the wrong way."""
    return ([f"route {verb} {prefix4(i)}.0/24 via {host4(port)}" for i in range(first, count)] +
            [f"-6 route {verb} {prefix6(i)}::/64 via {host6(port)}" for i in range(first, count)])


def targets(count, every=1):
    return [frame for i in range(0, count, every) for frame in (udp4(f"{prefix4(i)}.9"), udp6(f"{prefix6(i)}::9"))]


def engines(status):
    return set(status["engine"].values())


def to_be(*names):
    return lambda status: engines(status) == set(names)


@pytest.fixture
def covered(net):
    net.ip(f"route add 10.0.0.0/8 via {host4(1)}", f"-6 route add fd00::/8 via {host6(1)}")
    net.check([udp4("10.99.1.1"), udp6("fd99::1")], verdict="forwarded", out="p1")
    return net


def equal_to_the_kernel(net):
    assert net.xfib.json("verify", "--all")["mismatches"] == 0


@pytest.mark.net(options=["--engine", "trie"])
def test_a_small_table_is_compiled_when_asked_for(covered):
    assert engines(covered.xfib.status()) == {"trie"}
    covered.ip(*many("add", 20, 2))
    covered.check(targets(20), verdict="forwarded", out="p2")
    covered.ip(*many("del", 20, 2))
    covered.check(targets(20), verdict="forwarded", out="p1")
    equal_to_the_kernel(covered)


@pytest.mark.net(options=["--engine", "lpm"])
def test_a_large_table_stays_in_the_lpm_trie_when_asked_for(covered):
    covered.ip(*many("add", 400, 2))
    time.sleep(2.2)  # the daemon looks every second
    assert engines(covered.xfib.status()) == {"lpm"}
    covered.check(targets(400, 40), verdict="forwarded", out="p2")


def test_it_changes_over_as_the_table_grows_and_shrinks_without_a_loss(covered):
    assert engines(covered.xfib.status()) == {"lpm"}
    covered.ip(*many("add", 100, 2))
    with Flow(covered.other, targets(100)) as flow:
        covered.ip(*many("add", 400, 2, first=100), sync=False)
        covered.xfib.wait(to_be("trie"), "the trie")
        time.sleep(0.3)
    flow.assert_whole({"p2"})
    covered.check(targets(400, 20), verdict="forwarded", out="p2")
    equal_to_the_kernel(covered)
    with Flow(covered.other, targets(20)) as flow:
        covered.ip(*many("del", 400, 2, first=20), sync=False)
        covered.xfib.wait(to_be("lpm"), "the LPM trie")
        time.sleep(0.3)
    flow.assert_whole({"p2"})
    covered.check(targets(20), verdict="forwarded", out="p2")
    equal_to_the_kernel(covered)


@pytest.mark.net(options=["--engine", "trie"])
def test_it_grows_without_a_loss(covered):
    small = covered.xfib.status()["tables"]["ipv4"]["bytes"]
    covered.ip(*many("add", 100, 2))
    with Flow(covered.other, targets(100)) as flow:
        covered.ip(*many("add", 6000, 2, first=100), sync=False)
        covered.xfib.wait(lambda status: status["tables"]["ipv6"]["bytes"] > small, "more room", timeout=60)
        time.sleep(1.5)
    flow.assert_whole({"p2"})
    covered.eventually(lambda: covered.check(targets(6000, 300), verdict="forwarded", out="p2"))
    equal_to_the_kernel(covered)


@pytest.mark.net(options=["--engine", "trie", "--trie-memory", "64"])
def test_what_finds_no_room_is_the_kernels_and_comes_back(covered):
    covered.ip(*many("add", 100, 2))
    with Flow(covered.other, targets(100)) as flow:
        covered.ip(*many("add", 6000, 2, first=100), sync=False)
        covered.xfib.wait(lambda status: status["tables"]["ipv6"]["overflow"] > 0, "the table to be full", timeout=60)
        time.sleep(1.5)
    flow.assert_whole({"p2"})
    covered.check(targets(6000, 300), out="p2")
    assert any("no room" in reason for reason in covered.xfib.status()["fast_path"]["reasons"])
    with Flow(covered.other, targets(100)) as flow:
        covered.ip(*many("del", 6000, 2, first=100), sync=False)
        covered.xfib.wait(lambda status: status["tables"]["ipv6"]["overflow"] == 0, "room", timeout=60)
    flow.assert_whole({"p2"})
    covered.eventually(lambda: covered.check(targets(100), verdict="forwarded", out="p2"))
    equal_to_the_kernel(covered)


@pytest.mark.net(options=["--engine", "trie"])
def test_changes_under_traffic_lead_nothing_astray(covered):
    covered.ip(*many("add", 300, 2))
    with Flow(covered.other, targets(300)) as flow:
        for _ in range(4):
            covered.ip(*many("del", 300, 2, first=150), *many("add", 300, 2, first=150),
                       *many("replace", 150, 1), *many("replace", 150, 2), sync=False)
    flow.assert_whole({"p1", "p2"})
    covered.eventually(lambda: covered.check(targets(300, 30), verdict="forwarded", out="p2"))


@pytest.mark.net(options=["--engine", "trie", "--hold", "5"])
@pytest.mark.parametrize("how", ("stop", "kill"))
def test_a_restart_takes_the_compiled_trie_over(covered, how):
    covered.ip(*many("add", 300, 2))
    with Flow(covered.other, targets(150)) as flow:
        getattr(covered.xfib, how)()
        covered.ip(*many("replace", 300, 1, first=150), "route add 10.250.0.0/16 dev p1", sync=False)
        covered.xfib.start()
        time.sleep(0.5)
    flow.assert_whole({"p2"})
    assert "taken over" in covered.xfib.log()
    covered.check(targets(150, 10), verdict="forwarded", out="p2")
    covered.check(targets(300)[300::30], verdict="forwarded", out="p1")
    equal_to_the_kernel(covered)


@pytest.mark.net(options=["--engine", "trie", "--hold", "5"])
def test_a_default_route_that_changed_meanwhile_meets_no_old_prefix(covered):
    """Between the dead daemon's trie and the new one nothing may be led by half of each."""
    covered.ip(f"route add default via {host4(1)}", *many("add", 150, 2))
    with Flow(covered.other, [udp4("192.0.2.1"), udp4(f"{prefix4(3)}.9")]) as flow:
        covered.xfib.kill()
        covered.ip(f"route replace default via {host4(2)}", sync=False)
        covered.xfib.start()
        time.sleep(0.5)
    assert not flow.lost and not flow.doubled
    covered.check([udp4("192.0.2.1"), udp4(f"{prefix4(3)}.9")], verdict="forwarded", out="p2")


@pytest.mark.net(options=["--engine", "trie", "--hold", "5"])
def test_a_restart_with_the_other_engine_changes_over(covered):
    covered.ip(*many("add", 300, 2))
    with Flow(covered.other, targets(300)) as flow:
        covered.xfib.stop()
        covered.xfib.start(["--engine", "lpm", "--hold", "5"])
        covered.xfib.wait(to_be("lpm"), "the LPM trie")
        time.sleep(0.3)
    flow.assert_whole({"p2"})
    equal_to_the_kernel(covered)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

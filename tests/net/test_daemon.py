#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The daemon dies, stops, starts again: forwarding goes on as long as it may and no packet is lost."""

import signal
import subprocess
import sys
import time

import pytest

from lib.flow import Flow
from lib.frames import host4, host6, udp4, udp6

pytestmark = [pytest.mark.xfib, pytest.mark.net(options=["--hold", "3"])]

ROUTES = (f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")

OTHER_ROUTES = (f"route replace 10.9.0.0/16 via {host4(2)}", f"-6 route replace fd09::/32 via {host6(2)}")


def both():
    return [udp4("10.9.9.9"), udp6("fd09::9")]


@pytest.fixture
def routed(net):
    net.ip(*ROUTES)
    net.check(both(), verdict="forwarded", out="p1")
    return net


def delta(before, after, name):
    return after[name] - before[name]


def test_killed_and_started_again_within_the_hold_time_it_loses_nothing_and_stays_fast(routed):
    before = routed.xfib.verdicts()
    with Flow(routed.other, both()) as flow:
        time.sleep(0.3)
        routed.xfib.kill()
        time.sleep(0.3)
        routed.xfib.start()
        time.sleep(0.3)
    flow.assert_whole({"p1"})
    assert delta(before, routed.xfib.verdicts(), "forwarded") == len(flow.sent)
    routed.check(both(), verdict="forwarded", out="p1")


def test_an_orderly_restart_loses_nothing_and_stays_fast(routed):
    before = routed.xfib.verdicts()
    with Flow(routed.other, both()) as flow:
        time.sleep(0.2)
        assert routed.xfib.stop() == 0
        routed.xfib.start()
        time.sleep(0.2)
    flow.assert_whole({"p1"})
    assert delta(before, routed.xfib.verdicts(), "forwarded") == len(flow.sent)


def test_what_changed_while_it_was_dead_is_right_after_the_restart(routed):
    routed.xfib.kill()
    routed.ip(f"route replace 10.9.0.0/16 via {host4(2)}", "-6 route del fd09::/32",
              f"route add 10.8.0.0/16 via {host4(1)}", sync=False)
    routed.xfib.start()
    routed.check(udp4("10.9.9.9"), verdict="forwarded", out="p2")
    routed.check(udp4("10.8.0.1"), verdict="forwarded", out="p1")
    routed.same(routed.exchange([udp6("fd09::9")], 0, 1, "punt_no_route"))


def test_a_dead_daemons_tables_are_not_used_beyond_the_hold_time(routed):
    with Flow(routed.other, both()) as flow:
        routed.xfib.kill()
        time.sleep(3.5)
        before = routed.xfib.verdicts()
        time.sleep(0.5)
        after = routed.xfib.verdicts()
    flow.assert_whole({"p1"})
    assert delta(before, after, "forwarded") == 0 and delta(before, after, "punt_deadman") > 500
    routed.check(both(), verdict="punt_deadman", out="p1")
    routed.xfib.start()
    routed.check(both(), verdict="forwarded", out="p1")


def test_a_stopped_daemon_is_passed_by_after_the_hold_time_and_resyncs_when_it_goes_on(routed):
    with Flow(routed.other, both()) as flow:
        routed.xfib.signal(signal.SIGSTOP)
        time.sleep(3.5)
        routed.check_counts(lambda: time.sleep(0.3), none="forwarded", some="punt_deadman")
        # The world goes on: what it missed must not be used for a single packet afterwards.
        routed.other.router.ip(*OTHER_ROUTES)
        changed = len(flow.sent)
        time.sleep(0.1)
        settled = len(flow.sent)
        routed.xfib.signal(signal.SIGCONT)
        time.sleep(1.0)
    flow.assert_whole({"p1", "p2"})
    assert changed < settled
    late = [port for tag in flow.sent[settled:] for port in flow.out[tag]]
    assert set(late) == {"p2"}, f"{late.count('p1')} of {len(late)} packets used the old route"
    routed.kernel.router.ip(*OTHER_ROUTES)
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p2"))
    assert routed.xfib.status()["sync"]["resyncs"] >= 1


@pytest.mark.net(options=["--hold", "0"])
def test_without_a_hold_time_the_tables_are_used_for_ever(routed):
    routed.xfib.kill()
    time.sleep(4)
    routed.check(both(), verdict="forwarded", out="p1")


def test_stopped_by_sigterm_it_leaves_the_ports_as_they_were(routed):
    assert routed.xfib.stop() == 0
    assert routed.xfib.cli("-j", "status")


def test_detaching_leaves_the_kernel_alone_with_the_traffic(routed):
    with Flow(routed.other, both()) as flow:
        time.sleep(0.1)
        routed.xfib.cli("detach", "--all")
        time.sleep(0.1)
    flow.assert_whole({"p1"})
    assert "xdp" not in routed.other.router.show("link show p0")
    routed.check(both(), out="p1")


def test_attaching_while_it_runs_makes_a_port_fast(routed):
    routed.xfib.cli("detach", "p1")
    routed.eventually(lambda: routed.check(both(), verdict="punt_not_a_port", out="p1"))
    routed.xfib.cli("attach", "p1")
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


def test_two_instances_do_not_share_an_interface(routed):
    """The second one is told so and leaves the first alone."""
    words = routed.other.router.command(routed.xfib.program("xfib"), "-n", routed.xfib.name + "-2", "attach", "p0")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1
    routed.check(both(), verdict="forwarded", out="p1")


# --- capacity ---

TINY = ["--routes4", "64", "--routes6", "64", "--hold", "3"]


def many4(count):
    """Host routes over port 2, all inside what port 1 covers: one that is left out would go the wrong way."""
    return [f"route add 10.9.{i // 250}.{1 + i % 250}/32 via {host4(2)}" for i in range(count)]


def many6(count):
    return [f"-6 route add fd09::1:{i:x}/128 via {host6(2)}" for i in range(count)]


def targets(count):
    return ([udp4(f"10.9.{i // 250}.{1 + i % 250}") for i in range(count)] +
            [udp6(f"fd09::1:{i:x}") for i in range(count)])


@pytest.mark.net(options=TINY)
def test_routes_beyond_the_capacity_are_the_kernels_and_never_misrouted(routed):
    routed.ip(*many4(300), *many6(300))
    routed.check(targets(300), out="p2")
    routed.xfib.wait(lambda status: all(status["tables"][family]["overflow"] > 0 for family in ("ipv4", "ipv6")),
                     "the overflow to be told")


@pytest.mark.net(options=TINY)
def test_with_room_again_everything_is_fast_again(routed):
    routed.ip(*many4(300), *many6(300))
    routed.ip(*(line.replace("add", "del") for line in many4(300) + many6(300)))
    routed.eventually(lambda: routed.check(both(), verdict="forwarded", out="p1"))


@pytest.mark.net(options=TINY)
def test_a_restart_with_a_larger_capacity_switches_the_tables_under_traffic_without_loss(routed):
    routed.ip(*many4(300), *many6(300))
    with Flow(routed.other, targets(300)) as flow:
        time.sleep(0.3)
        routed.xfib.stop()
        routed.xfib.start(["--routes4", "100000", "--routes6", "100000", "--hold", "3"])
        time.sleep(0.5)
    flow.assert_whole({"p2"})
    routed.eventually(lambda: routed.check(targets(300), verdict="forwarded", out="p2"))
    assert routed.xfib.status()["tables"]["ipv4"]["capacity"] >= 100000


@pytest.mark.net(options=["--hold", "3"])
def test_a_restart_with_too_small_a_capacity_misroutes_nothing(routed):
    routed.ip(*many4(300), *many6(300))
    with Flow(routed.other, targets(300)) as flow:
        time.sleep(0.3)
        routed.xfib.stop()
        routed.xfib.start(TINY)
        time.sleep(0.5)
    flow.assert_whole({"p2"})


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

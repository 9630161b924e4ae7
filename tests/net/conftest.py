# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fixtures of the tests in network namespaces. See lib/world.py for what `net` is.

XFIB=none runs everything with two plain kernels: then the tests test the harness (it must find no
difference), and what is said about verdicts is not looked at.
"""

import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from lib import daemon, netns  # noqa: E402
from lib.world import Net      # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "net(ports=3, options=(), attach=None): how the routers are built")
    config.addinivalue_line("markers", "xfib: is about the daemon, so needs one")
    if os.geteuid():
        pytest.exit("tests/net needs root: it makes network namespaces", 2)
    if os.environ.get("XFIB") != "none" and not os.path.exists(f"{daemon.build_directory()}/xfibd"):
        pytest.exit("no xfibd to test: run make first", 2)
    # Both unwind through all fixtures, also where the shell had SIGINT ignored (behind an &).
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    netns.sweep()
    daemon.sweep()


def pytest_collection_modifyitems(items):
    if os.environ.get("XFIB") == "none":
        skip = pytest.mark.skip(reason="needs xfib")
        for item in items:
            if item.get_closest_marker("xfib"):
                item.add_marker(skip)


def pytest_terminal_summary(terminalreporter, config):
    """The plain closing line, last of all."""
    counts = {name: len(terminalreporter.stats.get(name, ())) for name in ("passed", "failed", "error", "skipped")}
    line = f"{counts['passed']} passed, {counts['failed'] + counts['error']} failed"
    config.closing_line = line + (f", {counts['skipped']} skipped" if counts["skipped"] else "")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    if hasattr(config, "closing_line"):
        print(config.closing_line)


def built(request, marker):
    net = Net(**(marker.kwargs if marker else {}))
    try:
        yield net
        if net.xfib:
            assert not net.xfib.died(), "xfibd ended by itself"
    finally:
        if net.xfib:
            print(net.xfib.log()[-4000:])  # pytest shows it when the test fails
        net.close()


@pytest.fixture
def net(request):
    """A fresh pair of routers."""
    yield from built(request, request.node.get_closest_marker("net"))


@pytest.fixture(scope="module")
def shared_net(request):
    """One pair for all tests of a file, which must leave it as they found it."""
    yield from built(request, None)

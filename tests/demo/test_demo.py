# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The demo, interrupted: whenever and however often people press Ctrl-C, nothing stays behind."""

import glob
import os
import signal
import subprocess
import time

import pytest

HERE = os.path.dirname(__file__)
BUILD = os.environ.get("B") or os.path.join(HERE, "../../build")


def session(leader):
    """Processes that it has started, however indirectly, and that have not ended."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as stat:
                state, _, _, sid = stat.read().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(sid) == leader and state != "Z":
            yield path


def remains(leader):
    """Namespaces, pins, files and processes of a demo."""
    name = f"xfib-demo-{leader}"
    return [*glob.glob(f"/run/netns/{name}*"), *glob.glob(f"/sys/fs/bpf/xfib/{name}"), *glob.glob(f"/run/xfib/{name}"),
            *session(leader)]


def interrupt(demo, number):
    """To all of the foreground, as a terminal does it."""
    try:
        os.killpg(demo.pid, number)
    except ProcessLookupError:
        pass


def check(tmp_path, after, gap, numbers):
    environment = os.environ | {"B": BUILD, "ROUTES4": "2000", "ROUTES6": "1000", "TMPDIR": str(tmp_path)}
    with subprocess.Popen([os.path.join(HERE, "demo.sh")], env=environment, start_new_session=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as demo:
        time.sleep(after)
        for number in numbers:
            interrupt(demo, number)
            time.sleep(gap)
        output = demo.communicate(timeout=30)[0]
    assert demo.returncode in (130, -numbers[0]), output
    assert b"\033" not in output  # it is no terminal
    deadline = time.monotonic() + 5
    while list(session(demo.pid)) and time.monotonic() < deadline:  # what ends because the script has ended
        time.sleep(0.05)
    assert remains(demo.pid) + os.listdir(tmp_path) == []


@pytest.mark.parametrize("gap", [0, 0.02, 0.1])
@pytest.mark.parametrize("after", [0, 0.02, 0.1, 0.5, 1, 2, 4])
def test_ctrl_c_twice_at_any_moment_leaves_nothing(tmp_path, after, gap):
    check(tmp_path, after, gap, [signal.SIGINT, signal.SIGINT])


def test_a_terminal_that_is_closed_leaves_nothing(tmp_path):
    check(tmp_path, 1, 0.02, [signal.SIGHUP, signal.SIGTERM, signal.SIGHUP])

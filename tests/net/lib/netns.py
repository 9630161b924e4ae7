# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Network namespaces: made, entered, spoken to with ip(8), and always removed.

Every namespace is named xfib-PID-N-ROLE after the process that made it, and is removed when its
owner asks, when Python exits, and on SIGINT and SIGTERM (conftest.py turns both into exceptions).
What a killed run left behind is swept by the next one: its pid is dead.
"""

import atexit
import concurrent.futures
import contextlib
import ctypes
import itertools
import os
import subprocess

PREFIX = "xfib-"
RUN = "/run/netns"
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_numbers = itertools.count()
_live = {}


def run(*command, **options):
    """Runs a command that must succeed; its error output becomes the exception's text."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def together(*calls):
    """Makes the calls at the same time, each in a thread, and returns their results in order."""
    with concurrent.futures.ThreadPoolExecutor(len(calls) or 1) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def _setns(fd):
    if _libc.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


class Namespace:
    """One namespace. `with ns.inside():` moves the calling thread into it."""

    def __init__(self, role):
        self.name = f"{PREFIX}{os.getpid()}-{next(_numbers)}-{role}"
        self.path = f"{RUN}/{self.name}"
        _live[self.name] = self
        run("ip", "netns", "add", self.name)

    @contextlib.contextmanager
    def inside(self):
        """Sockets opened and /proc/sys/net files touched here are those of the namespace."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(self.path, os.O_RDONLY)
        try:
            _setns(there)
            yield
        finally:
            _setns(home)
            os.close(there)
            os.close(home)

    def ip(self, *lines):
        """Runs each line as ip(8) would, `-6 route add ...` too, and stops at the first error."""
        for family, group in itertools.groupby(lines, lambda line: "-6" if line.startswith("-6 ") else "-0"):
            batch = "".join(line.removeprefix("-6 ") + "\n" for line in group)
            words = ("-6",) if family == "-6" else ()
            run("ip", *words, "-n", self.name, "-batch", "-", input=batch)

    def show(self, line):
        """The text that one ip(8) command prints."""
        return run("ip", "-n", self.name, *line.split())

    def command(self, *words):
        """The words that run a program in here with the BPF file system in sight (`ip netns exec` hides it)."""
        return ("nsenter", f"--net={self.path}", *words)

    def run(self, *words, **options):
        return run(*self.command(*words), **options)

    def sysctl(self, settings):
        """{"ipv4.ip_forward": 1, ...}, names below net. A dot in an interface name is written as /."""
        with self.inside():
            for name, value in settings.items():
                path = "/proc/sys/net/" + name.replace(".", "/")
                with open(path, "w", encoding="ascii") as file:
                    file.write(str(value))

    def sysctl_get(self, name):
        with self.inside(), open("/proc/sys/net/" + name.replace(".", "/"), encoding="ascii") as file:
            return file.read().strip()

    def remove(self):
        if _live.pop(self.name, None):
            subprocess.run(("ip", "netns", "del", self.name), capture_output=True, check=False)


def remove_all():
    for namespace in list(_live.values()):
        namespace.remove()


def sweep():
    """Removes what a run that was killed outright could not remove itself."""
    for name in os.listdir(RUN) if os.path.isdir(RUN) else ():
        pid = name.removeprefix(PREFIX).split("-")[0]
        if name.startswith(PREFIX) and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            subprocess.run(("ip", "netns", "del", name), capture_output=True, check=False)


atexit.register(remove_all)

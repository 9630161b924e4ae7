# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""xfib in a router's namespace: the daemon as a process, and what `xfib -j` says about it."""

import atexit
import ctypes
import json
import os
import shutil
import signal
import subprocess
import time

from . import netns

PIN_ROOT = "/sys/fs/bpf/xfib"
RUN_ROOT = "/run/xfib"
LOG_ROOT = "/tmp"


def build_directory():
    """Where the programs are: B of the Makefile, or build/ of this tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.environ.get("B") or os.path.join(here, "../../../build")


def instrumented():
    """Whether this is a build with sanitizers."""
    try:
        with open(f"{build_directory()}/xfibd", "rb") as program:
            return b"libasan.so" in program.read()
    except FileNotFoundError:  # XFIB=none needs no build
        return False


def die_with_parent():
    """In the child: no daemon outlives a test run that was killed outright."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Xfib:
    """One instance. Its pins, run directory and process are gone after close()."""

    patience, pause = 10.0, 0.005  # seconds to wait for something, and between two looks

    def __init__(self, namespace, ports, options=()):
        self.namespace = namespace
        self.name = namespace.name
        self.ports = list(ports)
        self.options = list(options)
        self.process = None
        self.marks = 0
        self.ended = False  # by us, not by itself
        self.log_path = f"{LOG_ROOT}/{self.name}.log"
        atexit.register(self.close)  # for what interrupts close() itself
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def program(self, name):
        return os.path.abspath(os.path.join(build_directory(), name))

    def start(self, options=None, ports=None):
        """Starts the daemon and returns when the tables are synced."""
        words = self.namespace.command(
            self.program("xfibd"), "-n", self.name,
            *(self.options if options is None else options),
            *(self.ports if ports is None else ports))
        with open(self.log_path, "ab") as log:
            # nsenter replaces itself by the daemon: the pid is the daemon's.
            self.process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True,
                                            preexec_fn=die_with_parent)
        self.ended = False
        self.wait(lambda status: status["sync"]["state"] == "synced" and
                  status["daemon"]["alive"], "the daemon to be synced")

    def signal(self, number):
        self.process.send_signal(number)

    def died(self):
        return self.process.poll() is not None and not self.ended

    def kill(self):
        self.ended = True
        self.process.kill()
        self.process.wait()

    def stop(self):
        """An orderly stop: the attachments and pins stay."""
        self.ended = True
        self.process.terminate()
        return self.process.wait(timeout=10)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def cli(self, *words):
        return self.namespace.run(self.program("xfib"), "-n", self.name, *words)

    def json(self, *words):
        return json.loads(self.cli("-j", *words))

    def status(self):
        return self.json("status")

    def verdicts(self):
        """{name: packets}"""
        return {v["name"]: v["packets"] for v in self.json("stats")["verdicts"]}

    def wait(self, condition, what, timeout=None):
        """Until condition(status) is true."""
        timeout = timeout or self.patience
        deadline = time.monotonic() + timeout
        status = error = None
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"xfibd ended with {self.process.returncode}:\n{self.log()}")
            try:
                status = self.status()
                if condition(status):
                    return status
            except (RuntimeError, ValueError) as failure:  # no instance yet
                error = failure
            time.sleep(self.pause)
        raise AssertionError(f"waited {timeout} s for {what}: {status or error}\n{self.log()}")

    def catch_up(self):
        """Returns when everything that the kernel has announced by now is in the maps.

        Route and neighbour messages come on two sockets, each in order: so a last change of either
        kind is made and waited for. Tables that xfib has to read again are waited for too."""
        self.marks += 1
        old, new = (f"198.18.{n >> 8 & 255}.{n & 255}/32" for n in (self.marks - 1, self.marks))
        self.namespace.ip("route flush " + old, f"route add prohibit {new}")
        neighbour = self.mark_neighbour(f"02:00:00:01:{self.marks >> 8 & 255:02x}:{self.marks & 255:02x}")
        self.wait(lambda status: status["sync"]["state"] == "synced" and
                  self.json("route", "show", new)[0]["prefix"] == new and
                  (not neighbour or neighbour in [(n["addr"], n["dev"], n["lladdr"]) for n in self.json("neigh")]),
                  "xfib to catch up")

    def mark_neighbour(self, mac):
        """Changes a neighbour of any port that is up; None if there is none."""
        up = [link.get("ifname") for link in json.loads(self.namespace.show("-j link show up"))]
        for port in (port["ifname"] for port in self.status()["ports"] if port["enabled"]):
            if port in up:
                self.namespace.ip(f"neigh replace 198.18.0.0 lladdr {mac} dev {port} nud permanent")
                return "198.18.0.0", port, mac
        return None

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.kill()
        subprocess.run(self.namespace.command(self.program("xfib"), "-n", self.name, "detach", "--all"),
                       capture_output=True, check=False)
        for root in (PIN_ROOT, RUN_ROOT):
            shutil.rmtree(f"{root}/{self.name}", ignore_errors=True)
        if os.path.exists(self.log_path):
            os.unlink(self.log_path)
        atexit.unregister(self.close)


def sweep():
    """Removes the pins, run directories and logs of runs that were killed outright."""
    for root in (PIN_ROOT, RUN_ROOT, LOG_ROOT):
        for name in os.listdir(root) if os.path.isdir(root) else ():
            pid = name.removeprefix(netns.PREFIX).split("-")[0]
            if name.startswith(netns.PREFIX) and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                if root == LOG_ROOT:
                    os.unlink(f"{root}/{name}")
                else:
                    shutil.rmtree(f"{root}/{name}", ignore_errors=True)

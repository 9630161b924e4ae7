# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Steady traffic through one router while a test changes something: which packets were lost, which left where."""

import struct
import threading
import time

from . import wire
from .frames import fresh_tag

PERIOD = 0.002


class Flow:
    """`with Flow(world, frames) as flow: ...` sends copies of the frames in turn, each with a tag of its own.

    After the block: flow.sent, flow.out = {tag: [port, ...]}, flow.lost, flow.doubled."""

    def __init__(self, world, frames, port=0, rate=4000):
        self.world, self.port = world, port
        self.templates = [self._split(frame) for frame in frames]
        self.burst = max(1, int(rate * PERIOD))
        self.sent, self.out = [], {}
        self._running = threading.Event()
        self._thread = threading.Thread(target=self._send)

    @staticmethod
    def _split(frame):
        found = wire.TAG.search(frame)
        return frame[:found.start()], len(frame) - found.start()

    def _send(self):
        tap = self.world.out.taps[f"p{self.port}"]
        next_burst = time.monotonic()
        while self._running.is_set():
            for _ in range(self.burst):
                tag = fresh_tag()
                head, length = self.templates[len(self.sent) % len(self.templates)]
                payload = wire.MAGIC + struct.pack("!I", tag)
                tap.send(head + (payload * (length // 8 + 1))[:length])
                self.sent.append(tag)
            next_burst += PERIOD
            time.sleep(max(0.0, next_burst - time.monotonic()))

    def __enter__(self):
        self.world.clear()
        self._running.set()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._running.clear()
        self._thread.join()
        mine = set(self.sent)
        deadline = time.monotonic() + 2.0
        while time.monotonic() < deadline:
            self.world.out.poll(0.02)
            if time.monotonic() - self.world.out.last > 0.1:
                break
        for tag, port, _ in self.world.out.tagged():
            if tag in mine:
                self.out.setdefault(tag, []).append(port)
        self.lost = [tag for tag in self.sent if tag not in self.out]
        self.doubled = [tag for tag, ports in self.out.items() if len(ports) > 1]

    def assert_whole(self, ports):
        """Every packet left exactly once, on one of the ports."""
        assert self.sent, "nothing was sent"
        assert not self.lost, f"{len(self.lost)} of {len(self.sent)} packets lost, the first was number " \
            f"{self.sent.index(self.lost[0])}"
        assert not self.doubled, f"{len(self.doubled)} packets left twice"
        wrong = [p for left in self.out.values() for p in left if p not in ports]
        assert not wrong, f"{len(wrong)} packets left on {set(wrong)}"

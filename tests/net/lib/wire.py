# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames as they are on the wire: tagged with a number, sent raw, captured raw, compared.

A tag is 8 bytes, "XFIB" and a number, and fills the whole payload over and over, so that fragments
and the packets quoted in ICMP errors carry it too. A capture undoes what the kernel does to a frame
before a packet socket sees it (a VLAN tag is moved out of the frame).
"""

import errno
import re
import select
import socket
import struct
import time

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, ICMPv6TimeExceeded
from scapy.layers.l2 import Ether

ETH_P_ALL = 3
ETH_HLEN = 14
ETH_ZLEN = 60  # a shorter frame is padded to this on Ethernet
SO_RCVBUFFORCE = 33
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6

MAGIC = b"XFIB"
TAG = re.compile(re.escape(MAGIC) + b"(....)", re.DOTALL)


def payload(number, length=24):
    tag = MAGIC + struct.pack("!I", number)
    return (tag * (length // len(tag) + 1))[:length]


def tag_of(frame):
    """The number of a frame, or None for ARP, neighbour discovery and other traffic of the hosts."""
    found = TAG.search(frame)
    return struct.unpack("!I", found.group(1))[0] if found else None


def l3_length(frame):
    """Length of the IP packet in a frame by its own header, None if there is no readable one."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and len(frame) >= ETH_HLEN + 20:
        return struct.unpack_from("!H", frame, ETH_HLEN + 2)[0]
    if kind == b"\x86\xdd" and len(frame) >= ETH_HLEN + 40:
        return struct.unpack_from("!H", frame, ETH_HLEN + 4)[0] + 40
    return None


def without_padding(frame):
    """The kernel cuts Ethernet padding off, XDP hands it on: neither is wrong, so it does not count."""
    length = l3_length(frame)
    if length and len(frame) <= ETH_ZLEN and ETH_HLEN + length < len(frame):
        return frame[:ETH_HLEN + length]
    return frame


def icmp_error(frame):
    """(type, code) of an ICMP or ICMPv6 error message, else None."""
    if frame[12:14] == b"\x08\x00" and frame[23] == 1:
        kind, code = frame[ETH_HLEN + (frame[14] & 15) * 4:][:2]
        return (kind, code) if kind in (3, 4, 5, 11, 12) else None
    if frame[12:14] == b"\x86\xdd" and frame[20] == 58:
        kind, code = frame[54], frame[55]
        return (kind, code) if kind < 128 or kind == 137 else None
    return None


def comparable(frame):
    """What two routers that behave alike must both emit. The IPv4 id of an error message that a
    router makes itself is random, so the id and the header checksum do not count there."""
    frame = without_padding(frame)
    if frame[12:14] == b"\x08\x00" and icmp_error(frame):
        frame = frame[:18] + b"\0\0" + frame[20:24] + b"\0\0" + frame[26:]
    return frame


def explain(frame):
    """One line for people."""
    try:
        return f"{Ether(frame).summary()} [{len(frame)}] {frame[:ETH_HLEN + 40].hex()}"
    except Exception:  # scapy on a frame that is malformed on purpose
        return f"[{len(frame)}] {frame.hex()}"


class Tap:
    """A raw packet socket on one device of a namespace: sends frames as they are and notes what arrives."""

    def __init__(self, namespace, device):
        self.device = device
        with namespace.inside():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # nothing until bind()
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.bind((device, ETH_P_ALL))
        self.socket.setblocking(False)

    def fileno(self):
        return self.socket.fileno()

    def send(self, frame):
        while True:
            try:
                self.socket.send(frame)
                return
            except OSError as error:
                # ENETDOWN is told once after the device was down, whatever it is now.
                if error.errno not in (errno.EAGAIN, errno.ENOBUFS, errno.ENETDOWN):
                    raise
                time.sleep(0.0005)

    def receive(self):
        """All frames that have arrived, without waiting."""
        frames = []
        while True:
            try:
                frame, control, _, _ = self.socket.recvmsg(65536, 64)
            except BlockingIOError:
                return frames
            except OSError as error:
                if error.errno == errno.ENETDOWN:  # told once
                    continue
                raise
            frames.append(self._with_vlan_tag(frame, control))

    @staticmethod
    def _with_vlan_tag(frame, control):
        for level, kind, data in control:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and len(data) >= 20:
                status, _, _, _, _, tci, tpid = struct.unpack_from("=IIIHHHH", data)
                if status & TP_STATUS_VLAN_VALID:
                    tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                    return frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
        return frame

    def close(self):
        self.socket.close()


class Capture:
    """What a set of taps, {port name: Tap}, has seen since the last clear(), by tag."""

    def __init__(self, taps):
        self.taps = taps
        self.frames = []  # (port, frame), in order of arrival
        self.last = time.monotonic()

    def poll(self, timeout=0.0):
        ready, _, _ = select.select(list(self.taps.values()), [], [], timeout)
        for port, tap in self.taps.items():
            if tap in ready:
                self.frames += [(port, frame) for frame in tap.receive()]
                self.last = time.monotonic()

    def clear(self):
        self.poll()
        self.frames = []

    def tagged(self):
        """[(tag, port, frame)] of our own traffic."""
        return [(tag, port, frame) for port, frame in self.frames
                if (tag := tag_of(frame)) is not None]

    def close(self):
        for tap in self.taps.values():
            tap.close()

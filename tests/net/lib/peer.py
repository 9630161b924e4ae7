# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The far end of a router's veth, made ready for what XDP redirects into it.

A veth takes such frames only if its peer has GRO or an XDP program, and xfib redirects to it only if it
knows of one. Before kernel 6.3 it cannot see the GRO of a peer in another namespace, so there the peer gets
a program. It is held by a descriptor: no run that ends in whatever way leaves it behind.
"""

import ctypes
import os
import platform
import socket

BPF_PROG_TYPE_XDP, BPF_XDP = 6, 37
RETURN_XDP_PASS = bytes.fromhex("b700000002000000" "9500000000000000")  # r0 = 2; exit

# The first kernel whose devices announce what of XDP they can do.
TELLS_XDP_FEATURES = (6, 3)


def kernel():
    """(major, minor)"""
    return tuple(int(part) for part in platform.release().split(".")[:2])


def _checked(fd):
    if fd < 0:
        raise OSError(-fd, os.strerror(-fd))
    return fd


def _pass_everything(namespace, device):
    libbpf = ctypes.CDLL("libbpf.so.1")
    program = _checked(libbpf.bpf_prog_load(BPF_PROG_TYPE_XDP, b"peer", b"GPL", RETURN_XDP_PASS,
                                            ctypes.c_size_t(len(RETURN_XDP_PASS) // 8), None))
    try:
        with namespace.inside():
            return _checked(libbpf.bpf_link_create(program, socket.if_nametoindex(device), BPF_XDP, None))
    finally:
        os.close(program)


def take_redirects(namespace, device):
    """Returns a descriptor to be closed in the end, or None. Checksums left to the hardware would be lost in XDP."""
    namespace.run("ethtool", "-K", device, "gro", "on", "tx", "off")
    return _pass_everything(namespace, device) if kernel() < TELLS_XDP_FEATURES else None

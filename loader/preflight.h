/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks before anything is touched: privilege, kernel, BTF, bpffs, and the interface itself. */
#pragma once

#include "attach.h"

/* -EPERM without the capabilities, -ENOSYS on a kernel older than 6.1 or without BTF, ... */
int preflight_system(struct load_error *err);

/* Mounts bpffs at /sys/fs/bpf if that is not one. 0, or an error that says how to do it. */
int preflight_bpffs(struct load_error *err);

/* The interface exists, is Ethernet and can run XDP in this mode; -ENODEV, -EOPNOTSUPP, ... */
int preflight_interface(const char *ifname, enum xfib_mode mode, int *ifindex, struct load_error *err);

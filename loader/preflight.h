/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks before anything is touched: privilege, kernel, BTF, bpffs, and the interface itself. */
#pragma once

#include "attach.h"

/* -EPERM without the capabilities, -ENOSYS on a kernel older than 6.1 or without BPF. */
int preflight_system(struct load_error *err);

/*
 * Mounts bpffs at /sys/fs/bpf if that is not one. Not under `ip netns exec`, where the pins would vanish
 * with the process: -ENOENT and what to do instead.
 */
int preflight_bpffs(struct load_error *err);

/* /sys/fs/bpf is not the BPF file system because of `ip netns exec`. */
bool preflight_in_netns_exec(void);

/* Effective capability, by its number in linux/capability.h. */
bool preflight_capable(unsigned int capability);

/* Whether an interface can have this name (dev_valid_name()). */
bool preflight_ifname_ok(const char *ifname);

/* The interface exists and is Ethernet: else -ENODEV. What its driver can is told by attaching. */
int preflight_interface(const char *ifname, enum xfib_mode mode, int *ifindex, struct load_error *err);

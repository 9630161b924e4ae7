// SPDX-License-Identifier: GPL-2.0-only
/* Tells userspace the kernel's jiffies64, the clock of the dead-man switch: run by BPF_PROG_TEST_RUN. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct clock {
	__u64 jiffies;
};

SEC("syscall")
int xfib_clock(struct clock *c)
{
	c->jiffies = bpf_jiffies64();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

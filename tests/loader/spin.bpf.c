// SPDX-License-Identifier: GPL-2.0-only
/* A program that runs for many milliseconds and says when it began and when it ended. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} progress SEC(".maps");

static long step(__u32 i, __u64 *sum)
{
	*sum += i;
	return 0;
}

SEC("xdp")
int spin(struct xdp_md *ctx)
{
	__u64 *begun, *ended, sum = 0;
	__u32 key = 0;

	begun = bpf_map_lookup_elem(&progress, &key);
	key = 1;
	ended = bpf_map_lookup_elem(&progress, &key);
	if (!begun || !ended)
		return XDP_ABORTED;
	*(volatile __u64 *)begun = 1;
	bpf_loop(1 << 23, step, &sum, 0);
	*(volatile __u64 *)ended = 1 | sum << 1;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";

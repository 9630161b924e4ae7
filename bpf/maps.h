/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps, in the order in which a packet meets them. Arrays that packets index are single
 * elements (".bss.NAME"): the address is known when the program is loaded, so an access costs no
 * call and no NULL test. They are written by the daemon through mmap.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

/* The section is the map's name behind ".bss."; the loader pins it under the bare name. */
#define FLAT(name) SEC(".bss." #name)

struct xfib_ctl ctl FLAT(ctl);
struct xfib_port ports[XFIB_PORTS] FLAT(ports);
struct xfib_l3if l3ifs[XFIB_L3IFS] FLAT(l3ifs);
__u64 own4[XFIB_OWN_BITS / 64] FLAT(own4);
__u32 trie_roots[XFIB_TRIE_ROOTS] FLAT(trie_roots);
/* The loader makes these as large as the tables need (abi.h): only the address is taken from here. */
__u8 trie4[XFIB_TRIE_MAX + XFIB_TRIE_PAD] FLAT(trie4);
__u8 trie6[XFIB_TRIE_MAX + XFIB_TRIE_PAD] FLAT(trie6);
struct xfib_nexthop nexthops[XFIB_NEXTHOPS] FLAT(nexthops);
struct xfib_nexthop members[XFIB_MEMBERS] FLAT(members);
struct xfib_neigh neighs[XFIB_NEIGHS] FLAT(neighs);
__u32 hits[XFIB_NEIGHS] FLAT(hits);

/* The loader sets the size of the tries (capacity and headroom for markers) before it makes them. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct xfib_lpm4);
	__type(value, __u32);
} lpm4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct xfib_lpm6);
	__type(value, __u32);
} lpm6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, XFIB_NEIGHS_MAX);
	__type(key, struct xfib_neigh4_key);
	__type(value, __u32);
} neigh4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, XFIB_NEIGHS_MAX);
	__type(key, struct xfib_neigh6_key);
	__type(value, __u32);
} neigh6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, XFIB_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} tx SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XFIB_PORTS);
	__type(key, __u32);
	__type(value, struct xfib_counters);
} counters SEC(".maps");

/* --- userspace only -------------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xfib_meta);
} meta SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, XFIB_PORTS);
	__type(key, __u32);
	__type(value, struct xfib_intent);
} intent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct xfib_status);
} status SEC(".maps");

/*
 * An update of a map in maps returns only when every program that was running has ended
 * (maybe_wait_bpf_programs() in kernel/bpf/syscall.c): the grace period behind every reuse of a slot.
 */
struct grace_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct grace_inner);
} grace SEC(".maps");

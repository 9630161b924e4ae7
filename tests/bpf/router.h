/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The XDP program under test on private maps, and a small router to put into them. The object is
 * loaded by libbpf alone, so a fault of loader/ or of the daemon cannot hide here.
 *
 *   slot  l3if              MTU   sends
 *   3     LAN  192.0.2.0/24       1500  the ingress: router 192.0.2.1, 2001:db8:1::1
 *   1     WAN  203.0.113.0/24     1500  gateways 203.0.113.1 and fe80::1
 *   2     SMALL                   1400  gateways 203.0.113.65 and fe80::41
 *   4     JUMBO                   9000  frames of several buffers; gateway 203.0.113.129, fe80::81
 *   5     DOWN                    1500  nothing
 *
 * 198.51.100.0/24 and 2001:db8:2::/48 lead to the gateways of WAN. Fixed ids stand in the enums
 * below; a test changes what it needs and calls router_reset() first.
 */
#pragma once

#include <bpf/libbpf.h>

#include "fib/trie.h"
#include "abi.h"
#include "pkt.h"

enum { SLOT_WAN = 1, SLOT_SMALL, SLOT_LAN, SLOT_JUMBO, SLOT_DOWN };

/* Slots in l3ifs. 10 is the first, so that a port number taken for one is found out. */
enum { L3IF_LAN = 10, L3IF_WAN, L3IF_SMALL, L3IF_JUMBO, L3IF_DOWN, L3IF_FREE };

/* BPF_PROG_TEST_RUN lets a frame come in on the loopback device. */
enum { IFINDEX_LAN = 1, IFINDEX_WAN = 101, IFINDEX_SMALL, IFINDEX_JUMBO, IFINDEX_DOWN };

/* Slots in neighs. */
enum {
	NEIGH_NONE,
	NEIGH_WAN_GW4,
	NEIGH_WAN_GW6,
	NEIGH_WAN_HOST4, /* 203.0.113.9 */
	NEIGH_WAN_HOST6, /* 2001:db8:3::9 */
	NEIGH_SMALL_GW4,
	NEIGH_SMALL_GW6,
	NEIGH_JUMBO_GW4,
	NEIGH_JUMBO_GW6,
	NEIGH_DOWN_GW4,
	NEIGH_LAN_GW4, /* 192.0.2.10, where the packets come from */
	NEIGH_LAN_GW6,
	NEIGH_COUNT,
	NEIGH_FREE = NEIGH_COUNT, /* from here on for tests */
};

/* Leaf ids. An adjacency has the id NH_VIA(its neighbour). */
#define NH_VIA(neigh) (XFIB_NH_FIRST + (neigh))
enum {
	NH_WAN_CONNECTED = NH_VIA(NEIGH_COUNT),
	NH_LAN_CONNECTED,
	NH_GROUP,
	NH_FREE,
};

#define ROUTE_MTU_NONE	 0xffff
#define ROUTER_FIB	 2u
#define ROUTER_HASH_SEED 0x5eed5eed5eed5eedull
/* cfg of the program; overrides as in PKT_IP4(). */
#define ROUTER_CFG(...) \
	(&(struct xfib_config){ .slot = SLOT_LAN, .hash_seed = ROUTER_HASH_SEED, __VA_ARGS__ })
#define ROUTER_FAR (1ull << 62) /* a deadline that no test sees */

struct router_l3if {
	__u16 port;
	__u32 ifindex;
	__u16 mtu;
	__u16 flags;
	__u8 mac[ETH_ALEN];
};

struct router_neigh {
	const char *addr;
	__u16 l3if;
	__u8 mac[ETH_ALEN];
};

/* What the router is filled with, for tests that need to know what a packet should look like. */
extern const struct router_neigh router_neighs[NEIGH_COUNT];
const struct router_l3if *router_l3if(__u32 slot);

#define ROUTER_ROUTES_MAX 256

struct router {
	struct bpf_object *object;
	int prog;
	__u32 cpus; /* possible ones: how many records a counter has */
	int lpm4, lpm6, neigh4, neigh6, tx, counters, grace;
	struct xfib_ctl *ctl;
	struct xfib_port *ports;
	struct xfib_l3if *l3ifs;
	__u64 *own4;
	__u32 *trie_roots;
	void *trie[FAMILIES];
	struct xfib_nexthop *nexthops;
	struct xfib_nexthop *members;
	struct xfib_neigh *neighs;
	__u32 *hits;
	/* Prefixes that router_reset() takes out again. */
	struct xfib_lpm4 routes4[ROUTER_ROUTES_MAX];
	struct xfib_lpm6 routes6[ROUTER_ROUTES_MAX];
	__u32 routes4_count, routes6_count;
	/*
	 * ROUTER_ENGINE=trie in the environment: the same prefixes compiled, and the LPM tries empty; trie4,
	 * trie6: of this family alone.
	 */
	bool compiled[FAMILIES];
	struct trie_pool pool[FAMILIES];
	struct router_fib {
		struct rib rib;
		struct trie trie;
	} *fib[XFIB_FIBS][FAMILIES];
};

/* Loads the object at `path`; NULL, with a line on stderr, if it cannot. */
struct router *router_new(const char *path, const struct xfib_config *cfg);
void router_free(struct router *r);

/* The router of the table above and nothing else, as after router_new(). */
void router_reset(struct router *r);

/* "198.51.100.0/24" of FIB ROUTER_FIB -> leaf; the family follows from the text. */
void router_route(struct router *r, const char *prefix, __u32 leaf);
void router_route_fib(struct router *r, __u32 fib, const char *prefix, __u32 leaf);

/* The route to everything (leaf 0), of both families. */
void router_default(struct router *r, struct xfib_nexthop nexthop);

/* Neighbour slot and hash entry. An l3if of 0 makes it one without a valid address. */
void router_neigh(struct router *r, __u32 slot, const char *addr, __u32 ifindex, __u16 l3if,
		  const __u8 *mac);

/* A group at NH_GROUP of these buckets, from members[first] on. */
void router_group(struct router *r, enum xfib_nh_kind kind, __u32 first,
		  const struct xfib_nexthop *buckets, __u16 count);

/* Runs one frame and returns what the program returned; of a twin that is XFIB_TWIN_RESULT(). */
__u32 router_run(const struct router *r, const struct pkt *in, struct pkt *out);

/*
 * ... with only the first `linear` bytes in the frame's first buffer. -EINVAL from a kernel that
 * cannot do that (before 6.18).
 */
int router_run_linear(const struct router *r, const struct pkt *in, __u32 linear, struct pkt *out,
		      __u32 *result);

/* ... that came in on this device and receive queue. -errno where the kernel refuses. */
int router_run_queue(const struct router *r, const struct pkt *in, __u32 ifindex, __u32 queue,
		     struct pkt *out, __u32 *result);

/* All counters: [slot * cpus + cpu]. */
size_t router_counters_size(const struct router *r);
void router_counters(const struct router *r, struct xfib_counters *all);

/* jiffies64 of the kernel, by the clock program at `path`. */
__u64 router_jiffies(const char *path);

/* Ends the running cmocka test as skipped, and says why. */
void router_skip(const char *why);

/* XDP action of the class of a verdict. */
int router_action(enum xfib_verdict verdict);
const char *router_verdict_name(enum xfib_verdict verdict);

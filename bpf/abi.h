/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between the XDP program, the loader, the daemon and the CLI: map names, keys, values,
 * verdicts. Nothing else may repeat a layout, an offset or a name that stands here. A change of any
 * layout raises XFIB_ABI.
 *
 * Publication rule. A packet may read a record in several loads only if that record is immutable
 * while it can be reached. So every record is one of
 *   word    at most 8 bytes, read with one load, replaced in place by one aligned store;
 *   slot    several loads, written before it is referred to by a word, never changed after that,
 *           and used again only after a grace period (all programs that could have seen it ended).
 * Each structure below says which it is.
 *
 * Integers are in host byte order unless the type is __be16 or __be32.
 */
#pragma once

#include <linux/types.h>

#define XFIB_ABI 2u

#define XFIB_PORTS	64	/* XDP attachments; also the size of the devmap */
#define XFIB_QUEUES	64	/* counted receive queues per port; higher ones share the last counter */
#define XFIB_L3IFS	8192	/* l3if slots: 4,096 interfaces and room for their replacements */
#define XFIB_L3IFS_MAX	4096	/* interfaces that can be live at a time */
#define XFIB_FIBS	64	/* composed FIBs */
#define XFIB_NEXTHOPS	65536	/* leaf ids are 16 bits wide */
#define XFIB_MEMBERS	(1u << 18) /* buckets of all groups together, with room for replacements */
#define XFIB_GROUP_MAX	1024	/* buckets of one group */
#define XFIB_NEIGHS	(1u << 17) /* neighbour slots: 65,536 neighbours and room for replacements */
#define XFIB_NEIGHS_MAX	65536u	/* neighbours that can be live at a time */
#define XFIB_OWN_BITS	(1u << 16) /* bits of the filter of own IPv4 addresses */

/*
 * Verdicts: X(NAME, class, meaning). One for each way a packet can leave the program; the name in
 * lower case is what the CLI prints. PUNT hands the frame to the kernel exactly as it arrived. Leaf
 * ids 1..63 are the verdicts of these numbers, so the list must stay below 64 and may only grow
 * at its end within one ABI version.
 */
#define XFIB_VERDICTS(X) \
	X(FORWARDED, FORWARD, "rewritten and handed to the egress port") \
	X(PUNT_DISABLED, PUNT, "the port is not enabled: not synced yet, or see its reason in status") \
	X(PUNT_DEADMAN, PUNT, "the daemon has not confirmed the tables within the hold time") \
	X(PUNT_FOREIGN_DEVICE, PUNT, "the frame came in on a device that is not this port (moved to another namespace)") \
	X(PUNT_SHORT, PUNT, "the headers are not all in the first buffer of the frame") \
	X(PUNT_NOT_OUR_MAC, PUNT, "the destination MAC is not the interface's") \
	X(PUNT_GROUP_MAC, PUNT, "the destination MAC is a broadcast or multicast one") \
	X(PUNT_SOURCE_MAC, PUNT, "the source MAC is zero, a group address or our own") \
	X(PUNT_VLAN, PUNT, "the frame carries a VLAN tag") \
	X(PUNT_ETHERTYPE, PUNT, "neither IPv4 nor IPv6: ARP, LLDP, MPLS, PPPoE, ...") \
	X(PUNT_IP4_DISABLED, PUNT, "IPv4 fast path off on this interface, see its reason in status") \
	X(PUNT_IP4_HEADER, PUNT, "IPv4 version, header length or total length is wrong") \
	X(PUNT_IP4_OPTIONS, PUNT, "IPv4 header with options") \
	X(PUNT_IP4_CHECKSUM, PUNT, "IPv4 header checksum is wrong") \
	X(PUNT_IP4_TTL, PUNT, "TTL is used up: the kernel answers with ICMP time exceeded") \
	X(PUNT_IP4_SOURCE, PUNT, "IPv4 source that cannot be forwarded from: 0/8, 127/8, 224/3") \
	X(PUNT_IP4_DESTINATION, PUNT, "IPv4 destination that is not plain unicast: 0/8, 127/8, 169.254/16, 224/3") \
	X(PUNT_IP4_OWN_SOURCE, PUNT, "IPv4 source is one of this router's own addresses") \
	X(PUNT_IP4_REVERSE_PATH, PUNT, "the route back to the IPv4 source does not satisfy rp_filter") \
	X(PUNT_IP6_DISABLED, PUNT, "IPv6 fast path off on this interface, see its reason in status") \
	X(PUNT_IP6_HEADER, PUNT, "IPv6 version or payload length is wrong, or a jumbogram") \
	X(PUNT_IP6_HOP_LIMIT, PUNT, "hop limit is used up: the kernel answers with ICMPv6 time exceeded") \
	X(PUNT_IP6_HOP_BY_HOP, PUNT, "IPv6 hop-by-hop options") \
	X(PUNT_IP6_SOURCE, PUNT, "IPv6 source that cannot be forwarded from: ::/96, link-local, multicast, mapped") \
	X(PUNT_IP6_DESTINATION, PUNT, "IPv6 destination that is not global unicast: ::/96, link-local, site-local, multicast, mapped") \
	X(PUNT_NO_ROUTE, PUNT, "no route: the kernel answers with ICMP unreachable") \
	X(PUNT_LOCAL, PUNT, "for this router itself") \
	X(PUNT_BROADCAST, PUNT, "route of type broadcast") \
	X(PUNT_ANYCAST, PUNT, "route of type anycast") \
	X(PUNT_MULTICAST, PUNT, "route of type multicast") \
	X(PUNT_BLACKHOLE, PUNT, "blackhole route: the kernel drops and counts it") \
	X(PUNT_UNREACHABLE, PUNT, "unreachable route: the kernel answers with ICMP") \
	X(PUNT_PROHIBIT, PUNT, "prohibit route: the kernel answers with ICMP") \
	X(PUNT_THROW, PUNT, "throw route") \
	X(PUNT_ENCAP, PUNT, "route with encapsulation (MPLS, SRv6, ip, bpf, ...)") \
	X(PUNT_SELECTIVE_ROUTE, PUNT, "route that also looks at TOS or the source address") \
	X(PUNT_PROXY, PUNT, "proxied neighbour (proxy ARP or proxy NDP)") \
	X(PUNT_UNSUPPORTED_ROUTE, PUNT, "route of a kind that xfib does not model") \
	X(PUNT_HASH_POLICY, PUNT, "multipath route under a fib_multipath_hash_policy that is not 0 or 1") \
	X(PUNT_CAPACITY, PUNT, "a table of xfib is full, this prefix stays in the kernel") \
	X(PUNT_DEAD_NEXTHOP, PUNT, "no next hop of the route is usable") \
	X(PUNT_NOT_A_PORT, PUNT, "the egress device is not an xfib port") \
	X(PUNT_NO_NEIGHBOUR, PUNT, "the next hop has no valid link-layer address yet: the kernel resolves it") \
	X(PUNT_EGRESS_DOWN, PUNT, "the egress port is down or cannot transmit XDP frames, see its reason in status") \
	X(PUNT_MTU, PUNT, "larger than the egress MTU: the kernel fragments or answers with ICMP") \
	X(PUNT_SAME_PORT, PUNT, "leaves where it came in: the kernel sends an ICMP redirect") \
	X(PUNT_FRAGS, PUNT, "frame in several buffers and the egress port takes only one") \
	X(PUNT_FRAGMENT, PUNT, "IP fragment: the kernel's connection tracking puts them together first") \
	X(PUNT_TRAILER, PUNT, "bytes behind the IP packet beyond Ethernet padding: the kernel cuts them off") \
	X(PUNT_RACE, PUNT, "a table changed while this packet looked at it") \
	X(DROP_BLACKHOLE, DROP, "blackhole route, dropped in XDP because --drop-blackhole was given")

enum xfib_verdict {
#define XFIB_VERDICT_ENUM(name, class, meaning) XFIB_##name,
	XFIB_VERDICTS(XFIB_VERDICT_ENUM)
#undef XFIB_VERDICT_ENUM
	XFIB_VERDICT_MAX
};

#define XFIB_VERDICTS_MAX 64
_Static_assert(XFIB_VERDICT_MAX <= XFIB_VERDICTS_MAX, "verdicts are leaf ids 1..63");

/*
 * rodata of one program. slot: the port this program serves. twin: never attached, only run by
 * BPF_PROG_TEST_RUN; it skips the ingress device check and returns XFIB_TWIN_RESULT(). trie_mask: the
 * size of trie4 and trie6 less one; 0: that family is looked up in its LPM trie.
 */
struct xfib_config {
	__u32 slot;
	__u32 twin;
	__u64 hash_seed; /* of the multipath hash: the same in all programs of an instance */
	__u64 trie_mask[2];
};

/* What the twin returns: XDP action, verdict and the leaf id that decided (0 = none reached). */
#define XFIB_TWIN_RESULT(action, verdict, leaf) ((action) | (verdict) << 8 | (__u32)(leaf) << 16)
#define XFIB_TWIN_ACTION(r)  ((r) & 0xff)
#define XFIB_TWIN_VERDICT(r) ((r) >> 8 & 0xff)
#define XFIB_TWIN_LEAF(r)    ((r) >> 16)

/* --- ingress ------------------------------------------------------------------------------- */

#define XFIB_PORT_ENABLED (1u << 0)
#define XFIB_PORT_FRAGS	  (1u << 1) /* frames may span buffers: device MTU above 1500 */

/* ports[slot]: word. What the program of this slot needs before it looks at the frame. */
struct xfib_port {
	__u32 ifindex; /* the device this slot is attached to; compared with ctx->ingress_ifindex */
	__u16 l3if;    /* slot in l3ifs for untagged frames */
	__u16 flags;   /* XFIB_PORT_* */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct xfib_port) == 8, "one load");

#define XFIB_L3IF_IP4		(1u << 0) /* forward IPv4 that came in here */
#define XFIB_L3IF_IP6		(1u << 1)
#define XFIB_L3IF_EGRESS	(1u << 2) /* port up, attached, in the devmap, able to transmit XDP frames */
#define XFIB_L3IF_SG		(1u << 3) /* transmits frames of several buffers */
#define XFIB_L3IF_HAIRPIN	(1u << 4) /* IPv4 may leave where it came in: send_redirects is off */
#define XFIB_L3IF_RPF_LOOSE	(1u << 5) /* the IPv4 source must have a unicast route */
#define XFIB_L3IF_RPF_STRICT	(1u << 6) /* ... out of this very interface */
#define XFIB_L3IF_DEFRAG4	(1u << 7) /* the kernel puts fragments together before it looks at them */
#define XFIB_L3IF_DEFRAG6	(1u << 8)

/* l3ifs[slot]: slot. A device with addresses, as ingress and as egress. Slot 0 is never used. */
struct xfib_l3if {
	__u8 mac[6];
	__u16 port;   /* slot of the port that carries it */
	__u32 ifindex;
	__u16 mtu4;   /* largest IPv4 total length that may leave here */
	__u16 mtu6;   /* largest IPv6 payload length + 40 */
	__u16 vid;    /* 0: untagged */
	__u16 flags;  /* XFIB_L3IF_* */
	__u16 fib;
	__u16 reserved[5];
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct xfib_l3if) == 32, "half a cache line");

/* ctl: words. */
struct xfib_ctl {
	__u64 deadline; /* jiffies64; past it every frame goes to the kernel. 0: fast path off */
	__u64 reserved[7];
};

/* --- route: (fib, destination) -> leaf ----------------------------------------------------- */

/* Keys of the LPM tries. prefixlen counts the 32 bits of fib too. */
struct xfib_lpm4 {
	__u32 prefixlen;
	__u32 fib;
	__be32 addr;
};

struct xfib_lpm6 {
	__u32 prefixlen;
	__u32 fib;
	__be32 addr[4];
};
_Static_assert(sizeof(struct xfib_lpm4) == 12 && sizeof(struct xfib_lpm6) == 24, "no padding");

#define XFIB_LPM_FIB_BITS 32

/* Value of the tries: the leaf id in the low half; the table it came from in the high half, for people. */
#define XFIB_LEAF(value)       ((value) & 0xffff)
#define XFIB_LEAF_TABLE(value) ((value) >> 16) /* enum xfib_table */
#define XFIB_LEAF_VALUE(leaf, table) ((__u32)(table) << 16 | (leaf))

/*
 * The order in which the kernel's default rules ask the tables. MARKER: before all of them. OWN: own IPv4
 * addresses, for the case that somebody took their local routes away (see is_own_ip4()).
 */
enum xfib_table {
	XFIB_TABLE_MARKER, XFIB_TABLE_LOCAL, XFIB_TABLE_OWN, XFIB_TABLE_MAIN, XFIB_TABLE_DEFAULT,
	XFIB_TABLE_COUNT
};

/*
 * Leaf ids: 0 is what covers everything that has no longer prefix, the default route (so that its
 * change is one store): the next hop of id XFIB_NH_DEFAULT(fib, ip6). 1..63 are the verdicts of
 * that number. 64 and up are shared by adjacencies, connected and groups.
 */
#define XFIB_NH_FIRST	  64u
#define XFIB_NH_LAST	  (XFIB_NEXTHOPS - 2 * XFIB_FIBS - 1)
#define XFIB_NH_DEFAULT(fib, ip6) (XFIB_NEXTHOPS - 2 * XFIB_FIBS + 2 * (fib) + (ip6))

/* --- route, compiled: what the trie engine lays in memory --------------------------------------- */

/*
 * trie4, trie6: blocks, led to by entries; trie_roots[XFIB_TRIE_ROOT(fib, ip6)]: the entry of a whole FIB.
 * The maps have one element of the size that the table generation was made with, a power of two, and
 * XFIB_TRIE_PAD bytes; where a family has the lpm engine they are the pad alone. An entry is a word of 32 bits: a leaf id, or XFIB_TRIE_BLOCK | kind << 27 | number of the first unit. A walk
 * takes the address bits from the top, each block uses up some:
 *
 *   TABLE    2^bits entries, indexed by the next 4, 8, 12 or 16 bits         words
 *   LEAVES   2^bits leaf ids of 16 bits, indexed by the next 4, 8 or 12 bits words
 *   SKIP     struct xfib_trie_skip: compares the next `len` bits             slot, but for the word `inside`
 *   RECORD n n words of 64 bits, each two boundaries, then 2n + 1 leaf ids: ranges of the next 31 bits
 *            in order; leaf i is for the addresses from boundary i - 1 on    slot
 *
 * Boundaries are 31 bits in halves of a word whose top bits are zero, so that one subtraction compares
 * two; those that are not needed are 2^31. No record crosses a cache line.
 */
#define XFIB_TRIE_UNIT	16u
#define XFIB_TRIE_MAX	(1u << 27) /* bytes of a family */
#define XFIB_TRIE_PAD	128u	   /* that a record may be read beyond its first byte, as the verifier sees it */
#define XFIB_TRIE_ROOTS (2 * XFIB_FIBS)
#define XFIB_TRIE_ROOT(fib, ip6) (2 * (fib) + (ip6))
#define XFIB_TRIE_BLOCK (1u << 31)
#define XFIB_TRIE_KIND(entry) ((entry) >> 27 & 15)
#define XFIB_TRIE_OFFSET(entry) ((__u64)((entry) & 0x7ffffff) * XFIB_TRIE_UNIT)
#define XFIB_TRIE_ENTRY(kind, unit) (XFIB_TRIE_BLOCK | (__u32)(kind) << 27 | (unit))

enum xfib_trie_kind {
	XFIB_TRIE_TABLE, /* + bits / 4 - 1 */
	XFIB_TRIE_LEAVES = 4,
	XFIB_TRIE_SKIP = 8,
	XFIB_TRIE_RECORD = 10, /* + n, 1..XFIB_TRIE_RECORD_WORDS */
};
#define XFIB_TRIE_BITS(kind) (4 * ((kind) & 3) + 4) /* of TABLE and LEAVES */
#define XFIB_TRIE_BITS_MAX   16
#define XFIB_TRIE_RECORD_WORDS 5 /* 62 bytes */
#define XFIB_TRIE_RECORD_BITS  31

struct xfib_trie_skip {
	__u64 bits;    /* what is expected, from the top; behind len: zero */
	__u32 inside;  /* entry */
	__u16 outside; /* leaf id */
	__u16 len;     /* 1..63 */
};
_Static_assert(sizeof(struct xfib_trie_skip) == XFIB_TRIE_UNIT, "one unit");

/* --- next hop ------------------------------------------------------------------------------ */

enum xfib_nh_kind {
	XFIB_NH_VERDICT,   /* arg: enum xfib_verdict, a punt or a drop. The zero word punts: see below */
	XFIB_NH_ADJACENCY, /* arg: neighbour slot of the gateway */
	XFIB_NH_CONNECTED, /* arg: ifindex; the next hop is the destination itself */
	XFIB_NH_GROUP_L3,  /* arg: first bucket in members, count: number of buckets; hash on addresses */
	XFIB_NH_GROUP_L4,  /* ... on addresses, protocol and ports */
};

/*
 * nexthops[leaf id] and members[bucket]: word. An all-zero word means "not there" and punts
 * (XFIB_PUNT_RACE): verdict 0 is FORWARDED, which no next hop may claim. A bucket is never a group.
 */
struct xfib_nexthop {
	__u8 kind;     /* enum xfib_nh_kind */
	__u8 reserved;
	union {
		__u16 mtu;   /* ADJACENCY, CONNECTED: MTU of the route, 0xffff when it sets none */
		__u16 count; /* GROUP: 1..XFIB_GROUP_MAX */
	};
	__u32 arg;
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct xfib_nexthop) == 8, "one load");

/* --- neighbour ----------------------------------------------------------------------------- */

#define XFIB_NEIGH_L3IF	 0x1fffu /* bits of tag: l3if slot, 0 while the neighbour is not valid */
#define XFIB_NEIGH_WATCH 0x8000u /* note the use in hits: the kernel holds it for STALE */

struct xfib_lladdr {
	__u8 mac[6];
	__u16 tag;
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct xfib_lladdr) == 8, "one load");
_Static_assert(XFIB_L3IFS - 1 == XFIB_NEIGH_L3IF, "the tag holds an l3if slot");

/*
 * neighs[slot]: `lladdr` is a word; the key beside it is a slot (immutable while reachable).
 * Slot 0 is never used. IPv4 addresses stand in addr[0], the rest is zero.
 */
struct xfib_neigh {
	struct xfib_lladdr lladdr;
	__be32 addr[4];
	__u32 ifindex;
	__u32 ip6; /* 0: IPv4, 1: IPv6 */
};
_Static_assert(sizeof(struct xfib_neigh) == 32, "half a cache line");

/*
 * neigh4, neigh6: hash, key -> u32 neighbour slot. Elements are recycled under readers, so the
 * program compares the key of the slot that it was led to.
 */
struct xfib_neigh4_key {
	__be32 addr;
	__u32 ifindex;
};

struct xfib_neigh6_key {
	__be32 addr[4];
	__u32 ifindex;
};

/* hits[neighbour slot]: word, u32: jiffies64 >> XFIB_HIT_SHIFT when a watched entry last carried a packet. */
#define XFIB_HIT_SHIFT 8

/* own4: a filter of own IPv4 addresses, one bit a hash; a set bit asks the FIB. Words of 64 bits. */
static inline __u32 xfib_own4_bit(__be32 addr)
{
	return (__u32)addr * 0x9e3779b1u >> 16;
}

/* --- counters: per CPU, written by XDP only ------------------------------------------------- */

struct xfib_count {
	__u64 packets;
	__u64 bytes;
};

/* counters[ingress slot], per CPU. tx: handed to the devmap, by egress slot. */
struct xfib_counters {
	struct xfib_count verdict[XFIB_VERDICTS_MAX];
	struct xfib_count tx[XFIB_PORTS];
	__u64 queue[XFIB_QUEUES];
};

/* --- for people and programs in userspace; no packet reads these ---------------------------- */

#define XFIB_IFNAMSIZ 16
#define XFIB_REASON   160 /* one line for people */
#define XFIB_REASONS  (3 * XFIB_REASON + 32) /* ... for IPv4, IPv6 and egress, each named */
#define XFIB_ERROR    512 /* why something failed, and what to do about it */

/* meta: one element. Written once by the loader when the instance is made, except `generation`. */
struct xfib_meta {
	__u32 abi;	    /* XFIB_ABI of who made it */
	__u32 generation;   /* the table generation that is in use: directory gen-N */
	__u64 netns_cookie; /* SO_NETNS_COOKIE of the namespace that the instance belongs to */
	__u64 hash_seed;
	char version[32];
};

enum xfib_mode { XFIB_MODE_NATIVE, XFIB_MODE_SKB };
enum xfib_attach { XFIB_DETACHED, XFIB_ATTACH_DISPATCHER, XFIB_ATTACH_DIRECT };

/* intent[slot]: the wanted ports. Written by loader/ only, under its lock. ifname "" = free slot. */
struct xfib_intent {
	char ifname[XFIB_IFNAMSIZ];
	__u32 ifindex;	  /* where the program is attached now, 0: nowhere */
	__u32 prog_id;	  /* of the attached program */
	__u8 mode;	  /* enum xfib_mode that was asked for */
	__u8 attach;	  /* enum xfib_attach that the kernel granted */
	__u8 reserved[2];
	__u32 generation; /* the generation that the attached program reads */
	char error[XFIB_ERROR]; /* why it is not attached, "" if it is */
};

enum xfib_engine { XFIB_ENGINE_LPM, XFIB_ENGINE_TRIE };

enum xfib_sync { XFIB_SYNC_NONE, XFIB_SYNC_DUMPING, XFIB_SYNC_DIRTY, XFIB_SYNC_SYNCED };

struct xfib_table_status {
	__u64 entries;	     /* in the map (punt markers included) */
	__u64 capacity;
	__u64 bytes;	     /* kernel memory of the map, estimated by the engine */
	__u64 punt_markers;  /* prefixes kept in the kernel: unmodelled or for lack of room */
	__u64 overflow;	     /* ... of these, for lack of room */
};

struct xfib_l3if_status {
	__u32 ifindex; /* 0: end of the list */
	char ifname[XFIB_IFNAMSIZ];
	__u16 port;
	__u16 vid;
	__u16 fib;
	__u8 ip4;    /* bool: fast path on */
	__u8 ip6;
	__u8 egress; /* bool: other ports may send to it */
	__u8 reserved[3];
	char reason[XFIB_REASONS]; /* why one of them is off, "" if all are on */
};

/* status: one element, mmapable, written by the daemon. Odd seq: being written, read again. */
struct xfib_status {
	__u64 seq;
	__u64 beat_ns;	     /* CLOCK_MONOTONIC of the last turn that drained all sockets */
	__u64 hold_ms;
	__u32 pid;	     /* 0: no daemon */
	__u32 sync;	     /* enum xfib_sync */
	__u64 generation;    /* of the model: counts completed full dumps */
	__u64 resyncs;	     /* dumps after the first one */
	__u64 drift;	     /* differences that an audit found and repaired */
	__u64 synced_ms;     /* from the start of the daemon to synced for the first time */
	__u64 lag_us;	     /* longest time from reading a notification to publishing it, last second */
	struct xfib_table_status route4, route6, neigh, nexthop, member;
	__u8 engine4, engine6; /* enum xfib_engine */
	__u8 fast4, fast6;     /* bool: fast path on for the family */
	__u8 reserved[4];
	char reason4[4][XFIB_REASON]; /* why it is off, or what stays in the kernel although it is on */
	char reason6[4][XFIB_REASON];
	char daemon_version[32];
	struct xfib_l3if_status l3ifs[XFIB_L3IFS_MAX];
};

/*
 * Where things are pinned: XFIB_PIN_ROOT/NAME/ holds the instance's maps and links/IFNAME;
 * XFIB_PIN_ROOT/NAME/gen-N/ the tables and twin-SLOT programs of one generation.
 */
#define XFIB_PIN_ROOT "/sys/fs/bpf/xfib"
#define XFIB_RUN_ROOT "/run/xfib" /* NAME/lock, NAME/ports (touched when the intent changes) */

/* X(map, generation?): every pinned map; the pin has the map's name. */
#define XFIB_MAPS(X) \
	X(meta, 0) X(intent, 0) X(status, 0) X(ctl, 0) X(counters, 0) X(tx, 0) \
	X(ports, 1) X(l3ifs, 1) X(own4, 1) X(lpm4, 1) X(lpm6, 1) X(trie_roots, 1) X(trie4, 1) X(trie6, 1) \
	X(nexthops, 1) X(members, 1) \
	X(neighs, 1) X(neigh4, 1) X(neigh6, 1) X(hits, 1) X(grace, 1)

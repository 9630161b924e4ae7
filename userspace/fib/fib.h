/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compiles the model into rows of the maps: which leaf a prefix has, what stands in a next hop word,
 * which slot a neighbour has. Pure: rows go to a sink; no map and no clock is known here.
 *
 * The order of rows is the publication rule of abi.h: what is referred to comes before what refers to
 * it, a retired slot is used again only after a grace period. Changes of one prefix are published
 * longest prefix first and withdrawn shortest prefix first, so that no address ever falls through to
 * a shorter prefix that the kernel would not use for it.
 *
 *   events -> model -> (hooks) fib -> (sink) maps;   after each batch fib_commit()
 */
#pragma once

#include "abi.h"
#include "model/model.h"
#include "slots.h"

/* Rows, in the words of abi.h. All are absolute; a repeated row changes nothing. */
struct fib_sink {
	void (*port)(void *arg, __u32 slot, struct xfib_port port);
	void (*l3if)(void *arg, __u32 slot, const struct xfib_l3if *l3if);
	void (*tx)(void *arg, __u32 port, __u32 ifindex);   /* devmap entry; 0 removes */
	void (*own4)(void *arg, const __u64 words[XFIB_OWN_BITS / 64]);
	void (*nexthop)(void *arg, __u32 id, struct xfib_nexthop nexthop);
	/* ... of an id that no prefix leads to yet */
	void (*nexthop_new)(void *arg, __u32 id, struct xfib_nexthop nexthop);
	void (*member)(void *arg, __u32 bucket, struct xfib_nexthop nexthop);
	void (*neigh)(void *arg, __u32 slot, const struct xfib_neigh *neigh); /* the key; word zero */
	void (*lladdr)(void *arg, __u32 slot, struct xfib_lladdr lladdr);
	/* slot 0 deletes. A failed insert is reported as -ENOSPC or another -errno. */
	int (*neigh_index)(void *arg, const struct xfib_neigh *neigh, __u32 slot);
	/*
	 * May be queued until commit, or until a row that replaces something other than a prefix, which
	 * must not overtake them. What does not go in is told by fib_route_failed() before anything that
	 * was queued later is written; rows that come from there overtake the queue. When it is empty:
	 * fib_routes_written().
	 */
	void (*route)(void *arg, enum family family, __u32 fib, struct addr prefix, unsigned int len,
		      __u32 value);
	void (*route_del)(void *arg, enum family family, __u32 fib, struct addr prefix, unsigned int len);
	void (*commit)(void *arg);
};

/* What the loader attached where; set by the daemon. */
struct fib_port {
	__u32 ifindex; /* 0: no port */
	bool attached;
};

struct fib_default {
	__u64 word;	   /* as published */
	__u32 path;	   /* 0: none, the word is a verdict */
};

struct fib_family {
	__u32 capacity;
	__u32 installed;
	__u32 overflow;	   /* prefixes that found no room */
	__u32 shields;	   /* prefixes that are PASS markers because of them */
	bool freed;	   /* room or a marker may have become free since the last fib_heal() */
	__u32 by_table[XFIB_TABLE_COUNT]; /* nodes whose `first` is this table */
	__u32 by_verdict[XFIB_VERDICTS_MAX]; /* installed leaves that are verdicts */
	struct fib_default dflt;
	bool flush;	   /* usability of a path changed: look at every prefix at the next commit */
	bool ready;	   /* published at least once in full */
};

struct fib {
	struct model *m;
	const struct fib_sink *sink;
	void *sink_arg;
	bool drop_blackhole;
	struct fib_family family[FAMILIES];
	struct fib_port port[XFIB_PORTS];
	__u64 port_word[XFIB_PORTS];
	struct xfib_l3if *l3if;	     /* [XFIB_L3IFS], as published */
	struct xfib_nexthop *member; /* [XFIB_MEMBERS], as published */
	struct slots l3ifs, leaves, neighs;
	struct buddy members;
	struct path_change *changed; /* paths that are worked out and not published */
	__u32 changes, changed_size;
	struct failed_prefix *failed; /* that the map did not take, and may still have as they were */
	__u32 fails, failed_size;
	__u32 starved;	    /* paths without a leaf id */
	__u32 neigh_overflow;
	bool paths_short, neighs_short, l3ifs_short; /* some found no room: fib_heal() tries again */
	__u64 own4[XFIB_OWN_BITS / 64];
	struct adopted *adopted; /* what was in the maps before us and is not claimed yet */
	__u32 tx[XFIB_PORTS];	  /* the device that a port's devmap entry leads to, 0: none */
	__u64 tx_gone, tx_closed; /* ports whose devmap entry goes after the next, the pending grace period */
	bool started;	    /* the model was complete once; before that nothing is published */
	bool enabled;	    /* ports may be enabled */
};

int fib_init(struct fib *fib, struct model *m, const struct fib_sink *sink, void *sink_arg,
	     __u32 capacity4, __u32 capacity6);
void fib_done(struct fib *fib);

/* The hooks that keep a fib up to date; arg is the struct fib. */
extern const struct model_hooks fib_hooks;

/* The model is complete for the first time: publishes everything. Hooks do nothing before that. */
void fib_start(struct fib *fib);

/*
 * Publishes every prefix of a family that is not in the maps as it should be, in order: longest first
 * for what is added or changed, shortest first for what goes. After a dump of its routes.
 */
void fib_flush(struct fib *fib, enum family family);

/*
 * Ends a batch: publishes what depends on several changes, lets the sink write what it queued, then
 * parks what is no longer referred to.
 */
void fib_commit(struct fib *fib);

/* A port was attached, is gone (ifindex 0), or moved to another ifindex. */
void fib_set_port(struct fib *fib, unsigned int slot, __u32 ifindex, bool attached);

/* Everything is synced: ports are enabled from now on; or not any more. */
void fib_set_enabled(struct fib *fib, bool enabled);

/*
 * From the sink: the map did not take this prefix (full, no memory). What covers it becomes a marker at
 * once; the prefix, which may be in the map with an old leaf, is deleted when all is written.
 */
void fib_route_failed(struct fib *fib, enum family family, struct addr prefix, unsigned int len);
void fib_routes_written(struct fib *fib);

/* Tries again what found no room. Call it when something was freed, at most once a second. */
void fib_heal(struct fib *fib);
void fib_set_capacity(struct fib *fib, __u32 capacity4, __u32 capacity6);

/*
 * Grace period: begin returns true if there is something to wait for and no earlier one is pending;
 * after it has passed, end makes the slots that were retired before begin usable again.
 */
bool fib_grace_begin(struct fib *fib);
void fib_grace_end(struct fib *fib);

/* Why the fast path is off for an interface and family; "" if it is on. */
struct fib_reasons {
	char ip4[XFIB_REASON], ip6[XFIB_REASON], egress[XFIB_REASON];
};
void fib_link_reasons(const struct fib *fib, const struct link *link, struct fib_reasons *why);
/* ... for a whole family; false if it is on. */
bool fib_family_reason(const struct fib *fib, enum family family, char reason[static XFIB_REASON]);

/* Emits every row as it stands to another sink: a new generation is filled aside. */
void fib_replay(struct fib *fib, const struct fib_sink *sink, void *arg);

/*
 * Restart: the maps already hold rows, given here as they are. Neighbours keep their slots, equal next
 * hops their ids, equal interfaces theirs, so that nothing a packet uses is taken away. After the
 * first full flush fib_adopt_end() gives back what nobody claimed; stale prefixes are the caller's to
 * delete (fib_installed()).
 */
struct fib_maps {
	const struct xfib_port *ports;
	const struct xfib_l3if *l3ifs;
	const struct xfib_nexthop *nexthops, *members;
	const struct xfib_neigh *neighs;
};
int fib_adopt(struct fib *fib, const struct fib_maps *maps);
void fib_adopt_end(struct fib *fib);
bool fib_installed(const struct fib *fib, enum family family, struct addr prefix, unsigned int len);

/* --- between the files of this room --------------------------------------------------------- */

/* leaf.c */
void leaf_update(struct fib *fib, enum family family, __u32 node, __u8 above);
void leaf_default_publish(struct fib *fib, enum family family, struct xfib_nexthop word);
/* adjacency.c: the leaf id of a path, assigned and published when first asked for. */
__u32 path_leaf(struct fib *fib, struct path *path);
bool path_usable(struct fib *fib, struct path *path);
void path_update_all(struct fib *fib, __u32 ifindex); /* 0: every path */
void path_update_nexthop(struct fib *fib, __u32 id);
void path_reap(struct fib *fib);
void path_feed(struct fib *fib); /* what found no room tries again */
void neigh_feed(struct fib *fib);
void l3if_feed(struct fib *fib);
struct xfib_nexthop path_word(struct fib *fib, struct path *path);
/* neighbour.c */
struct xfib_neigh neigh_row(const struct neigh_key *key); /* without an address */
__u32 neigh_ref(struct fib *fib, struct neigh *neigh);
void neigh_unref(struct fib *fib, struct neigh *neigh);
void neigh_update(struct fib *fib, struct neigh *neigh);
void neigh_update_link(struct fib *fib, __u32 ifindex);
bool neigh_usable(const struct neigh *neigh);
/* l3if.c */
void l3if_update(struct fib *fib, struct link *link, bool gone);
void l3if_start(struct fib *fib);
void l3if_update_all(struct fib *fib);
void own4_update(struct fib *fib);
void tx_end(struct fib *fib); /* devmap entries whose grace period has passed */
/* adopt.c: 0 if nothing of the maps serves */
__u32 adopt_l3if(struct fib *fib, const struct xfib_l3if *record);
__u32 adopt_neigh(struct fib *fib, const struct neigh_key *key, __u64 *word);
__u32 adopt_nexthop(struct fib *fib, __u64 word);
void adopt_silence(struct fib *fib);
void adopted_free(struct adopted *adopted);

static inline __u64 nexthop_bits(struct xfib_nexthop nh)
{
	union { struct xfib_nexthop nh; __u64 word; } u = { .nh = nh };

	return u.word;
}

static inline struct xfib_nexthop nexthop_of_bits(__u64 word)
{
	union { __u64 word; struct xfib_nexthop nh; } u = { .word = word };

	return u.nh;
}

static inline struct xfib_nexthop nexthop_verdict_word(__u32 verdict)
{
	return (struct xfib_nexthop){ .kind = XFIB_NH_VERDICT, .arg = verdict };
}

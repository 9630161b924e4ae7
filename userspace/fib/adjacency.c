// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Paths -> next hop words. A path gets a leaf id when a prefix first needs it; its word is worked out
 * again whenever a link, a nexthop object or a setting that it depends on changes, and published by
 * one store: a changed next hop costs one word, whatever the number of its prefixes.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "fib.h"

/* One leg that the kernel would use, and its word. */
struct hop {
	struct xfib_nexthop word;
	__u32 weight;
};

/* A path being worked out. */
struct build {
	struct fib *fib;
	const struct path *path;
	__u32 verdict; /* not XFIB_FORWARDED: the whole path is this */
	unsigned int hops;
	bool lacking; /* there was no room for something */
	bool legs;    /* the path has legs at all, usable or not */
	struct hop hop[NEXTHOP_LEGS_MAX];
	unsigned int neighs;
	struct neigh *neigh[NEXTHOP_LEGS_MAX];
};

/* What RTN_* other than unicast means for a packet. */
static __u32 type_verdict(const struct fib *fib, __u8 type)
{
	switch (type) {
	case RTN_LOCAL:
		return XFIB_PUNT_LOCAL;
	case RTN_BROADCAST:
		return XFIB_PUNT_BROADCAST;
	case RTN_ANYCAST:
		return XFIB_PUNT_ANYCAST;
	case RTN_MULTICAST:
		return XFIB_PUNT_MULTICAST;
	case RTN_BLACKHOLE:
		return fib->drop_blackhole ? XFIB_DROP_BLACKHOLE : XFIB_PUNT_BLACKHOLE;
	case RTN_UNREACHABLE:
		return XFIB_PUNT_UNREACHABLE;
	case RTN_PROHIBIT:
		return XFIB_PUNT_PROHIBIT;
	case RTN_THROW:
		return XFIB_PUNT_THROW;
	case PATH_PROXY:
		return XFIB_PUNT_PROXY;
	case PATH_OWN:
		return XFIB_PUNT_LOCAL;
	default:
		return XFIB_PUNT_UNSUPPORTED_ROUTE;
	}
}

/*
 * fib_table_lookup() and rt6_score_route() skip a leg that is dead (device down) or without carrier where
 * ignore_routes_with_linkdown says so. A device that is not known yet counts as usable: PASS.
 */
static bool leg_dead(const struct link *link, enum family family)
{
	int ignore;

	if (!link)
		return false;
	ignore = family == IP4 ? link->ignore_linkdown4 : link->ignore_linkdown6;
	return !link->ev.up || (!link->ev.carrier && ignore > 0);
}

static struct xfib_nexthop leg_word(struct build *b, const struct path_leg *leg,
				    const struct link *link)
{
	struct xfib_nexthop word = { .mtu = 0xffff };
	struct neigh *neigh;
	__u32 slot;

	if (b->path->key.mtu && b->path->key.mtu < 0xffff)
		word.mtu = b->path->key.mtu;
	if (!link || link->fib.port < 0)
		return nexthop_verdict_word(XFIB_PUNT_NOT_A_PORT);
	if (!leg->has_gateway) {
		word.kind = XFIB_NH_CONNECTED;
		word.arg = leg->ifindex;
		return word;
	}
	neigh = model_neigh_get(b->fib->m, leg->gateway_family, leg->ifindex, leg->gateway);
	slot = neigh ? neigh_ref(b->fib, neigh) : 0;
	if (!slot) {
		b->lacking = true;
		return nexthop_verdict_word(XFIB_PUNT_CAPACITY);
	}
	b->neigh[b->neighs++] = neigh;
	word.kind = XFIB_NH_ADJACENCY;
	word.arg = slot;
	return word;
}

static void add_leg(struct build *b, const struct path_leg *leg, __u32 weight)
{
	const struct link *link = model_link(b->fib->m, leg->ifindex);

	b->legs = true;
	/* An IPv4 route goes whole with any device of it (fib_sync_down_dev()); IPv6 legs go one by one. */
	if (b->path->key.family == IP4 && (!link || link->reborn)) {
		b->verdict = XFIB_PUNT_NOT_A_PORT;
		return;
	}
	if (leg_dead(link, b->path->key.family))
		return;
	if (b->hops == NEXTHOP_LEGS_MAX) {
		b->verdict = XFIB_PUNT_UNSUPPORTED_ROUTE;
		return;
	}
	b->hop[b->hops++] = (struct hop){ .word = leg_word(b, leg, link), .weight = weight };
}

/* The leg of a nexthop object. IPv4 routes may have an IPv6 gateway, and the other way round not. */
static void add_nexthop(struct build *b, __u32 id, __u32 weight, bool in_group)
{
	const struct nexthop *nexthop = model_nexthop(b->fib->m, id);
	const struct nexthop_event *ev;
	struct path_leg leg = {};

	if (!nexthop) {
		/* Not told yet, or gone and its routes with it: the kernel knows. */
		b->verdict = XFIB_PUNT_DEAD_NEXTHOP;
		return;
	}
	ev = nexthop->ev;
	if (ev->group && !in_group && !ev->resilient && !ev->fdb && !ev->truncated) {
		for (unsigned int i = 0; i < ev->members; i++)
			add_nexthop(b, ev->member[i].id, ev->member[i].weight, true);
	} else if (ev->group || ev->fdb) {
		b->verdict = XFIB_PUNT_UNSUPPORTED_ROUTE;
	} else if (ev->blackhole) {
		b->verdict = type_verdict(b->fib, RTN_BLACKHOLE);
	} else if (ev->leg.encap) {
		b->verdict = XFIB_PUNT_ENCAP;
	} else {
		leg.ifindex = ev->leg.ifindex;
		leg.has_gateway = ev->leg.has_gateway;
		leg.gateway_family = ev->leg.gateway_family;
		leg.gateway = ev->leg.gateway;
		add_leg(b, &leg, weight);
	}
}

static void build(struct build *b, struct fib *fib, const struct path *path)
{
	const struct path_key *key = &path->key;

	b->fib = fib;
	b->path = path;
	b->verdict = XFIB_FORWARDED;
	b->hops = b->neighs = 0;
	b->legs = b->lacking = false;
	if (key->type != RTN_UNICAST)
		b->verdict = type_verdict(fib, key->type);
	else if (key->encap)
		b->verdict = XFIB_PUNT_ENCAP;
	else if (!key->modelled || (!key->nhid && !key->legs))
		b->verdict = XFIB_PUNT_UNSUPPORTED_ROUTE;
	else if (key->nhid)
		add_nexthop(b, key->nhid, 1, false);
	else
		for (__u32 i = 0; i < key->legs; i++)
			add_leg(b, &key->leg[i], key->leg[i].weight);
}

/* --- groups ------------------------------------------------------------------------------------ */

static __u32 gcd(__u32 a, __u32 b)
{
	return b ? gcd(b, a % b) : a;
}

/*
 * Buckets for each hop, by weight: exact if the weights' sum over their common divisor fits,
 * else to the nearest of XFIB_GROUP_MAX, at least one each. Returns the sum.
 */
static __u32 share_buckets(const struct build *b, __u32 *buckets)
{
	__u64 total = 0, before = 0;
	__u32 divisor = 0, sum = 0;

	for (unsigned int i = 0; i < b->hops; i++) {
		total += b->hop[i].weight;
		divisor = gcd(b->hop[i].weight, divisor);
	}
	if (total / divisor <= XFIB_GROUP_MAX) {
		for (unsigned int i = 0; i < b->hops; i++)
			sum += buckets[i] = b->hop[i].weight / divisor;
		return sum;
	}
	for (unsigned int i = 0; i < b->hops; i++) {
		/* Rounded at the borders, as the kernel's upper bounds are (fib_rebalance()). */
		__u64 room = XFIB_GROUP_MAX - b->hops;
		__u64 end = (before + b->hop[i].weight) * room / total;

		buckets[i] = 1 + end - before * room / total;
		before += b->hop[i].weight;
		sum += buckets[i];
	}
	return sum;
}

static bool hops_alike(const struct build *b)
{
	for (unsigned int i = 1; i < b->hops; i++)
		if (nexthop_bits(b->hop[i].word) != nexthop_bits(b->hop[0].word))
			return false;
	return true;
}

/* Policies above 1 hash on what we do not look at, or on neighbours' states. */
static bool policy_known(const struct fib *fib, enum family family)
{
	const struct settings *s = &fib->m->settings;

	return family == IP4 ? s->hash_policy4 <= 1 && !s->fib_multipath_use_neigh
			     : s->hash_policy6 <= 1;
}

static bool is_group(struct xfib_nexthop nh)
{
	return nh.kind == XFIB_NH_GROUP_L3 || nh.kind == XFIB_NH_GROUP_L4;
}

/* Whether the path's buckets are these already. */
static bool same_buckets(const struct build *b, struct xfib_nexthop old, const __u32 *buckets)
{
	__u32 at = old.arg;

	for (unsigned int i = 0; i < b->hops; i++)
		for (__u32 n = 0; n < buckets[i]; n++, at++)
			if (nexthop_bits(b->fib->member[at]) != nexthop_bits(b->hop[i].word))
				return false;
	return true;
}

/* A bucket list in fresh members, unless it is the old one; *first, *order tell where. */
static struct xfib_nexthop group_word(struct build *b, __u32 *first, __u8 *order)
{
	struct fib *fib = b->fib;
	enum family family = b->path->key.family;
	int policy = family == IP4 ? fib->m->settings.hash_policy4 : fib->m->settings.hash_policy6;
	__u8 kind = policy ? XFIB_NH_GROUP_L4 : XFIB_NH_GROUP_L3;
	struct xfib_nexthop old = nexthop_of_bits(b->path->fib.word);
	__u32 buckets[NEXTHOP_LEGS_MAX], count = share_buckets(b, buckets), at;

	*order = buddy_order(count);
	*first = b->path->fib.buckets;
	if (old.kind == kind && old.count == count && same_buckets(b, old, buckets))
		return old;
	*first = buddy_get(&fib->members, *order);
	if (*first == BUDDY_NONE) {
		b->lacking = true;
		return nexthop_verdict_word(XFIB_PUNT_CAPACITY);
	}
	at = *first;
	for (unsigned int i = 0; i < b->hops; i++)
		for (__u32 n = 0; n < buckets[i]; n++, at++) {
			fib->member[at] = b->hop[i].word;
			fib->sink->member(fib->sink_arg, at, b->hop[i].word);
		}
	return (struct xfib_nexthop){ .kind = kind, .count = count, .arg = *first };
}

/* --- the path's state --------------------------------------------------------------------------- */

static struct xfib_nexthop word_of(struct build *b, __u32 *first, __u8 *order)
{
	if (b->verdict != XFIB_FORWARDED)
		return nexthop_verdict_word(b->verdict);
	if (!b->hops)
		return nexthop_verdict_word(XFIB_PUNT_DEAD_NEXTHOP);
	if (hops_alike(b))
		return b->hop[0].word;
	if (!policy_known(b->fib, b->path->key.family))
		return nexthop_verdict_word(XFIB_PUNT_HASH_POLICY);
	return group_word(b, first, order);
}

static void release(struct fib *fib, struct neigh **neigh, __u32 neighs)
{
	for (__u32 i = 0; i < neighs; i++)
		neigh_unref(fib, neigh[i]);
	free(neigh);
}

static void retire_group(struct fib *fib, __u64 word, __u32 first, __u8 order)
{
	if (is_group(nexthop_of_bits(word)))
		buddy_retire(&fib->members, first, order);
}

static void publish_word(struct fib *fib, const struct path *path, struct xfib_nexthop word)
{
	/* A queued prefix that finds no room makes the default a marker, which is no path's then. */
	fib->sink->commit(fib->sink_arg);
	if (path->fib.leaf >= XFIB_NH_FIRST)
		fib->sink->nexthop(fib->sink_arg, path->fib.leaf, word);
	for (int f = 0; f < FAMILIES; f++)
		if (fib->family[f].ready && fib->family[f].dflt.path == path->index)
			leaf_default_publish(fib, f, word);
}

/* What a path was before it was worked out again; as published, until publish_changes(). */
struct path_change {
	struct path *path;
	__u64 word;
	struct neigh **neigh;
	__u32 neighs, buckets;
	__u8 order;
	bool usable;
	bool done;
};

static void forget(struct fib *fib, const struct path_change *was)
{
	retire_group(fib, was->word, was->buckets, was->order);
	release(fib, was->neigh, was->neighs);
}

static void remember(struct fib *fib, const struct path_change *was)
{
	struct path *path = was->path;
	struct path_change *list = fib->changed;

	if (path->fib.changed) {
		forget(fib, was); /* this was never published */
		return;
	}
	if (fib->changes == fib->changed_size) {
		__u32 size = fib->changed_size ? 2 * fib->changed_size : 64;

		list = realloc(fib->changed, size * sizeof(*list));
		if (!list) {
			publish_word(fib, path, nexthop_of_bits(path->fib.word));
			forget(fib, was);
			return;
		}
		fib->changed = list;
		fib->changed_size = size;
	}
	list[fib->changes++] = *was;
	path->fib.changed = true;
}

/* The path holds what was referred to while it was built. False: no memory, and it holds nothing. */
static bool hold_neighs(struct fib *fib, struct path *path, const struct build *b)
{
	path->fib.neigh = malloc((b->neighs ? b->neighs : 1) * sizeof(*path->fib.neigh));
	path->fib.neighs = path->fib.neigh ? b->neighs : 0;
	if (path->fib.neigh) {
		memcpy(path->fib.neigh, b->neigh, b->neighs * sizeof(*path->fib.neigh));
		return true;
	}
	for (unsigned int i = 0; i < b->neighs; i++)
		neigh_unref(fib, b->neigh[i]);
	return false;
}

/* Works the path out again. New references are taken before old ones go. */
static void path_update(struct fib *fib, struct path *path)
{
	static struct build b; /* too large for the stack; this room has one thread */
	const struct path_change was = {
		.path = path,
		.word = path->fib.word,
		.neigh = path->fib.neigh,
		.neighs = path->fib.neighs,
		.buckets = path->fib.buckets,
		.order = path->fib.order,
		.usable = path->fib.usable,
	};
	bool was_ready = path->fib.ready;
	struct xfib_nexthop word;
	__u32 first = 0;
	__u8 order = 0;

	build(&b, fib, path);
	word = word_of(&b, &first, &order);
	if (!hold_neighs(fib, path, &b)) {
		if (nexthop_bits(word) != was.word)
			retire_group(fib, nexthop_bits(word), first, order);
		word = nexthop_verdict_word(XFIB_PUNT_CAPACITY);
	}
	path->fib.lacking = b.lacking;
	fib->paths_short |= b.lacking;
	path->fib.ready = true;
	path->fib.usable = b.verdict != XFIB_FORWARDED || b.hops || !b.legs;
	path->fib.word = nexthop_bits(word);
	path->fib.buckets = first;
	path->fib.order = order;
	if (!was_ready)
		return;
	if (was.usable != path->fib.usable)
		fib->family[path->key.family].flush = true;
	if (path->fib.word != was.word)
		remember(fib, &was);
	else
		release(fib, was.neigh, was.neighs);
}

/* Whether a packet by word b goes nowhere that one by word a would not. */
static bool covers(const struct fib *fib, struct xfib_nexthop a, struct xfib_nexthop b)
{
	const struct xfib_nexthop *in = is_group(a) ? &fib->member[a.arg] : &a;
	const struct xfib_nexthop *of = is_group(b) ? &fib->member[b.arg] : &b;
	__u32 ins = is_group(a) ? a.count : 1, ofs = is_group(b) ? b.count : 1;

	for (__u32 i = 0; i < ofs; i++) {
		bool found = of[i].kind == XFIB_NH_VERDICT && of[i].arg != XFIB_DROP_BLACKHOLE;

		if (i && nexthop_bits(of[i]) == nexthop_bits(of[i - 1]))
			continue;
		for (__u32 j = 0; j < ins && !found; j++)
			found = nexthop_bits(of[i]) == nexthop_bits(in[j]);
		if (!found)
			return false;
	}
	return true;
}

/*
 * Publishes all that path_update() has changed. Prefixes that are shown or hidden by it move from one
 * path to another; on the way they must meet neither what the first one becomes nor what the second one
 * was. So legs that go do so before, legs that come after, and a path with both is the kernel's meanwhile.
 */
static void publish_changes(struct fib *fib)
{
	bool flush = fib->family[IP4].flush || fib->family[IP6].flush;

	for (__u32 i = 0; i < fib->changes; i++) {
		struct path_change *c = &fib->changed[i];
		struct xfib_nexthop was = nexthop_of_bits(c->word),
				    now = nexthop_of_bits(c->path->fib.word);

		c->done = !flush || !c->usable || covers(fib, was, now);
		if (c->done)
			publish_word(fib, c->path, now);
		else if (!covers(fib, now, was))
			publish_word(fib, c->path, nexthop_verdict_word(XFIB_PUNT_RACE));
	}
	for (int f = 0; f < FAMILIES; f++)
		if (fib->family[f].flush)
			fib_flush(fib, f);
	for (__u32 i = 0; i < fib->changes; i++) {
		struct path_change *c = &fib->changed[i];

		if (!c->done)
			publish_word(fib, c->path, nexthop_of_bits(c->path->fib.word));
		c->path->fib.changed = false;
		forget(fib, c);
	}
	fib->changes = 0;
}

static void path_ready(struct fib *fib, struct path *path)
{
	if (!path->fib.ready)
		path_update(fib, path);
}

bool path_usable(struct fib *fib, struct path *path)
{
	path_ready(fib, path);
	return path->fib.usable;
}

struct xfib_nexthop path_word(struct fib *fib, struct path *path)
{
	path_ready(fib, path);
	return nexthop_of_bits(path->fib.word);
}

/*
 * Routes of a type that is a verdict for good share the verdict's own leaf; a path whose word may
 * become another one has an id of its own.
 */
__u32 path_leaf(struct fib *fib, struct path *path)
{
	struct xfib_nexthop word = path_word(fib, path);

	if (path->key.type != RTN_UNICAST || path->key.encap || !path->key.modelled)
		return word.arg;
	if (path->fib.leaf)
		return path->fib.leaf;
	path->fib.leaf = adopt_nexthop(fib, path->fib.word);
	if (path->fib.leaf) {
		publish_word(fib, path, word);
		return path->fib.leaf;
	}
	path->fib.leaf = slots_get(&fib->leaves);
	if (!path->fib.leaf) {
		if (!path->fib.starved)
			fib->starved++;
		path->fib.starved = true;
		return XFIB_PUNT_CAPACITY;
	}
	fib->sink->nexthop_new(fib->sink_arg, path->fib.leaf, word);
	return path->fib.leaf;
}

/* Paths that lack a neighbour slot or buckets. */
static void feed_short(struct fib *fib)
{
	if (!fib->paths_short)
		return;
	fib->paths_short = false;
	for (__u32 i = 1; i < fib->m->paths.used; i++) {
		struct path *path = path_at(&fib->m->paths, i);

		if (path && path->fib.ready && path->fib.lacking)
			path_update(fib, path);
	}
	publish_changes(fib);
}

void path_feed(struct fib *fib)
{
	feed_short(fib);
	if (!fib->starved || fib->leaves.live > fib->leaves.last - fib->leaves.first)
		return;
	/* The flush asks for the leaf of every path again, in the order of the prefixes. */
	for (__u32 i = 1; i < fib->m->paths.used; i++) {
		struct path *path = path_at(&fib->m->paths, i);

		if (path && path->fib.starved) {
			path->fib.starved = false;
			fib->starved--;
			fib->family[path->key.family].flush = true;
		}
	}
}

static bool nexthop_uses_link(const struct fib *fib, __u32 id, __u32 ifindex)
{
	const struct nexthop *nexthop = model_nexthop(fib->m, id);

	if (!nexthop)
		return false;
	if (!nexthop->ev->group)
		return (__u32)nexthop->ev->leg.ifindex == ifindex;
	for (unsigned int i = 0; i < nexthop->ev->members; i++) {
		const struct nexthop *member = model_nexthop(fib->m, nexthop->ev->member[i].id);

		if (member && (__u32)member->ev->leg.ifindex == ifindex)
			return true;
	}
	return false;
}

static bool path_uses_link(const struct fib *fib, const struct path *path, __u32 ifindex)
{
	if (path->key.nhid)
		return nexthop_uses_link(fib, path->key.nhid, ifindex);
	for (__u32 i = 0; i < path->key.legs; i++)
		if (path->key.leg[i].ifindex == ifindex)
			return true;
	return false;
}

void path_update_all(struct fib *fib, __u32 ifindex)
{
	for (__u32 i = 1; i < fib->m->paths.used; i++) {
		struct path *path = path_at(&fib->m->paths, i);

		if (path && path->fib.ready && (!ifindex || path_uses_link(fib, path, ifindex)))
			path_update(fib, path);
	}
	publish_changes(fib);
}

/* Whether the path's nexthop object is this one, or a group with it. */
static bool path_uses_nexthop(const struct fib *fib, const struct path *path, __u32 id)
{
	const struct nexthop *nexthop;

	if (!path->key.nhid || path->key.nhid == id)
		return path->key.nhid == id;
	nexthop = model_nexthop(fib->m, path->key.nhid);
	if (!nexthop || !nexthop->ev->group)
		return false;
	for (unsigned int i = 0; i < nexthop->ev->members; i++)
		if (nexthop->ev->member[i].id == id)
			return true;
	return false;
}

void path_update_nexthop(struct fib *fib, __u32 id)
{
	for (__u32 i = 1; i < fib->m->paths.used; i++) {
		struct path *path = path_at(&fib->m->paths, i);

		if (path && path->fib.ready && path_uses_nexthop(fib, path, id))
			path_update(fib, path);
	}
	publish_changes(fib);
}

void path_reap(struct fib *fib)
{
	struct path *path = fib->m->paths.parked, *next;

	/* Prefixes that wait to be published still lead to paths that they have no more. */
	if (fib->m->rib[IP4].dirty || fib->m->rib[IP6].dirty)
		return;
	fib->m->paths.parked = NULL;
	for (; path; path = next) {
		next = path->parked;
		path->is_parked = false;
		if (path->refs)
			continue;
		if (path->fib.leaf >= XFIB_NH_FIRST) {
			/* A packet that read this leaf a moment ago goes to the kernel. */
			fib->sink->nexthop(fib->sink_arg, path->fib.leaf, (struct xfib_nexthop){});
			slots_retire(&fib->leaves, path->fib.leaf);
		}
		if (path->fib.starved)
			fib->starved--;
		if (path->fib.ready)
			retire_group(fib, path->fib.word, path->fib.buckets, path->fib.order);
		release(fib, path->fib.neigh, path->fib.neighs);
		path_free(&fib->m->paths, path);
	}
}

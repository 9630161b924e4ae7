// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Prefixes -> leaves. One composed FIB holds what the kernel's default rules ask in turn (markers,
 * local, main, default): a prefix is installed unless a shorter or equal one of an earlier table
 * covers it, because that table then answers whatever the prefix length.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "fib.h"

static struct rib *rib_of(struct fib *fib, enum family family)
{
	return &fib->m->rib[family];
}

/* The route that the kernel would use: the first usable one. 0: the prefix does not count at all. */
static __u32 winner(struct fib *fib, const struct rib *rib, __u32 node)
{
	__u32 r = rib->node[node].routes;

	while (r && !path_usable(fib, path_at(&fib->m->paths, rib->route[r].path)))
		r = rib->route[r].next;
	return r;
}

/* Routes of the winning table that look at more than the destination make the prefix undecidable. */
static bool selective(const struct rib *rib, __u32 node, __u8 table)
{
	for (__u32 r = rib->node[node].routes; r; r = rib->route[r].next)
		if (rib->route[r].table == table && rib->route[r].selector)
			return true;
	return false;
}

/*
 * What netlink does not tell enough about. As long as there never was a rule but the default ones, the
 * kernel searches local and main as one IPv4 trie (fib_trie_table()), where a longer prefix of main
 * wins: no matter for routes that punt, and others are not usual in local. Of several IPv6 routes of
 * one metric that are no siblings it takes the one of the highest preference (find_rr_leaf()).
 */
static bool undecidable(const struct fib *fib, const struct rib *rib, __u32 node, __u32 route)
{
	const struct rib_route *r = &rib->route[route];
	__u8 type = path_at(&fib->m->paths, r->path)->key.type;

	if (rib->family == IP4)
		return r->table == XFIB_TABLE_LOCAL &&
		       (type == RTN_UNICAST || type == RTN_BLACKHOLE);
	for (__u32 i = rib->node[node].routes; i; i = rib->route[i].next)
		if (i != route && rib->route[i].table == r->table &&
		    rib->route[i].priority == r->priority)
			return true;
	return false;
}

static void set_first(struct fib *fib, enum family family, struct rib_node *node, __u8 first)
{
	if (node->first < XFIB_TABLE_COUNT)
		fib->family[family].by_table[node->first]--;
	if (first < XFIB_TABLE_COUNT)
		fib->family[family].by_table[first]++;
	node->first = first;
}

static __u8 first_table(struct fib *fib, const struct rib *rib, __u32 node)
{
	__u32 r = winner(fib, rib, node);

	return r ? rib->route[r].table : RIB_NO_TABLE;
}

static bool visible(const struct rib_node *node, __u8 above)
{
	return node->first != RIB_NO_TABLE && node->first <= above;
}

/*
 * The leaf of a visible prefix. Between the change of a link and the flush that follows it, `first` may
 * speak of routes that have just become unusable.
 */
static __u32 leaf_of(struct fib *fib, const struct rib *rib, __u32 node)
{
	__u32 route = winner(fib, rib, node);

	if (selective(rib, node, rib->node[node].first))
		return XFIB_PUNT_SELECTIVE_ROUTE;
	if (!route)
		return XFIB_PUNT_DEAD_NEXTHOP;
	if (undecidable(fib, rib, node, route))
		return XFIB_PUNT_UNSUPPORTED_ROUTE;
	return path_leaf(fib, path_at(&fib->m->paths, rib->route[route].path));
}

static void count_leaf(struct fib_family *ff, __u32 value, int n)
{
	__u32 leaf = XFIB_LEAF(value);

	if (leaf < XFIB_NH_FIRST)
		ff->by_verdict[leaf] += n;
}

/* --- the default route: leaf 0 ---------------------------------------------------------------- */

/* What leaf 0 stands for; *path is 0 if it is no path. */
static struct xfib_nexthop default_word(struct fib *fib, const struct rib *rib, __u32 *path)
{
	const struct rib_node *root = &rib->node[RIB_ROOT];
	__u32 route = winner(fib, rib, RIB_ROOT);

	*path = 0;
	if (root->shield)
		return nexthop_verdict_word(XFIB_PUNT_CAPACITY);
	if (!route)
		return nexthop_verdict_word(XFIB_PUNT_NO_ROUTE);
	if (selective(rib, RIB_ROOT, root->first))
		return nexthop_verdict_word(XFIB_PUNT_SELECTIVE_ROUTE);
	if (undecidable(fib, rib, RIB_ROOT, route))
		return nexthop_verdict_word(XFIB_PUNT_UNSUPPORTED_ROUTE);
	*path = rib->route[route].path;
	return path_word(fib, path_at(&fib->m->paths, *path));
}

void leaf_default_publish(struct fib *fib, enum family family, struct xfib_nexthop word)
{
	struct fib_family *ff = &fib->family[family];

	if (ff->ready && ff->dflt.word == nexthop_bits(word))
		return;
	ff->dflt.word = nexthop_bits(word);
	fib->sink->nexthop(fib->sink_arg, XFIB_NH_DEFAULT(0, family == IP6), word);
}

static void leaf_default_changed(struct fib *fib, enum family family)
{
	struct fib_family *ff = &fib->family[family];
	struct xfib_nexthop word;

	/* A queued prefix that finds no room makes this a marker: before, not while it is written. */
	fib->sink->commit(fib->sink_arg);
	word = default_word(fib, rib_of(fib, family), &ff->dflt.path);
	leaf_default_publish(fib, family, word);
}

/* --- overflow: a prefix without room must not fall through to a shorter one -------------------- */

/* Whether an overflowed prefix below would be caught by this node, with no installed one between. */
static bool catches_overflow(const struct rib *rib, __u32 node)
{
	for (int i = 0; i < 2; i++) {
		__u32 child = rib->node[node].child[i];

		if (child && (rib->node[child].overflow ||
			      (!rib->node[child].installed && catches_overflow(rib, child))))
			return true;
	}
	return false;
}

static void set_shield(struct fib_family *ff, struct rib_node *n, bool shield)
{
	ff->shields += (int)shield - n->shield;
	n->shield = shield;
}

static void clear_overflow(struct fib_family *ff, struct rib_node *n)
{
	if (!n->overflow)
		return;
	n->overflow = 0;
	ff->overflow--;
	ff->freed = true;
}

static void publish(struct fib *fib, enum family family, __u32 node)
{
	struct fib_family *ff = &fib->family[family];
	struct rib *rib = rib_of(fib, family);
	struct rib_node *n = &rib->node[node];
	__u32 leaf = n->shield ? XFIB_PUNT_CAPACITY : leaf_of(fib, rib, node), value;

	/* A new leaf lets the sink write: some prefix, even this one, may have found no room just now. */
	if (!n->installed)
		set_shield(ff, n, ff->overflow && catches_overflow(rib, node));
	clear_overflow(ff, n);
	value = XFIB_LEAF_VALUE(n->shield ? XFIB_PUNT_CAPACITY : leaf, n->first);
	if (n->installed && n->published == value)
		return;
	if (n->installed)
		count_leaf(ff, n->published, -1);
	else
		ff->installed++;
	count_leaf(ff, value, 1);
	n->changed = n->installed;
	n->installed = 1;
	n->published = value;
	fib->sink->route(fib->sink_arg, family, 0, n->prefix, n->len, value);
}

/* The longest installed prefix that covers this one (the root always does) becomes a PASS marker. */
static void shield_above(struct fib *fib, enum family family, struct addr prefix, unsigned int len)
{
	struct rib *rib = rib_of(fib, family);
	__u32 n = RIB_ROOT, best = RIB_ROOT;

	while (n && rib->node[n].len < len &&
	       prefix_covers(rib->node[n].prefix, rib->node[n].len, prefix)) {
		if (rib->node[n].installed)
			best = n;
		n = rib->node[n].child[addr_bit(prefix, rib->node[n].len)];
	}
	if (rib->node[best].shield)
		return;
	set_shield(&fib->family[family], &rib->node[best], true);
	if (best != RIB_ROOT) {
		publish(fib, family, best);
		return;
	}
	fib->family[family].dflt.path = 0;
	leaf_default_publish(fib, family, nexthop_verdict_word(XFIB_PUNT_CAPACITY));
}

static void set_overflow(struct fib *fib, enum family family, __u32 node)
{
	struct rib_node *n = &rib_of(fib, family)->node[node];

	if (n->overflow)
		return;
	n->overflow = 1;
	fib->family[family].overflow++;
	shield_above(fib, family, n->prefix, n->len);
}

/* --- one prefix -------------------------------------------------------------------------------- */

static void install(struct fib *fib, enum family family, __u32 node)
{
	struct fib_family *ff = &fib->family[family];
	const struct rib_node *n = &rib_of(fib, family)->node[node];

	if (!n->installed && ff->installed >= ff->capacity)
		set_overflow(fib, family, node);
	else
		publish(fib, family, node);
}

static void withdraw(struct fib *fib, enum family family, __u32 node)
{
	struct fib_family *ff = &fib->family[family];
	struct rib *rib = rib_of(fib, family);
	struct rib_node *n = &rib->node[node];

	/* What finds no room below is to be known while this prefix still covers it. */
	fib->sink->commit(fib->sink_arg);
	clear_overflow(ff, n);
	if (!n->installed)
		return;
	n->installed = 0; /* so that a prefix above is shielded, not this one */
	if (n->shield)
		shield_above(fib, family, n->prefix, n->len);
	set_shield(ff, n, false);
	ff->installed--;
	ff->freed = true;
	count_leaf(ff, n->published, -1);
	fib->sink->route_del(fib->sink_arg, family, 0, n->prefix, n->len);
}

static void visit_install(struct rib *rib, __u32 node, __u8 above, void *arg)
{
	if (node != RIB_ROOT && visible(&rib->node[node], above))
		install(arg, rib->family, node);
}

static void visit_withdraw(struct rib *rib, __u32 node, __u8 above, void *arg)
{
	struct rib_node *n = &rib->node[node];

	if (node != RIB_ROOT && (n->installed || n->overflow) && !visible(n, above))
		withdraw(arg, rib->family, node);
}

/* Whether prefixes below may be hidden or shown by a change of `first` from a to b. */
static bool hides(const struct fib_family *ff, __u8 a, __u8 b)
{
	for (__u8 t = (a < b ? a : b) + 1; t < XFIB_TABLE_COUNT; t++)
		if (ff->by_table[t])
			return true;
	return false;
}

void leaf_update(struct fib *fib, enum family family, __u32 node, __u8 above)
{
	struct fib_family *ff = &fib->family[family];
	struct rib *rib = rib_of(fib, family);
	__u8 before = rib->node[node].first, first = first_table(fib, rib, node);

	bool walk = before != first && hides(ff, before, first);

	set_first(fib, family, &rib->node[node], first);
	if (walk)
		rib_walk(rib, node, RIB_POST, visit_install, above, fib);
	else
		visit_install(rib, node, above, fib);
	if (node == RIB_ROOT)
		leaf_default_changed(fib, family);
	if (walk)
		rib_walk(rib, node, RIB_PRE, visit_withdraw, above, fib);
	else
		visit_withdraw(rib, node, above, fib);
}

/* --- all prefixes ------------------------------------------------------------------------------ */

/* What a dump under way has changed waits for its end: without the rest it may lead astray. */
static bool waits(const struct fib *fib, const struct rib *rib, __u32 node)
{
	return rib->node[node].dirty && model_routes_partial(fib->m, rib->family);
}

static void visit_first(struct rib *rib, __u32 node, __u8 above, void *arg)
{
	if (waits(arg, rib, node))
		return;
	set_first(arg, rib->family, &rib->node[node], first_table(arg, rib, node));
	rib->node[node].dirty = 0;
}

static void visit_flush(struct rib *rib, __u32 node, __u8 above, void *arg)
{
	if (!waits(arg, rib, node))
		visit_install(rib, node, above, arg);
}

void fib_flush(struct fib *fib, enum family family)
{
	struct rib *rib = rib_of(fib, family);

	rib_walk(rib, RIB_ROOT, RIB_PRE, visit_first, RIB_NO_TABLE, fib);
	rib_walk(rib, RIB_ROOT, RIB_POST, visit_flush, RIB_NO_TABLE, fib);
	if (!waits(fib, rib, RIB_ROOT))
		leaf_default_changed(fib, family);
	rib_walk(rib, RIB_ROOT, RIB_PRE, visit_withdraw, RIB_NO_TABLE, fib);
	rib->dirty &= model_routes_partial(fib->m, family);
	rib_compact(rib);
	fib->family[family].flush = false;
	fib->family[family].ready = true;
}

bool fib_installed(const struct fib *fib, enum family family, struct addr prefix, unsigned int len)
{
	__u32 node = rib_node_find(&fib->m->rib[family], prefix, len, NULL);

	return node && fib->m->rib[family].node[node].installed;
}

/* --- what the map did not take -------------------------------------------------------------------- */

struct failed_prefix {
	enum family family;
	struct addr prefix;
	unsigned int len;
};

static void remember_failed(struct fib *fib, enum family family, struct addr prefix,
			    unsigned int len)
{
	struct failed_prefix *list = fib->failed;

	if (fib->fails == fib->failed_size) {
		fib->failed_size = fib->failed_size ? 2 * fib->failed_size : 64;
		list = realloc(list, fib->failed_size * sizeof(*list));
		if (!list)
			abort(); /* a prefix that has an old leaf, and nobody knows, would misroute */
		fib->failed = list;
	}
	list[fib->fails++] = (struct failed_prefix){ family, prefix, len };
}

void fib_route_failed(struct fib *fib, enum family family, struct addr prefix, unsigned int len)
{
	struct fib_family *ff = &fib->family[family];
	struct rib *rib = rib_of(fib, family);
	__u32 node = rib_node_find(rib, prefix, len, NULL);
	struct rib_node *n = &rib->node[node];

	if (!node || !n->installed)
		return;
	n->installed = 0;
	set_shield(ff, n, false);
	ff->installed--;
	/* Kernels before 6.13 refuse new values when full: its old leaf, which goes, made room. */
	ff->freed |= n->changed;
	count_leaf(ff, n->published, -1);
	set_overflow(fib, family, node);
	remember_failed(fib, family, prefix, len);
}

static int by_length(const void *a, const void *b)
{
	const struct failed_prefix *x = a, *y = b;

	return (int)x->len - (int)y->len;
}

/* Shortest first, as all that is withdrawn. */
void fib_routes_written(struct fib *fib)
{
	_cleanup_free_ struct failed_prefix *list = fib->failed;
	__u32 n = fib->fails;

	/* To delete is to write. */
	fib->failed = NULL;
	fib->fails = fib->failed_size = 0;
	if (n)
		qsort(list, n, sizeof(*list), by_length);
	for (struct failed_prefix *p = list; p < list + n; p++)
		if (!fib_installed(fib, p->family, p->prefix, p->len))
			fib->sink->route_del(fib->sink_arg, p->family, 0, p->prefix, p->len);
}

/* --- room again -------------------------------------------------------------------------------- */

static void visit_heal(struct rib *rib, __u32 node, __u8 above, void *arg)
{
	struct fib *fib = arg;
	struct fib_family *ff = &fib->family[rib->family];

	if (rib->node[node].overflow && ff->installed < ff->capacity)
		publish(fib, rib->family, node);
}

static void visit_lift(struct rib *rib, __u32 node, __u8 above, void *arg)
{
	struct fib *fib = arg;
	struct rib_node *n = &rib->node[node];

	if (!n->shield || catches_overflow(rib, node))
		return;
	set_shield(&fib->family[rib->family], n, false);
	if (node == RIB_ROOT)
		leaf_default_changed(fib, rib->family);
	else
		publish(fib, rib->family, node);
}

/* What overflowed is in the map, or known not to be, before the markers above it are lifted. */
void fib_heal(struct fib *fib)
{
	for (int f = 0; f < FAMILIES; f++) {
		struct fib_family *ff = &fib->family[f];
		bool freed = ff->freed;

		ff->freed = false;
		if (!freed || !(ff->overflow || ff->shields))
			continue;
		rib_walk(rib_of(fib, f), RIB_ROOT, RIB_POST, visit_heal, RIB_NO_TABLE, fib);
		fib->sink->commit(fib->sink_arg);
		rib_walk(rib_of(fib, f), RIB_ROOT, RIB_POST, visit_lift, RIB_NO_TABLE, fib);
	}
	path_feed(fib);
	neigh_feed(fib);
	l3if_feed(fib);
}

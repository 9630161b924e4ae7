/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* See sink.h. */
#include "sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE = 8 }; /* routes; short, so that it is full often */

/* An invariant is broken: whoever owns the sink knows the seed and the step. */
__attribute__((format(printf, 2, 3))) static void broken(struct sink *s, const char *format, ...)
{
	char what[512];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	s->fail(s->arg, what);
	abort();
}

#define check(s, condition, ...)                \
	do {                                    \
		if (!(condition))               \
			broken(s, __VA_ARGS__); \
	} while (0)

struct sink *sink_new(void)
{
	struct sink *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	return s;
}

void sink_free(struct sink *s)
{
	struct sink_index *i, *tmp;

	HASH_ITER(hh, s->index, i, tmp)
	{
		HASH_DEL(s->index, i);
		free(i);
	}
	free(s->table[IP4].route);
	free(s->table[IP6].route);
	free(s->queue.item);
	free(s);
}

/* --- who refers to what ----------------------------------------------------------------------- */

static void use_get(struct sink_use *use)
{
	use->refs++;
}

static void use_put(struct sink *s, struct sink_use *use)
{
	if (!--use->refs)
		use->idle = s->now;
}

static bool use_cold(const struct sink *s, const struct sink_use *use)
{
	return !use->refs && use->idle <= s->cold;
}

void sink_grace_begin(struct sink *s)
{
	s->grace_from = s->now;
}

void sink_grace_end(struct sink *s)
{
	s->cold = s->grace_from;
}

void sink_quiet(struct sink *s)
{
	s->cold = s->grace_from = s->now;
}

static bool flush(struct sink *s);

/* The next row; false: it is lost. */
static bool next_row(struct sink *s)
{
	s->now++;
	if (s->dies_at && s->now >= s->dies_at)
		s->frozen = true;
	return !s->frozen;
}

static void commit(void *arg)
{
	struct sink *s = arg;

	if (!s->frozen && flush(s) && s->fib)
		fib_routes_written(s->fib);
}

/* What is queued comes before a row of another kind. */
static bool begin(struct sink *s)
{
	commit(s);
	return !s->frozen && next_row(s);
}

static void end(struct sink *s)
{
	if (s->row)
		s->row(s->arg);
}

/* --- interfaces ------------------------------------------------------------------------------- */

static void ref_l3if(struct sink *s, __u32 slot, bool get)
{
	if (!slot)
		return;
	if (get) {
		check(s, s->l3ifs[slot].ifindex, "l3if %u is referred to but not set", slot);
		use_get(&s->l3if_use[slot]);
		use_get(&s->tx_use[s->l3ifs[slot].port]);
	} else {
		use_put(s, &s->l3if_use[slot]);
		use_put(s, &s->tx_use[s->l3ifs[slot].port]);
	}
}

static void put_port(void *arg, __u32 slot, struct xfib_port port)
{
	struct sink *s = arg;
	struct xfib_port old = s->ports[slot];

	if (!begin(s))
		return;
	check(s, !port.l3if || s->l3ifs[port.l3if].ifindex == port.ifindex,
	      "port %u: ifindex %u, but its l3if %u has %u", slot, port.ifindex, port.l3if,
	      s->l3ifs[port.l3if].ifindex);
	check(s, !port.l3if || s->l3ifs[port.l3if].port == slot, "port %u: l3if %u of port %u",
	      slot, port.l3if, s->l3ifs[port.l3if].port);
	check(s, port.l3if || !(port.flags & XFIB_PORT_ENABLED),
	      "port %u enabled without an interface", slot);
	ref_l3if(s, port.l3if, true);
	s->ports[slot] = port;
	ref_l3if(s, old.l3if, false);
	end(s);
}

static void put_l3if(void *arg, __u32 slot, const struct xfib_l3if *l3if)
{
	struct sink *s = arg;

	if (!begin(s))
		return;
	check(s, slot && slot < XFIB_L3IFS, "l3if %u out of range", slot);
	check(s, use_cold(s, &s->l3if_use[slot]), "l3if %u changed while a packet may look at it",
	      slot);
	check(s, l3if->ifindex && l3if->port < XFIB_PORTS, "l3if %u: ifindex %u, port %u", slot,
	      l3if->ifindex, l3if->port);
	s->changed.l3if++;
	s->l3ifs[slot] = *l3if;
	end(s);
}

static void put_tx(void *arg, __u32 port, __u32 ifindex)
{
	struct sink *s = arg;

	if (!begin(s))
		return;
	if (ifindex != s->tx[port])
		check(s, !s->tx[port] || use_cold(s, &s->tx_use[port]),
		      "tx %u: from ifindex %u to %u while packets may be on the way", port,
		      s->tx[port], ifindex);
	s->tx[port] = ifindex;
	end(s);
}

static void put_own4(void *arg, const __u64 words[XFIB_OWN_BITS / 64])
{
	struct sink *s = arg;

	if (!begin(s))
		return;
	memcpy(s->own4, words, sizeof(s->own4));
	end(s);
}

/* --- neighbours ------------------------------------------------------------------------------- */

static struct neigh_key key_of(const struct xfib_neigh *n)
{
	enum family f = n->ip6 ? IP6 : IP4;

	return (struct neigh_key){ .addr = addr_from_bytes(f, n->addr),
				   .ifindex = n->ifindex,
				   .family = f };
}

static void put_neigh(void *arg, __u32 slot, const struct xfib_neigh *neigh)
{
	struct sink *s = arg;

	if (!begin(s))
		return;
	check(s, slot && slot < XFIB_NEIGHS, "neighbour %u out of range", slot);
	check(s, use_cold(s, &s->neigh_use[slot]),
	      "neighbour %u changed while a packet may look at it: %u references", slot,
	      s->neigh_use[slot].refs);
	check(s, !s->neighs[slot].lladdr.tag, "neighbour %u: a new key under a live address", slot);
	check(s, neigh->ifindex, "neighbour %u without an interface", slot);
	s->changed.neigh++;
	s->neighs[slot] = *neigh;
	end(s);
}

static void put_lladdr(void *arg, __u32 slot, struct xfib_lladdr lladdr)
{
	static const struct xfib_lladdr none;
	struct sink *s = arg;
	struct xfib_neigh *n = &s->neighs[slot];
	__u32 l3if = lladdr.tag & XFIB_NEIGH_L3IF, old = n->lladdr.tag & XFIB_NEIGH_L3IF;

	if (!begin(s))
		return;
	check(s, n->ifindex, "an address for neighbour %u, which has no key", slot);
	check(s, l3if || !memcmp(&lladdr, &none, sizeof(none)),
	      "neighbour %u: an address without an interface", slot);
	check(s, !l3if || s->l3ifs[l3if].ifindex == n->ifindex,
	      "neighbour %u on ifindex %u, its l3if %u on %u", slot, n->ifindex, l3if,
	      s->l3ifs[l3if].ifindex);
	check(s, !(lladdr.mac[0] & 1), "neighbour %u: group address", slot);
	ref_l3if(s, l3if, true);
	s->changed.lladdr += !!memcmp(&n->lladdr, &lladdr, sizeof(lladdr));
	n->lladdr = lladdr;
	ref_l3if(s, old, false);
	end(s);
}

static int put_index(void *arg, const struct xfib_neigh *neigh, __u32 slot)
{
	struct sink *s = arg;
	struct neigh_key key = key_of(neigh), of_slot = key_of(&s->neighs[slot]);
	struct sink_index *i;

	if (!begin(s))
		return 0;
	HASH_FIND(hh, s->index, &key, sizeof(key), i);
	if (i) {
		use_put(s, &s->neigh_use[i->slot]);
	} else if (slot) {
		if (s->index_capacity && s->indexed[key.family] >= s->index_capacity)
			return -E2BIG;
		i = calloc(1, sizeof(*i));
		if (!i)
			abort();
		i->key = key;
		HASH_ADD(hh, s->index, key, sizeof(key), i);
		s->indexed[key.family]++;
	}
	if (slot) {
		check(s, !memcmp(&key, &of_slot, sizeof(key)),
		      "index leads to neighbour %u, which has another key", slot);
		i->slot = slot;
		use_get(&s->neigh_use[slot]);
	} else if (i) {
		HASH_DEL(s->index, i);
		free(i);
		s->indexed[key.family]--;
	}
	end(s);
	return 0;
}

/* --- next hops -------------------------------------------------------------------------------- */

static bool is_group(struct xfib_nexthop nh)
{
	return nh.kind == XFIB_NH_GROUP_L3 || nh.kind == XFIB_NH_GROUP_L4;
}

static void check_leg(struct sink *s, const char *what, __u32 id, struct xfib_nexthop nh)
{
	switch (nh.kind) {
	case XFIB_NH_VERDICT:
		check(s, nh.arg > XFIB_FORWARDED && nh.arg < XFIB_VERDICT_MAX, "%s %u: verdict %u",
		      what, id, nh.arg);
		break;
	case XFIB_NH_ADJACENCY:
		check(s, nh.arg && nh.arg < XFIB_NEIGHS && s->neighs[nh.arg].ifindex,
		      "%s %u: neighbour %u is not there", what, id, nh.arg);
		break;
	case XFIB_NH_CONNECTED:
		check(s, nh.arg, "%s %u: connected to no interface", what, id);
		break;
	default:
		broken(s, "%s %u: kind %u", what, id, nh.kind);
	}
}

static void check_group(struct sink *s, __u32 id, struct xfib_nexthop nh)
{
	check(s, nh.count >= 1 && nh.count <= XFIB_GROUP_MAX && nh.arg + nh.count <= XFIB_MEMBERS,
	      "leaf %u: buckets %u + %u", id, nh.arg, nh.count);
	for (__u32 i = nh.arg; i < nh.arg + nh.count; i++) {
		check(s, nexthop_bits(s->members[i]), "leaf %u: bucket %u is empty", id, i);
		check_leg(s, "bucket", i, s->members[i]);
	}
}

/* References that a next hop word holds, through its buckets too. */
static void ref_nexthop(struct sink *s, struct xfib_nexthop nh, bool get)
{
	if (nh.kind == XFIB_NH_ADJACENCY) {
		if (get)
			use_get(&s->neigh_use[nh.arg]);
		else
			use_put(s, &s->neigh_use[nh.arg]);
	}
	if (!is_group(nh))
		return;
	for (__u32 i = nh.arg; i < nh.arg + nh.count; i++) {
		if (get)
			use_get(&s->member_use[i]);
		else
			use_put(s, &s->member_use[i]);
		ref_nexthop(s, s->members[i], get);
	}
}

static void set_nexthop(struct sink *s, __u32 id, struct xfib_nexthop nh)
{
	struct xfib_nexthop old = s->nexthops[id];

	check(s, id && id < XFIB_NEXTHOPS, "leaf %u out of range", id);
	if (!nexthop_bits(nh)) {
		check(s, !s->leaf_use[id].refs, "leaf %u is taken away from %u prefixes", id,
		      s->leaf_use[id].refs);
	} else {
		if (is_group(nh))
			check_group(s, id, nh);
		else
			check_leg(s, "leaf", id, nh);
		check(s, nexthop_bits(old) || use_cold(s, &s->leaf_use[id]),
		      "leaf %u is used again while a packet may have it", id);
	}
	ref_nexthop(s, nh, true);
	s->changed.nexthop += nexthop_bits(nh) && nexthop_bits(nh) != nexthop_bits(old);
	s->nexthops[id] = nh;
	ref_nexthop(s, old, false);
	end(s);
}

static void put_nexthop(void *arg, __u32 id, struct xfib_nexthop nh)
{
	struct sink *s = arg;

	if (begin(s))
		set_nexthop(s, id, nh); /* what was queued may have changed it */
}

/* Does not wait for what is queued. */
static void put_nexthop_new(void *arg, __u32 id, struct xfib_nexthop nh)
{
	struct sink *s = arg;

	if (s->frozen || !next_row(s))
		return;
	check(s, !s->leaf_use[id].refs && !nexthop_bits(s->nexthops[id]), "leaf %u is not new", id);
	set_nexthop(s, id, nh);
}

static void put_member(void *arg, __u32 bucket, struct xfib_nexthop nh)
{
	struct sink *s = arg;

	if (!begin(s))
		return;
	check(s, bucket < XFIB_MEMBERS, "bucket %u out of range", bucket);
	check(s, use_cold(s, &s->member_use[bucket]),
	      "bucket %u changed while a packet may look at it", bucket);
	check_leg(s, "bucket", bucket, nh);
	s->changed.member++;
	s->members[bucket] = nh;
	end(s);
}

/* --- prefixes --------------------------------------------------------------------------------- */

static struct sink_route *find_route(struct sink *s, enum family family, struct addr prefix,
				     unsigned int len)
{
	struct sink_table *t = &s->table[family];

	for (unsigned int i = 0; i < t->routes; i++)
		if (t->route[i].len == len && addr_equal(t->route[i].prefix, prefix))
			return &t->route[i];
	return NULL;
}

static void drop_route(struct sink *s, enum family family, struct sink_route *r)
{
	struct sink_table *t = &s->table[family];

	use_put(s, &s->leaf_use[XFIB_LEAF(r->value)]);
	*r = t->route[--t->routes];
	end(s);
}

/* Returns false if there is no room; then nothing has changed. */
static bool write_route(struct sink *s, enum family family, struct sink_route new)
{
	struct sink_table *t = &s->table[family];
	struct sink_route *r = find_route(s, family, new.prefix, new.len);
	__u32 leaf = XFIB_LEAF(new.value);

	check(s, leaf && nexthop_bits(s->nexthops[leaf]),
	      "a prefix of length %u gets leaf %u, which is not set", new.len, leaf);
	if (t->capacity && t->routes >= t->capacity && (!r || s->full_refuses))
		return false;
	if (r) {
		use_put(s, &s->leaf_use[XFIB_LEAF(r->value)]);
	} else {
		if (t->routes == t->size) {
			t->size = t->size ? 2 * t->size : 64;
			t->route = realloc(t->route, t->size * sizeof(*t->route));
			if (!t->route)
				abort();
		}
		r = &t->route[t->routes++];
	}
	use_get(&s->leaf_use[leaf]);
	*r = new;
	end(s);
	return true;
}

static void push(struct sink_list *list, enum family family, struct sink_route route)
{
	if (list->len == list->size) {
		list->size = list->size ? 2 * list->size : 64;
		list->item = realloc(list->item, list->size * sizeof(*list->item));
		if (!list->item)
			abort();
	}
	list->item[list->len].family = family;
	list->item[list->len++].route = route;
}

static void write_one(struct sink *s, enum family family, struct sink_route route)
{
	if (next_row(s) && !write_route(s, family, route))
		fib_route_failed(s->fib, family, route.prefix, route.len);
}

/* As in the engines: false while what found no room is reported. */
static bool flush(struct sink *s)
{
	struct sink_list *q = &s->queue;

	if (s->writing)
		return false;
	s->writing = true;
	while (s->written < q->len) {
		unsigned int i = s->written++;

		write_one(s, q->item[i].family, q->item[i].route);
	}
	q->len = s->written = 0;
	s->writing = false;
	return true;
}

static void overtake(struct sink *s, enum family family, struct sink_route route)
{
	bool waits = false;

	for (unsigned int i = s->written; i < s->queue.len; i++) {
		struct sink_route *r = &s->queue.item[i].route;

		if (s->queue.item[i].family == family && r->len == route.len &&
		    addr_equal(r->prefix, route.prefix)) {
			*r = route;
			waits = true;
		}
	}
	if (!waits)
		write_one(s, family, route);
}

static void put_route(void *arg, enum family family, __u32 fib, struct addr prefix,
		      unsigned int len, __u32 value)
{
	struct sink_route route = { .prefix = prefix, .len = len, .value = value };
	struct sink *s = arg;

	if (s->frozen)
		return;
	check(s, !fib && len && len <= family_bits(family), "prefix of length %u in fib %u", len,
	      fib);
	check(s, addr_equal(prefix, addr_mask(prefix, len)), "prefix with host bits");
	if (s->writing) {
		overtake(s, family, route);
		return;
	}
	push(&s->queue, family, route);
	if (!s->queued || s->queue.len == QUEUE)
		flush(s);
}

static void del_route(void *arg, enum family family, __u32 fib, struct addr prefix,
		      unsigned int len)
{
	struct sink *s = arg;
	struct sink_route *r;

	if (!begin(s))
		return;
	r = find_route(s, family, prefix, len);
	if (r)
		drop_route(s, family, r);
}

const struct fib_sink sink_ops = {
	.port = put_port,
	.l3if = put_l3if,
	.tx = put_tx,
	.own4 = put_own4,
	.nexthop = put_nexthop,
	.nexthop_new = put_nexthop_new,
	.member = put_member,
	.neigh = put_neigh,
	.lladdr = put_lladdr,
	.neigh_index = put_index,
	.route = put_route,
	.route_del = del_route,
	.commit = commit,
};

void sink_sweep(struct sink *s, const struct fib *fib)
{
	for (int f = 0; f < FAMILIES; f++)
		for (unsigned int len = 0; len <= family_bits(f); len++)
			for (unsigned int i = 0; i < s->table[f].routes;) {
				struct sink_route *r = &s->table[f].route[i];

				if (r->len != len || fib_installed(fib, f, r->prefix, r->len))
					i++;
				else if (next_row(s))
					drop_route(s, f, r);
				else
					return;
			}
}

/* --- the program ------------------------------------------------------------------------------ */

static struct sink_hop hop_verdict(__u32 verdict)
{
	return (struct sink_hop){ .verdict = verdict };
}

/* neigh_load() and admit(). */
static struct sink_hop hop_by_slot(const struct sink *s, __u32 slot, enum family family, __u32 mtu)
{
	struct xfib_lladdr lladdr = s->neighs[slot].lladdr;
	const struct xfib_l3if *out = &s->l3ifs[lladdr.tag & XFIB_NEIGH_L3IF];
	struct sink_hop hop = { .verdict = XFIB_FORWARDED };
	__u32 fits = family == IP4 ? out->mtu4 : out->mtu6;

	if (!(lladdr.tag & XFIB_NEIGH_L3IF))
		return hop_verdict(XFIB_PUNT_NO_NEIGHBOUR);
	if (!(out->flags & XFIB_L3IF_EGRESS))
		return hop_verdict(XFIB_PUNT_EGRESS_DOWN);
	if (!fits)
		return hop_verdict(XFIB_PUNT_MTU);
	hop.ifindex = s->tx[out->port]; /* the device that the frame really leaves by */
	memcpy(hop.dmac, lladdr.mac, 6);
	memcpy(hop.smac, out->mac, 6);
	hop.mtu = fits < mtu ? fits : mtu;
	hop.port = out->port;
	hop.sg = !!(out->flags & XFIB_L3IF_SG);
	return hop;
}

static struct sink_hop hop_connected(const struct sink *s, __u32 ifindex, enum family family,
				     struct addr addr, __u32 mtu)
{
	struct neigh_key key = { .addr = addr, .ifindex = ifindex, .family = family }, found;
	struct sink_index *i;

	HASH_FIND(hh, s->index, &key, sizeof(key), i);
	if (!i)
		return hop_verdict(XFIB_PUNT_NO_NEIGHBOUR);
	found = key_of(&s->neighs[i->slot]);
	if (memcmp(&found, &key, sizeof(key)))
		return hop_verdict(XFIB_PUNT_RACE);
	return hop_by_slot(s, i->slot, family, mtu);
}

static struct sink_leg leg_of(const struct sink *s, struct xfib_nexthop nh, enum family family,
			      struct addr addr)
{
	struct sink_leg leg = { .word = nh, .buckets = 1 };

	if (nh.kind == XFIB_NH_ADJACENCY) {
		struct neigh_key key = key_of(&s->neighs[nh.arg]);

		leg.word.arg = key.ifindex;
		leg.gateway = key.addr;
		leg.gateway_family = key.family;
		leg.hop = hop_by_slot(s, nh.arg, family, nh.mtu);
	} else if (nh.kind == XFIB_NH_CONNECTED) {
		leg.hop = hop_connected(s, nh.arg, family, addr, nh.mtu);
	} else {
		leg.hop =
			hop_verdict(nh.kind == XFIB_NH_VERDICT && nh.arg ? nh.arg : XFIB_PUNT_RACE);
	}
	return leg;
}

void sink_lookup(const struct sink *s, enum family family, struct addr addr, struct sink_answer *a)
{
	const struct sink_table *t = &s->table[family];
	const struct sink_route *best = NULL;
	struct xfib_nexthop nh, last = {};

	for (unsigned int i = 0; i < t->routes; i++)
		if ((!best || t->route[i].len > best->len) &&
		    prefix_covers(t->route[i].prefix, t->route[i].len, addr))
			best = &t->route[i];
	a->leaf = best ? XFIB_LEAF(best->value) : 0;
	a->legs = 0;
	a->group = 0;
	nh = s->nexthops[a->leaf ? a->leaf : XFIB_NH_DEFAULT(0, family == IP6)];
	if (!is_group(nh)) {
		a->leg[a->legs++] = leg_of(s, nh, family, addr);
		return;
	}
	a->group = nh.kind;
	for (__u32 i = 0; i < nh.count; i++) {
		struct xfib_nexthop member = s->members[nh.arg + i];

		if (i && nexthop_bits(member) == nexthop_bits(last))
			a->leg[a->legs - 1].buckets++;
		else if (a->legs < SINK_LEGS)
			a->leg[a->legs++] = leg_of(s, member, family, addr);
		last = member;
	}
}

/* --- two sinks -------------------------------------------------------------------------------- */

static void assert_same_group(const struct sink *a, const struct sink *b, struct xfib_nexthop nh)
{
	if (is_group(nh) &&
	    memcmp(&a->members[nh.arg], &b->members[nh.arg], nh.count * sizeof(a->members[0])))
		broken((struct sink *)b, "buckets at %u differ", nh.arg);
}

static void assert_same_routes(const struct sink *a, struct sink *b, enum family f)
{
	check(b, a->table[f].routes == b->table[f].routes, "%u prefixes, not %u",
	      b->table[f].routes, a->table[f].routes);
	for (unsigned int i = 0; i < a->table[f].routes; i++) {
		const struct sink_route *r = &a->table[f].route[i],
					*other = find_route(b, f, r->prefix, r->len);

		check(b, other && other->value == r->value, "a prefix of length %u differs",
		      r->len);
	}
}

void sink_assert_equal(const struct sink *a, const struct sink *b_)
{
	struct sink *b = (struct sink *)b_; /* to fail with */
	const struct sink_index *i;
	struct sink_index *other;

	assert_same_routes(a, b, IP4);
	assert_same_routes(a, b, IP6);
	for (__u32 id = 1; id < XFIB_NEXTHOPS; id++) {
		check(b, nexthop_bits(a->nexthops[id]) == nexthop_bits(b->nexthops[id]),
		      "leaf %u differs", id);
		assert_same_group(a, b, a->nexthops[id]);
	}
	check(b, !memcmp(a->ports, b->ports, sizeof(a->ports)), "ports differ");
	check(b, !memcmp(a->own4, b->own4, sizeof(a->own4)), "own4 differs");
	for (__u32 n = 1; n < XFIB_NEIGHS; n++)
		if (a->neigh_use[n].refs)
			check(b, !memcmp(&a->neighs[n], &b->neighs[n], sizeof(a->neighs[n])),
			      "neighbour %u differs", n);
	for (__u32 n = 1; n < XFIB_L3IFS; n++)
		if (a->l3if_use[n].refs)
			check(b, !memcmp(&a->l3ifs[n], &b->l3ifs[n], sizeof(a->l3ifs[n])),
			      "l3if %u differs", n);
	check(b, HASH_COUNT(a->index) == HASH_COUNT(b->index), "%u neighbours in the index, not %u",
	      HASH_COUNT(b->index), HASH_COUNT(a->index));
	for (i = a->index; i; i = i->hh.next) {
		HASH_FIND(hh, b->index, &i->key, sizeof(i->key), other);
		check(b, other && other->slot == i->slot, "index of neighbour %u differs", i->slot);
	}
}

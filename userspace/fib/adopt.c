// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * After a restart the maps are full and packets are using them. What was there is indexed by content
 * and claimed piece by piece as the model is published; the rest is given back at the end. Groups are
 * built afresh: their old buckets stay until then.
 *
 * Until the end there are prefixes in the maps that the kernel has no more, and they must not meet
 * anything new: a neighbour that is not as it was stays without an address that long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fib.h"

struct old_neigh {
	UT_hash_handle hh;
	struct neigh_key key;
	__u64 word;
	__u32 slot;
};

struct old_nexthop {
	UT_hash_handle hh;
	__u64 word;
	__u32 id;
	bool buckets; /* of its own, to be given back */
};

/* Slots with a key of which another one serves, and buckets of the default routes. */
struct leftover {
	struct left {
		__u32 item;
		struct neigh_key key; /* of a slot */
	} * left;
	__u32 n, size;
};

struct adopted {
	__u8 l3if[XFIB_L3IFS]; /* bool: in use and not claimed */
	struct old_neigh *neighs;
	struct old_nexthop *nexthops;
	struct leftover slots;
	struct leftover buckets; /* first << 4 | order */
};

static bool leave(struct leftover *l, struct left left)
{
	if (l->n == l->size) {
		__u32 size = l->size ? 2 * l->size : 64;
		struct left *grown = realloc(l->left, size * sizeof(*grown));

		if (!grown)
			return false;
		l->left = grown;
		l->size = size;
	}
	l->left[l->n++] = left;
	return true;
}

static bool is_group(struct xfib_nexthop nh)
{
	return nh.kind == XFIB_NH_GROUP_L3 || nh.kind == XFIB_NH_GROUP_L4;
}

static __u64 lladdr_word(const struct xfib_neigh *n)
{
	__u64 word;

	memcpy(&word, &n->lladdr, sizeof(word));
	return word;
}

/* A port's word may be gone already while neighbours still lead to its devmap entry. */
static void adopt_l3ifs(struct fib *fib, const struct fib_maps *maps)
{
	struct adopted *a = fib->adopted;

	for (__u32 i = 0; i < XFIB_PORTS; i++)
		a->l3if[maps->ports[i].l3if % XFIB_L3IFS] = 1;
	for (__u32 i = 1; i < XFIB_NEIGHS; i++)
		a->l3if[maps->neighs[i].lladdr.tag & XFIB_NEIGH_L3IF] = 1;
	a->l3if[0] = 0;
	for (__u32 i = 1; i < XFIB_L3IFS; i++)
		if (a->l3if[i]) {
			fib->l3if[i] = maps->l3ifs[i];
			fib->tx[fib->l3if[i].port % XFIB_PORTS] = fib->l3if[i].ifindex;
			slots_adopt(&fib->l3ifs, i);
		}
}

/* The slots that next hops lead to, themselves or by their buckets. */
static void mark_referenced(const struct fib_maps *maps, __u8 *referenced)
{
	for (__u32 id = XFIB_NH_FIRST; id < XFIB_NEXTHOPS; id++) {
		struct xfib_nexthop nh = maps->nexthops[id];

		if (nh.kind == XFIB_NH_ADJACENCY)
			referenced[nh.arg % XFIB_NEIGHS] = 1;
		for (__u32 i = 0; is_group(nh) && i < nh.count; i++) {
			struct xfib_nexthop member = maps->members[(nh.arg + i) % XFIB_MEMBERS];

			if (member.kind == XFIB_NH_ADJACENCY)
				referenced[member.arg % XFIB_NEIGHS] = 1;
		}
	}
}

/*
 * A slot that was given back keeps its key, so several may have one: the one with an address serves,
 * else the one that next hops lead to. The others rest like it, since packets may look at any of them.
 */
static int adopt_slot(struct fib *fib, const struct fib_maps *maps, __u32 slot,
		      const __u8 *referenced)
{
	const struct xfib_neigh *n = &maps->neighs[slot];
	struct neigh_key key = { .ifindex = n->ifindex, .family = n->ip6 ? IP6 : IP4 };
	struct old_neigh *old;
	__u64 word = lladdr_word(n);

	key.addr = addr_from_bytes(key.family, n->addr);
	slots_adopt(&fib->neighs, slot);
	HASH_FIND(hh, fib->adopted->neighs, &key, sizeof(key), old);
	if (!old) {
		old = calloc(1, sizeof(*old));
		if (!old)
			return -ENOMEM;
		*old = (struct old_neigh){ .key = key, .slot = slot, .word = word };
		HASH_ADD(hh, fib->adopted->neighs, key, sizeof(key), old);
		return 0;
	}
	if ((word && !old->word) || (!old->word && referenced[slot] > referenced[old->slot])) {
		__u32 other = old->slot;

		old->slot = slot;
		old->word = word;
		slot = other;
	}
	return leave(&fib->adopted->slots, (struct left){ slot, key }) ? 0 : -ENOMEM;
}

static int adopt_neighs(struct fib *fib, const struct fib_maps *maps)
{
	__u8 *referenced = calloc(XFIB_NEIGHS, 1);
	int err = referenced ? 0 : -ENOMEM;

	if (!err)
		mark_referenced(maps, referenced);
	for (__u32 i = 1; !err && i < XFIB_NEIGHS; i++)
		if (maps->neighs[i].ifindex)
			err = adopt_slot(fib, maps, i, referenced);
	free(referenced);
	return err;
}

static int adopt_nexthops(struct fib *fib, const struct fib_maps *maps)
{
	for (__u32 id = XFIB_NH_FIRST; id < XFIB_NEXTHOPS; id++) {
		struct xfib_nexthop nh = maps->nexthops[id];
		struct old_nexthop *old;

		if (!nexthop_bits(nh))
			continue;
		if (id > XFIB_NH_LAST) {
			/* Defaults are replaced in place; a leaf may share their buckets. */
			if (is_group(nh) &&
			    buddy_adopt(&fib->members, nh.arg, buddy_order(nh.count)) &&
			    !leave(&fib->adopted->buckets,
				   (struct left){ .item = nh.arg << 4 | buddy_order(nh.count) }))
				return -ENOMEM;
			continue;
		}
		old = calloc(1, sizeof(*old));
		if (!old)
			return -ENOMEM;
		old->id = id;
		old->word = nexthop_bits(nh);
		old->buckets =
			is_group(nh) && buddy_adopt(&fib->members, nh.arg, buddy_order(nh.count));
		slots_adopt(&fib->leaves, id);
		HASH_ADD(hh, fib->adopted->nexthops, word, sizeof(old->word), old);
	}
	return 0;
}

int fib_adopt(struct fib *fib, const struct fib_maps *maps)
{
	int err;

	fib->adopted = calloc(1, sizeof(*fib->adopted));
	if (!fib->adopted)
		return -ENOMEM;
	for (unsigned int i = 0; i < XFIB_PORTS; i++)
		memcpy(&fib->port_word[i], &maps->ports[i], sizeof(fib->port_word[i]));
	adopt_l3ifs(fib, maps);
	err = adopt_neighs(fib, maps);
	return err ? err : adopt_nexthops(fib, maps);
}

__u32 adopt_l3if(struct fib *fib, const struct xfib_l3if *record)
{
	for (__u32 i = 1; fib->adopted && i < XFIB_L3IFS; i++)
		if (fib->adopted->l3if[i] && !memcmp(&fib->l3if[i], record, sizeof(*record))) {
			fib->adopted->l3if[i] = 0;
			return i;
		}
	return 0;
}

__u32 adopt_neigh(struct fib *fib, const struct neigh_key *key, __u64 *word)
{
	struct old_neigh *old = NULL;
	__u32 slot;

	if (fib->adopted)
		HASH_FIND(hh, fib->adopted->neighs, key, sizeof(*key), old);
	if (!old)
		return 0;
	HASH_DEL(fib->adopted->neighs, old);
	slot = old->slot;
	*word = old->word;
	free(old);
	return slot;
}

__u32 adopt_nexthop(struct fib *fib, __u64 word)
{
	struct old_nexthop *old = NULL;
	__u32 id;

	if (fib->adopted && !is_group(nexthop_of_bits(word)))
		HASH_FIND(hh, fib->adopted->nexthops, &word, sizeof(word), old);
	if (!old)
		return 0;
	HASH_DEL(fib->adopted->nexthops, old);
	id = old->id;
	free(old);
	return id;
}

/*
 * The kernel's neighbours have been claimed: others are no more. Before prefixes are published, for
 * new ones may lead to an interface that these were on.
 */
void adopt_silence(struct fib *fib)
{
	struct adopted *a = fib->adopted;
	struct old_neigh *old;

	if (!a)
		return;
	for (old = a->neighs; old; old = old->hh.next) {
		if (old->word)
			fib->sink->lladdr(fib->sink_arg, old->slot, (struct xfib_lladdr){});
		old->word = 0;
	}
	for (__u32 i = 0; i < a->slots.n; i++)
		fib->sink->lladdr(fib->sink_arg, a->slots.left[i].item, (struct xfib_lladdr){});
}

static void end_nexthops(struct fib *fib)
{
	struct adopted *a = fib->adopted;
	struct old_nexthop *nexthop, *tmp;

	HASH_ITER(hh, a->nexthops, nexthop, tmp)
	{
		struct xfib_nexthop nh = nexthop_of_bits(nexthop->word);

		fib->sink->nexthop(fib->sink_arg, nexthop->id, (struct xfib_nexthop){});
		slots_retire(&fib->leaves, nexthop->id);
		if (nexthop->buckets)
			buddy_retire(&fib->members, nh.arg, buddy_order(nh.count));
	}
	for (__u32 i = 0; i < a->buckets.n; i++)
		buddy_retire(&fib->members, a->buckets.left[i].item >> 4,
			     a->buckets.left[i].item & 15);
}

static void end_slot(struct fib *fib, __u32 slot, const struct neigh_key *key)
{
	const struct neigh *n = model_neigh(fib->m, key->family, key->ifindex, key->addr);
	struct xfib_neigh row = neigh_row(key);

	if (!n || !n->fib.indexed)
		fib->sink->neigh_index(fib->sink_arg, &row, 0);
	slots_retire(&fib->neighs, slot);
}

static void end_neighs(struct fib *fib)
{
	struct adopted *a = fib->adopted;
	struct old_neigh *neigh, *tmp;

	HASH_ITER(hh, a->neighs, neigh, tmp)
	end_slot(fib, neigh->slot, &neigh->key);
	for (__u32 i = 0; i < a->slots.n; i++)
		end_slot(fib, a->slots.left[i].item, &a->slots.left[i].key);
}

void adopted_free(struct adopted *a)
{
	struct old_nexthop *nexthop, *nexthop_tmp;
	struct old_neigh *neigh, *neigh_tmp;

	if (!a)
		return;
	HASH_ITER(hh, a->nexthops, nexthop, nexthop_tmp)
	{
		HASH_DEL(a->nexthops, nexthop);
		free(nexthop);
	}
	HASH_ITER(hh, a->neighs, neigh, neigh_tmp)
	{
		HASH_DEL(a->neighs, neigh);
		free(neigh);
	}
	free(a->slots.left);
	free(a->buckets.left);
	free(a);
}

void fib_adopt_end(struct fib *fib)
{
	struct adopted *a = fib->adopted;
	struct neigh *neigh, *tmp;

	if (!a)
		return;
	end_nexthops(fib);
	end_neighs(fib);
	for (__u32 i = 1; i < XFIB_L3IFS; i++)
		if (a->l3if[i])
			slots_retire(&fib->l3ifs, i);
	adopted_free(a);
	fib->adopted = NULL;
	/* Stale prefixes, which have been deleted, took room. */
	fib->family[IP4].freed = fib->family[IP6].freed = true;
	HASH_ITER(hh, fib->m->neighs, neigh, tmp)
	neigh_update(fib, neigh);
}

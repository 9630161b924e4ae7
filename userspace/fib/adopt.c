// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * After a restart the maps are full and packets are using them. What was there is indexed by content
 * and claimed piece by piece as the model is published; the rest is given back at the end. Groups are
 * built afresh: their old buckets stay until then.
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
};

struct adopted {
	__u8 l3if[XFIB_L3IFS]; /* bool: in use and not claimed */
	struct old_neigh *neighs;
	struct old_nexthop *nexthops;
};

static __u64 lladdr_word(const struct xfib_neigh *n)
{
	__u64 word;

	memcpy(&word, &n->lladdr, sizeof(word));
	return word;
}

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
			slots_adopt(&fib->l3ifs, i);
		}
}

/* Of two slots with one key the one without an address is a retired one. */
static int adopt_neighs(struct fib *fib, const struct fib_maps *maps)
{
	for (__u32 i = 1; i < XFIB_NEIGHS; i++) {
		const struct xfib_neigh *n = &maps->neighs[i];
		struct neigh_key key = { .ifindex = n->ifindex, .family = n->ip6 ? IP6 : IP4 };
		struct old_neigh *old;

		if (!n->ifindex)
			continue;
		key.addr = addr_from_bytes(key.family, n->addr);
		HASH_FIND(hh, fib->adopted->neighs, &key, sizeof(key), old);
		if (old && old->word)
			continue;
		if (!old) {
			old = calloc(1, sizeof(*old));
			if (!old)
				return -ENOMEM;
			old->key = key;
			HASH_ADD(hh, fib->adopted->neighs, key, sizeof(key), old);
		}
		old->slot = i;
		old->word = lladdr_word(n);
	}
	for (struct old_neigh *old = fib->adopted->neighs; old; old = old->hh.next)
		slots_adopt(&fib->neighs, old->slot);
	return 0;
}

static int adopt_nexthops(struct fib *fib, const struct fib_maps *maps)
{
	for (__u32 id = XFIB_NH_FIRST; id < XFIB_NEXTHOPS; id++) {
		struct xfib_nexthop nh = maps->nexthops[id];
		struct old_nexthop *old;

		if (!nexthop_bits(nh))
			continue;
		if (nh.kind == XFIB_NH_GROUP_L3 || nh.kind == XFIB_NH_GROUP_L4)
			buddy_adopt(&fib->members, nh.arg, buddy_order(nh.count));
		if (id > XFIB_NH_LAST)
			continue; /* defaults: replaced in place */
		old = calloc(1, sizeof(*old));
		if (!old)
			return -ENOMEM;
		old->id = id;
		old->word = nexthop_bits(nh);
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
	__u8 kind = nexthop_of_bits(word).kind;
	struct old_nexthop *old = NULL;
	__u32 id;

	if (fib->adopted && kind != XFIB_NH_GROUP_L3 && kind != XFIB_NH_GROUP_L4)
		HASH_FIND(hh, fib->adopted->nexthops, &word, sizeof(word), old);
	if (!old)
		return 0;
	HASH_DEL(fib->adopted->nexthops, old);
	id = old->id;
	free(old);
	return id;
}

void fib_adopt_end(struct fib *fib)
{
	struct old_nexthop *nexthop, *nexthop_tmp;
	struct old_neigh *neigh, *neigh_tmp;
	struct adopted *a = fib->adopted;

	if (!a)
		return;
	HASH_ITER(hh, a->nexthops, nexthop, nexthop_tmp)
	{
		struct xfib_nexthop nh = nexthop_of_bits(nexthop->word);

		fib->sink->nexthop(fib->sink_arg, nexthop->id, (struct xfib_nexthop){});
		slots_retire(&fib->leaves, nexthop->id);
		if (nh.kind == XFIB_NH_GROUP_L3 || nh.kind == XFIB_NH_GROUP_L4)
			buddy_retire(&fib->members, nh.arg, buddy_order(nh.count));
		HASH_DEL(a->nexthops, nexthop);
		free(nexthop);
	}
	HASH_ITER(hh, a->neighs, neigh, neigh_tmp)
	{
		struct xfib_neigh row = neigh_row(&neigh->key);

		fib->sink->lladdr(fib->sink_arg, neigh->slot, (struct xfib_lladdr){});
		fib->sink->neigh_index(fib->sink_arg, &row, 0);
		slots_retire(&fib->neighs, neigh->slot);
		HASH_DEL(a->neighs, neigh);
		free(neigh);
	}
	for (__u32 i = 1; i < XFIB_L3IFS; i++)
		if (a->l3if[i])
			slots_retire(&fib->l3ifs, i);
	free(a);
	fib->adopted = NULL;
}

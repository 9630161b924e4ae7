// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Neighbours -> slots and words. A slot belongs to one (interface, address) as long as the kernel has
 * a valid entry on a port, or a next hop refers to it; its word is the link-layer address, zero while
 * there is none, so a change of state is one store whatever refers to it.
 */
#include <linux/neighbour.h>
#include <string.h>

#include "fib.h"

#ifndef NTF_EXT_MANAGED
#define NTF_EXT_MANAGED (1 << 0)
#endif

/* NUD_VALID but NOARP: on Ethernet that is a multicast mapping (neigh_connected_output() apart). */
bool neigh_usable(const struct neigh *n)
{
	static const __u8 zero[6];

	return n->present &&
	       n->state & (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT) &&
	       n->mac.len == 6 && !(n->mac.bytes[0] & 1) && memcmp(n->mac.bytes, zero, 6);
}

/* The program marks its use while the kernel, which does not see the traffic, holds it for STALE. */
static bool watched(const struct neigh *n)
{
	return n->state == NUD_STALE &&
	       !(n->flags & (NTF_EXT_LEARNED | (__u32)NTF_EXT_MANAGED << 16));
}

static __u64 lladdr_bits(struct xfib_lladdr lladdr)
{
	union {
		struct xfib_lladdr lladdr;
		__u64 word;
	} u = { .lladdr = lladdr };

	return u.word;
}

static struct xfib_lladdr wanted_lladdr(const struct fib *fib, const struct neigh *n)
{
	const struct link *link = model_link(fib->m, n->key.ifindex);
	struct xfib_lladdr lladdr = {};

	if (!link || !link->fib.l3if || !neigh_usable(n))
		return lladdr;
	memcpy(lladdr.mac, n->mac.bytes, 6);
	lladdr.tag = link->fib.l3if | (watched(n) ? XFIB_NEIGH_WATCH : 0);
	return lladdr;
}

struct xfib_neigh neigh_row(const struct neigh_key *key)
{
	struct xfib_neigh row = { .ifindex = key->ifindex, .ip6 = key->family == IP6 };

	addr_to_bytes(key->family, key->addr, row.addr);
	return row;
}

static bool take_slot(struct fib *fib, struct neigh *n)
{
	struct xfib_neigh row = neigh_row(&n->key);

	n->fib.word = 0;
	n->fib.slot = adopt_neigh(fib, &n->key, &n->fib.word);
	n->fib.unsure = n->fib.slot;
	if (n->fib.slot)
		return true;
	n->fib.slot = slots_get(&fib->neighs);
	if (!n->fib.slot)
		return false;
	fib->sink->neigh(fib->sink_arg, n->fib.slot, &row);
	return true;
}

static void no_room(struct fib *fib)
{
	fib->neigh_overflow++;
	fib->neighs_short = true;
}

static void set_index(struct fib *fib, struct neigh *n, bool on)
{
	struct xfib_neigh row = neigh_row(&n->key);
	int err = fib->sink->neigh_index(fib->sink_arg, &row, on ? n->fib.slot : 0);

	if (on && err)
		no_room(fib); /* destinations on this link stay in the kernel */
	n->fib.indexed = on && !err;
	n->fib.unsure = false;
}

void neigh_update(struct fib *fib, struct neigh *n)
{
	struct xfib_lladdr lladdr = wanted_lladdr(fib, n);
	__u64 word = lladdr_bits(lladdr);
	bool needed = word || n->fib.refs;

	if (!n->fib.slot && needed && !take_slot(fib, n)) {
		no_room(fib);
		return;
	}
	if (!n->fib.slot)
		return;
	if (fib->adopted && word != n->fib.word) {
		/* Stale prefixes may lead here: at the end of the adoption. */
		lladdr = (struct xfib_lladdr){};
		word = 0;
	}
	if (word != n->fib.word) {
		fib->sink->lladdr(fib->sink_arg, n->fib.slot, lladdr);
		n->fib.word = word;
	}
	if (n->fib.indexed != !!word || n->fib.unsure)
		set_index(fib, n, !!word);
	if (!needed) {
		slots_retire(&fib->neighs, n->fib.slot);
		n->fib.slot = 0;
	}
}

__u32 neigh_ref(struct fib *fib, struct neigh *n)
{
	n->fib.refs++;
	if (!n->fib.slot)
		neigh_update(fib, n);
	if (!n->fib.slot) {
		n->fib.refs--;
		model_neigh_put(fib->m, n);
		return 0;
	}
	return n->fib.slot;
}

void neigh_unref(struct fib *fib, struct neigh *n)
{
	if (--n->fib.refs)
		return;
	neigh_update(fib, n);
	model_neigh_put(fib->m, n);
}

void neigh_update_link(struct fib *fib, __u32 ifindex)
{
	struct neigh *n, *tmp;

	HASH_ITER(hh, fib->m->neighs, n, tmp)
	if (n->key.ifindex == ifindex)
		neigh_update(fib, n);
}

void neigh_feed(struct fib *fib)
{
	struct neigh *n, *tmp;

	if (!fib->neighs_short)
		return;
	fib->neighs_short = false;
	HASH_ITER(hh, fib->m->neighs, n, tmp)
	neigh_update(fib, n);
}

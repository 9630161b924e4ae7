// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The fib as a whole: hooks, batches, grace periods, replay. See fib.h. */
#include "fib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fib_init(struct fib *fib, struct model *m, const struct fib_sink *sink, void *sink_arg,
	     __u32 capacity4, __u32 capacity6)
{
	int err;

	*fib = (struct fib){ .m = m, .sink = sink, .sink_arg = sink_arg };
	fib->family[IP4].capacity = capacity4;
	fib->family[IP6].capacity = capacity6;
	fib->l3if = calloc(XFIB_L3IFS, sizeof(*fib->l3if));
	fib->member = calloc(XFIB_MEMBERS, sizeof(*fib->member));
	err = fib->l3if && fib->member ? 0 : -ENOMEM;
	if (!err)
		err = slots_init(&fib->l3ifs, 1, XFIB_L3IFS - 1);
	if (!err)
		err = slots_init(&fib->leaves, XFIB_NH_FIRST, XFIB_NH_LAST);
	if (!err)
		err = slots_init(&fib->neighs, 1, XFIB_NEIGHS - 1);
	if (!err)
		err = buddy_init(&fib->members, XFIB_MEMBERS);
	if (err)
		fib_done(fib);
	return err;
}

void fib_done(struct fib *fib)
{
	free(fib->l3if);
	free(fib->member);
	adopted_free(fib->adopted);
	free(fib->changed);
	free(fib->failed);
	slots_done(&fib->l3ifs);
	slots_done(&fib->leaves);
	slots_done(&fib->neighs);
	buddy_done(&fib->members);
	*fib = (struct fib){};
}

/* --- hooks ---------------------------------------------------------------------------------- */

static void on_prefix(void *arg, enum family family, __u32 node, __u8 above)
{
	struct fib *fib = arg;

	if (fib->started)
		leaf_update(fib, family, node, above);
}

static void on_link(void *arg, struct link *link, bool gone)
{
	struct fib *fib = arg;

	if (fib->started)
		l3if_update(fib, link, gone);
}

static void on_neigh(void *arg, struct neigh *neigh)
{
	struct fib *fib = arg;

	if (fib->started)
		neigh_update(fib, neigh);
}

static void on_nexthop(void *arg, __u32 id)
{
	struct fib *fib = arg;

	if (fib->started)
		path_update_nexthop(fib, id);
}

static void on_own(void *arg)
{
	struct fib *fib = arg;

	if (!fib->started)
		return;
	own4_update(fib);
	l3if_update_all(fib);
}

static void on_policy(void *arg)
{
	struct fib *fib = arg;

	if (!fib->started)
		return;
	l3if_update_all(fib);
	path_update_all(fib, 0);
}

const struct model_hooks fib_hooks = {
	.prefix = on_prefix,
	.link = on_link,
	.neigh = on_neigh,
	.nexthop = on_nexthop,
	.own = on_own,
	.policy = on_policy,
};

/* --- batches -------------------------------------------------------------------------------- */

void fib_start(struct fib *fib)
{
	struct neigh *neigh, *tmp;

	fib->started = true;
	for (__u32 v = 1; v < XFIB_VERDICT_MAX; v++)
		fib->sink->nexthop(fib->sink_arg, v, nexthop_verdict_word(v));
	l3if_start(fib);
	HASH_ITER(hh, fib->m->neighs, neigh, tmp)
	neigh_update(fib, neigh);
	adopt_silence(fib);
	own4_update(fib);
	fib_flush(fib, IP4);
	fib_flush(fib, IP6);
}

void fib_commit(struct fib *fib)
{
	if (!fib->started)
		return;
	for (int f = 0; f < FAMILIES; f++)
		if (fib->family[f].flush)
			fib_flush(fib, f);
	fib->sink->commit(fib->sink_arg);
	path_reap(fib);
}

void fib_set_capacity(struct fib *fib, __u32 capacity4, __u32 capacity6)
{
	fib->family[IP4].capacity = capacity4;
	fib->family[IP6].capacity = capacity6;
	fib->family[IP4].freed = fib->family[IP6].freed = true;
}

/* --- grace periods --------------------------------------------------------------------------- */

bool fib_grace_begin(struct fib *fib)
{
	bool wait = slots_close(&fib->l3ifs);

	wait |= slots_close(&fib->leaves);
	wait |= slots_close(&fib->neighs);
	wait |= buddy_close(&fib->members);
	wait |= fib->tx_gone;
	fib->tx_closed = fib->tx_gone;
	fib->tx_gone = 0;
	return wait;
}

void fib_grace_end(struct fib *fib)
{
	slots_free(&fib->l3ifs);
	slots_free(&fib->leaves);
	slots_free(&fib->neighs);
	buddy_free(&fib->members);
	tx_end(fib);
}

/* --- replay ---------------------------------------------------------------------------------- */

struct replay {
	const struct fib_sink *sink;
	void *arg;
};

static void replay_prefix(struct rib *rib, __u32 node, __u8 above, void *arg)
{
	const struct rib_node *n = &rib->node[node];
	struct replay *r = arg;

	if (n->installed)
		r->sink->route(r->arg, rib->family, 0, n->prefix, n->len, n->published);
}

static void replay_neigh(const struct neigh *n, const struct fib_sink *sink, void *arg)
{
	struct xfib_neigh row = neigh_row(&n->key);
	struct xfib_lladdr lladdr;

	if (!n->fib.slot)
		return;
	memcpy(&lladdr, &n->fib.word, sizeof(lladdr));
	sink->neigh(arg, n->fib.slot, &row);
	sink->lladdr(arg, n->fib.slot, lladdr);
	if (n->fib.indexed)
		sink->neigh_index(arg, &row, n->fib.slot);
}

static void replay_path(const struct path *path, const struct fib *fib, const struct fib_sink *sink,
			void *arg)
{
	struct xfib_nexthop word = nexthop_of_bits(path->fib.word);

	if (!path->fib.ready)
		return;
	if (word.kind == XFIB_NH_GROUP_L3 || word.kind == XFIB_NH_GROUP_L4)
		for (__u32 i = 0; i < word.count; i++)
			sink->member(arg, word.arg + i, fib->member[word.arg + i]);
	if (path->fib.leaf)
		sink->nexthop(arg, path->fib.leaf, word);
}

void fib_replay(struct fib *fib, const struct fib_sink *sink, void *arg)
{
	struct replay replay = { .sink = sink, .arg = arg };
	const struct neigh *neigh;
	const struct link *link;

	for (link = fib->m->links; link; link = link->hh.next)
		if (link->fib.l3if)
			sink->l3if(arg, link->fib.l3if, &fib->l3if[link->fib.l3if]);
	for (neigh = fib->m->neighs; neigh; neigh = neigh->hh.next)
		replay_neigh(neigh, sink, arg);
	sink->own4(arg, fib->own4);
	for (__u32 v = 1; v < XFIB_VERDICT_MAX; v++)
		sink->nexthop(arg, v, nexthop_verdict_word(v));
	for (__u32 i = 1; i < fib->m->paths.used; i++)
		if (path_at(&fib->m->paths, i))
			replay_path(path_at(&fib->m->paths, i), fib, sink, arg);
	for (int f = 0; f < FAMILIES; f++) {
		sink->nexthop(arg, XFIB_NH_DEFAULT(0, f == IP6),
			      nexthop_of_bits(fib->family[f].dflt.word));
		rib_walk(&fib->m->rib[f], RIB_ROOT, RIB_POST, replay_prefix, RIB_NO_TABLE, &replay);
	}
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		struct xfib_port port;

		memcpy(&port, &fib->port_word[i], sizeof(port));
		sink->port(arg, i, port);
	}
	sink->commit(arg);
}

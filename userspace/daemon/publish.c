// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The only writer of the table maps. A word is one aligned store into shared memory; a record is
 * written whole before the store that leads to it (x86 and Arm: the release order of the store).
 * During a switch of generations every row goes to both.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "daemon.h"

/* What refers to earlier stores is stored after them: release. */
static void store_word(void *to, const void *word)
{
	__u64 value;

	memcpy(&value, word, sizeof(value));
	__atomic_store_n((__u64 *)to, value, __ATOMIC_RELEASE);
}

#define for_each_target(p, t) \
	for (struct target *t = (p)->target; t < (p)->target + (p)->targets; t++)

/*
 * Engines queue prefixes. A word that is replaced must not overtake them: a prefix that leaves a next
 * hop would meet what becomes of it afterwards. Fresh slots and buckets need not wait.
 */
static void write_routes(struct publish *p)
{
	bool written = true;

	for_each_target(p, t) for (int f = 0; f < FAMILIES; f++) written &=
		t->ops[f]->flush(t->engine[f]);
	if (written)
		fib_routes_written(p->fib);
}

static void put_port(void *arg, __u32 slot, struct xfib_port port)
{
	struct publish *p = arg;

	write_routes(p);
	for_each_target(p, t) store_word(&t->gen->ports[slot], &port);
}

static void put_l3if(void *arg, __u32 slot, const struct xfib_l3if *l3if)
{
	struct publish *p = arg;

	for_each_target(p, t) t->gen->l3ifs[slot] = *l3if;
}

static void put_tx(void *arg, __u32 port, __u32 ifindex)
{
	struct publish *p = arg;

	write_routes(p);
	port_set_tx(p->instance, port, ifindex);
}

static void put_own4(void *arg, const __u64 words[XFIB_OWN_BITS / 64])
{
	struct publish *p = arg;

	write_routes(p);
	for_each_target(p, t) for (unsigned int i = 0; i < XFIB_OWN_BITS / 64; i++)
		store_word(&t->gen->own4[i], &words[i]);
}

/*
 * A compiled trie of an earlier daemon's is replaced by the sweep, and leaf 0 means in both what this word
 * says: in between it is the kernel's if it is to change.
 */
static bool default_waits(struct publish *p, __u32 id, struct xfib_nexthop nexthop)
{
	const struct xfib_nexthop none = {};
	struct target *t = &p->target[0];
	enum family f = id == XFIB_NH_DEFAULT(0, 1);
	__u64 word;

	if (!p->adopting || id != XFIB_NH_DEFAULT(0, f) || t->ops[f] != &engine_trie)
		return false;
	memcpy(&word, &t->gen->nexthops[id], sizeof(word));
	if (word == nexthop_bits(nexthop) && !p->dflt[f])
		return true;
	p->dflt[f] = nexthop_bits(nexthop);
	store_word(&t->gen->nexthops[id], &none);
	return true;
}

static void put_nexthop(void *arg, __u32 id, struct xfib_nexthop nexthop)
{
	struct publish *p = arg;

	if (default_waits(p, id, nexthop))
		return;
	write_routes(p);
	for_each_target(p, t) store_word(&t->gen->nexthops[id], &nexthop);
}

static void put_nexthop_new(void *arg, __u32 id, struct xfib_nexthop nexthop)
{
	struct publish *p = arg;

	for_each_target(p, t) store_word(&t->gen->nexthops[id], &nexthop);
}

static void put_member(void *arg, __u32 bucket, struct xfib_nexthop nexthop)
{
	struct publish *p = arg;

	for_each_target(p, t) store_word(&t->gen->members[bucket], &nexthop);
}

static void put_neigh(void *arg, __u32 slot, const struct xfib_neigh *neigh)
{
	struct publish *p = arg;

	for_each_target(p, t)
	{
		t->gen->neighs[slot] = *neigh;
		t->gen->hits[slot] = 0;
	}
}

static void put_lladdr(void *arg, __u32 slot, struct xfib_lladdr lladdr)
{
	struct publish *p = arg;

	write_routes(p);
	for_each_target(p, t) store_word(&t->gen->neighs[slot].lladdr, &lladdr);
}

static int index_neigh(const struct target *t, const struct xfib_neigh *n, __u32 slot)
{
	struct xfib_neigh4_key key4 = { .addr = n->addr[0], .ifindex = n->ifindex };
	struct xfib_neigh6_key key6 = { .ifindex = n->ifindex };
	int fd = t->gen->fd[n->ip6 ? XFIB_MAP_neigh6 : XFIB_MAP_neigh4];
	const void *key = n->ip6 ? (const void *)&key6 : &key4;
	int err;

	memcpy(key6.addr, n->addr, sizeof(key6.addr));
	if (slot)
		return bpf_map_update_elem(fd, key, &slot, BPF_ANY);
	err = bpf_map_delete_elem(fd, key);
	return err == -ENOENT ? 0 : err;
}

static int put_neigh_index(void *arg, const struct xfib_neigh *neigh, __u32 slot)
{
	struct publish *p = arg;
	int err = 0;

	write_routes(p);
	for_each_target(p, t)
	{
		int e = index_neigh(t, neigh, slot);

		err = err ? err : e;
	}
	return err;
}

static void put_route(void *arg, enum family family, __u32 fib, struct addr prefix,
		      unsigned int len, __u32 value)
{
	struct publish *p = arg;

	for_each_target(p, t) t->ops[family]->set(t->engine[family], fib, prefix, len, value);
}

static void put_route_del(void *arg, enum family family, __u32 fib, struct addr prefix,
			  unsigned int len)
{
	struct publish *p = arg;

	write_routes(p);
	for_each_target(p, t) t->ops[family]->del(t->engine[family], fib, prefix, len);
}

static void commit(void *arg)
{
	write_routes(arg);
}

const struct fib_sink publish_sink = {
	.port = put_port,
	.l3if = put_l3if,
	.tx = put_tx,
	.own4 = put_own4,
	.nexthop = put_nexthop,
	.nexthop_new = put_nexthop_new,
	.member = put_member,
	.neigh = put_neigh,
	.lladdr = put_lladdr,
	.neigh_index = put_neigh_index,
	.route = put_route,
	.route_del = put_route_del,
	.commit = commit,
};

static void route_failed(void *arg, enum family family, struct addr prefix, unsigned int len)
{
	struct publish *p = arg;

	fib_route_failed(p->fib, family, prefix, len);
}

static void target_close(struct target *t)
{
	for (int f = 0; f < FAMILIES; f++)
		if (t->engine[f])
			t->ops[f]->free(t->engine[f]);
	*t = (struct target){};
}

static int target_open(struct publish *p, struct target *t, struct generation *gen)
{
	const struct engine_tables tables[FAMILIES] = {
		[IP4] = { IP4, gen->fd[XFIB_MAP_lpm4], gen->trie4, gen->capacity.trie4,
			  &gen->trie_roots[XFIB_TRIE_ROOT(0, 0)], &p->fib->m->rib[IP4],
			  route_failed, p },
		[IP6] = { IP6, gen->fd[XFIB_MAP_lpm6], gen->trie6, gen->capacity.trie6,
			  &gen->trie_roots[XFIB_TRIE_ROOT(0, 1)], &p->fib->m->rib[IP6],
			  route_failed, p },
	};
	int err = 0;

	*t = (struct target){ .gen = gen };
	for (int f = 0; f < FAMILIES && !err; f++) {
		t->ops[f] = tables[f].trie_bytes ? &engine_trie : &engine_lpm;
		err = t->ops[f]->new (&tables[f], &t->engine[f]);
	}
	if (err)
		target_close(t);
	return err;
}

int publish_open(struct publish *p, const struct instance *instance, struct generation *gen,
		 struct fib *fib)
{
	int err;

	*p = (struct publish){ .instance = instance, .fib = fib };
	err = target_open(p, &p->target[0], gen);
	p->targets = err ? 0 : 1;
	return err;
}

void publish_close(struct publish *p)
{
	for_each_target(p, t) target_close(t);
	p->targets = 0;
}

int publish_add(struct publish *p, struct generation *gen)
{
	struct publish fresh = { .instance = p->instance, .fib = p->fib, .targets = 1 };
	int err = target_open(p, &p->target[1], gen);

	if (err)
		return err;
	fresh.target[0] = p->target[1];
	p->targets = 2; /* what finds no room is marked in both */
	fib_replay(p->fib, &publish_sink, &fresh);
	return 0;
}

void publish_drop_new(struct publish *p)
{
	target_close(&p->target[1]);
	p->targets = 1;
}

void publish_drop_old(struct publish *p)
{
	target_close(&p->target[0]);
	p->target[0] = p->target[1];
	p->target[1] = (struct target){};
	p->targets = 1;
}

static bool stale(void *arg, enum family family, struct addr prefix, unsigned int len)
{
	return !fib_installed(arg, family, prefix, len);
}

void publish_adopt(struct publish *p)
{
	p->adopting = true;
}

long publish_sweep(struct publish *p)
{
	long swept = 0;

	for_each_target(p, t) for (int f = 0; f < FAMILIES; f++)
	{
		long n = t->ops[f]->sweep(t->engine[f], stale, p->fib);

		if (n < 0)
			return n;
		swept += n;
	}
	p->adopting = false;
	for (int f = 0; f < FAMILIES; f++) {
		if (p->dflt[f])
			put_nexthop(p, XFIB_NH_DEFAULT(0, f), nexthop_of_bits(p->dflt[f]));
		p->dflt[f] = 0;
	}
	return swept;
}

struct engine_room publish_room(const struct publish *p, enum family family)
{
	const struct target *t = &p->target[0];

	return t->ops[family]->room(t->engine[family], p->fib->family[family].installed);
}

void publish_heal(struct publish *p)
{
	for_each_target(p, t) for (int f = 0; f < FAMILIES; f++)
	{
		if (t->ops[f]->heal)
			t->ops[f]->heal(t->engine[f]);
	}
}

bool publish_grace_begin(struct publish *p)
{
	bool wait = false;

	for_each_target(p, t) for (int f = 0; f < FAMILIES; f++)
	{
		if (t->ops[f]->grace_begin)
			wait |= t->ops[f]->grace_begin(t->engine[f]);
	}
	return wait;
}

void publish_grace_end(struct publish *p)
{
	for_each_target(p, t) for (int f = 0; f < FAMILIES; f++)
	{
		if (t->ops[f]->grace_end)
			t->ops[f]->grace_end(t->engine[f]);
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel does not see what XDP forwards, so a neighbour in use would stay STALE until it is
 * collected. Once a second those that carried packets are probed for (NTF_USE), at most MAX_PROBES,
 * and nobody else: for other states the same request destroys the entry.
 */
#include <linux/neighbour.h>

#include "daemon.h"

enum { MAX_PROBES = 256 };

static bool used_lately(const struct daemon *d, const struct neigh *n, __u32 now)
{
	__u32 hit = d->gen->hits[n->fib.slot];

	/* One tick is 2^XFIB_HIT_SHIFT jiffies; this and the last few cover a second at any HZ. */
	return hit && now - hit <= 1 + (clock_hz() >> XFIB_HIT_SHIFT);
}

static bool probe_allowed(const struct neigh *n)
{
	return n->present && n->state == NUD_STALE &&
	       !(n->flags & (NTF_EXT_LEARNED | NTF_PROXY | ~0xffffu));
}

void refresh_neighbours(struct daemon *d)
{
	unsigned int probes = 0;
	struct neigh *n, *tmp;
	__u64 jiffies;

	if (clock_jiffies(&jiffies))
		return;
	HASH_ITER(hh, d->model.neighs, n, tmp)
	{
		if (!n->fib.slot || !probe_allowed(n) ||
		    !used_lately(d, n, jiffies >> XFIB_HIT_SHIFT))
			continue;
		if (++probes > MAX_PROBES)
			break;
		nl_query_probe(d->sync.query, n->key.family, n->key.ifindex, n->key.addr);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters: one record per CPU and ingress port, so that a packet touches few and only its own lines. */
#pragma once

#include "maps.h"

static __always_inline void count_verdict(struct xfib_counters *c, enum xfib_verdict verdict, __u32 bytes)
{
	struct xfib_count *v;
	__u32 index = verdict;

	/* The compiler knows the range and would leave the mask out; verifiers before 6.18 need it. */
	barrier_var(index);
	v = &c->verdict[index & (XFIB_VERDICTS_MAX - 1)];
	v->packets++;
	v->bytes += bytes;
}

static __always_inline void count_queue(struct xfib_counters *c, __u32 queue)
{
	c->queue[queue < XFIB_QUEUES ? queue : XFIB_QUEUES - 1]++;
}

static __always_inline void count_tx(struct xfib_counters *c, __u32 port, __u32 bytes)
{
	struct xfib_count *t = &c->tx[port & (XFIB_PORTS - 1)];

	t->packets++;
	t->bytes += bytes;
}

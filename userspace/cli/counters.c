// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See counters.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "counters.h"
#include "ethtool.h"

static void add(struct xfib_count *to, struct xfib_count count)
{
	to->packets += count.packets;
	to->bytes += count.bytes;
}

static void add_counters(struct sample *s, int slot, int cpu, const struct xfib_counters *c)
{
	for (int v = 0; v < XFIB_VERDICT_MAX; v++) {
		add(&s->verdict[v], c->verdict[v]);
		add(&s->cpu[cpu * XFIB_VERDICTS_MAX + v], c->verdict[v]);
		add(&s->port[slot].verdict[v], c->verdict[v]);
		add(&s->port[slot].rx, c->verdict[v]);
	}
	for (int egress = 0; egress < XFIB_PORTS; egress++)
		add(&s->port[egress].tx, c->tx[egress]);
	for (int q = 0; q < XFIB_QUEUES; q++)
		s->port[slot].queue[q] += c->queue[q];
}

int counters_read(const struct instance *instance, const struct xfib_intent *intents,
		  struct sample **sample)
{
	_cleanup_free_ struct xfib_counters *counters = NULL;
	_cleanup_free_ struct sample *s = NULL;
	int cpus = libbpf_num_possible_cpus(), r;

	if (cpus < 0)
		return cpus;
	counters = calloc(cpus, sizeof(*counters));
	s = calloc(1, sizeof(*s) + cpus * sizeof(s->cpu[0]) * XFIB_VERDICTS_MAX);
	if (!counters || !s)
		return -ENOMEM;
	s->cpus = cpus;
	clock_gettime(CLOCK_MONOTONIC, &s->when);
	for (__u32 slot = 0; slot < XFIB_PORTS; slot++) {
		r = bpf_map_lookup_elem(instance->fd[XFIB_MAP_counters], &slot, counters);
		if (r)
			return r;
		for (int cpu = 0; cpu < cpus; cpu++)
			add_counters(s, slot, cpu, &counters[cpu]);
		if (*intents[slot].ifname)
			s->port[slot].has_drops =
				!ethtool_tx_drops(intents[slot].ifname, &s->port[slot].drops);
	}
	*sample = TAKE_PTR(s);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The per-CPU counters of an instance, summed up in all the ways that people ask for. */
#pragma once

#include <time.h>

#include "view.h"

struct port_sum {
	struct xfib_count rx, tx, verdict[XFIB_VERDICTS_MAX];
	__u64 queue[XFIB_QUEUES];
	__u64 drops; /* frames that the device did not take */
	bool has_drops;
};

struct sample {
	struct timespec when;
	int cpus;
	struct xfib_count verdict[XFIB_VERDICTS_MAX];
	struct port_sum port[XFIB_PORTS];
	struct xfib_count cpu[]; /* [cpu * XFIB_VERDICTS_MAX + verdict] */
};

/*
 * The caller frees it. What was counted by ports that are gone stays in the totals until their slot
 * is used again.
 */
int counters_read(const struct instance *instance, const struct xfib_intent *intents,
		  struct sample **sample);

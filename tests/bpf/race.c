// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See race.h. */
#include "race.h"

#include <bpf/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double race_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int race_pin(pthread_t thread, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return pthread_setaffinity_np(thread, sizeof(set), &set);
}

int race_cpus(int *cpus)
{
	static cpu_set_t allowed;
	int n = 0;

	if (!CPU_COUNT(&allowed))
		sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[n++] = cpu;
	return n == 2 ? 0 : -1;
}

void race_wait_grace(const struct router *r)
{
	static int inner = -1;
	__u32 zero = 0;

	if (inner < 0)
		inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", sizeof(zero), sizeof(zero), 1,
				       NULL);
	if (bpf_map_update_elem(r->grace, &zero, &inner, BPF_ANY)) {
		perror("grace");
		abort();
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the tests need that set a writer of tables beside a reader: two CPUs, and the kernel's grace periods. */
#pragma once

#include <pthread.h>

#include "router.h"

/* Seconds. A broken rule shows in milliseconds, a busy machine may take longer. */
#define RACE_PATIENCE 30

double race_now(void);

/* Two CPUs of those that this process may use; -1 if there is only one. */
int race_cpus(int *cpus);
int race_pin(pthread_t thread, int cpu);

/* Returns when every program that was running has ended: see `grace` in bpf/maps.h. */
void race_wait_grace(const struct router *r);

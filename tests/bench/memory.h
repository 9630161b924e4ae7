/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long this CPU waits for memory. A table that is read at random costs that much a step, and a
 * machine shared with others has less cache than it says: figures compare only where this does.
 */
#pragma once

#include <linux/types.h>
#include <stddef.h>

/* Picoseconds of one dependent load, from anywhere in so many bytes. */
int memory_latency(size_t bytes, __u64 *ps);

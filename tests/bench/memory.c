// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "lookup_bed.h"
#include "memory.h"

#define LINE  64
#define LOADS 500000

struct line {
	struct line *next;
	char rest[LINE - sizeof(struct line *)];
};

/* One ring through all lines, in random order (Sattolo's shuffle). */
static void make_ring(struct line *lines, size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n - 1; i; i--) {
		size_t j = random() % i, other = order[i];

		order[i] = order[j];
		order[j] = other;
	}
	for (size_t i = 0; i < n; i++)
		lines[i].next = &lines[order[i]];
}

static const struct line *chase(const struct line *at, size_t steps)
{
	while (steps--)
		at = *(struct line *volatile const *)&at->next;
	return at;
}

int memory_latency(size_t bytes, __u64 *ps)
{
	size_t n = bytes / LINE;
	_cleanup_free_ struct line *lines = aligned_alloc(4096, bytes);
	_cleanup_free_ size_t *order = calloc(n, sizeof(*order));
	const struct line *at;
	__u64 start;

	if (n < 2 || !lines || !order)
		return -ENOMEM;
	make_ring(lines, order, n);
	at = chase(lines, n);
	start = thread_ns();
	chase(at, LOADS);
	*ps = (thread_ns() - start) * 1000 / LOADS;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A set of 64-bit marks with linear probing; 0 is the empty slot. */
#include <stdlib.h>

#include "model.h"

/* FNV-1a, then folded: never 0. */
__u64 touched_mark(const void *data, size_t len)
{
	const __u8 *p = data;
	__u64 h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	h ^= h >> 32;
	return h ? h : 1;
}

static void insert(__u64 *slot, __u32 size, __u64 mark)
{
	__u32 i = mark & (size - 1);

	while (slot[i] && slot[i] != mark)
		i = (i + 1) & (size - 1);
	slot[i] = mark;
}

static bool grow(struct touched *t)
{
	__u32 size = t->size ? 2 * t->size : 1024;
	__u64 *slot = calloc(size, sizeof(*slot));

	if (!slot)
		return false;
	for (__u32 i = 0; i < t->size; i++)
		if (t->slot[i])
			insert(slot, size, t->slot[i]);
	free(t->slot);
	t->slot = slot;
	t->size = size;
	return true;
}

bool touched_has(const struct touched *t, __u64 mark)
{
	if (!t->used)
		return false;
	for (__u32 i = mark & (t->size - 1); t->slot[i]; i = (i + 1) & (t->size - 1))
		if (t->slot[i] == mark)
			return true;
	return false;
}

bool touched_add(struct touched *t, __u64 mark)
{
	if (touched_has(t, mark))
		return true;
	if (2 * t->used >= t->size && !grow(t))
		return false;
	insert(t->slot, t->size, mark);
	t->used++;
	return true;
}

void touched_clear(struct touched *t)
{
	free(t->slot);
	*t = (struct touched){};
}

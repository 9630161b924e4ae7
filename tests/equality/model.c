// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See model.h. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

void model_open(struct model *m, __u64 prefixes)
{
	*m = (struct model){ .size = 1024 };
	while (m->size < 2 * prefixes)
		m->size *= 2;
	m->slot = calloc(m->size, sizeof(*m->slot));
	if (!m->slot) {
		perror("equality");
		exit(1);
	}
}

void model_close(struct model *m)
{
	free(m->slot);
}

static struct prefix *place(const struct model *m, struct addr a, __u32 len)
{
	__u64 h = (a.hi ^ a.lo * 3 ^ len) * 0x9e3779b97f4a7c15ull;
	__u64 i = (h ^ h >> 29) & (m->size - 1);

	while (m->slot[i].len && (m->slot[i].len != len + 1 || !addr_equal(m->slot[i].addr, a)))
		i = (i + 1) & (m->size - 1);
	return &m->slot[i];
}

/* A prefix that goes keeps its slot: the same one comes back. */
void model_put(struct model *m, const struct prefix *p)
{
	struct prefix *slot = place(m, p->addr, p->len);

	m->lengths[p->len] += !!p->leaf - (slot->len && slot->leaf);
	*slot = (struct prefix){ p->addr, p->len + 1, p->leaf };
}

__u32 model_find(const struct model *m, struct addr addr)
{
	for (int len = 128; len >= 0; len--) {
		const struct prefix *slot;

		if (!m->lengths[len])
			continue;
		slot = place(m, addr_mask(addr, len), len);
		if (slot->len && slot->leaf)
			return slot->leaf;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Longest-prefix match as it is defined: every length that there is, from the longest on, asked for in a
 * hash of prefixes. Built on nothing of the rooms that it judges but struct addr.
 */
#pragma once

#include "common/addr.h"

struct prefix {
	struct addr addr;
	__u32 len;
	__u32 leaf; /* 0: not there */
};

struct model {
	struct prefix *slot; /* open addressing; len is stored plus one, 0: free */
	__u64 size;
	__u32 lengths[129]; /* how many prefixes have each */
};

void model_open(struct model *m, __u64 prefixes); /* room for so many; exits without memory */
void model_close(struct model *m);
void model_put(struct model *m, const struct prefix *p);
__u32 model_find(const struct model *m, struct addr addr);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The prefixes of one family, made up or read from a file, and the addresses at which they are looked at. */
#pragma once

#include "model.h"

struct set {
	enum family family;
	struct prefix *p;
	unsigned int n, size;
};

/* Pseudo-random, the same in each run. */
__u64 draw(void);
unsigned int chance(unsigned int n);
/* Few enough to be met often, and all over the ids that there are. */
__u32 some_leaf(void);

/* At least n prefixes, or those of a file. Exits with a line on stderr. */
void set_generate(struct set *s, unsigned int n);
void set_read(struct set *s, const char *path);
void set_add(struct set *s, struct addr addr, unsigned int len);
/* Each prefix once, and then in no order. */
void set_shuffle(struct set *s);
void set_swap(struct set *s, unsigned int i, unsigned int j);
void set_free(struct set *s);

/* First and last address of a prefix, and what is on both sides of each. */
enum { EDGES = 6 };
void edges_of(enum family family, const struct prefix *p, struct addr edges[EDGES]);
/* Any address in it. */
struct addr addr_inside(enum family family, const struct prefix *p);
/* Uniform over prefixes, over the space, or a bit away from an edge. */
struct addr some_addr(const struct set *s);

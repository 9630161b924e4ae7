/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers of things that packets may still look at: a slot that is given back rests in limbo until a
 * grace period has passed (see abi.h, publication rule).
 *
 * Two limbo lists: what is retired now waits in `open`; limbo_close() makes that list wait for the
 * grace period that starts now, limbo_free() frees it when that has ended. One at a time.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

struct limbo {
	__u32 *open, *closed;
	__u32 opens, closeds, open_size, closed_size;
};

/* Plain slots first..last. */
struct slots {
	__u32 first, next, last; /* next: never used so far */
	__u32 *free;
	__u32 frees, size;
	__u32 live;  /* in use; those in limbo are not */
	__u8 *taken; /* adopted slots above `next`: skipped when next gets there */
	struct limbo limbo;
};

/* 0 or -ENOMEM. Slot 0 means "none": first must be above it. */
int slots_init(struct slots *s, __u32 first, __u32 last);
void slots_done(struct slots *s);
__u32 slots_get(struct slots *s);	      /* 0: none left (some may be in limbo) */
void slots_retire(struct slots *s, __u32 slot);
void slots_adopt(struct slots *s, __u32 slot); /* in use since before; only before the first get */

/* Runs of 2^order members, buddies merged when freed; order < BUDDY_ORDERS, and no run is larger than all. */
#define BUDDY_ORDERS 15
#define BUDDY_NONE   (~0u)

struct buddy {
	__u32 size;
	unsigned int orders;
	__u8 *state;	/* of each unit: order of the free block that starts there, or in use/inside */
	__u32 *next, *prev;
	__u32 head[BUDDY_ORDERS];
	__u32 used;	/* units that are not free, limbo included */
	struct limbo limbo; /* entries: first << 4 | order */
};

/* The order of the smallest run that holds n units. */
static inline unsigned int buddy_order(__u32 n)
{
	return n <= 1 ? 0 : 32 - __builtin_clz(n - 1);
}

int buddy_init(struct buddy *b, __u32 size); /* size: a power of two */
void buddy_done(struct buddy *b);
__u32 buddy_get(struct buddy *b, unsigned int order); /* first unit, or BUDDY_NONE */
void buddy_put(struct buddy *b, __u32 first, unsigned int order); /* nobody has seen it */
void buddy_retire(struct buddy *b, __u32 first, unsigned int order);
/* Takes exactly this block out of the free ones (adopted). False if it is none, or not wholly free. */
bool buddy_adopt(struct buddy *b, __u32 first, unsigned int order);

/* False if there is nothing to wait for, or a list waits already. */
bool slots_close(struct slots *s);
void slots_free(struct slots *s);
bool buddy_close(struct buddy *b);
void buddy_free(struct buddy *b);

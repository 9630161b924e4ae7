// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Allocators with a limbo: see slots.h. */
#include "slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool push(__u32 **list, __u32 *n, __u32 *size, __u32 value)
{
	if (*n == *size) {
		__u32 grown = *size ? 2 * *size : 256;
		__u32 *p = realloc(*list, grown * sizeof(*p));

		if (!p)
			return false;
		*list = p;
		*size = grown;
	}
	(*list)[(*n)++] = value;
	return true;
}

/* Without memory for the list the slot is lost, which is safe. */
static void limbo_retire(struct limbo *l, __u32 value)
{
	push(&l->open, &l->opens, &l->open_size, value);
}

static bool limbo_close(struct limbo *l)
{
	struct limbo swapped = {
		.open = l->closed,
		.open_size = l->closed_size,
		.closed = l->open,
		.closeds = l->opens,
		.closed_size = l->open_size,
	};

	if (l->closeds || !l->opens)
		return false;
	*l = swapped;
	return true;
}

static void limbo_done(struct limbo *l)
{
	free(l->open);
	free(l->closed);
}

int slots_init(struct slots *s, __u32 first, __u32 last)
{
	*s = (struct slots){ .first = first, .next = first, .last = last };
	s->taken = calloc(last / 8 + 1, 1);
	return s->taken ? 0 : -ENOMEM;
}

void slots_done(struct slots *s)
{
	free(s->free);
	free(s->taken);
	limbo_done(&s->limbo);
	*s = (struct slots){};
}

static bool taken(const struct slots *s, __u32 slot)
{
	return s->taken[slot / 8] >> (slot % 8) & 1;
}

__u32 slots_get(struct slots *s)
{
	__u32 slot;

	if (s->frees) {
		slot = s->free[--s->frees];
	} else {
		while (s->next <= s->last && taken(s, s->next))
			s->next++;
		if (s->next > s->last)
			return 0;
		slot = s->next++;
	}
	s->live++;
	return slot;
}

void slots_adopt(struct slots *s, __u32 slot)
{
	if (slot < s->first || slot > s->last || taken(s, slot))
		return;
	s->taken[slot / 8] |= 1u << (slot % 8);
	s->live++;
}

void slots_retire(struct slots *s, __u32 slot)
{
	limbo_retire(&s->limbo, slot);
	s->live--;
}

bool slots_close(struct slots *s)
{
	return limbo_close(&s->limbo);
}

void slots_free(struct slots *s)
{
	for (__u32 i = 0; i < s->limbo.closeds; i++)
		push(&s->free, &s->frees, &s->size, s->limbo.closed[i]);
	s->limbo.closeds = 0;
}

/* --- buddies -------------------------------------------------------------------------------- */

#define INSIDE 0xff /* part of a block, free or not, that starts before */
#define IN_USE 0x80 /* | order: a block in use starts here */

static void list_add(struct buddy *b, __u32 first, unsigned int order)
{
	b->state[first] = order;
	b->prev[first] = BUDDY_NONE;
	b->next[first] = b->head[order];
	if (b->head[order] != BUDDY_NONE)
		b->prev[b->head[order]] = first;
	b->head[order] = first;
}

static void list_del(struct buddy *b, __u32 first, unsigned int order)
{
	if (b->prev[first] != BUDDY_NONE)
		b->next[b->prev[first]] = b->next[first];
	else
		b->head[order] = b->next[first];
	if (b->next[first] != BUDDY_NONE)
		b->prev[b->next[first]] = b->prev[first];
	b->state[first] = INSIDE;
}

int buddy_init(struct buddy *b, __u32 size)
{
	unsigned int top = buddy_order(size);

	if (top > BUDDY_ORDERS - 1)
		top = BUDDY_ORDERS - 1;
	*b = (struct buddy){ .size = size, .orders = top + 1 };
	for (int i = 0; i < BUDDY_ORDERS; i++)
		b->head[i] = BUDDY_NONE;
	b->state = malloc(size);
	b->next = malloc(size * sizeof(*b->next));
	b->prev = malloc(size * sizeof(*b->prev));
	if (!b->state || !b->next || !b->prev) {
		buddy_done(b);
		return -ENOMEM;
	}
	memset(b->state, INSIDE, size);
	for (__u32 i = size; i; i -= 1u << top)
		list_add(b, i - (1u << top), top);
	return 0;
}

void buddy_done(struct buddy *b)
{
	free(b->state);
	free(b->next);
	free(b->prev);
	limbo_done(&b->limbo);
	*b = (struct buddy){};
}

__u32 buddy_get(struct buddy *b, unsigned int order)
{
	unsigned int have = order;
	__u32 first;

	while (have < b->orders && b->head[have] == BUDDY_NONE)
		have++;
	if (have >= b->orders)
		return BUDDY_NONE;
	first = b->head[have];
	list_del(b, first, have);
	while (have > order) {
		have--;
		list_add(b, first + (1u << have), have);
	}
	b->state[first] = IN_USE | order;
	b->used += 1u << order;
	return first;
}

bool buddy_adopt(struct buddy *b, __u32 first, unsigned int order)
{
	unsigned int have = order;
	__u32 block;

	if (first & ((1ull << order) - 1))
		return false;
	/* The free block that contains it, if there is one. */
	for (;; have++) {
		if (have >= b->orders)
			return false;
		block = first & ~((1u << have) - 1);
		if (block < b->size && b->state[block] == have)
			break;
	}
	list_del(b, block, have);
	while (have > order) {
		have--;
		if (first & 1u << have) {
			list_add(b, block, have);
			block += 1u << have;
		} else {
			list_add(b, block + (1u << have), have);
		}
	}
	b->state[first] = IN_USE | order;
	b->used += 1u << order;
	return true;
}

void buddy_put(struct buddy *b, __u32 first, unsigned int order)
{
	b->used -= 1u << order;
	b->state[first] = INSIDE;
	while (order < b->orders - 1) {
		__u32 other = first ^ 1u << order;

		if (other >= b->size || b->state[other] != order)
			break;
		list_del(b, other, order);
		first &= ~(1u << order);
		order++;
	}
	list_add(b, first, order);
}

void buddy_retire(struct buddy *b, __u32 first, unsigned int order)
{
	limbo_retire(&b->limbo, first << 4 | order);
}

bool buddy_close(struct buddy *b)
{
	return limbo_close(&b->limbo);
}

void buddy_free(struct buddy *b)
{
	for (__u32 i = 0; i < b->limbo.closeds; i++)
		buddy_put(b, b->limbo.closed[i] >> 4, b->limbo.closed[i] & 15);
	b->limbo.closeds = 0;
}

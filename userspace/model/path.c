// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Interned paths: see path.h. */
#include "path.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

size_t path_key_len(const struct path_key *key)
{
	return sizeof(*key) + key->legs * sizeof(key->leg[0]);
}

struct path *path_find(const struct path_set *set, const struct path_key *key)
{
	struct path *path;

	HASH_FIND(hh, set->hash, key, path_key_len(key), path);
	return path;
}

static bool set_grow(struct path_set *set)
{
	__u32 size = set->size ? 2 * set->size : 1024;
	struct path **by_index = realloc(set->by_index, size * sizeof(*by_index));
	__u32 *free_list;

	if (!by_index)
		return false;
	set->by_index = by_index;
	free_list = realloc(set->free, size * sizeof(*free_list));
	if (!free_list)
		return false;
	set->free = free_list;
	if (!set->size)
		set->used = 1;
	set->size = size;
	return true;
}

bool path_key_joins(const struct path_key *key)
{
	for (__u32 i = 0; i < key->legs; i++)
		if (key->leg[i].has_gateway)
			return key->family == IP6 && key->type == RTN_UNICAST && !key->nhid;
	return false;
}

struct path *path_get(struct path_set *set, const struct path_key *key)
{
	struct path *path = path_find(set, key);

	if (path) {
		path_ref(path);
		return path;
	}
	if (!set->frees && set->used >= set->size && !set_grow(set))
		return NULL;
	path = calloc(1, sizeof(*path) + key->legs * sizeof(key->leg[0]));
	if (!path)
		return NULL;
	path->key_len = path_key_len(key);
	memcpy(&path->key, key, path->key_len);
	path->ecmp = path_key_joins(key);
	path->refs = 1;
	path->index = set->frees ? set->free[--set->frees] : set->used++;
	set->by_index[path->index] = path;
	HASH_ADD(hh, set->hash, key, path->key_len, path);
	return path;
}

void path_ref(struct path *path)
{
	path->refs++;
}

void path_unref(struct path_set *set, struct path *path)
{
	if (--path->refs || path->is_parked)
		return;
	path->is_parked = true;
	path->parked = set->parked;
	set->parked = path;
}

void path_free(struct path_set *set, struct path *path)
{
	HASH_DELETE(hh, set->hash, path);
	set->by_index[path->index] = NULL;
	set->free[set->frees++] = path->index;
	free(path);
}

void path_set_done(struct path_set *set)
{
	struct path *path, *tmp;

	HASH_ITER(hh, set->hash, path, tmp)
	{
		HASH_DELETE(hh, set->hash, path);
		free(path->fib.neigh);
		free(path);
	}
	free(set->by_index);
	free(set->free);
	*set = (struct path_set){};
}

static int leg_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct path_leg));
}

/* Never 0 for a route that looks at more than the destination. IPv4 has no source: TOS tells all. */
static __u16 selector_of(const struct route_event *route)
{
	__u64 hash = route->src.hi ^ route->src.lo ^ route->src_len;

	if (!route->tos && !route->src_len)
		return 0;
	return 1 + ((hash * 0x9e3779b97f4a7c15ull >> 49) + route->tos);
}

struct path_key *path_key_of_route(const struct route_event *route, struct path_key_buf *buf)
{
	struct path_key *key = (struct path_key *)buf->bytes;
	__u32 legs = route->nhid || route->type != RTN_UNICAST ? 0 : route->legs;

	memset(key, 0, sizeof(*key) + legs * sizeof(key->leg[0]));
	key->family = route->family;
	/* A route of a blackhole object says blackhole itself; it is the object that counts. */
	key->type = route->nhid ? RTN_UNICAST : route->type;
	key->modelled = !route->truncated && !route->pref_expires;
	key->nhid = route->nhid;
	key->mtu = route->type == RTN_UNICAST ? route->mtu : 0;
	key->legs = legs;
	key->selector = selector_of(route);
	for (__u32 i = 0; i < legs; i++) {
		const struct leg *leg = &route->leg[i];

		key->encap |= leg->encap;
		key->leg[i].encap = leg->encap;
		key->leg[i].ifindex = leg->ifindex;
		key->leg[i].weight = leg->weight;
		key->leg[i].has_gateway = leg->has_gateway;
		if (leg->has_gateway) {
			key->leg[i].gateway = leg->gateway;
			key->leg[i].gateway_family = leg->gateway_family;
		}
	}
	/* Only among several has a weight a meaning, and only then the kernel tells it. */
	if (legs == 1)
		key->leg[0].weight = 1;
	if (route->family == IP6)
		qsort(key->leg, legs, sizeof(key->leg[0]), leg_compare);
	return key;
}

/* Weights do not matter: the kernel compares device and gateway only (rt6_nh_find_match()). */
static bool leg_same(const struct path_leg *a, const struct path_leg *b)
{
	return a->ifindex == b->ifindex && a->has_gateway == b->has_gateway &&
	       addr_equal(a->gateway, b->gateway);
}

__u32 path_key_remove(struct path_key *a, const struct path_key *b)
{
	__u32 kept = 0;

	a->encap = 0;
	for (__u32 i = 0; i < a->legs; i++) {
		bool gone = false;

		for (__u32 j = 0; j < b->legs && !gone; j++)
			gone = leg_same(&a->leg[i], &b->leg[j]);
		if (gone)
			continue;
		a->encap |= a->leg[i].encap;
		a->leg[kept++] = a->leg[i];
	}
	if (kept == 1)
		a->leg[0].weight = 1;
	a->legs = kept;
	return kept;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The prefix trie: see rib.h. */
#include "rib.h"

#include <errno.h>
#include <sys/mman.h>

/* Address space only: pages that are never written cost nothing, and a growing pool never moves. */
static void *pool_map(size_t n, size_t size)
{
	void *p = mmap(NULL, n * size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int rib_init(struct rib *rib, enum family family, __u32 max_prefixes)
{
	/* Half of the nodes of a full binary trie are forks; 64 spare ones hold forks on the way. */
	*rib = (struct rib){
		.family = family,
		.nodes_max = 2 * max_prefixes + 64,
		.routes_max = max_prefixes + max_prefixes / 4 + 64,
	};
	rib->node = pool_map(rib->nodes_max, sizeof(*rib->node));
	rib->route = pool_map(rib->routes_max, sizeof(*rib->route));
	if (!rib->node || !rib->route) {
		rib_done(rib);
		return -ENOMEM;
	}
	rib->nodes = RIB_ROOT + 1;
	rib->routes = 1;
	rib->node[RIB_ROOT].first = RIB_NO_TABLE;
	return 0;
}

void rib_done(struct rib *rib)
{
	if (rib->node)
		munmap(rib->node, rib->nodes_max * sizeof(*rib->node));
	if (rib->route)
		munmap(rib->route, rib->routes_max * sizeof(*rib->route));
	*rib = (struct rib){};
}

static __u32 node_new(struct rib *rib, struct addr prefix, unsigned int len)
{
	__u32 n = rib->node_free;

	if (n)
		rib->node_free = rib->node[n].child[0];
	else if (rib->nodes < rib->nodes_max)
		n = rib->nodes++;
	else
		return 0;
	rib->node[n] = (struct rib_node){ .prefix = prefix, .len = len, .first = RIB_NO_TABLE };
	return n;
}

static void node_free(struct rib *rib, __u32 n)
{
	rib->node[n] = (struct rib_node){ .child[0] = rib->node_free };
	rib->node_free = n;
}

static __u8 lower(__u8 a, __u8 b)
{
	return a < b ? a : b;
}

__u32 rib_node_find(const struct rib *rib, struct addr prefix, unsigned int len, __u8 *above)
{
	__u8 first = RIB_NO_TABLE;
	__u32 n = RIB_ROOT;

	for (;;) {
		const struct rib_node *node = &rib->node[n];

		if (node->len > len || !prefix_covers(node->prefix, node->len, prefix))
			return 0;
		if (node->len == len)
			break;
		first = lower(first, node->first);
		n = node->child[addr_bit(prefix, node->len)];
		if (!n)
			return 0;
	}
	if (above)
		*above = first;
	return n;
}

/*
 * Puts a new node at *link, where nothing is or a node that is not above it: over that, or beside it under
 * a fork. 0: the pool is full.
 */
static __u32 node_insert(struct rib *rib, __u32 *link, struct addr prefix, unsigned int len)
{
	__u32 old = *link, leaf = node_new(rib, prefix, len), fork;
	unsigned int common;

	if (!leaf)
		return 0;
	if (!old) {
		*link = leaf;
		return leaf;
	}
	common = addr_common(prefix, rib->node[old].prefix);
	if (common >= len) {
		rib->node[leaf].child[addr_bit(rib->node[old].prefix, len)] = old;
		*link = leaf;
		return leaf;
	}
	fork = node_new(rib, addr_mask(prefix, common), common);
	if (!fork) {
		node_free(rib, leaf);
		return 0;
	}
	rib->node[fork].child[addr_bit(prefix, common)] = leaf;
	rib->node[fork].child[addr_bit(rib->node[old].prefix, common)] = old;
	*link = fork;
	return leaf;
}

int rib_node_get(struct rib *rib, struct addr prefix, unsigned int len, __u32 *out, __u8 *above)
{
	__u8 first = RIB_NO_TABLE;
	__u32 n = RIB_ROOT, *link = NULL;

	while (n && rib->node[n].len < len &&
	       prefix_covers(rib->node[n].prefix, rib->node[n].len, prefix)) {
		first = lower(first, rib->node[n].first);
		link = &rib->node[n].child[addr_bit(prefix, rib->node[n].len)];
		n = *link;
	}
	if (!n || rib->node[n].len != len || !addr_equal(rib->node[n].prefix, prefix))
		n = node_insert(rib, link, prefix, len);
	if (!n)
		return -ENOSPC;
	*out = n;
	*above = first;
	return 0;
}

static bool node_needed(const struct rib_node *node)
{
	return node->routes || node->installed || node->overflow ||
	       (node->child[0] && node->child[1]);
}

/* Replaces *link by the only child of the node it leads to, or by nothing. */
static void node_splice(struct rib *rib, __u32 *link)
{
	__u32 n = *link;

	*link = rib->node[n].child[0] ? rib->node[n].child[0] : rib->node[n].child[1];
	node_free(rib, n);
}

void rib_node_put(struct rib *rib, struct addr prefix, unsigned int len)
{
	__u32 *parent = NULL, *link = NULL;
	__u32 n = RIB_ROOT, root = RIB_ROOT;

	link = &root;
	while (n && rib->node[n].len < len) {
		parent = link;
		link = &rib->node[n].child[addr_bit(prefix, rib->node[n].len)];
		n = *link;
	}
	if (!n || n == RIB_ROOT || rib->node[n].len != len ||
	    !addr_equal(rib->node[n].prefix, prefix))
		return;
	if (node_needed(&rib->node[n]))
		return;
	node_splice(rib, link);
	/* The fork above may have lost its second child. */
	if (!*link && *parent != RIB_ROOT && !node_needed(&rib->node[*parent]))
		node_splice(rib, parent);
}

static bool route_before(const struct rib_route *a, const struct rib_route *b)
{
	return a->table != b->table ? a->table < b->table : a->priority < b->priority;
}

__u32 rib_route_add(struct rib *rib, __u32 node, const struct rib_route *route, bool front)
{
	__u32 *link = &rib->node[node].routes;
	__u32 r = rib->route_free;

	if (r)
		rib->route_free = rib->route[r].next;
	else if (rib->routes < rib->routes_max)
		r = rib->routes++;
	else
		return 0;
	if (!*link)
		rib->prefixes++;
	rib->live_routes++;
	while (*link && (front ? route_before(&rib->route[*link], route)
			       : !route_before(route, &rib->route[*link])))
		link = &rib->route[*link].next;
	rib->route[r] = *route;
	rib->route[r].next = *link;
	*link = r;
	return r;
}

void rib_route_del(struct rib *rib, __u32 node, __u32 route)
{
	__u32 *link = &rib->node[node].routes;

	while (*link && *link != route)
		link = &rib->route[*link].next;
	if (!*link)
		return;
	*link = rib->route[route].next;
	rib->route[route] = (struct rib_route){ .next = rib->route_free };
	rib->route_free = route;
	rib->live_routes--;
	if (!rib->node[node].routes)
		rib->prefixes--;
}

/* Insertion sort by (table, priority, order): a prefix has a handful of routes, mostly one. */
void rib_route_sort(struct rib *rib, __u32 node)
{
	__u32 sorted = 0, r = rib->node[node].routes, next;

	for (; r; r = next) {
		struct rib_route *route = &rib->route[r];
		__u32 *link = &sorted;

		next = route->next;
		while (*link && (route_before(&rib->route[*link], route) ||
				 (!route_before(route, &rib->route[*link]) &&
				  rib->route[*link].order <= route->order)))
			link = &rib->route[*link].next;
		route->next = *link;
		*link = r;
	}
	rib->node[node].routes = sorted;
}

void rib_walk(struct rib *rib, __u32 top, enum rib_walk order,
	      void (*fn)(struct rib *rib, __u32 node, __u8 above, void *arg), __u8 above, void *arg)
{
	const struct rib_node *node = &rib->node[top];
	__u8 below;

	if (order == RIB_PRE)
		fn(rib, top, above, arg);
	/* Post-order functions must not change `first`; depth is at most 129 levels. */
	below = lower(above, node->first);
	for (int i = 0; i < 2; i++)
		if (node->child[i])
			rib_walk(rib, node->child[i], order, fn, below, arg);
	if (order == RIB_POST)
		fn(rib, top, above, arg);
}

static void compact(struct rib *rib, __u32 *link)
{
	__u32 n = *link;

	for (int i = 0; i < 2; i++)
		if (rib->node[n].child[i])
			compact(rib, &rib->node[n].child[i]);
	if (n != RIB_ROOT && !node_needed(&rib->node[n]))
		node_splice(rib, link);
}

void rib_compact(struct rib *rib)
{
	__u32 root = RIB_ROOT;

	compact(rib, &root);
}

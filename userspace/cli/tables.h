/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The route tables as the program has them, whichever engine looks them up; they may change at any time.
 * A compiled trie knows ranges of addresses and no prefixes: it is read as the fewest prefixes that mean
 * the same. Which prefix of the kernel's, and of which table, has led there is not in it.
 */
#pragma once

#include "common/addr.h"
#include "loader/load.h"

struct route {
	struct addr addr;
	__u32 fib;
	__u16 leaf; /* 0: the default route, or none */
	__u8 len;
	__u8 table; /* enum xfib_table; XFIB_TABLE_COUNT: not known */
};

struct routes {
	struct route *route;
	size_t count, room;
};

#define _cleanup_routes_ __attribute__((cleanup(routes_done)))

int routes_add(struct routes *list, const struct route *route);
void routes_sort(struct routes *list); /* by FIB and prefix, each prefix once */
int route_compare(const struct route *a, const struct route *b);
void routes_done(struct routes *list);

/* What no prefix of a FIB covers. */
struct route route_default(__u32 fib);

/*
 * All prefixes of a family, sorted, without default routes. While the table changes, one that was there
 * all the time is listed; one that came or went may be. The list is the caller's, also on failure.
 */
int tables_walk(const struct generation *gen, enum family f, struct routes *list);

/*
 * The route of a prefix: of exactly this one, or else the longest one that covers it. In a compiled trie
 * the largest prefix around it with the same leaf, or else all that there is inside.
 */
int tables_match(const struct generation *gen, enum family f, __u32 fib, struct addr a,
		 unsigned int len, struct routes *list);

/* The leaf of an address, as the program finds it. */
int tables_lookup(const struct generation *gen, enum family f, __u32 fib, struct addr a,
		  unsigned int *leaf);

/* Says on stderr why the tables cannot be read, for -errno of the above. Returns it. */
int tables_failed(int err, const char *what);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Addresses and prefixes as the tables order them: 128 bits in host order, most significant bit
 * first, so that "the first n bits" is a shift. An IPv4 address stands in the top 32 bits of hi.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

enum family { IP4, IP6, FAMILIES };

struct addr {
	__u64 hi, lo;
};

#define ADDR_STRLEN   46 /* INET6_ADDRSTRLEN */
#define PREFIX_STRLEN (ADDR_STRLEN + 4)

static inline unsigned int family_bits(enum family f)
{
	return f == IP4 ? 32 : 128;
}

static inline int family_af(enum family f)
{
	return f == IP4 ? 2 /* AF_INET */ : 10 /* AF_INET6 */;
}

static inline bool addr_equal(struct addr a, struct addr b)
{
	return a.hi == b.hi && a.lo == b.lo;
}

static inline bool addr_is_zero(struct addr a)
{
	return !(a.hi | a.lo);
}

/* Bit n of the address, counted from the most significant one. */
static inline unsigned int addr_bit(struct addr a, unsigned int n)
{
	return (n < 64 ? a.hi >> (63 - n) : a.lo >> (127 - n)) & 1;
}

/* The first `len` bits; the others are zero. */
static inline struct addr addr_mask(struct addr a, unsigned int len)
{
	if (len < 64)
		return (struct addr){ len ? a.hi & ~0ull << (64 - len) : 0, 0 };
	return (struct addr){ a.hi, len == 64 ? 0 : len >= 128 ? a.lo : a.lo & ~0ull << (128 - len) };
}

/* The 64 bits from bit `depth` on, 0..128; behind the address: zeros. */
static inline __u64 addr_window(struct addr a, unsigned int depth)
{
	if (depth >= 64)
		return depth < 128 ? a.lo << (depth - 64) : 0;
	return depth ? a.hi << depth | a.lo >> (64 - depth) : a.hi;
}

/* The other way round: 64 bits set in an address that has zeros there. What does not fit is lost. */
static inline struct addr addr_with_window(struct addr a, unsigned int depth, __u64 bits)
{
	if (depth >= 64) {
		a.lo |= depth < 128 ? bits >> (depth - 64) : 0;
	} else {
		a.hi |= bits >> depth;
		a.lo |= depth ? bits << (64 - depth) : 0;
	}
	return a;
}

/* How many leading bits two addresses have in common, 0..128. */
static inline unsigned int addr_common(struct addr a, struct addr b)
{
	if (a.hi != b.hi)
		return __builtin_clzll(a.hi ^ b.hi);
	return a.lo != b.lo ? 64 + __builtin_clzll(a.lo ^ b.lo) : 128;
}

static inline bool prefix_covers(struct addr prefix, unsigned int len, struct addr a)
{
	return addr_common(prefix, a) >= len;
}

/* bytes: 4 or 16 bytes in network order, as netlink and packets carry them; no alignment needed. */
struct addr addr_from_bytes(enum family f, const void *bytes);
void addr_to_bytes(enum family f, struct addr a, void *bytes);

/* Text as inet_ntop() and inet_pton() have it. addr_parse(): 0, or -EINVAL with both outputs untouched. */
const char *addr_format(enum family f, struct addr a, char buf[static ADDR_STRLEN]);
int addr_parse(const char *text, enum family *f, struct addr *a);

/* "ADDRESS/LEN"; without "/LEN" the length is full. Host bits must be zero. 0 or -EINVAL. */
int prefix_parse(const char *text, enum family *f, struct addr *a, unsigned int *len);
const char *prefix_format(enum family f, struct addr a, unsigned int len, char buf[static PREFIX_STRLEN]);

/* Link-layer addresses: "02:00:00:00:00:01". */
#define MAC_STRLEN 18
const char *mac_format(const __u8 mac[static 6], char buf[static MAC_STRLEN]);

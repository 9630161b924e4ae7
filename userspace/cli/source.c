// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See source.h. */
#include <errno.h>
#include <stdlib.h>

#include "netlink/nl.h"
#include "source.h"

struct own {
	struct addr_event *addr;
	size_t count;
	int error;
};

static void add_own(const struct event *ev, void *arg)
{
	struct own *own = arg;
	struct addr_event *grown;

	if (ev->kind != EVENT_ADDR)
		return;
	grown = reallocarray(own->addr, own->count + 1, sizeof(*grown));
	if (!grown) {
		own->error = -ENOMEM;
		return;
	}
	own->addr = grown;
	own->addr[own->count++] = ev->addr;
}

static bool is_own(const struct own *own, enum family f, struct addr a)
{
	for (size_t i = 0; i < own->count; i++)
		if (own->addr[i].family == f && addr_equal(own->addr[i].addr, a))
			return true;
	return false;
}

/* The address `n` behind the first one of the prefix. */
static struct addr nth_address(enum family f, struct addr prefix, __u64 n)
{
	if (f == IP4)
		prefix.hi += n << 32;
	else
		prefix.lo += n;
	return prefix;
}

/* A host of a subnet that is neither we, nor the destination, nor all or none of the hosts. */
static bool pick_host(const struct own *own, const struct addr_event *subnet, struct addr dst,
		      struct addr *host)
{
	unsigned int bits = family_bits(subnet->family), len = subnet->prefixlen;
	struct addr first = addr_mask(subnet->addr, len), a;
	__u64 hosts = bits - len >= 16 ? 65536 : 1ull << (bits - len);

	for (__u64 n = len + 1 < bits; n < hosts - (len + 1 < bits); n++) {
		a = nth_address(subnet->family, first, n);
		if (addr_equal(a, dst) || is_own(own, subnet->family, a))
			continue;
		*host = a;
		return true;
	}
	return false;
}

static bool is_link_local(enum family f, struct addr a)
{
	return f == IP4 ? a.hi >> 48 == 0xa9fe : a.hi >> 54 == 0xfe80 >> 6;
}

int source_choose(enum family f, struct addr dst, int ifindex, struct addr *src)
{
	const char *documentation = f == IP4 ? "192.0.2.1" : "2001:db8::1"; /* RFC 5737, 3849 */
	struct own own = { 0 };
	int r = nl_dump_all(NL_ADDRS, add_own, &own);
	bool found = false;

	r = r ? r : own.error;
	for (size_t i = 0; !r && !found && i < own.count; i++) {
		const struct addr_event *a = &own.addr[i];

		found = a->family == f && a->ifindex == ifindex && !is_link_local(f, a->addr) &&
			pick_host(&own, a, dst, src);
	}
	free(own.addr);
	return r || found ? r : addr_parse(documentation, &f, src);
}

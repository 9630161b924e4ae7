/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conversions of struct addr from and to bytes and text. Text is left to inet_pton() and
 * inet_ntop(); what they do not know, "/LEN" and host bits, is checked here.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "addr.h"

struct addr addr_from_bytes(enum family f, const void *bytes)
{
	__be32 top;
	__be64 half[2];

	if (f == IP4) {
		memcpy(&top, bytes, sizeof(top));
		return (struct addr){ (__u64)be32toh(top) << 32, 0 };
	}
	memcpy(half, bytes, sizeof(half));
	return (struct addr){ be64toh(half[0]), be64toh(half[1]) };
}

void addr_to_bytes(enum family f, struct addr a, void *bytes)
{
	__be32 top = htobe32(a.hi >> 32);
	__be64 half[2] = { htobe64(a.hi), htobe64(a.lo) };

	if (f == IP4)
		memcpy(bytes, &top, sizeof(top));
	else
		memcpy(bytes, half, sizeof(half));
}

const char *addr_format(enum family f, struct addr a, char buf[static ADDR_STRLEN])
{
	__u8 bytes[16];

	addr_to_bytes(f, a, bytes);
	return inet_ntop(family_af(f), bytes, buf, ADDR_STRLEN);
}

int addr_parse(const char *text, enum family *f, struct addr *a)
{
	enum family family = strchr(text, ':') ? IP6 : IP4;
	__u8 bytes[16];

	if (inet_pton(family_af(family), text, bytes) != 1)
		return -EINVAL;

	*f = family;
	*a = addr_from_bytes(family, bytes);
	return 0;
}

/* One to three decimal digits and nothing else: strtoul() would take signs and spaces too. */
static int length_parse(const char *text, unsigned int *len)
{
	size_t digits = strspn(text, "0123456789");
	unsigned int value = 0;

	if (!digits || digits > 3 || text[digits])
		return -EINVAL;

	for (; *text; text++)
		value = value * 10 + (*text - '0');
	*len = value;
	return 0;
}

int prefix_parse(const char *text, enum family *f, struct addr *a, unsigned int *len)
{
	const char *slash = strchrnul(text, '/');
	size_t n = slash - text;
	char host[ADDR_STRLEN];
	unsigned int bits;
	enum family family;
	struct addr addr;

	if (n >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	if (addr_parse(host, &family, &addr))
		return -EINVAL;

	bits = family_bits(family);
	if (*slash && length_parse(slash + 1, &bits))
		return -EINVAL;
	if (bits > family_bits(family) || !addr_equal(addr, addr_mask(addr, bits)))
		return -EINVAL;

	*f = family;
	*a = addr;
	*len = bits;
	return 0;
}

const char *prefix_format(enum family f, struct addr a, unsigned int len,
			  char buf[static PREFIX_STRLEN])
{
	char host[ADDR_STRLEN];

	snprintf(buf, PREFIX_STRLEN, "%s/%u", addr_format(f, a, host), len);
	return buf;
}

const char *mac_format(const __u8 mac[static 6], char buf[static MAC_STRLEN])
{
	snprintf(buf, MAC_STRLEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
	return buf;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading attributes. Every byte is read through struct attr, which knows its length, and by memcpy(),
 * so that neither truncated nor unaligned input matters (mnl_attr_*() want both right). Errors stick:
 * a getter that finds its attribute too short sets *why and returns 0, and parse_message() looks at
 * *why once, at the end. Private to parse*.c.
 */
#pragma once

#include <linux/rtnetlink.h>
#include <string.h>

#include "event.h"

struct span {
	const __u8 *data;
	size_t len;
};

struct attr {
	unsigned int type;
	struct span payload;
};

static inline void fail(const char **why, const char *reason)
{
	if (!*why)
		*why = reason;
}

/* The next attribute, cut off `rest`. Less than a header left over is padding, as for the kernel. */
static inline bool next_attr(struct span *rest, struct attr *a, const char **why)
{
	struct nlattr header;
	size_t step;

	if (rest->len < sizeof(header))
		return false;
	memcpy(&header, rest->data, sizeof(header));
	if (header.nla_len < sizeof(header) || header.nla_len > rest->len) {
		fail(why, "attribute length out of bounds");
		return false;
	}

	a->type = header.nla_type & NLA_TYPE_MASK;
	a->payload.data = rest->data + NLA_HDRLEN;
	a->payload.len = header.nla_len - NLA_HDRLEN;

	step = NLA_ALIGN(header.nla_len);
	if (step > rest->len)
		step = rest->len;
	rest->data += step;
	rest->len -= step;
	return true;
}

#define for_each_attr(a, attrs, why) \
	for (struct span rest_ = (attrs); next_attr(&rest_, (a), (why));)

/* The attribute's first `len` bytes; structs grow at their end, so it may be longer. */
static inline bool get(const struct attr *a, void *value, size_t len, const char **why)
{
	if (a->payload.len < len) {
		fail(why, "attribute shorter than its type");
		return false;
	}
	memcpy(value, a->payload.data, len);
	return true;
}

static inline __u16 get_u16(const struct attr *a, const char **why)
{
	__u16 value = 0;

	get(a, &value, sizeof(value), why);
	return value;
}

static inline __u32 get_u32(const struct attr *a, const char **why)
{
	__u32 value = 0;

	get(a, &value, sizeof(value), why);
	return value;
}

static inline struct addr get_addr(const struct attr *a, enum family f, const char **why)
{
	if (a->payload.len != family_bits(f) / 8) {
		fail(why, "address of a wrong length");
		return (struct addr){};
	}
	return addr_from_bytes(f, a->payload.data);
}

/* A name, cut to fit; the kernel's end with a NUL byte, but that is not relied on. */
static inline void get_name(const struct attr *a, char *name, size_t size)
{
	size_t len = strnlen((const char *)a->payload.data, a->payload.len);

	if (len >= size)
		len = size - 1;
	memcpy(name, a->payload.data, len);
	name[len] = '\0';
}

static inline void get_lladdr(const struct attr *a, struct lladdr *mac)
{
	size_t len = a->payload.len;

	*mac = (struct lladdr){ .len = len < 255 ? len : 255 };
	memcpy(mac->bytes, a->payload.data, len < sizeof(mac->bytes) ? len : sizeof(mac->bytes));
}

/* Cuts the message's own header off `msg`. */
static inline bool take_header(struct span *msg, void *header, size_t len, const char **why)
{
	size_t step = NLMSG_ALIGN(len);

	if (msg->len < len) {
		fail(why, "message shorter than its header");
		return false;
	}
	memcpy(header, msg->data, len);
	if (step > msg->len)
		step = msg->len;
	msg->data += step;
	msg->len -= step;
	return true;
}

static inline bool known_family(unsigned int af, enum family *f)
{
	*f = af == AF_INET6 ? IP6 : IP4;
	return af == AF_INET || af == AF_INET6;
}

/* The parts of parse_message(): false if the message is of no interest or *why was set. */
bool parse_link(struct span msg, struct event *ev, const char **why);
bool parse_route(struct span msg, struct event *ev, const char **why);
bool parse_nexthop(struct span msg, struct event *ev, const char **why);

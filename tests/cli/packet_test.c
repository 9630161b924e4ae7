// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The packet of `xfib lookup`: its lengths and checksums, summed up here in another way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/cli/packet.h"

static const __u8 to[6] = { 2, 0, 0, 0, 0, 1 }, from[6] = { 2, 0, 0, 0, 0, 2 };

static unsigned int word(const __u8 *p)
{
	return p[0] << 8 | p[1];
}

/* The one's complement sum, one carry at a time (RFC 1071). */
static unsigned int sum(unsigned int s, const __u8 *p, size_t len)
{
	for (; len; p += 2, len -= 2) {
		s += word(p);
		s = (s & 0xffff) + (s >> 16);
	}
	return s;
}

static struct addr address(const char *text)
{
	struct addr a = { 0 };
	enum family f;

	assert_int_equal(addr_parse(text, &f, &a), 0);
	return a;
}

static void an_ip4_packet_is_right(void **state)
{
	__u8 frame[PACKET_MAX];
	size_t len =
		packet_build(IP4, to, from, address("192.0.2.1"), address("198.51.100.255"), frame);

	assert_int_equal(len, 60); /* the Ethernet minimum without FCS */
	assert_memory_equal(frame, to, 6);
	assert_memory_equal(frame + 6, from, 6);
	assert_int_equal(word(frame + 12), 0x0800);
	assert_int_equal(frame[14], 0x45);
	assert_int_equal(word(frame + 16), len - 14);
	assert_memory_equal(frame + 26, "\xc0\x00\x02\x01\xc6\x33\x64\xff", 8);
	assert_int_equal(sum(0, frame + 14, 20), 0xffff);
	assert_int_equal(sum(17 + (len - 34), frame + 26, len - 26), 0xffff);
}

static void an_ip6_packet_is_right(void **state)
{
	__u8 frame[PACKET_MAX];
	size_t len = packet_build(IP6, to, from, address("2001:db8::1"),
				  address("2001:db8:ffff::2"), frame);

	assert_int_equal(word(frame + 12), 0x86dd);
	assert_int_equal(frame[14] >> 4, 6);
	assert_int_equal(word(frame + 18), len - 54);
	assert_int_equal(frame[20], 17);
	assert_int_equal(word(frame + 38), 0x2001);
	assert_int_equal(sum(17 + (len - 54), frame + 22, len - 22), 0xffff);
}

static void the_udp_checksum_is_right_for_every_address(void **state)
{
	__u8 frame[PACKET_MAX];

	/* All sums, also the one whose checksum would be 0, which UDP reads as "none". */
	for (unsigned int i = 0; i < 0x10000; i++) {
		struct addr dst = { (__u64)(0xc6330000u | i) << 32, 0 };
		size_t len = packet_build(IP4, to, from, address("192.0.2.1"), dst, frame);

		assert_int_equal(sum(17 + (len - 34), frame + 26, len - 26), 0xffff);
		assert_int_not_equal(word(frame + 40), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ip4_packet_is_right),
		cmocka_unit_test(an_ip6_packet_is_right),
		cmocka_unit_test(the_udp_checksum_is_right_for_every_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses and prefixes: order of bits, text, masks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/addr.h"

static struct addr parsed(const char *text)
{
	enum family f;
	struct addr a;

	assert_int_equal(addr_parse(text, &f, &a), 0);
	return a;
}

static void ipv4_stands_in_the_top_bits(void **state)
{
	struct addr a = addr_from_bytes(IP4, "\xc0\x00\x02\x01");
	__u8 bytes[4];

	assert_int_equal(a.hi, 0xc000020100000000);
	assert_int_equal(a.lo, 0);
	addr_to_bytes(IP4, a, bytes);
	assert_memory_equal(bytes, "\xc0\x00\x02\x01", 4);
}

static void ipv6_survives_the_round_trip(void **state)
{
	static const __u8 wire[17] = { 0xff, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0,
				       0,    0,	   0,	 0,    0,    0, 0, 1 };
	__u8 bytes[16];
	struct addr a = addr_from_bytes(IP6, wire + 1); /* not aligned */

	assert_int_equal(a.hi, 0x20010db800000000);
	assert_int_equal(a.lo, 1);
	addr_to_bytes(IP6, a, bytes);
	assert_memory_equal(bytes, wire + 1, 16);
}

static void text_is_what_inet_ntop_says(void **state)
{
	static const struct {
		enum family f;
		const char *text;
	} same[] = {
		{ IP4, "0.0.0.0" },
		{ IP4, "255.255.255.255" },
		{ IP4, "10.1.2.3" },
		{ IP6, "::" },
		{ IP6, "::1" },
		{ IP6, "2001:db8::ff00:42:8329" },
		{ IP6, "::ffff:192.0.2.1" },
		{ IP6, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};
	char buf[ADDR_STRLEN];
	enum family f;
	struct addr a;

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		assert_int_equal(addr_parse(same[i].text, &f, &a), 0);
		assert_int_equal(f, same[i].f);
		assert_string_equal(addr_format(f, a, buf), same[i].text);
	}
}

static void bad_text_leaves_the_outputs_alone(void **state)
{
	static const char *const bad[] = { "",	  "10.0.0",	"10.0.0.256", "10.0.0.1 ", "1:2:3",
					   "g::", "10.0.0.1/8", "::1%lo",     " 10.0.0.1" };
	enum family f = 77;
	struct addr a = { 1, 2 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(addr_parse(bad[i], &f, &a), -EINVAL);
	assert_int_equal(f, 77);
	assert_true(addr_equal(a, (struct addr){ 1, 2 }));
}

static void prefixes_round_trip(void **state)
{
	static const struct {
		const char *text;
		unsigned int len;
		const char *again; /* NULL: the same */
	} good[] = {
		{ "0.0.0.0/0", 0, NULL },
		{ "10.0.0.0/8", 8, NULL },
		{ "10.1.2.3", 32, "10.1.2.3/32" },
		{ "10.1.2.3/32", 32, NULL },
		{ "::/0", 0, NULL },
		{ "2001:db8::/32", 32, NULL },
		{ "2001:db8::/64", 64, NULL },
		{ "2001:db8:0:0:8000::/65", 65, NULL },
		{ "::1", 128, "::1/128" },
	};
	char buf[PREFIX_STRLEN];
	unsigned int len;
	enum family f;
	struct addr a;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(prefix_parse(good[i].text, &f, &a, &len), 0);
		assert_int_equal(len, good[i].len);
		assert_string_equal(prefix_format(f, a, len, buf), good[i].again ?: good[i].text);
	}
}

static void bad_prefixes_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"/8",
		"10.0.0.0/",
		"10.0.0.0/33",
		"10.0.0.0/-1",
		"10.0.0.0/+8",
		"10.0.0.0/ 8",
		"10.0.0.0/8x",
		"10.0.0.1/31",
		"10.0.0.0/4294967304",
		"::/129",
		"::1/127",
		"2001:db8::1/64",
		"10.0.0.0/8/8",
		"default",
	};
	char lengthy[200];
	unsigned int len;
	enum family f;
	struct addr a;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(prefix_parse(bad[i], &f, &a, &len), -EINVAL);
	memset(lengthy, '1', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	assert_int_equal(prefix_parse(lengthy, &f, &a, &len), -EINVAL);
}

static void masks_keep_the_first_bits(void **state)
{
	struct addr ones = { ~0ull, ~0ull };

	assert_true(addr_is_zero(addr_mask(ones, 0)));
	assert_true(addr_equal(addr_mask(ones, 128), ones));
	for (unsigned int len = 1; len < 128; len++) {
		struct addr masked = addr_mask(ones, len);

		assert_int_equal(addr_bit(masked, len - 1), 1);
		assert_int_equal(addr_bit(masked, len), 0);
		assert_int_equal(addr_common(masked, ones), len);
	}
}

static void a_prefix_covers_what_shares_its_bits(void **state)
{
	assert_true(prefix_covers(parsed("10.0.0.0"), 8, parsed("10.255.0.1")));
	assert_false(prefix_covers(parsed("10.0.0.0"), 8, parsed("11.0.0.0")));
	assert_true(prefix_covers(parsed("0.0.0.0"), 0, parsed("255.0.0.1")));
	assert_true(prefix_covers(parsed("2001:db8::"), 64, parsed("2001:db8::1")));
	assert_false(prefix_covers(parsed("2001:db8::"), 128, parsed("2001:db8::1")));
}

static void macs_are_lower_case_and_padded(void **state)
{
	char buf[MAC_STRLEN];

	assert_string_equal(mac_format((__u8[]){ 2, 0, 0xab, 0, 0, 1 }, buf), "02:00:ab:00:00:01");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipv4_stands_in_the_top_bits),
		cmocka_unit_test(ipv6_survives_the_round_trip),
		cmocka_unit_test(text_is_what_inet_ntop_says),
		cmocka_unit_test(bad_text_leaves_the_outputs_alone),
		cmocka_unit_test(prefixes_round_trip),
		cmocka_unit_test(bad_prefixes_are_refused),
		cmocka_unit_test(masks_keep_the_first_bits),
		cmocka_unit_test(a_prefix_covers_what_shares_its_bits),
		cmocka_unit_test(macs_are_lower_case_and_padded),
	};

	return cmocka_run_group_tests_name("addr", tests, NULL, NULL);
}

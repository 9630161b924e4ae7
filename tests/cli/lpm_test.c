// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The walk over the route tables, quiet and while they change. Routes that are there all the time
 * must be listed exactly once, whatever comes and goes around them.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/cli/lpm.h"

enum { STABLE = 5000 };

static struct generation gen;

static int setup(void **state)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);

	gen.capacity = (struct capacity){ .routes4 = 4 * STABLE, .routes6 = 4 * STABLE };
	gen.fd[XFIB_MAP_lpm4] = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "lpm4",
					       sizeof(struct xfib_lpm4), 4, 4 * STABLE, &opts);
	gen.fd[XFIB_MAP_lpm6] = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "lpm6",
					       sizeof(struct xfib_lpm6), 4, 4 * STABLE, &opts);
	return gen.fd[XFIB_MAP_lpm4] < 0 || gen.fd[XFIB_MAP_lpm6] < 0;
}

static int teardown(void **state)
{
	close(gen.fd[XFIB_MAP_lpm4]);
	close(gen.fd[XFIB_MAP_lpm6]);
	return 0;
}

/* Route n, spread over the address space. */
static struct xfib_lpm4 key4(unsigned int n, unsigned int len)
{
	struct addr a = addr_mask((struct addr){ (__u64)(n * 0x10f0f1u) << 40, 0 }, len);
	struct xfib_lpm4 key = { .prefixlen = XFIB_LPM_FIB_BITS + len };

	addr_to_bytes(IP4, a, &key.addr);
	return key;
}

static void add4(unsigned int n, unsigned int len)
{
	struct xfib_lpm4 key = key4(n, len);

	assert_int_equal(bpf_map_update_elem(gen.fd[XFIB_MAP_lpm4], &key, &n, 0), 0);
}

static void empty_tables_have_no_entries(void **state)
{
	_cleanup_routes_ struct routes list = { 0 };
	struct route route;

	assert_int_equal(lpm_walk(&gen, IP4, &list), 0);
	assert_int_equal(list.count, 0);
	assert_int_equal(lpm_match(&gen, IP6, 0, (struct addr){ 0 }, 128, &route), -ENOENT);
}

static void entries_are_sorted_by_prefix(void **state)
{
	static const char *const texts[] = {
		"2001:db8::/32",   "2001:db8::/48", "2001:db8::/128",
		"2001:db8::1/128", "2001:db9::/32", "fd00::/8",
	};
	static const int order[] = { 3, 5, 0, 4, 2, 1 };
	_cleanup_routes_ struct routes list = { 0 };
	struct xfib_lpm6 key = { 0 };
	unsigned int len;
	enum family f;
	struct addr a;

	for (__u32 i = 0; i < 6; i++) {
		assert_int_equal(prefix_parse(texts[order[i]], &f, &a, &len), 0);
		key.prefixlen = XFIB_LPM_FIB_BITS + len;
		addr_to_bytes(IP6, a, key.addr);
		assert_int_equal(
			bpf_map_update_elem(gen.fd[XFIB_MAP_lpm6], &key, &(__u32){ order[i] }, 0),
			0);
	}
	assert_int_equal(lpm_walk(&gen, IP6, &list), 0);
	assert_int_equal(list.count, 6);
	for (size_t i = 0; i < list.count; i++) {
		const struct route *route = &list.route[i];
		char text[PREFIX_STRLEN];

		assert_string_equal(prefix_format(IP6, route->addr, route->len, text), texts[i]);
		assert_int_equal(route->leaf, i);
	}
}

static void the_longest_covering_prefix_is_found(void **state)
{
	static const struct {
		const char *asked;
		unsigned int len;
		int found; /* value, or -ENOENT */
	} cases[] = {
		{ "2001:db8::1", 128, 3 },	{ "2001:db8::2", 128, 1 },
		{ "2001:db8:1::", 128, 0 },	{ "2001:db8::", 48, 1 },
		{ "2001:db8::", 47, 0 },	{ "2001:db8::", 31, -ENOENT },
		{ "2001:dba::", 128, -ENOENT }, { "fdff::1", 128, 5 },
	};
	struct route route;
	enum family f;
	struct addr a;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r;

		assert_int_equal(addr_parse(cases[i].asked, &f, &a), 0);
		r = lpm_match(&gen, f, 0, a, cases[i].len, &route);
		assert_int_equal(r ? r : (int)route.leaf, cases[i].found);
	}
}

/*
 * The worst that can happen to a walk, each time: the entry that it goes on from is deleted, and is
 * back when the walk has noticed. Only odd routes come and go.
 */
static struct xfib_lpm4 gone;
static unsigned int deletions;

int __real_bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
				const struct bpf_map_batch_opts *opts);
int __wrap_bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
				const struct bpf_map_batch_opts *opts);

int __wrap_bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
				const struct bpf_map_batch_opts *opts)
{
	const struct xfib_lpm4 *key = keys;
	const __u32 *value = values;
	int r;

	if (fd != gen.fd[XFIB_MAP_lpm4])
		return __real_bpf_map_lookup_batch(fd, in, out, keys, values, count, opts);
	*count = 50;
	r = __real_bpf_map_lookup_batch(fd, in, out, keys, values, count, opts);
	if (gone.prefixlen)
		bpf_map_update_elem(fd, &gone, &(__u32){ 1 }, 0);
	gone.prefixlen = 0;
	if (!r && value[*count - 1] % 2) {
		gone = key[*count - 1];
		bpf_map_delete_elem(fd, &gone);
		deletions++;
	}
	return r;
}

static void a_walk_goes_on_when_its_place_is_deleted(void **state)
{
	_cleanup_routes_ struct routes list = { 0 };
	size_t stable = 0;

	for (unsigned int n = 0; n < 2 * STABLE; n++)
		add4(n, 24);
	assert_int_equal(lpm_walk(&gen, IP4, &list), 0);
	assert_true(deletions > 10);
	for (size_t i = 0; i < list.count; i++) {
		stable += list.route[i].leaf % 2 == 0;
		if (i)
			assert_true(list.route[i - 1].addr.hi < list.route[i].addr.hi);
	}
	assert_int_equal(stable, STABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_tables_have_no_entries),
		cmocka_unit_test(entries_are_sorted_by_prefix),
		cmocka_unit_test(the_longest_covering_prefix_is_found),
		cmocka_unit_test(a_walk_goes_on_when_its_place_is_deleted),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

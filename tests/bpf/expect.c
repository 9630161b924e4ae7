// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Runs a frame and compares verdict, action and bytes: see expect.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "expect.h"

static const char *object_path, *clock_path, *marks_path;
static struct pair pair;

/* Frames are too large for the stack of every function that needs some. */
static struct pkt frame_in, frame_out, frame_want;

int expect_args(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s XFIB.BPF.O CLOCK.BPF.O MARKS.BPF.O\n", argv[0]);
		return 2;
	}
	object_path = argv[1];
	clock_path = argv[2];
	marks_path = argv[3];
	return 0;
}

const char *expect_object(void)
{
	return object_path;
}

const char *expect_clock(void)
{
	return clock_path;
}

const char *expect_marks(void)
{
	return marks_path;
}

int pair_setup(void **state)
{
	pair.twin = router_new(object_path, ROUTER_CFG(.twin = 1));
	pair.attached = router_new(object_path, ROUTER_CFG());
	return pair.twin && pair.attached ? 0 : -1;
}

int pair_teardown(void **state)
{
	router_free(pair.twin);
	router_free(pair.attached);
	return 0;
}

const struct pair *pair_get(void)
{
	return &pair;
}

static void build(const struct pkt_spec *spec, enum xfib_verdict verdict, __u32 via)
{
	const struct router_neigh *n = &router_neighs[via];

	pkt_build(spec, &frame_in);
	if (verdict == XFIB_FORWARDED)
		pkt_build_forwarded(spec, n->mac, router_l3if(n->l3if)->mac, &frame_want);
	else
		pkt_build(spec, &frame_want);
}

static void check(const char *name, int action, enum xfib_verdict got, enum xfib_verdict want)
{
	if (got != want)
		fail_msg("%s: %s, not %s", name, router_verdict_name(got),
			 router_verdict_name(want));
	if (action != router_action(want))
		fail_msg("%s: XDP action %d, not %d", name, action, router_action(want));
}

__u32 expect_frame(const struct router *twin, const char *name, const struct pkt *in,
		   enum xfib_verdict verdict, const struct pkt *want)
{
	__u32 result = router_run(twin, in, &frame_out);

	check(name, XFIB_TWIN_ACTION(result), XFIB_TWIN_VERDICT(result), verdict);
	pkt_assert_equal(name, &frame_out, want);
	return result;
}

__u32 expect(const struct router *twin, const char *name, const struct pkt_spec *spec,
	     enum xfib_verdict verdict, __u32 via)
{
	build(spec, verdict, via);
	return expect_frame(twin, name, &frame_in, verdict, &frame_want);
}

/* Packets of each verdict so far, over all CPUs. */
static void verdict_packets(const struct router *r, __u64 *packets)
{
	struct xfib_counters c[r->cpus];
	__u32 slot = SLOT_LAN;

	assert_int_equal(bpf_map_lookup_elem(r->counters, &slot, c), 0);
	memset(packets, 0, XFIB_VERDICTS_MAX * sizeof(*packets));
	for (__u32 cpu = 0; cpu < r->cpus; cpu++)
		for (__u32 v = 0; v < XFIB_VERDICTS_MAX; v++)
			packets[v] += c[cpu].verdict[v].packets;
}

void expect_attached(const struct router *attached, const char *name, const struct pkt_spec *spec,
		     enum xfib_verdict verdict, __u32 via)
{
	__u64 before[XFIB_VERDICTS_MAX], after[XFIB_VERDICTS_MAX];
	enum xfib_verdict counted = XFIB_VERDICT_MAX;
	int action;

	build(spec, verdict, via);
	verdict_packets(attached, before);
	action = router_run(attached, &frame_in, &frame_out);
	verdict_packets(attached, after);
	for (__u32 v = 0; v < XFIB_VERDICTS_MAX; v++) {
		if (after[v] == before[v])
			continue;
		if (after[v] != before[v] + 1 || counted != XFIB_VERDICT_MAX)
			fail_msg("%s: more than one verdict counted", name);
		counted = v;
	}
	check(name, action, counted, verdict);
	pkt_assert_equal(name, &frame_out, &frame_want);
}

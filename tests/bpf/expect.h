/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one way in which a packet is judged: verdict, action, every byte of the frame. A punted or
 * dropped frame must be what came in; a forwarded one is compared with a frame built from scratch.
 */
#pragma once

#include "router.h"

/* The same router twice: as a twin, which tells its verdict, and as the program that is attached. */
struct pair {
	struct router *twin, *attached;
};

/* cmocka group fixtures, and the pair that they make and release. */
int pair_setup(void **state);
int pair_teardown(void **state);
const struct pair *pair_get(void);

/*
 * argv: the object under test, the clock, and the variant that counts its hit marks. Returns 2 after a
 * usage line if they are missing.
 */
int expect_args(int argc, char **argv);
const char *expect_object(void);
const char *expect_clock(void);
const char *expect_marks(void);

/*
 * Runs `spec` through a twin. via: the neighbour that a forwarded frame goes to, else NEIGH_NONE.
 * Returns the twin's result, for tests that look at the leaf.
 */
__u32 expect(const struct router *twin, const char *name, const struct pkt_spec *spec,
	     enum xfib_verdict verdict, __u32 via);

/* As expect(), through the attached program: its verdict is the one whose counter moved. */
void expect_attached(const struct router *attached, const char *name, const struct pkt_spec *spec,
		     enum xfib_verdict verdict, __u32 via);

/* A frame that no spec describes: out must be `want`. */
__u32 expect_frame(const struct router *twin, const char *name, const struct pkt *in,
		   enum xfib_verdict verdict, const struct pkt *want);

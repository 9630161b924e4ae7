// SPDX-License-Identifier: GPL-2.0-only
/* The product's own source, behind the restoring of live frames. */
#include <linux/bpf.h>

/* Into its caller, as the product is into nothing: no call between the two. */
__attribute__((always_inline)) int xfib(struct xdp_md *ctx);

#include "bpf/xfib.bpf.c"
#include "restore.h"

SEC("xdp.frags")
int live(struct xdp_md *ctx)
{
	return restore(ctx) ? xfib(ctx) : XDP_ABORTED;
}

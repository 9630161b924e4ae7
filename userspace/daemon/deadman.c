// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The dead-man switch: past a deadline the program sends everything to the kernel. Only a turn that
 * has read all sockets empty, and with nothing lost, moves the deadline. A daemon that finds that it
 * slept longer than the hold time turns the fast path off before anything else, and on again
 * only when all tables were read anew.
 */
#include <stdint.h>

#include "daemon.h"

static void set_deadline(struct daemon *d, __u64 deadline)
{
	__atomic_store_n(&d->instance->ctl->deadline, deadline, __ATOMIC_RELEASE);
}

void deadman_off(struct daemon *d)
{
	set_deadline(d, 0);
	d->extended_ns = 0;
}

static bool overslept(const struct daemon *d)
{
	return d->opt.hold_s && d->extended_ns &&
	       now_ns() - d->extended_ns > d->opt.hold_s * 1000000000ull;
}

void deadman_extend(struct daemon *d)
{
	__u64 jiffies;

	if (overslept(d)) {
		deadman_off(d);
		if (!d->sync.lost) {
			log_warning(
				"was away for longer than the hold time of %u s: reading the kernel's "
				"tables again",
				d->opt.hold_s);
			d->sync.lost = true;
			d->resyncs++;
			sync_want(d, SYNC_ALL);
		}
	}
	policy_drain(d);
	if (!sync_drain(d) || d->sync.lost || !d->fib.started || d->failed)
		return;
	if (!d->opt.hold_s) {
		set_deadline(d, INT64_MAX);
	} else if (!clock_jiffies(&jiffies)) {
		set_deadline(d, jiffies + (__u64)d->opt.hold_s * clock_hz());
	} else {
		return;
	}
	d->extended_ns = now_ns();
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Waiting for a grace period blocks for as long as a program runs on any CPU, so a thread of its own
 * does it. It is told and tells by eventfd and shares nothing with the daemon but the generation's
 * file descriptor, which it has a copy of.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "daemon.h"

enum { STOP = 1000 }; /* written to ask: end */

struct grace {
	pthread_t thread;
	int ask, answer;
	struct generation gen; /* only fd[XFIB_MAP_grace] */
	struct watch *watch;
	bool pending;
};

static void *wait_for_programs(void *arg)
{
	struct grace *g = arg;
	eventfd_t n;

	while (!eventfd_read(g->ask, &n) && n < STOP) {
		if (generation_grace(&g->gen))
			break;
		eventfd_write(g->answer, 1);
	}
	return NULL;
}

static void on_answer(void *arg)
{
	struct daemon *d = arg;
	eventfd_t n;

	eventfd_read(d->grace->answer, &n);
	d->grace->pending = false;
	fib_grace_end(&d->fib);
	publish_grace_end(&d->publish);
	grace_request(d);
}

void grace_request(struct daemon *d)
{
	bool wait;

	if (d->grace->pending)
		return;
	wait = fib_grace_begin(&d->fib);
	wait |= publish_grace_begin(&d->publish);
	if (!wait)
		return;
	d->grace->pending = true;
	eventfd_write(d->grace->ask, 1);
}

static void grace_free(struct grace *g)
{
	watch_free(g->watch);
	if (g->ask >= 0)
		close(g->ask);
	if (g->answer >= 0)
		close(g->answer);
	if (g->gen.fd[XFIB_MAP_grace] >= 0)
		close(g->gen.fd[XFIB_MAP_grace]);
	free(g);
}

int grace_start(struct daemon *d)
{
	struct grace *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->ask = eventfd(0, EFD_CLOEXEC);
	g->answer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* Any generation's map does: the kernel waits for all programs. */
	g->gen.fd[XFIB_MAP_grace] = dup(d->gen->fd[XFIB_MAP_grace]);
	err = g->ask < 0 || g->answer < 0 || g->gen.fd[XFIB_MAP_grace] < 0 ? -errno : 0;
	if (!err)
		err = loop_fd(d->loop, g->answer, LOOP_LATER, on_answer, d, &g->watch);
	if (!err)
		err = -pthread_create(&g->thread, NULL, wait_for_programs, g);
	if (err) {
		grace_free(g);
		return log_errno(err, "cannot start the grace period helper");
	}
	d->grace = g;
	return 0;
}

void grace_stop(struct daemon *d)
{
	if (!d->grace)
		return;
	eventfd_write(d->grace->ask, STOP);
	pthread_join(d->grace->thread, NULL);
	grace_free(d->grace);
	d->grace = NULL;
}

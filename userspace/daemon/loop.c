// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See loop.h. */
#include "loop.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

struct loop {
	struct event_base *base;
};

struct watch {
	struct event *event;
	loop_fn fn;
	void *arg;
};

int loop_new(struct loop **out)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	loop->base = event_base_new();
	if (!loop->base || event_base_priority_init(loop->base, LOOP_PRIORITIES)) {
		loop_free(loop);
		return -ENOMEM;
	}
	*out = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	if (loop && loop->base)
		event_base_free(loop->base);
	free(loop);
}

int loop_run(struct loop *loop)
{
	return event_base_dispatch(loop->base) < 0 ? -EIO : 0;
}

void loop_stop(struct loop *loop)
{
	event_base_loopbreak(loop->base);
}

static void fire(evutil_socket_t fd, short what, void *arg)
{
	struct watch *watch = arg;

	watch->fn(watch->arg);
}

static int watch_new(struct loop *loop, int fd, short what, enum loop_priority priority, loop_fn fn,
		     void *arg, struct watch **out)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->fn = fn;
	watch->arg = arg;
	watch->event = event_new(loop->base, fd, what, fire, watch);
	if (!watch->event || event_priority_set(watch->event, priority)) {
		watch_free(watch);
		return -ENOMEM;
	}
	*out = watch;
	return 0;
}

int loop_fd(struct loop *loop, int fd, enum loop_priority priority, loop_fn fn, void *arg,
	    struct watch **watch)
{
	int err = watch_new(loop, fd, EV_READ | EV_PERSIST, priority, fn, arg, watch);

	return err ? err : event_add((*watch)->event, NULL);
}

int loop_every(struct loop *loop, unsigned int ms, loop_fn fn, void *arg, struct watch **watch)
{
	const struct timeval every = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	int err = watch_new(loop, -1, EV_PERSIST, LOOP_FIRST, fn, arg, watch);

	return err ? err : event_add((*watch)->event, &every);
}

int loop_signal(struct loop *loop, int signal, loop_fn fn, void *arg, struct watch **watch)
{
	int err = watch_new(loop, signal, EV_SIGNAL | EV_PERSIST, LOOP_FIRST, fn, arg, watch);

	return err ? err : event_add((*watch)->event, NULL);
}

int loop_once(struct loop *loop, loop_fn fn, void *arg, struct watch **watch)
{
	return watch_new(loop, -1, 0, LOOP_FIRST, fn, arg, watch);
}

void watch_after(struct watch *watch, unsigned int ms)
{
	const struct timeval after = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	event_add(watch->event, &after);
}

void watch_free(struct watch *watch)
{
	if (watch && watch->event)
		event_free(watch->event);
	free(watch);
}

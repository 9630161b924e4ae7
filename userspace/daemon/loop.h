/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The event loop, libevent behind five verbs (its struct event and ours must not meet). Watches of
 * LOOP_FIRST are served before those of LOOP_LATER in every turn.
 */
#pragma once

enum loop_priority { LOOP_FIRST, LOOP_LATER, LOOP_PRIORITIES };

struct loop;
struct watch;

typedef void (*loop_fn)(void *arg);

int loop_new(struct loop **loop);
void loop_free(struct loop *loop); /* after its watches */
int loop_run(struct loop *loop);   /* until loop_stop() */
void loop_stop(struct loop *loop);

/* Each makes a watch that is on, and returns 0 or -ENOMEM. */
int loop_fd(struct loop *loop, int fd, enum loop_priority priority, loop_fn fn, void *arg,
	    struct watch **watch);
int loop_every(struct loop *loop, unsigned int ms, loop_fn fn, void *arg, struct watch **watch);
int loop_signal(struct loop *loop, int signal, loop_fn fn, void *arg, struct watch **watch);

/* A timer that fires once each time watch_after() is called; off until then. */
int loop_once(struct loop *loop, loop_fn fn, void *arg, struct watch **watch);
void watch_after(struct watch *watch, unsigned int ms);

void watch_free(struct watch *watch); /* NULL is fine */

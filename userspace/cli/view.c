// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See view.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "view.h"

enum {
	STATUS_TRIES = 200, /* a millisecond apart: the daemon writes for microseconds */
	GENERATION_TRIES = 10,
};

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

int status_copy(const struct xfib_status *shared, struct xfib_status *copy)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	__u64 seq;

	for (int i = 0; i < STATUS_TRIES; i++) {
		seq = __atomic_load_n(&shared->seq, __ATOMIC_ACQUIRE);
		memcpy(copy, shared, sizeof(*copy));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && __atomic_load_n(&shared->seq, __ATOMIC_RELAXED) == seq)
			return 0;
		nanosleep(&pause, NULL);
	}
	return -EAGAIN;
}

static bool process_exists(__u32 pid)
{
	return pid && (!kill(pid, 0) || errno == EPERM);
}

static void judge_daemon(struct view *v, bool whole)
{
	const struct xfib_status *s = v->status;
	__u64 now = now_ns(), jiffies;

	v->age_ms = s->beat_ns && s->beat_ns <= now ? (__s64)((now - s->beat_ns) / 1000000) : -1;
	v->alive = whole && process_exists(s->pid) && v->age_ms >= 0 &&
		   (!s->hold_ms || (__u64)v->age_ms <= s->hold_ms);
	/* What the program compares; without the kernel's clock the daemon is the best witness. */
	v->open = clock_jiffies(&jiffies)
			  ? v->alive
			  : (__s64)(__atomic_load_n(&v->instance->ctl->deadline, __ATOMIC_RELAXED) -
				    jiffies) > 0;
}

const char *view_dead_reason(const struct view *v, char *buf, size_t size)
{
	const struct xfib_status *s = v->status;

	if (v->alive)
		return "";
	if (!s->pid)
		snprintf(buf, size, "xfibd does not run");
	else if (!process_exists(s->pid))
		snprintf(buf, size, "xfibd (pid %u) has died", s->pid);
	else if (v->age_ms < 0)
		snprintf(buf, size, "xfibd (pid %u) has not confirmed the tables yet", s->pid);
	else
		snprintf(buf, size, "xfibd (pid %u) has not confirmed the tables for %.1f s",
			 s->pid, v->age_ms / 1000.0);
	return buf;
}

/* The daemon may switch to a new generation between reading its number and opening it. */
static int open_generation(struct view *v, struct load_error *err)
{
	int r = -ENOENT;

	for (int i = 0; i < GENERATION_TRIES && r == -ENOENT; i++) {
		r = instance_refresh(v->instance);
		if (r) {
			snprintf(err->text, sizeof(err->text),
				 "cannot read the pinned maps of '%s': %s", v->instance->name,
				 strerror(-r));
			return r;
		}
		r = generation_open(v->instance, v->instance->meta.generation, false, &v->gen, err);
	}
	return r;
}

int view_follow(struct view *v)
{
	struct load_error err = { "" };
	int r = instance_refresh(v->instance);

	if (r || v->instance->meta.generation == v->gen->number)
		return r;
	generation_free(v->gen);
	v->gen = NULL;
	return open_generation(v, &err);
}

static int open_all(const struct cli *cli, bool tables, struct view *v, struct load_error *err)
{
	int r = instance_open(cli->instance, &v->instance, err);

	if (!r && tables)
		r = open_generation(v, err);
	if (r)
		return r;
	r = ports_read(v->instance, v->intents);
	if (r)
		snprintf(err->text, sizeof(err->text), "cannot read the ports of '%s': %s",
			 cli->instance, strerror(-r));
	return r;
}

int view_open(const struct cli *cli, bool tables, struct view *v)
{
	struct load_error err = { "" };
	int r;

	*v = (struct view){ 0 };
	r = open_all(cli, tables, v, &err);
	if (r) {
		log_error("%s", err.text);
		view_done(v);
		return r;
	}
	v->status = malloc(sizeof(*v->status));
	if (!v->status) {
		view_done(v);
		return log_errno(-ENOMEM, "cannot read the status");
	}
	judge_daemon(v, !status_copy(v->instance->status, v->status));
	return 0;
}

void view_done(struct view *v)
{
	if (v->gen)
		generation_free(v->gen);
	if (v->instance)
		instance_free(v->instance);
	free(v->status);
	*v = (struct view){ 0 };
}

int view_port(const struct view *v, const char *ifname)
{
	for (int slot = 0; slot < XFIB_PORTS; slot++)
		if (*ifname && !strncmp(v->intents[slot].ifname, ifname, XFIB_IFNAMSIZ))
			return slot;
	return -1;
}

bool view_port_enabled(const struct view *v, int ifindex)
{
	for (int slot = 0; slot < XFIB_PORTS; slot++)
		if (*v->intents[slot].ifname && (int)v->intents[slot].ifindex == ifindex)
			return v->gen->ports[slot].flags & XFIB_PORT_ENABLED;
	return false;
}

__u64 view_fibs(const struct view *v)
{
	__u64 fibs = 0;

	for (int i = 0; i < XFIB_L3IFS_MAX && v->status->l3ifs[i].ifindex; i++)
		fibs |= 1ull << v->status->l3ifs[i].fib % XFIB_FIBS;
	return fibs ? fibs : 1;
}

const struct xfib_l3if_status *view_l3if(const struct view *v, int ifindex)
{
	for (int i = 0; i < XFIB_L3IFS_MAX && v->status->l3ifs[i].ifindex; i++)
		if ((int)v->status->l3ifs[i].ifindex == ifindex)
			return &v->status->l3ifs[i];
	return NULL;
}

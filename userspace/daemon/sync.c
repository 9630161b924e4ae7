// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Keeps the model equal to the kernel. Notifications are opened first and read first; dumps are read
 * a buffer at a time in between. Whoever finds that something may be wrong (lost messages, an
 * interrupted dump, a change that the kernel makes without a word) only says which tables to dump
 * again; here it is decided when.
 */
#include <errno.h>
#include <string.h>

#include "daemon.h"

enum {
	BUDGET = 2048,	 /* notifications between two commits */
	COALESCE_MS = 1, /* silent changes come in bursts */
	BACKOFF_MS = 20, /* after a failed dump, doubled each time */
	BACKOFF_MAX = 8, /* times */
};

static const char *const table_name[NL_TABLES] = {
	[NL_LINKS] = "links",
	[NL_ADDRS] = "addresses",
	[NL_RULES4] = "IPv4 rules",
	[NL_RULES6] = "IPv6 rules",
	[NL_NETCONF4] = "IPv4 settings",
	[NL_NETCONF6] = "IPv6 settings",
	[NL_NEXTHOPS] = "nexthops",
	[NL_ROUTES4] = "IPv4 routes",
	[NL_ROUTES6] = "IPv6 routes",
	[NL_NEIGHS] = "neighbours",
	[NL_PROXIES] = "proxied neighbours",
};

/* What later tables refer to comes first. */
static const enum nl_table dump_order[NL_TABLES] = {
	NL_LINKS,    NL_NETCONF4, NL_NETCONF6, NL_ADDRS,   NL_RULES4,  NL_RULES6,
	NL_NEXTHOPS, NL_NEIGHS,	  NL_PROXIES,  NL_ROUTES4, NL_ROUTES6,
};

__u32 sync_behind(const struct daemon *d)
{
	const struct sync *s = &d->sync;

	return (s->pending | d->model.wanted | (s->current >= 0 ? 1u << s->current : 0)) & ~s->idle;
}

static void apply(const struct event *ev, void *arg)
{
	struct daemon *d = arg;

	/* Without room the model says itself that the table is wanted again. */
	model_apply(&d->model, ev);
	if (ev->dump)
		return;
	d->sync.look |= ev->kind == EVENT_LINK || ev->kind == EVENT_ADDR;
	d->sync.tell |=
		ev->kind == EVENT_LINK || ev->kind == EVENT_RULE || ev->kind == EVENT_NETCONF;
}

/* --- dumps ------------------------------------------------------------------------------------ */

/* The next table whose time has come; -1: none. *wait_ms: until one may, untouched if none is pending. */
static int next_table(const struct sync *s, __u64 now, unsigned int *wait_ms)
{
	__u64 soonest = 0;

	for (int i = 0; i < NL_TABLES; i++) {
		enum nl_table t = dump_order[i];

		if (!(s->pending & 1u << t))
			continue;
		if (s->not_before_ns[t] <= now)
			return t;
		if (!soonest || s->not_before_ns[t] < soonest)
			soonest = s->not_before_ns[t];
	}
	if (soonest)
		*wait_ms = (soonest - now) / 1000000 + 1;
	return -1;
}

static void start_next(struct daemon *d)
{
	struct sync *s = &d->sync;
	unsigned int wait_ms = 0;
	int table, err;

	/* What is older than a loss would vouch for things that the loss took away. */
	if (s->current >= 0 || s->unread)
		return;
	s->pending |= d->model.wanted;
	/* A change of the kernel's own makes a table wanted that only an audit or a poll had asked for. */
	s->idle &= ~d->model.wanted;
	d->model.wanted = 0;
	table = next_table(s, now_ns(), &wait_ms);
	if (table < 0) {
		if (wait_ms)
			watch_after(s->on_retry, wait_ms);
		return;
	}
	err = nl_dump_start(s->dump, table);
	if (err) {
		log_errno(err, "cannot ask the kernel for its %s", table_name[table]);
		watch_after(s->on_retry, BACKOFF_MS << BACKOFF_MAX);
		return;
	}
	s->pending &= ~(1u << table);
	s->current = table;
	s->started_ns = now_ns();
	model_dump_begin(&d->model, table);
}

static void dump_failed(struct daemon *d, int err)
{
	struct sync *s = &d->sync;
	unsigned int suppressed;
	enum nl_table table = s->current;

	model_dump_abort(&d->model, table);
	s->current = -1;
	s->not_before_ns[table] = now_ns() + ((__u64)BACKOFF_MS << s->failures) * 1000000;
	if (s->failures < BACKOFF_MAX)
		s->failures++;
	if (err != -EINTR && log_allowed(&s->limit, &suppressed))
		log_errno(err, "the dump of %s failed, it is tried again", table_name[table]);
	start_next(d);
}

static void dump_done(struct daemon *d)
{
	struct sync *s = &d->sync;
	enum nl_table table = s->current;
	__u64 now = now_ns();

	model_dump_end(&d->model, table);
	if (d->fib.started && (table == NL_ROUTES4 || table == NL_ROUTES6)) {
		fib_flush(&d->fib, table == NL_ROUTES4 ? IP4 : IP6);
		daemon_commit(d);
	}
	model_settle(&d->model);
	daemon_commit(d);
	if (s->audit & 1u << table)
		d->drift += d->model.table[table].changes;
	s->audit &= ~(1u << table);
	s->idle &= ~(1u << table);
	s->current = -1;
	s->failures = 0;
	s->not_before_ns[table] = now + 2 * (now - s->started_ns) + COALESCE_MS * 1000000;
	start_next(d);
	if (!sync_behind(d))
		daemon_synced(d);
}

static void on_dump(void *arg)
{
	struct daemon *d = arg;
	int more;

	if (d->sync.current < 0) {
		/* The rest of a dump that was given up. */
		nl_dump_step(d->sync.dump, apply, d);
		return;
	}
	more = nl_dump_step(d->sync.dump, apply, d);
	if (more < 0)
		dump_failed(d, more);
	else if (!more)
		dump_done(d);
}

static void on_retry(void *arg)
{
	start_next(arg);
}

void sync_want(struct daemon *d, __u32 tables)
{
	d->sync.pending |= tables;
	d->sync.idle &= ~tables;
	watch_after(d->sync.on_retry, COALESCE_MS);
}

void sync_idle(struct daemon *d, __u32 tables, bool audit)
{
	struct sync *s = &d->sync;

	/* What is being dumped for a reason is looked at anyway. */
	tables &= ~(s->pending | (s->current >= 0 ? 1u << s->current : 0));
	s->pending |= tables;
	s->idle |= tables;
	if (audit)
		s->audit |= tables;
	start_next(d);
}

/* --- notifications ---------------------------------------------------------------------------- */

/* Reads one socket. Returns 0 if it is empty, 1 if something is left, -errno. */
static int drain(struct daemon *d, struct nl_monitor *monitor, __u32 tables)
{
	struct sync *s = &d->sync;
	unsigned int suppressed;
	int err = nl_monitor_drain(monitor, BUDGET, apply, d);

	if (err < 0) {
		if (log_allowed(&s->limit, &suppressed))
			log_warning("lost netlink messages (%s): reading the kernel's tables again",
				    strerror(-err));
		s->lost = true;
		s->audit &= ~tables;
		d->resyncs++;
		s->unread |= tables;
		sync_want(d, tables);
	} else if (!err && s->unread & tables) {
		s->unread &= ~tables;
		watch_after(s->on_retry, COALESCE_MS);
	}
	return err;
}

static void read_monitor(struct daemon *d, struct nl_monitor *monitor, __u32 tables)
{
	__u64 start = now_ns(), took;

	drain(d, monitor, tables);
	if (d->sync.look && d->fib.started)
		settings_update(d);
	d->sync.look = false;
	daemon_commit(d);
	if (d->sync.tell && d->fib.started)
		status_update(d);
	d->sync.tell = false;
	took = (now_ns() - start) / 1000;
	if (took > d->lag_us)
		d->lag_us = took;
	if (d->model.wanted)
		watch_after(d->sync.on_retry, COALESCE_MS);
}

enum { NEIGHBOUR_TABLES = 1u << NL_NEIGHS | 1u << NL_PROXIES };

static void on_control(void *arg)
{
	struct daemon *d = arg;

	read_monitor(d, d->sync.control, SYNC_ALL & ~NEIGHBOUR_TABLES);
}

static void on_neighbours(void *arg)
{
	struct daemon *d = arg;

	read_monitor(d, d->sync.neighbours, NEIGHBOUR_TABLES);
}

bool sync_drain(struct daemon *d)
{
	int control, neighbours;

	/* Bounded: who floods faster than this is read must not keep the deadline alive. */
	for (int i = 0; i < 64; i++) {
		control = drain(d, d->sync.control, SYNC_ALL & ~NEIGHBOUR_TABLES);
		neighbours = drain(d, d->sync.neighbours, NEIGHBOUR_TABLES);
		daemon_commit(d);
		if (control < 0 || neighbours < 0)
			return false;
		if (!control && !neighbours)
			return true;
	}
	return false;
}

/* --- start and stop ---------------------------------------------------------------------------- */

static int open_monitor(struct daemon *d, enum nl_channel channel, struct nl_monitor **monitor)
{
	int granted, err = nl_monitor_open(channel, d->opt.rcvbuf, monitor, &granted);

	if (err)
		return log_errno(err, "cannot listen to the kernel's %s",
				 channel == NL_NEIGHBOURS ? "neighbours" : "routes");
	if (granted < d->opt.rcvbuf)
		log_warning(
			"the kernel gave %d of %d bytes of receive buffer: a large change may need a resync",
			granted, d->opt.rcvbuf);
	return 0;
}

int sync_start(struct daemon *d)
{
	struct sync *s = &d->sync;
	int err;

	s->current = -1;
	err = open_monitor(d, NL_CONTROL, &s->control);
	if (!err)
		err = open_monitor(d, NL_NEIGHBOURS, &s->neighbours);
	if (err)
		return err;
	err = nl_dump_open(&s->dump);
	if (!err)
		err = nl_query_open(&s->query);
	if (!err)
		err = loop_fd(d->loop, nl_monitor_fd(s->control), LOOP_FIRST, on_control, d,
			      &s->on_control);
	if (!err)
		err = loop_fd(d->loop, nl_monitor_fd(s->neighbours), LOOP_FIRST, on_neighbours, d,
			      &s->on_neighbours);
	if (!err)
		err = loop_fd(d->loop, nl_dump_fd(s->dump), LOOP_LATER, on_dump, d, &s->on_dump);
	if (!err)
		err = loop_once(d->loop, on_retry, d, &s->on_retry);
	if (err)
		return log_errno(err, "cannot open netlink sockets");
	s->pending = SYNC_ALL;
	start_next(d);
	return 0;
}

void sync_stop(struct daemon *d)
{
	struct sync *s = &d->sync;

	watch_free(s->on_control);
	watch_free(s->on_neighbours);
	watch_free(s->on_dump);
	watch_free(s->on_retry);
	nl_query_free(s->query);
	nl_dump_free(s->dump);
	nl_monitor_free(s->neighbours);
	nl_monitor_free(s->control);
	*s = (struct sync){ .current = -1 };
}

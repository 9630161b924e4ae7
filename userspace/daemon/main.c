// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xfibd: the command line, and the life of the daemon. It runs in the foreground and leaves all pins
 * behind when it ends: packets go on by what is in the maps until the hold time is over, or until
 * the next xfibd adopts them.
 */
#include <argp.h>
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon.h"
#include "loader/preflight.h"

__u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* --- command line ------------------------------------------------------------------------------ */

const char *argp_program_version = "xfibd " XFIB_VERSION;

static const char doc[] =
	"Forwards IP packets in XDP with the kernel's own routing table."
	"\vEach IF becomes a port: an XDP program is attached to it. Ports that were attached before, by `xfib "
	"attach` or an earlier xfibd, need not be named. xfibd stays in the foreground and logs to stderr; "
	"`xfib status` shows what it does. In a network namespace: nsenter --net=/run/netns/NAME xfibd -n NAME IF... "
	"(not ip netns exec, which hides the BPF file system).";

enum {
	OPT_ENGINE = 256,
	OPT_TRIE_MEMORY,
	OPT_ROUTES4,
	OPT_ROUTES6,
	OPT_HOLD,
	OPT_DROP_BLACKHOLE,
	OPT_ALLOW_BYPASS,
	OPT_RCVBUF
};

static const struct argp_option arg_options[] = {
	{ "instance", 'n', "NAME", 0, "The instance (default: \"default\")", 0 },
	{ "engine", OPT_ENGINE, "ENGINE", 0,
	  "How routes are looked up: lpm (the kernel's LPM trie), trie (compiled; fast with many routes) or "
	  "auto (default: trie from 256 prefixes of a family on)",
	  0 },
	{ "trie-memory", OPT_TRIE_MEMORY, "KIB", 0,
	  "Room for the compiled table of a family to grow to (default 131072)", 0 },
	{ "hold", OPT_HOLD, "SEC", 0,
	  "Leave all packets to the kernel when xfibd was not heard of for SEC seconds (default 10; 0: never)",
	  0 },
	{ "routes4", OPT_ROUTES4, "N", 0, "Room for N IPv4 prefixes (default 2097152)", 0 },
	{ "routes6", OPT_ROUTES6, "N", 0, "Room for N IPv6 prefixes (default 1048576)", 0 },
	{ "drop-blackhole", OPT_DROP_BLACKHOLE, NULL, 0, "Drop what hits a blackhole route in XDP",
	  0 },
	{ "allow-bypass", OPT_ALLOW_BYPASS, "POLICY", 0,
	  "Forward in XDP although that bypasses the host's netfilter, xfrm (IPsec) or tc policy; may be repeated",
	  0 },
	{ "rcvbuf", OPT_RCVBUF, "BYTES", 0,
	  "Receive buffer of each netlink socket (default 134217728)", 0 },
	{ "verbose", 'v', NULL, 0, "Log more", 0 },
	{}
};

/* Whole decimal numbers within bounds; ends the program otherwise. */
static unsigned long number(const char *arg, unsigned long min, unsigned long max, const char *what,
			    struct argp_state *state)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' || n < min || n > max)
		argp_error(state, "%s must be a number from %lu to %lu, not '%s'", what, min, max,
			   arg);
	return n;
}

static enum policy_kind policy_kind(const char *arg, struct argp_state *state)
{
	static const char *const words[POLICY_KINDS] = {
		[POLICY_NETFILTER] = "netfilter",
		[POLICY_XFRM] = "xfrm",
		[POLICY_TC] = "tc",
	};

	for (int kind = 0; kind < POLICY_KINDS; kind++)
		if (!strcmp(arg, words[kind]))
			return kind;
	argp_error(state, "--allow-bypass must be netfilter, xfrm or tc, not '%s'", arg);
	return POLICY_KINDS;
}

static enum engine_choice engine_choice(const char *arg, struct argp_state *state)
{
	static const char *const words[] = {
		[ENGINE_AUTO] = "auto",
		[ENGINE_LPM] = "lpm",
		[ENGINE_TRIE] = "trie",
	};

	for (int i = 0; i <= ENGINE_TRIE; i++)
		if (!strcmp(arg, words[i]))
			return i;
	argp_error(state, "--engine must be auto, lpm or trie, not '%s'", arg);
	return ENGINE_AUTO;
}

struct command {
	struct options opt;
	bool verbose;
};

static error_t parse_arg(int key, char *arg, struct argp_state *state)
{
	struct command *c = state->input;

	switch (key) {
	case 'n':
		if (!instance_name_ok(arg))
			argp_error(state,
				   "'%s' is no name for an instance: up to 63 letters, digits, '-' "
				   "and '_'",
				   arg);
		c->opt.name = arg;
		return 0;
	case OPT_ENGINE:
		c->opt.engine = engine_choice(arg, state);
		return 0;
	case OPT_TRIE_MEMORY:
		/* Rounded down to what tables are made of. */
		c->opt.trie_max = 1024u << (31 - __builtin_clz(number(arg, 64, XFIB_TRIE_MAX / 1024,
								      "--trie-memory", state)));
		return 0;
	case OPT_HOLD:
		c->opt.hold_s = number(arg, 0, 86400, "--hold", state);
		return 0;
	case OPT_ROUTES4:
		c->opt.capacity.routes4 = number(arg, 1, 16777216, "--routes4", state);
		return 0;
	case OPT_ROUTES6:
		c->opt.capacity.routes6 = number(arg, 1, 16777216, "--routes6", state);
		return 0;
	case OPT_RCVBUF:
		c->opt.rcvbuf = number(arg, 4096, 1u << 30, "--rcvbuf", state);
		return 0;
	case OPT_DROP_BLACKHOLE:
		c->opt.drop_blackhole = true;
		return 0;
	case OPT_ALLOW_BYPASS:
		c->opt.allow_bypass[policy_kind(arg, state)] = true;
		return 0;
	case 'v':
		c->verbose = true;
		return 0;
	case ARGP_KEY_ARGS:
		c->opt.ifnames = state->argv + state->next;
		c->opt.ifnames_count = state->argc - state->next;
		for (unsigned int i = 0; i < c->opt.ifnames_count; i++)
			if (!preflight_ifname_ok(c->opt.ifnames[i]))
				argp_error(state,
					   "'%s' is no name of an interface: 1 to 15 characters, "
					   "no '/', ':' or blanks",
					   c->opt.ifnames[i]);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- the life of the daemon ---------------------------------------------------------------------- */

void daemon_commit(struct daemon *d)
{
	fib_commit(&d->fib);
	grace_request(d);
}

/* The model is complete for the first time. */
static int first_sync(struct daemon *d)
{
	long swept = 0;

	/* All that a record depends on is known before the first one is made. */
	ports_update(d);
	settings_update(d);
	policy_update(d);
	d->fib.enabled = d->adopted; /* ports that forward go on forwarding meanwhile */
	if (!d->adopted)
		switch_prepare(d);
	fib_start(&d->fib);
	fib_commit(&d->fib);
	if (d->adopted) {
		swept = publish_sweep(&d->publish);
		if (swept < 0) /* what stale routes lead to cannot be used again */
			return log_errno(swept, "cannot look for stale routes");
		fib_adopt_end(&d->fib);
	}
	switch_finish(d);
	switch_tables(d); /* if they have turned out too small */
	fib_set_enabled(&d->fib, true);
	daemon_commit(d);
	d->synced_ms = (now_ns() - d->start_ns) / 1000000;
	log_info("synced in %llu ms: %u IPv4 and %u IPv6 prefixes%s",
		 (unsigned long long)d->synced_ms, d->fib.family[IP4].installed,
		 d->fib.family[IP6].installed,
		 d->adopted ? ", tables of an earlier xfibd taken over" : "");
	return 0;
}

void daemon_synced(struct daemon *d)
{
	bool first = !d->fib.started;

	if (first && (d->failed = first_sync(d))) {
		loop_stop(d->loop);
		return;
	}
	if (!first && !d->sync.lost)
		return;
	/* What was missed with the rest has no dump of its own. */
	if (!first)
		policy_update(d);
	d->generation++;
	d->sync.lost = false;
	deadman_extend(d);
	status_update(d);
}

static void on_beat(void *arg)
{
	deadman_extend(arg);
}

enum { ROOM_QUIET_S = 10 };

/* Whether the log does not have it yet. A table that fills and empties all the time is not told each time. */
static bool room_news(struct room *room, bool full)
{
	__u64 now = now_ns();

	if (full == room->full ||
	    (room->logged_ns && now - room->logged_ns < ROOM_QUIET_S * 1000000000ull))
		return false;
	*room = (struct room){ full, now };
	return true;
}

static void log_routes(const struct fib_family *ff, char family, struct room *room)
{
	if (!room_news(room, ff->overflow))
		return;
	if (ff->overflow)
		log_warning(
			"%u IPv%c routes found no room and stay in the kernel: restart with --routes%c above %u",
			ff->overflow, family, family, ff->capacity);
	else
		log_info("all IPv%c routes have room again", family);
}

/* What status shows, in the log when it begins and when it is over. */
static void log_room(struct daemon *d)
{
	const struct fib *fib = &d->fib;
	bool neighs_full =
		fib->neigh_overflow && fib->neighs.live > fib->neighs.last - fib->neighs.first;

	log_routes(&fib->family[IP4], '4', &d->room4);
	log_routes(&fib->family[IP6], '6', &d->room6);
	if (room_news(&d->nexthop_room, fib->starved)) {
		if (fib->starved)
			log_warning(
				"%u next hops found no room: their routes stay in the kernel, there is room for %u",
				fib->starved, XFIB_NH_LAST - XFIB_NH_FIRST + 1);
		else
			log_info("all next hops have room again");
	}
	if (room_news(&d->neigh_room, neighs_full)) {
		if (neighs_full)
			log_warning(
				"neighbours found no room: packets to them stay in the kernel, there is room for %u",
				XFIB_NEIGHS_MAX);
		else
			log_info("neighbours have room again");
	}
}

static void on_second(void *arg)
{
	struct daemon *d = arg;

	settings_update(d);
	ports_update(d);
	policy_update(d);
	if (d->fib.started) {
		sync_idle(d, 1u << NL_PROXIES, false);
		refresh_neighbours(d);
		fib_heal(&d->fib);
		publish_heal(&d->publish);
		switch_tables(d);
		log_room(d);
	}
	daemon_commit(d);
	status_update(d);
}

static void on_audit(void *arg)
{
	struct daemon *d = arg;

	if (d->fib.started)
		sync_idle(d, SYNC_ALL, true);
}

static void on_signal(void *arg)
{
	struct daemon *d = arg;

	log_info("leaving: packets go on by these tables for at most %u s, then by the kernel",
		 d->opt.hold_s);
	loop_stop(d->loop);
}

enum { AUDIT_MS = 300000, BEAT_MAX_MS = 1000 };

static int start_watches(struct daemon *d)
{
	unsigned int beat = d->opt.hold_s ? d->opt.hold_s * 1000 / 10 : BEAT_MAX_MS;
	int err;

	err = loop_every(d->loop, beat < BEAT_MAX_MS ? beat : BEAT_MAX_MS, on_beat, d, &d->on_beat);
	if (!err)
		err = loop_every(d->loop, 1000, on_second, d, &d->on_second);
	if (!err)
		err = loop_every(d->loop, AUDIT_MS, on_audit, d, &d->on_audit);
	if (!err)
		err = loop_signal(d->loop, SIGTERM, on_signal, d, &d->on_term);
	if (!err)
		err = loop_signal(d->loop, SIGINT, on_signal, d, &d->on_int);
	return err ? log_errno(err, "cannot set up the event loop") : 0;
}

/* Whether an earlier daemon left tables that ports may be using. */
static int adopt_maps(struct daemon *d)
{
	const struct fib_maps maps = {
		.ports = d->gen->ports,
		.l3ifs = d->gen->l3ifs,
		.nexthops = d->gen->nexthops,
		.members = d->gen->members,
		.neighs = d->gen->neighs,
	};
	int err;

	/* Verdict words are the first thing a daemon publishes. */
	if (!d->gen->nexthops[XFIB_PUNT_NO_ROUTE].arg)
		return 0;
	/* What it took out of use last may still be in a packet's hands. */
	err = generation_grace(d->gen);
	if (!err)
		err = fib_adopt(&d->fib, &maps);
	if (err)
		return log_errno(err, "cannot take over the tables of an earlier xfibd");
	publish_adopt(&d->publish);
	d->adopted = true;
	return 0;
}

static int open_tables(struct daemon *d)
{
	struct load_error why = {};
	int err;

	err = generation_open(d->instance, d->instance->meta.generation, true, &d->gen, &why);
	if (err) {
		log_error("%s", why.text);
		return err;
	}
	err = model_init(&d->model, MODEL_ROUTES, &fib_hooks, &d->fib);
	if (!err)
		err = fib_init(&d->fib, &d->model, &publish_sink, &d->publish,
			       d->gen->capacity.routes4, d->gen->capacity.routes6);
	if (!err)
		err = publish_open(&d->publish, d->instance, d->gen, &d->fib);
	if (err)
		return log_errno(err, "cannot set up the tables");
	d->fib.drop_blackhole = d->opt.drop_blackhole;
	return adopt_maps(d);
}

static int start(struct daemon *d)
{
	int err;

	err = loop_new(&d->loop);
	if (err)
		return log_errno(err, "cannot make an event loop");
	err = open_tables(d);
	if (!err)
		err = grace_start(d);
	if (!err)
		err = sync_start(d); /* notifications before anything is read */
	if (!err)
		err = policy_start(d);
	if (!err)
		err = ports_start(d);
	if (!err)
		err = start_watches(d);
	if (!err)
		status_update(d);
	return err;
}

static void stop(struct daemon *d)
{
	watch_free(d->on_beat);
	watch_free(d->on_second);
	watch_free(d->on_audit);
	watch_free(d->on_term);
	watch_free(d->on_int);
	ports_stop(d);
	policy_stop(d);
	sync_stop(d);
	grace_stop(d);
	publish_close(&d->publish);
	fib_done(&d->fib);
	model_done(&d->model);
	generation_free(d->gen);
	generation_free(d->old_gen);
	loop_free(d->loop);
}

/* An interface that is not there may come; one that can never be a port is no wish to remember. */
static int check_ifnames(const struct options *opt, struct load_error *why)
{
	for (unsigned int i = 0; i < opt->ifnames_count; i++) {
		int ifindex,
			err = preflight_interface(opt->ifnames[i], XFIB_MODE_NATIVE, &ifindex, why);

		if (err && if_nametoindex(opt->ifnames[i]))
			return err;
	}
	return 0;
}

static int run(const struct options *opt)
{
	static struct daemon d; /* large */
	struct load_error why = {};
	int lock = -1, err;

	d.opt = *opt;
	d.start_ns = now_ns();
	err = preflight_system(&why);
	if (!err)
		err = check_ifnames(opt, &why);
	if (!err)
		err = instance_create(opt->name, &opt->capacity, &d.instance, &why);
	if (!err)
		err = instance_lock_daemon(d.instance, &lock, &why);
	if (err) {
		log_error("%s", why.text);
		instance_free(d.instance);
		return 1;
	}
	err = start(&d);
	if (!err)
		err = loop_run(d.loop);
	if (!err)
		err = d.failed;
	status_leave(&d);
	stop(&d);
	instance_free(d.instance);
	close(lock);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct argp argp = { arg_options, parse_arg, "[IF...]", doc, NULL, NULL, NULL };
	struct command c = {
		.opt = {
			.name = "default",
			.hold_s = 10,
			.trie_max = XFIB_TRIE_MAX,
			.capacity = { .routes4 = CAPACITY_ROUTES4, .routes6 = CAPACITY_ROUTES6 },
			.rcvbuf = 128 << 20,
		},
	};

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &c);
	log_init("xfibd", c.verbose ? LOG_DEBUG : LOG_INFO);
	return run(&c.opt);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xfib attach: wants interfaces as ports and attaches them. All of them are looked at before any is
 * touched, and an instance that was made for nothing is removed again.
 */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "loader/preflight.h"
#include "view.h"

struct attach_args {
	char **ifname;
	int count;
	enum xfib_mode mode;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct attach_args *args = state->input;

	switch (key) {
	case 'm':
		if (!strcmp(arg, "native"))
			args->mode = XFIB_MODE_NATIVE;
		else if (!strcmp(arg, "skb"))
			args->mode = XFIB_MODE_SKB;
		else
			argp_error(state, "no mode '%s': native or skb", arg);
		return 0;
	case ARGP_KEY_ARGS:
		args->ifname = state->argv + state->next;
		args->count = state->argc - state->next;
		for (int i = 0; i < args->count; i++)
			if (!preflight_ifname_ok(args->ifname[i]))
				argp_error(state,
					   "'%s' is no name of an interface: 1 to 15 characters, "
					   "no '/', ':' or blanks",
					   args->ifname[i]);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which interface?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "mode", 'm', "MODE", 0,
	  "native (the driver's XDP, the default) or skb (generic XDP: slow, any driver)", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "IF...",
	.doc = "Forward what comes in on interfaces in XDP. Attaching twice is fine. The wish is "
	       "kept: an interface that goes and comes back is attached again while xfibd runs.\v"
	       "Example: xfib attach eth0 eth1",
};

static int look_first(const struct attach_args *args, struct load_error *err)
{
	int r = preflight_system(err), ifindex;

	for (int i = 0; i < args->count && !r; i++)
		r = preflight_interface(args->ifname[i], args->mode, &ifindex, err);
	return r;
}

static bool exists(const char *name)
{
	struct instance *instance;
	struct load_error err;
	int r = instance_open(name, &instance, &err);

	if (!r)
		instance_free(instance);
	return r != -ENOENT;
}

/* Returns how many could not be attached. */
static int attach_all(struct instance *instance, const struct attach_args *args)
{
	struct load_error err = { "" };
	unsigned int slot;
	int failed = 0;

	for (int i = 0; i < args->count; i++) {
		if (!port_attach(instance, args->ifname[i], args->mode, false, &slot, &err))
			continue;
		log_error("%s", err.text);
		failed++;
	}
	return failed;
}

static void note_missing_daemon(const struct cli *cli)
{
	_cleanup_view_ struct view v = { 0 };

	if (!view_open(cli, false, &v) && !v.alive)
		log_info("attached; nothing is forwarded in XDP until xfibd runs");
}

int word_attach(struct cli *cli, int argc, char **argv)
{
	static const struct capacity capacity = { .routes4 = CAPACITY_ROUTES4,
						  .routes6 = CAPACITY_ROUTES6 };
	struct attach_args args = { .mode = XFIB_MODE_NATIVE };
	struct load_error err = { "" };
	struct instance *instance;
	bool existed;
	int failed;

	cli_parse(cli, &argp, argc, argv, &args);
	if (look_first(&args, &err)) {
		log_error("%s", err.text);
		return CLI_FAILED;
	}
	existed = exists(cli->instance);
	if (instance_create(cli->instance, &capacity, &instance, &err)) {
		log_error("%s", err.text);
		return CLI_FAILED;
	}
	failed = attach_all(instance, &args);
	instance_free(instance);
	if (failed == args.count) {
		if (!existed)
			instance_remove(cli->instance, &err);
		return CLI_FAILED;
	}
	if (cli->json)
		print_ports_json(cli);
	else
		note_missing_daemon(cli);
	return failed ? CLI_FAILED : CLI_OK;
}

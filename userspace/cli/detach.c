// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xfib detach: takes the wish back and puts the interface back as it was. After the last port, and
 * when no daemon holds it, the instance itself goes: nothing of xfib is left.
 */
#include <errno.h>

#include "common/log.h"
#include "view.h"

struct detach_args {
	char **ifname;
	int count;
	bool all;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct detach_args *args = state->input;

	switch (key) {
	case 'a':
		args->all = true;
		return 0;
	case ARGP_KEY_ARGS:
		args->ifname = state->argv + state->next;
		args->count = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		if (!args->count && !args->all)
			argp_error(state, "which interface? (--all: every one)");
		if (args->count && args->all)
			argp_error(state, "interfaces or --all, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "every interface of the instance", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "IF...|--all",
	.doc = "Put interfaces back as they were: the kernel forwards, as before.\v"
	       "Example: xfib detach eth0",
};

static int detach(struct instance *instance, const char *ifname)
{
	struct load_error err = { "" };
	int r = port_detach(instance, ifname, &err);

	if (r)
		log_error("%s", err.text);
	return r;
}

static int detach_all(struct instance *instance)
{
	struct xfib_intent intents[XFIB_PORTS];
	int failed = 0, r;

	r = ports_read(instance, intents);
	if (r)
		return log_errno(r, "cannot read the ports of '%s'", instance->name);
	for (int slot = 0; slot < XFIB_PORTS; slot++)
		if (*intents[slot].ifname && detach(instance, intents[slot].ifname))
			failed++;
	return failed;
}

static bool has_ports(const struct instance *instance)
{
	struct xfib_intent intents[XFIB_PORTS];

	if (ports_read(instance, intents))
		return true;
	for (int slot = 0; slot < XFIB_PORTS; slot++)
		if (*intents[slot].ifname)
			return true;
	return false;
}

/* Opens what is there for writing; makes no instance, except in place of one whose namespace is gone. */
static int open_existing(const char *name, bool all, struct instance **instance)
{
	static const struct capacity capacity = { .routes4 = CAPACITY_ROUTES4,
						  .routes6 = CAPACITY_ROUTES6 };
	struct load_error err = { "" };
	int r = instance_open(name, instance, &err);

	if (!r)
		instance_free(*instance);
	if (!r || (all && r == -EREMOTE))
		r = instance_create(name, &capacity, instance, &err);
	if (r)
		log_error("%s", err.text);
	return r;
}

int word_detach(struct cli *cli, int argc, char **argv)
{
	struct detach_args args = { 0 };
	struct instance *instance;
	struct load_error err;
	int failed = 0;
	bool empty;

	cli_parse(cli, &argp, argc, argv, &args);
	if (open_existing(cli->instance, args.all, &instance))
		return CLI_FAILED;
	if (args.all)
		failed = detach_all(instance);
	for (int i = 0; i < args.count; i++)
		failed += !!detach(instance, args.ifname[i]);
	empty = !has_ports(instance);
	instance_free(instance);
	if (empty)
		instance_remove(cli->instance, &err); /* refused, rightly, while a daemon runs */
	if (cli->json)
		print_ports_json(cli);
	return failed ? CLI_FAILED : CLI_OK;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which interfaces are ports: the loader's intents, followed by inotify (an attachment by the CLI
 * makes no netlink message) and looked at every second besides; and what the devices can transmit.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "daemon.h"

struct ports {
	int inotify;
	struct xdpfeat *features;
	struct watch *on_intent, *on_features;
	char error[XFIB_PORTS][XFIB_ERROR]; /* as logged last */
};

/* What a port's device can do; asked for again whenever it may have changed. */
static void update_features(struct daemon *d)
{
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		__u32 ifindex = d->fib.port[i].ifindex;
		struct xdp_features f;

		if (!ifindex)
			continue;
		if (xdpfeat_get(d->ports->features, ifindex, &f))
			f = (struct xdp_features){};
		model_set_features(&d->model, ifindex, f.xmit, f.sg);
	}
}

/* A port that cannot be attached is said once, and once more when the reason changes. */
static void log_intent(struct daemon *d, unsigned int slot, const struct xfib_intent *intent)
{
	char *last = d->ports->error[slot];

	if (!strncmp(last, intent->error, sizeof(d->ports->error[slot])))
		return;
	memcpy(last, intent->error, sizeof(intent->error));
	if (intent->error[0])
		log_warning("port %s: %s", intent->ifname, intent->error);
}

void ports_update(struct daemon *d)
{
	static struct xfib_intent intents[XFIB_PORTS];
	__u32 ifindex[XFIB_PORTS] = {};
	struct load_error why = {};
	int err;

	err = ports_reconcile(d->instance, &why);
	if (err < 0)
		log_debug("%s", why.text);
	err = ports_read(d->instance, intents);
	if (err) {
		log_errno(err, "cannot read the wanted ports");
		return;
	}
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		const struct xfib_intent *in = &intents[i];

		log_intent(d, i, in);
		if (in->ifname[0] && in->attach != XFIB_DETACHED)
			ifindex[i] = in->ifindex;
	}
	policy_set_ports(d, ifindex);
	for (unsigned int i = 0; i < XFIB_PORTS; i++)
		fib_set_port(&d->fib, i, ifindex[i], ifindex[i] != 0);
	update_features(d);
	daemon_commit(d);
}

static void on_intent(void *arg)
{
	struct daemon *d = arg;
	char buf[4096];

	while (read(d->ports->inotify, buf, sizeof(buf)) > 0)
		;
	ports_update(d);
}

static void on_features(void *arg)
{
	struct daemon *d = arg;

	if (xdpfeat_drain(d->ports->features) > 0) {
		update_features(d);
		daemon_commit(d);
	}
}

/* What the command line asks for is wanted even if it cannot be attached now. */
static void attach_wanted(struct daemon *d)
{
	for (unsigned int i = 0; i < d->opt.ifnames_count; i++) {
		struct load_error why = {};
		unsigned int slot;

		/* Why one could not be attached stands in its intent, and is logged from there. */
		if (port_attach(d->instance, d->opt.ifnames[i], XFIB_MODE_NATIVE, true, &slot,
				&why) == -ENOSPC)
			log_warning("port %s: %s", d->opt.ifnames[i], why.text);
	}
}

static int watch_intents(struct daemon *d)
{
	char path[PATH_MAX];
	int err;

	d->ports->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (d->ports->inotify < 0)
		return -errno;
	err = ports_watch_path(d->instance, path, sizeof(path));
	if (err)
		return err;
	/* The directory: the file is made by the first change. */
	if (inotify_add_watch(d->ports->inotify, dirname(path), IN_ATTRIB | IN_CREATE) < 0)
		return -errno;
	return loop_fd(d->loop, d->ports->inotify, LOOP_FIRST, on_intent, d, &d->ports->on_intent);
}

int ports_start(struct daemon *d)
{
	int err;

	d->ports = calloc(1, sizeof(*d->ports));
	if (!d->ports)
		return -ENOMEM;
	d->ports->inotify = -1;
	err = xdpfeat_open(&d->ports->features);
	if (err)
		return log_errno(err, "cannot ask for the XDP features of devices");
	if (xdpfeat_fd(d->ports->features) >= 0)
		err = loop_fd(d->loop, xdpfeat_fd(d->ports->features), LOOP_FIRST, on_features, d,
			      &d->ports->on_features);
	attach_wanted(d);
	if (!err)
		err = watch_intents(d);
	return err ? log_errno(err, "cannot watch the wanted ports") : 0;
}

void ports_stop(struct daemon *d)
{
	struct ports *p = d->ports;

	if (!p)
		return;
	watch_free(p->on_intent);
	watch_free(p->on_features);
	xdpfeat_free(p->features);
	if (p->inotify >= 0)
		close(p->inotify);
	free(p);
	d->ports = NULL;
}

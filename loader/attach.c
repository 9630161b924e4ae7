/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ports: wanted, attached, detached, and kept in agreement with the interfaces that come and go.
 *
 * A slot is free when its intent has no name and no ifindex. One with an ifindex but no name is being
 * detached: whoever wanted that waits until the daemon has taken the port out of its tables, and
 * ports_reconcile() ends it if that process dies.
 */
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach.h"
#include "common/cleanup.h"
#include "pin.h"
#include "port.h"
#include "preflight.h"

#define WITHDRAW_MS 2000 /* how long a detach waits for the daemon */
#define RETRY_MAX_S 32	 /* a port that cannot be attached is tried again after 1, 2, 4 ... s */

static void cleanup_generation(struct generation **gen)
{
	generation_free(*gen);
}
#define _cleanup_generation_ __attribute__((cleanup(cleanup_generation)))

static bool is_free(const struct xfib_intent *intent)
{
	return !*intent->ifname && !intent->ifindex;
}

static bool is_leaving(const struct xfib_intent *intent)
{
	return !*intent->ifname && intent->ifindex;
}

static int find_name(const struct xfib_intent *intents, const char *ifname)
{
	for (int slot = 0; slot < XFIB_PORTS; slot++)
		if (!strncmp(intents[slot].ifname, ifname, XFIB_IFNAMSIZ))
			return slot;
	return -ENOENT;
}

static int find_free(const struct xfib_intent *intents)
{
	for (int slot = 0; slot < XFIB_PORTS; slot++)
		if (is_free(&intents[slot]))
			return slot;
	return -ENOSPC;
}

/* Whether packets may still be treated as this port's: the tables, or the devmap, know the slot. */
static bool published(const struct instance *instance, unsigned int slot)
{
	static const struct xfib_port none;
	struct xfib_port ports[XFIB_PORTS] = {};
	_cleanup_close_ int fd = -1;
	char path[PATH_SIZE];
	__u32 ifindex, key = 0;

	path_generation(path, instance->name, instance->meta.generation, map_name(XFIB_MAP_ports));
	if (!pin_open(path, false, &fd))
		(void)bpf_map_lookup_elem(fd, &key, ports);
	return memcmp(&ports[slot], &none, sizeof(none)) ||
	       !bpf_map_lookup_elem(instance->fd[XFIB_MAP_tx], &slot, &ifindex);
}

static int read_state(struct instance *instance, struct xfib_intent *intents,
		      struct load_error *err)
{
	int rc = instance_refresh(instance) ?: ports_read(instance, intents);

	return rc ? load_fail(err, rc, "cannot read instance '%s': %s", instance->name,
			      strerror(-rc))
		  : 0;
}

/* --- leaving ----------------------------------------------------------------------------------- */

/*
 * Takes a port out of the tables where the daemon cannot: no frame may be sent to a device that is no
 * port any more. Only a flag of a reachable l3if changes, by one store; all else stays as it was.
 */
static int withdraw(const struct instance *instance, unsigned int slot, struct load_error *err)
{
	_cleanup_generation_ struct generation *gen = NULL;
	int rc = generation_open(instance, instance->meta.generation, true, &gen, err);

	if (rc == -ENOENT) /* their pins were removed: detaching is all that can be done */
		return port_set_tx(instance, slot, 0);
	if (rc)
		return rc;
	__atomic_store_n((__u64 *)&gen->ports[slot], 0, __ATOMIC_RELEASE);
	/* Without a devmap entry, other ports leave their packets to the kernel. */
	rc = port_set_tx(instance, slot, 0) ?: generation_grace(gen);
	return rc ? load_fail(err, rc, "cannot take a port out of the tables: %s", strerror(-rc))
		  : 0;
}

static int zero_counters(const struct instance *instance, unsigned int slot)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct xfib_counters *zero = cpus > 0 ? calloc(cpus, sizeof(*zero)) : NULL;

	if (!zero)
		return cpus > 0 ? -ENOMEM : cpus;
	return bpf_map_update_elem(instance->fd[XFIB_MAP_counters], &slot, zero, BPF_ANY) ? -errno
											  : 0;
}

/* The program is detached: makes the slot a free one. */
static int free_slot(const struct instance *instance, unsigned int slot, struct load_error *err)
{
	const struct xfib_intent empty = {};
	int rc = withdraw(instance, slot, err); /* waits for the program that ran last, too */

	if (rc)
		return rc;
	twin_unpin(instance, instance->meta.generation, slot);
	rc = zero_counters(instance, slot) ?: intent_write(instance, slot, &empty);
	return rc ? load_fail(err, rc, "cannot free the port: %s", strerror(-rc)) : 0;
}

static void wait_for_daemon(const struct instance *instance, unsigned int slot)
{
	const struct timespec step = { .tv_nsec = 10000000 };

	for (unsigned int ms = 0; ms < WITHDRAW_MS && published(instance, slot); ms += 10)
		nanosleep(&step, NULL);
}

/* First half of a detach: the intent goes. *wait: a daemon has to withdraw the port before it leaves. */
static int unwant(struct instance *instance, const char *ifname, unsigned int *slot,
		  struct link *link, bool *wait, struct load_error *err)
{
	struct xfib_intent intents[XFIB_PORTS], *intent;
	int rc = read_state(instance, intents, err), found;

	if (rc)
		return rc;
	found = find_name(intents, ifname);
	if (found < 0)
		return load_fail(err, -ENOENT, "%s is not attached to instance '%s'", ifname,
				 instance->name);
	intent = &intents[found];
	*link = link_of(intent);
	*slot = found;
	memset(intent->ifname, 0, sizeof(intent->ifname));
	rc = intent_write(instance, found, intent);
	if (rc)
		return load_fail(err, rc, "cannot write the port table: %s", strerror(-rc));
	*wait = intent->ifindex && published(instance, found) && daemon_alive(instance->name) &&
		!daemon_is_self();
	return 0;
}

/* Second half, unless ports_reconcile() has been faster. */
static int leave(struct instance *instance, unsigned int slot, struct link *link,
		 struct load_error *err)
{
	struct xfib_intent intents[XFIB_PORTS];
	int rc = read_state(instance, intents, err);

	if (rc)
		return rc;
	if (*intents[slot].ifname || intents[slot].prog_id != link->prog_id)
		return 0;
	rc = withdraw(instance, slot, err);
	if (rc)
		return rc;
	if (!link->ifindex)
		link->ifindex = if_nametoindex(link->ifname);
	rc = link_detach(instance, link);
	if (rc)
		return load_fail(err, rc, "%s: cannot detach: %s", link->ifname, strerror(-rc));
	return free_slot(instance, slot, err);
}

int port_detach(struct instance *instance, const char *ifname, struct load_error *err)
{
	bool wait = false;
	unsigned int slot;
	struct link link;

	{
		_cleanup_lock_ int lock = lock_acquire(instance->name, err);
		int rc = lock ?: unwant(instance, ifname, &slot, &link, &wait, err);

		if (rc)
			return rc;
		if (!wait)
			return leave(instance, slot, &link, err);
	}
	wait_for_daemon(instance, slot);

	_cleanup_lock_ int lock = lock_acquire(instance->name, err);

	return lock ?: leave(instance, slot, &link, err);
}

/* --- coming ------------------------------------------------------------------------------------ */

/*
 * Attaches what is wanted, or replaces what is not the right program. intent: as stored; name and mode
 * are set. On failure the old attachment, if there was one in another mode, is gone.
 */
static int settle(const struct instance *instance, unsigned int slot, enum xfib_mode mode,
		  int ifindex, struct xfib_intent *intent, struct load_error *err)
{
	_cleanup_generation_ struct generation *gen = NULL;
	struct link link = link_of(intent);
	bool alive = intent->ifindex && (int)intent->ifindex == ifindex && intent->mode == mode &&
		     link_alive(instance, &link);
	int rc = program_test(err);

	if (rc)
		return rc;
	if (alive && link.prog_id == intent->prog_id && port_current(instance, slot, intent))
		return 0;
	rc = generation_open(instance, instance->meta.generation, true, &gen, err);
	if (rc)
		return rc;
	if (alive)
		return port_move(instance, gen, slot, intent, err);

	if (intent->ifindex && (int)intent->ifindex != ifindex)
		rc = withdraw(instance, slot, err);
	else
		link.ifindex = ifindex; /* remains of an attachment that was interrupted */
	if (rc)
		return rc;
	rc = link_detach(instance, &link);
	if (rc)
		return load_fail(err, rc, "%s: cannot remove the old attachment: %s",
				 intent->ifname, strerror(-rc));
	intent->ifindex = 0;
	intent->prog_id = 0;
	intent->attach = XFIB_DETACHED;
	intent->mode = mode;
	memset(intent->error, 0, sizeof(intent->error));
	rc = intent_write(instance, slot, intent);
	if (!rc)
		rc = port_start(instance, gen, slot, ifindex, intent, err);
	else
		load_fail(err, rc, "cannot write the port table: %s", strerror(-rc));
	return rc ?: intent_write(instance, slot, intent);
}

/* Keeps the wish and the reason; writes only what is new, as every write wakes the daemon. */
static void remember_failure(const struct instance *instance, unsigned int slot,
			     struct xfib_intent *intent, const struct load_error *err)
{
	if (!strcmp(intent->error, err->text))
		return;
	snprintf(intent->error, sizeof(intent->error), "%s", err->text);
	(void)intent_write(instance, slot, intent);
}

int port_attach(struct instance *instance, const char *ifname, enum xfib_mode mode, bool keep,
		unsigned int *slot, struct load_error *err)
{
	_cleanup_lock_ int lock = lock_acquire(instance->name, err);
	struct xfib_intent intents[XFIB_PORTS], *intent;
	int rc = lock ?: read_state(instance, intents, err), index = 0, found;
	struct load_error ignored;

	if (rc)
		return rc;
	if (!*ifname || strlen(ifname) >= XFIB_IFNAMSIZ)
		return load_fail(err, -ENODEV, "'%.32s' is not the name of an interface", ifname);
	rc = preflight_interface(ifname, mode, &index, err);
	if (rc && !keep)
		return rc;
	found = find_name(intents, ifname);
	*slot = found >= 0 ? found : find_free(intents);
	if ((int)*slot < 0)
		return load_fail(err, -ENOSPC, "%s: all %u ports of instance '%s' are in use",
				 ifname, XFIB_PORTS, instance->name);
	intent = &intents[*slot];
	snprintf(intent->ifname, sizeof(intent->ifname), "%s", ifname);
	if (found < 0)
		intent->mode = mode;
	if (!rc)
		rc = settle(instance, *slot, mode, index, intent, err);
	if (!rc)
		return 0;
	if (found >= 0 || keep)
		remember_failure(instance, *slot, intent, err);
	else
		free_slot(instance, *slot, &ignored);
	return rc;
}

/* --- agreement --------------------------------------------------------------------------------- */

/* When a port that could not be attached may be tried again; another ifindex may at once. */
static struct retry {
	int ifindex;
	unsigned int delay;
	time_t at;
} retries[XFIB_PORTS];

static bool may_retry(const struct retry *retry, int ifindex, time_t now)
{
	return retry->ifindex != ifindex || now >= retry->at;
}

static void retry_later(struct retry *retry, int ifindex, time_t now)
{
	retry->delay = retry->ifindex == ifindex && retry->delay ? retry->delay * 2 : 1;
	if (retry->delay > RETRY_MAX_S)
		retry->delay = RETRY_MAX_S;
	retry->ifindex = ifindex;
	retry->at = now + retry->delay;
}

/* The device is not there any more under this name: what was attached goes, the wish stays. */
static int lose(const struct instance *instance, unsigned int slot, struct xfib_intent *intent,
		struct load_error *err)
{
	struct link link = link_of(intent);
	int rc = withdraw(instance, slot, err);

	if (!rc)
		rc = link_detach(instance, &link);
	if (rc)
		return rc;
	twin_unpin(instance, instance->meta.generation, slot);
	intent->ifindex = 0;
	intent->prog_id = 0;
	intent->attach = XFIB_DETACHED;
	snprintf(intent->error, sizeof(intent->error),
		 "no interface of this name in this network namespace");
	return intent_write(instance, slot, intent);
}

/* 1 if something was changed. */
static int reconcile_port(struct instance *instance, unsigned int slot, struct xfib_intent *intent,
			  struct load_error *err)
{
	const struct xfib_intent before = *intent;
	struct retry *retry = &retries[slot];
	struct timespec now;
	int ifindex = 0, rc;

	rc = preflight_interface(intent->ifname, intent->mode, &ifindex, err);
	if (rc) {
		if (intent->ifindex)
			return lose(instance, slot, intent, err) ?: 1;
		remember_failure(instance, slot, intent, err);
		return 0;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!may_retry(retry, ifindex, now.tv_sec))
		return 0;
	rc = settle(instance, slot, intent->mode, ifindex, intent, err);
	if (rc) {
		retry_later(retry, ifindex, now.tv_sec);
		remember_failure(instance, slot, intent, err);
	} else {
		*retry = (struct retry){};
	}
	return memcmp(&before, intent, sizeof(before)) != 0;
}

/* Direct attachments of no port: of detaches that were interrupted. */
static int remove_orphans(const struct instance *instance, const struct xfib_intent *intents)
{
	char path[PATH_SIZE];
	struct dirent *entry;
	int changes = 0;
	DIR *dir;

	path_instance(path, instance->name, "links");
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		struct link link = { .how = XFIB_ATTACH_DIRECT };

		link_pin_ifname(entry->d_name, link.ifname);
		if (*entry->d_name != '.' && find_name(intents, link.ifname) < 0)
			changes += !link_detach(instance, &link);
	}
	closedir(dir);
	return changes;
}

/* Ends detaches that were interrupted, or whose process waits for a withdrawal that has happened. */
static int finish_leaving(const struct instance *instance, const struct xfib_intent *intents,
			  struct load_error *err)
{
	int changes, rc = 0;

	for (unsigned int slot = 0; slot < XFIB_PORTS; slot++)
		if (is_leaving(&intents[slot]) && published(instance, slot))
			return 0; /* the daemon withdraws it first */
	changes = remove_orphans(instance, intents);
	for (unsigned int slot = 0; slot < XFIB_PORTS && changes >= 0 && !rc; slot++) {
		struct link link = link_of(&intents[slot]);

		if (!is_leaving(&intents[slot]))
			continue;
		if (link.how == XFIB_ATTACH_DISPATCHER)
			rc = link_detach(instance, &link);
		rc = rc ?: free_slot(instance, slot, err);
		changes++;
	}
	return rc ?: changes;
}

int ports_reconcile(struct instance *instance, struct load_error *err)
{
	_cleanup_lock_ int lock = lock_try(instance->name, err);
	struct xfib_intent intents[XFIB_PORTS];
	int rc = lock ?: read_state(instance, intents, err), changes;

	if (rc)
		return rc;
	changes = finish_leaving(instance, intents, err);
	for (unsigned int slot = 0; slot < XFIB_PORTS && changes >= 0; slot++) {
		if (!*intents[slot].ifname)
			continue;
		rc = reconcile_port(instance, slot, &intents[slot], err);
		changes = rc < 0 ? rc : changes + rc;
	}
	return changes;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One port: its programs and its intent. The twin is made before the interface is touched: it is the
 * same object, so it shows that the program loads, and it can be run where the attached one cannot.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "attach.h"
#include "common/cleanup.h"
#include "object.h"
#include "pin.h"
#include "port.h"
#include "selftest.h"

#define TWIN_MAX 3000 /* bytes that fit BPF_PROG_TEST_RUN's one page on all kernels */

int ports_watch_path(const struct instance *instance, char *path, size_t size)
{
	char run[PATH_SIZE];

	path_run(run, instance->name, "ports");
	return snprintf(path, size, "%s", run) < (int)size ? 0 : -ENAMETOOLONG;
}

static void touch_ports(const struct instance *instance)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_SIZE];

	path_run(path, instance->name, "ports");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0)
		(void)futimens(fd, NULL);
}

int intent_write(const struct instance *instance, unsigned int slot,
		 const struct xfib_intent *intent)
{
	if (bpf_map_update_elem(instance->fd[XFIB_MAP_intent], &slot, intent, BPF_ANY))
		return -errno;
	touch_ports(instance);
	return 0;
}

static int read_once(const struct instance *instance, struct xfib_intent *intents)
{
	__u32 slots[XFIB_PORTS], count = XFIB_PORTS, next;

	/* The end of the map is reached with the last slot, and reported as ENOENT. */
	if (bpf_map_lookup_batch(instance->fd[XFIB_MAP_intent], NULL, &next, slots, intents, &count,
				 NULL) &&
	    errno != ENOENT)
		return -errno;
	return count == XFIB_PORTS ? 0 : -EIO;
}

/* Without the lock, so that a reader never waits for an attachment: read until two readings agree. */
int ports_read(const struct instance *instance, struct xfib_intent *intents)
{
	struct xfib_intent again[XFIB_PORTS];
	int rc = read_once(instance, intents);

	for (unsigned int tries = 0; !rc && tries < 100; tries++) {
		rc = read_once(instance, again);
		if (rc || !memcmp(intents, again, sizeof(again)))
			return rc;
		memcpy(intents, again, sizeof(again));
	}
	return rc ?: -EAGAIN;
}

static int set_tx(int fd, unsigned int slot, int ifindex)
{
	if (ifindex)
		return bpf_map_update_elem(fd, &slot, &ifindex, BPF_ANY) ? -errno : 0;
	return bpf_map_delete_elem(fd, &slot) && errno != ENOENT ? -errno : 0;
}

int port_set_tx(const struct instance *instance, unsigned int slot, int ifindex)
{
	_cleanup_close_ int component = -1;
	int rc = component_tx_open(instance, &component);

	rc = rc ?: set_tx(component, slot, ifindex);
	return rc ?: set_tx(instance->fd[XFIB_MAP_tx], slot, ifindex);
}

struct link link_of(const struct xfib_intent *intent)
{
	struct link link = {
		.ifindex = intent->ifindex,
		.mode = intent->mode,
		.how = intent->attach,
		.prog_id = intent->prog_id,
	};

	memcpy(link.ifname, intent->ifname, sizeof(link.ifname));
	return link;
}

static void twin_path(char path[static PATH_SIZE], const struct instance *instance,
		      unsigned int generation, unsigned int slot)
{
	char leaf[32];

	snprintf(leaf, sizeof(leaf), "twin-%u", slot);
	path_generation(path, instance->name, generation, leaf);
}

int twin_make(const struct instance *instance, const struct generation *gen, unsigned int slot,
	      struct load_error *err)
{
	_cleanup_object_ struct bpf_object *obj = NULL;
	char path[PATH_SIZE];
	int rc = object_for_port(instance, gen, slot, ROLE_TWIN, &obj, err);

	if (!rc) /* the program only looks up its own slot */
		rc = bpf_map__set_max_entries(object_find_map(obj, XFIB_MAP_counters), slot + 1);
	if (!rc)
		rc = object_load(obj, err);
	if (rc)
		return rc;
	twin_path(path, instance, gen->number, slot);
	unlink(path);
	if (bpf_obj_pin(bpf_program__fd(object_program(obj)), path))
		return load_fail(err, -errno, "cannot pin %s: %s", path, strerror(errno));
	return 0;
}

void twin_unpin(const struct instance *instance, unsigned int generation, unsigned int slot)
{
	char path[PATH_SIZE];

	twin_path(path, instance, generation, slot);
	unlink(path);
}

int twin_run(const struct instance *instance, unsigned int generation, unsigned int slot,
	     const void *in, size_t len, void *out, __u32 *result)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in, .data_size_in = len, .data_out = out,
		    .data_size_out = len, .repeat = 1);
	_cleanup_close_ int fd = -1;
	char path[PATH_SIZE];
	int rc;

	if (len > TWIN_MAX)
		return -EMSGSIZE;
	twin_path(path, instance, generation, slot);
	rc = pin_open(path, true, &fd);
	if (rc)
		return rc;
	if (bpf_prog_test_run_opts(fd, &run))
		return -errno;
	*result = run.retval;
	return 0;
}

int program_test(struct load_error *err)
{
	return selftest_tag() ? 0 : selftest_run(err);
}

bool port_current(const struct instance *instance, unsigned int slot,
		  const struct xfib_intent *intent)
{
	struct bpf_prog_info info = {};
	_cleanup_close_ int fd = -1;
	__u32 len = sizeof(info);
	char path[PATH_SIZE];

	twin_path(path, instance, instance->meta.generation, slot);
	if (intent->generation != instance->meta.generation || pin_open(path, true, &fd) ||
	    bpf_obj_get_info_by_fd(fd, &info, &len))
		return false;
	return !memcmp(info.tag, selftest_tag(), sizeof(info.tag));
}

static enum role role_of(const struct link *link)
{
	return link->how == XFIB_ATTACH_DISPATCHER ? ROLE_COMPONENT : ROLE_DIRECT;
}

static int start_link(const struct instance *instance, const struct generation *gen,
		      unsigned int slot, struct link *link, struct load_error *err)
{
	for (;;) {
		_cleanup_object_ struct bpf_object *obj = NULL;
		int rc = object_for_port(instance, gen, slot, role_of(link), &obj, err);

		if (!rc)
			rc = link_attach(instance, link, obj, err);
		if (rc == -EAGAIN)
			rc = link_choose(instance, link, err);
		else
			return rc;
		if (rc)
			return rc;
	}
}

int port_start(const struct instance *instance, const struct generation *gen, unsigned int slot,
	       int ifindex, struct xfib_intent *intent, struct load_error *err)
{
	struct link link = link_of(intent);
	int rc;

	link.ifindex = ifindex;
	rc = link_choose(instance, &link, err);
	if (!rc)
		rc = program_test(err);
	if (!rc)
		rc = twin_make(instance, gen, slot, err);
	if (rc)
		return rc;
	rc = start_link(instance, gen, slot, &link, err);
	if (rc) {
		twin_unpin(instance, gen->number, slot);
		return rc;
	}
	intent->ifindex = ifindex;
	intent->attach = link.how;
	intent->prog_id = link.prog_id;
	intent->generation = gen->number;
	memset(intent->error, 0, sizeof(intent->error));
	return 0;
}

int port_move(const struct instance *instance, const struct generation *gen, unsigned int slot,
	      struct xfib_intent *intent, struct load_error *err)
{
	_cleanup_object_ struct bpf_object *obj = NULL;
	struct link link = link_of(intent);
	int rc = program_test(err);

	if (!rc)
		rc = twin_make(instance, gen, slot, err);
	if (!rc)
		rc = object_for_port(instance, gen, slot, role_of(&link), &obj, err);
	if (!rc)
		rc = link_replace(instance, &link, obj, err);
	if (rc)
		return rc;
	intent->prog_id = link.prog_id;
	intent->generation = gen->number;
	rc = intent_write(instance, slot, intent);
	return rc ? load_fail(err, rc, "cannot write the port table: %s", strerror(-rc)) : 0;
}

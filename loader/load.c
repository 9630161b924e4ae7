/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Instances: made, opened, removed. The meta map is pinned last when an instance is made and unpinned
 * first when it is removed, so a directory without it holds only remains, whatever was interrupted.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "attach.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "generation.h"
#include "object.h"
#include "pin.h"
#include "port.h"
#include "preflight.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static const __u32 zero_key;

bool instance_name_ok(const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= sizeof(((struct instance *)0)->name))
		return false;
	for (; *name; name++)
		if (!isascii(*name) || (!isalnum(*name) && *name != '-' && *name != '_'))
			return false;
	return true;
}

static int netns_cookie(__u64 *cookie)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*cookie);

	return fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len) ? -errno : 0;
}

void instance_free(struct instance *instance)
{
	if (!instance)
		return;
	map_unmap(instance->ctl, instance->fd[XFIB_MAP_ctl]);
	map_unmap(instance->status, instance->fd[XFIB_MAP_status]);
	for (enum xfib_map i = 0; i < XFIB_MAP_COUNT; i++)
		cleanup_close(&instance->fd[i]);
	free(instance);
}

static void cleanup_instance(struct instance **instance)
{
	instance_free(*instance);
}

static struct instance *instance_new(const char *name, bool writable)
{
	struct instance *instance = calloc(1, sizeof(*instance));

	if (!instance)
		return NULL;
	snprintf(instance->name, sizeof(instance->name), "%s", name);
	instance->writable = writable;
	for (enum xfib_map i = 0; i < XFIB_MAP_COUNT; i++)
		instance->fd[i] = -1;
	return instance;
}

/* Another layout of meta is told by the size of its value; the ABI version always stands first. */
static int check_meta(struct instance *instance, struct load_error *err)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	__u64 cookie;
	int rc;

	if (bpf_obj_get_info_by_fd(instance->fd[XFIB_MAP_meta], &info, &len))
		return load_fail(err, -errno, "cannot read instance '%s': %s", instance->name,
				 strerror(errno));
	if (info.value_size == sizeof(instance->meta))
		rc = instance_refresh(instance);
	else
		rc = -EPROTO;
	if (rc && rc != -EPROTO)
		return load_fail(err, rc, "cannot read instance '%s': %s", instance->name,
				 strerror(-rc));
	if (rc || instance->meta.abi != XFIB_ABI)
		return load_fail(
			err, -EPROTO,
			"instance '%s' was made by xfib %.32s (tables of version %u), this is "
			"xfib %s (version %u): stop its xfibd, detach its ports with that version, then "
			"rm -r %s/%s",
			instance->name, rc ? "of another release" : instance->meta.version,
			instance->meta.abi, XFIB_VERSION, XFIB_ABI, XFIB_PIN_ROOT, instance->name);
	rc = netns_cookie(&cookie);
	if (rc)
		return load_fail(err, rc, "cannot tell the network namespace: %s", strerror(-rc));
	if (cookie != instance->meta.netns_cookie)
		return load_fail(
			err, -EREMOTE,
			"instance '%s' belongs to another network namespace: use -n with a name of "
			"its own for this one; if that one is gone: rm -r %s/%s %s/%s",
			instance->name, XFIB_PIN_ROOT, instance->name, XFIB_RUN_ROOT,
			instance->name);
	return 0;
}

static int open_pins(struct instance *instance)
{
	char path[PATH_SIZE];
	int rc = 0;

	for (enum xfib_map i = 0; i < XFIB_MAP_COUNT && !rc; i++) {
		bool mapped = i == XFIB_MAP_ctl || i == XFIB_MAP_status;

		if (map_of_generation(i))
			continue;
		path_instance(path, instance->name, map_name(i));
		rc = pin_open(path, instance->writable || mapped, &instance->fd[i]);
	}
	if (rc)
		return rc;
	rc = map_mmap(instance->fd[XFIB_MAP_ctl], instance->writable, (void **)&instance->ctl);
	return rc
		       ?: map_mmap(instance->fd[XFIB_MAP_status], instance->writable,
				   (void **)&instance->status);
}

/* An instance whose meta is pinned is whole. */
static int open_existing(const char *name, bool writable, struct instance **instance,
			 struct load_error *err)
{
	_cleanup_(cleanup_instance) struct instance *opened = instance_new(name, writable);
	char path[PATH_SIZE];
	int rc;

	if (!opened)
		return load_fail(err, -ENOMEM, "out of memory");
	path_instance(path, name, map_name(XFIB_MAP_meta));
	rc = pin_open(path, writable, &opened->fd[XFIB_MAP_meta]);
	if (rc == -ENOENT)
		return load_fail(
			err, rc,
			"no instance '%s' here: start xfibd or attach an interface first%s", name,
			preflight_in_netns_exec()
				? " (ip netns exec hides the BPF file system: use "
				  "nsenter --net=/run/netns/NAME)"
				: "");
	if (rc == -EACCES || rc == -EPERM)
		return load_fail(err, -EPERM, "cannot open %s: run it as root", path);
	if (rc)
		return load_fail(err, rc, "cannot open %s: %s", path, strerror(-rc));
	rc = check_meta(opened, err);
	if (rc)
		return rc;
	cleanup_close(&opened->fd[XFIB_MAP_meta]);
	opened->fd[XFIB_MAP_meta] = -1;
	rc = open_pins(opened);
	if (rc == -ENOENT)
		return load_fail(err, -EPROTO,
				 "instance '%s' is damaged, pins are missing: rm -r %s/%s "
				 "(this detaches its ports)",
				 name, XFIB_PIN_ROOT, name);
	if (rc)
		return load_fail(err, rc, "cannot open the maps of instance '%s': %s", name,
				 strerror(-rc));
	*instance = TAKE_PTR(opened);
	return 0;
}

int instance_open(const char *name, struct instance **instance, struct load_error *err)
{
	load_quiet();
	if (!instance_name_ok(name))
		return load_fail(
			err, -EINVAL,
			"'%.63s' is not an instance name: letters, digits, - and _, at most 63",
			name);
	return open_existing(name, false, instance, err);
}

int instance_refresh(struct instance *instance)
{
	return bpf_map_lookup_elem(instance->fd[XFIB_MAP_meta], &zero_key, &instance->meta) ? -errno
											    : 0;
}

/* All pins but meta, then meta with its content: what is seen of it is whole. */
static int make_pins(const char *name, const struct capacity *capacity, struct load_error *err)
{
	struct xfib_meta meta = { .abi = XFIB_ABI, .generation = 1, .version = XFIB_VERSION };
	_cleanup_object_ struct bpf_object *obj = NULL;
	int rc = object_open(&obj, err), fd;
	char path[PATH_SIZE];

	if (!rc)
		rc = object_make_maps(obj, true, capacity, err);
	if (!rc)
		rc = generation_pin(name, meta.generation, obj, err);
	if (rc)
		return rc;
	rc = netns_cookie(&meta.netns_cookie);
	if (getrandom(&meta.hash_seed, sizeof(meta.hash_seed), 0) != sizeof(meta.hash_seed))
		rc = -errno;
	fd = bpf_map__fd(object_find_map(obj, XFIB_MAP_meta));
	if (!rc && bpf_map_update_elem(fd, &zero_key, &meta, BPF_ANY))
		rc = -errno;
	if (!rc)
		rc = component_tx_make(name);
	for (enum xfib_map i = XFIB_MAP_COUNT; i-- && !rc;) {
		if (map_of_generation(i))
			continue;
		path_instance(path, name,
			      map_name(i)); /* meta is the first of the list, so the last here */
		if (bpf_obj_pin(bpf_map__fd(object_find_map(obj, i)), path))
			rc = -errno;
	}
	return rc ? load_fail(err, rc, "cannot pin instance '%s': %s", name, strerror(-rc)) : 0;
}
_Static_assert(XFIB_MAP_meta == 0, "meta is pinned last");

static int make_instance(const char *name, const struct capacity *capacity, struct load_error *err)
{
	char path[PATH_SIZE];
	int rc;

	path_instance(path, name, "");
	rc = pin_remove_tree(path); /* remains of one that was never finished */
	if (!rc)
		rc = make_dirs(XFIB_PIN_ROOT, path, 0700);
	path_instance(path, name, "links");
	if (!rc && mkdir(path, 0700))
		rc = -errno;
	if (rc)
		return load_fail(err, rc, "cannot make %s: %s", path, strerror(-rc));
	rc = make_pins(name, capacity, err);
	if (rc) {
		path_instance(path, name, "");
		pin_remove_tree(path);
	}
	return rc;
}

/*
 * Whether an instance of another namespace is left over from one that is gone: nobody runs it, and the
 * devices of all its ports have vanished. A namespace cannot be asked for by its cookie. Of a port that shares
 * its device it cannot be told: no link, only the device itself leads to the dispatcher.
 */
static bool abandoned(const char *name)
{
	_cleanup_(cleanup_instance) struct instance *instance = instance_new(name, false);
	struct xfib_intent intents[XFIB_PORTS];

	if (!instance || daemon_alive(name) || open_pins(instance) || ports_read(instance, intents))
		return false;
	for (unsigned int slot = 0; slot < XFIB_PORTS; slot++) {
		struct link link = link_of(&intents[slot]);

		if (*intents[slot].ifname && !link_is_dead(instance, &link))
			return false;
	}
	return true;
}

int instance_create(const char *name, const struct capacity *capacity, struct instance **instance,
		    struct load_error *err)
{
	int rc = preflight_system(err);

	load_quiet();
	if (!rc && !instance_name_ok(name))
		return load_fail(
			err, -EINVAL,
			"'%.63s' is not an instance name: letters, digits, - and _, at most 63",
			name);
	if (!rc)
		rc = preflight_bpffs(err);
	if (rc)
		return rc;

	_cleanup_lock_ int lock = lock_acquire(name, err);

	if (lock)
		return lock;
	rc = open_existing(name, true, instance, err);
	if (rc == -EREMOTE && abandoned(name)) {
		log_info("removed instance '%s' of a network namespace that is gone", name);
		rc = -ENOENT;
	}
	if (rc != -ENOENT)
		return rc;
	rc = make_instance(name, capacity, err);
	return rc ?: open_existing(name, true, instance, err);
}

static int check_unused(const char *name, struct load_error *err)
{
	_cleanup_(cleanup_instance) struct instance *instance = NULL;
	struct xfib_intent intents[XFIB_PORTS];
	int rc = open_existing(name, true, &instance, err);

	if (rc)
		return rc == -ENOENT ? 0 : rc; /* remains only */
	if (daemon_alive(name))
		return load_fail(err, -EBUSY, "xfibd runs instance '%s': stop it first", name);
	rc = ports_read(instance, intents);
	if (rc)
		return load_fail(err, rc, "cannot read the ports of instance '%s': %s", name,
				 strerror(-rc));
	for (unsigned int slot = 0; slot < XFIB_PORTS; slot++)
		if (*intents[slot].ifname)
			return load_fail(err, -EBUSY,
					 "instance '%s' has ports: xfib detach --all first", name);
	return 0;
}

int instance_remove(const char *name, struct load_error *err)
{
	char path[PATH_SIZE], meta[PATH_SIZE];
	struct stat st;
	int rc;

	load_quiet();
	path_instance(path, name, "");
	if (!instance_name_ok(name) || stat(path, &st))
		return load_fail(err, -ENOENT, "no instance '%.63s' here", name);

	_cleanup_lock_ int lock = lock_acquire(name, err);

	rc = lock ?: check_unused(name, err);
	if (rc)
		return rc;
	path_instance(meta, name, map_name(XFIB_MAP_meta));
	unlink(meta);
	rc = pin_remove_tree(path);
	if (rc)
		return load_fail(err, rc, "cannot remove %s: %s", path, strerror(-rc));
	rmdir(XFIB_PIN_ROOT); /* unless there are others */
	path_run(path, name, "");
	pin_remove_tree(path);
	rmdir(XFIB_RUN_ROOT);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libxdp's dispatcher: a program with slots that the programs of several owners replace (freplace), so
 * that they run one after another. Where the kernel does not let that work, libxdp falls back to a
 * netlink attachment by itself, which could neither be pinned nor replaced atomically: so it is asked
 * only after a probe has shown that it does work.
 *
 * A component is known to be ours by its maps: it uses the counters of the instance.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/file.h>

#include <bpf/bpf.h>
#include <xdp/libxdp.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "dispatcher.h"
#include "pin.h"
#include "preflight.h"

#define LIBXDP_PINS  "/sys/fs/bpf/xdp" /* dispatch-IFINDEX-ID/progN-{prog,link} */
#define SLOTS	     10		       /* of a dispatcher */
#define PROGRAM_MAPS 64

/* Behind filters (xdp-filter has 10, the default is 50): what they drop is not forwarded. */
#define RUN_PRIORITY 90

static void cleanup_program(struct xdp_program **prog)
{
	if (!libxdp_get_error(*prog))
		xdp_program__close(*prog);
}
#define _cleanup_program_ __attribute__((cleanup(cleanup_program)))

static void cleanup_multiprog(struct xdp_multiprog **mp)
{
	if (!libxdp_get_error(*mp))
		xdp_multiprog__close(*mp);
}
#define _cleanup_multiprog_ __attribute__((cleanup(cleanup_multiprog)))

/* --- can the dispatcher work here? ------------------------------------------------------------- */

static struct xdp_program *probe_program(void)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .find_filename = "xdp-dispatcher.o",
			    .prog_name = "xdp_pass");

	return xdp_program__create(&opts);
}

/* Replaces a function of one throw-away program by another, as the dispatcher does with its slots. */
static bool probe_dispatcher(void)
{
	_cleanup_program_ struct xdp_program *target = probe_program(),
					     *replacement = probe_program();
	_cleanup_close_ int link = -1;
	struct bpf_program *prog;
	struct bpf_object *obj;

	if (libxdp_get_error(target) || libxdp_get_error(replacement) ||
	    bpf_object__load(xdp_program__bpf_obj(target)))
		return false;
	obj = xdp_program__bpf_obj(target);
	prog = bpf_object__find_program_by_name(obj, "xdp_pass");
	if (!prog)
		return false;

	obj = xdp_program__bpf_obj(replacement);
	for (struct bpf_program *other = NULL; (other = bpf_object__next_program(obj, other));)
		bpf_program__set_autoload(other, !strcmp(bpf_program__name(other), "xdp_pass"));
	if (bpf_program__set_attach_target(bpf_object__find_program_by_name(obj, "xdp_pass"),
					   bpf_program__fd(prog), "xdp_pass"))
		return false;
	prog = bpf_object__find_program_by_name(obj, "xdp_pass");
	bpf_program__set_type(prog, BPF_PROG_TYPE_EXT);
	bpf_program__set_expected_attach_type(prog, 0);
	if (bpf_object__load(obj))
		return false;
	link = bpf_raw_tracepoint_open(NULL, bpf_program__fd(prog));
	return link >= 0;
}

/* Asked once per process. libxdp opens programs by their ids, which takes CAP_SYS_ADMIN. */
static enum { UNKNOWN, WORKS, FAILS } verdict;

bool dispatcher_works(void)
{
	if (verdict == UNKNOWN) {
		load_quiet();
		verdict = preflight_capable(CAP_SYS_ADMIN) && probe_dispatcher() ? WORKS : FAILS;
		log_debug("libxdp's dispatcher %s here",
			  verdict == WORKS ? "works" : "does not work");
	}
	return verdict == WORKS;
}

/* --- components -------------------------------------------------------------------------------- */

static bool uses_map(int prog_fd, __u32 own)
{
	__u32 ids[PROGRAM_MAPS] = {};
	struct bpf_prog_info info = { .nr_map_ids = PROGRAM_MAPS, .map_ids = (unsigned long)ids };
	__u32 len = sizeof(info);

	if (!own || bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return false;
	for (__u32 i = 0; i < info.nr_map_ids && i < PROGRAM_MAPS; i++)
		if (ids[i] == own)
			return true;
	return false;
}

static bool is_ours(const struct instance *instance, int prog_fd)
{
	return uses_map(prog_fd, map_id(instance->fd[XFIB_MAP_counters]));
}

static bool is_component_of(const char *name, const struct xdp_multiprog *mp)
{
	struct xdp_program *prog = NULL;
	_cleanup_close_ int fd = -1;
	char path[PATH_SIZE];

	path_instance(path, name, map_name(XFIB_MAP_counters));
	if (pin_open(path, true, &fd))
		return false;
	while ((prog = xdp_multiprog__next_prog(prog, mp)))
		if (uses_map(xdp_program__fd(prog), map_id(fd)))
			return true;
	return false;
}

bool dispatcher_owner(const struct instance *instance, int ifindex, char owner[static 64])
{
	_cleanup_multiprog_ struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(ifindex);
	_cleanup_closedir_ DIR *dir = libxdp_get_error(mp) ? NULL : opendir(XFIB_PIN_ROOT);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!instance_name_ok(entry->d_name) || !strcmp(entry->d_name, instance->name) ||
		    !is_component_of(entry->d_name, mp))
			continue;
		snprintf(owner, 64, "%.63s", entry->d_name);
		return true;
	}
	return false;
}

static enum xdp_attach_mode libxdp_mode(enum xfib_mode mode)
{
	return mode == XFIB_MODE_SKB ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

/* Our component other than `except`; NULL if there is none. It belongs to mp. */
static struct xdp_program *find_ours(const struct instance *instance,
				     const struct xdp_multiprog *mp, __u32 except)
{
	for (struct xdp_program *prog = NULL; (prog = xdp_multiprog__next_prog(prog, mp));)
		if (xdp_program__id(prog) != except && is_ours(instance, xdp_program__fd(prog)))
			return prog;
	return NULL;
}

/* libxdp closes what it made by the time it returns, so the multiprog is read anew for each removal. */
static int remove_ours(const struct instance *instance, int ifindex, __u32 except)
{
	for (;;) {
		_cleanup_multiprog_ struct xdp_multiprog *mp =
			xdp_multiprog__get_from_ifindex(ifindex);
		int rc = libxdp_get_error(mp);
		struct xdp_program *prog;

		if (rc)
			return rc == -ENOENT || rc == -ENODEV ? 0 : rc;
		prog = find_ours(instance, mp, except);
		if (!prog)
			return 0;
		rc = xdp_program__detach(prog, ifindex, xdp_multiprog__attach_mode(mp), 0);
		if (rc)
			return rc;
	}
}

/* libxdp has attached without a dispatcher after all: take that back. */
static int undo_legacy(int ifindex, struct xdp_program *prog, enum xfib_mode mode)
{
	verdict = FAILS;
	xdp_program__detach(prog, ifindex, libxdp_mode(mode), 0);
	return -EAGAIN;
}

int dispatcher_attach(struct link *link, struct bpf_object *obj)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = obj, .prog_name = "xfib");
	_cleanup_program_ struct xdp_program *prog = xdp_program__create(&opts);
	_cleanup_multiprog_ struct xdp_multiprog *mp = NULL;
	int rc = libxdp_get_error(prog);

	if (!rc) /* libxdp does not see what the section's name says before libbpf loads it */
		rc = xdp_program__set_xdp_frags_support(prog, true);
	if (!rc)
		rc = xdp_program__set_run_prio(prog, RUN_PRIORITY);
	if (!rc)
		rc = xdp_program__attach(prog, link->ifindex, libxdp_mode(link->mode), 0);
	if (rc)
		return rc;
	mp = xdp_multiprog__get_from_ifindex(link->ifindex);
	if (!libxdp_get_error(mp) && xdp_multiprog__is_legacy(mp))
		return undo_legacy(link->ifindex, prog, link->mode);
	link->prog_id = xdp_program__id(prog);
	return 0;
}

bool dispatcher_alive(const struct instance *instance, struct link *link)
{
	_cleanup_multiprog_ struct xdp_multiprog *mp =
		xdp_multiprog__get_from_ifindex(link->ifindex);
	struct xdp_program *prog;

	if (libxdp_get_error(mp))
		return false;
	prog = find_ours(instance, mp, 0);
	if (!prog)
		return false;
	link->prog_id = xdp_program__id(prog);
	return !find_ours(instance, mp, link->prog_id); /* of an interrupted replacement */
}

/* Unpins our components in one directory of libxdp: without its link a component runs no more. */
static void forget_in(const struct instance *instance, const char *dir)
{
	char path[PATH_SIZE];

	for (unsigned int i = 0; i < SLOTS; i++) {
		_cleanup_close_ int fd = -1;

		snprintf(path, sizeof(path), "%s/%s/prog%u-prog", LIBXDP_PINS, dir, i);
		if (pin_open(path, true, &fd) || !is_ours(instance, fd))
			continue;
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s/prog%u-link", LIBXDP_PINS, dir, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/%s", LIBXDP_PINS, dir);
	rmdir(path); /* unless others have components there */
}

/*
 * The device of this ifindex has left the namespace, where netlink does not reach it any more. Not by
 * libxdp_clean_references(): the same ifindex may be in use in another namespace on the same pins.
 */
static void forget_ours(const struct instance *instance, int ifindex)
{
	_cleanup_close_ int lock = open(LIBXDP_PINS, O_DIRECTORY | O_CLOEXEC);
	DIR *dir = lock < 0 ? NULL : opendir(LIBXDP_PINS);
	struct dirent *entry;

	if (!dir)
		return;
	(void)flock(lock, LOCK_EX);
	while ((entry = readdir(dir))) {
		int index;

		if (sscanf(entry->d_name, "dispatch-%d-", &index) == 1 && index == ifindex)
			forget_in(instance, entry->d_name);
	}
	closedir(dir);
}

bool dispatcher_found(int ifindex, enum xfib_mode *mode)
{
	_cleanup_multiprog_ struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(ifindex);

	if (libxdp_get_error(mp) || xdp_multiprog__is_legacy(mp))
		return false;
	*mode = xdp_multiprog__attach_mode(mp) == XDP_MODE_SKB ? XFIB_MODE_SKB : XFIB_MODE_NATIVE;
	return true;
}

/* Both are attached for a moment, the old one first; either treats a packet rightly. */
int dispatcher_replace(const struct instance *instance, struct link *link, struct bpf_object *obj)
{
	int rc = dispatcher_attach(link, obj);

	return rc ?: remove_ours(instance, link->ifindex, link->prog_id);
}

int dispatcher_detach(const struct instance *instance, int ifindex)
{
	int rc = remove_ours(instance, ifindex, 0);

	forget_ours(instance, ifindex);
	return rc;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths, locks and words shared by the files of loader/: see pin.h. The lock files are removed with
 * their instance, so whoever gets a lock makes sure that the file still has the name it was opened by.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <xdp/libxdp.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "generation.h"
#include "pin.h"

/* The lock that this process holds, and how often. The daemon's lock lives until its process ends. */
static struct {
	char name[64];
	int fd;
	unsigned int depth;
} held = { .fd = -1 };
static int daemon_fd = -1;

int load_fail(struct load_error *err, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return code;
}

static void log_library(const char *library, const char *fmt, va_list args)
{
	char line[512];
	int n = vsnprintf(line, sizeof(line), fmt, args);

	if (n > 0 && n < (int)sizeof(line) && line[n - 1] == '\n')
		line[n - 1] = '\0';
	log_debug("%s: %s", library, line);
}

static int log_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level != LIBBPF_DEBUG)
		log_library("libbpf", fmt, args);
	return 0;
}

static int log_libxdp(enum libxdp_print_level level, const char *fmt, va_list args)
{
	log_library("libxdp", fmt, args);
	return 0;
}

void load_quiet(void)
{
	libbpf_set_print(log_libbpf);
	libxdp_set_print(log_libxdp);
}

const char *map_name(enum xfib_map map)
{
	static const char *const names[] = {
#define MAP_NAME(name, generation) #name,
		XFIB_MAPS(MAP_NAME)
#undef MAP_NAME
	};

	return names[map];
}

bool map_of_generation(enum xfib_map map)
{
	static const bool flags[] = {
#define MAP_GENERATION(name, generation) generation,
		XFIB_MAPS(MAP_GENERATION)
#undef MAP_GENERATION
	};

	return flags[map];
}

void path_instance(char path[static PATH_SIZE], const char *name, const char *leaf)
{
	snprintf(path, PATH_SIZE, "%s/%s%s%s", XFIB_PIN_ROOT, name, *leaf ? "/" : "", leaf);
}

void path_generation(char path[static PATH_SIZE], const char *name, unsigned int number,
		     const char *leaf)
{
	snprintf(path, PATH_SIZE, "%s/%s/gen-%u%s%s", XFIB_PIN_ROOT, name, number, *leaf ? "/" : "",
		 leaf);
}

void path_run(char path[static PATH_SIZE], const char *name, const char *leaf)
{
	snprintf(path, PATH_SIZE, "%s/%s%s%s", XFIB_RUN_ROOT, name, *leaf ? "/" : "", leaf);
}

int make_dirs(const char *root, const char *path, unsigned int mode)
{
	for (;;) {
		if (mkdir(root, mode) && errno != EEXIST)
			return -errno;
		if (!mkdir(path, mode) || errno == EEXIST)
			return 0;
		if (errno != ENOENT)
			return -errno;
	}
}

int pin_open(const char *path, bool writable, int *fd)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = writable ? 0 : BPF_F_RDONLY);
	int opened = bpf_obj_get_opts(path, &opts);

	if (opened < 0)
		return -errno;
	*fd = opened;
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

int pin_remove_tree(const char *path)
{
	return nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) && errno != ENOENT ? -errno : 0;
}

__u32 map_id(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

__u32 program_id(int fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

static bool still_named(int fd, const char *path)
{
	struct stat opened, named;

	return !fstat(fd, &opened) && !stat(path, &named) && opened.st_ino == named.st_ino &&
	       opened.st_dev == named.st_dev;
}

/* Opens and locks XFIB_RUN_ROOT/NAME/LEAF. 0 and *fd, -EWOULDBLOCK, or another -errno. */
static int lock_file(const char *name, const char *leaf, int operation, int *fd)
{
	char path[PATH_SIZE];
	int rc;

	for (;;) {
		_cleanup_close_ int f = -1;

		path_run(path, name, "");
		rc = make_dirs(XFIB_RUN_ROOT, path, 0755);
		if (rc)
			return rc;
		path_run(path, name, leaf);
		f = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (f < 0 && errno == ENOENT)
			continue; /* the instance was removed in between */
		if (f < 0)
			return -errno;
		while (flock(f, operation))
			if (errno != EINTR)
				return -errno;
		if (still_named(f, path)) {
			*fd = TAKE_FD(f);
			return 0;
		}
	}
}

static int lock_take(const char *name, int operation, struct load_error *err)
{
	int rc;

	if (held.depth) {
		assert(!strcmp(held.name, name));
		held.depth++;
		return 0;
	}
	rc = lock_file(name, "lock", operation, &held.fd);
	if (rc == -EWOULDBLOCK)
		return load_fail(err, -EAGAIN, "another process is changing instance '%s'", name);
	if (rc)
		return load_fail(err, rc, "cannot lock %s/%s/lock: %s%s", XFIB_RUN_ROOT, name,
				 strerror(-rc), rc == -EACCES ? " (run it as root)" : "");
	snprintf(held.name, sizeof(held.name), "%s", name);
	held.depth = 1;
	return 0;
}

int lock_acquire(const char *name, struct load_error *err)
{
	return lock_take(name, LOCK_EX, err);
}

int lock_try(const char *name, struct load_error *err)
{
	return lock_take(name, LOCK_EX | LOCK_NB, err);
}

void lock_release(int *lock)
{
	if (*lock || --held.depth)
		return;
	close(held.fd);
	held.fd = -1;
}

/* Under the instance's lock, so that no detach meets a daemon that starts in its middle. */
int instance_lock_daemon(const struct instance *instance, int *fd, struct load_error *err)
{
	_cleanup_lock_ int lock = lock_acquire(instance->name, err);
	struct load_error ignored;
	int rc;

	if (lock)
		return lock;
	rc = lock_file(instance->name, "daemon.lock", LOCK_EX | LOCK_NB, fd);
	if (rc == -EWOULDBLOCK)
		return load_fail(err, -EBUSY,
				 "another xfibd runs instance '%s': stop it, or give this one "
				 "another name with -n",
				 instance->name);
	if (rc)
		return load_fail(err, rc, "cannot lock %s/%s/daemon.lock: %s", XFIB_RUN_ROOT,
				 instance->name, strerror(-rc));
	daemon_fd = *fd;
	/* What a daemon before it was filling when it died. */
	(void)generation_sweep(instance, instance->meta.generation, &ignored);
	return 0;
}

bool daemon_is_self(void)
{
	return daemon_fd >= 0;
}

bool daemon_alive(const char *name)
{
	_cleanup_close_ int fd = -1;

	return daemon_is_self() ||
	       lock_file(name, "daemon.lock", LOCK_EX | LOCK_NB, &fd) == -EWOULDBLOCK;
}

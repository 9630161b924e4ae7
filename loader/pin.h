/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Internal to loader/: where pins lie, the lock around every change of them, and how a failure is
 * put into words. Paths are absolute and built from a checked instance name only.
 */
#pragma once

#include "load.h"

#define PATH_SIZE 256

/* Sets err->text and returns code (-errno), for `return load_fail(err, ...)`. */
int load_fail(struct load_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* libbpf's and libxdp's messages go to log_debug() from here on. Cheap to repeat. */
void load_quiet(void);

const char *map_name(enum xfib_map map);
bool map_of_generation(enum xfib_map map);

/* XFIB_PIN_ROOT/NAME/LEAF, .../NAME/gen-N/LEAF, XFIB_RUN_ROOT/NAME/LEAF; leaf "" is the directory. */
void path_instance(char path[static PATH_SIZE], const char *name, const char *leaf);
void path_generation(char path[static PATH_SIZE], const char *name, unsigned int number, const char *leaf);
void path_run(char path[static PATH_SIZE], const char *name, const char *leaf);

/* Makes root/ and root/.../path. A root is removed with the last instance in it, also between the two. */
int make_dirs(const char *root, const char *path, unsigned int mode);

/* Opens a pinned object. 0 and *fd, or -errno. */
int pin_open(const char *path, bool writable, int *fd);

/* Removes a directory of pins and all in it. 0 also if there is none. */
int pin_remove_tree(const char *path);

/* Id of the map or program behind an fd, 0 if it cannot be told. */
__u32 map_id(int fd);
__u32 program_id(int fd);

/*
 * The lock of an instance: of one process at a time, recursive within it, for one instance at a time.
 *	_cleanup_lock_ int lock = lock_acquire(name, err);
 *	if (lock)
 *		return lock;
 */
int lock_acquire(const char *name, struct load_error *err);
int lock_try(const char *name, struct load_error *err); /* -EAGAIN if another process has it */
void lock_release(int *lock);
#define _cleanup_lock_ __attribute__((cleanup(lock_release)))

/* Whether some process holds the daemon's lock; ask under lock_acquire(). And whether this one does. */
bool daemon_alive(const char *name);
bool daemon_is_self(void);

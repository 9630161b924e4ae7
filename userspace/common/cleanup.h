/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ownership by scope: an owning local starts as NULL or -1, carries one of these attributes and is
 * released on every way out of its block. It escapes only through TAKE_PTR() or TAKE_FD().
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define _cleanup_free_	 _cleanup_(cleanup_free)
#define _cleanup_close_	 _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(cleanup_closedir)

#define TAKE_PTR(p) ({ __typeof__(p) taken_ = (p); (p) = NULL; taken_; })
#define TAKE_FD(fd) ({ int taken_ = (fd); (fd) = -1; taken_; })

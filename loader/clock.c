/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's jiffies64, read by a program of type "syscall"; there is no other interface to it. */
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "load.h"
#include "pin.h"

extern const char clock_bpf_start[], clock_bpf_end[];

/* The fd outlives the object: the program needs none of its maps. */
static int clock_open(int *fd)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "xfib_clock");
	struct bpf_object *obj;
	int rc;

	load_quiet();
	obj = bpf_object__open_mem(clock_bpf_start, clock_bpf_end - clock_bpf_start, &opts);
	if (!obj)
		return -errno;
	rc = bpf_object__load(obj);
	if (!rc) {
		int copy = fcntl(bpf_program__fd(bpf_object__next_program(obj, NULL)),
				 F_DUPFD_CLOEXEC, 3);

		if (copy < 0)
			rc = -errno;
		else
			*fd = copy;
	}
	bpf_object__close(obj);
	return rc;
}

int clock_jiffies(__u64 *jiffies)
{
	static int fd = -1;
	struct {
		__u64 jiffies;
	} clock = {};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &clock, .ctx_size_in = sizeof(clock));
	int rc = fd < 0 ? clock_open(&fd) : 0;

	if (rc)
		return rc;
	if (bpf_prog_test_run_opts(fd, &run))
		return -errno;
	*jiffies = clock.jiffies; /* the kernel writes the context back to where it was read */
	return 0;
}

/* The coarse clock advances once per jiffy. */
unsigned int clock_hz(void)
{
	struct timespec res = { .tv_nsec = 4000000 };

	clock_getres(CLOCK_MONOTONIC_COARSE, &res);
	return (1000000000u + res.tv_nsec / 2) / res.tv_nsec;
}

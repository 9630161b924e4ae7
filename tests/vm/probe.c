/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a kernel makes of the programs: loads an object with maps of its own and prints what the
 * verifier had to do, or how long a grace period takes. Attaches and pins nothing.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GRACE_RUNS 20

static struct bpf_object *load(const char *path)
{
	struct bpf_object *object = bpf_object__open(path);

	if (!object) {
		fprintf(stderr, "probe: cannot open %s: %s\n", path, strerror(errno));
		return NULL;
	}
	if (bpf_object__load(object)) {
		fprintf(stderr, "probe: the kernel refused %s: %s\n", path, strerror(errno));
		bpf_object__close(object);
		return NULL;
	}
	return object;
}

static int print_programs(const struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			return -errno;
		printf("%s: %u instructions, %u verified, %u bytes of machine code\n",
		       bpf_program__name(program), info.xlated_prog_len / 8, info.verified_insns,
		       info.jited_prog_len);
	}
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

/* The grace period as loader/ waits for it: an update of the map in maps. */
static int print_grace(const struct bpf_object *object)
{
	int outer = bpf_object__find_map_fd_by_name(object, "grace");
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", 4, 4, 1, NULL);
	__u64 us[GRACE_RUNS];
	__u32 key = 0;

	if (outer < 0 || inner < 0)
		return -errno;
	for (int i = 0; i < GRACE_RUNS; i++) {
		struct timespec from, to;

		clock_gettime(CLOCK_MONOTONIC, &from);
		if (bpf_map_update_elem(outer, &key, &inner, BPF_ANY))
			return -errno;
		clock_gettime(CLOCK_MONOTONIC, &to);
		us[i] = (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
	}
	qsort(us, GRACE_RUNS, sizeof(us[0]), compare_u64);
	printf("grace period: median %llu us, longest %llu us of %d\n", us[GRACE_RUNS / 2],
	       us[GRACE_RUNS - 1], GRACE_RUNS);
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	int err;

	if (argc != 3 || (strcmp(argv[1], "load") && strcmp(argv[1], "grace"))) {
		fprintf(stderr, "usage: probe load|grace OBJECT\n");
		return 2;
	}
	object = load(argv[2]);
	if (!object)
		return 1;
	err = argv[1][0] == 'l' ? print_programs(object) : print_grace(object);
	if (err)
		fprintf(stderr, "probe: %s: %s\n", argv[1], strerror(-err));
	bpf_object__close(object);
	return err ? 1 : 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Table generations: made beside the one in use, opened and mapped, waited for. Which one is in use is
 * meta.generation alone; any other directory gen-N is the remains of something that was interrupted,
 * or is being filled by the one daemon.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "generation.h"
#include "object.h"
#include "pin.h"

static size_t map_bytes(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	size_t page = getpagesize();

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	return (info.value_size + page - 1) / page * page;
}

int map_mmap(int fd, bool writable, void **memory)
{
	void *mapped = mmap(NULL, map_bytes(fd), writable ? PROT_READ | PROT_WRITE : PROT_READ,
			    MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED)
		return -errno;
	*memory = mapped;
	return 0;
}

void map_unmap(void *memory, int fd)
{
	if (memory)
		munmap(memory, map_bytes(fd));
}

/* Where the flat maps of a generation are mapped to. */
static void **flat_memory(struct generation *gen, enum xfib_map map)
{
	switch (map) {
	case XFIB_MAP_ports:
		return (void **)&gen->ports;
	case XFIB_MAP_l3ifs:
		return (void **)&gen->l3ifs;
	case XFIB_MAP_own4:
		return (void **)&gen->own4;
	case XFIB_MAP_trie_roots:
		return (void **)&gen->trie_roots;
	case XFIB_MAP_trie4:
		return (void **)&gen->trie4;
	case XFIB_MAP_trie6:
		return (void **)&gen->trie6;
	case XFIB_MAP_nexthops:
		return (void **)&gen->nexthops;
	case XFIB_MAP_members:
		return (void **)&gen->members;
	case XFIB_MAP_neighs:
		return (void **)&gen->neighs;
	case XFIB_MAP_hits:
		return (void **)&gen->hits;
	default:
		return NULL;
	}
}

void generation_free(struct generation *gen)
{
	if (!gen)
		return;
	for (enum xfib_map i = 0; i < XFIB_MAP_COUNT; i++) {
		void **memory = flat_memory(gen, i);

		if (memory)
			map_unmap(*memory, gen->fd[i]);
		cleanup_close(&gen->fd[i]);
	}
	free(gen);
}

static void cleanup_generation(struct generation **gen)
{
	generation_free(*gen);
}

static int read_capacity(const struct generation *gen, enum xfib_map lpm, enum xfib_map trie,
			 __u32 *routes, __u32 *bytes)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(gen->fd[lpm], &info, &len))
		return -errno;
	*routes = info.max_entries - CAPACITY_HEADROOM;
	if (bpf_obj_get_info_by_fd(gen->fd[trie], &info, &len))
		return -errno;
	*bytes = info.value_size - XFIB_TRIE_PAD;
	return 0;
}

static int open_maps(const char *name, bool writable, struct generation *gen)
{
	char path[PATH_SIZE];
	int rc = 0;

	for (enum xfib_map i = 0; i < XFIB_MAP_COUNT && !rc; i++) {
		void **memory = flat_memory(gen, i);

		if (!map_of_generation(i))
			continue;
		path_generation(path, name, gen->number, map_name(i));
		rc = pin_open(path, writable || memory,
			      &gen->fd[i]); /* one opened to read cannot be mapped */
		if (!rc && memory)
			rc = map_mmap(gen->fd[i], writable, memory);
	}
	if (!rc)
		rc = read_capacity(gen, XFIB_MAP_lpm4, XFIB_MAP_trie4, &gen->capacity.routes4,
				   &gen->capacity.trie4);
	if (!rc)
		rc = read_capacity(gen, XFIB_MAP_lpm6, XFIB_MAP_trie6, &gen->capacity.routes6,
				   &gen->capacity.trie6);
	return rc;
}

int generation_open(const struct instance *instance, unsigned int number, bool writable,
		    struct generation **gen, struct load_error *err)
{
	_cleanup_(cleanup_generation) struct generation *opened = calloc(1, sizeof(*opened));
	int rc;

	if (!opened)
		return load_fail(err, -ENOMEM, "out of memory");
	opened->number = number;
	for (enum xfib_map i = 0; i < XFIB_MAP_COUNT; i++)
		opened->fd[i] = -1;
	rc = open_maps(instance->name, writable, opened);
	if (rc == -ENOENT)
		return load_fail(
			err, rc,
			"instance '%s' is damaged, pins of its tables are missing: stop xfibd, "
			"xfib -n %s detach --all, start xfibd again",
			instance->name, instance->name);
	if (rc)
		return load_fail(err, rc, "cannot open table generation %u of instance '%s': %s",
				 number, instance->name, strerror(-rc));
	*gen = TAKE_PTR(opened);
	return 0;
}

int generation_pin(const char *name, unsigned int number, struct bpf_object *obj,
		   struct load_error *err)
{
	char path[PATH_SIZE];
	int rc;

	path_generation(path, name, number, "");
	rc = mkdir(path, 0700) ? -errno : 0;
	for (enum xfib_map i = 0; i < XFIB_MAP_COUNT && !rc; i++) {
		if (!map_of_generation(i))
			continue;
		path_generation(path, name, number, map_name(i));
		if (bpf_obj_pin(bpf_map__fd(object_find_map(obj, i)), path))
			rc = -errno;
	}
	return rc ? load_fail(err, rc, "cannot pin %s: %s", path, strerror(-rc)) : 0;
}

int generation_sweep(const struct instance *instance, unsigned int keep, struct load_error *err)
{
	char path[PATH_SIZE];
	unsigned int number;
	struct dirent *entry;
	int rc = 0;
	DIR *dir;

	path_instance(path, instance->name, "");
	dir = opendir(path);
	if (!dir)
		return load_fail(err, -errno, "cannot read %s: %s", path, strerror(errno));
	while (!rc && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "gen-%u", &number) != 1 || number == keep)
			continue;
		path_generation(path, instance->name, number, "");
		rc = pin_remove_tree(path);
	}
	closedir(dir);
	return rc ? load_fail(err, rc, "cannot remove %s: %s", path, strerror(-rc)) : 0;
}

static int make_maps(const struct instance *instance, unsigned int number,
		     const struct capacity *capacity, struct generation **gen,
		     struct load_error *err)
{
	_cleanup_object_ struct bpf_object *obj = NULL;
	int rc = object_open(&obj, err);

	if (!rc)
		rc = object_make_maps(obj, false, capacity, err);
	if (!rc)
		rc = generation_pin(instance->name, number, obj, err);
	return rc ?: generation_open(instance, number, true, gen, err);
}

int generation_create(const struct instance *instance, const struct capacity *capacity,
		      struct generation **gen, struct load_error *err)
{
	_cleanup_lock_ int lock = lock_acquire(instance->name, err);
	struct load_error ignored;
	struct xfib_meta meta;
	__u32 key = 0;
	int rc;

	if (lock)
		return lock;
	if (bpf_map_lookup_elem(instance->fd[XFIB_MAP_meta], &key, &meta))
		return load_fail(err, -errno, "cannot read instance '%s': %s", instance->name,
				 strerror(errno));
	rc = generation_sweep(instance, meta.generation, err);
	if (rc)
		return rc;
	rc = make_maps(instance, meta.generation + 1, capacity, gen, err);
	if (rc)
		generation_sweep(instance, meta.generation, &ignored);
	return rc;
}

int generation_grace(const struct generation *gen)
{
	_cleanup_close_ int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "grace", 4, 4, 1, NULL);
	__u32 key = 0;

	return inner < 0 || bpf_map_update_elem(gen->fd[XFIB_MAP_grace], &key, &inner, BPF_ANY)
		       ? -errno
		       : 0;
}

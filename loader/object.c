/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The embedded BPF object. libbpf is used without a skeleton: maps are found by name, and the flat
 * ones (section ".bss.NAME" in bpf/maps.h) appear as maps of that section's name.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "object.h"
#include "pin.h"

#define FLAT_PREFIX ".bss."

extern const char xfib_bpf_start[], xfib_bpf_end[];

int object_open(struct bpf_object **obj, struct load_error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "xfib");
	struct bpf_object *opened;

	load_quiet();
	opened = bpf_object__open_mem(xfib_bpf_start, xfib_bpf_end - xfib_bpf_start, &opts);
	if (!opened)
		return load_fail(err, -errno, "cannot open the embedded BPF object: %s",
				 strerror(errno));
	*obj = opened;
	return 0;
}

struct bpf_program *object_program(const struct bpf_object *obj)
{
	return bpf_object__find_program_by_name(obj, "xfib");
}

enum xfib_map object_map(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);

	if (!strncmp(name, FLAT_PREFIX, strlen(FLAT_PREFIX)))
		name += strlen(FLAT_PREFIX);
	for (enum xfib_map i = 0; i < XFIB_MAP_COUNT; i++)
		if (!strcmp(name, map_name(i)))
			return i;
	return XFIB_MAP_COUNT;
}

struct bpf_map *object_find_map(const struct bpf_object *obj, enum xfib_map which)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
		if (object_map(map) == which)
			return map;
	return NULL;
}

int object_configure(struct bpf_object *obj, const struct xfib_config *cfg)
{
	struct bpf_map *rodata = object_find_map(obj, XFIB_MAP_COUNT);

	/* cfg is all there is in it: another size fails here. */
	return rodata ? bpf_map__set_initial_value(rodata, cfg, sizeof(*cfg)) : -ENOENT;
}

static int size_routes(struct bpf_object *obj, enum xfib_map lpm, __u32 routes, enum xfib_map trie,
		       __u32 bytes)
{
	int rc = bpf_map__set_max_entries(object_find_map(obj, lpm), routes + CAPACITY_HEADROOM);

	return rc ?: bpf_map__set_value_size(object_find_map(obj, trie), bytes + XFIB_TRIE_PAD);
}

int object_size_routes(struct bpf_object *obj, const struct capacity *c)
{
	int rc = size_routes(obj, XFIB_MAP_lpm4, c->routes4, XFIB_MAP_trie4, c->trie4);

	return rc ?: size_routes(obj, XFIB_MAP_lpm6, c->routes6, XFIB_MAP_trie6, c->trie6);
}

int object_load(struct bpf_object *obj, struct load_error *err)
{
	int rc = bpf_object__load(obj);

	if (rc == -EPERM)
		return load_fail(
			err, rc,
			"the kernel does not permit loading BPF: run as root, or with CAP_BPF, "
			"CAP_NET_ADMIN and CAP_PERFMON");
	if (rc)
		return load_fail(err, rc,
				 "the kernel refused the BPF object: %s (the debug log has the "
				 "verifier's words)",
				 strerror(-rc));
	return 0;
}

int object_make_maps(struct bpf_object *obj, bool with_instance, const struct capacity *capacity,
		     struct load_error *err)
{
	struct bpf_map *map;
	int rc = object_size_routes(obj, capacity);

	bpf_object__for_each_map(map, obj) {
		enum xfib_map i = object_map(map);

		if (rc)
			break;
		if (i == XFIB_MAP_COUNT || (!with_instance && !map_of_generation(i)))
			rc = bpf_map__set_autocreate(map, false);
	}
	if (!rc)
		rc = bpf_program__set_autoload(object_program(obj), false);
	if (rc)
		return load_fail(err, rc, "cannot prepare the BPF maps: %s", strerror(-rc));
	return object_load(obj, err);
}

static void component_tx_path(char path[static PATH_SIZE], const char *name)
{
	path_instance(path, name, "tx-component");
}

int component_tx_make(const char *name)
{
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_DEVMAP, "tx", 4, 4, XFIB_PORTS, NULL);
	char path[PATH_SIZE];

	component_tx_path(path, name);
	return fd < 0 || bpf_obj_pin(fd, path) ? -errno : 0;
}

int component_tx_open(const struct instance *instance, int *fd)
{
	char path[PATH_SIZE];

	component_tx_path(path, instance->name);
	return pin_open(path, true, fd);
}

static int reuse_map(struct bpf_map *map, const struct instance *instance,
		     const struct generation *gen, enum role role)
{
	enum xfib_map i = object_map(map);
	_cleanup_close_ int tx = -1;
	int rc;

	if (i == XFIB_MAP_COUNT)
		return 0;
	/* The twin counts for itself and leaves no marks of use: it runs beside the traffic. */
	if (role == ROLE_TWIN && (i == XFIB_MAP_counters || i == XFIB_MAP_hits))
		return 0;
	if (role == ROLE_COMPONENT && i == XFIB_MAP_tx) {
		rc = component_tx_open(instance, &tx);
		return rc ?: bpf_map__reuse_fd(map, tx);
	}
	return bpf_map__reuse_fd(map, map_of_generation(i) ? gen->fd[i] : instance->fd[i]);
}

static __u64 trie_mask(__u32 bytes)
{
	return bytes ? bytes - 1 : 0;
}

int object_for_port(const struct instance *instance, const struct generation *gen,
		    unsigned int slot, enum role role, struct bpf_object **obj,
		    struct load_error *err)
{
	const struct xfib_config cfg = {
		.slot = slot,
		.twin = role == ROLE_TWIN,
		.hash_seed = instance->meta.hash_seed,
		.trie_mask = { trie_mask(gen->capacity.trie4), trie_mask(gen->capacity.trie6) },
	};
	_cleanup_object_ struct bpf_object *opened = NULL;
	struct bpf_map *map;
	int rc = object_open(&opened, err);

	if (rc)
		return rc;
	rc = object_configure(opened, &cfg);
	bpf_object__for_each_map(map, opened)
		rc = rc ?: reuse_map(map, instance, gen, role);
	if (rc)
		return load_fail(err, rc, "cannot fit the BPF object to the pinned maps: %s",
				 strerror(-rc));
	*obj = TAKE_PTR(opened);
	return 0;
}

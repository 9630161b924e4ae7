/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internal to loader/: copies of the embedded BPF object, opened, fitted to an instance, loaded. */
#pragma once

#include <bpf/libbpf.h>

#include "load.h"

static inline void cleanup_object(struct bpf_object **obj)
{
	bpf_object__close(*obj);
}
#define _cleanup_object_ __attribute__((cleanup(cleanup_object)))

/* Opens the object; nothing is in the kernel yet. */
int object_open(struct bpf_object **obj, struct load_error *err);

struct bpf_program *object_program(const struct bpf_object *obj);

/* XFIB_MAP_COUNT for the map of cfg, which is none of XFIB_MAPS. */
enum xfib_map object_map(const struct bpf_map *map);
struct bpf_map *object_find_map(const struct bpf_object *obj, enum xfib_map map);

/* Sets rodata; before loading. */
int object_configure(struct bpf_object *obj, const struct xfib_config *cfg);

/* Sizes the tables of routes; before loading. */
int object_size_routes(struct bpf_object *obj, const struct capacity *capacity);

/* Makes the maps of the instance (those of a generation otherwise too) and loads no program. */
int object_make_maps(struct bpf_object *obj, bool with_instance, const struct capacity *capacity,
		     struct load_error *err);

/* Loads the program; -errno with the reason in err. */
int object_load(struct bpf_object *obj, struct load_error *err);

/* What a copy is for: to be attached, directly or as a component of a dispatcher, or only to be run. */
enum role { ROLE_DIRECT, ROLE_COMPONENT, ROLE_TWIN };

/* The program of a port on the tables of a generation: opened and fitted, not loaded. */
int object_for_port(const struct instance *instance, const struct generation *gen, unsigned int slot,
		    enum role role, struct bpf_object **obj, struct load_error *err);

/*
 * The devmap for components. The kernel lets only programs share a devmap that agree in whether they
 * take frames of several buffers, and a component carries no such mark: the dispatcher does.
 */
int component_tx_make(const char *name);
int component_tx_open(const struct instance *instance, int *fd);

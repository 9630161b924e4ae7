/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internal to loader/: the pins of a generation, and maps in memory. */
#pragma once

#include <bpf/libbpf.h>

#include "load.h"

/* Makes directory gen-N and pins the maps of a generation there, from an object that has made them. */
int generation_pin(const char *name, unsigned int number, struct bpf_object *obj, struct load_error *err);

/* Removes all generations but one. */
int generation_sweep(const struct instance *instance, unsigned int keep, struct load_error *err);

/* The value of a map of one element, shared; NULL and -1 are fine to unmap. */
int map_mmap(int fd, bool writable, void **memory);
void map_unmap(void *memory, int fd);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From one table generation to the next. Until meta names the new one the old one is whole and every
 * step can be taken back; killed in between, the next ports_reconcile() takes it back.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "attach.h"
#include "common/cleanup.h"
#include "generation.h"
#include "pin.h"
#include "port.h"

static bool attached(const struct instance *instance, const struct xfib_intent *intent)
{
	struct link link = link_of(intent);

	return *intent->ifname && intent->ifindex && link_alive(instance, &link);
}

/* Moves the ports [0, end) that are not there yet. *moved: all below it are. */
static int move_ports(const struct instance *instance, const struct generation *gen,
		      struct xfib_intent *intents, unsigned int end, unsigned int *moved,
		      struct load_error *err)
{
	for (*moved = 0; *moved < end; ++*moved) {
		struct xfib_intent *intent = &intents[*moved];
		int rc;

		if (intent->generation == gen->number || !attached(instance, intent))
			continue;
		rc = port_move(instance, gen, *moved, intent, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int move_back(const struct instance *instance, struct xfib_intent *intents, unsigned int end,
		     const struct generation *gen)
{
	struct generation *old;
	struct load_error err;
	unsigned int moved;
	int rc = generation_open(instance, instance->meta.generation, true, &old, &err);

	if (rc)
		return rc;
	rc = move_ports(instance, old, intents, end, &moved, &err);
	if (!rc)
		rc = generation_sweep(instance, old->number, &err);
	generation_free(old);
	return rc;
}

int generation_switch(struct instance *instance, const struct generation *gen,
		      struct load_error *err)
{
	_cleanup_lock_ int lock = lock_acquire(instance->name, err);
	struct xfib_intent intents[XFIB_PORTS];
	struct xfib_meta meta;
	unsigned int moved;
	__u32 key = 0;
	int rc = lock ?: program_test(err);

	if (rc)
		return rc;
	rc = ports_read(instance, intents) ?: instance_refresh(instance);
	if (rc)
		return load_fail(err, rc, "cannot read instance '%s': %s", instance->name,
				 strerror(-rc));
	rc = move_ports(instance, gen, intents, XFIB_PORTS, &moved, err);
	if (!rc) {
		meta = instance->meta;
		meta.generation = gen->number;
		if (bpf_map_update_elem(instance->fd[XFIB_MAP_meta], &key, &meta, BPF_ANY))
			rc = load_fail(err, -errno, "cannot switch tables: %s", strerror(errno));
	}
	if (rc) {
		move_back(instance, intents, XFIB_PORTS, gen);
		return rc;
	}
	instance->meta = meta;
	/* It is done. What is left of the old one goes now, or with the next generation. */
	(void)generation_grace(gen);
	(void)generation_sweep(instance, gen->number, err);
	return 0;
}

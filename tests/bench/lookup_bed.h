/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the lookup benchmark runs on: the three namespaces, the programs of each path, loaded on the maps
 * of an instance, the lists of destinations, and the far end that counts. Functions return 0 or -errno
 * and say in error what it was about.
 */
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "loader/load.h"
#include "lookup.h"

#define BED_CPUS  2
#define BED_PATHS 32

enum bed_namespace { BED_ROUTER, BED_GENERATOR, BED_SINK, BED_NAMESPACES };

struct path {
	char name[16];
	struct bpf_object *objects[BED_CPUS];
	int live[BED_CPUS]; /* programs that restore their frames */
	int own;	    /* the program as it is; -1: none */
};

struct bed {
	int namespaces[BED_NAMESPACES];
	int r0, r1, g0, s0;
	__u8 macs[12]; /* of a frame that comes in */
	char directory[256];
	struct bpf_object *around[BED_CPUS]; /* generators and the far end */
	int generate[BED_CPUS];
	int lists[BED_CPUS]; /* maps */
	struct lookup_list *list[BED_CPUS];
	struct lookup_seen *seen;
	int arrived, sink, ingress; /* map; links */
	bool ip6;
	__u32 destinations;
	struct path paths[BED_PATHS];
	struct load_error error;
};

int bed_init(struct bed *bed, const char *argv0, char **namespaces);
void bed_done(struct bed *bed);

/* Moves the calling thread. */
int bed_enter(const struct bed *bed, enum bed_namespace where);

/*
 * kind: product, floor or a part (parts.bpf.c), with an instance; fib or pass. A name that is open
 * already is replaced.
 */
int bed_open(struct bed *bed, const char *name, const char *kind, const char *instance);
struct path *bed_find(struct bed *bed, const char *name);

/* Puts the path's own program on r0; takes it away. */
int bed_attach(struct bed *bed, const struct path *path);
void bed_detach(struct bed *bed);

int bed_list(struct bed *bed, bool ip6, const char *file);

/* The first frame; programs write the rest. */
void bed_frame(const struct bed *bed, __u8 *frame);

/* Packets that have reached the far end so far. */
__u64 bed_arrived(const struct bed *bed);

/* Packets of the family that the router's kernel has forwarded so far; in the router's namespace. */
__u64 bed_forwarded(const struct bed *bed);

/* Between the two the far end notes where each destination was sent to, and lists start at their start. */
int bed_check_begin(struct bed *bed);
int bed_check_end(struct bed *bed, const char *file);

__u64 now_ns(void);
__u64 thread_ns(void);	    /* CPU time of this thread */
__u64 softirqd_ns(int cpu); /* ... of the one that softirqs may be handed over to */

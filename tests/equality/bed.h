/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One family of prefixes, in everything that answers for them: the RIB that is the source, the compiled trie in the
 * memory of the program's map, the kernel's LPM trie map, the XDP program.
 */
#pragma once

#include "fib/trie.h"
#include "fib/trie_read.h"
#include "model.h"

struct bpf_object;

struct bed {
	enum family family;
	struct rib rib;
	struct trie_pool pool;
	struct trie trie;
	struct trie_view view;
	struct bpf_object *object;
	struct bpf_object *lpm_object; /* the same program on the same maps with the other engine */
	int prog, lpm_prog, lpm, grace;
};

/* path: of bpf/xfib.bpf.o; bytes: of the trie, a power of two. Exits with a line on stderr. */
void bed_open(struct bed *bed, const char *path, enum family family, __u32 bytes, __u32 prefixes);
void bed_close(struct bed *bed);

/* In the RIB; the trie is told by trie_update(). */
void bed_put(struct bed *bed, const struct prefix *p);
/* Takes what is not needed any more out of the RIB: after trie_update(). */
void bed_forget(struct bed *bed, const struct prefix *p);
/* In the LPM trie map, or out of it. */
void bed_put_lpm(struct bed *bed, const struct prefix *p);

/* Answers: leaf ids. */
__u32 bed_find_trie(const struct bed *bed, struct addr addr);
__u32 bed_find_lpm(const struct bed *bed, struct addr addr);
/* ~0: the program did not get as far as the routes (an address that cannot be forwarded to). */
__u32 bed_find_xdp(const struct bed *bed, struct addr addr);
__u32 bed_find_xdp_lpm(const struct bed *bed, struct addr addr);

/* Blocks that were given back are free again, after a grace period of the kernel. */
void bed_grace(struct bed *bed);
/* Bytes up to the end of the last block that is in use. */
__u64 bed_extent(const struct bed *bed);

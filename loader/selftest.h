/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Golden packets that a freshly loaded program must answer to the byte before it may be attached.
 * They run on a private copy of the tables, so nothing of an instance is read or written.
 */
#pragma once

#include <bpf/libbpf.h>

#include "load.h"

/* Loads the program with private tables of its own, fills in a small router and compares. -EILSEQ with
 * the packet's name and the first wrong byte in err. */
int selftest_run(struct load_error *err);

/* The tag (a digest of its instructions) of the program that passed in this process, NULL before. */
const __u8 *selftest_tag(void);

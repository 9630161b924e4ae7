/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How things look to people: aligned tables, units, names of interfaces and verdicts; and JSON on
 * stdout for programs.
 */
#pragma once

#include <jansson.h>
#include <linux/types.h>

#include "abi.h"
#include "common/addr.h"

struct table;

/*
 * Columns: "HEAD" aligns left, ">HEAD" right. Cells are added one after the other, row by row; what
 * is too long for the last column of a terminal is wrapped within it.
 */
struct table *table_new(unsigned int columns, const char *const *heads);
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_print(struct table *t); /* and frees it */

#define TABLE(...) \
	table_new(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), \
		  (const char *[]){ __VA_ARGS__ })

/* "12345", "1.23M", "45.6G": exact below 100,000, then three digits. */
#define HUMAN_STRLEN 24
const char *human(__u64 n, char buf[static HUMAN_STRLEN]);

/* "512 B", "64.0 KiB", "16.0 MiB". */
const char *human_bytes(__u64 n, char buf[static HUMAN_STRLEN]);

/* The name now; "ifN" if there is none. Cached: good until some other 1,024 were asked for. */
const char *ifname_of(int ifindex);

/* "punt_no_route"; and "forward", "punt" or "drop". */
const char *verdict_name(enum xfib_verdict verdict);
const char *verdict_class(enum xfib_verdict verdict);
const char *verdict_meaning(enum xfib_verdict verdict);

/* "unicast", "blackhole", ... as ip(8) says. */
const char *route_type_name(__u8 type);

/* Prints one document and frees it. */
void json_print(json_t *doc);

/* An array too long to be held: begin, each element (freed), end. */
void json_stream_begin(void);
void json_stream(json_t *element);
void json_stream_end(void);

json_t *json_addr(enum family f, struct addr a);
json_t *json_mac(const __u8 mac[static 6]);

/* "" and NULL are null. */
json_t *json_text(const char *text);

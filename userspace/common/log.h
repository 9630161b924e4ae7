/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages for people, one line each on stderr: what failed, on what, why, what to do. Under systemd
 * (JOURNAL_STREAM set) a line starts with its syslog priority, which journald understands. Pure rooms
 * (parse, model, fib) never log; their callers do.
 */
#pragma once

#include <stdbool.h>

enum log_level { LOG_ERROR = 3, LOG_WARNING = 4, LOG_INFO = 6, LOG_DEBUG = 7 };

/* name: printed before each message ("xfibd: ..."). Messages above `max` are left out. */
void log_init(const char *name, enum log_level max);

void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Logs "MESSAGE: strerror(-err)" as an error and returns err, which is -errno. */
int log_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * For what a peer or the kernel can trigger without end: true at most once a second for each
 * `state`, which the caller keeps (zeroed at first). *suppressed: how many were held back before.
 */
struct log_limit {
	long long last_s;
	unsigned int suppressed;
};
bool log_allowed(struct log_limit *state, unsigned int *suppressed);

#define log_error(...)	 log_at(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_WARNING, __VA_ARGS__)
#define log_info(...)	 log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	 log_at(LOG_DEBUG, __VA_ARGS__)

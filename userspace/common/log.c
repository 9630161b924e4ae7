/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lines on stderr. One message is one line and one write(), so that lines of several threads or
 * processes do not mix; a line break inside a message becomes a space. errno survives.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

enum { LINE_LEN = 1024 };

static const char *log_name = "xfib";
static enum log_level log_max = LOG_INFO;
static bool log_journal;

void log_init(const char *name, enum log_level max)
{
	log_name = name;
	log_max = max;
	log_journal = getenv("JOURNAL_STREAM") != NULL;
}

static void log_write(enum log_level level, const char *tail, const char *fmt, va_list args)
{
	char text[LINE_LEN - 128], line[LINE_LEN], priority[4] = "";
	int saved = errno, n;

	vsnprintf(text, sizeof(text), fmt, args);
	for (char *c = text; (c = strchr(c, '\n'));)
		*c = ' ';

	if (log_journal)
		snprintf(priority, sizeof(priority), "<%d>", level % 10);
	n = snprintf(line, sizeof(line), "%s%.32s: %s%s%.60s\n", priority, log_name, text,
		     *tail ? ": " : "", tail);
	(void)!write(STDERR_FILENO, line, n); /* if stderr fails there is nobody to tell */
	errno = saved;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	va_list args;

	if (level > log_max)
		return;
	va_start(args, fmt);
	log_write(level, "", fmt, args);
	va_end(args);
}

int log_errno(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_write(LOG_ERROR, strerror(-err), fmt, args);
	va_end(args);
	return err;
}

bool log_allowed(struct log_limit *state, unsigned int *suppressed)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	/* Counted from 1: a zeroed state has never logged, also in the first second after boot. */
	if (state->last_s == now.tv_sec + 1) {
		state->suppressed++;
		return false;
	}

	*suppressed = state->suppressed;
	*state = (struct log_limit){ .last_s = now.tv_sec + 1 };
	return true;
}

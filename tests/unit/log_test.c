/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines on stderr, caught in a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "common/log.h"

static char caught[4096];

/* What `statement` writes to stderr, in `caught`. */
#define CATCH(statement)                                         \
	do {                                                     \
		int pipe_[2], saved_ = dup(STDERR_FILENO);       \
		ssize_t n_;                                      \
		assert_int_equal(pipe2(pipe_, O_NONBLOCK), 0);   \
		dup2(pipe_[1], STDERR_FILENO);                   \
		statement;                                       \
		dup2(saved_, STDERR_FILENO);                     \
		n_ = read(pipe_[0], caught, sizeof(caught) - 1); \
		caught[n_ > 0 ? n_ : 0] = '\0';                  \
		close(pipe_[0]), close(pipe_[1]), close(saved_); \
	} while (0)

static void a_message_is_one_line_with_the_name(void **state)
{
	unsetenv("JOURNAL_STREAM");
	log_init("xfibd", LOG_INFO);
	CATCH(log_info("%d routes", 3));
	assert_string_equal(caught, "xfibd: 3 routes\n");
	CATCH(log_warning("two\nlines\n"));
	assert_string_equal(caught, "xfibd: two lines \n");
}

static void what_is_too_fine_is_left_out(void **state)
{
	log_init("xfibd", LOG_WARNING);
	CATCH(log_info("detail"));
	assert_string_equal(caught, "");
	CATCH(log_error("trouble"));
	assert_string_equal(caught, "xfibd: trouble\n");
}

static void the_journal_gets_priorities(void **state)
{
	setenv("JOURNAL_STREAM", "8:1", 1);
	log_init("xfibd", LOG_DEBUG);
	CATCH(log_error("a"));
	assert_string_equal(caught, "<3>xfibd: a\n");
	CATCH(log_debug("b"));
	assert_string_equal(caught, "<7>xfibd: b\n");
	unsetenv("JOURNAL_STREAM");
	log_init("xfibd", LOG_INFO);
}

static void an_error_has_its_reason_and_is_passed_on(void **state)
{
	int ret = 0;

	errno = EPERM;
	CATCH(ret = log_errno(-ENOENT, "cannot open %s", "/nowhere"));
	assert_string_equal(caught, "xfibd: cannot open /nowhere: No such file or directory\n");
	assert_int_equal(ret, -ENOENT);
	assert_int_equal(errno, EPERM);
}

static void a_long_message_is_cut_but_stays_a_line(void **state)
{
	char *text = calloc(1, 5001);

	assert_non_null(text);
	memset(text, 'x', 5000);
	CATCH(log_errno(-ENOENT, "%s", text));
	assert_true(strlen(caught) < 1024);
	assert_non_null(strstr(caught, "xxx: No such file or directory\n"));
	assert_ptr_equal(strchr(caught, '\n'), caught + strlen(caught) - 1);
	free(text);
}

/* Of 1,000 tries at once, one or, when the second just turned, two. */
static void a_flood_is_held_back_and_counted(void **state)
{
	struct log_limit limit = {};
	unsigned int held = 77, allowed = 0, counted = 0;

	for (int i = 0; i < 1000; i++) {
		if (log_allowed(&limit, &held)) {
			allowed++;
			counted += held;
		}
	}
	assert_true(allowed == 1 || allowed == 2);
	assert_int_equal(counted + limit.suppressed + allowed, 1000);
	limit.last_s = 0;
	assert_true(log_allowed(&limit, &held));
	assert_int_equal(limit.suppressed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_one_line_with_the_name),
		cmocka_unit_test(what_is_too_fine_is_left_out),
		cmocka_unit_test(the_journal_gets_priorities),
		cmocka_unit_test(an_error_has_its_reason_and_is_passed_on),
		cmocka_unit_test(a_long_message_is_cut_but_stays_a_line),
		cmocka_unit_test(a_flood_is_held_back_and_counted),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}

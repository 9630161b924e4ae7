// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The command line: options, then a word from the table below; no word means status. Words are
 * whole words only; a mistyped one is answered with those that may have been meant.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "common/log.h"
#include "loader/load.h"

const char *argp_program_version = "xfib " XFIB_VERSION;

static const struct word {
	const char *name;
	word_fn run;
	const char *help;
} words[] = {
	{ "attach", word_attach, "forward what comes in on interfaces in XDP" },
	{ "detach", word_detach, "put interfaces back as they were" },
	{ "status", word_status, "is it forwarding, and if not, why" },
	{ "stats", word_stats, "packets by verdict and by port" },
	{ "route", word_route, "the routes that XDP uses" },
	{ "neigh", word_neigh, "the neighbours that XDP uses" },
	{ "lookup", word_lookup, "what happens to a packet, in XDP and in the kernel" },
	{ "verify", word_verify, "compare many routes with the kernel's" },
};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct cli *cli = state->input;

	switch (key) {
	case 'n':
		if (!instance_name_ok(arg))
			argp_error(state,
				   "'%s' is no name for an instance: up to 63 letters, digits, '-' "
				   "and '_'",
				   arg);
		cli->instance = arg;
		return 0;
	case 'j':
		cli->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option common_options[] = {
	{ "instance", 'n', "NAME", 0, "the instance (default: \"default\")", 1 },
	{ "json", 'j', NULL, 0, "print JSON", 1 },
	{ 0 },
};

static const struct argp common = { .options = common_options, .parser = parse_common };

struct parse_input {
	struct cli *cli;
	void *word;
};

static error_t parse_children(int key, char *arg, struct argp_state *state)
{
	struct parse_input *in = state->input;

	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = in->word;
	state->child_inputs[1] = in->cli;
	return 0;
}

void cli_parse(struct cli *cli, const struct argp *word, int argc, char **argv, void *input)
{
	const struct argp_child children[] = { { .argp = word }, { .argp = &common }, { 0 } };
	const struct argp argp = { .parser = parse_children, .children = children };
	struct parse_input in = { cli, input };

	argp_parse(&argp, argc, argv, 0, NULL, &in);
}

static error_t parse_nothing(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	argp_error(state, "'%s' is one argument too many", arg);
	return 0;
}

void cli_parse_nothing(struct cli *cli, const char *doc, int argc, char **argv)
{
	const struct argp argp = { .parser = parse_nothing, .doc = doc };

	cli_parse(cli, &argp, argc, argv, NULL);
}

static const struct word *find_word(const char *name)
{
	for (int i = 0; i < WORDS; i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein distance; a longer word than any of ours is far from all of them. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[32], diagonal, above;
	size_t len = strlen(b);

	if (len >= 32)
		return len;
	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 1; *a; a++, i++) {
		diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			above = row[j];
			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (*a != b[j - 1]));
			diagonal = above;
		}
	}
	return row[len];
}

static bool begins_with(const char *text, const char *prefix)
{
	return *prefix && !strncmp(text, prefix, strlen(prefix));
}

/* Whether a word may have been meant: at most two slips, or one is the beginning of the other. */
static bool is_near(const char *word, const char *name)
{
	return distance(word, name) <= 2 || begins_with(word, name) || begins_with(name, word);
}

static const char *near_words(const char *name, char *list, size_t size)
{
	size_t len = 0;

	*list = '\0';
	for (int i = 0; i < WORDS; i++)
		if (is_near(words[i].name, name) && len < size)
			len += snprintf(list + len, size - len, "%s'%s'",
					len ? " or " : ", did you mean ", words[i].name);
	return list;
}

struct top {
	struct cli *cli;
	const struct word *word;
	char **args; /* what follows the word */
	int count;
};

static void take_word(struct argp_state *state, struct top *top, const char *name)
{
	char list[128];

	top->word = find_word(name);
	if (!top->word && *near_words(name, list, sizeof(list)))
		argp_error(state, "unknown word '%s'%s?", name, list);
	else if (!top->word)
		argp_error(state, "unknown word '%s'", name);
	top->args = state->argv + state->next;
	top->count = state->argc - state->next;
	state->next = state->argc;
}

/* help [WORD] is WORD --help. */
static void take_help(struct argp_state *state, struct top *top)
{
	static char *help[] = { "--help" };

	if (state->next == state->argc)
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	take_word(state, top, state->argv[state->next++]);
	top->args = help;
	top->count = 1;
}

static error_t parse_top(int key, char *arg, struct argp_state *state)
{
	struct top *top = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = top->cli;
		return 0;
	case ARGP_KEY_ARG:
		if (!strcmp(arg, "help"))
			take_help(state, top);
		else
			take_word(state, top, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The list of words is made from the table. */
static char *filter_help(int key, const char *text, void *input)
{
	char *list = NULL;
	size_t size;
	FILE *f;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	f = open_memstream(&list, &size);
	if (!f)
		return (char *)text;
	fputs("Words (each has --help):\n", f);
	for (int i = 0; i < WORDS; i++)
		fprintf(f, "  %-8s %s\n", words[i].name, words[i].help);
	fputs("\nExit status: 0 ok, 1 failed, 2 usage.\n"
	      "To start: xfib attach IF..., run xfibd, xfib status\n"
	      "Network namespace: nsenter --net=/run/netns/NAME xfib ... (not ip netns exec)",
	      f);
	fclose(f);
	return list;
}

static int run(const struct top *top)
{
	char *argv[top->count + 2], name[32];

	snprintf(name, sizeof(name), "xfib %s", top->word->name);
	argv[0] = name;
	memcpy(argv + 1, top->args, top->count * sizeof(*argv));
	argv[top->count + 1] = NULL;
	return top->word->run(top->cli, top->count + 1, argv);
}

int main(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &common }, { 0 } };
	static const struct argp argp = {
		.parser = parse_top,
		.children = children,
		.args_doc = "[WORD [ARG...]]",
		.doc = "xfib: forwards IP packets in XDP with the kernel's own routing table.\v ",
		.help_filter = filter_help,
	};
	struct cli cli = { .instance = "default" };
	struct top top = { .cli = &cli, .word = find_word("status"), .args = argv + argc };
	int code;

	argp_err_exit_status = CLI_USAGE;
	log_init("xfib", LOG_INFO);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &top);
	code = run(&top);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write the output: %s", strerror(errno));
		return CLI_FAILED;
	}
	return code;
}

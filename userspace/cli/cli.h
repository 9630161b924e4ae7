/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the words of xfib share: the options that every word takes, and the table that finds them. A
 * word is one file with one function; it reads the pinned maps and the kernel, never writes a map
 * (attach and detach ask loader/ to), prints to stdout and says what went wrong on stderr.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>

struct cli {
	const char *instance;
	bool json;
};

/* Exit codes; a usage error leaves through argp with 2. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* argv[0] is "xfib WORD". Returns an exit code. */
typedef int (*word_fn)(struct cli *cli, int argc, char **argv);

int word_attach(struct cli *cli, int argc, char **argv);
int word_detach(struct cli *cli, int argc, char **argv);
int word_status(struct cli *cli, int argc, char **argv);
int word_stats(struct cli *cli, int argc, char **argv);
int word_route(struct cli *cli, int argc, char **argv);
int word_neigh(struct cli *cli, int argc, char **argv);
int word_lookup(struct cli *cli, int argc, char **argv);
int word_verify(struct cli *cli, int argc, char **argv);

/* Parses a word's arguments, -n and -j too. Ends the program on --help and on a usage error. */
void cli_parse(struct cli *cli, const struct argp *word, int argc, char **argv, void *input);

/* For words without arguments of their own. */
void cli_parse_nothing(struct cli *cli, const char *doc, int argc, char **argv);

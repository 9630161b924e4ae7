// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See text.h. Running out of memory while printing ends the program: there is nothing to save. */
#include <err.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/rtnetlink.h>

#include "text.h"

/* --- tables --------------------------------------------------------------------------------- */

enum { COLUMNS_MAX = 16 };

struct table {
	unsigned int columns;
	size_t cells, room;
	char **cell;
	bool right[COLUMNS_MAX];
};

static void add_cell(struct table *t, char *text)
{
	if (!text)
		err(1, "cannot print a table");
	if (t->cells == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->cell = realloc(t->cell, t->room * sizeof(*t->cell));
		if (!t->cell)
			err(1, "cannot print a table");
	}
	t->cell[t->cells++] = text;
}

struct table *table_new(unsigned int columns, const char *const *heads)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		err(1, "cannot print a table");
	t->columns = columns;
	for (unsigned int i = 0; i < columns; i++) {
		t->right[i] = heads[i][0] == '>';
		add_cell(t, strdup(heads[i] + t->right[i]));
	}
	return t;
}

void table_cell(struct table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	add_cell(t, text);
}

/* Columns of the terminal; no limit where there is none. */
static unsigned int screen_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 40)
		return 0;
	return size.ws_col;
}

/* Prints the last cell of a line, in lines of at most `width`, each after the first one indented. */
static void print_wrapped(const char *text, unsigned int indent, unsigned int width)
{
	size_t len = strlen(text), cut;

	while (width && len > width) {
		for (cut = width; cut && text[cut] != ' '; cut--)
			;
		if (!cut)
			break;
		printf("%.*s\n%*s", (int)cut, text, indent, "");
		text += cut + 1;
		len -= cut + 1;
	}
	fputs(text, stdout);
}

/* Blanks are printed only before something, so that no line ends in them. */
static void print_row(const struct table *t, char *const *cell, const unsigned int *width,
		      unsigned int indent, unsigned int wrap)
{
	unsigned int last = t->columns - 1, blanks = 0, pad;

	for (unsigned int c = 0; c < t->columns; c++) {
		pad = width[c] - strlen(cell[c]);
		if (t->right[c])
			blanks += pad;
		if (*cell[c]) {
			printf("%*s", blanks, "");
			blanks = 0;
			print_wrapped(cell[c], indent, c == last && !t->right[c] ? wrap : 0);
		}
		blanks += t->right[c] ? 2 : pad + 2;
	}
	putchar('\n');
}

void table_print(struct table *t)
{
	unsigned int width[COLUMNS_MAX] = { 0 }, screen = screen_width(), indent = 0;

	for (size_t i = 0; i < t->cells; i++)
		if (strlen(t->cell[i]) > width[i % t->columns])
			width[i % t->columns] = strlen(t->cell[i]);
	for (unsigned int c = 0; c + 1 < t->columns; c++)
		indent += width[c] + 2;
	for (size_t i = 0; i + t->columns <= t->cells; i += t->columns)
		print_row(t, t->cell + i, width, indent,
			  screen > indent + 20 ? screen - indent : 0);
	for (size_t i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
	free(t);
}

const char *human(__u64 n, char buf[static HUMAN_STRLEN])
{
	static const char units[] = " kMGTPE";
	double d = n;
	int u = 0;

	if (n < 100000) {
		snprintf(buf, HUMAN_STRLEN, "%llu", n);
		return buf;
	}
	for (; d >= 999.5; d /= 1000)
		u++;
	snprintf(buf, HUMAN_STRLEN, "%.*f%c", d < 9.995 ? 2 : d < 99.95 ? 1 : 0, d, units[u]);
	return buf;
}

const char *human_bytes(__u64 n, char buf[static HUMAN_STRLEN])
{
	static const char units[] = " KMGTPE";
	double d = n;
	int u = 0;

	for (; d >= 1023.95; d /= 1024)
		u++;
	if (u)
		snprintf(buf, HUMAN_STRLEN, "%.1f %ciB", d, units[u]);
	else
		snprintf(buf, HUMAN_STRLEN, "%llu B", n);
	return buf;
}

/* --- names ---------------------------------------------------------------------------------- */

const char *ifname_of(int ifindex)
{
	static struct {
		int ifindex;
		char name[IF_NAMESIZE];
	} cache[1024], *c;

	c = &cache[(unsigned int)ifindex % 1024];
	if (ifindex <= 0)
		return "";
	if (c->ifindex != ifindex) {
		c->ifindex = ifindex;
		if (!if_indextoname(ifindex, c->name))
			snprintf(c->name, sizeof(c->name), "if%d", ifindex);
	}
	return c->name;
}

enum class { CLASS_FORWARD, CLASS_PUNT, CLASS_DROP };

static const struct {
	const char *name, *meaning;
	enum class class;
} verdicts[] = {
#define VERDICT_TEXT(name_, class_, meaning_) { #name_, meaning_, CLASS_##class_ },
	XFIB_VERDICTS(VERDICT_TEXT)
#undef VERDICT_TEXT
};

const char *verdict_name(enum xfib_verdict verdict)
{
	static char lower[XFIB_VERDICT_MAX][40];
	const char *name;
	char *to;

	if (verdict >= XFIB_VERDICT_MAX)
		return "unknown";
	to = lower[verdict];
	if (!*to)
		for (name = verdicts[verdict].name; *name; name++)
			*to++ = *name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name;
	return lower[verdict];
}

const char *verdict_class(enum xfib_verdict verdict)
{
	static const char *const names[] = { "forward", "punt", "drop" };

	return verdict < XFIB_VERDICT_MAX ? names[verdicts[verdict].class] : "punt";
}

const char *verdict_meaning(enum xfib_verdict verdict)
{
	return verdict < XFIB_VERDICT_MAX ? verdicts[verdict].meaning : "unknown to this xfib";
}

const char *route_type_name(__u8 type)
{
	static const char *const names[] = {
		[RTN_UNSPEC] = "none",
		[RTN_UNICAST] = "unicast",
		[RTN_LOCAL] = "local",
		[RTN_BROADCAST] = "broadcast",
		[RTN_ANYCAST] = "anycast",
		[RTN_MULTICAST] = "multicast",
		[RTN_BLACKHOLE] = "blackhole",
		[RTN_UNREACHABLE] = "unreachable",
		[RTN_PROHIBIT] = "prohibit",
		[RTN_THROW] = "throw",
		[RTN_NAT] = "nat",
		[RTN_XRESOLVE] = "xresolve",
	};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void json_write(json_t *doc, size_t flags)
{
	if (!doc)
		errx(1, "cannot make the JSON output: out of memory");
	json_dumpf(doc, stdout, flags);
	json_decref(doc);
}

void json_print(json_t *doc)
{
	json_write(doc, isatty(STDOUT_FILENO) ? JSON_INDENT(2) : JSON_COMPACT);
	putchar('\n');
}

static bool stream_started;

void json_stream_begin(void)
{
	putchar('[');
	stream_started = false;
}

void json_stream(json_t *element)
{
	fputs(stream_started ? ",\n" : "\n", stdout);
	json_write(element, JSON_COMPACT);
	stream_started = true;
}

void json_stream_end(void)
{
	puts(stream_started ? "\n]" : "]");
}

json_t *json_addr(enum family f, struct addr a)
{
	char buf[ADDR_STRLEN];

	return json_string(addr_format(f, a, buf));
}

json_t *json_mac(const __u8 mac[static 6])
{
	char buf[MAC_STRLEN];

	return json_string(mac_format(mac, buf));
}

json_t *json_text(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xfib stats: packets by verdict and by port, once or with rates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "counters.h"
#include "text.h"

struct stats_args {
	bool per_cpu, all;
	double interval; /* seconds, 0: once */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stats_args *args = state->input;
	char *end;

	switch (key) {
	case 'c':
		args->per_cpu = true;
		return 0;
	case 'a':
		args->all = true;
		return 0;
	case 'i':
		args->interval = strtod(arg, &end);
		if (end == arg || *end || !(args->interval >= 0.1 && args->interval <= 86400))
			argp_error(state, "'%s' is no interval: 0.1 to 86400 seconds", arg);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one argument too many", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "per-cpu", 'c', NULL, 0, "break the verdicts down by CPU", 0 },
	{ "all", 'a', NULL, 0, "also verdicts that no packet had", 0 },
	{ "interval", 'i', "SEC", 0, "repeat, with rates, until interrupted", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Packets by verdict and by port. TX is what was handed to the egress device; "
	       "TX-DROPS what it did not take, where its driver tells.\v"
	       "Example: xfib stats -i 1",
};

/* What is printed: a sample, and the one before it if there are rates. */
struct report {
	const struct stats_args *args;
	const struct xfib_intent *intents;
	const struct sample *now, *before; /* before: NULL without rates */
	double seconds;
};

/* A counter that went back was zeroed with its slot: it began anew. */
static __u64 rate(const struct report *r, __u64 now, __u64 before)
{
	return (now >= before ? now - before : now) / r->seconds;
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void json_rates(const struct report *r, json_t *to, const char *prefix,
		       struct xfib_count now, struct xfib_count before)
{
	char key[32];

	snprintf(key, sizeof(key), "%spackets_per_s", prefix);
	json_object_set_new(to, key, json_integer(rate(r, now.packets, before.packets)));
	snprintf(key, sizeof(key), "%sbytes_per_s", prefix);
	json_object_set_new(to, key, json_integer(rate(r, now.bytes, before.bytes)));
}

static json_t *json_per_cpu(const struct sample *s, int verdict)
{
	json_t *cpus = json_array();

	for (int cpu = 0; cpu < s->cpus; cpu++) {
		const struct xfib_count *c = &s->cpu[cpu * XFIB_VERDICTS_MAX + verdict];

		if (c->packets)
			json_array_append_new(cpus, json_pack("{s:i, s:I, s:I}", "cpu", cpu,
							      "packets", (json_int_t)c->packets,
							      "bytes", (json_int_t)c->bytes));
	}
	return cpus;
}

static json_t *json_verdict(const struct report *r, int v)
{
	const struct xfib_count *c = &r->now->verdict[v];
	json_t *verdict = json_pack("{s:s, s:s, s:I, s:I, s:o}", "name", verdict_name(v), "class",
				    verdict_class(v), "packets", (json_int_t)c->packets, "bytes",
				    (json_int_t)c->bytes, "per_cpu", json_per_cpu(r->now, v));

	if (r->before)
		json_rates(r, verdict, "", *c, r->before->verdict[v]);
	return verdict;
}

static json_t *json_port(const struct report *r, int slot)
{
	const struct port_sum *p = &r->now->port[slot];
	json_t *queues = json_array(), *verdicts = json_object(), *port;

	for (int q = 0; q < XFIB_QUEUES; q++)
		if (p->queue[q])
			json_array_append_new(queues, json_pack("{s:i, s:I}", "queue", q, "packets",
								(json_int_t)p->queue[q]));
	for (int v = 0; v < XFIB_VERDICT_MAX; v++)
		if (p->verdict[v].packets)
			json_object_set_new(verdicts, verdict_name(v),
					    json_integer(p->verdict[v].packets));
	port = json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:s?, s:o, s:o}", "ifname",
			 r->intents[slot].ifname, "rx_packets", (json_int_t)p->rx.packets,
			 "rx_bytes", (json_int_t)p->rx.bytes, "tx_packets",
			 (json_int_t)p->tx.packets, "tx_bytes", (json_int_t)p->tx.bytes, "tx_drops",
			 p->has_drops ? json_integer(p->drops) : json_null(), "tx_drops_source",
			 p->has_drops ? "ethtool" : NULL, "queues", queues, "verdicts", verdicts);
	if (r->before) {
		json_rates(r, port, "rx_", p->rx, r->before->port[slot].rx);
		json_rates(r, port, "tx_", p->tx, r->before->port[slot].tx);
	}
	return port;
}

static void print_json(const struct report *r)
{
	json_t *verdicts = json_array(), *ports = json_array(), *doc;

	for (int v = 0; v < XFIB_VERDICT_MAX; v++)
		json_array_append_new(verdicts, json_verdict(r, v));
	for (int slot = 0; slot < XFIB_PORTS; slot++)
		if (*r->intents[slot].ifname)
			json_array_append_new(ports, json_port(r, slot));
	doc = json_pack("{s:o, s:o}", "verdicts", verdicts, "ports", ports);
	if (r->before)
		json_object_set_new(doc, "interval_ms", json_integer(r->seconds * 1000));
	json_print(doc);
}

/* --- for people ----------------------------------------------------------------------------- */

static void cell_human(struct table *t, __u64 n)
{
	char buf[HUMAN_STRLEN];

	table_cell(t, "%s", human(n, buf));
}

static void print_share(const struct sample *s)
{
	__u64 class[3] = { 0 }, all = 0;

	for (int v = 0; v < XFIB_VERDICT_MAX; v++) {
		const char *name = verdict_class(v);

		class[*name == 'f' ? 0 : *name == 'p' ? 1 : 2] += s->verdict[v].packets;
		all += s->verdict[v].packets;
	}
	if (!all) {
		puts("No packet has come in on a port yet.");
		return;
	}
	printf("%.2f %% forwarded in XDP, %.2f %% given to the kernel", 100.0 * class[0] / all,
	       100.0 * class[1] / all);
	if (class[2])
		printf(", %.2f %% dropped", 100.0 * class[2] / all);
	putchar('\n');
}

static void print_verdicts(const struct report *r)
{
	struct table *t = r->before ? TABLE("VERDICT", ">PACKETS", ">BYTES", ">PKT/S", ">BIT/S")
				    : TABLE("VERDICT", ">PACKETS", ">BYTES", "MEANING");

	for (int v = 0; v < XFIB_VERDICT_MAX; v++) {
		const struct xfib_count *c = &r->now->verdict[v];

		if (!c->packets && !r->args->all)
			continue;
		table_cell(t, "%s", verdict_name(v));
		cell_human(t, c->packets);
		cell_human(t, c->bytes);
		if (r->before) {
			cell_human(t, rate(r, c->packets, r->before->verdict[v].packets));
			cell_human(t, 8 * rate(r, c->bytes, r->before->verdict[v].bytes));
		} else {
			table_cell(t, "%s", verdict_meaning(v));
		}
	}
	table_print(t);
}

static void print_cpus(const struct report *r)
{
	struct table *t = TABLE("VERDICT", ">CPU", ">PACKETS", ">BYTES");

	for (int v = 0; v < XFIB_VERDICT_MAX; v++) {
		for (int cpu = 0; cpu < r->now->cpus; cpu++) {
			const struct xfib_count *c = &r->now->cpu[cpu * XFIB_VERDICTS_MAX + v];

			if (!c->packets)
				continue;
			table_cell(t, "%s", verdict_name(v));
			table_cell(t, "%d", cpu);
			cell_human(t, c->packets);
			cell_human(t, c->bytes);
		}
	}
	putchar('\n');
	table_print(t);
}

static void cell_drops(struct table *t, const struct port_sum *p)
{
	if (p->has_drops)
		cell_human(t, p->drops);
	else
		table_cell(t, "-");
}

static void print_ports(const struct report *r)
{
	struct table *t = r->before ? TABLE("PORT", ">RX-PKT", ">TX-PKT", ">TX-DROPS", ">RX-PKT/S",
					    ">RX-BIT/S", ">TX-PKT/S", ">TX-BIT/S")
				    : TABLE("PORT", ">RX-PKT", ">RX-BYTES", ">TX-PKT", ">TX-BYTES",
					    ">TX-DROPS", ">XDP");

	for (int slot = 0; slot < XFIB_PORTS; slot++) {
		const struct port_sum *p = &r->now->port[slot], *b;

		if (!*r->intents[slot].ifname)
			continue;
		table_cell(t, "%s", r->intents[slot].ifname);
		cell_human(t, p->rx.packets);
		if (!r->before) {
			cell_human(t, p->rx.bytes);
			cell_human(t, p->tx.packets);
			cell_human(t, p->tx.bytes);
			cell_drops(t, p);
			table_cell(t, "%.1f %%",
				   p->rx.packets ? 100.0 * p->verdict[XFIB_FORWARDED].packets /
							   p->rx.packets
						 : 0.0);
			continue;
		}
		b = &r->before->port[slot];
		cell_human(t, p->tx.packets);
		cell_drops(t, p);
		cell_human(t, rate(r, p->rx.packets, b->rx.packets));
		cell_human(t, 8 * rate(r, p->rx.bytes, b->rx.bytes));
		cell_human(t, rate(r, p->tx.packets, b->tx.packets));
		cell_human(t, 8 * rate(r, p->tx.bytes, b->tx.bytes));
	}
	putchar('\n');
	table_print(t);
}

/* Where a port's packets came in and what became of them, one line a port. */
static void print_details(const struct report *r)
{
	struct table *t = TABLE("PORT", "QUEUE", ">PACKETS", "VERDICT", ">PACKETS");
	bool any;

	for (int slot = 0; slot < XFIB_PORTS; slot++) {
		const struct port_sum *p = &r->now->port[slot];
		int q = 0, v = 0;

		if (!*r->intents[slot].ifname)
			continue;
		for (any = false;; any = true) {
			while (q < XFIB_QUEUES && !p->queue[q])
				q++;
			while (v < XFIB_VERDICT_MAX && !p->verdict[v].packets)
				v++;
			if (q == XFIB_QUEUES && v == XFIB_VERDICT_MAX)
				break;
			table_cell(t, "%s", any ? "" : r->intents[slot].ifname);
			if (q < XFIB_QUEUES) {
				table_cell(t, "%d", q);
				cell_human(t, p->queue[q++]);
			} else {
				table_cell(t, "%s", "");
				table_cell(t, "%s", "");
			}
			if (v < XFIB_VERDICT_MAX) {
				table_cell(t, "%s", verdict_name(v));
				cell_human(t, p->verdict[v++].packets);
			} else {
				table_cell(t, "%s", "");
				table_cell(t, "%s", "");
			}
		}
	}
	putchar('\n');
	table_print(t);
}

static void print_text(const struct report *r)
{
	print_share(r->now);
	print_verdicts(r);
	if (r->args->per_cpu)
		print_cpus(r);
	print_ports(r);
	if (!r->before)
		print_details(r);
}

/* --- once, or again and again --------------------------------------------------------------- */

static double seconds_between(const struct sample *a, const struct sample *b)
{
	return (b->when.tv_sec - a->when.tv_sec) + (b->when.tv_nsec - a->when.tv_nsec) / 1e9;
}

static void pause_for(double seconds)
{
	struct timespec t = { .tv_sec = seconds, .tv_nsec = (seconds - (__u64)seconds) * 1e9 };

	nanosleep(&t, NULL);
}

static void print(const struct cli *cli, const struct report *r)
{
	if (cli->json)
		print_json(r);
	else
		print_text(r);
	if (r->before && !cli->json)
		putchar('\n');
}

static int repeat(const struct cli *cli, const struct view *v, struct report *r)
{
	_cleanup_free_ struct sample *before = NULL, *now = NULL;
	struct xfib_intent intents[XFIB_PORTS];
	int err = counters_read(v->instance, v->intents, &before);

	while (!err) {
		pause_for(r->args->interval);
		err = ports_read(v->instance, intents);
		if (!err)
			err = counters_read(v->instance, intents, &now);
		if (err)
			break;
		r->intents = intents;
		r->now = now;
		r->before = before;
		r->seconds = seconds_between(before, now);
		print(cli, r);
		if (fflush(stdout))
			return 0; /* main() says why */
		free(before);
		before = TAKE_PTR(now);
	}
	return err;
}

static int once(const struct cli *cli, const struct view *v, struct report *r)
{
	_cleanup_free_ struct sample *now = NULL;
	int err = counters_read(v->instance, v->intents, &now);

	if (err)
		return err;
	r->intents = v->intents;
	r->now = now;
	print(cli, r);
	return 0;
}

int word_stats(struct cli *cli, int argc, char **argv)
{
	_cleanup_view_ struct view v = { 0 };
	struct stats_args args = { 0 };
	struct report r = { .args = &args };
	int err;

	cli_parse(cli, &argp, argc, argv, &args);
	if (view_open(cli, false, &v))
		return CLI_FAILED;
	err = args.interval ? repeat(cli, &v, &r) : once(cli, &v, &r);
	if (err)
		log_errno(err, "cannot read the counters of '%s'", cli->instance);
	return err ? CLI_FAILED : CLI_OK;
}

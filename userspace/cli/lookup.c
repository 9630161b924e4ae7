// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xfib lookup: builds a packet, runs it through the program of a port (its twin: no counter moves
 * and nothing is sent) and asks the kernel about the same packet.
 */
#include <linux/if_ether.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "kernel.h"
#include "leaf.h"
#include "packet.h"
#include "source.h"
#include "tables.h"
#include "text.h"
#include "view.h"

struct lookup_args {
	enum family family;
	struct addr dst, src;
	bool has_dst, has_src;
	const char *iif; /* NULL: the first enabled port */
	char want;	 /* 'f'rom or 'i'if was the last word */
};

static void parse_address(struct argp_state *state, const char *arg, enum family *f, struct addr *a)
{
	if (addr_parse(arg, f, a))
		argp_error(state, "'%s' is no address", arg);
}

static void parse_word(struct argp_state *state, struct lookup_args *args, const char *arg)
{
	enum family f = args->family;

	if (args->want == 'f') {
		parse_address(state, arg, &f, &args->src);
		if (f != args->family)
			argp_error(state, "'%s' is of another family than the destination", arg);
		args->has_src = true;
		args->want = 0;
	} else if (args->want == 'i') {
		args->iif = arg;
		args->want = 0;
	} else if (!args->has_dst) {
		parse_address(state, arg, &args->family, &args->dst);
		args->has_dst = true;
	} else if (!strcmp(arg, "from") || !strcmp(arg, "iif")) {
		args->want = *arg;
	} else {
		argp_error(state, "'%s': only 'from SRC' and 'iif IF' can follow", arg);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct lookup_args *args = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		parse_word(state, args, arg);
		return 0;
	case ARGP_KEY_END:
		if (!args->has_dst)
			argp_error(state, "which address?");
		if (args->want)
			argp_error(state, "'%s' wants a value", args->want == 'f' ? "from" : "iif");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "ADDR [from SRC] [iif IF]",
	.doc = "What XDP does with a packet to ADDR that comes in on IF, found out by running the "
	       "program on it, beside what the kernel would do. Without SRC, some other host in "
	       "the subnet of IF; without IF, the first port that forwards. What goes to the "
	       "kernel always agrees: the kernel decides.\v"
	       "Example: xfib lookup 192.0.2.1 iif eth0",
};

/* The question, and all that was found out. */
struct lookup {
	const struct view *view;
	enum family family;
	struct addr dst, src;
	unsigned int slot;
	int iif;
	unsigned int fib;

	enum xfib_verdict verdict;
	bool has_prefix, has_hop;
	struct addr prefix;
	unsigned int prefixlen;
	bool group;
	struct hop hop;
	unsigned int mtu; /* 0: not known */

	struct nl_answer kernel;
	bool martian;
	bool agree;
};

/* --- where it comes in, and from whom ------------------------------------------------------- */

static int choose_port(struct lookup *l, const char *iif)
{
	const struct view *v = l->view;
	int slot = -1;

	if (iif) {
		slot = view_port(v, iif);
		if (slot < 0) {
			log_error(if_nametoindex(iif)
					  ? "%s is no port of instance '%s', see xfib status"
					  : "there is no interface %s (instance '%s')",
				  iif, v->instance->name);
			return -ENOENT;
		}
	}
	for (int i = XFIB_PORTS - 1; i >= 0 && !iif; i--)
		if (*v->intents[i].ifname &&
		    (slot < 0 || v->gen->ports[i].flags & XFIB_PORT_ENABLED ||
		     !(v->gen->ports[slot].flags & XFIB_PORT_ENABLED)))
			slot = i;
	if (slot < 0) {
		log_error("instance '%s' has no port, attach one first: xfib attach IF",
			  v->instance->name);
		return -ENOENT;
	}
	l->slot = slot;
	l->iif = v->intents[slot].ifindex;
	l->fib = v->gen->l3ifs[v->gen->ports[slot].l3if % XFIB_L3IFS].fib;
	return 0;
}

static int choose_source(struct lookup *l)
{
	int r = source_choose(l->family, l->dst, l->iif, &l->src);

	return r ? log_errno(r, "cannot read the addresses") : 0;
}

/* --- what xfib does ------------------------------------------------------------------------- */

/* Verdicts from the route on; those before it never looked. */
static bool reached_route(enum xfib_verdict verdict)
{
	return verdict == XFIB_FORWARDED || verdict >= XFIB_PUNT_NO_ROUTE;
}

static int find_prefix(struct lookup *l)
{
	struct xfib_nexthop nh =
		nexthop_load(&l->view->gen->nexthops[XFIB_NH_DEFAULT(l->fib, l->family == IP6)]);
	_cleanup_routes_ struct routes list = { 0 };
	int r = tables_match(l->view->gen, l->family, l->fib, l->dst, family_bits(l->family),
			     &list);

	if (r)
		return tables_failed(r, "look up the route");
	l->has_prefix = list.route->leaf || nh.kind != XFIB_NH_VERDICT;
	l->prefix = list.route->addr;
	l->prefixlen = list.route->len;
	return 0;
}

/* CONNECTED finds its neighbour by the destination. */
static struct hop resolve(const struct lookup *l, struct hop hop)
{
	if (hop.kind == XFIB_NH_CONNECTED &&
	    !neigh_find(l->view->gen, l->family, l->dst, hop.ifindex, &hop.slot))
		hop.lladdr = neigh_lladdr(l->view->gen, hop.slot);
	return hop;
}

/* The frame left with the MACs of this hop's neighbour and interface. */
static bool frame_is_hop(const struct lookup *l, const struct ethhdr *eth, const struct hop *hop)
{
	const struct xfib_l3if *egress = &l->view->gen->l3ifs[hop->lladdr.tag & XFIB_NEIGH_L3IF];

	return hop->lladdr.tag & XFIB_NEIGH_L3IF &&
	       !memcmp(eth->h_dest, hop->lladdr.mac, ETH_ALEN) &&
	       !memcmp(eth->h_source, egress->mac, ETH_ALEN);
}

static void take_hop(struct lookup *l, const struct hop *hop)
{
	unsigned int slot = hop->lladdr.tag & XFIB_NEIGH_L3IF, mtu;
	const struct xfib_l3if *egress = &l->view->gen->l3ifs[slot];

	l->has_hop = true;
	l->hop = *hop;
	mtu = l->family == IP4 ? egress->mtu4 : egress->mtu6;
	if (slot)
		l->mtu = mtu < hop->mtu ? mtu : hop->mtu;
}

/* Which leg it was: the only one, or the one whose MACs the frame carries. */
static int find_hop(struct lookup *l, unsigned int leaf_number, const struct ethhdr *out)
{
	_cleanup_free_ struct leaf *leaf = NULL;
	struct hop hop;
	int r = leaf_read(l->view->gen, leaf_id(l->family, l->fib, leaf_number), &leaf);

	if (r)
		return r;
	l->group = leaf->hops > 1;
	for (unsigned int i = 0; i < leaf->hops && !l->has_hop; i++) {
		hop = resolve(l, leaf->hop[i]);
		if (hop.kind == XFIB_NH_VERDICT)
			continue;
		if (l->verdict == XFIB_FORWARDED ? frame_is_hop(l, out, &hop) : leaf->hops == 1)
			take_hop(l, &hop);
	}
	return 0;
}

static int ask_xfib(struct lookup *l)
{
	static const __u8 src_mac[6] = { 0x02, 0x00, 0x5e, 0x10, 0x00, 0x01 };
	const struct generation *gen = l->view->gen;
	const struct xfib_l3if *in = &gen->l3ifs[gen->ports[l->slot].l3if % XFIB_L3IFS];
	__u8 frame[PACKET_MAX], out[PACKET_MAX];
	struct ethhdr eth;
	__u32 result;
	size_t len;
	int r;

	len = packet_build(l->family, in->mac, src_mac, l->src, l->dst, frame);
	r = twin_run(l->view->instance, gen->number, l->slot, frame, len, out, &result);
	if (r)
		return log_errno(r, "cannot run the program of %s",
				 l->view->intents[l->slot].ifname);
	memcpy(&eth, out, sizeof(eth));
	l->verdict = XFIB_TWIN_VERDICT(result);
	if (!reached_route(l->verdict))
		return 0;
	r = find_prefix(l);
	if (r)
		return r;
	r = find_hop(l, XFIB_TWIN_LEAF(result), &eth);
	return r ? log_errno(r, "cannot read the next hop") : 0;
}

/* --- what the kernel does ------------------------------------------------------------------- */

/* A packet that goes to the kernel agrees by definition; of several legs any will do. */
static bool agrees(struct lookup *l, struct nl_query *query)
{
	_cleanup_free_ struct nl_answer *match = NULL;
	struct leg path = kernel_path(&l->kernel);
	bool partial;

	if (l->verdict == XFIB_DROP_BLACKHOLE)
		return l->kernel.error == -EINVAL;
	if (l->verdict != XFIB_FORWARDED)
		return true;
	if (!l->has_hop || !kernel_forwards(&l->kernel))
		return false;
	if (leg_is_hop(&path, &l->hop))
		return true;
	match = malloc(sizeof(*match));
	return match && !kernel_ask(query, l->family, l->dst, &l->src, l->iif, match, &partial) &&
	       kernel_forwards(match) && kernel_has_hop(match, &l->hop);
}

static int ask_kernel(struct lookup *l)
{
	_cleanup_free_ struct nl_answer *plain = malloc(sizeof(*plain));
	struct nl_query *query = NULL;
	int r = plain ? nl_query_open(&query) : -ENOMEM;

	if (!r)
		r = nl_query_route(query, l->family, l->dst, &l->src, l->iif, false, &l->kernel);
	/* -EINVAL is a blackhole, or a source that cannot be: the same question without one tells. */
	if (!r && l->kernel.error == -EINVAL) {
		r = nl_query_route(query, l->family, l->dst, NULL, 0, false, plain);
		l->martian = !r && plain->error != -EINVAL;
	}
	if (!r)
		l->agree = agrees(l, query);
	nl_query_free(query);
	return r ? log_errno(r, "cannot ask the kernel") : 0;
}

/* --- printing ------------------------------------------------------------------------------- */

/* NULL: the kernel cannot be asked about such a packet. */
static const char *kernel_type_of(const struct lookup *l)
{
	return l->martian ? "martian" : kernel_type(&l->kernel);
}

enum { WHY_STRLEN = XFIB_REASONS + 128 };

/* Why it goes to the kernel: the verdict's meaning, and what status says of it. "" if forwarded. */
static const char *reason(const struct lookup *l, char *buf, size_t size)
{
	const struct xfib_l3if_status *l3if = view_l3if(l->view, l->iif);
	char dead[96];

	if (l->verdict == XFIB_FORWARDED)
		return "";
	if (!l->view->alive &&
	    (l->verdict == XFIB_PUNT_DEADMAN || l->verdict == XFIB_PUNT_DISABLED))
		snprintf(buf, size, "%s; %s", verdict_meaning(l->verdict),
			 view_dead_reason(l->view, dead, sizeof(dead)));
	else if (l3if && l3if->reason[0] &&
		 (l->verdict == XFIB_PUNT_DISABLED || l->verdict == XFIB_PUNT_IP4_DISABLED ||
		  l->verdict == XFIB_PUNT_IP6_DISABLED))
		snprintf(buf, size, "%s; %s", verdict_meaning(l->verdict), l3if->reason);
	else
		snprintf(buf, size, "%s", verdict_meaning(l->verdict));
	return buf;
}

static json_t *json_nexthop(const struct lookup *l)
{
	const struct hop *hop = &l->hop;

	if (!l->has_hop)
		return json_null();
	return json_pack(
		"{s:s, s:o, s:o, s:o}", "dev", ifname_of(hop->ifindex), "via",
		hop->has_via ? json_addr(hop->via_family, hop->via) : json_null(), "lladdr",
		hop->lladdr.tag & XFIB_NEIGH_L3IF ? json_mac(hop->lladdr.mac) : json_null(), "mtu",
		l->mtu ? json_integer(l->mtu) : json_null());
}

static void print_json(const struct lookup *l)
{
	char buf[WHY_STRLEN], prefix[PREFIX_STRLEN];
	const struct nl_answer *k = &l->kernel;
	json_t *via = k->has_gateway ? json_addr(k->gateway_family, k->gateway) : json_null();

	json_print(json_pack(
		"{s:o, s:o, s:s, s:s, s:o, s:s?, s:o, s:{s:s?, s:o, s:o, s:s?}, s:b}", "dst",
		json_addr(l->family, l->dst), "src", json_addr(l->family, l->src), "iif",
		l->view->intents[l->slot].ifname, "verdict", verdict_name(l->verdict), "reason",
		json_text(reason(l, buf, sizeof(buf))), "prefix",
		l->has_prefix ? prefix_format(l->family, l->prefix, l->prefixlen, prefix) : NULL,
		"nexthop", json_nexthop(l), "kernel", "type", kernel_type_of(l), "dev",
		json_text(ifname_of(k->oif)), "via", via, "error",
		kernel_type_of(l) ? NULL : strerror(-k->error), "agree", l->agree));
}

static void print_text(const struct lookup *l)
{
	char buf[WHY_STRLEN], addr[ADDR_STRLEN], prefix[PREFIX_STRLEN], hop[HOP_STRLEN],
		leg[LEG_STRLEN], mac[MAC_STRLEN];
	struct leg path = kernel_path(&l->kernel);

	printf("%s ", addr_format(l->family, l->dst, addr));
	printf("from %s iif %s\n", addr_format(l->family, l->src, addr),
	       l->view->intents[l->slot].ifname);
	printf("  xfib    %s", verdict_name(l->verdict));
	if (l->has_prefix)
		printf(" %s", prefix_format(l->family, l->prefix, l->prefixlen, prefix));
	if (l->has_hop)
		printf(" %s", hop_text(&l->hop, hop));
	if (l->has_hop && l->hop.lladdr.tag & XFIB_NEIGH_L3IF)
		printf(" lladdr %s mtu %u", mac_format(l->hop.lladdr.mac, mac), l->mtu);
	putchar('\n');
	if (l->verdict != XFIB_FORWARDED)
		printf("          because: %s\n", reason(l, buf, sizeof(buf)));
	if (kernel_type_of(l))
		printf("  kernel  %s", kernel_type_of(l));
	else
		printf("  kernel  - (it cannot be asked: %s)", strerror(-l->kernel.error));
	if (l->kernel.oif)
		printf(" %s", leg_text(&path, leg));
	printf("\n  agree   %s\n", l->agree ? "yes" : "NO");
}

int word_lookup(struct cli *cli, int argc, char **argv)
{
	_cleanup_free_ struct lookup *l = calloc(1, sizeof(*l));
	_cleanup_view_ struct view v = { 0 };
	struct lookup_args args = { 0 };

	cli_parse(cli, &argp, argc, argv, &args);
	if (!l) {
		log_errno(-ENOMEM, "cannot look up");
		return CLI_FAILED;
	}
	if (view_open(cli, true, &v))
		return CLI_FAILED;
	l->view = &v;
	l->family = args.family;
	l->dst = args.dst;
	l->src = args.src;
	if (choose_port(l, args.iif) || (!args.has_src && choose_source(l)) || ask_xfib(l) ||
	    ask_kernel(l))
		return CLI_FAILED;
	if (cli->json)
		print_json(l);
	else
		print_text(l);
	return CLI_OK;
}

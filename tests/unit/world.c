/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* See world.h. */
#include "world.h"

#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* --- chance ----------------------------------------------------------------------------------- */

static __u64 next_random(struct world *w)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return w->rng * 0x2545f4914f6cdd1dull >> 16;
}

unsigned int world_random(struct world *w, unsigned int n)
{
	return next_random(w) % n;
}

bool world_chance(struct world *w, unsigned int percent)
{
	return world_random(w, 100) < percent;
}

#define pick(w, array) ((array)[world_random(w, sizeof(array) / sizeof((array)[0]))])

void world_fail(struct world *w, const char *format, ...)
{
	char what[600];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	fail_msg("SEED=%llu step %u, after \"%s\": %s", w->seed, w->step, w->op, what);
	abort();
}

static void on_broken(void *arg, const char *what)
{
	world_fail(arg, "%s", what);
}

/* A name for the operation, shown when something breaks after it. */
__attribute__((format(printf, 2, 3))) static void say(struct world *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(w->op, sizeof(w->op), format, args);
	va_end(args);
	if (getenv("TRACE"))
		fprintf(stderr, "%u: %s\n", w->step, w->op);
}

/* The first seed and the number of them: SEED=n or SEED=first-last. */
static void which_seeds(__u64 *first, unsigned int *n)
{
	const char *seeds = getenv("SEED");
	char *rest;

	if (!seeds)
		return;
	*first = strtoull(seeds, &rest, 0);
	*n = *rest == '-' ? strtoull(rest + 1, NULL, 0) - *first + 1 : 1;
}

void world_seeds(__u64 first, unsigned int n, void (*run)(__u64 seed))
{
	which_seeds(&first, &n);
	for (unsigned int i = 0; i < n; i++)
		run(first + i);
}

unsigned int world_length(unsigned int steps)
{
	const char *factor = getenv("LENGTH");

	return factor ? steps * strtoul(factor, NULL, 0) : steps;
}

/* --- what there is to choose from ----------------------------------------------------------------- */

/* Few enough to meet again, on both sides of every boundary. */
struct addr world_addr(struct world *w, enum family family)
{
	static const __u8 b[] = { 0, 0, 1, 128 }, c[] = { 0, 1, 255 },
			  d[] = { 0, 1, 2, 127, 128, 254, 255 };
	static const __u64 hi[] = { 0, 0, 1, 0x8000, 0x10000, 0xffff0000 },
			   lo[] = { 0, 0, 1, 2, 1ull << 63, ~0ull };

	if (family == IP4) {
		__u64 top = world_chance(w, 90) ? 10 : 192;

		return (struct addr){ .hi = top << 56 | (__u64)pick(w, b) << 48 |
					    (__u64)pick(w, c) << 40 | (__u64)pick(w, d) << 32 };
	}
	return (struct addr){
		.hi = (world_chance(w, 95) ? 0x20010db800000000 : 0xfd00000000000000) | pick(w, hi),
		.lo = pick(w, lo)
	};
}

static unsigned int some_len(struct world *w, enum family family)
{
	static const unsigned int len4[] = {
		0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 24, 25, 31, 32, 32
	};
	static const unsigned int len6[] = { 0,	 1,  31, 32, 33,  47,  48, 49,
					     63, 64, 64, 65, 127, 128, 128 };

	return family == IP4 ? pick(w, len4) : pick(w, len6);
}

static int some_link(struct world *w)
{
	return 2 + world_random(w, NAIVE_LINKS - 2);
}

static struct addr gateway(enum family family, int ifindex, unsigned int n)
{
	if (family == IP4)
		return (struct addr){ .hi = 0xc0000000ull << 32 | (__u64)ifindex << 40 |
					    (__u64)(n + 1) << 32 };
	return (struct addr){ .hi = 0xfe80ull << 48, .lo = n + 1 };
}

static struct leg some_leg(struct world *w, enum family family, bool with_gateway)
{
	static const unsigned int weights[] = { 1, 1, 1, 2, 3, 10, 255, 256 };
	struct leg leg = { .ifindex = some_link(w), .weight = pick(w, weights) };

	if (with_gateway) {
		leg.has_gateway = true;
		leg.gateway_family = family == IP4 && world_chance(w, 10) ? IP6 : family;
		leg.gateway = gateway(leg.gateway_family, leg.ifindex, world_random(w, 3));
	}
	leg.encap = world_chance(w, 2);
	return leg;
}

static __u8 some_type(struct world *w, __u32 table)
{
	static const __u8 in_local[] = { RTN_BROADCAST, RTN_UNICAST, RTN_BLACKHOLE };
	static const __u8 others[] = { RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT, RTN_THROW };

	if (table == RT_TABLE_LOCAL)
		return world_chance(w, 85) ? RTN_LOCAL : pick(w, in_local);
	return world_chance(w, 88) ? RTN_UNICAST : pick(w, others);
}

/* IPv6 siblings of one place share what only the first of them can say in a message. */
static __u32 some_mtu(__u32 priority)
{
	return priority == 20 ? 1400 : 0;
}

struct naive_route world_route(struct world *w, enum family family)
{
	static const __u32 priorities4[] = { 0, 0, 10, 20 },
			   priorities6[] = { 1024, 1024, 256, 20 };
	static const __u8 protocols[] = { RTPROT_STATIC, RTPROT_STATIC, RTPROT_BOOT, RTPROT_RA };
	struct naive_route r = { .family = family, .len = some_len(w, family) };
	bool with_gateway = world_chance(w, 75);

	r.dst = addr_mask(world_addr(w, family), r.len);
	if (w->narrow) {
		const struct probe *p = &w->probe[family == IP6 ? 0 : WORLD_PROBES - 1];

		r.len = family == IP4 ? 8 * world_random(w, 5) : 32 * world_random(w, 5);
		r.dst = addr_mask(p->addr, r.len);
	}
	r.table = world_chance(w, w->narrow ? 97 : 85) ? RT_TABLE_MAIN
		  : world_chance(w, 80)		       ? RT_TABLE_LOCAL
						       : RT_TABLE_DEFAULT;
	r.priority = w->narrow ? 256 : family == IP4 ? pick(w, priorities4) : pick(w, priorities6);
	r.type = some_type(w, r.table);
	r.protocol = pick(w, protocols);
	r.mtu = some_mtu(r.priority);
	r.expires = family == IP6 && r.protocol == RTPROT_RA && r.type == RTN_UNICAST &&
		    world_chance(w, 50);
	if (family == IP4 && world_chance(w, 3))
		r.tos = 0x10;
	if (family == IP6 && world_chance(w, 3)) {
		r.src_len = 48;
		r.src = (struct addr){ .hi = 0x20010db8ull << 32 | (world_chance(w, 50) ? 1 : 2)
									   << 16 };
	}
	if (r.type != RTN_UNICAST)
		return r;
	if (w->k.objects && world_chance(w, 15)) {
		const struct naive_object *o = &w->k.object[world_random(w, w->k.objects)];

		if (family == IP4 || o->family == IP6 || o->group)
			r.nhid = o->id;
	}
	if (r.nhid) {
		r.expires = false;
		return r;
	}
	with_gateway |= r.expires;
	r.legs = r.expires || world_chance(w, 70) || (family == IP6 && !with_gateway)
			 ? 1
			 : 2 + world_random(w, 3);
	for (unsigned int i = 0; i < r.legs; i++) {
		r.leg[i] = some_leg(w, family, with_gateway);
		if (r.legs > 1 || r.expires)
			r.leg[i].encap = false;
		if (r.legs == 1)
			r.leg[i].weight = 1;
	}
	return r;
}

/* --- what the kernel's state means for a packet --------------------------------------------------- */

static int port_of(const struct world *w, int ifindex)
{
	for (int i = 0; i < WORLD_PORTS; i++)
		if (w->port[i].attached && (int)w->port[i].ifindex == ifindex)
			return i;
	return -1;
}

static bool plain(const struct naive_link *link)
{
	return link->there && link->ev.up && link->ev.ether && !link->ev.master &&
	       !(link->ev.mac.bytes[0] & 1);
}

static bool has_ip4_addr(const struct naive *k, __u32 ifindex)
{
	for (unsigned int i = 0; i < k->owns; i++)
		if (k->own[i].family == IP4 && (__u32)k->own[i].ifindex == ifindex)
			return true;
	return false;
}

/* looks_up: as the kernel does once there was a custom rule, local route or realm. */
static struct xfib_l3if record(const struct world *w, unsigned int slot, bool looks_up)
{
	const struct naive_link *link = &w->k.link[w->port[slot].ifindex];
	const struct settings *s = &w->k.settings;
	struct xfib_l3if r = { .port = slot, .ifindex = w->port[slot].ifindex };
	int rp = s->rp_filter_all > link->ev.ip4.rp_filter ? s->rp_filter_all
							   : link->ev.ip4.rp_filter;
	bool ip6 = link->ev.has_ip6_conf && link->ev.ip6.disable <= 0;

	memcpy(r.mac, link->ev.mac.bytes, 6);
	r.mtu4 = link->ev.mtu > 0xffff ? 0xffff : link->ev.mtu;
	if (ip6)
		r.mtu6 = link->ev.ip6.mtu > 0 && link->ev.ip6.mtu < r.mtu4 ? link->ev.ip6.mtu
									   : r.mtu4;
	if (plain(link) && naive_rules_default(&w->k, IP4) && !s->ip_forward_use_pmtu &&
	    link->ev.ip4.forwarding > 0)
		r.flags |= XFIB_L3IF_IP4;
	if (plain(link) && naive_rules_default(&w->k, IP6) && s->forwarding6_all && ip6 &&
	    link->ev.ip6.forwarding > 0)
		r.flags |= XFIB_L3IF_IP6;
	if (plain(link) && link->ev.carrier && link->xmit)
		r.flags |= XFIB_L3IF_EGRESS;
	if (link->sg)
		r.flags |= XFIB_L3IF_SG;
	if (!s->send_redirects_all && !link->ev.ip4.send_redirects)
		r.flags |= XFIB_L3IF_HAIRPIN;
	if (rp == 1 || (rp >= 2 && !has_ip4_addr(&w->k, r.ifindex)))
		r.flags |= XFIB_L3IF_RPF_STRICT;
	else if (rp >= 2 || looks_up)
		r.flags |= XFIB_L3IF_RPF_LOOSE;
	return r;
}

static bool valid(const struct neigh_event *n)
{
	static const __u8 zero[6];

	return n &&
	       n->state & (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT) &&
	       n->mac.len == 6 && !(n->mac.bytes[0] & 1) && memcmp(n->mac.bytes, zero, 6);
}

static struct sink_hop hop_of(const struct world *w, const struct leg *leg, enum family family,
			      struct addr dst, __u32 mtu)
{
	enum family f = leg->has_gateway ? leg->gateway_family : family;
	const struct neigh_event *n =
		naive_neigh(&w->k, f, leg->ifindex, leg->has_gateway ? leg->gateway : dst);
	struct sink_hop hop = { .verdict = XFIB_FORWARDED };
	int port = port_of(w, leg->ifindex);
	struct xfib_l3if out;

	if (port < 0 || !w->k.link[leg->ifindex].there)
		return (struct sink_hop){ .verdict = XFIB_PUNT_NOT_A_PORT };
	if (!valid(n))
		return (struct sink_hop){ .verdict = XFIB_PUNT_NO_NEIGHBOUR };
	out = record(w, port, w->m.looks_up_sources);
	if (!(out.flags & XFIB_L3IF_EGRESS))
		return (struct sink_hop){ .verdict = XFIB_PUNT_EGRESS_DOWN };
	hop.ifindex = leg->ifindex;
	memcpy(hop.dmac, n->mac.bytes, 6);
	memcpy(hop.smac, out.mac, 6);
	hop.mtu = family == IP4 ? out.mtu4 : out.mtu6;
	if (!hop.mtu)
		return (struct sink_hop){ .verdict = XFIB_PUNT_MTU };
	if (mtu && mtu < hop.mtu)
		hop.mtu = mtu;
	hop.port = port;
	hop.sg = !!(out.flags & XFIB_L3IF_SG);
	return hop;
}

static bool hops_have(const struct hops *hops, const struct sink_hop *hop)
{
	for (unsigned int i = 0; i < hops->n; i++)
		if (!memcmp(&hops->hop[i], hop, sizeof(*hop)))
			return true;
	return false;
}

static void hops_add(struct world *w, struct hops *hops, const struct sink_hop *hop)
{
	if (hops_have(hops, hop))
		return;
	if (hops->n == WORLD_HOPS)
		world_fail(w, "too many hops to remember");
	hops->hop[hops->n++] = *hop;
}

/* Policies that look at more than xfib hashes on; they matter where there is something to choose. */
static bool policy_known(const struct settings *s, enum family family)
{
	return family == IP4 ? s->hash_policy4 <= 1 && !s->fib_multipath_use_neigh
			     : s->hash_policy6 <= 1;
}

static bool same_exit(const struct world *w, const struct leg *a, const struct leg *b)
{
	bool port_a = port_of(w, a->ifindex) >= 0, port_b = port_of(w, b->ifindex) >= 0;

	if (!port_a || !port_b)
		return port_a == port_b;
	return a->ifindex == b->ifindex && a->has_gateway == b->has_gateway &&
	       (!a->has_gateway ||
		(a->gateway_family == b->gateway_family && addr_equal(a->gateway, b->gateway)));
}

/* The kernel's answer for a probe, and the hops that it stands for. */
static void expect(struct world *w, const struct probe *p, struct naive_answer *a,
		   struct hops *hops)
{
	bool choice = false;

	naive_lookup(&w->k, p->family, p->addr, a);
	hops->n = 0;
	for (unsigned int i = 1; i < a->legs; i++)
		choice |= !same_exit(w, &a->leg[0], &a->leg[i]);
	if (!a->verdict && choice && !policy_known(&w->k.settings, p->family))
		a->verdict = XFIB_PUNT_HASH_POLICY;
	if (a->verdict == XFIB_PUNT_BLACKHOLE && w->dropping)
		a->verdict = XFIB_DROP_BLACKHOLE;
	if (a->verdict)
		hops_add(w, hops, &(struct sink_hop){ .verdict = a->verdict });
	for (unsigned int i = 0; !a->verdict && i < a->legs; i++) {
		struct sink_hop hop = hop_of(w, &a->leg[i], p->family, p->addr, a->mtu);

		hops_add(w, hops, &hop);
	}
}

/* --- what is allowed ------------------------------------------------------------------------------- */

static void remember(struct world *w, struct records *r, struct xfib_l3if now)
{
	for (unsigned int i = 0; i < r->n; i++)
		if (!memcmp(&r->record[i], &now, sizeof(now)))
			return;
	if (r->n == sizeof(r->record) / sizeof(r->record[0]))
		world_fail(w, "too many records to remember");
	r->record[r->n++] = now;
}

/* The operation under way may be the one that makes the kernel look sources up. */
static void allow_record(struct world *w, unsigned int slot)
{
	if (!w->port[slot].ifindex)
		return;
	remember(w, &w->allowed[slot], record(w, slot, w->m.looks_up_sources));
	remember(w, &w->allowed[slot], record(w, slot, true));
}

void world_allow(struct world *w)
{
	struct naive_answer a;
	struct hops hops;

	for (unsigned int i = 0; i < WORLD_PROBES; i++) {
		struct probe *p = &w->probe[i];

		expect(w, p, &a, &hops);
		for (unsigned int j = 0; j < hops.n; j++)
			hops_add(w, &p->allowed, &hops.hop[j]);
	}
	for (unsigned int i = 0; i < WORLD_PORTS; i++)
		allow_record(w, i);
}

void world_settle(struct world *w)
{
	for (unsigned int i = 0; i < WORLD_PROBES; i++)
		w->probe[i].allowed.n = 0;
	for (unsigned int i = 0; i < WORLD_PORTS; i++)
		w->allowed[i].n = 0;
	world_allow(w);
}

static const char *show(const struct sink_hop *hop, char *buf, size_t size)
{
	char dmac[MAC_STRLEN], smac[MAC_STRLEN];

	if (hop->verdict)
		snprintf(buf, size, "verdict %u", hop->verdict);
	else
		snprintf(buf, size, "out of %u to %s from %s mtu %u port %u sg %u", hop->ifindex,
			 mac_format(hop->dmac, dmac), mac_format(hop->smac, smac), hop->mtu,
			 hop->port, hop->sg);
	return buf;
}

static void print_leg(enum family family, int ifindex, bool has_gateway, struct addr gateway,
		      unsigned int weight)
{
	char gw[ADDR_STRLEN];

	fprintf(stderr, " dev %d via %s weight %u", ifindex,
		has_gateway ? addr_format(family, gateway, gw) : "-", weight);
}

/* What the model holds for the prefixes of a probe, in its order. */
static void explain_model(const struct world *w, const struct probe *p)
{
	const struct rib *rib = &w->m.rib[p->family];
	char text[PREFIX_STRLEN];

	for (__u32 n = RIB_ROOT; n && prefix_covers(rib->node[n].prefix, rib->node[n].len, p->addr);
	     n = rib->node[n].len < family_bits(p->family)
			 ? rib->node[n].child[addr_bit(p->addr, rib->node[n].len)]
			 : 0)
		for (__u32 r = rib->node[n].routes; r; r = rib->route[r].next) {
			const struct path *path = path_at(&w->m.paths, rib->route[r].path);

			fprintf(stderr,
				"  model: %s table %u metric %u type %u proto %u sel %u nhid %u leaf %u:",
				prefix_format(p->family, rib->node[n].prefix, rib->node[n].len,
					      text),
				rib->route[r].table, rib->route[r].priority, path->key.type,
				rib->route[r].protocol, rib->route[r].selector, path->key.nhid,
				path->fib.leaf);
			for (__u32 i = 0; i < path->key.legs; i++)
				print_leg(path->key.leg[i].gateway_family, path->key.leg[i].ifindex,
					  path->key.leg[i].has_gateway, path->key.leg[i].gateway,
					  path->key.leg[i].weight);
			fprintf(stderr, "\n");
		}
}

/* With TRACE set: what the kernel and the model hold about a probe. */
static void explain(const struct world *w, const struct probe *p)
{
	char text[PREFIX_STRLEN];

	if (!getenv("TRACE"))
		return;
	for (unsigned int i = 0; i < w->k.routes; i++) {
		const struct naive_route *r = &w->k.route[i];

		if (r->family != p->family || !prefix_covers(r->dst, r->len, p->addr))
			continue;
		fprintf(stderr,
			"  kernel: %s table %u metric %u type %u proto %u tos %u src %u nhid %u mtu %u expires %d:",
			prefix_format(r->family, r->dst, r->len, text), r->table, r->priority,
			r->type, r->protocol, r->tos, r->src_len, r->nhid, r->mtu, r->expires);
		for (unsigned int j = 0; j < r->legs; j++)
			print_leg(r->leg[j].gateway_family, r->leg[j].ifindex,
				  r->leg[j].has_gateway, r->leg[j].gateway, r->leg[j].weight);
		fprintf(stderr, "\n");
	}
	for (int i = 1; i < NAIVE_LINKS; i++)
		fprintf(stderr, "  link %d there %d up %d carrier %d ignore %d %d port %d\n", i,
			w->k.link[i].there, w->k.link[i].ev.up, w->k.link[i].ev.carrier,
			w->k.link[i].ignore_linkdown[IP4], w->k.link[i].ignore_linkdown[IP6],
			port_of(w, i));
	explain_model(w, p);
}

/* Leaving a packet to the kernel is always right, except that it must not go on for good. */
static bool is_punt(const struct sink_hop *hop)
{
	return hop->verdict != XFIB_FORWARDED && hop->verdict != XFIB_DROP_BLACKHOLE;
}

static bool allowed(const struct world *w, const struct probe *p, const struct sink_hop *hop)
{
	if (!w->loose)
		return hops_have(&p->allowed, hop);
	for (unsigned int i = 0; i < p->allowed.n; i++)
		if (p->allowed.hop[i].verdict == hop->verdict &&
		    p->allowed.hop[i].ifindex == hop->ifindex)
			return true;
	return false;
}

void world_check_probe(struct world *w, const struct probe *p)
{
	static struct sink_answer a;
	char text[128], addr[ADDR_STRLEN];

	sink_lookup(w->sink, p->family, p->addr, &a);
	for (unsigned int i = 0; i < a.legs; i++)
		if (!is_punt(&a.leg[i].hop) && !allowed(w, p, &a.leg[i].hop)) {
			explain(w, p);
			world_fail(w, "%s by leaf %u: %s, which the kernel did not say",
				   addr_format(p->family, p->addr, addr), a.leaf,
				   show(&a.leg[i].hop, text, sizeof(text)));
		}
}

static void check_port(struct world *w, unsigned int slot)
{
	struct xfib_port port = w->sink->ports[slot];
	struct xfib_l3if have = w->sink->l3ifs[port.l3if];

	if (!(port.flags & XFIB_PORT_ENABLED) || w->loose)
		return;
	/* As egress it is looked at by the probes; it may be out of use for a while. */
	have.flags |= XFIB_L3IF_EGRESS | XFIB_L3IF_SG;
	for (unsigned int i = 0; i < w->allowed[slot].n; i++) {
		struct xfib_l3if want = w->allowed[slot].record[i];

		want.flags |= XFIB_L3IF_EGRESS | XFIB_L3IF_SG;
		if (!memcmp(&want, &have, sizeof(want)))
			return;
	}
	world_fail(w, "port %u: flags %#x mtu %u %u were never right, but %#x mtu %u %u", slot,
		   have.flags, have.mtu4, have.mtu6, w->allowed[slot].record[0].flags,
		   w->allowed[slot].record[0].mtu4, w->allowed[slot].record[0].mtu6);
}

void world_on_row(void *arg)
{
	struct world *w = arg;

	for (unsigned int i = 0; i < WORLD_PROBES; i++)
		world_check_probe(w, &w->probe[i]);
	for (unsigned int i = 0; i < WORLD_PORTS; i++)
		check_port(w, i);
}

/* --- the exact answer ------------------------------------------------------------------------------ */

/* The share of buckets or weights that the legs like this one have. */
static __u64 share_of(const struct sink_answer *a, const struct sink_leg *like)
{
	__u64 share = 0;

	for (unsigned int i = 0; i < a->legs; i++)
		if (nexthop_bits(a->leg[i].word) == nexthop_bits(like->word) &&
		    addr_equal(a->leg[i].gateway, like->gateway) &&
		    a->leg[i].gateway_family == like->gateway_family)
			share += a->leg[i].buckets;
	return share;
}

static __u64 weight_of(const struct world *w, const struct naive_answer *a,
		       const struct sink_leg *like)
{
	__u64 weight = 0;

	for (unsigned int i = 0; i < a->legs; i++) {
		const struct leg *leg = &a->leg[i];
		bool port = port_of(w, leg->ifindex) >= 0;

		if (like->word.kind == XFIB_NH_VERDICT
			    ? !port
			    : port && like->word.arg == (__u32)leg->ifindex &&
				      (like->word.kind == XFIB_NH_ADJACENCY) == leg->has_gateway &&
				      (!leg->has_gateway ||
				       (leg->gateway_family == like->gateway_family &&
					addr_equal(leg->gateway, like->gateway))))
			weight += leg->weight;
	}
	return weight;
}

/* Rounding to 1024 buckets may move each leg by about one of them. */
static void check_shares(struct world *w, const char *addr, const struct naive_answer *want,
			 const struct sink_answer *have)
{
	__u64 weights = 0, buckets = 0;

	for (unsigned int i = 0; i < want->legs; i++)
		weights += want->leg[i].weight;
	for (unsigned int i = 0; i < have->legs; i++)
		buckets += have->leg[i].buckets;
	for (unsigned int i = 0; i < have->legs; i++) {
		__u64 share = share_of(have, &have->leg[i]) * weights;
		__u64 ideal = weight_of(w, want, &have->leg[i]) * buckets;
		__u64 off = share > ideal ? share - ideal : ideal - share;
		__u64 tolerance = weights <= XFIB_GROUP_MAX ? 0 : 2 * (want->legs + 1) * weights;

		if (off > tolerance)
			world_fail(
				w,
				"%s: leg %u of %u has %llu of %llu buckets for weight %llu of %llu",
				addr, i, have->legs, share_of(have, &have->leg[i]), buckets,
				weight_of(w, want, &have->leg[i]), weights);
	}
}

/* A table is too small: nothing may be told but that, or that the neighbour is not known. */
static bool excused(const struct world *w, const struct sink_hop *hop)
{
	return w->partly && (hop->verdict == XFIB_PUNT_CAPACITY ||
			     (w->no_neighbours && hop->verdict == XFIB_PUNT_NO_NEIGHBOUR));
}

static void check_exact(struct world *w, const struct probe *p)
{
	static struct sink_answer have;
	struct naive_answer want;
	struct hops hops, got = {};
	char text[128], other[128], addr[ADDR_STRLEN];

	expect(w, p, &want, &hops);
	sink_lookup(w->sink, p->family, p->addr, &have);
	for (unsigned int i = 0; i < have.legs; i++)
		hops_add(w, &got, &have.leg[i].hop);
	for (unsigned int i = 0; i < got.n; i++)
		if (!hops_have(&hops, &got.hop[i]) && !excused(w, &got.hop[i])) {
			explain(w, p);
			world_fail(w, "%s by leaf %u: %s, but the kernel says %s",
				   addr_format(p->family, p->addr, addr), have.leaf,
				   show(&got.hop[i], text, sizeof(text)),
				   show(&hops.hop[0], other, sizeof(other)));
		}
	if (w->partly)
		return;
	for (unsigned int i = 0; i < hops.n; i++)
		if (!hops_have(&got, &hops.hop[i])) {
			explain(w, p);
			world_fail(w, "%s by leaf %u lacks %s",
				   addr_format(p->family, p->addr, addr), have.leaf,
				   show(&hops.hop[i], text, sizeof(text)));
		}
	if (want.verdict)
		return;
	check_shares(w, addr_format(p->family, p->addr, addr), &want, &have);
	if (have.group) {
		int policy =
			p->family == IP4 ? w->k.settings.hash_policy4 : w->k.settings.hash_policy6;

		if (have.group != (policy ? XFIB_NH_GROUP_L4 : XFIB_NH_GROUP_L3))
			world_fail(w, "hash policy %d, but a group of kind %u", policy, have.group);
	}
}

/* Everything that is neither used nor in limbo can be had again. */
void world_check_leaks(struct world *w)
{
	__u32 leaves = 0, members = 0, neighs = 0, l3ifs = 0;

	for (int i = 0; i < 4; i++)
		world_grace(w);
	for (__u32 i = 1; i < w->m.paths.used; i++) {
		const struct path *path = path_at(&w->m.paths, i);
		struct xfib_nexthop nh =
			path ? nexthop_of_bits(path->fib.word) : (struct xfib_nexthop){};

		leaves += path && path->fib.leaf >= XFIB_NH_FIRST;
		if (nh.kind == XFIB_NH_GROUP_L3 || nh.kind == XFIB_NH_GROUP_L4)
			members += 1u << path->fib.order;
		if (path && !path->refs)
			world_fail(w, "a path that nobody uses");
	}
	for (const struct neigh *n = w->m.neighs; n; n = n->hh.next)
		neighs += !!n->fib.slot;
	for (const struct link *l = w->m.links; l; l = l->hh.next)
		l3ifs += !!l->fib.l3if;
	if (w->fib.leaves.live != leaves || w->fib.members.used != members ||
	    w->fib.neighs.live != neighs || w->fib.l3ifs.live != l3ifs)
		world_fail(
			w,
			"leaves %u, not %u; members %u, not %u; neighbours %u, not %u; l3ifs %u, not %u",
			w->fib.leaves.live, leaves, w->fib.members.used, members,
			w->fib.neighs.live, neighs, w->fib.l3ifs.live, l3ifs);
}

void world_check(struct world *w)
{
	/* A port whose slot served another device waits. */
	while (w->fib.tx_gone | w->fib.tx_closed)
		world_grace(w);
	for (unsigned int i = 0; i < WORLD_PROBES; i++)
		check_exact(w, &w->probe[i]);
	for (unsigned int i = 0; i < WORLD_PORTS; i++) {
		struct xfib_l3if want = record(w, i, w->m.looks_up_sources),
				 have = w->sink->l3ifs[w->sink->ports[i].l3if];
		bool there = w->port[i].attached && w->k.link[w->port[i].ifindex].there;

		if (w->partly && !w->sink->ports[i].l3if)
			continue;
		if (there != !!w->sink->ports[i].l3if)
			world_fail(w, "port %u: l3if %u", i, w->sink->ports[i].l3if);
		if (there && memcmp(&want, &have, sizeof(want)))
			world_fail(w, "port %u: flags %#x mtu %u %u, not %#x %u %u", i, have.flags,
				   have.mtu4, have.mtu6, want.flags, want.mtu4, want.mtu6);
	}
	for (unsigned int i = 0; i < w->k.owns; i++) {
		__be32 addr;

		if (w->k.own[i].family != IP4)
			continue;
		addr_to_bytes(IP4, w->k.own[i].addr, &addr);
		if (!(w->sink->own4[xfib_own4_bit(addr) / 64] >> xfib_own4_bit(addr) % 64 & 1))
			world_fail(w, "an own address is missing in own4");
	}
}

static void look_around(struct world *w);

/* --- random operations ------------------------------------------------------------------------------ */

static unsigned int count_routes(const struct world *w, enum family family)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < w->k.routes; i++)
		n += w->k.route[i].family == family;
	return n;
}

static void op_route_del(struct world *w, enum family family)
{
	unsigned int n = count_routes(w, family), i = 0;
	char text[PREFIX_STRLEN];
	bool all = world_chance(w, 50);

	if (!n)
		return;
	for (n = world_random(w, n); w->k.route[i].family != family || n--; i++)
		;
	/* The kernel's own routes go with their addresses. */
	if (w->k.route[i].protocol == RTPROT_KERNEL)
		return;
	say(w, "route del %s table %u metric %u%s",
	    prefix_format(family, w->k.route[i].dst, w->k.route[i].len, text), w->k.route[i].table,
	    w->k.route[i].priority, all ? " with siblings" : "");
	naive_route_del(&w->k, i, all);
}

static void op_route_new(struct world *w, enum family family)
{
	static const struct {
		const char *name;
		unsigned int flags;
	} verbs[] = {
		{ "add", NLM_F_CREATE | NLM_F_EXCL },
		{ "append", NLM_F_CREATE | NLM_F_APPEND },
		{ "append", NLM_F_CREATE | NLM_F_APPEND },
		{ "prepend", NLM_F_CREATE },
		{ "replace", NLM_F_CREATE | NLM_F_REPLACE },
		{ "replace", NLM_F_CREATE | NLM_F_REPLACE },
		{ "change", NLM_F_REPLACE },
	};
	struct naive_route r = world_route(w, family);
	unsigned int verb = world_random(w, sizeof(verbs) / sizeof(verbs[0])),
		     n = count_routes(w, family);
	char text[PREFIX_STRLEN];

	if (n && world_chance(w, 40)) {
		/* Where there is a route already. */
		const struct naive_route *o = &w->k.route[world_random(w, w->k.routes)];

		if (o->family == family && o->type == RTN_UNICAST && r.type == RTN_UNICAST) {
			r.dst = o->dst;
			r.len = o->len;
			r.table = o->table;
			r.priority = o->priority;
			r.mtu = some_mtu(r.priority);
		}
	}
	say(w, "route %s %s table %u metric %u type %u nhid %u legs %u dev %d", verbs[verb].name,
	    prefix_format(family, r.dst, r.len, text), r.table, r.priority, r.type, r.nhid, r.legs,
	    r.leg[0].ifindex);
	naive_route_new(&w->k, &r, verbs[verb].flags);
}

static void route_op(struct world *w)
{
	enum family family = world_random(w, FAMILIES);
	unsigned int n = count_routes(w, family);

	if (n && (n >= w->busy || world_chance(w, 35)))
		op_route_del(w, family);
	else
		op_route_new(w, family);
}

void world_route_op(struct world *w)
{
	route_op(w);
	if (w->live)
		world_allow(w);
}

static void say_hello(struct world *w, enum family family, int ifindex, struct addr addr)
{
	struct neigh_event n = {
		.family = family,
		.ifindex = ifindex,
		.addr = addr,
		.state = NUD_REACHABLE,
		.mac = { .bytes = { 2, 1, family, addr.hi >> 32, addr.lo, ifindex }, .len = 6 },
	};

	naive_neigh_set(&w->k, &n);
}

void world_greet(struct world *w, int ifindex)
{
	for (int f = 0; f < FAMILIES; f++)
		for (unsigned int i = 0; i < 3; i++)
			say_hello(w, f, ifindex, gateway(f, ifindex, i));
	for (unsigned int i = 0; i < WORLD_PROBES; i++)
		say_hello(w, w->probe[i].family, ifindex, w->probe[i].addr);
}

static void op_link_state(struct world *w)
{
	int i = some_link(w);
	const struct link_event *ev = &w->k.link[i].ev;

	if (!w->k.link[i].there)
		return;
	if (!ev->up || !ev->carrier) {
		say(w, "link %d up", i);
		naive_link_set(&w->k, i, true, true);
		if (w->flapping) {
			if (w->live)
				world_allow(w);
			world_greet(w, i);
		}
	} else if (world_chance(w, 50)) {
		say(w, "link %d down", i);
		naive_link_set(&w->k, i, false, false);
	} else {
		say(w, "link %d without carrier", i);
		naive_link_set(&w->k, i, true, false);
	}
}

static void op_link_change(struct world *w)
{
	static const unsigned int mtus[] = { 1500, 1500, 1280, 1400, 9000, 70000 };
	int i = some_link(w);
	struct link_event *ev = &w->k.link[i].ev;

	if (!w->k.link[i].there)
		return;
	switch (world_random(w, 6)) {
	case 0:
		naive_link_mtu(&w->k, i, pick(w, mtus));
		say(w, "link %d: mtu %u", i, ev->mtu);
		return;
	case 1:
		ev->mac.bytes[4] = world_random(w, 4);
		break;
	case 2:
		ev->master = ev->master ? 0 : 1;
		break;
	case 3:
		ev->ether = !ev->ether || world_chance(w, 60);
		break;
	case 4:
		ev->ip6.disable = world_random(w, 2);
		ev->ip6.mtu = world_chance(w, 50) ? 1300 : 1500;
		say(w, "link %d: IPv6 disable %d mtu %d", i, ev->ip6.disable, ev->ip6.mtu);
		naive_link6_changed(&w->k, i);
		return;
	case 5:
		ev->has_ip6_conf = !ev->has_ip6_conf;
		if (ev->has_ip6_conf)
			ev->ip6.forwarding = 1;
		say(w, "link %d: IPv6 %s", i, ev->has_ip6_conf ? "on" : "off");
		naive_link6_changed(&w->k, i);
		return;
	}
	say(w, "link %d: mtu %u mac ..:%02x:.. master %d ether %d", i, ev->mtu, ev->mac.bytes[4],
	    ev->master, ev->ether);
	naive_link_changed(&w->k, i);
}

static void op_link_there(struct world *w)
{
	int i = some_link(w);

	if (w->k.link[i].there) {
		say(w, "link %d del", i);
		naive_link_set(&w->k, i, false, false);
		if (w->live)
			world_allow(w); /* it is down for a moment first */
		naive_link_del(&w->k, i);
		return;
	}
	say(w, "link %d add", i);
	w->k.ignore_linkdown_default = world_random(w, 2);
	naive_link_add(&w->k, i);
}

static void op_netconf(struct world *w)
{
	enum family family = world_random(w, FAMILIES);
	int i = some_link(w);

	if (!w->k.link[i].there || (family == IP6 && !w->k.link[i].ev.has_ip6_conf))
		return;
	switch (world_random(w, 3)) {
	case 0:
		say(w, "link %d: forwarding%c toggled", i, family == IP4 ? '4' : '6');
		naive_netconf(&w->k, family, i, world_chance(w, 70), -1, -1);
		break;
	case 1:
		say(w, "link %d: rp_filter", i);
		naive_netconf(&w->k, IP4, i, -1, world_random(w, 3), -1);
		break;
	case 2:
		say(w, "link %d: ignore_routes_with_linkdown%c", i, family == IP4 ? '4' : '6');
		naive_netconf(&w->k, family, i, -1, -1, world_random(w, 2));
		break;
	}
}

static void op_object(struct world *w)
{
	struct naive_object o = { .id = 10 + world_random(w, 8),
				  .family = world_random(w, FAMILIES) };

	if (world_chance(w, 25)) {
		say(w, "nexthop del id %u", o.id);
		naive_object_del(&w->k, o.id);
		return;
	}
	o.group = o.id >= 15;
	if (o.group) {
		o.family = IP4;
		o.resilient = world_chance(w, 10);
		o.members = 1 + world_random(w, 4);
		for (unsigned int i = 0; i < o.members; i++) {
			o.member[i].id = 10 + (world_random(w, 2) + 2 * i) % 5;
			o.member[i].weight = 1 + world_random(w, world_chance(w, 5) ? 65536 : 4);
		}
	} else if (world_chance(w, 5)) {
		o.blackhole = true;
		o.leg.weight = 1;
	} else {
		o.leg = some_leg(w, o.family, world_chance(w, 80));
		if (o.leg.has_gateway && o.leg.gateway_family != o.family) {
			o.leg.gateway_family = o.family;
			o.leg.gateway = gateway(o.family, o.leg.ifindex, 0);
		}
		o.leg.weight = 1;
		o.leg.encap = false;
	}
	say(w, "nexthop replace id %u group %d members %u dev %d", o.id, o.group, o.members,
	    o.leg.ifindex);
	naive_object_new(&w->k, &o);
}

static struct addr some_neigh_addr(struct world *w, enum family family, int ifindex)
{
	if (world_chance(w, 60))
		return gateway(family, ifindex, world_random(w, 3));
	for (;;) {
		const struct probe *p = &w->probe[world_random(w, WORLD_PROBES)];

		if (p->family == family)
			return p->addr;
	}
}

static void op_neigh(struct world *w)
{
	static const unsigned int states[] = {
		NUD_REACHABLE, NUD_REACHABLE, NUD_REACHABLE,  NUD_STALE,  NUD_DELAY,
		NUD_PROBE,     NUD_PERMANENT, NUD_INCOMPLETE, NUD_FAILED, NUD_NOARP,
	};
	struct neigh_event n = { .family = world_random(w, FAMILIES), .ifindex = some_link(w) };

	if (w->k.neighs && (w->k.neighs >= NAIVE_NEIGHS - 8 || world_chance(w, 20))) {
		say(w, "neigh del");
		naive_neigh_del(&w->k, world_random(w, w->k.neighs));
		return;
	}
	n.addr = some_neigh_addr(w, n.family, n.ifindex);
	n.state = pick(w, states);
	n.mac = (struct lladdr){ .bytes = { 2, 1, world_random(w, 4), n.addr.hi >> 32, n.addr.lo,
					    n.ifindex },
				 .len = 6 };
	if (n.state == NUD_INCOMPLETE)
		n.mac.len = 0;
	if (world_chance(w, 2))
		n.mac.bytes[0] = 1;
	if (world_chance(w, 5))
		n.flags = NTF_EXT_LEARNED;
	say(w, "neigh on %d state %#x", n.ifindex, n.state);
	naive_neigh_set(&w->k, &n);
}

static void op_host(struct world *w)
{
	struct addr_event own = { .family = world_random(w, FAMILIES), .ifindex = some_link(w) };

	switch (world_random(w, 4)) {
	case 0:
		if (w->k.owns) {
			say(w, "addr del");
			naive_own_del(&w->k, world_random(w, w->k.owns));
		}
		break;
	case 1:
		own.addr = world_addr(w, own.family);
		own.prefixlen = family_bits(own.family);
		say(w, "addr add");
		naive_own_add(&w->k, &own);
		break;
	case 2:
		say(w, "proxy add");
		naive_proxy_add(&w->k, own.ifindex,
				w->probe[world_random(w, WORLD_PROBES / 2)].addr);
		break;
	case 3:
		if (w->k.proxies) {
			say(w, "proxy del");
			naive_proxy_del(&w->k, world_random(w, w->k.proxies));
		}
		break;
	}
}

static void op_rule(struct world *w)
{
	enum family family = world_random(w, FAMILIES);
	struct rule_event rule = {
		.family = family,
		.priority = 100,
		.table = RT_TABLE_MAIN,
		.action = FR_ACT_TO_TBL,
		.selective = world_chance(w, 50),
	};

	if (!naive_rules_default(&w->k, family)) {
		say(w, "rule del");
		naive_rule_del(&w->k, family, w->k.rules[family] - 1);
	} else {
		say(w, "rule add");
		naive_rule_add(&w->k, &rule);
	}
}

/* What no message tells; the daemon finds it by polling. */
static void op_setting(struct world *w)
{
	struct settings *s = &w->k.settings;
	int *const flags[] = {
		&s->rp_filter_all,	     &s->send_redirects_all, &s->ip_forward_use_pmtu,
		&s->fib_multipath_use_neigh, &s->hash_policy4,	     &s->hash_policy6,
		&s->forwarding6_all,
	};
	unsigned int i = world_random(w, 7);

	say(w, "setting %u", i);
	*flags[i] = *flags[i] && world_chance(w, 70) ? 0 : world_random(w, i < 2 || i > 5 ? 2 : 3);
	if (i == 2 || i == 3)
		*flags[i] &= 1;
	if (i == 6)
		s->forwarding6_all = world_chance(w, 80);
}

static void op_device(struct world *w)
{
	struct naive_link *link = &w->k.link[some_link(w)];
	unsigned int slot = world_random(w, WORLD_PORTS);
	struct fib_port *port = &w->port[slot];

	if (world_chance(w, 40)) {
		link->xmit = world_chance(w, 80);
		link->sg = world_chance(w, 50);
		link->ev.ip4.send_redirects = world_random(w, 2);
		say(w, "link %d: xmit %d sg %d", link->ev.ifindex, link->xmit, link->sg);
	} else if (port->ifindex) {
		say(w, "port %u detached", slot);
		*port = (struct fib_port){};
	} else if (link->there && port_of(w, link->ev.ifindex) < 0) {
		say(w, "port %u attached to %d", slot, link->ev.ifindex);
		*port = (struct fib_port){ .ifindex = link->ev.ifindex, .attached = true };
	}
}

void world_op(struct world *w)
{
	static const struct {
		unsigned int percent;
		void (*op)(struct world *w);
		bool polled;
	} ops[] = {
		{ 52, route_op, false },     { 14, op_neigh, false }, { 8, op_object, false },
		{ 6, op_link_state, false }, { 5, op_host, false },   { 4, op_link_change, false },
		{ 4, op_netconf, false },    { 3, op_device, true },  { 2, op_setting, true },
		{ 1, op_link_there, false }, { 1, op_rule, false },
	};
	unsigned int at = world_random(w, 100), i = 0;

	if (w->flapping && world_chance(w, 25)) {
		op_link_state(w);
		if (w->live)
			world_allow(w);
		return;
	}
	while (at >= ops[i].percent)
		at -= ops[i++].percent;
	/* What is looked at, not told, is looked at when all that was told before has been heard. */
	while (w->live && ops[i].polled && world_deliver(w))
		;
	ops[i].op(w);
	if (!w->live)
		return;
	world_allow(w);
	if (ops[i].polled)
		look_around(w);
}

/* --- messages ---------------------------------------------------------------------------------------- */

static size_t event_len(const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_ROUTE:
		return offsetof(struct event, route.leg) +
		       ev->route.legs * sizeof(ev->route.leg[0]);
	case EVENT_NEXTHOP:
		return offsetof(struct event, nexthop.member) +
		       ev->nexthop.members * sizeof(ev->nexthop.member[0]);
	default:
		return offsetof(struct event, link) + sizeof(struct link_event);
	}
}

struct event *world_keep(const struct event *ev)
{
	struct event *copy = malloc(event_len(ev));

	if (!copy)
		abort();
	return memcpy(copy, ev, event_len(ev));
}

static void on_event(void *arg, const struct event *ev)
{
	struct world *w = arg;

	if (!w->live)
		return;
	if (w->tail - w->head == WORLD_QUEUE)
		world_fail(w, "too many messages on their way");
	w->queue[w->tail++ % WORLD_QUEUE] = world_keep(ev);
}

bool world_deliver(struct world *w)
{
	struct event *ev;

	if (w->head == w->tail)
		return false;
	ev = w->queue[w->head++ % WORLD_QUEUE];
	model_apply(&w->m, ev);
	free(ev);
	return true;
}

void world_lose(struct world *w, unsigned int keep)
{
	while (w->tail - w->head > keep)
		free(w->queue[--w->tail % WORLD_QUEUE]);
}

static void look_around(struct world *w)
{
	model_set_settings(&w->m, &w->k.settings);
	for (int i = 1; i < NAIVE_LINKS; i++) {
		const struct link_event *ev = &w->k.link[i].ev;

		model_set_features(&w->m, i, w->k.link[i].xmit, w->k.link[i].sg);
		model_set_link_settings(
			&w->m, i,
			&(struct link_settings){
				.send_redirects = ev->ip4.send_redirects,
				.disable_ipv6 = ev->has_ip6_conf ? ev->ip6.disable : 1,
				.mtu6 = ev->has_ip6_conf ? ev->ip6.mtu : 0,
			});
	}
	for (unsigned int i = 0; i < WORLD_PORTS; i++)
		fib_set_port(&w->fib, i, w->port[i].ifindex, w->port[i].attached);
}

void world_commit(struct world *w)
{
	/* Else it would see what the model has yet to hear. */
	if (w->head == w->tail)
		look_around(w);
	fib_commit(&w->fib);
}

void world_grace(struct world *w)
{
	if (w->graceful) {
		sink_grace_end(w->sink);
		fib_grace_end(&w->fib);
		w->graceful = false;
	} else if (fib_grace_begin(&w->fib)) {
		sink_grace_begin(w->sink);
		w->graceful = true;
	}
}

static void apply(void *arg, const struct event *ev)
{
	struct world *w = arg;

	model_apply(&w->m, ev);
}

void world_dump_end(struct world *w, enum nl_table table)
{
	model_dump_end(&w->m, table);
	if (w->fib.started && (table == NL_ROUTES4 || table == NL_ROUTES6)) {
		fib_flush(&w->fib, table == NL_ROUTES4 ? IP4 : IP6);
		fib_commit(&w->fib);
	}
	model_settle(&w->m);
	if (w->fib.started)
		world_commit(w);
}

int world_wanted(const struct world *w)
{
	static const enum nl_table order[NL_TABLES] = {
		NL_LINKS,    NL_NETCONF4, NL_NETCONF6, NL_ADDRS,   NL_RULES4,  NL_RULES6,
		NL_NEXTHOPS, NL_NEIGHS,	  NL_PROXIES,  NL_ROUTES4, NL_ROUTES6,
	};

	for (int i = 0; i < NL_TABLES; i++)
		if (w->m.wanted & 1u << order[i])
			return order[i];
	return -1;
}

void world_dump(struct world *w)
{
	int table;

	for (int dumps = 0; (table = world_wanted(w)) >= 0; dumps++) {
		struct naive_cursor cursor = {};

		if (dumps == 5 * NL_TABLES)
			world_fail(w, "tables %#x are wanted again and again", w->m.wanted);
		model_dump_begin(&w->m, table);
		while (naive_dump(&w->k, table, &cursor, apply, w))
			;
		world_dump_end(w, table);
	}
}

void world_audit(struct world *w)
{
	world_dump(w);
	w->m.wanted = (1u << NL_TABLES) - 1;
	world_dump(w);
	for (int i = 0; i < NL_TABLES; i++)
		if (w->m.table[i].changes)
			world_fail(w, "a dump of table %d found %llu differences", i,
				   w->m.table[i].changes);
	world_check(w);
	world_check_leaks(w);
}

/* --- life ---------------------------------------------------------------------------------------------- */

struct world *world_new(__u64 seed)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->seed = seed;
	w->rng = seed * 0x9e3779b97f4a7c15ull + 1;
	w->capacity = 100000;
	w->busy = 60;
	naive_init(&w->k);
	w->k.emit = on_event;
	w->k.arg = w;
	w->sink = sink_new();
	w->sink->fib = &w->fib;
	w->sink->fail = on_broken;
	w->sink->arg = w;
	for (unsigned int i = 0; i < WORLD_PORTS - 1; i++)
		w->port[i] = (struct fib_port){ .ifindex = i + 2, .attached = i < 3 };
	for (unsigned int i = 0; i < WORLD_PORTS; i++)
		if (!w->port[i].attached)
			w->port[i].ifindex = 0;
	for (unsigned int i = 0; i < WORLD_PROBES; i++) {
		w->probe[i].family = i < WORLD_PROBES / 2 ? IP6 : IP4;
		w->probe[i].addr = world_addr(w, w->probe[i].family);
	}
	snprintf(w->op, sizeof(w->op), "the start");
	return w;
}

void world_narrow(struct world *w)
{
	w->narrow = true;
	for (unsigned int i = 0; i < WORLD_PROBES; i++) {
		struct probe *p = &w->probe[i];
		unsigned int bit = (p->family == IP4 ? 8 : 32) * (i % 5);

		/* Leaves the nested prefixes one after the other; the first or last probe stays in all. */
		p->addr = w->probe[p->family == IP6 ? 0 : WORLD_PROBES - 1].addr;
		if (i % 5 == 4 || !i || i == WORLD_PROBES - 1)
			continue;
		if (bit < 64)
			p->addr.hi ^= 1ull << (63 - bit);
		else
			p->addr.lo ^= 1ull << (127 - bit);
	}
}

static void adopt(struct world *w)
{
	const struct fib_maps maps = {
		.ports = w->sink->ports,
		.l3ifs = w->sink->l3ifs,
		.nexthops = w->sink->nexthops,
		.members = w->sink->members,
		.neighs = w->sink->neighs,
	};

	assert_int_equal(fib_adopt(&w->fib, &maps), 0);
}

void world_start(struct world *w)
{
	bool adopted = nexthop_bits(w->sink->nexthops[XFIB_PUNT_NO_ROUTE]);

	assert_int_equal(model_init(&w->m, 4096, &fib_hooks, &w->fib), 0);
	assert_int_equal(fib_init(&w->fib, &w->m, &sink_ops, w->sink, w->capacity, w->capacity), 0);
	w->fib.drop_blackhole = w->dropping;
	if (adopted)
		adopt(w);
	w->live = true;
	w->m.wanted = (1u << NL_TABLES) - 1;
	world_dump(w);
	look_around(w);
	if (!adopted)
		world_settle(w);
	world_allow(w);
	w->sink->row = world_on_row;
	w->fib.enabled = adopted;
	fib_start(&w->fib);
	fib_commit(&w->fib);
	if (adopted) {
		sink_sweep(w->sink, &w->fib);
		fib_adopt_end(&w->fib);
	}
	fib_set_enabled(&w->fib, true);
	world_commit(w);
	if (!w->sink->frozen) /* else what it did not replace may be as old as ever */
		world_settle(w);
}

void world_stop(struct world *w)
{
	world_lose(w, 0);
	w->live = false;
	w->graceful = false;
	w->sink->frozen = false;
	w->sink->dies_at = 0;
	w->sink->queue.len = 0;
	w->sink->row = NULL;
	fib_done(&w->fib);
	model_done(&w->m);
	sink_quiet(w->sink);
}

void world_free(struct world *w)
{
	if (w->live)
		world_stop(w);
	sink_free(w->sink);
	free(w);
}

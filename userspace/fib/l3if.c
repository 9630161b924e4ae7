// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Links and settings -> interface records and port words. A record is never changed: a new one goes
 * into a fresh slot, then the port's word and the words of all neighbours on it are pointed there.
 * What a record may not do, and why, is said in words for `status`.
 */
#include <stdio.h>
#include <string.h>

#include "fib.h"

static int max(int a, int b)
{
	return a > b ? a : b;
}

static __u32 min(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

bool fib_family_reason(const struct fib *fib, enum family family, char reason[static XFIB_REASON])
{
	const struct settings *s = &fib->m->settings;
	const char *policy = fib->m->policy.family[family];
	__u32 priority;

	if (!model_rules_default(fib->m, family, &priority))
		snprintf(reason, XFIB_REASON,
			 "the ip%s rule of priority %u differs from the kernel's default rules",
			 family == IP6 ? " -6" : "", priority);
	else if (fib->m->full[family])
		snprintf(reason, XFIB_REASON,
			 "the kernel has more than the %u IPv%c routes that xfibd holds",
			 MODEL_ROUTES, family == IP4 ? '4' : '6');
	else if (family == IP4 && s->ip_forward_use_pmtu)
		snprintf(reason, XFIB_REASON,
			 "net.ipv4.ip_forward_use_pmtu is 1: path MTUs are not visible");
	else if (family == IP6 && !s->forwarding6_all)
		snprintf(reason, XFIB_REASON, "net.ipv6.conf.all.forwarding is 0");
	else if (policy[0])
		memcpy(reason, policy, XFIB_REASON);
	else
		return false;
	return true;
}

/* What keeps an interface out for both families. */
static bool common_reason(const struct fib *fib, const struct link *link, char *reason)
{
	static const __u8 zero[6];
	const struct link_event *ev = &link->ev;
	const struct link *master = ev->master ? model_link(fib->m, ev->master) : NULL;

	if (ev->master)
		snprintf(reason, XFIB_REASON, "it belongs to the %s %s",
			 ev->slave_kind[0] ? ev->slave_kind : "device",
			 master ? master->ev.name : "of another namespace");
	else if (!ev->ether || ev->mac.len != 6 || ev->mac.bytes[0] & 1 ||
		 !memcmp(ev->mac.bytes, zero, 6))
		snprintf(reason, XFIB_REASON,
			 "it is not a plain Ethernet device with a unicast address");
	else if (!ev->up)
		snprintf(reason, XFIB_REASON, "the link is down");
	else
		return false;
	return true;
}

/*
 * A device on top that the kernel gives frames to although they carry the port's own MAC: by VLAN tag,
 * which the hardware or veth may have taken off already, by IP address (ipvlan), or all of them.
 */
static const struct link *steals_frames(const struct fib *fib, const struct link *port)
{
	static const char *const kinds[] = { "vlan", "ipvlan", "ipvtap", "macsec", "hsr" };
	const struct link *upper;

	for (upper = fib->m->links; upper; upper = upper->hh.next) {
		const struct link_event *ev = &upper->ev;

		if ((__u32)ev->lower != port->ifindex || ev->lower_nsid >= 0)
			continue;
		for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (!strcmp(ev->kind, kinds[i]))
				return upper;
		if (!strncmp(ev->kind, "macv", 4) && !memcmp(ev->mac.bytes, port->ev.mac.bytes, 6))
			return upper;
	}
	return NULL;
}

/* What the host has configured on the port; nothing for one that is none. */
static const struct port_policy *policy_of(const struct fib *fib, const struct link *link)
{
	static const struct port_policy none;

	for (unsigned int i = 0; i < XFIB_PORTS; i++)
		if (fib->m->policy.port[i].ifindex == link->ifindex)
			return &fib->m->policy.port[i];
	return &none;
}

static void ingress_reason(const struct fib *fib, const struct link *link, enum family family,
			   char reason[static XFIB_REASON])
{
	const char *policy = policy_of(fib, link)->ingress;
	const struct link *upper = steals_frames(fib, link);
	int forwarding = family == IP4 ? link->forwarding4 : link->forwarding6;

	if (upper)
		snprintf(reason, XFIB_REASON, "%s (%s) takes frames from it", upper->ev.name,
			 upper->ev.kind);
	else if (fib_family_reason(fib, family, reason))
		return;
	else if (family == IP6 && link->ev.ip6.disable > 0)
		snprintf(reason, XFIB_REASON, "net.ipv6.conf.%s.disable_ipv6 is 1", link->ev.name);
	else if (forwarding <= 0)
		snprintf(reason, XFIB_REASON, "net.ipv%c.conf.%s.forwarding is 0",
			 family == IP4 ? '4' : '6', link->ev.name);
	else
		memcpy(reason, policy, XFIB_REASON);
}

static void egress_reason(const struct fib *fib, const struct link *link,
			  char reason[static XFIB_REASON])
{
	if (link->settle.on)
		snprintf(reason, XFIB_REASON, "it was down: its routes are being read again");
	else if (!link->ev.carrier)
		snprintf(reason, XFIB_REASON, "no carrier");
	else if (!link->xmit)
		snprintf(reason, XFIB_REASON, "its driver cannot send XDP frames%s",
			 strcmp(link->ev.kind, "veth")
				 ? ""
				 : ": the peer needs an XDP program or `ethtool -K PEER gro on`");
	else
		memcpy(reason, policy_of(fib, link)->egress, XFIB_REASON);
}

void fib_link_reasons(const struct fib *fib, const struct link *link, struct fib_reasons *why)
{
	*why = (struct fib_reasons){};
	if (common_reason(fib, link, why->ip4)) {
		memcpy(why->ip6, why->ip4, XFIB_REASON);
		memcpy(why->egress, why->ip4, XFIB_REASON);
		return;
	}
	ingress_reason(fib, link, IP4, why->ip4);
	ingress_reason(fib, link, IP6, why->ip6);
	egress_reason(fib, link, why->egress);
}

static struct xfib_l3if record_of(const struct fib *fib, const struct link *link)
{
	const struct settings *s = &fib->m->settings;
	const struct link_event *ev = &link->ev;
	int rp_filter = max(link->rp_filter, s->rp_filter_all);
	struct xfib_l3if r = { .port = link->fib.port, .ifindex = link->ifindex };
	struct fib_reasons why;

	fib_link_reasons(fib, link, &why);
	memcpy(r.mac, ev->mac.bytes, sizeof(r.mac));
	r.mtu4 = min(ev->mtu, 0xffff);
	/* disable_ipv6 on the egress drops in ip6_output(): nothing fits. */
	r.mtu6 = ev->ip6.disable > 0 ? 0 : min(ev->ip6.mtu > 0 ? ev->ip6.mtu : 0xffff, r.mtu4);
	if (!why.ip4[0])
		r.flags |= XFIB_L3IF_IP4;
	if (!why.ip6[0])
		r.flags |= XFIB_L3IF_IP6;
	if (!why.egress[0])
		r.flags |= XFIB_L3IF_EGRESS;
	if (link->sg)
		r.flags |= XFIB_L3IF_SG;
	/* IN_DEV_TX_REDIRECTS() is the or of both. */
	if (!s->send_redirects_all && !ev->ip4.send_redirects)
		r.flags |= XFIB_L3IF_HAIRPIN;
	/* Without an IPv4 address the kernel is strict even where it is to be loose. */
	if (rp_filter == 1 || (rp_filter >= 2 && !model_has_ip4_addr(fib->m, link->ifindex)))
		r.flags |= XFIB_L3IF_RPF_STRICT;
	else if (rp_filter >= 2 || fib->m->looks_up_sources)
		r.flags |= XFIB_L3IF_RPF_LOOSE;
	if (fib->m->policy.tracking[IP4][0])
		r.flags |= XFIB_L3IF_DEFRAG4;
	if (fib->m->policy.tracking[IP6][0])
		r.flags |= XFIB_L3IF_DEFRAG6;
	return r;
}

static __u64 port_bits(struct xfib_port port)
{
	union {
		struct xfib_port port;
		__u64 word;
	} u = { .port = port };

	return u.word;
}

/* The word of a port as its link stands now. */
static void publish_port(struct fib *fib, unsigned int slot)
{
	const struct fib_port *p = &fib->port[slot];
	const struct link *link = p->ifindex ? model_link(fib->m, p->ifindex) : NULL;
	struct xfib_port word = {};

	if (link && p->attached && link->fib.l3if) {
		word.ifindex = p->ifindex;
		word.l3if = link->fib.l3if;
		word.flags = (fib->enabled ? XFIB_PORT_ENABLED : 0) |
			     (link->ev.mtu > 1500 ? XFIB_PORT_FRAGS : 0);
	}
	if (port_bits(word) == fib->port_word[slot])
		return;
	fib->port_word[slot] = port_bits(word);
	fib->sink->port(fib->sink_arg, slot, word);
}

/* A slot that sent to another device waits until no packet can be on its way there. */
static int port_of(const struct fib *fib, __u32 ifindex)
{
	for (int i = 0; i < XFIB_PORTS; i++)
		if (fib->port[i].ifindex == ifindex && fib->port[i].attached &&
		    (!fib->tx[i] || fib->tx[i] == ifindex))
			return i;
	return -1;
}

/* Points everything that refers to the interface to a fresh record (or to none), then retires the old. */
static void replace_l3if(struct fib *fib, struct link *link, __u32 slot)
{
	__u32 old = link->fib.l3if;

	link->fib.l3if = slot;
	if (link->fib.port >= 0)
		publish_port(fib, link->fib.port);
	neigh_update_link(fib, link->ifindex);
	if (old)
		slots_retire(&fib->l3ifs, old);
}

static void update_record(struct fib *fib, struct link *link)
{
	struct xfib_l3if record = record_of(fib, link);
	__u32 slot;

	if (link->fib.l3if && !memcmp(&fib->l3if[link->fib.l3if], &record, sizeof(record))) {
		publish_port(fib, link->fib.port);
		return;
	}
	slot = adopt_l3if(fib, &record);
	if (!slot) {
		slot = slots_get(&fib->l3ifs);
		if (slot)
			fib->sink->l3if(fib->sink_arg, slot, &record);
	}
	if (slot)
		fib->l3if[slot] = record;
	else
		fib->l3ifs_short = true;
	replace_l3if(fib, link, slot);
}

/*
 * Neighbours and routes of a device that is gone stay in the model until the kernel's messages take
 * them; what they publish turns into punts here and now.
 */
static void update_link(struct fib *fib, struct link *link, bool gone)
{
	int port = gone ? -1 : port_of(fib, link->ifindex), was = link->fib.port;
	bool moved = port != was || gone;
	bool relinked = moved || link->fib.up != link->ev.up ||
			link->fib.carrier != link->ev.carrier ||
			link->fib.ignore_linkdown4 != link->ignore_linkdown4 ||
			link->fib.ignore_linkdown6 != link->ignore_linkdown6 ||
			link->fib.reborn != link->reborn;

	link->fib.up = link->ev.up;
	link->fib.carrier = link->ev.carrier;
	link->fib.ignore_linkdown4 = link->ignore_linkdown4;
	link->fib.ignore_linkdown6 = link->ignore_linkdown6;
	link->fib.reborn = link->reborn;
	link->fib.port = port;
	if (port >= 0) {
		if (moved) {
			fib->tx_gone &= ~(1ull << port);
			fib->tx_closed &= ~(1ull << port);
			fib->tx[port] = link->ifindex;
			fib->sink->tx(fib->sink_arg, port, link->ifindex);
		}
		update_record(fib, link);
	} else if (link->fib.l3if) {
		replace_l3if(fib, link, 0);
	}
	if (was >= 0 && was != port)
		publish_port(fib, was);
	if (relinked)
		path_update_all(fib, link->ifindex);
}

void l3if_update(struct fib *fib, struct link *link, bool gone)
{
	struct link *lower = link->ev.lower && link->ev.lower_nsid < 0
				     ? model_link(fib->m, link->ev.lower)
				     : NULL;

	update_link(fib, link, gone);
	if (lower && lower != link && lower->fib.port >= 0)
		update_link(fib, lower, false);
}

void l3if_feed(struct fib *fib)
{
	if (!fib->l3ifs_short)
		return;
	fib->l3ifs_short = false;
	l3if_update_all(fib);
}

void l3if_update_all(struct fib *fib)
{
	struct link *link, *tmp;

	HASH_ITER(hh, fib->m->links, link, tmp)
	update_link(fib, link, false);
}

void l3if_start(struct fib *fib)
{
	/* What a dead daemon left: slots of devices that are not there or not ports any more. */
	for (unsigned int i = 0; i < XFIB_PORTS; i++)
		if (fib->tx[i] && !(fib->port[i].attached && fib->port[i].ifindex == fib->tx[i]))
			fib->tx_gone |= 1ull << i;
	l3if_update_all(fib);
	for (unsigned int i = 0; i < XFIB_PORTS; i++)
		publish_port(fib, i);
}

void fib_set_port(struct fib *fib, unsigned int slot, __u32 ifindex, bool attached)
{
	struct fib_port *p = &fib->port[slot];
	__u32 old = p->ifindex;
	struct link *link;

	if (p->ifindex == ifindex && p->attached == attached)
		return;
	*p = (struct fib_port){ .ifindex = ifindex, .attached = attached };
	if (!fib->started)
		return;
	if (old && (link = model_link(fib->m, old)))
		l3if_update(fib, link, false);
	if (fib->tx[slot] && !(attached && ifindex == fib->tx[slot]))
		fib->tx_gone |= 1ull << slot;
	if (ifindex && ifindex != old && (link = model_link(fib->m, ifindex)))
		l3if_update(fib, link, false);
	publish_port(fib, slot);
}

void tx_end(struct fib *fib)
{
	__u64 slots = fib->tx_closed;

	fib->tx_closed = 0;
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		struct link *link;

		if (!(slots >> i & 1))
			continue;
		fib->tx[i] = 0;
		fib->sink->tx(fib->sink_arg, i, 0);
		link = fib->port[i].ifindex ? model_link(fib->m, fib->port[i].ifindex) : NULL;
		if (link)
			l3if_update(fib, link, false);
	}
}

void fib_set_enabled(struct fib *fib, bool enabled)
{
	fib->enabled = enabled;
	for (unsigned int i = 0; i < XFIB_PORTS; i++)
		publish_port(fib, i);
}

void own4_update(struct fib *fib)
{
	__u64 words[XFIB_OWN_BITS / 64] = {};
	const struct host_addr *host;

	for (host = fib->m->own; host; host = host->hh.next) {
		__be32 addr;
		__u32 bit;

		if (host->key.family != IP4)
			continue;
		addr_to_bytes(IP4, host->key.addr, &addr);
		bit = xfib_own4_bit(addr);
		words[bit / 64] |= 1ull << (bit % 64);
	}
	if (!memcmp(words, fib->own4, sizeof(words)))
		return;
	memcpy(fib->own4, words, sizeof(words));
	fib->sink->own4(fib->sink_arg, words);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What people may know, in the status map: one writer, readers that check the sequence number.
 * Written once a second and when the state of the sync or the host's policy changes.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"

static enum xfib_sync sync_state(const struct daemon *d)
{
	if (!d->fib.started)
		return XFIB_SYNC_DUMPING;
	return sync_behind(d) || d->sync.lost ? XFIB_SYNC_DIRTY : XFIB_SYNC_SYNCED;
}

/* Verdicts that stand for something xfib does not model, or has no room for. */
static __u64 markers(const struct fib_family *ff)
{
	static const __u8 kinds[] = {
		XFIB_PUNT_ENCAP, XFIB_PUNT_SELECTIVE_ROUTE,
		XFIB_PUNT_PROXY, XFIB_PUNT_UNSUPPORTED_ROUTE,
		XFIB_PUNT_THROW, XFIB_PUNT_CAPACITY,
	};
	__u64 n = 0;

	for (unsigned int i = 0; i < sizeof(kinds); i++)
		n += ff->by_verdict[kinds[i]];
	return n;
}

static struct xfib_table_status route_table(const struct daemon *d, enum family f)
{
	const struct fib_family *ff = &d->fib.family[f];
	struct engine_room room = publish_room(&d->publish, f);

	return (struct xfib_table_status){
		.entries = ff->installed,
		.capacity = ff->capacity,
		.bytes = room.bytes,
		.punt_markers = markers(ff) + room.markers,
		.overflow = ff->overflow + room.markers,
	};
}

static void family_reasons(const struct daemon *d, enum family f, char reason[4][XFIB_REASON],
			   __u8 *fast)
{
	const struct fib_family *ff = &d->fib.family[f];
	struct engine_room room;
	unsigned int n = 0;

	memset(reason, 0, 4 * XFIB_REASON);
	if (!d->fib.started)
		snprintf(reason[n++], XFIB_REASON, "the kernel's tables are being read");
	else if (!d->extended_ns)
		snprintf(reason[n++], XFIB_REASON,
			 "the hold time ran out: the kernel's tables are read again");
	else
		n += fib_family_reason(&d->fib, f, reason[n]);
	*fast = !n;
	if (ff->overflow)
		snprintf(
			reason[n++], XFIB_REASON,
			"%u routes found no room and stay in the kernel: restart xfibd with --routes%c above %u",
			ff->overflow, f == IP4 ? '4' : '6', ff->capacity);
	room = publish_room(&d->publish, f);
	if (room.markers)
		snprintf(
			reason[n++], XFIB_REASON,
			"%llu parts found no room and stay in the kernel: more --trie-memory than %llu",
			room.markers, room.bytes / 1024);
	if (d->fib.starved)
		snprintf(reason[n++], XFIB_REASON,
			 "%u next hops found no room and stay in the kernel", d->fib.starved);
	policy_notes(d, f, reason, n);
}

/* Appends "WHAT: WHY". */
static void append_reason(char out[XFIB_REASONS], const char *what, const char *why)
{
	const char *const parts[] = { out[0] ? "; " : "", what, ": ", why };

	for (unsigned int i = 0; why[0] && i < sizeof(parts) / sizeof(parts[0]); i++)
		strncat(out, parts[i], XFIB_REASONS - 1 - strlen(out));
}

/* One line for an interface: the reason if it is one for all, else what each is for. */
static void join_reasons(const struct fib_reasons *why, char out[XFIB_REASONS])
{
	if (!strcmp(why->ip4, why->ip6) && (!strcmp(why->ip4, why->egress) || !why->egress[0])) {
		memcpy(out, why->ip4, XFIB_REASON);
		return;
	}
	out[0] = '\0';
	append_reason(out, "IPv4", why->ip4);
	append_reason(out, "IPv6", why->ip6);
	append_reason(out, "egress", why->egress);
}

static void l3if_list(const struct daemon *d, struct xfib_status *s)
{
	const struct fib *fib = &d->fib;
	unsigned int n = 0;

	for (unsigned int port = 0; port < XFIB_PORTS; port++) {
		const struct link *link = fib->port[port].ifindex
						  ? model_link(fib->m, fib->port[port].ifindex)
						  : NULL;
		struct xfib_l3if_status *l = &s->l3ifs[n];
		struct fib_reasons why;

		if (!link || link->fib.port != (int)port)
			continue;
		fib_link_reasons(fib, link, &why);
		*l = (struct xfib_l3if_status){
			.ifindex = link->ifindex,
			.port = port,
			.ip4 = !why.ip4[0] && fib->enabled,
			.ip6 = !why.ip6[0] && fib->enabled,
			.egress = !why.egress[0],
		};
		memcpy(l->ifname, link->ev.name, sizeof(l->ifname));
		join_reasons(&why, l->reason);
		n++;
	}
	s->l3ifs[n] = (struct xfib_l3if_status){};
}

static void fill(struct daemon *d, struct xfib_status *s)
{
	s->beat_ns = d->extended_ns ? d->extended_ns : now_ns();
	s->hold_ms = d->opt.hold_s * 1000ull;
	s->pid = getpid();
	s->sync = sync_state(d);
	s->generation = d->generation;
	s->resyncs = d->resyncs;
	s->drift = d->drift;
	s->synced_ms = d->synced_ms;
	s->lag_us = d->lag_us;
	d->lag_us = 0;
	s->route4 = route_table(d, IP4);
	s->route6 = route_table(d, IP6);
	s->neigh = (struct xfib_table_status){
		.entries = d->fib.neighs.live,
		.capacity = XFIB_NEIGHS_MAX,
		.bytes = XFIB_NEIGHS * (sizeof(struct xfib_neigh) + sizeof(__u32)),
		.overflow = d->fib.neigh_overflow,
	};
	s->nexthop = (struct xfib_table_status){
		.entries = d->fib.leaves.live,
		.capacity = XFIB_NH_LAST - XFIB_NH_FIRST + 1,
		.bytes = XFIB_NEXTHOPS * sizeof(struct xfib_nexthop),
		.overflow = d->fib.starved,
	};
	s->member = (struct xfib_table_status){
		.entries = d->fib.members.used,
		.capacity = XFIB_MEMBERS,
		.bytes = XFIB_MEMBERS * sizeof(struct xfib_nexthop),
	};
	s->engine4 = d->publish.target[0].ops[IP4]->id;
	s->engine6 = d->publish.target[0].ops[IP6]->id;
	family_reasons(d, IP4, s->reason4, &s->fast4);
	family_reasons(d, IP6, s->reason6, &s->fast6);
	snprintf(s->daemon_version, sizeof(s->daemon_version), "%s", XFIB_VERSION);
	l3if_list(d, s);
}

/* Odd while it is written. */
static void begin(struct xfib_status *s)
{
	__atomic_store_n(&s->seq, s->seq | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end(struct xfib_status *s)
{
	__atomic_store_n(&s->seq, s->seq + 1, __ATOMIC_RELEASE);
}

void status_update(struct daemon *d)
{
	struct xfib_status *s = d->instance->status;

	begin(s);
	fill(d, s);
	end(s);
}

void status_leave(struct daemon *d)
{
	struct xfib_status *s = d->instance->status;

	begin(s);
	s->pid = 0;
	end(s);
}

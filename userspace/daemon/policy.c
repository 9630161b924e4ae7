// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the administrator configured on the kernel's path and XDP would bypass. Looked at when the
 * kernel announces a change and once a second; it turns off the family or port that it concerns,
 * unless the command line allows the bypass: then it is only told.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"

struct policy {
	struct hostpolicy *host;
	struct watch *on_change[POLICY_KINDS];
	struct host_policy found[POLICY_KINDS];
	struct host_policy effective; /* what is not allowed to be bypassed: the model's */
};

static void take_first(char to[static XFIB_REASON], const char from[static XFIB_REASON])
{
	if (!to[0])
		memcpy(to, from, XFIB_REASON);
}

static void add(struct host_policy *sum, const struct host_policy *found)
{
	for (int f = 0; f < FAMILIES; f++) {
		take_first(sum->family[f], found->family[f]);
		take_first(sum->tracking[f], found->tracking[f]);
	}
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		take_first(sum->port[i].ingress, found->port[i].ingress);
		take_first(sum->port[i].egress, found->port[i].egress);
	}
}

static void log_change(const char *before, const char *now, const char *what, const char *where)
{
	if (!strcmp(before, now))
		return;
	if (now[0])
		log_warning("%s%s stays in the kernel: %s", what, where, now);
	else
		log_info("%s%s is no longer kept in the kernel by: %s", what, where, before);
}

static void log_changes(const struct host_policy *before, const struct host_policy *now)
{
	log_change(before->family[IP4], now->family[IP4], "IPv4", "");
	log_change(before->family[IP6], now->family[IP6], "IPv6", "");
	log_change(before->tracking[IP4], now->tracking[IP4], "every IPv4 fragment", "");
	log_change(before->tracking[IP6], now->tracking[IP6], "every IPv6 fragment", "");
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		const struct port_policy *a = &before->port[i], *b = &now->port[i];

		if (!b->ifindex || a->ifindex != b->ifindex)
			continue;
		log_change(a->ingress, b->ingress, "what enters ", b->name);
		log_change(a->egress, b->egress, "what leaves ", b->name);
	}
}

/* kinds: bits of enum policy_kind. */
static void look(struct daemon *d, unsigned int kinds)
{
	static struct host_policy sum; /* large */
	struct policy *p = d->policy;

	memset(&sum, 0, sizeof(sum));
	for (int kind = 0; kind < POLICY_KINDS; kind++)
		if (kinds & 1u << kind)
			hostpolicy_look(p->host, kind, &p->found[kind]);
	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		sum.port[i].ifindex = p->found[POLICY_TC].port[i].ifindex;
		memcpy(sum.port[i].name, p->found[POLICY_TC].port[i].name,
		       sizeof(sum.port[i].name));
	}
	for (int kind = 0; kind < POLICY_KINDS; kind++)
		if (!d->opt.allow_bypass[kind])
			add(&sum, &p->found[kind]);
	if (!memcmp(&p->effective, &sum, sizeof(sum)))
		return;
	log_changes(&p->effective, &sum);
	p->effective = sum;
	model_set_policy(&d->model, &sum);
	daemon_commit(d);
	status_update(d);
}

enum { EVERYTHING = (1u << POLICY_KINDS) - 1 };

void policy_update(struct daemon *d)
{
	look(d, EVERYTHING);
}

void policy_drain(struct daemon *d)
{
	unsigned int kinds = 0;

	for (int kind = 0; kind < POLICY_KINDS; kind++)
		if (hostpolicy_drain(d->policy->host, kind))
			kinds |= 1u << kind;
	if (kinds)
		look(d, kinds);
}

void policy_set_ports(struct daemon *d, const __u32 ifindex[XFIB_PORTS])
{
	struct policy *p = d->policy;
	bool changed = false;

	for (unsigned int i = 0; i < XFIB_PORTS; i++) {
		changed |= p->effective.port[i].ifindex != ifindex[i];
		for (int kind = 0; kind < POLICY_KINDS; kind++)
			p->found[kind].port[i].ifindex = ifindex[i];
	}
	if (changed)
		look(d, EVERYTHING);
}

/* --- status ------------------------------------------------------------------------------------ */

enum { NOTES = 4 };

static unsigned int note(char reason[NOTES][XFIB_REASON], unsigned int n, const char *prefix,
			 const char *text)
{
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(reason[i], text))
			return n;
	if (text[0] && n < NOTES)
		snprintf(reason[n++], XFIB_REASON, "%s%.*s", prefix,
			 (int)(XFIB_REASON - 1 - strlen(prefix)), text);
	return n;
}

unsigned int policy_notes(const struct daemon *d, enum family family,
			  char reason[NOTES][XFIB_REASON], unsigned int n)
{
	const struct policy *p = d->policy;

	for (int kind = 0; kind < POLICY_KINDS; kind++) {
		if (!d->opt.allow_bypass[kind])
			continue;
		n = note(reason, n, "bypassed: ", p->found[kind].family[family]);
		n = note(reason, n, "bypassed by fragments: ", p->found[kind].tracking[family]);
		for (unsigned int i = 0; i < XFIB_PORTS; i++) {
			n = note(reason, n, "bypassed: ", p->found[kind].port[i].ingress);
			n = note(reason, n, "bypassed: ", p->found[kind].port[i].egress);
		}
	}
	for (int kind = 0; kind < POLICY_KINDS; kind++)
		if (!d->opt.allow_bypass[kind])
			n = note(reason, n, "", p->found[kind].family[family]);
	for (int kind = 0; kind < POLICY_KINDS; kind++)
		if (!d->opt.allow_bypass[kind])
			n = note(reason, n, "fragments stay: ", p->found[kind].tracking[family]);
	return n;
}

/* --- start and stop ---------------------------------------------------------------------------- */

static void on_change(void *arg)
{
	policy_drain(arg);
}

static void warn_of_bypass(const struct daemon *d)
{
	static const char *const bypassed[POLICY_KINDS] = {
		[POLICY_NETFILTER] = "netfilter: nftables, iptables and IPVS do",
		[POLICY_XFRM] = "xfrm: IPsec policies do",
		[POLICY_TC] = "tc: queueing disciplines and their filters do",
	};

	for (int kind = 0; kind < POLICY_KINDS; kind++)
		if (d->opt.allow_bypass[kind])
			log_warning("--allow-bypass %s not see what is forwarded in XDP",
				    bypassed[kind]);
}

int policy_start(struct daemon *d)
{
	struct policy *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return log_errno(-ENOMEM, "cannot look at the host's policy");
	d->policy = p;
	err = hostpolicy_open(&p->host);
	for (int kind = 0; !err && kind < POLICY_KINDS; kind++) {
		int fd = hostpolicy_fd(p->host, kind);

		if (fd >= 0)
			err = loop_fd(d->loop, fd, LOOP_FIRST, on_change, d, &p->on_change[kind]);
	}
	if (err)
		return log_errno(err, "cannot look at the host's policy");
	warn_of_bypass(d);
	return 0;
}

void policy_stop(struct daemon *d)
{
	struct policy *p = d->policy;

	if (!p)
		return;
	for (int kind = 0; kind < POLICY_KINDS; kind++)
		watch_free(p->on_change[kind]);
	hostpolicy_free(p->host);
	free(p);
	d->policy = NULL;
}

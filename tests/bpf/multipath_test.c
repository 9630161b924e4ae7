// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Multipath: a flow keeps its leg, flows spread by weight, and a bucket is a next hop like any other.
 * Which leg a flow takes is nobody's business; it is read off the frame that came out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "expect.h"

#define LEGS	16
#define BUCKETS 4096 /* where the tests' groups begin in members */
#define FLOWS	10000

static struct pkt in, out, want;

/* Leg i is neighbour NEIGH_FREE + i, on WAN. */
static void leg_mac(__u32 leg, __u8 *mac)
{
	memcpy(mac, (__u8[]){ 0x02, 0x1e, 0x90, 0x00, leg >> 8, leg }, ETH_ALEN);
}

static struct xfib_nexthop leg_nexthop(__u32 leg)
{
	return (struct xfib_nexthop){
		.kind = XFIB_NH_ADJACENCY,
		.mtu = ROUTE_MTU_NONE,
		.arg = NEIGH_FREE + leg,
	};
}

/* Everything goes to the group. What lies beside its buckets drops, so that a step outside is seen. */
static void fill_group(struct router *r, enum xfib_nh_kind kind, const struct xfib_nexthop *buckets,
		       __u16 count)
{
	const struct xfib_nexthop drop = { .kind = XFIB_NH_VERDICT, .arg = XFIB_DROP_BLACKHOLE };
	__u8 mac[ETH_ALEN];

	router_reset(r);
	for (__u32 leg = 0; leg < LEGS; leg++) {
		leg_mac(leg, mac);
		router_neigh(r, NEIGH_FREE + leg, "203.0.113.200", IFINDEX_WAN, L3IF_WAN, mac);
	}
	r->members[BUCKETS - 1] = r->members[BUCKETS + count] = drop;
	router_group(r, kind, BUCKETS, buckets, count);
	router_default(r, r->nexthops[NH_GROUP]);
	router_route(r, "198.51.100.0/24", NH_GROUP);
	router_route(r, "2001:db8:2::/48", NH_GROUP);
}

/* A group of equal legs. */
static struct router *equal_legs(enum xfib_nh_kind kind, __u32 legs)
{
	struct router *r = pair_get()->twin;
	struct xfib_nexthop buckets[LEGS];

	for (__u32 leg = 0; leg < legs; leg++)
		buckets[leg] = leg_nexthop(leg);
	fill_group(r, kind, buckets, legs);
	return r;
}

/* The leg that the frame in `in` takes; it must leave as it should. */
static __u32 leg_of_frame(const struct router *r, const struct pkt_spec *spec)
{
	__u32 leg, result = router_run(r, &in, &out);
	__u8 mac[ETH_ALEN];

	if (XFIB_TWIN_VERDICT(result) != XFIB_FORWARDED)
		fail_msg("%s", router_verdict_name(XFIB_TWIN_VERDICT(result)));
	leg = out.eth.h_dest[4] << 8 | out.eth.h_dest[5];
	leg_mac(leg, mac);
	pkt_build_forwarded(spec, mac, router_l3if(L3IF_WAN)->mac, &want);
	pkt_assert_equal("leg", &out, &want);
	return leg;
}

static __u32 leg_of(const struct router *r, const struct pkt_spec *spec)
{
	pkt_build(spec, &in);
	return leg_of_frame(r, spec);
}

/* The sixteen-way legs of two packets differ by chance only in one of sixteen flows. */
#define SAMPLE 64

/* How many of SAMPLE flows change their leg when `change` is done to their packet. */
static __u32 changed_legs(const struct router *r, struct pkt_spec base,
			  void (*change)(struct pkt_spec *))
{
	char src[INET6_ADDRSTRLEN];
	__u32 changed = 0;

	for (__u32 i = 0; i < SAMPLE; i++) {
		struct pkt_spec a = base, b;

		snprintf(src, sizeof(src), base.version == 4 ? "10.0.1.%u" : "2001:db8:1::%u",
			 i + 1);
		a.src = src;
		b = a;
		change(&b);
		changed += leg_of(r, &a) != leg_of(r, &b);
	}
	return changed;
}

static void next_dport(struct pkt_spec *s)
{
	s->dport++;
}

static void next_sport(struct pkt_spec *s)
{
	s->sport++;
}

static void protocol_tcp(struct pkt_spec *s)
{
	s->protocol = IPPROTO_TCP;
}

static void next_label(struct pkt_spec *s)
{
	s->flow_label ^= 0x10;
}

static void first_label_bit(struct pkt_spec *s)
{
	s->flow_label ^= 0x80000;
}

static void next_destination4(struct pkt_spec *s)
{
	s->dst = "198.51.100.8";
}

static void unrelated(struct pkt_spec *s)
{
	s->ttl--;
	s->tos = 0x20;
	s->payload += 100;
}

/* --- one flow, one leg ------------------------------------------------------------------------- */

static void test_flow_keeps_its_leg(void **state)
{
	for (enum xfib_nh_kind kind = XFIB_NH_GROUP_L3; kind <= XFIB_NH_GROUP_L4; kind++) {
		struct router *r = equal_legs(kind, LEGS);

		assert_int_equal(changed_legs(r, (struct pkt_spec)PKT_IP4(), unrelated), 0);
		assert_int_equal(changed_legs(r, (struct pkt_spec)PKT_IP6(), unrelated), 0);
	}
}

static void test_l3_ignores_ports(void **state)
{
	struct router *r = equal_legs(XFIB_NH_GROUP_L3, LEGS);

	assert_int_equal(changed_legs(r, (struct pkt_spec)PKT_IP4(), next_dport), 0);
	assert_int_equal(changed_legs(r, (struct pkt_spec)PKT_IP6(), next_sport), 0);
	assert_int_equal(changed_legs(r, (struct pkt_spec)PKT_IP4(), protocol_tcp), 0);
	assert_int_equal(changed_legs(r, (struct pkt_spec)PKT_IP6(), protocol_tcp), 0);
}

static void test_l4_looks_at_ports(void **state)
{
	static const __u8 protocols[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP, IPPROTO_DCCP,
					  IPPROTO_UDPLITE };
	struct router *r = equal_legs(XFIB_NH_GROUP_L4, LEGS);

	for (size_t i = 0; i < sizeof(protocols); i++) {
		struct pkt_spec v4 = PKT_IP4(.protocol = protocols[i]),
				v6 = PKT_IP6(.protocol = protocols[i]);

		assert_in_range(changed_legs(r, v4, next_dport), SAMPLE / 2, SAMPLE);
		assert_in_range(changed_legs(r, v4, next_sport), SAMPLE / 2, SAMPLE);
		assert_in_range(changed_legs(r, v6, next_dport), SAMPLE / 2, SAMPLE);
		assert_in_range(changed_legs(r, v6, next_sport), SAMPLE / 2, SAMPLE);
	}
	assert_in_range(changed_legs(r, (struct pkt_spec)PKT_IP4(), protocol_tcp), SAMPLE / 2,
			SAMPLE);
	assert_in_range(changed_legs(r, (struct pkt_spec)PKT_IP6(), protocol_tcp), SAMPLE / 2,
			SAMPLE);
}

/* What has no ports in its first four bytes (ICMP's are type, code, checksum) must not be asked. */
static void test_l4_without_ports(void **state)
{
	static const __u8 protocols[] = { IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_GRE,
					  IPPROTO_ESP,	IPPROTO_AH,	89 };
	struct router *r = equal_legs(XFIB_NH_GROUP_L4, LEGS);

	for (size_t i = 0; i < sizeof(protocols); i++) {
		struct pkt_spec v4 = PKT_IP4(.protocol = protocols[i]),
				v6 = PKT_IP6(.protocol = protocols[i]);

		assert_int_equal(changed_legs(r, v4, next_dport), 0);
		assert_int_equal(changed_legs(r, v6, next_dport), 0);
	}
}

/* The fragments of a datagram have ports, payload, nothing: they must stay together. */
static void test_fragments_hash_on_addresses(void **state)
{
	static const __u16 fields[] = { 0x2000, 0x2001, 0x20b9, 0x3fff, 0x0001, 0x0172, 0x1fff };
	struct router *r = equal_legs(XFIB_NH_GROUP_L4, LEGS);
	char src[INET_ADDRSTRLEN];

	for (__u32 i = 0; i < SAMPLE; i++) {
		struct pkt_spec first = PKT_IP4(.src = src, .frag_off = 0x2000);
		__u32 leg;

		snprintf(src, sizeof(src), "10.0.2.%u", i + 1);
		leg = leg_of(r, &first);
		for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
			struct pkt_spec other = PKT_IP4(.src = src, .frag_off = fields[f],
							.sport = 7 * f, .dport = f);

			assert_int_equal(leg_of(r, &other), leg);
		}
	}
}

static void test_whole_packets_with_df_hash_on_ports(void **state)
{
	struct router *r = equal_legs(XFIB_NH_GROUP_L4, LEGS);
	struct pkt_spec df = PKT_IP4(.frag_off = 0x4000), reserved = PKT_IP4(.frag_off = 0x8000);

	assert_in_range(changed_legs(r, df, next_dport), SAMPLE / 2, SAMPLE);
	assert_in_range(changed_legs(r, reserved, next_dport), SAMPLE / 2, SAMPLE);
}

static void test_extension_headers_hash_on_addresses(void **state)
{
	static const __u8 headers[] = { 43, 44, 51, 60, 135, 139, 140, 253 };
	struct router *r = equal_legs(XFIB_NH_GROUP_L4, LEGS);

	for (size_t i = 0; i < sizeof(headers); i++) {
		struct pkt_spec spec = PKT_IP6(.protocol = headers[i]);

		assert_int_equal(changed_legs(r, spec, next_dport), 0);
		assert_int_equal(changed_legs(r, spec, next_sport), 0);
	}
}

static void test_flow_label(void **state)
{
	struct router *l3 = equal_legs(XFIB_NH_GROUP_L3, LEGS);

	assert_in_range(changed_legs(l3, (struct pkt_spec)PKT_IP6(), next_label), SAMPLE / 2,
			SAMPLE);
	assert_in_range(changed_legs(l3, (struct pkt_spec)PKT_IP6(), first_label_bit), SAMPLE / 2,
			SAMPLE);
	assert_int_equal(changed_legs(equal_legs(XFIB_NH_GROUP_L4, LEGS),
				      (struct pkt_spec)PKT_IP6(), next_label),
			 0);
}

/* Ports that are cut off cannot be hashed, and must not be read. */
static void test_short_l4(void **state)
{
	struct router *r = equal_legs(XFIB_NH_GROUP_L4, LEGS);

	for (__u32 payload = 0; payload < 4; payload++) {
		struct pkt_spec v4 = PKT_IP4(.payload = payload), v6 = PKT_IP6(.payload = payload);

		leg_of(r, &v4);
		if (payload)
			leg_of(r, &v6);
	}
}

static void test_every_address_word(void **state)
{
	for (enum xfib_nh_kind kind = XFIB_NH_GROUP_L3; kind <= XFIB_NH_GROUP_L4; kind++) {
		struct router *r = equal_legs(kind, LEGS);

		assert_in_range(changed_legs(r, (struct pkt_spec)PKT_IP4(), next_destination4),
				SAMPLE / 2, SAMPLE);
		for (int word = 0; word < 8; word++) {
			__u32 legs = 0;

			for (__u32 i = 0; i < SAMPLE; i++) {
				struct in6_addr a = { .s6_addr = { 0x2a } };
				char addr[INET6_ADDRSTRLEN];
				struct pkt_spec from = PKT_IP6(.src = addr),
						to = PKT_IP6(.dst = addr);

				a.s6_addr[word % 4 * 4 + 3] = i;
				inet_ntop(AF_INET6, &a, addr, sizeof(addr));
				legs |= 1u << leg_of(r, word < 4 ? &from : &to);
			}
			assert_in_range(__builtin_popcount(legs), LEGS / 2, LEGS);
		}
	}
}

/* --- many flows ---------------------------------------------------------------------------------- */

static __u32 random_state;

/* xorshift32: the same flows in every run. */
static __u32 next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

/* Flow i of a kind: hosts one after the other, ports one after the other, or all at random. */
enum flows { FLOWS_HOSTS, FLOWS_PORTS, FLOWS_RANDOM, FLOWS_KINDS };

static void flow(enum flows kind, __u32 i, struct pkt_spec *spec, char *src)
{
	__u32 host = kind == FLOWS_RANDOM ? next_random() & 0xffff : kind == FLOWS_HOSTS ? i : 1;

	if (spec->version == 4)
		sprintf(src, "10.0.%u.%u", host >> 8, host & 0xff);
	else
		sprintf(src, "2001:db8:1::%x", host + 1);
	spec->src = src;
	if (kind == FLOWS_PORTS)
		spec->sport = 1024 + i;
	else if (kind == FLOWS_RANDOM)
		spec->sport = next_random();
}

/* Packets per leg of FLOWS flows. */
static void spread(const struct router *r, bool ip6, enum flows kind, __u32 *legs)
{
	char src[INET6_ADDRSTRLEN];

	memset(legs, 0, LEGS * sizeof(*legs));
	random_state = 0x2545f491;
	for (__u32 i = 0; i < FLOWS; i++) {
		struct pkt_spec v4 = PKT_IP4(), v6 = PKT_IP6(), *spec = ip6 ? &v6 : &v4;

		flow(kind, i, spec, src);
		legs[leg_of(r, spec)]++;
	}
}

/*
 * Fifteen degrees of freedom: a fair hash exceeds 50 in 1 of 80,000 runs. These flows are the same in
 * every run, so it does or it does not.
 */
static void test_equal_legs_spread(void **state)
{
	__u32 legs[LEGS];

	for (int ip6 = 0; ip6 < 2; ip6++) {
		for (enum flows kind = 0; kind < FLOWS_KINDS; kind++) {
			struct router *r = equal_legs(
				kind == FLOWS_HOSTS ? XFIB_NH_GROUP_L3 : XFIB_NH_GROUP_L4, LEGS);
			double chi = 0, fair = (double)FLOWS / LEGS;

			spread(r, ip6, kind, legs);
			for (__u32 leg = 0; leg < LEGS; leg++)
				chi += (legs[leg] - fair) * (legs[leg] - fair) / fair;
			if (chi > 50)
				fail_msg("IPv%d, flows %d: chi-square %.1f", ip6 ? 6 : 4, kind,
					 chi);
		}
	}
}

/* Weights 1, 2, 5 in 8 and in 1,024 buckets; five standard deviations are allowed. */
static void test_weights(void **state)
{
	static const __u32 weights[] = { 1, 2, 5 };
	static struct xfib_nexthop buckets[XFIB_GROUP_MAX];
	struct router *r = pair_get()->twin;
	__u32 legs[LEGS];

	for (__u32 scale = 1; scale <= XFIB_GROUP_MAX / 8; scale *= XFIB_GROUP_MAX / 8) {
		__u32 n = 0;

		for (__u32 leg = 0; leg < 3; leg++)
			for (__u32 i = 0; i < weights[leg] * scale; i++)
				buckets[n++] = leg_nexthop(leg);
		fill_group(r, XFIB_NH_GROUP_L4, buckets, n);
		for (int ip6 = 0; ip6 < 2; ip6++) {
			spread(r, ip6, FLOWS_RANDOM, legs);
			for (__u32 leg = 0; leg < 3; leg++)
				assert_in_range(legs[leg], FLOWS * weights[leg] / 8 - 250,
						FLOWS * weights[leg] / 8 + 250);
		}
	}
}

/* All buckets of the largest group, and none beside it, are reached. */
static void test_largest_group(void **state)
{
	static struct xfib_nexthop buckets[XFIB_GROUP_MAX];
	struct router *r = pair_get()->twin;
	__u32 legs[LEGS];

	for (__u32 i = 0; i < XFIB_GROUP_MAX; i++)
		buckets[i] = leg_nexthop(i == 0 ? 1 : i == XFIB_GROUP_MAX - 1 ? 2 : 0);
	fill_group(r, XFIB_NH_GROUP_L4, buckets, XFIB_GROUP_MAX);
	spread(r, false, FLOWS_RANDOM, legs);
	assert_in_range(legs[1], 1, 50);
	assert_in_range(legs[2], 1, 50);
}

static void test_group_of_one(void **state)
{
	struct router *r = equal_legs(XFIB_NH_GROUP_L4, 1);
	__u32 legs[LEGS];

	spread(r, false, FLOWS_RANDOM, legs);
	assert_int_equal(legs[0], FLOWS);
}

/* The seed is what makes two instances, or two routers in a row, choose differently. */
static void test_seed(void **state)
{
	struct router *r = equal_legs(XFIB_NH_GROUP_L4, LEGS);
	struct router *other = router_new(expect_object(), ROUTER_CFG(.twin = 1, .hash_seed = 1));
	struct xfib_nexthop buckets[LEGS];
	char src[INET6_ADDRSTRLEN];
	__u32 same = 0;

	assert_non_null(other);
	memcpy(buckets, &r->members[BUCKETS], sizeof(buckets));
	fill_group(other, XFIB_NH_GROUP_L4, buckets, LEGS);
	for (__u32 i = 0; i < SAMPLE; i++) {
		struct pkt_spec v4 = PKT_IP4(), v6 = PKT_IP6();

		flow(FLOWS_HOSTS, i, &v4, src);
		same += leg_of(r, &v4) == leg_of(other, &v4);
		flow(FLOWS_HOSTS, i, &v6, src);
		same += leg_of(r, &v6) == leg_of(other, &v6);
	}
	router_free(other);
	assert_in_range(same, 0, SAMPLE / 2);
}

/* --- what a bucket may be ------------------------------------------------------------------------- */

static void expect_bucket(struct xfib_nexthop bucket, const struct pkt_spec *spec,
			  enum xfib_verdict verdict, __u32 via)
{
	struct router *r = pair_get()->twin;

	fill_group(r, XFIB_NH_GROUP_L4, &bucket, 1);
	router_route(r, "203.0.113.9/32", NH_GROUP);
	expect(r, "bucket", spec, verdict, via);
}

static const struct pkt_spec bucket_v4 = PKT_IP4(.dst = "203.0.113.9"), bucket_v6 = PKT_IP6();

static void test_dead_bucket(void **state)
{
	expect_bucket((struct xfib_nexthop){}, &bucket_v4, XFIB_PUNT_RACE, 0);
	expect_bucket((struct xfib_nexthop){}, &bucket_v6, XFIB_PUNT_RACE, 0);
}

static void test_verdict_bucket(void **state)
{
	for (__u32 verdict = 1; verdict < XFIB_VERDICT_MAX; verdict++)
		expect_bucket((struct xfib_nexthop){ .kind = XFIB_NH_VERDICT, .arg = verdict },
			      &bucket_v4, verdict, 0);
}

static void test_connected_bucket(void **state)
{
	struct xfib_nexthop connected = { .kind = XFIB_NH_CONNECTED,
					  .mtu = 1280,
					  .arg = IFINDEX_WAN };
	struct pkt_spec large =
		PKT_IP4(.dst = "203.0.113.9", .payload = 1281 - sizeof(struct iphdr));

	expect_bucket(connected, &bucket_v4, XFIB_FORWARDED, NEIGH_WAN_HOST4);
	expect_bucket(connected, &large, XFIB_PUNT_MTU, 0);
	expect_bucket(connected, &bucket_v6, XFIB_PUNT_NO_NEIGHBOUR, 0);
}

static void test_unresolved_bucket(void **state)
{
	struct xfib_nexthop nobody = { .kind = XFIB_NH_ADJACENCY,
				       .mtu = ROUTE_MTU_NONE,
				       .arg = NEIGH_FREE + LEGS };

	expect_bucket(nobody, &bucket_v4, XFIB_PUNT_NO_NEIGHBOUR, 0);
	expect_bucket(nobody, &bucket_v6, XFIB_PUNT_NO_NEIGHBOUR, 0);
}

/* A bucket is never a group; if one were, its first bucket must not be read as a verdict. */
static void test_group_in_group(void **state)
{
	for (enum xfib_nh_kind kind = XFIB_NH_GROUP_L3; kind <= XFIB_NH_GROUP_L4 + 1; kind++) {
		struct xfib_nexthop group = { .kind = kind,
					      .count = 1,
					      .arg = XFIB_DROP_BLACKHOLE };

		expect_bucket(group, &bucket_v4, XFIB_PUNT_RACE, 0);
		expect_bucket(group, &bucket_v6, XFIB_PUNT_RACE, 0);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		{ .name = "a flow keeps its leg", .test_func = test_flow_keeps_its_leg },
		{ .name = "under policy 0 ports and protocol do not matter",
		  .test_func = test_l3_ignores_ports },
		{ .name = "under policy 1 ports and protocol matter",
		  .test_func = test_l4_looks_at_ports },
		{ .name = "under policy 1 what has no ports hashes on addresses",
		  .test_func = test_l4_without_ports },
		{ .name = "all fragments of a datagram take one leg",
		  .test_func = test_fragments_hash_on_addresses },
		{ .name = "the don't-fragment bit makes no fragment",
		  .test_func = test_whole_packets_with_df_hash_on_ports },
		{ .name = "packets with extension headers hash on addresses",
		  .test_func = test_extension_headers_hash_on_addresses },
		{ .name = "under policy 0 the flow label matters, under policy 1 it does not",
		  .test_func = test_flow_label },
		{ .name = "ports that are cut off are not read", .test_func = test_short_l4 },
		{ .name = "each word of both addresses matters",
		  .test_func = test_every_address_word },
		{ .name = "equal legs get equal shares of 10,000 flows",
		  .test_func = test_equal_legs_spread },
		{ .name = "legs get their weight of 10,000 flows", .test_func = test_weights },
		{ .name = "all buckets of the largest group are used and none beside it",
		  .test_func = test_largest_group },
		{ .name = "a group of one leg is that leg", .test_func = test_group_of_one },
		{ .name = "another seed makes other choices", .test_func = test_seed },
		{ .name = "a bucket that is not there goes to the kernel",
		  .test_func = test_dead_bucket },
		{ .name = "a bucket may be any verdict", .test_func = test_verdict_bucket },
		{ .name = "a bucket may be connected", .test_func = test_connected_bucket },
		{ .name = "a bucket without a neighbour goes to the kernel",
		  .test_func = test_unresolved_bucket },
		{ .name = "a group in a group goes to the kernel",
		  .test_func = test_group_in_group },
	};

	if (expect_args(argc, argv))
		return 2;
	return cmocka_run_group_tests_name("multipath", tests, pair_setup, pair_teardown);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Both ends of a benchmark: makes packets faster than anything can forward them (XDP live frames,
 * sent into a wire by a redirect), and counts what arrives at the other end. Also attaches the
 * forwarders to compare with. Each verb works on interfaces of the namespace it is started in; an
 * attached program stays until standard input ends.
 *
 *   traffic send IF SOURCE_MAC PACKETS < DESTINATIONS	prints "NANOSECONDS WAITED"
 *   traffic sink IF					prints the packets so far for each line of input
 *   traffic pass IF
 *   traffic fib IF OUT_IF
 *   traffic wire IF OUT_IF DESTINATION_MAC SOURCE_MAC
 *
 * NANOSECONDS passed, WAITED of them the sender did not have its CPU.
 * DESTINATIONS: lines "DESTINATION_MAC SOURCE_ADDRESS DESTINATION_ADDRESS", at most 1,024 of them.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "traffic.h"

#define BATCH 64 /* packets between two runs of the receiver; its ring holds 256 */

struct ip4_packet {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

struct ip6_packet {
	struct ethhdr eth;
	struct ipv6hdr ip;
	struct udphdr udp;
} __attribute__((packed));

static int fail(const char *what, int error)
{
	fprintf(stderr, "traffic: %s: %s\n", what, strerror(error));
	return EXIT_FAILURE;
}

static void cleanup_object(struct bpf_object **object)
{
	bpf_object__close(*object);
}

static struct bpf_object *load(const char *argv0)
{
	char path[4096];
	struct bpf_object *object;

	snprintf(path, sizeof(path), "%s.bpf.o", argv0);
	object = bpf_object__open_file(path, NULL);
	if (!object)
		return NULL;
	if (bpf_object__load(object)) {
		bpf_object__close(object);
		return NULL;
	}
	return object;
}

static int map(const struct bpf_object *object, const char *name)
{
	return bpf_object__find_map_fd_by_name(object, name);
}

static int program(const struct bpf_object *object, const char *name)
{
	const struct bpf_program *found = bpf_object__find_program_by_name(object, name);

	return found ? bpf_program__fd(found) : -ENOENT;
}

static int allow_port(const struct bpf_object *object, __u32 key, __u32 ifindex)
{
	return bpf_map_update_elem(map(object, "ports"), &key, &ifindex, 0);
}

/* --- send ------------------------------------------------------------------------------------ */

static __u16 ip_checksum(const void *header)
{
	const __u8 *p = header;
	__u32 sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum & 0xffff);
}

static void make_ip4(struct ip4_packet *p, struct in_addr src, struct in_addr dst,
		     unsigned int number)
{
	const size_t length = sizeof(struct traffic_header) - ETH_HLEN;

	p->eth.h_proto = htons(ETH_P_IP);
	p->ip = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.tot_len = htons(length),
		.saddr = src.s_addr,
		.daddr = dst.s_addr,
	};
	p->ip.check = ip_checksum(&p->ip);
	p->udp = (struct udphdr){
		.source = htons(1024 + number),
		.dest = htons(9),
		.len = htons(length - sizeof(p->ip)),
	};
}

static void make_ip6(struct ip6_packet *p, struct in6_addr src, struct in6_addr dst,
		     unsigned int number)
{
	const size_t length = sizeof(struct traffic_header) - ETH_HLEN - sizeof(p->ip);

	p->eth.h_proto = htons(ETH_P_IPV6);
	p->ip = (struct ipv6hdr){
		.version = 6,
		.hop_limit = 64,
		.nexthdr = IPPROTO_UDP,
		.payload_len = htons(length),
		.saddr = src,
		.daddr = dst,
	};
	p->udp = (struct udphdr){
		.source = htons(1024 + number),
		.dest = htons(9),
		.len = htons(length),
	};
}

static int make_header(const char *line, const struct ether_addr *smac, unsigned int number,
		       struct traffic_header *header)
{
	char mac[32], src[64], dst[64];
	struct in6_addr src6, dst6;
	struct in_addr src4, dst4;
	struct ether_addr dmac;

	if (sscanf(line, "%31s %63s %63s", mac, src, dst) != 3 || !ether_aton_r(mac, &dmac))
		return -EINVAL;
	memset(header, 0, sizeof(*header));
	memcpy(header->bytes, &dmac, ETH_ALEN);
	memcpy(header->bytes + ETH_ALEN, smac, ETH_ALEN);
	if (inet_pton(AF_INET, src, &src4) == 1 && inet_pton(AF_INET, dst, &dst4) == 1)
		make_ip4((struct ip4_packet *)header, src4, dst4, number);
	else if (inet_pton(AF_INET6, src, &src6) == 1 && inet_pton(AF_INET6, dst, &dst6) == 1)
		make_ip6((struct ip6_packet *)header, src6, dst6, number);
	else
		return -EINVAL;
	return 0;
}

/* The packets to send, each destination as often as another; all of the map is filled. */
static int read_headers(int fd, const struct ether_addr *smac)
{
	struct traffic_header *all = NULL;
	_cleanup_free_ void *owner = NULL;
	unsigned int n = 0;
	char line[256];
	int err;

	owner = all = calloc(TRAFFIC_HEADERS, sizeof(*all));
	if (!all)
		return -ENOMEM;
	while (n < TRAFFIC_HEADERS && fgets(line, sizeof(line), stdin)) {
		err = make_header(line, smac, n, &all[n]);
		if (err)
			return err;
		n++;
	}
	if (!n)
		return -EINVAL;
	for (__u32 i = 0; i < TRAFFIC_HEADERS; i++)
		if (bpf_map_update_elem(fd, &i, &all[i % n], 0))
			return -errno;
	return 0;
}

static __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* How long this thread has waited for its CPU while others ran there; softirqs are not others. */
static __u64 waited_ns(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long ran, waited;

	return f && fscanf(f, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

static int send_packets(struct bpf_object *object, int ifindex, __u32 packets)
{
	struct traffic_header frame = {};
	struct xdp_md ctx = { .data_end = sizeof(frame), .ingress_ifindex = ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = &frame, .data_size_in = sizeof(frame),
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = packets,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);
	__u64 waited = waited_ns(), start = now_ns();
	int err;

	err = bpf_prog_test_run_opts(program(object, "generate"), &run);
	if (err)
		return err;
	printf("%llu %llu\n", (unsigned long long)(now_ns() - start),
	       (unsigned long long)(waited_ns() - waited));
	return 0;
}

static int verb_send(struct bpf_object *object, int ifindex, char **args)
{
	struct ether_addr smac;
	int err;

	if (!ether_aton_r(args[0], &smac))
		return fail(args[0], EINVAL);
	err = read_headers(map(object, "headers"), &smac);
	if (err)
		return fail("destinations", -err);
	err = allow_port(object, 0, ifindex);
	if (err)
		return fail("devmap", -err);
	err = send_packets(object, ifindex, strtoul(args[1], NULL, 10));
	return err ? fail("live frames", -err) : EXIT_SUCCESS;
}

/* --- programs that stay ---------------------------------------------------------------------- */

static int attach(const struct bpf_object *object, const char *name, int ifindex)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);

	return bpf_link_create(program(object, name), ifindex, BPF_XDP, &opts);
}

static __u64 packets_so_far(const struct bpf_object *object)
{
	int n = libbpf_num_possible_cpus();
	struct traffic_count per_cpu[n];
	__u32 key = 0;
	__u64 sum = 0;

	if (bpf_map_lookup_elem(map(object, "count"), &key, per_cpu))
		return 0;
	for (int i = 0; i < n; i++)
		sum += per_cpu[i].packets;
	return sum;
}

/* Attaches, says so by a first line, then answers each line of input by the count, till its end. */
static int stay(struct bpf_object *object, const char *name, int ifindex)
{
	_cleanup_close_ int link = attach(object, name, ifindex);
	char line[16];

	if (link < 0)
		return fail("attach", -link);
	do {
		printf("%llu\n", (unsigned long long)packets_so_far(object));
		fflush(stdout);
	} while (fgets(line, sizeof(line), stdin));
	return EXIT_SUCCESS;
}

static int verb_sink(struct bpf_object *object, int ifindex, char **args)
{
	return stay(object, "sink", ifindex);
}

static int verb_pass(struct bpf_object *object, int ifindex, char **args)
{
	return stay(object, "pass", ifindex);
}

static int verb_fib(struct bpf_object *object, int ifindex, char **args)
{
	int out = if_nametoindex(args[0]);

	if (!out || allow_port(object, out, out))
		return fail(args[0], ENODEV);
	return stay(object, "fib", ifindex);
}

static int verb_wire(struct bpf_object *object, int ifindex, char **args)
{
	int out = if_nametoindex(args[0]);
	struct traffic_macs macs;
	__u32 key = 0;

	if (!out || allow_port(object, 0, out))
		return fail(args[0], ENODEV);
	if (!ether_aton_r(args[1], (struct ether_addr *)macs.dst) ||
	    !ether_aton_r(args[2], (struct ether_addr *)macs.src))
		return fail("MAC", EINVAL);
	if (bpf_map_update_elem(map(object, "macs"), &key, &macs, 0))
		return fail("MAC", errno);
	return stay(object, "wire", ifindex);
}

static const struct verb {
	const char *name;
	int args; /* behind the interface */
	int (*run)(struct bpf_object *object, int ifindex, char **args);
} verbs[] = {
	{ "send", 2, verb_send }, { "sink", 0, verb_sink }, { "pass", 0, verb_pass },
	{ "fib", 1, verb_fib },	  { "wire", 3, verb_wire },
};

static const struct verb *find_verb(const char *name, int args)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, name) && verbs[i].args == args)
			return &verbs[i];
	return NULL;
}

int main(int argc, char **argv)
{
	_cleanup_(cleanup_object) struct bpf_object *object = NULL;
	const struct verb *verb = argc >= 3 ? find_verb(argv[1], argc - 3) : NULL;
	int ifindex;

	if (!verb) {
		fprintf(stderr, "usage: traffic send|sink|pass|fib|wire IF ..., see traffic.c\n");
		return 2;
	}
	ifindex = if_nametoindex(argv[2]);
	if (!ifindex)
		return fail(argv[2], errno);
	object = load(argv[0]);
	if (!object)
		return fail("load", errno);
	return verb->run(object, ifindex, argv + 3);
}

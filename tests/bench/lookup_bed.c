// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "common/cleanup.h"
#include "loader/attach.h"
#include "loader/object.h"
#include "loader/pin.h"
#include "lookup_bed.h"

#define CONFIG_SECTION ".rodata.lookup"
#define LIST_SECTION   ".bss.list"
#define SEEN_SECTION   ".bss.seen"

/* --- time -------------------------------------------------------------------------------------- */

__u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

__u64 thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static bool process_is(const char *pid, const char *name)
{
	char path[64], comm[32] = "";

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);

	_cleanup_fclose_ FILE *f = fopen(path, "re");

	return f && fscanf(f, "%31s", comm) == 1 && !strcmp(comm, name);
}

static int softirqd_pid(int cpu)
{
	char name[32];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int pid = 0;

	snprintf(name, sizeof(name), "ksoftirqd/%d", cpu);
	while (proc && !pid && (entry = readdir(proc)))
		if (*entry->d_name > '0' && *entry->d_name <= '9' &&
		    process_is(entry->d_name, name))
			pid = atoi(entry->d_name);
	if (proc)
		closedir(proc);
	return pid;
}

__u64 softirqd_ns(int cpu)
{
	static int pids[BED_CPUS];
	unsigned long long ran = 0;
	char path[64];

	if (!pids[cpu])
		pids[cpu] = softirqd_pid(cpu);
	snprintf(path, sizeof(path), "/proc/%d/schedstat", pids[cpu]);

	_cleanup_fclose_ FILE *f = fopen(path, "re");

	return f && fscanf(f, "%llu", &ran) == 1 ? ran : 0;
}

/* --- namespaces and devices -------------------------------------------------------------------- */

int bed_enter(const struct bed *bed, enum bed_namespace where)
{
	return setns(bed->namespaces[where], CLONE_NEWNET) ? -errno : 0;
}

static int find_device(const char *name, int *ifindex, __u8 *mac)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {};

	*ifindex = if_nametoindex(name);
	if (!*ifindex)
		return -ENODEV;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request))
		return -errno;
	memcpy(mac, request.ifr_hwaddr.sa_data, ETH_ALEN);
	return 0;
}

static int find_devices(struct bed *bed, char **namespaces)
{
	__u8 mac[ETH_ALEN];
	int rc = 0;

	for (int i = 0; i < BED_NAMESPACES; i++) {
		bed->namespaces[i] = open(namespaces[i], O_RDONLY | O_CLOEXEC);
		if (bed->namespaces[i] < 0)
			return load_fail(&bed->error, -errno, "%s", namespaces[i]);
	}
	rc = bed_enter(bed, BED_SINK) ?: find_device("s0", &bed->s0, mac);
	rc = rc ?: bed_enter(bed, BED_GENERATOR);
	rc = rc ?: find_device("g0", &bed->g0, bed->macs + ETH_ALEN);
	rc = rc ?: bed_enter(bed, BED_ROUTER);
	rc = rc ?: find_device("r1", &bed->r1, mac);
	rc = rc ?: find_device("r0", &bed->r0, bed->macs);
	return rc ? load_fail(&bed->error, rc, "devices of the namespaces") : 0;
}

/* --- objects ----------------------------------------------------------------------------------- */

static struct bpf_map *find_section(const struct bpf_object *object, const char *section)
{
	return bpf_object__find_map_by_name(object, section);
}

static int program_fd(const struct bpf_object *object, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	return program ? bpf_program__fd(program) : -ENOENT;
}

/* Opens tests/bench's NAME.bpf.o for one CPU: with the frame's MACs and the CPU's list. */
static int open_object(struct bed *bed, const char *name, const struct lookup_config *config,
		       int list, struct bpf_object **object)
{
	_cleanup_object_ struct bpf_object *opened = NULL;
	char path[PATH_MAX];
	int rc;

	snprintf(path, sizeof(path), "%s/%s.bpf.o", bed->directory, name);
	opened = bpf_object__open_file(path, NULL);
	if (!opened)
		return load_fail(&bed->error, -errno, "cannot open %s", path);
	rc = bpf_map__set_initial_value(find_section(opened, CONFIG_SECTION), config,
					sizeof(*config));
	if (!rc && list >= 0)
		rc = bpf_map__reuse_fd(find_section(opened, LIST_SECTION), list);
	if (rc)
		return load_fail(&bed->error, rc, "cannot prepare %s", path);
	*object = TAKE_PTR(opened);
	return 0;
}

static int load_object(struct bed *bed, struct bpf_object *object)
{
	int rc = bpf_object__load(object);

	return rc ? load_fail(&bed->error, rc, "the kernel refused %s", bpf_object__name(object))
		  : 0;
}

static int map_section(const struct bpf_object *object, const char *section, size_t size,
		       void **memory)
{
	int fd = bpf_map__fd(find_section(object, section));
	void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED)
		return -errno;
	*memory = mapped;
	return 0;
}

static struct lookup_config frame_config(const struct bed *bed)
{
	struct lookup_config config = {};

	memcpy(config.macs, bed->macs, sizeof(config.macs));
	return config;
}

static int allow_port(const struct bpf_object *object, __u32 key, __u32 ifindex)
{
	int fd = bpf_object__find_map_fd_by_name(object, "ports");

	return bpf_map_update_elem(fd, &key, &ifindex, 0) ? -errno : 0;
}

/* --- generators and the far end ---------------------------------------------------------------- */

static int open_around(struct bed *bed, int cpu)
{
	const struct lookup_config config = frame_config(bed);
	int rc = open_object(bed, "others", &config, -1, &bed->around[cpu]);

	rc = rc ?: load_object(bed, bed->around[cpu]);
	if (rc)
		return rc;
	bed->generate[cpu] = program_fd(bed->around[cpu], "generate");
	bed->lists[cpu] = bpf_map__fd(find_section(bed->around[cpu], LIST_SECTION));
	rc = map_section(bed->around[cpu], LIST_SECTION, sizeof(*bed->list[cpu]),
			 (void **)&bed->list[cpu]);
	rc = rc ?: bed_enter(bed, BED_GENERATOR) ?: allow_port(bed->around[cpu], 0, bed->g0);
	return rc ?: bed_enter(bed, BED_ROUTER);
}

static int attach(int program, int ifindex)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);

	return bpf_link_create(program, ifindex, BPF_XDP, &opts);
}

static int open_sink(struct bed *bed)
{
	int rc = bed_enter(bed, BED_SINK);

	if (rc)
		return rc;
	bed->sink = attach(program_fd(bed->around[0], "sink"), bed->s0);
	bed->arrived = bpf_object__find_map_fd_by_name(bed->around[0], "arrived");
	rc = bed_enter(bed, BED_ROUTER);
	if (bed->sink < 0)
		return bed->sink;
	return rc
		       ?: map_section(bed->around[0], SEEN_SECTION,
				      LOOKUP_DESTINATIONS * sizeof(*bed->seen),
				      (void **)&bed->seen);
}

int bed_init(struct bed *bed, const char *argv0, char **namespaces)
{
	const char *slash = strrchr(argv0, '/');
	int rc = find_devices(bed, namespaces);

	bed->sink = bed->ingress = -1;
	snprintf(bed->directory, sizeof(bed->directory), "%.*s", slash ? (int)(slash - argv0) : 1,
		 slash ? argv0 : ".");
	for (int cpu = 0; cpu < BED_CPUS && !rc; cpu++)
		rc = open_around(bed, cpu);
	if (rc)
		return rc;
	rc = open_sink(bed);
	return rc ? load_fail(&bed->error, rc, "cannot attach the far end") : 0;
}

__u64 bed_arrived(const struct bed *bed)
{
	int n = libbpf_num_possible_cpus();
	__u64 per_cpu[n], sum = 0;
	__u32 key = 0;

	if (bpf_map_lookup_elem(bed->arrived, &key, per_cpu))
		return 0;
	for (int i = 0; i < n; i++)
		sum += per_cpu[i];
	return sum;
}

/* "Ip: NAME ..." and, in the next line, "Ip: VALUE ...": the value of ForwDatagrams. */
static __u64 forwarded_ip4(FILE *f)
{
	enum { PLACE = 6 };
	unsigned long long values[PLACE];
	char line[1024];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Ip: %llu %llu %llu %llu %llu %llu", &values[0], &values[1],
			   &values[2], &values[3], &values[4], &values[5]) == PLACE)
			return values[PLACE - 1];
	return 0;
}

static __u64 forwarded_ip6(FILE *f)
{
	unsigned long long value;
	char line[256];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Ip6OutForwDatagrams %llu", &value) == 1)
			return value;
	return 0;
}

__u64 bed_forwarded(const struct bed *bed)
{
	_cleanup_fclose_ FILE *f = fopen(
		bed->ip6 ? "/proc/thread-self/net/snmp6" : "/proc/thread-self/net/snmp", "re");

	return !f ? 0 : bed->ip6 ? forwarded_ip6(f) : forwarded_ip4(f);
}

/* --- paths ------------------------------------------------------------------------------------- */

struct path *bed_find(struct bed *bed, const char *name)
{
	for (int i = 0; i < BED_PATHS; i++)
		if (*bed->paths[i].name && !strcmp(bed->paths[i].name, name))
			return &bed->paths[i];
	return NULL;
}

static void close_path(struct path *path)
{
	if (!*path->name)
		return;
	for (int cpu = 0; cpu < BED_CPUS; cpu++)
		bpf_object__close(path->objects[cpu]);
	cleanup_close(&path->own);
	*path = (struct path){};
}

void bed_done(struct bed *bed)
{
	for (int i = 0; i < BED_PATHS; i++)
		close_path(&bed->paths[i]);
	for (int cpu = 0; cpu < BED_CPUS; cpu++)
		bpf_object__close(bed->around[cpu]);
	cleanup_close(&bed->ingress);
	cleanup_close(&bed->sink);
}

static struct path *new_path(struct bed *bed, const char *name)
{
	struct path *path = bed_find(bed, name);

	for (int i = 0; i < BED_PATHS && !path; i++)
		if (!*bed->paths[i].name)
			path = &bed->paths[i];
	if (!path)
		return NULL;
	close_path(path);
	snprintf(path->name, sizeof(path->name), "%s", name);
	path->own = -1;
	return path;
}

/* An instance and its tables as the daemon has left them. */
struct tables {
	struct instance *instance;
	struct generation *gen;
	unsigned int slot; /* of r0 */
	__u32 program_id;  /* of r0 */
};

static void tables_done(struct tables *t)
{
	generation_free(t->gen);
	instance_free(t->instance);
}

static int tables_open(struct bed *bed, const char *name, struct tables *t)
{
	struct xfib_intent intents[XFIB_PORTS];
	int rc = instance_open(name, &t->instance, &bed->error);

	rc = rc
		     ?: generation_open(t->instance, t->instance->meta.generation, false, &t->gen,
					&bed->error);
	rc = rc ?: ports_read(t->instance, intents);
	if (rc)
		return rc;
	for (t->slot = 0; t->slot < XFIB_PORTS; t->slot++)
		if (!strcmp(intents[t->slot].ifname, "r0"))
			break;
	if (t->slot == XFIB_PORTS)
		return load_fail(&bed->error, -ENOENT, "r0 is no port of %s", name);
	t->program_id = intents[t->slot].prog_id;
	return 0;
}

static __u64 trie_mask(__u32 bytes)
{
	return bytes ? bytes - 1 : 0;
}

/* As loader/object.c does for a port. */
static int fit(const struct tables *t, struct bpf_object *object)
{
	const struct xfib_config cfg = {
		.slot = t->slot,
		.hash_seed = t->instance->meta.hash_seed,
		.trie_mask = { trie_mask(t->gen->capacity.trie4),
			       trie_mask(t->gen->capacity.trie6) },
	};
	struct bpf_map *map;
	int rc = bpf_map__set_initial_value(find_section(object, ".rodata"), &cfg, sizeof(cfg));

	bpf_object__for_each_map(map, object) {
		enum xfib_map i = object_map(map);

		if (!rc && i != XFIB_MAP_COUNT)
			rc = bpf_map__reuse_fd(map, map_of_generation(i) ? t->gen->fd[i]
									 : t->instance->fd[i]);
	}
	return rc;
}

/* The adjacency of the floor: whatever gateway, and r1. */
static int set_adjacency(const struct bed *bed, const struct tables *t,
			 struct lookup_config *config)
{
	static const __u8 mac[ETH_ALEN] = { 0x02, 0, 0, 0, 0x02, 0 };

	memcpy(config->mac, mac, sizeof(mac));
	for (config->egress = 1; config->egress < XFIB_L3IFS; config->egress++)
		if (t->gen->l3ifs[config->egress].ifindex == (__u32)bed->r1)
			return 0;
	return -ENODEV;
}

/* Which programs a kind of path is made of, and in which object. */
struct kind {
	const char *name, *object, *live, *own;
	bool tables;
};

static const struct kind kinds[] = {
	{ "product", "product", "live", NULL, true },
	{ "floor", "floor", "live", "xfib", true },
	{ "fib", "others", "live_fib", "fib", false },
	{ "pass", "others", "live_pass", "pass", false },
};

static int find_kind(const char *name, struct kind *kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name)) {
			*kind = kinds[i];
			return 0;
		}
	if (strncmp(name, "part_", 5))
		return -EINVAL;
	*kind = (struct kind){ name, "parts", name, NULL, true };
	return 0;
}

/* One copy of the path's object, with as few programs as it takes. */
static int open_copy(struct bed *bed, struct path *path, int cpu, const struct kind *kind,
		     const struct lookup_config *config, const struct tables *t)
{
	struct bpf_object **object = &path->objects[cpu];
	struct bpf_program *program;
	int rc = open_object(bed, kind->object, config, bed->lists[cpu], object);

	if (rc)
		return rc;
	bpf_object__for_each_program(program, *object) {
		const char *name = bpf_program__name(program);

		bpf_program__set_autoload(program, !strcmp(name, kind->live) ||
							   (kind->own && !strcmp(name, kind->own)));
	}
	rc = t ? fit(t, *object) : 0;
	rc = rc ?: load_object(bed, *object);
	if (!rc && !t)
		rc = allow_port(*object, bed->r1, bed->r1);
	if (!rc)
		path->live[cpu] = program_fd(*object, kind->live);
	return rc;
}

static int open_path(struct bed *bed, struct path *path, const struct kind *kind,
		     const struct tables *t)
{
	struct lookup_config config = frame_config(bed);
	int rc = t ? set_adjacency(bed, t, &config) : 0;

	for (int cpu = 0; cpu < BED_CPUS && !rc; cpu++)
		rc = open_copy(bed, path, cpu, kind, &config, t);
	if (rc)
		return rc;
	if (kind->own)
		path->own = dup(program_fd(path->objects[0], kind->own));
	else if (!strcmp(kind->name, "product"))
		/* The one that the daemon itself has loaded and attached. */
		path->own = bpf_prog_get_fd_by_id(t->program_id);
	else
		return 0;
	return path->own < 0 ? -errno : 0;
}

int bed_open(struct bed *bed, const char *name, const char *kind_name, const char *instance)
{
	struct path *path = new_path(bed, name);
	struct tables tables = {};
	struct kind kind;
	int rc = path && kind_name ? find_kind(kind_name, &kind) : -EINVAL;

	if (!rc && kind.tables != !!instance)
		rc = -EINVAL;
	if (!rc && instance)
		rc = tables_open(bed, instance, &tables);
	rc = rc ?: open_path(bed, path, &kind, instance ? &tables : NULL);
	tables_done(&tables);
	if (rc && path)
		close_path(path);
	return rc;
}

int bed_attach(struct bed *bed, const struct path *path)
{
	int link;

	if (path->own < 0)
		return -EOPNOTSUPP;
	if (bed->ingress >= 0)
		return bpf_link_update(bed->ingress, path->own, NULL) ? -errno : 0;
	link = attach(path->own, bed->r0);
	if (link < 0)
		return load_fail(&bed->error, link, "cannot attach to r0");
	bed->ingress = link;
	return 0;
}

void bed_detach(struct bed *bed)
{
	cleanup_close(&bed->ingress);
	bed->ingress = -1;
}

/* --- destinations ------------------------------------------------------------------------------ */

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

static struct iphdr ip4_header(__be32 dst)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.tot_len = htons(LOOKUP_FRAME - ETH_HLEN),
		.saddr = htonl(0x0a000002), /* 10.0.0.2 */
		.daddr = dst,
	};

	ip.check = ip_checksum(&ip);
	return ip;
}

void bed_frame(const struct bed *bed, __u8 *frame)
{
	const size_t udp = LOOKUP_FRAME - ETH_HLEN -
			   (bed->ip6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	const struct udphdr header = { .dest = htons(LOOKUP_PORT), .len = htons(udp) };

	memset(frame, 0, LOOKUP_FRAME);
	if (bed->ip6) {
		struct ip6_packet *p = (void *)frame;

		p->eth.h_proto = htons(ETH_P_IPV6);
		p->ip.version = 6;
		p->ip.hop_limit = 64;
		p->ip.nexthdr = IPPROTO_UDP;
		p->ip.payload_len = htons(udp);
		inet_pton(AF_INET6, "fd00::2", &p->ip.saddr);
		p->udp = header;
	} else {
		struct ip4_packet *p = (void *)frame;

		p->eth.h_proto = htons(ETH_P_IP);
		p->ip = ip4_header(0);
		p->udp = header;
	}
	memcpy(frame, bed->macs, sizeof(bed->macs));
}

static void list_put(struct lookup_list *list, __u32 i, bool ip6, const void *addr)
{
	struct iphdr ip;
	__be32 dst;

	if (ip6) {
		memcpy(&list->ip6[i], addr, 16);
		return;
	}
	memcpy(&dst, addr, sizeof(dst));
	ip = ip4_header(dst);
	memcpy(&list->ip4[i].word, &ip.ttl, sizeof(__u32));
	list->ip4[i].addr = dst;
}

int bed_list(struct bed *bed, bool ip6, const char *file)
{
	_cleanup_fclose_ FILE *f = fopen(file, "re");
	const size_t width = ip6 ? 16 : 4;
	__u8 addr[16];
	__u32 n = 0;

	if (!f)
		return -errno;
	for (; n < LOOKUP_DESTINATIONS && fread(addr, width, 1, f); n++)
		for (int cpu = 0; cpu < BED_CPUS; cpu++)
			list_put(bed->list[cpu], n, ip6, addr);
	if (!n || n & (n - 1))
		return -EINVAL;
	/* Each CPU starts elsewhere, as its own flows would be. */
	for (int cpu = 0; cpu < BED_CPUS; cpu++) {
		bed->list[cpu]->mask = n - 1;
		bed->list[cpu]->next = n / BED_CPUS * cpu;
	}
	bed->destinations = n;
	bed->ip6 = ip6;
	return 0;
}

/* --- check ------------------------------------------------------------------------------------- */

static int switch_sink(struct bed *bed, const char *program)
{
	return bpf_link_update(bed->sink, program_fd(bed->around[0], program), NULL) ? -errno : 0;
}

int bed_check_begin(struct bed *bed)
{
	memset(bed->seen, 0, LOOKUP_DESTINATIONS * sizeof(*bed->seen));
	for (int cpu = 0; cpu < BED_CPUS; cpu++)
		bed->list[cpu]->next = 0;
	return switch_sink(bed, "sink_check");
}

int bed_check_end(struct bed *bed, const char *file)
{
	_cleanup_fclose_ FILE *f = fopen(file, "we");

	if (!f || fwrite(bed->seen, sizeof(*bed->seen), bed->destinations, f) != bed->destinations)
		return -EIO;
	return switch_sink(bed, "sink");
}

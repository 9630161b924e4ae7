// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs forwarding paths against each other, one run for each line of input; answers each with a line
 * that starts with "ok" or "error". lookup.py drives it.
 *
 *   generator g0 ---- r0 router r1 ---- s0 sink
 *
 *   open PATH KIND [INSTANCE]		the programs of a path; bed_open() knows the kinds
 *   list 4|6 FILE			destinations: 4 or 16 bytes each, a power of two of them
 *   run PATH MODE CPUS PACKETS		-> ok PICOSECONDS SENT DELIVERED KERNEL CALIBRATION
 *   check PATH MODE FILE		-> ok SENT DELIVERED KERNEL; each destination once, FILE: struct
 *					lookup_seen of each
 *   detach				leaves r0 to others
 *   memory MIB				-> ok PICOSECONDS of a load from anywhere in there
 *
 * A path stands for a program of its own, attached to r0 for mode `wire`, and one copy a CPU that restores
 * its frames, for `live` and `dry`. CPUS: "1" or "0,1"; PACKETS are sent on each, and the time is that
 * of one packet with all of them at work: CPU time, softirqs that were handed over to their thread
 * included. CALIBRATION: picoseconds of a fixed
 * piece of work just before and after; more than usual says that the machine was slow. KERNEL: how
 * many of the packets the kernel forwarded: none, but on the kernel's own path.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "common/cleanup.h"
#include "lookup_bed.h"
#include "memory.h"

#define BATCH 64 /* packets between two runs of the receiver; its ring holds 256 */

enum mode { MODE_DRY, MODE_LIVE, MODE_WIRE, MODES };
static const char *const mode_names[MODES] = { "dry", "live", "wire" };

/* --- time -------------------------------------------------------------------------------------- */

static volatile __u64 calibration_result;

/* Independent additions, as many at a time as the CPU can: what shares its core slows this down. */
static __u64 calibrate_once(void)
{
	enum { TURNS = 100000 };
	__u64 a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, start = now_ns();

	for (int i = 0; i < TURNS; i++) {
		a += i;
		b ^= i;
		c += i;
		d ^= i;
		e += i;
		f ^= i;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	}
	calibration_result = a + b + c + d + e + f;
	return (now_ns() - start) * 1000 / TURNS;
}

/* The best of three: an interrupt is no slow machine. */
static __u64 calibrate(void)
{
	__u64 best = calibrate_once();

	for (int i = 0; i < 2; i++) {
		__u64 next = calibrate_once();

		best = next < best ? next : best;
	}
	return best;
}

/* --- a run on one CPU -------------------------------------------------------------------------- */

struct worker {
	const struct bed *bed;
	enum mode mode;
	int cpu, program;
	__u32 packets;
	pthread_barrier_t *start;
	__u64 ns, calibration; /* results */
	int error;
};

static int prepare(const struct worker *w)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(w->cpu, &cpus);
	/* Time that others take is not counted, but they leave cold caches behind. */
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus) ||
	    setpriority(PRIO_PROCESS, gettid(), -20))
		return -EINVAL;
	/* The device that a frame comes in on is looked for in the namespace of the caller. */
	return bed_enter(w->bed, w->mode == MODE_WIRE ? BED_GENERATOR : BED_ROUTER);
}

static int run_program(const struct worker *w, __u64 *ns)
{
	int ifindex = w->mode == MODE_WIRE ? w->bed->g0 : w->bed->r0;
	struct xdp_md ctx = { .data_end = LOOKUP_FRAME, .ingress_ifindex = ifindex };
	__u8 frame[LOOKUP_FRAME], out[LOOKUP_FRAME];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof(frame),
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = w->packets);
	int rc;

	bed_frame(w->bed, frame);
	if (w->mode == MODE_DRY) {
		run.data_out = out;
		run.data_size_out = sizeof(out);
	} else {
		run.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
		run.batch_size = BATCH;
	}

	/*
	 * CPU time, softirqs of this thread in it (unless the kernel has CONFIG_IRQ_TIME_ACCOUNTING): before
	 * the first packet the kernel patches code and waits for RCU, for milliseconds.
	 */
	__u64 softirq = softirqd_ns(w->cpu), start = thread_ns();

	rc = bpf_prog_test_run_opts(w->program, &run);
	*ns = thread_ns() - start + softirqd_ns(w->cpu) - softirq;
	if (!rc && w->mode == MODE_DRY && run.retval != XDP_REDIRECT)
		return -EBADE; /* not forwarded: it would be a time of something else */
	return rc;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	__u64 after;

	w->error = prepare(w);
	w->calibration = calibrate();
	pthread_barrier_wait(w->start);
	if (!w->error)
		w->error = run_program(w, &w->ns);
	after = calibrate();
	w->calibration = after > w->calibration ? after : w->calibration;
	return NULL;
}

/* --- a run ------------------------------------------------------------------------------------- */

struct result {
	__u64 ps, sent, delivered, kernel, calibration;
};

/* What is still on its way arrives within a moment, or never. */
static __u64 arrived_since(const struct bed *bed, __u64 before, __u64 expected)
{
	__u64 arrived = 0;

	for (int i = 0; i < 100; i++) {
		arrived = bed_arrived(bed) - before;
		if (arrived >= expected)
			break;
		usleep(1000);
	}
	return arrived;
}

static int run(const struct bed *bed, const struct path *path, enum mode mode, unsigned int cpus,
	       __u32 packets, struct result *result)
{
	struct worker workers[BED_CPUS];
	pthread_t threads[BED_CPUS];
	__u64 before = bed_arrived(bed), kernel = bed_forwarded(bed);
	pthread_barrier_t start;
	double rate = 0; /* packets a picosecond */
	int n = 0, rc = 0;

	pthread_barrier_init(&start, NULL, __builtin_popcount(cpus));
	for (int cpu = 0; cpu < BED_CPUS; cpu++) {
		if (!(cpus & 1u << cpu))
			continue;
		workers[n] = (struct worker){
			.bed = bed,
			.mode = mode,
			.cpu = cpu,
			.program = mode == MODE_WIRE ? bed->generate[cpu] : path->live[cpu],
			.packets = packets,
			.start = &start,
		};
		if (pthread_create(&threads[n], NULL, work, &workers[n]))
			return -EAGAIN;
		n++;
	}
	*result = (struct result){ .sent = (__u64)n * packets };
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		rc = rc ?: workers[i].error;
		rate += packets / (workers[i].ns * 1000.0);
		if (workers[i].calibration > result->calibration)
			result->calibration = workers[i].calibration;
	}
	pthread_barrier_destroy(&start);
	result->ps = 1 / rate;
	result->delivered =
		mode == MODE_DRY ? result->sent : arrived_since(bed, before, result->sent);
	result->kernel = bed_forwarded(bed) - kernel;
	return rc;
}

/* --- input ------------------------------------------------------------------------------------- */

static int parse_mode(const char *word, enum mode *mode)
{
	for (int i = 0; i < MODES; i++)
		if (!strcmp(word, mode_names[i])) {
			*mode = i;
			return 0;
		}
	return -EINVAL;
}

static int parse_cpus(const char *word, unsigned int *cpus)
{
	unsigned int found = 0;

	for (const char *p = word; *p; p++)
		if (*p >= '0' && *p < '0' + BED_CPUS)
			found |= 1u << (*p - '0');
		else if (*p != ',')
			return -EINVAL;
	*cpus = found;
	return found ? 0 : -EINVAL;
}

static int verb_open(struct bed *bed, char **words)
{
	int rc = bed_open(bed, words[0], words[1], words[2]);

	if (!rc)
		printf("ok\n");
	return rc;
}

static int verb_detach(struct bed *bed, char **words)
{
	bed_detach(bed);
	printf("ok\n");
	return 0;
}

static int verb_list(struct bed *bed, char **words)
{
	int rc = bed_list(bed, words[0][0] == '6', words[1]);

	if (!rc)
		printf("ok\n");
	return rc;
}

static int verb_run(struct bed *bed, char **words)
{
	const struct path *path = bed_find(bed, words[0]);
	struct result result;
	unsigned int cpus;
	enum mode mode;
	int rc = path ? parse_mode(words[1], &mode) : -ENOENT;

	rc = rc ?: parse_cpus(words[2], &cpus);
	if (!rc && mode == MODE_WIRE)
		rc = bed_attach(bed, path);
	rc = rc ?: run(bed, path, mode, cpus, strtoul(words[3], NULL, 10), &result);
	if (!rc)
		printf("ok %llu %llu %llu %llu %llu\n", result.ps, result.sent, result.delivered,
		       result.kernel, result.calibration);
	return rc;
}

static int verb_check(struct bed *bed, char **words)
{
	const struct path *path = bed_find(bed, words[0]);
	struct result result;
	enum mode mode;
	int rc = path ? parse_mode(words[1], &mode) : -ENOENT;

	if (!rc && mode == MODE_WIRE)
		rc = bed_attach(bed, path);
	rc = rc ?: bed_check_begin(bed);
	rc = rc ?: run(bed, path, mode, 1u << (BED_CPUS - 1), bed->destinations, &result);
	rc = rc ?: bed_check_end(bed, words[2]);
	if (!rc)
		printf("ok %llu %llu %llu\n", result.sent, result.delivered, result.kernel);
	return rc;
}

static int verb_memory(struct bed *bed, char **words)
{
	__u64 ps;
	int rc = memory_latency(strtoul(words[0], NULL, 10) << 20, &ps);

	if (!rc)
		printf("ok %llu\n", ps);
	return rc;
}

static const struct verb {
	const char *name;
	int words;
	int (*act)(struct bed *bed, char **words);
} verbs[] = {
	{ "open", 3, verb_open },   { "list", 2, verb_list },	  { "run", 4, verb_run },
	{ "check", 3, verb_check }, { "detach", 0, verb_detach }, { "memory", 1, verb_memory },
};

static int act(struct bed *bed, char *line)
{
	char *words[8] = {}, *state = NULL, *word;
	int n = 0;

	for (word = strtok_r(line, " \n", &state); word && n < 8;
	     word = strtok_r(NULL, " \n", &state))
		words[n++] = word;
	for (size_t i = 0; n && i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, words[0]) && n - 1 <= verbs[i].words)
			return verbs[i].act(bed, words + 1);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	_cleanup_(bed_done) struct bed bed = {};
	char line[1024];
	int rc;

	if (argc != 4) {
		fprintf(stderr, "usage: lookup ROUTER GENERATOR SINK, see lookup.c\n");
		return 2;
	}
	rc = bed_init(&bed, argv[0], argv + 1);
	if (rc) {
		fprintf(stderr, "lookup: %s: %s\n", bed.error.text, strerror(-rc));
		return EXIT_FAILURE;
	}
	printf("ok\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		*bed.error.text = '\0';
		rc = act(&bed, line);
		if (rc)
			printf("error %s: %s\n", bed.error.text, strerror(-rc));
		fflush(stdout);
	}
	return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ports that share their interface with another XDP program through libxdp's dispatcher. All tests are
 * skipped where the kernel does not let the dispatcher work. Argument: an object with a program `pass`.
 */
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "common/log.h"
#include "loader/attach.h"

#define LIBXDP_PINS "/sys/fs/bpf/xdp"

static const struct capacity small = { .routes4 = 1000, .routes6 = 1000 };
static const char *pass_object;
static char name[64];
static struct load_error err;
static bool usable;

static int die_at = -1; /* this call of bpf_obj_pin() kills the process, before it does anything */

int __real_bpf_obj_pin(int fd, const char *path);
int __wrap_bpf_obj_pin(int fd, const char *path);
int __wrap_bpf_obj_pin(int fd, const char *path)
{
	if (die_at >= 0 && !die_at--)
		kill(getpid(), SIGKILL);
	return __real_bpf_obj_pin(fd, path);
}

/* --- helpers ----------------------------------------------------------------------------------- */

static int sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int sh(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

#define assert_loaded(call)                                          \
	do {                                                         \
		int rc_ = (call);                                    \
		if (rc_ < 0)                                         \
			fail_msg("%s: %d %s", #call, rc_, err.text); \
	} while (0)

static int setup(void **state)
{
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(sh("ip link set lo up && ip link add v0 type veth peer name v1 && "
			    "ip link set v0 up && ip link set v1 up"),
			 0);
	snprintf(name, sizeof(name), "test-%d", getpid());
	return 0;
}

/* A dispatcher's pins would outlive its namespace. */
static int teardown(void **state)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(if_nametoindex("v0"));

	if (!libxdp_get_error(mp)) {
		xdp_multiprog__detach(mp);
		xdp_multiprog__close(mp);
	}
	sh("rm -rf %s/%s %s/%s; rmdir --ignore-fail-on-non-empty %s %s 2>/dev/null", XFIB_PIN_ROOT,
	   name, XFIB_RUN_ROOT, name, XFIB_PIN_ROOT, XFIB_RUN_ROOT);
	die_at = -1;
	return 0;
}

static struct instance *make(void)
{
	struct instance *instance = NULL;

	if (!usable)
		skip();
	assert_loaded(instance_create(name, &small, &instance, &err));
	return instance;
}

static void finish(struct instance *instance)
{
	instance_free(instance);
	assert_loaded(instance_remove(name, &err));
}

static struct xfib_intent intent_of(const struct instance *instance, unsigned int slot)
{
	struct xfib_intent intents[XFIB_PORTS];

	assert_int_equal(ports_read(instance, intents), 0);
	return intents[slot];
}

static void attach(struct instance *instance, unsigned int *slot)
{
	assert_loaded(port_attach(instance, "v0", XFIB_MODE_NATIVE, false, slot, &err));
	assert_int_equal(intent_of(instance, *slot).attach, XFIB_ATTACH_DISPATCHER);
}

/* How many components of this name run on v0; *id: of the last one. */
static int components(const char *program, __u32 *id)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(if_nametoindex("v0"));
	int count = 0;

	if (libxdp_get_error(mp))
		return 0;
	for (struct xdp_program *prog = NULL; (prog = xdp_multiprog__next_prog(prog, mp));) {
		if (strcmp(xdp_program__name(prog), program))
			continue;
		*id = xdp_program__id(prog);
		count++;
	}
	xdp_multiprog__close(mp);
	return count;
}

static void assert_components(int xfib, int pass)
{
	__u32 id;

	assert_int_equal(components("xfib", &id), xfib);
	assert_int_equal(components("pass", &id), pass);
}

/* Attaches the program of another, as xdp-loader would. */
static void attach_other(enum xdp_attach_mode mode)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .open_filename = pass_object,
			    .prog_name = "pass");
	struct xdp_program *prog = xdp_program__create(&opts);

	assert_non_null(prog);
	assert_int_equal(xdp_program__attach(prog, if_nametoindex("v0"), mode, 0), 0);
	xdp_program__close(prog);
}

static __u32 xdp_id(const char *ifname)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	assert_int_equal(bpf_xdp_query(if_nametoindex(ifname), 0, &query), 0);
	return query.drv_prog_id;
}

/* libxdp's pins for an ifindex. */
static int pin_dirs(int ifindex)
{
	DIR *dir = opendir(LIBXDP_PINS);
	struct dirent *entry;
	int count = 0, index;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		count += sscanf(entry->d_name, "dispatch-%d-", &index) == 1 && index == ifindex;
	closedir(dir);
	return count;
}

/* Frames that the port has counted so far; one is sent first. */
static __u64 frames_seen(const struct instance *instance, unsigned int slot)
{
	int cpus = libbpf_num_possible_cpus();
	struct xfib_counters counters[cpus];
	__u64 packets = 0;

	sh("ip link set v1 up; ip addr replace 10.99.0.1/24 dev v1; ping -c1 -W1 10.99.0.9 >/dev/null");
	assert_int_equal(bpf_map_lookup_elem(instance->fd[XFIB_MAP_counters], &slot, counters), 0);
	for (int i = 0; i < cpus; i++)
		packets += counters[i].verdict[XFIB_PUNT_DISABLED].packets;
	return packets;
}

/* --- tests ------------------------------------------------------------------------------------- */

static void alone_it_leaves_nothing_behind(void **state)
{
	struct instance *instance = make();
	unsigned int slot, again;
	__u32 id, dispatcher;

	attach(instance, &slot);
	assert_int_equal(components("xfib", &id), 1);
	assert_int_equal(intent_of(instance, slot).prog_id, id);
	dispatcher = xdp_id("v0");
	attach(instance, &again);
	assert_int_equal(again, slot);
	assert_int_equal(xdp_id("v0"), dispatcher); /* nothing was touched */
	assert_int_equal(ports_reconcile(instance, &err), 0);
	assert_true(frames_seen(instance, slot) > 0);

	assert_loaded(port_detach(instance, "v0", &err));
	assert_int_equal(xdp_id("v0"), 0);
	assert_int_equal(pin_dirs(if_nametoindex("v0")), 0);
	finish(instance);
}

/* Of two components the first one would have all packets. */
static void a_second_instance_is_refused_and_told_of_the_first(void **state)
{
	struct instance *first = make(), *second;
	char first_name[64], second_name[64];
	unsigned int slot, other;

	strcpy(first_name, name);
	attach(first, &slot);
	snprintf(second_name, sizeof(second_name), "%.60s-b", name);
	assert_loaded(instance_create(second_name, &small, &second, &err));
	assert_int_equal(port_attach(second, "v0", XFIB_MODE_NATIVE, false, &other, &err), -EBUSY);
	assert_non_null(strstr(err.text, first_name));
	assert_components(1, 0);
	instance_free(second);
	assert_loaded(instance_remove(second_name, &err));
	assert_loaded(port_detach(first, "v0", &err));
	finish(first);
}

static void the_other_program_stays_if_it_came_first(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	attach_other(XDP_MODE_NATIVE);
	attach(instance, &slot);
	assert_components(1, 1);
	assert_true(frames_seen(instance, slot) > 0); /* it passed them on */
	assert_loaded(port_detach(instance, "v0", &err));
	assert_components(0, 1);
	finish(instance);
}

static void the_other_program_stays_if_it_came_later(void **state)
{
	struct instance *instance = make();
	unsigned int slot;
	__u64 seen;

	attach(instance, &slot);
	attach_other(XDP_MODE_NATIVE);
	assert_components(1, 1);
	assert_int_equal(ports_reconcile(instance, &err), 0);
	seen = frames_seen(instance, slot);
	assert_true(seen > 0);
	assert_loaded(port_detach(instance, "v0", &err));
	assert_components(0, 1);
	finish(instance);
}

static void a_generation_is_switched_beside_another_program(void **state)
{
	struct instance *instance = make();
	struct generation *gen = NULL;
	unsigned int slot;
	__u32 before, after;
	__u64 seen;

	attach_other(XDP_MODE_NATIVE);
	attach(instance, &slot);
	assert_int_equal(components("xfib", &before), 1);
	assert_loaded(generation_create(instance, &small, &gen, &err));
	assert_loaded(generation_switch(instance, gen, &err));
	generation_free(gen);
	assert_components(1, 1);
	assert_int_equal(components("xfib", &after), 1);
	assert_int_not_equal(before, after);
	assert_int_equal(intent_of(instance, slot).prog_id, after);
	assert_int_equal(intent_of(instance, slot).generation, 2);
	seen = frames_seen(instance, slot);
	assert_true(frames_seen(instance, slot) > seen);
	assert_int_equal(ports_reconcile(instance, &err), 0);
	assert_int_equal(pin_dirs(if_nametoindex("v0")), 1);
	assert_loaded(port_detach(instance, "v0", &err));
	assert_components(0, 1);
	finish(instance);
}

static void an_attach_killed_at_any_pin_is_made_up_for(void **state)
{
	struct instance *instance = make();
	int at;

	for (at = 0;; at++) {
		unsigned int slot;
		pid_t pid = fork();
		int status;

		if (!pid) {
			die_at = at;
			_exit(-port_attach(instance, "v0", XFIB_MODE_NATIVE, false, &slot, &err));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
		assert_loaded(ports_reconcile(instance, &err));
		assert_components(1, 0);
		assert_loaded(port_detach(instance, "v0", &err));
		assert_int_equal(xdp_id("v0"), 0);
		if (!WIFSIGNALED(status))
			break;
	}
	assert_int_equal(at, 1); /* the twin; libxdp's own pins are out of reach here */
	finish(instance);
}

static void a_lost_intent_is_no_lost_program(void **state)
{
	struct instance *instance = make();
	struct xfib_intent intent;
	unsigned int slot;

	/* As if killed after the attachment, before its intent was stored. */
	attach(instance, &slot);
	intent = intent_of(instance, slot);
	intent.ifindex = intent.prog_id = intent.attach = 0;
	assert_int_equal(bpf_map_update_elem(instance->fd[XFIB_MAP_intent], &slot, &intent, 0), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_components(1, 0);
	intent = intent_of(instance, slot);
	intent.ifindex = intent.prog_id = intent.attach = 0;
	assert_int_equal(bpf_map_update_elem(instance->fd[XFIB_MAP_intent], &slot, &intent, 0), 0);
	assert_loaded(port_detach(instance, "v0", &err));
	assert_int_equal(xdp_id("v0"), 0);
	finish(instance);
}

static void a_device_that_is_gone_leaves_no_pins(void **state)
{
	struct instance *instance = make();
	unsigned int slot;
	int ifindex;

	attach(instance, &slot);
	ifindex = if_nametoindex("v0");
	assert_int_equal(sh("ip link del v0"), 0);
	assert_int_equal(pin_dirs(ifindex), 1);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_equal(pin_dirs(ifindex), 0);
	assert_int_equal(sh("ip link add v0 type veth peer name v1; ip link set v0 up"), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_components(1, 0);
	assert_loaded(port_detach(instance, "v0", &err));
	finish(instance);
}

/* The dispatcher itself cannot be taken off there, but runs nothing of ours any more. */
static void a_device_that_moved_away_runs_the_program_no_more(void **state)
{
	struct instance *instance = make();
	unsigned int slot;
	int status;
	__u64 seen;
	pid_t pid;

	attach(instance, &slot);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET) || kill(getpid(), SIGSTOP))
			_exit(9);
		_exit(sh("ip link set v0 up"));
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(sh("ip link set v0 netns %d", pid), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	seen = frames_seen(instance, slot);
	assert_int_equal(frames_seen(instance, slot), seen);
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	assert_loaded(port_detach(instance, "v0", &err));
	finish(instance);
}

static void a_program_outside_the_dispatcher_is_left_alone(void **state)
{
	struct instance *instance = make();
	unsigned int slot;
	__u32 id;

	assert_int_equal(sh("ip link set v0 xdpdrv obj %s sec xdp", pass_object), 0);
	id = xdp_id("v0");
	assert_int_equal(port_attach(instance, "v0", XFIB_MODE_NATIVE, false, &slot, &err), -EBUSY);
	assert_non_null(strstr(err.text, "pass"));
	assert_int_equal(xdp_id("v0"), id);
	finish(instance);
}

static void a_dispatcher_in_the_other_mode_is_left_alone(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	attach_other(XDP_MODE_SKB);
	assert_int_equal(port_attach(instance, "v0", XFIB_MODE_NATIVE, false, &slot, &err), -EBUSY);
	assert_non_null(strstr(err.text, "skb"));
	assert_components(0, 1);
	finish(instance);
}

static void what_has_no_native_xdp_is_told(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	assert_int_equal(sh("ip link add br0 type bridge && ip link set br0 up"), 0);
	assert_int_equal(port_attach(instance, "br0", XFIB_MODE_NATIVE, false, &slot, &err),
			 -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "skb"));
	assert_int_equal(pin_dirs(if_nametoindex("br0")), 0);
	assert_string_equal(intent_of(instance, 0).ifname, "");
	finish(instance);
}

static int find_out(void **state)
{
	struct instance *instance = NULL;
	unsigned int slot;

	setup(state);
	if (instance_create(name, &small, &instance, &err) ||
	    port_attach(instance, "v0", XFIB_MODE_NATIVE, false, &slot, &err)) {
		print_error("%s\n", err.text);
		return -1;
	}
	usable = intent_of(instance, slot).attach == XFIB_ATTACH_DISPATCHER;
	if (!usable)
		print_message("the kernel refuses libxdp's dispatcher: all tests are skipped\n");
	port_detach(instance, "v0", &err);
	instance_free(instance);
	return instance_remove(name, &err);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(alone_it_leaves_nothing_behind),
		T(a_second_instance_is_refused_and_told_of_the_first),
		T(the_other_program_stays_if_it_came_first),
		T(the_other_program_stays_if_it_came_later),
		T(a_generation_is_switched_beside_another_program),
		T(an_attach_killed_at_any_pin_is_made_up_for),
		T(a_lost_intent_is_no_lost_program),
		T(a_device_that_is_gone_leaves_no_pins),
		T(a_device_that_moved_away_runs_the_program_no_more),
		T(a_program_outside_the_dispatcher_is_left_alone),
		T(what_has_no_native_xdp_is_told),
		T(a_dispatcher_in_the_other_mode_is_left_alone),
	};
#undef T
	log_init("dispatcher_test", getenv("XFIB_DEBUG") ? LOG_DEBUG : LOG_WARNING);
	if (geteuid() || argc != 2) {
		fprintf(stderr, "usage (as root): dispatcher_test PASS.bpf.o\n");
		return 1;
	}
	pass_object = argv[1];
	return cmocka_run_group_tests_name("dispatcher", tests, find_out, NULL);
}

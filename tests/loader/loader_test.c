/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loader against the kernel, with direct attachments (dispatcher_test.c has the others). Each test
 * has network namespaces of its own that vanish with their last process, and an instance named after
 * the process, removed at its end. Argument: an object with a program `spin`.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf_common.h>
#include <linux/if_link.h>

#include "common/log.h"
#include "loader/attach.h"
#include "loader/preflight.h"
#include "loader/selftest.h"

static const struct capacity small = { .routes4 = 1000, .routes6 = 1000 };
static const char *spin_object;
static char name[64];
static struct load_error err;

/* --- faults ------------------------------------------------------------------------------------ */

static int die_at = -1; /* this call of bpf_obj_pin() kills the process, before it does anything */
static int fail_update_at = -1;

int __real_bpf_obj_pin(int fd, const char *path);
int __wrap_bpf_obj_pin(int fd, const char *path);
int __wrap_bpf_obj_pin(int fd, const char *path)
{
	if (die_at >= 0 && !die_at--)
		kill(getpid(), SIGKILL);
	return __real_bpf_obj_pin(fd, path);
}

int __real_bpf_link_update(int link_fd, int prog_fd, const struct bpf_link_update_opts *opts);
int __wrap_bpf_link_update(int link_fd, int prog_fd, const struct bpf_link_update_opts *opts);
int __wrap_bpf_link_update(int link_fd, int prog_fd, const struct bpf_link_update_opts *opts)
{
	if (fail_update_at >= 0 && !fail_update_at--) {
		errno = EBUSY;
		return -EBUSY;
	}
	return __real_bpf_link_update(link_fd, prog_fd, opts);
}

/* A kernel that answers wrongly: this run comes back with one byte changed. */
static int corrupt_at = -1;

int __real_bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *opts);
int __wrap_bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *opts);
int __wrap_bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *opts)
{
	int rc = __real_bpf_prog_test_run_opts(fd, opts);

	if (!rc && corrupt_at >= 0 && !corrupt_at--)
		((__u8 *)opts->data_out)[24] ^= 1;
	return rc;
}

/* Without CAP_SYS_ADMIN, as far as the loader can tell: it attaches directly then. */
bool __wrap_preflight_capable(unsigned int capability);
bool __wrap_preflight_capable(unsigned int capability)
{
	return false;
}

/* The kernel's release, NULL: the true one. */
static const char *release;

int __real_uname(struct utsname *uts);
int __wrap_uname(struct utsname *uts);
int __wrap_uname(struct utsname *uts)
{
	int rc = __real_uname(uts);

	if (release)
		snprintf(uts->release, sizeof(uts->release), "%s", release);
	return rc;
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

static int netns_setup(void **state)
{
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(
		sh("ip link set lo up && ip link add v0 type veth peer name v1 && "
		   "ip link add v2 type veth peer name v3 && for i in v0 v1 v2 v3; do ip link set $i up; done"),
		0);
	snprintf(name, sizeof(name), "test-%d", getpid());
	return 0;
}

static bool pins_exist(const char *leaf)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s/%s", XFIB_PIN_ROOT, name, leaf);
	return !stat(path, &st);
}

/* Whatever a failed test left; a passed one has detached and removed for itself. */
static int netns_teardown(void **state)
{
	sh("rm -rf %s/%s %s/%s; rmdir --ignore-fail-on-non-empty %s %s 2>/dev/null", XFIB_PIN_ROOT,
	   name, XFIB_RUN_ROOT, name, XFIB_PIN_ROOT, XFIB_RUN_ROOT);
	die_at = fail_update_at = corrupt_at = -1;
	return 0;
}

static struct instance *make(void)
{
	struct instance *instance = NULL;

	assert_loaded(instance_create(name, &small, &instance, &err));
	return instance;
}

static __u32 xdp_id(const char *ifname, bool skb)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	assert_int_equal(bpf_xdp_query(if_nametoindex(ifname), 0, &query), 0);
	return skb ? query.skb_prog_id : query.drv_prog_id;
}

static struct xfib_intent intent_of(const struct instance *instance, unsigned int slot)
{
	struct xfib_intent intents[XFIB_PORTS];

	assert_int_equal(ports_read(instance, intents), 0);
	return intents[slot];
}

static void attach(struct instance *instance, const char *ifname, unsigned int *slot)
{
	assert_loaded(port_attach(instance, ifname, XFIB_MODE_NATIVE, false, slot, &err));
}

static void detach(struct instance *instance, const char *ifname)
{
	assert_loaded(port_detach(instance, ifname, &err));
	assert_int_equal(xdp_id(ifname, false), 0);
}

static void finish(struct instance *instance)
{
	instance_free(instance);
	assert_loaded(instance_remove(name, &err));
	assert_false(pins_exist(""));
}

/* --- instances --------------------------------------------------------------------------------- */

static void an_instance_is_made_adopted_and_removed(void **state)
{
	struct instance *a = make(), *b = make(), *reader = NULL;
	struct generation *gen = NULL;

	assert_int_equal(a->meta.abi, XFIB_ABI);
	assert_int_equal(a->meta.generation, 1);
	assert_true(a->meta.hash_seed && a->meta.hash_seed == b->meta.hash_seed);
	assert_loaded(instance_open(name, &reader, &err));
	assert_false(reader->writable);
	a->ctl->deadline = 42;
	assert_int_equal(reader->ctl->deadline, 42);
	assert_loaded(generation_open(reader, 1, false, &gen, &err));
	assert_int_equal(gen->capacity.routes4, small.routes4);
	assert_int_equal(gen->capacity.routes6, small.routes6);
	generation_free(gen);
	instance_free(reader);
	instance_free(b);
	finish(a);
	assert_int_equal(instance_open(name, &reader, &err), -ENOENT);
}

static void pins_are_for_root_alone(void **state)
{
	struct instance *instance = make();
	const char *const dirs[] = { "", "/links", "/gen-1" };
	char path[256];
	struct stat st;

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s%s", XFIB_PIN_ROOT, name, dirs[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0700);
	}
	finish(instance);
}

static void names_that_are_paths_are_refused(void **state)
{
	const char *const bad[] = { "", ".", "..", "a/b", "../x", "a b", "\xc3\xa9", "a.b" };
	struct instance *instance;
	char longest[65];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_false(instance_name_ok(bad[i]));
		assert_int_equal(instance_create(bad[i], &small, &instance, &err), -EINVAL);
	}
	memset(longest, 'x', 64);
	longest[64] = '\0';
	assert_false(instance_name_ok(longest));
	longest[63] = '\0';
	assert_true(instance_name_ok(longest));
	assert_true(instance_name_ok("edge-1_blue"));
}

static void an_old_kernel_is_told_in_one_line(void **state)
{
	const char *const old[] = { "6.0.19-amd64", "5.15.0", "4.19.0-27-amd64", "0" };
	const char *const fit[] = { "6.1.0-18-amd64", "6.1", "6.12.48", "7.0.0-rc1" };

	for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++) {
		release = old[i];
		assert_int_equal(preflight_system(&err), -ENOSYS);
		assert_non_null(strstr(err.text, old[i]));
		assert_non_null(strstr(err.text, "needs 6.1 or newer"));
		assert_null(strchr(err.text, '\n'));
	}
	for (size_t i = 0; i < sizeof(fit) / sizeof(*fit); i++) {
		release = fit[i];
		assert_loaded(preflight_system(&err));
	}
	release = NULL;
}

/* A creation killed before any of its pins, and then the next one. */
static void a_creation_killed_at_any_pin_is_made_up_for(void **state)
{
	int at;

	for (at = 0;; at++) {
		struct instance *instance = NULL;
		struct generation *gen = NULL;
		pid_t pid = fork();
		int status;

		if (!pid) {
			die_at = at;
			_exit(instance_create(name, &small, &instance, &err) ? 1 : 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
		instance = make();
		assert_loaded(
			generation_open(instance, instance->meta.generation, true, &gen, &err));
		generation_free(gen);
		finish(instance);
		if (!WIFSIGNALED(status))
			break;
	}
	assert_int_equal(at, XFIB_MAP_COUNT + 1); /* each map was the one it died at */
}

static void other_pins_are_refused_with_both_versions(void **state)
{
	struct instance *instance = make(), *other = NULL;
	struct xfib_meta meta = instance->meta;
	__u32 key = 0;

	meta.abi = XFIB_ABI + 1;
	strcpy(meta.version, "9.8.7");
	assert_int_equal(bpf_map_update_elem(instance->fd[XFIB_MAP_meta], &key, &meta, 0), 0);
	assert_int_equal(instance_open(name, &other, &err), -EPROTO);
	assert_non_null(strstr(err.text, "9.8.7"));
	assert_non_null(strstr(err.text, XFIB_VERSION));
	assert_int_equal(instance_create(name, &small, &other, &err), -EPROTO);
	assert_int_equal(bpf_map_update_elem(instance->fd[XFIB_MAP_meta], &key, &instance->meta, 0),
			 0);
	finish(instance);
}

static void a_damaged_instance_is_not_overwritten(void **state)
{
	struct instance *instance = make(), *other = NULL;
	unsigned int slot;
	char path[256];

	attach(instance, "v0", &slot);
	snprintf(path, sizeof(path), "%s/%s/status", XFIB_PIN_ROOT, name);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(instance_create(name, &small, &other, &err), -EPROTO);
	assert_non_null(strstr(err.text, "damaged"));
	assert_int_not_equal(xdp_id("v0", false), 0);
	assert_int_equal(bpf_obj_pin(instance->fd[XFIB_MAP_status], path), 0);
	detach(instance, "v0");
	finish(instance);
}

/* Somebody removed the tables: it says what to do, and that works. */
static void ports_of_a_damaged_instance_are_detached(void **state)
{
	struct instance *instance = make();
	struct generation *gen = NULL;
	unsigned int slot;

	attach(instance, "v0", &slot);
	attach(instance, "v2", &slot);
	assert_int_equal(sh("rm -r %s/%s/gen-1", XFIB_PIN_ROOT, name), 0);
	assert_int_equal(generation_open(instance, 1, true, &gen, &err), -ENOENT);
	assert_non_null(strstr(err.text, "detach --all"));
	detach(instance, "v0");
	detach(instance, "v2");
	finish(instance);
}

static void an_instance_belongs_to_one_namespace(void **state)
{
	struct instance *here = make(), *there = NULL;
	char first[64], second[64];
	unsigned int slot;
	int kept;

	strcpy(first, name);
	attach(here, "v0", &slot);
	/* The first one must not go with the last process that is in it: its instance would be left over. */
	kept = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(kept >= 0);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(instance_open(name, &there, &err), -EREMOTE);
	assert_non_null(strstr(err.text, "namespace"));
	assert_int_equal(instance_create(name, &small, &there, &err), -EREMOTE);

	/* One of another name is made beside it. */
	snprintf(second, sizeof(second), "%.60s-b", name);
	strcpy(name, second);
	sh("ip link add v0 type veth peer name v1");
	there = make();
	attach(there, "v0", &slot);
	detach(there, "v0");
	finish(there);
	strcpy(name, first);
	instance_free(here);
	close(kept);
}

static void there_is_one_daemon(void **state)
{
	struct instance *instance = make();
	pid_t pid = fork();
	int status, fd;

	if (!pid) {
		if (instance_lock_daemon(instance, &fd, &err))
			_exit(1);
		pid = fork();
		if (!pid)
			_exit(instance_lock_daemon(instance, &fd, &err) == -EBUSY ? 0 : 2);
		waitpid(pid, &status, 0);
		_exit(instance_remove(name, &err) == -EBUSY && WEXITSTATUS(status) == 0 ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	finish(instance);
}

/* --- ports ------------------------------------------------------------------------------------- */

static void attaching_is_idempotent_and_detaching_restores(void **state)
{
	struct instance *instance = make();
	unsigned int slot, again;
	struct xfib_intent intent;
	char path[256];
	__u32 id;
	int fd;

	attach(instance, "v0", &slot);
	id = xdp_id("v0", false);
	assert_int_not_equal(id, 0);
	intent = intent_of(instance, slot);
	assert_string_equal(intent.ifname, "v0");
	assert_int_equal(intent.ifindex, if_nametoindex("v0"));
	assert_int_equal(intent.prog_id, id);
	assert_string_equal(intent.error, "");
	attach(instance, "v0", &again);
	assert_int_equal(again, slot);
	assert_int_equal(xdp_id("v0", false), id); /* the very same program: nothing was touched */
	assert_true(pins_exist("gen-1/twin-0"));
	assert_int_equal(instance_remove(name, &err), -EBUSY);

	/* Somebody may hold the link. */
	snprintf(path, sizeof(path), "%s/%s/links/v0", XFIB_PIN_ROOT, name);
	fd = bpf_obj_get(path);
	assert_true(fd >= 0);
	detach(instance, "v0");
	close(fd);
	assert_false(pins_exist("links/v0"));
	assert_false(pins_exist("gen-1/twin-0"));
	assert_string_equal(intent_of(instance, slot).ifname, "");
	assert_int_equal(port_detach(instance, "v0", &err), -ENOENT);
	finish(instance);
}

static void an_interface_may_have_dots_in_its_name(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	assert_int_equal(
		sh("ip link set v0 down; ip link set v0 name v0.100; ip link set v0.100 up"), 0);
	attach(instance, "v0.100", &slot);
	assert_int_equal(ports_reconcile(instance, &err), 0);
	detach(instance, "v0.100");
	finish(instance);
}

static void the_attachment_outlives_its_process(void **state)
{
	struct instance *instance = make();
	unsigned int slot;
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(-port_attach(instance, "v0", XFIB_MODE_NATIVE, false, &slot, &err));
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_not_equal(xdp_id("v0", false), 0);
	attach(instance, "v0", &slot);
	detach(instance, "v0");
	finish(instance);
}

static void skb_mode_is_used_only_when_asked_for(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	assert_int_equal(sh("ip link add br0 type bridge && ip link set br0 up"), 0);
	assert_int_equal(port_attach(instance, "br0", XFIB_MODE_NATIVE, false, &slot, &err),
			 -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "skb"));
	assert_non_null(strstr(err.text, "bridge"));
	assert_int_equal(xdp_id("br0", true), 0);
	assert_string_equal(intent_of(instance, 0).ifname, "");
	assert_false(pins_exist("gen-1/twin-0"));

	assert_loaded(port_attach(instance, "br0", XFIB_MODE_SKB, false, &slot, &err));
	assert_int_not_equal(xdp_id("br0", true), 0);
	assert_loaded(port_detach(instance, "br0", &err));
	assert_int_equal(xdp_id("br0", true), 0);
	finish(instance);
}

static void a_port_changes_its_mode(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	attach(instance, "v0", &slot);
	assert_loaded(port_attach(instance, "v0", XFIB_MODE_SKB, false, &slot, &err));
	assert_int_equal(xdp_id("v0", false), 0);
	assert_int_not_equal(xdp_id("v0", true), 0);
	attach(instance, "v0", &slot);
	assert_int_equal(xdp_id("v0", true), 0);
	detach(instance, "v0");
	finish(instance);
}

static void what_is_no_port_is_told(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	assert_int_equal(port_attach(instance, "nope", XFIB_MODE_NATIVE, false, &slot, &err),
			 -ENODEV);
	assert_non_null(strstr(err.text, "nope"));
	assert_int_equal(port_attach(instance, "lo", XFIB_MODE_NATIVE, false, &slot, &err),
			 -ENODEV);
	assert_non_null(strstr(err.text, "loopback"));
	if (!sh("modprobe -q tun; ip tuntap add dev tun0 mode tun 2>/dev/null")) {
		assert_int_equal(
			port_attach(instance, "tun0", XFIB_MODE_NATIVE, false, &slot, &err),
			-ENODEV);
		assert_non_null(strstr(err.text, "Ethernet"));
	}
	assert_int_equal(port_attach(instance, "a-name-that-is-too-long", XFIB_MODE_NATIVE, false,
				     &slot, &err),
			 -ENODEV);
	assert_string_equal(intent_of(instance, 0).ifname, "");

	/* What the daemon wants is remembered, with the reason. */
	assert_int_equal(port_attach(instance, "nope", XFIB_MODE_NATIVE, true, &slot, &err),
			 -ENODEV);
	assert_string_equal(intent_of(instance, slot).ifname, "nope");
	assert_non_null(strstr(intent_of(instance, slot).error, "nope"));
	assert_loaded(port_detach(instance, "nope", &err));
	finish(instance);
}

static void the_program_of_another_is_left_alone(void **state)
{
	struct instance *instance = make();
	char own[64];
	unsigned int slot;
	__u32 id;

	/* Another instance is as foreign as any other program. */
	attach(instance, "v0", &slot);
	id = xdp_id("v0", false);
	strcpy(own, name);
	snprintf(name, sizeof(name), "%.60s-b", own);
	struct instance *other = make();

	assert_int_equal(port_attach(other, "v0", XFIB_MODE_NATIVE, false, &slot, &err), -EBUSY);
	assert_non_null(strstr(err.text, "xfib"));
	assert_int_equal(xdp_id("v0", false), id);
	assert_string_equal(intent_of(other, 0).ifname, "");
	finish(other);
	strcpy(name, own);
	detach(instance, "v0");
	finish(instance);
}

static void ends_with(const char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void ends_with(const char *text, const char *fmt, ...)
{
	char end[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(end, sizeof(end), fmt, args);
	va_end(args);
	assert_true(strlen(text) >= strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
}

static void longest_names(char last)
{
	memset(name, 'n', 63);
	snprintf(name + 50, 14, "%012d%c", getpid(), last);
}

/* What to do stands at the end. */
static void the_longest_reason_is_whole(void **state)
{
	const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int prog = bpf_prog_load(BPF_PROG_TYPE_XDP, "fifteen_letters", "GPL", pass, 2, NULL);
	static const char ifname[] = "fifteen_letters";
	struct instance *first, *second, *there;
	char advice[256], own[64];
	unsigned int slot;
	int kept;

	assert_true(prog >= 0);
	assert_int_equal(sh("ip link add %s type veth peer name peer", ifname), 0);
	longest_names('1');
	strcpy(own, name);
	first = make();
	attach(first, ifname, &slot);
	longest_names('2');
	second = make();

	assert_int_equal(port_attach(second, ifname, XFIB_MODE_NATIVE, true, &slot, &err), -EBUSY);
	snprintf(advice, sizeof(advice), "xfib -n %s detach %s", own, ifname);
	ends_with(err.text, "%s", advice);
	assert_string_equal(intent_of(second, slot).error, err.text);

	strcpy(name, own);
	detach(first, ifname);
	assert_int_equal(bpf_xdp_attach(if_nametoindex(ifname), prog, 0, NULL), 0);
	assert_int_equal(port_attach(first, ifname, XFIB_MODE_NATIVE, true, &slot, &err), -EBUSY);
	ends_with(err.text, "remove it first, for example: ip link set dev %s xdp off", ifname);
	assert_string_equal(intent_of(first, slot).error, err.text);
	assert_int_equal(bpf_xdp_detach(if_nametoindex(ifname), 0, NULL), 0);
	close(prog);

	/* Attached, so that it is not taken over. */
	attach(first, ifname, &slot);
	kept = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(kept >= 0);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(instance_open(name, &there, &err), -EREMOTE);
	ends_with(err.text, "rm -r %s/%s %s/%s", XFIB_PIN_ROOT, name, XFIB_RUN_ROOT, name);
	assert_int_equal(setns(kept, CLONE_NEWNET), 0);
	close(kept);
	detach(first, ifname);
	finish(first);
	longest_names('2');
	detach(second, ifname);
	finish(second);
}

/* Its link goes by the name that it had. */
static void a_renamed_port_is_told_by_its_old_name(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	attach(instance, "v0", &slot);
	assert_int_equal(sh("ip link set v0 name w0"), 0);
	assert_int_equal(port_attach(instance, "w0", XFIB_MODE_NATIVE, false, &slot, &err), -EBUSY);
	ends_with(err.text, "xfib -n %s detach v0", name);
	assert_loaded(port_detach(instance, "v0", &err));
	assert_int_equal(xdp_id("w0", false), 0);
	finish(instance);
}

static void a_slot_comes_back_with_zeroed_counters(void **state)
{
	struct instance *instance = make();
	int cpus = libbpf_num_possible_cpus();
	struct xfib_counters counters[cpus];
	unsigned int slot, again;
	__u64 packets = 0;

	attach(instance, "v0", &slot);
	assert_int_equal(
		sh("ip addr add 10.99.0.1/24 dev v1; ping -c1 -W1 10.99.0.2 >/dev/null; true"), 0);
	assert_int_equal(bpf_map_lookup_elem(instance->fd[XFIB_MAP_counters], &slot, counters), 0);
	for (int i = 0; i < cpus; i++)
		packets += counters[i].verdict[XFIB_PUNT_DISABLED].packets;
	assert_true(packets > 0);
	detach(instance, "v0");
	attach(instance, "v2", &again);
	assert_int_equal(again, slot);
	assert_int_equal(bpf_map_lookup_elem(instance->fd[XFIB_MAP_counters], &slot, counters), 0);
	for (int i = 0; i < cpus; i++)
		assert_int_equal(counters[i].verdict[XFIB_PUNT_DISABLED].packets, 0);
	detach(instance, "v2");
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
		assert_int_not_equal(xdp_id("v0", false), 0);
		detach(instance, "v0");
		assert_false(pins_exist("links/v0"));
		if (!WIFSIGNALED(status))
			break;
	}
	assert_int_equal(at, 2); /* the twin and the link */
	finish(instance);
}

/* --- interfaces that come and go --------------------------------------------------------------- */

static void a_device_that_comes_back_is_attached_again(void **state)
{
	struct instance *instance = make();
	struct xfib_intent before, after;
	unsigned int slot;

	attach(instance, "v0", &slot);
	before = intent_of(instance, slot);
	assert_int_equal(ports_reconcile(instance, &err), 0);

	assert_int_equal(sh("ip link del v0"), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	after = intent_of(instance, slot);
	assert_string_equal(after.ifname, "v0");
	assert_int_equal(after.ifindex, 0);
	assert_true(*after.error);
	assert_false(pins_exist("links/v0"));
	assert_int_equal(ports_reconcile(instance, &err), 0);

	assert_int_equal(sh("ip link add v0 type veth peer name v1"), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	after = intent_of(instance, slot);
	assert_int_equal(after.ifindex, if_nametoindex("v0"));
	assert_int_not_equal(after.ifindex, before.ifindex);
	assert_string_equal(after.error, "");
	assert_int_equal(after.prog_id, xdp_id("v0", false));

	/* Gone and back between two looks. */
	assert_int_equal(sh("ip link del v0; ip link add v0 type veth peer name v1"), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_equal(intent_of(instance, slot).prog_id, xdp_id("v0", false));
	detach(instance, "v0");
	finish(instance);
}

static void a_device_that_moved_away_runs_the_program_no_more(void **state)
{
	struct instance *instance = make();
	unsigned int slot, index;
	int pipes[2], status;
	char byte;
	pid_t pid;

	attach(instance, "v0", &slot);
	index = if_nametoindex("v0");
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		if (unshare(CLONE_NEWNET))
			_exit(9);
		kill(getpid(), SIGSTOP);
		_exit(read(pipes[0], &byte, 1) == 1 && xdp_id("v0", false) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(sh("ip link set v0 netns %d", pid), 0);
	/* Another device takes its name and its ifindex: only XDP itself tells them apart. */
	assert_int_equal(sh("ip link add v0 index %u type veth peer name w0", index), 0);
	assert_int_equal(xdp_id("v0", false), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_equal(intent_of(instance, slot).prog_id, xdp_id("v0", false));
	assert_int_not_equal(xdp_id("v0", false), 0);
	assert_int_equal(sh("ip link del v0"), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_equal(intent_of(instance, slot).ifindex, 0);
	kill(pid, SIGCONT);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(pipes[0]);
	close(pipes[1]);
	assert_loaded(port_detach(instance, "v0", &err));
	finish(instance);
}

static void a_renamed_device_is_let_go(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	attach(instance, "v0", &slot);
	assert_int_equal(sh("ip link set v0 down; ip link set v0 name wan0"), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_equal(xdp_id("wan0", false), 0);
	assert_int_equal(sh("ip link set wan0 name v0; ip link set v0 up"), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_not_equal(xdp_id("v0", false), 0);
	detach(instance, "v0");
	finish(instance);
}

static void an_attachment_taken_by_force_is_renewed(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	attach(instance, "v0", &slot);
	assert_int_equal(sh("bpftool link detach pinned %s/%s/links/v0", XFIB_PIN_ROOT, name), 0);
	assert_int_equal(xdp_id("v0", false), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_equal(intent_of(instance, slot).prog_id, xdp_id("v0", false));
	assert_int_not_equal(xdp_id("v0", false), 0);
	detach(instance, "v0");
	finish(instance);
}

static void a_port_leaves_the_tables_before_it_is_detached(void **state)
{
	struct instance *instance = make();
	struct generation *gen = NULL;
	unsigned int slot;
	__u32 ifindex;

	attach(instance, "v0", &slot);
	assert_loaded(generation_open(instance, 1, true, &gen, &err));
	gen->ports[slot] = (struct xfib_port){ if_nametoindex("v0"), 7, XFIB_PORT_ENABLED };
	assert_int_equal(port_set_tx(instance, slot, if_nametoindex("v0")), 0);
	detach(instance, "v0");
	assert_int_equal(gen->ports[slot].flags, 0);
	assert_int_not_equal(bpf_map_lookup_elem(instance->fd[XFIB_MAP_tx], &slot, &ifindex), 0);
	generation_free(gen);
	finish(instance);
}

/* A daemon in another process withdraws the port when it sees that it is not wanted any more. */
static void a_detach_waits_for_the_daemon(void **state)
{
	struct instance *instance = make();
	struct generation *gen = NULL;
	unsigned int slot;
	int status, fd;
	pid_t pid;

	attach(instance, "v0", &slot);
	assert_loaded(generation_open(instance, 1, true, &gen, &err));
	gen->ports[slot].ifindex = if_nametoindex("v0");
	pid = fork();
	if (!pid) {
		if (instance_lock_daemon(instance, &fd, &err))
			_exit(1);
		kill(getpid(), SIGSTOP);
		while (*intent_of(instance, slot).ifname)
			usleep(1000);
		/* It may look at the ports meanwhile: that must not end the detach. */
		if (ports_reconcile(instance, &err) || !xdp_id("v0", false))
			_exit(2);
		gen->ports[slot].ifindex = 0;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	detach(instance, "v0");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	generation_free(gen);
	finish(instance);
}

static void an_interrupted_detach_is_ended(void **state)
{
	struct instance *instance = make();
	struct xfib_intent intent;
	unsigned int slot;

	attach(instance, "v0", &slot);
	intent = intent_of(instance, slot);
	memset(intent.ifname, 0, sizeof(intent.ifname)); /* as the first half leaves it */
	assert_int_equal(bpf_map_update_elem(instance->fd[XFIB_MAP_intent], &slot, &intent, 0), 0);
	assert_true(ports_reconcile(instance, &err) > 0);
	assert_int_equal(xdp_id("v0", false), 0);
	assert_false(pins_exist("links/v0"));
	assert_int_equal(intent_of(instance, slot).ifindex, 0);
	assert_int_equal(ports_reconcile(instance, &err), 0);
	finish(instance);
}

/* As a process leaves it that is killed between the update of a link and that of the intent. */
static void a_program_that_the_intent_does_not_know_is_replaced(void **state)
{
	struct instance *instance = make();
	struct xfib_intent intent;
	unsigned int slot;

	attach(instance, "v0", &slot);
	intent = intent_of(instance, slot);
	intent.prog_id++;
	assert_int_equal(bpf_map_update_elem(instance->fd[XFIB_MAP_intent], &slot, &intent, 0), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_equal(intent_of(instance, slot).prog_id, xdp_id("v0", false));
	assert_int_equal(ports_reconcile(instance, &err), 0);
	detach(instance, "v0");
	finish(instance);
}

static void a_program_of_another_version_is_replaced(void **state)
{
	const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "older", "GPL", pass, 2, NULL);
	struct instance *instance = make();
	unsigned int slot;
	char path[256];
	__u32 id;

	/* The twin tells which version a port runs. */
	attach(instance, "v0", &slot);
	id = xdp_id("v0", false);
	snprintf(path, sizeof(path), "%s/%s/gen-1/twin-%u", XFIB_PIN_ROOT, name, slot);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(bpf_obj_pin(fd, path), 0);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_not_equal(xdp_id("v0", false), id);
	assert_int_equal(ports_reconcile(instance, &err), 0);
	close(fd);
	detach(instance, "v0");
	finish(instance);
}

/* Another process may hold the lock for long: the daemon must not stop with it. */
static void reconciling_does_not_wait_for_the_lock(void **state)
{
	struct instance *instance = make();
	char path[256];
	int fd, status;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s/lock", XFIB_RUN_ROOT, name);
	pid = fork();
	if (!pid) {
		fd = open(path, O_RDWR);
		if (fd < 0 || flock(fd, LOCK_EX))
			_exit(1);
		kill(getpid(), SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(ports_reconcile(instance, &err), -EAGAIN);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ports_reconcile(instance, &err), 0);
	finish(instance);
}

static void every_change_touches_the_watched_file(void **state)
{
	struct instance *instance = make();
	struct stat before, after;
	unsigned int slot;
	char path[256];

	assert_int_equal(ports_watch_path(instance, path, sizeof(path)), 0);
	attach(instance, "v0", &slot);
	assert_int_equal(stat(path, &before), 0);
	usleep(20000); /* the clock of file times ticks with the kernel's */
	attach(instance, "v0", &slot);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec); /* nothing changed */
	detach(instance, "v0");
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	finish(instance);
}

/* --- generations ------------------------------------------------------------------------------- */

static void a_generation_is_switched_under_traffic(void **state)
{
	struct instance *instance = make();
	struct capacity larger = { .routes4 = 5000, .routes6 = 3000 };
	struct generation *gen = NULL;
	unsigned int a, b;
	__u32 id_a, id_b;
	int status;
	pid_t pid;

	/* v1 answers v0's pings through a namespace of its own, so that each echo passes v0's program. */
	attach(instance, "v0", &a);
	attach(instance, "v2", &b);
	id_a = xdp_id("v0", false);
	id_b = xdp_id("v2", false);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET) || kill(getpid(), SIGSTOP))
			_exit(9);
		sh("ip link set v1 up; ip addr add 10.99.0.2/24 dev v1");
		pause();
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(sh("ip addr add 10.99.0.1/24 dev v0; ip link set v1 netns %d", pid), 0);
	kill(pid, SIGCONT);
	assert_int_equal(sh("ping -q -c1 -w5 10.99.0.2 >/dev/null"), 0);

	FILE *ping = popen("ping -q -i 0.002 -c 300 10.99.0.2", "r");
	char line[256];
	bool lossless = false;

	assert_non_null(ping);
	assert_loaded(generation_create(instance, &larger, &gen, &err));
	assert_int_equal(gen->number, 2);
	assert_int_equal(gen->capacity.routes4, 5000);
	assert_loaded(generation_switch(instance, gen, &err));
	while (fgets(line, sizeof(line), ping))
		lossless |= strstr(line, "300 received, 0% packet loss") != NULL;
	pclose(ping);
	assert_true(lossless);

	assert_int_equal(instance->meta.generation, 2);
	assert_int_not_equal(xdp_id("v0", false), id_a);
	assert_int_not_equal(xdp_id("v2", false), id_b);
	assert_int_equal(intent_of(instance, a).prog_id, xdp_id("v0", false));
	assert_int_equal(intent_of(instance, b).generation, 2);
	assert_false(pins_exist("gen-1"));
	assert_true(pins_exist("gen-2/twin-0") && pins_exist("gen-2/twin-1"));
	generation_free(gen);
	assert_int_equal(ports_reconcile(instance, &err), 0);
	detach(instance, "v0");
	detach(instance, "v2");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	finish(instance);
}

static void a_switch_that_fails_is_taken_back(void **state)
{
	struct instance *instance = make();
	struct generation *gen = NULL;
	unsigned int a, b;

	attach(instance, "v0", &a);
	attach(instance, "v2", &b);
	assert_loaded(generation_create(instance, &small, &gen, &err));
	fail_update_at = 1; /* the second port's */
	assert_int_equal(generation_switch(instance, gen, &err), -EBUSY);
	assert_non_null(strstr(err.text, "v2"));
	assert_int_equal(instance->meta.generation, 1);
	assert_int_equal(intent_of(instance, a).generation, 1);
	assert_int_equal(intent_of(instance, a).prog_id, xdp_id("v0", false));
	assert_int_equal(intent_of(instance, b).prog_id, xdp_id("v2", false));
	assert_false(pins_exist("gen-2"));
	assert_int_equal(ports_reconcile(instance, &err), 0);
	generation_free(gen);
	detach(instance, "v0");
	detach(instance, "v2");
	finish(instance);
}

static void a_switch_killed_halfway_is_taken_back(void **state)
{
	struct instance *instance = make();
	struct generation *gen = NULL;
	unsigned int a, b;
	int status;
	pid_t pid;

	attach(instance, "v0", &a);
	attach(instance, "v2", &b);
	pid = fork();
	if (!pid) {
		if (generation_create(instance, &small, &gen, &err))
			_exit(1);
		die_at = 1; /* v0 has been moved */
		_exit(generation_switch(instance, gen, &err) ? 2 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(intent_of(instance, a).generation, 2);
	assert_int_equal(ports_reconcile(instance, &err), 1);
	assert_int_equal(intent_of(instance, a).generation, 1);
	assert_int_equal(intent_of(instance, a).prog_id, xdp_id("v0", false));
	assert_loaded(generation_create(instance, &small, &gen, &err)); /* over the remains */
	assert_loaded(generation_switch(instance, gen, &err));
	generation_free(gen);
	detach(instance, "v0");
	detach(instance, "v2");
	finish(instance);
}

/* A program that began before a grace period has ended after it. */
static void a_grace_period_waits_for_running_programs(void **state)
{
	struct bpf_object *obj = bpf_object__open_file(spin_object, NULL);
	struct instance *instance = make();
	struct generation *gen = NULL;
	volatile __u64 *progress;
	__u8 frame[64] = {};
	int status, fd;
	pid_t pid;

	assert_non_null(obj);
	assert_int_equal(bpf_object__load(obj), 0);
	fd = bpf_object__find_map_fd_by_name(obj, "progress");
	progress = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(progress != MAP_FAILED);
	assert_loaded(generation_open(instance, 1, true, &gen, &err));
	for (int i = 0; i < 3; i++) {
		progress[0] = progress[1] = 0;
		pid = fork();
		if (!pid) {
			LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame,
				    .data_size_in = sizeof(frame), .repeat = 1);

			_exit(bpf_prog_test_run_opts(
				      bpf_program__fd(bpf_object__next_program(obj, NULL)), &run)
				      ? 1
				      : 0);
		}
		while (!progress[0] && !waitpid(pid, &status, WNOHANG))
			;
		assert_int_equal(generation_grace(gen), 0);
		assert_true(progress[1] & 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	munmap((void *)progress, getpagesize());
	bpf_object__close(obj);
	generation_free(gen);
	finish(instance);
}

/* --- programs ---------------------------------------------------------------------------------- */

static void the_self_test_passes(void **state)
{
	assert_loaded(selftest_run(&err));
	assert_non_null(selftest_tag());
}

static void a_program_that_fails_the_self_test_is_not_attached(void **state)
{
	struct instance *instance = make();
	unsigned int slot;

	corrupt_at = 2;
	assert_int_equal(selftest_run(&err), -EILSEQ);
	assert_non_null(strstr(err.text, "'IPv4 gateway', byte 24"));
	assert_null(selftest_tag());
	corrupt_at = 0;
	assert_int_equal(port_attach(instance, "v0", XFIB_MODE_NATIVE, false, &slot, &err),
			 -EILSEQ);
	assert_int_equal(xdp_id("v0", false), 0);
	assert_string_equal(intent_of(instance, 0).ifname, "");
	attach(instance, "v0", &slot);
	detach(instance, "v0");
	finish(instance);
}

static void a_twin_runs_and_counts_for_itself(void **state)
{
	struct instance *instance = make();
	int cpus = libbpf_num_possible_cpus();
	struct xfib_counters counters[cpus];
	__u8 in[4000] = {}, out[4000] = {};
	unsigned int slot;
	__u32 result;

	attach(instance, "v0", &slot);
	in[12] = 8;
	assert_int_equal(twin_run(instance, 1, slot, in, 60, out, &result), 0);
	assert_int_equal(XFIB_TWIN_ACTION(result), XDP_PASS);
	assert_int_equal(XFIB_TWIN_VERDICT(result), XFIB_PUNT_DISABLED);
	assert_memory_equal(in, out, 60);
	assert_int_equal(twin_run(instance, 1, slot, in, 3000, out, &result), 0);
	assert_int_equal(twin_run(instance, 1, slot, in, 3001, out, &result), -EMSGSIZE);
	assert_int_equal(twin_run(instance, 1, slot + 1, in, 60, out, &result), -ENOENT);
	assert_int_equal(bpf_map_lookup_elem(instance->fd[XFIB_MAP_counters], &slot, counters), 0);
	for (int i = 0; i < cpus; i++) /* some frames of the wire, but not that one */
		assert_true(counters[i].verdict[XFIB_PUNT_DISABLED].bytes < 3000);
	detach(instance, "v0");
	finish(instance);
}

static void jiffies_advance_with_hz(void **state)
{
	__u64 before, after;

	assert_int_equal(clock_jiffies(&before), 0);
	usleep(50000);
	assert_int_equal(clock_jiffies(&after), 0);
	assert_true(after - before >= clock_hz() / 20);
	assert_true(clock_hz() == 100 || clock_hz() == 250 || clock_hz() == 300 ||
		    clock_hz() == 1000);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, netns_setup, netns_teardown)
	const struct CMUnitTest tests[] = {
		T(an_instance_is_made_adopted_and_removed),
		T(pins_are_for_root_alone),
		T(names_that_are_paths_are_refused),
		T(an_old_kernel_is_told_in_one_line),
		T(a_creation_killed_at_any_pin_is_made_up_for),
		T(other_pins_are_refused_with_both_versions),
		T(a_damaged_instance_is_not_overwritten),
		T(ports_of_a_damaged_instance_are_detached),
		T(an_instance_belongs_to_one_namespace),
		T(there_is_one_daemon),
		T(attaching_is_idempotent_and_detaching_restores),
		T(an_interface_may_have_dots_in_its_name),
		T(the_attachment_outlives_its_process),
		T(skb_mode_is_used_only_when_asked_for),
		T(a_port_changes_its_mode),
		T(what_is_no_port_is_told),
		T(the_program_of_another_is_left_alone),
		T(the_longest_reason_is_whole),
		T(a_renamed_port_is_told_by_its_old_name),
		T(a_slot_comes_back_with_zeroed_counters),
		T(an_attach_killed_at_any_pin_is_made_up_for),
		T(a_device_that_comes_back_is_attached_again),
		T(a_device_that_moved_away_runs_the_program_no_more),
		T(a_renamed_device_is_let_go),
		T(an_attachment_taken_by_force_is_renewed),
		T(a_port_leaves_the_tables_before_it_is_detached),
		T(a_detach_waits_for_the_daemon),
		T(an_interrupted_detach_is_ended),
		T(a_program_that_the_intent_does_not_know_is_replaced),
		T(a_program_of_another_version_is_replaced),
		T(reconciling_does_not_wait_for_the_lock),
		T(every_change_touches_the_watched_file),
		T(a_generation_is_switched_under_traffic),
		T(a_switch_that_fails_is_taken_back),
		T(a_switch_killed_halfway_is_taken_back),
		T(a_grace_period_waits_for_running_programs),
		T(the_self_test_passes),
		T(a_program_that_fails_the_self_test_is_not_attached),
		T(a_twin_runs_and_counts_for_itself),
		T(jiffies_advance_with_hz),
	};
#undef T
	log_init("loader_test", getenv("XFIB_DEBUG") ? LOG_DEBUG : LOG_WARNING);
	if (geteuid() || argc != 2) {
		fprintf(stderr, "usage (as root): loader_test SPIN.bpf.o\n");
		return 1;
	}
	spin_object = argv[1];
	return cmocka_run_group_tests_name("loader", tests, NULL, NULL);
}

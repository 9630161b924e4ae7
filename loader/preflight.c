/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What can be told before anything is touched, so that a missing capability, an old kernel or a wrong
 * interface is one plain sentence and not the errno of some later step. Changes nothing, except that
 * it mounts the BPF file system where that is missing.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "common/cleanup.h"
#include "pin.h"
#include "preflight.h"

#define BPFFS "/sys/fs/bpf"

bool preflight_capable(unsigned int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	return !syscall(SYS_capget, &header, data) &&
	       data[capability / 32].effective >> capability % 32 & 1;
}

static int check_capabilities(struct load_error *err)
{
	bool admin = preflight_capable(CAP_SYS_ADMIN);

	if ((admin || (preflight_capable(CAP_BPF) && preflight_capable(CAP_PERFMON))) &&
	    preflight_capable(CAP_NET_ADMIN))
		return 0;
	return load_fail(
		err, -EPERM,
		"not permitted: run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON "
		"(and CAP_SYS_ADMIN to share an interface with other XDP programs)");
}

int preflight_system(struct load_error *err)
{
	unsigned int major = 0, minor = 0;
	struct utsname uts;

	uname(&uts);
	sscanf(uts.release, "%u.%u", &major, &minor);
	if (major < 6 || (major == 6 && minor < 1))
		return load_fail(err, -ENOSYS, "kernel %.64s is too old: xfib needs 6.1 or newer",
				 uts.release);
	if (syscall(SYS_bpf, -1, NULL, 0) && errno == ENOSYS)
		return load_fail(err, -ENOSYS,
				 "kernel %.64s is built without BPF (CONFIG_BPF_SYSCALL)",
				 uts.release);
	return check_capabilities(err);
}

static bool is_bpffs(void)
{
	struct statfs st;

	return !statfs(BPFFS, &st) && st.f_type == BPF_FS_MAGIC;
}

/*
 * `ip netns exec NAME` mounts a fresh /sys for its command alone, with NAME for its source; the last line about
 * /sys is the mount that is seen.
 */
static bool in_netns_exec(char name[static NAME_MAX + 1])
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[1024], source[NAME_MAX + 1], path[NAME_MAX + 32];
	bool exec = false;

	while (f && fgets(line, sizeof(line), f)) {
		const char *end = strstr(line, " - ");

		if (!end || !strstr(line, " / /sys "))
			continue;
		exec = sscanf(end, " - sysfs %255s", source) == 1;
		snprintf(path, sizeof(path), "/run/netns/%s", source);
		exec = exec && !access(path, F_OK);
		if (exec)
			memcpy(name, source, sizeof(source));
	}
	return exec;
}

bool preflight_in_netns_exec(void)
{
	char name[NAME_MAX + 1];

	return !is_bpffs() && in_netns_exec(name);
}

int preflight_bpffs(struct load_error *err)
{
	char name[NAME_MAX + 1];

	if (is_bpffs())
		return 0;
	if (in_netns_exec(name))
		return load_fail(err, -ENOENT,
				 "'ip netns exec' hides " BPFFS ", where the tables are kept: use "
				 "nsenter --net=/run/netns/%s instead",
				 name);
	if (mount("bpf", BPFFS, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return load_fail(
			err, -errno,
			"cannot mount the BPF file system: %s; try: mount -t bpf bpf " BPFFS,
			strerror(errno));
	return 0;
}

bool preflight_ifname_ok(const char *ifname)
{
	if (!*ifname || strlen(ifname) >= XFIB_IFNAMSIZ || !strcmp(ifname, ".") ||
	    !strcmp(ifname, ".."))
		return false;
	for (; *ifname; ifname++)
		if (*ifname == '/' || *ifname == ':' || isspace((unsigned char)*ifname))
			return false;
	return true;
}

static int link_layer(const char *ifname, unsigned short *type)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = {};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &ifr))
		return -errno;
	*type = ifr.ifr_hwaddr.sa_family;
	return 0;
}

/* Whether the driver has native XDP is told by the attachment itself, which changes nothing if not. */
int preflight_interface(const char *ifname, enum xfib_mode mode, int *ifindex,
			struct load_error *err)
{
	unsigned int index = strlen(ifname) < XFIB_IFNAMSIZ ? if_nametoindex(ifname) : 0;
	unsigned short type = 0;
	int rc;

	if (!index)
		return load_fail(err, -ENODEV, "no interface '%.32s' in this network namespace",
				 ifname);
	rc = link_layer(ifname, &type);
	if (rc)
		return load_fail(err, rc, "cannot look at %s: %s", ifname, strerror(-rc));
	if (type == ARPHRD_LOOPBACK)
		return load_fail(err, -ENODEV,
				 "%s is the loopback interface: attach Ethernet interfaces",
				 ifname);
	if (type != ARPHRD_ETHER)
		return load_fail(
			err, -ENODEV,
			"%s is not an Ethernet interface (a tunnel?): its packets stay in the "
			"kernel, attach the interface below it",
			ifname);
	*ifindex = index;
	return 0;
}

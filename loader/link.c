/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaching: see link.h. libxdp falls back to a netlink attachment by itself where its dispatcher does
 * not work. That one could neither be pinned nor replaced atomically, so it is asked only after a probe
 * has shown that it does work; everything else gets a bpf_link.
 *
 * A component of a dispatcher is known to be ours by its maps: it uses the instance's counters.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <bpf/bpf.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <xdp/libxdp.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "link.h"
#include "object.h"
#include "pin.h"
#include "preflight.h"

#define LIBXDP_PINS	"/sys/fs/bpf/xdp" /* dispatch-IFINDEX-ID/progN-{prog,link} */
#define DISPATCHER_MAPS 64

/* Behind filters (xdp-filter has 10, the default is 50): what they drop is not forwarded. */
#define RUN_PRIORITY 90

static void cleanup_program(struct xdp_program **prog)
{
	if (!libxdp_get_error(*prog))
		xdp_program__close(*prog);
}
#define _cleanup_program_ __attribute__((cleanup(cleanup_program)))

static void cleanup_multiprog(struct xdp_multiprog **mp)
{
	if (!libxdp_get_error(*mp))
		xdp_multiprog__close(*mp);
}
#define _cleanup_multiprog_ __attribute__((cleanup(cleanup_multiprog)))

/* --- can the dispatcher work here? ------------------------------------------------------------- */

static struct xdp_program *probe_program(void)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .find_filename = "xdp-dispatcher.o",
			    .prog_name = "xdp_pass");

	return xdp_program__create(&opts);
}

/* Replaces a function of one throw-away program by another, as the dispatcher does with its slots. */
static bool probe_dispatcher(void)
{
	_cleanup_program_ struct xdp_program *target = probe_program(),
					     *replacement = probe_program();
	_cleanup_close_ int link = -1;
	struct bpf_program *prog;
	struct bpf_object *obj;

	if (libxdp_get_error(target) || libxdp_get_error(replacement) ||
	    bpf_object__load(xdp_program__bpf_obj(target)))
		return false;
	obj = xdp_program__bpf_obj(target);
	prog = bpf_object__find_program_by_name(obj, "xdp_pass");
	if (!prog)
		return false;

	obj = xdp_program__bpf_obj(replacement);
	for (struct bpf_program *other = NULL; (other = bpf_object__next_program(obj, other));)
		bpf_program__set_autoload(other, !strcmp(bpf_program__name(other), "xdp_pass"));
	if (bpf_program__set_attach_target(bpf_object__find_program_by_name(obj, "xdp_pass"),
					   bpf_program__fd(prog), "xdp_pass"))
		return false;
	prog = bpf_object__find_program_by_name(obj, "xdp_pass");
	bpf_program__set_type(prog, BPF_PROG_TYPE_EXT);
	bpf_program__set_expected_attach_type(prog, 0);
	if (bpf_object__load(obj))
		return false;
	link = bpf_raw_tracepoint_open(NULL, bpf_program__fd(prog));
	return link >= 0;
}

/* Asked once per process. libxdp opens programs by their ids, which takes CAP_SYS_ADMIN. */
static enum { UNKNOWN, WORKS, FAILS } dispatcher;

static bool dispatcher_works(void)
{
	if (dispatcher == UNKNOWN) {
		load_quiet();
		dispatcher = preflight_capable(CAP_SYS_ADMIN) && probe_dispatcher() ? WORKS : FAILS;
		log_debug("libxdp's dispatcher %s here",
			  dispatcher == WORKS ? "works" : "does not work");
	}
	return dispatcher == WORKS;
}

/* --- words ------------------------------------------------------------------------------------- */

static const char *driver_name(const char *ifname, char name[static 32])
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq ifr = { .ifr_data = (void *)&info };

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	snprintf(name, 32, "%s", fd < 0 || ioctl(fd, SIOCETHTOOL, &ifr) ? "unknown" : info.driver);
	return name;
}

static int attach_fail(const struct link *link, int rc, struct load_error *err)
{
	char driver[32];

	driver_name(link->ifname, driver);
	switch (rc) {
	case -EOPNOTSUPP:
		if (link->mode == XFIB_MODE_SKB)
			break;
		return load_fail(
			err, rc,
			"%s: its driver (%s) has no native XDP: attach the interface below it, or "
			"accept slow generic XDP with --mode skb",
			link->ifname, driver);
	case -EBUSY:
	case -EEXIST:
		return load_fail(err, -EBUSY,
				 "%s runs another XDP program: remove it first (bpftool net, "
				 "xdp-loader status)",
				 link->ifname);
	case -EPERM:
		return load_fail(
			err, rc,
			"%s: not permitted to attach: run as root, or with CAP_BPF, CAP_NET_ADMIN "
			"and CAP_PERFMON",
			link->ifname);
	case -EINVAL:
	case -ERANGE:
	case -E2BIG:
	case -EMSGSIZE:
		return load_fail(
			err, rc,
			"%s: its driver (%s) refused XDP: %s; usual causes: LRO (ethtool -K %s lro "
			"off), an MTU above its limit, too many queues (ethtool -l %s)",
			link->ifname, driver, strerror(-rc), link->ifname, link->ifname);
	}
	return load_fail(err, rc, "%s: its driver (%s) refused XDP: %s", link->ifname, driver,
			 strerror(-rc));
}

/* Names what occupies the interface, if we may look. */
static int occupied(const struct link *link, __u32 prog_id, struct load_error *err)
{
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (fd >= 0)
		(void)bpf_obj_get_info_by_fd(fd, &info, &len);
	return load_fail(
		err, -EBUSY,
		"%s runs XDP program '%s' (id %u)%s: remove it first, for example: ip link set "
		"dev %s xdp off",
		link->ifname, info.name, prog_id,
		dispatcher_works() ? " that does not share the interface through libxdp"
				   : " and this kernel or process cannot share an interface",
		link->ifname);
}

/* --- what runs on an interface ------------------------------------------------------------------ */

struct xdp_state {
	__u8 attached; /* XDP_ATTACHED_* */
	__u32 prog_id;
};

static int parse_xdp(const struct nlattr *attr, void *data)
{
	struct xdp_state *state = data;

	if (mnl_attr_get_type(attr) == IFLA_XDP_ATTACHED)
		state->attached = mnl_attr_get_u8(attr);
	else if (mnl_attr_get_type(attr) == IFLA_XDP_PROG_ID)
		state->prog_id = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int parse_link(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct ifinfomsg))
		if (mnl_attr_get_type(attr) == IFLA_XDP)
			return mnl_attr_parse_nested(attr, parse_xdp, data);
	return MNL_CB_OK;
}

static void cleanup_netlink(struct mnl_socket **nl)
{
	if (*nl)
		mnl_socket_close(*nl);
}

/* bpf_xdp_query() dumps all interfaces to look at one; this is asked for every port and second. */
static int xdp_query(int ifindex, struct xdp_state *state)
{
	_cleanup_(cleanup_netlink) struct mnl_socket *nl =
		mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	_Alignas(struct nlmsghdr) char buf[16384];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifm;
	ssize_t n;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	ifm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifm));
	ifm->ifi_index = ifindex;
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	if (!nl || mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	*state = (struct xdp_state){};
	return n < 0 || mnl_cb_run(buf, n, 0, 0, parse_link, state) < 0 ? -errno : 0;
}

/* --- direct ------------------------------------------------------------------------------------ */

/* The BPF file system refuses dots, interfaces cannot have colons. */
static void swap_name(const char *from, char a, char b, char to[static XFIB_IFNAMSIZ])
{
	size_t i;

	for (i = 0; from[i] && i < XFIB_IFNAMSIZ - 1; i++)
		to[i] = from[i] == a ? b : from[i];
	to[i] = '\0';
}

static void link_path(char path[static PATH_SIZE], const struct instance *instance,
		      const char *ifname)
{
	char leaf[32], pin[XFIB_IFNAMSIZ];

	swap_name(ifname, '.', ':', pin);
	snprintf(leaf, sizeof(leaf), "links/%s", pin);
	path_instance(path, instance->name, leaf);
}

void link_pin_ifname(const char *pin, char ifname[static XFIB_IFNAMSIZ])
{
	swap_name(pin, ':', '.', ifname);
}

static int direct_open(const struct instance *instance, const char *ifname, int *fd)
{
	char path[PATH_SIZE];

	link_path(path, instance, ifname);
	return pin_open(path, true, fd);
}

static int direct_attach(const struct instance *instance, struct link *link, struct bpf_object *obj,
			 struct load_error *err)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = link->mode == XFIB_MODE_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);
	_cleanup_close_ int fd = -1;
	char path[PATH_SIZE];
	int rc = object_load(obj, err);

	if (rc)
		return rc;
	fd = bpf_link_create(bpf_program__fd(object_program(obj)), link->ifindex, BPF_XDP, &opts);
	if (fd < 0)
		return attach_fail(link, -errno, err);
	link_path(path, instance, link->ifname);
	if (bpf_obj_pin(fd, path))
		return load_fail(err, -errno, "cannot pin %s: %s", path, strerror(errno));
	link->prog_id = program_id(bpf_program__fd(object_program(obj)));
	return 0;
}

static int direct_replace(const struct instance *instance, struct link *link,
			  struct bpf_object *obj, struct load_error *err)
{
	_cleanup_close_ int fd = -1;
	int rc = direct_open(instance, link->ifname, &fd);

	if (rc)
		return load_fail(err, rc, "%s: its attachment is gone: %s", link->ifname,
				 strerror(-rc));
	rc = object_load(obj, err);
	if (rc)
		return rc;
	if (bpf_link_update(fd, bpf_program__fd(object_program(obj)), NULL))
		return load_fail(err, -errno, "%s: cannot replace the program: %s", link->ifname,
				 strerror(errno));
	link->prog_id = program_id(bpf_program__fd(object_program(obj)));
	return 0;
}

/* What the link says of itself does not tell its namespace; what the interface says of itself does. */
static bool direct_alive(const struct instance *instance, struct link *link)
{
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);
	_cleanup_close_ int fd = -1;
	struct xdp_state state;

	if (direct_open(instance, link->ifname, &fd) || bpf_obj_get_info_by_fd(fd, &info, &len) ||
	    info.type != BPF_LINK_TYPE_XDP || (int)info.xdp.ifindex != link->ifindex ||
	    xdp_query(link->ifindex, &state) || state.prog_id != info.prog_id)
		return false;
	link->prog_id = info.prog_id;
	return true;
}

/* Explicitly: others may hold the link open, and with the last reference it would go only some time later. */
static int direct_detach(const struct instance *instance, const struct link *link)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_SIZE];
	int rc = direct_open(instance, link->ifname, &fd);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	(void)bpf_link_detach(fd); /* fails only where there is nothing to detach any more */
	link_path(path, instance, link->ifname);
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

/* --- dispatcher -------------------------------------------------------------------------------- */

static bool is_ours(const struct instance *instance, int prog_fd)
{
	__u32 ids[DISPATCHER_MAPS] = {}, own = map_id(instance->fd[XFIB_MAP_counters]);
	struct bpf_prog_info info = { .nr_map_ids = DISPATCHER_MAPS,
				      .map_ids = (unsigned long)ids };
	__u32 len = sizeof(info);

	if (!own || bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return false;
	for (__u32 i = 0; i < info.nr_map_ids && i < DISPATCHER_MAPS; i++)
		if (ids[i] == own)
			return true;
	return false;
}

static enum xdp_attach_mode libxdp_mode(enum xfib_mode mode)
{
	return mode == XFIB_MODE_SKB ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

/* Our component other than `except`; NULL if there is none. It belongs to mp. */
static struct xdp_program *find_ours(const struct instance *instance,
				     const struct xdp_multiprog *mp, __u32 except)
{
	for (struct xdp_program *prog = NULL; (prog = xdp_multiprog__next_prog(prog, mp));)
		if (xdp_program__id(prog) != except && is_ours(instance, xdp_program__fd(prog)))
			return prog;
	return NULL;
}

/* libxdp closes what it made by the time it returns, so the multiprog is read anew for each removal. */
static int remove_ours(const struct instance *instance, int ifindex, __u32 except)
{
	for (;;) {
		_cleanup_multiprog_ struct xdp_multiprog *mp =
			xdp_multiprog__get_from_ifindex(ifindex);
		int rc = libxdp_get_error(mp);
		struct xdp_program *prog;

		if (rc)
			return rc == -ENOENT || rc == -ENODEV ? 0 : rc;
		prog = find_ours(instance, mp, except);
		if (!prog)
			return 0;
		rc = xdp_program__detach(prog, ifindex, xdp_multiprog__attach_mode(mp), 0);
		if (rc)
			return rc;
	}
}

/* libxdp has attached without a dispatcher after all: take that back. */
static int undo_legacy(int ifindex, struct xdp_program *prog, enum xfib_mode mode)
{
	dispatcher = FAILS;
	xdp_program__detach(prog, ifindex, libxdp_mode(mode), 0);
	return -EAGAIN;
}

static int dispatcher_attach(struct link *link, struct bpf_object *obj)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = obj, .prog_name = "xfib");
	_cleanup_program_ struct xdp_program *prog = xdp_program__create(&opts);
	_cleanup_multiprog_ struct xdp_multiprog *mp = NULL;
	int rc = libxdp_get_error(prog);

	if (!rc) /* libxdp does not see what the section's name says before libbpf loads it */
		rc = xdp_program__set_xdp_frags_support(prog, true);
	if (!rc)
		rc = xdp_program__set_run_prio(prog, RUN_PRIORITY);
	if (!rc)
		rc = xdp_program__attach(prog, link->ifindex, libxdp_mode(link->mode), 0);
	if (rc)
		return rc;
	mp = xdp_multiprog__get_from_ifindex(link->ifindex);
	if (!libxdp_get_error(mp) && xdp_multiprog__is_legacy(mp))
		return undo_legacy(link->ifindex, prog, link->mode);
	link->prog_id = xdp_program__id(prog);
	return 0;
}

static bool dispatcher_alive(const struct instance *instance, struct link *link)
{
	_cleanup_multiprog_ struct xdp_multiprog *mp =
		xdp_multiprog__get_from_ifindex(link->ifindex);
	struct xdp_program *prog;

	if (libxdp_get_error(mp))
		return false;
	prog = find_ours(instance, mp, 0);
	if (!prog)
		return false;
	link->prog_id = xdp_program__id(prog);
	return !find_ours(instance, mp, link->prog_id); /* of an interrupted replacement */
}

/* Unpins our components in one directory of libxdp: without its link a component runs no more. */
static void forget_in(const struct instance *instance, const char *dir)
{
	char path[PATH_SIZE];

	for (unsigned int i = 0; i < 10 /* slots of a dispatcher */; i++) {
		_cleanup_close_ int fd = -1;

		snprintf(path, sizeof(path), "%s/%s/prog%u-prog", LIBXDP_PINS, dir, i);
		if (pin_open(path, true, &fd) || !is_ours(instance, fd))
			continue;
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s/prog%u-link", LIBXDP_PINS, dir, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/%s", LIBXDP_PINS, dir);
	rmdir(path); /* unless others have components there */
}

/*
 * The device of this ifindex has left the namespace, where netlink does not reach it any more. Not by
 * libxdp_clean_references(): the same ifindex may be in use in another namespace on the same pins.
 */
static void forget_ours(const struct instance *instance, int ifindex)
{
	_cleanup_close_ int lock = open(LIBXDP_PINS, O_DIRECTORY | O_CLOEXEC);
	DIR *dir = lock < 0 ? NULL : opendir(LIBXDP_PINS);
	struct dirent *entry;

	if (!dir)
		return;
	(void)flock(lock, LOCK_EX);
	while ((entry = readdir(dir))) {
		int index;

		if (sscanf(entry->d_name, "dispatch-%d-", &index) == 1 && index == ifindex)
			forget_in(instance, entry->d_name);
	}
	closedir(dir);
}

/* --- either ------------------------------------------------------------------------------------ */

int link_choose(struct link *link, struct load_error *err)
{
	_cleanup_multiprog_ struct xdp_multiprog *mp = NULL;
	struct xdp_state state;
	int rc = xdp_query(link->ifindex, &state);

	if (rc)
		return load_fail(err, rc, "cannot look at XDP on %s: %s", link->ifname,
				 strerror(-rc));
	if (state.attached == XDP_ATTACHED_NONE) {
		link->how = dispatcher_works() ? XFIB_ATTACH_DISPATCHER : XFIB_ATTACH_DIRECT;
		return 0;
	}
	if (!dispatcher_works())
		return occupied(link, state.prog_id, err);
	mp = xdp_multiprog__get_from_ifindex(link->ifindex);
	if (libxdp_get_error(mp) || xdp_multiprog__is_legacy(mp))
		return occupied(link, state.prog_id, err);
	if (xdp_multiprog__attach_mode(mp) != libxdp_mode(link->mode))
		return load_fail(
			err, -EBUSY,
			"%s runs XDP programs in %s mode: attach with --mode %s, or remove them",
			link->ifname, link->mode == XFIB_MODE_SKB ? "native" : "skb",
			link->mode == XFIB_MODE_SKB ? "native" : "skb");
	link->how = XFIB_ATTACH_DISPATCHER;
	return 0;
}

int link_attach(const struct instance *instance, struct link *link, struct bpf_object *obj,
		struct load_error *err)
{
	int rc;

	if (link->how == XFIB_ATTACH_DIRECT)
		return direct_attach(instance, link, obj, err);
	rc = dispatcher_attach(link, obj);
	return rc && rc != -EAGAIN ? attach_fail(link, rc, err) : rc;
}

int link_replace(const struct instance *instance, struct link *link, struct bpf_object *obj,
		 struct load_error *err)
{
	int rc;

	if (link->how == XFIB_ATTACH_DIRECT)
		return direct_replace(instance, link, obj, err);
	/* Both are attached for a moment, the old one first; either treats a packet rightly. */
	rc = dispatcher_attach(link, obj);
	if (!rc)
		rc = remove_ours(instance, link->ifindex, link->prog_id);
	return rc ? load_fail(err, rc, "%s: cannot replace the program: %s", link->ifname,
			      strerror(-rc))
		  : 0;
}

bool link_alive(const struct instance *instance, struct link *link)
{
	return link->how == XFIB_ATTACH_DISPATCHER ? dispatcher_alive(instance, link)
						   : direct_alive(instance, link);
}

int link_detach(const struct instance *instance, const struct link *link)
{
	int rc = direct_detach(instance, link);

	if (link->how == XFIB_ATTACH_DISPATCHER || (link->ifindex && dispatcher_works())) {
		rc = rc ?: remove_ours(instance, link->ifindex, 0);
		forget_ours(instance, link->ifindex);
	}
	return rc;
}

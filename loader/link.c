/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attaching: see link.h. Direct attachments are made here, those behind a dispatcher by dispatcher.c. */
#include <dirent.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <bpf/bpf.h>
#include <libmnl/libmnl.h>

#include "common/cleanup.h"
#include "dispatcher.h"
#include "link.h"
#include "object.h"
#include "pin.h"

/* --- pins -------------------------------------------------------------------------------------- */

/* The BPF file system refuses dots, interfaces cannot have colons. */
static void swap_name(const char *from, char a, char b, char to[static XFIB_IFNAMSIZ])
{
	size_t i;

	for (i = 0; from[i] && i < XFIB_IFNAMSIZ - 1; i++)
		to[i] = from[i] == a ? b : from[i];
	to[i] = '\0';
}

void link_pin_ifname(const char *pin, char ifname[static XFIB_IFNAMSIZ])
{
	swap_name(pin, ':', '.', ifname);
}

static void link_path(char path[static PATH_SIZE], const char *instance, const char *ifname)
{
	char leaf[32], pin[XFIB_IFNAMSIZ];

	swap_name(ifname, '.', ':', pin);
	snprintf(leaf, sizeof(leaf), "links/%s", pin);
	path_instance(path, instance, leaf);
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

/* Whether a pinned link holds this program. */
static bool holds(const char *path, __u32 prog_id)
{
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);
	_cleanup_close_ int fd = -1;

	return !pin_open(path, true, &fd) && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	       info.prog_id == prog_id;
}

/* The port of an instance that has this program: its name is the one that the device had once. */
static bool find_port(const char *instance, __u32 prog_id, char port[static XFIB_IFNAMSIZ])
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	char path[PATH_SIZE];

	path_instance(path, instance, "links");
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		link_pin_ifname(entry->d_name, port);
		link_path(path, instance, port);
		if (*entry->d_name != '.' && holds(path, prog_id))
			return true;
	}
	return false;
}

/* Whose program it is; false: of no instance that is pinned here. */
static bool find_owner(__u32 prog_id, char owner[static 64], char port[static XFIB_IFNAMSIZ])
{
	_cleanup_closedir_ DIR *dir = opendir(XFIB_PIN_ROOT);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (instance_name_ok(entry->d_name) && find_port(entry->d_name, prog_id, port)) {
			snprintf(owner, 64, "%.63s", entry->d_name);
			return true;
		}
	return false;
}

static int port_taken(const struct link *link, const char *owner, const char *port,
		      struct load_error *err)
{
	return load_fail(err, -EBUSY, "%s belongs to instance '%s': xfib -n %s detach %s",
			 link->ifname, owner, owner, port);
}

/* Names what occupies the interface, if we may look. */
static int occupied(const struct link *link, __u32 prog_id, struct load_error *err)
{
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_prog_info info = {};
	char owner[64], port[XFIB_IFNAMSIZ];
	__u32 len = sizeof(info);

	if (find_owner(prog_id, owner, port))
		return port_taken(link, owner, port, err);
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

static int direct_open(const struct instance *instance, const char *ifname, int *fd)
{
	char path[PATH_SIZE];

	link_path(path, instance->name, ifname);
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
	link_path(path, instance->name, link->ifname);
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
	link_path(path, instance->name, link->ifname);
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

/* --- either ------------------------------------------------------------------------------------ */

static const char *mode_name(enum xfib_mode mode)
{
	return mode == XFIB_MODE_SKB ? "skb" : "native";
}

int link_choose(const struct instance *instance, struct link *link, struct load_error *err)
{
	struct xdp_state state;
	enum xfib_mode mode;
	char owner[64];
	int rc = xdp_query(link->ifindex, &state);

	if (rc)
		return load_fail(err, rc, "cannot look at XDP on %s: %s", link->ifname,
				 strerror(-rc));
	if (state.attached == XDP_ATTACHED_NONE) {
		link->how = dispatcher_works() ? XFIB_ATTACH_DISPATCHER : XFIB_ATTACH_DIRECT;
		return 0;
	}
	if (!dispatcher_works() || !dispatcher_found(link->ifindex, &mode))
		return occupied(link, state.prog_id, err);
	/* Side by side in a dispatcher the first one would have it all. */
	if (dispatcher_owner(instance, link->ifindex, owner))
		return port_taken(link, owner, link->ifname, err);
	if (mode != link->mode)
		return load_fail(
			err, -EBUSY,
			"%s runs XDP programs in %s mode: attach with --mode %s, or remove them",
			link->ifname, mode_name(mode), mode_name(mode));
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
	rc = dispatcher_replace(instance, link, obj);
	if (rc)
		return load_fail(err, rc, "%s: cannot replace the program: %s", link->ifname,
				 strerror(-rc));
	return 0;
}

bool link_is_dead(const struct instance *instance, const struct link *link)
{
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);
	_cleanup_close_ int fd = -1;
	int rc = direct_open(instance, link->ifname, &fd);

	if (link->how != XFIB_ATTACH_DIRECT || (rc && rc != -ENOENT))
		return !link->ifindex;
	return rc || (!bpf_obj_get_info_by_fd(fd, &info, &len) && !info.xdp.ifindex);
}

bool link_alive(const struct instance *instance, struct link *link)
{
	return link->how == XFIB_ATTACH_DISPATCHER ? dispatcher_alive(instance, link)
						   : direct_alive(instance, link);
}

int link_detach(const struct instance *instance, const struct link *link)
{
	int rc = direct_detach(instance, link);

	if (rc)
		return rc;
	/* One that was interrupted is not known to have used it. */
	if (link->how == XFIB_ATTACH_DISPATCHER || (link->ifindex && dispatcher_works()))
		return dispatcher_detach(instance, link->ifindex);
	return 0;
}

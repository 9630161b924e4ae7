#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The checks, in the guest: each is a function that prints what it found, last line last, and fails
# when that is not right. One PASS or FAIL line a check, the output of a failed one behind it, "END"
# at the end. smoke.sh sets SERIES, BUILD (the build directory), TREE (of the sources), KERNEL_TREE
# and ROOMS (of `make check`, to be run here too).
set -u -o pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

prepare() {
	ln -sf /proc/self/fd /dev/fd
	mkdir -p /dev/shm /dev/pts
	mount -t tmpfs shm /dev/shm
	mount -t devpts pts /dev/pts
	ip link set lo up
	mount -t tmpfs run /run
	mkdir -p /run/netns /lib/modules
	mount --bind "$KERNEL_TREE/lib/modules" /lib/modules
	mount -t bpf bpf /sys/fs/bpf
	hostname guest
	cd "$TREE" || exit
}

# in_ns NAMESPACE COMMAND...: with the BPF file system in sight, which `ip netns exec` hides.
in_ns() {
	nsenter --net="/run/netns/$1" "${@:2}"
}

# until_true COMMAND...: waits until it succeeds, half a minute at most.
until_true() {
	for _ in $(seq 60); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.5
	done
	echo "waited half a minute for: $*"
	return 1
}

# src 10.0.0.2 -- 10.0.0.1 rtr 10.0.1.1 -- 10.0.1.2 dst. The far ends have an XDP program, without
# which a veth drops what is redirected to its peer.
make_topology() {
	local host
	for host in src rtr dst; do
		ip netns add "$host"
	done
	ip link add eth0 netns src type veth peer name r0 netns rtr
	ip link add eth0 netns dst type veth peer name r1 netns rtr
	ip -n rtr addr add 10.0.0.1/24 dev r0
	ip -n rtr addr add 10.0.1.1/24 dev r1
	ip -n src addr add 10.0.0.2/24 dev eth0
	ip -n dst addr add 10.0.1.2/24 dev eth0
	for host in src dst; do
		ip -n "$host" link set eth0 up xdpdrv obj "$BUILD/tests/vm/pass.bpf.o" sec xdp || return
	done
	ip -n rtr link set r0 up
	ip -n rtr link set r1 up
	ip -n src route add default via 10.0.0.1
	ip -n dst route add default via 10.0.1.1
	in_ns rtr sysctl -qw net.ipv4.ip_forward=1
}

xfib() {
	in_ns rtr "$BUILD/xfib" -n vm "$@"
}

is_synced() {
	xfib -j status | jq -e '.sync.state == "synced" and .fast_path.ipv4 and all(.ports[]; .enabled)'
}

forwarded() {
	xfib -j stats | jq '.verdicts[] | select(.name == "forwarded").packets'
}

# Another program is on r0 before xfib comes; both must run there, behind libxdp's dispatcher.
start_router() {
	in_ns rtr xdp-loader load -m native -n pass r0 "$BUILD/tests/vm/pass.bpf.o" || return
	in_ns rtr "$BUILD/xfibd" -n vm r0 r1 >/run/xfibd.log 2>&1 &
	until_true is_synced
}

# A room of `make check`: built on the host, run here.
check_room() {
	B=$BUILD MAKEFLAGS="B=$BUILD" tests/ci/check.sh "check-$1"
}

# Sharing an interface, which the kernel of this machine may refuse.
check_sharing() {
	"$BUILD/tests/loader/dispatcher_test" "$BUILD/tests/vm/pass.bpf.o"
}

check_kernel() {
	local release
	release=$(uname -r)
	echo "Linux $release, $(nproc) CPUs, rcu_expedited $(cat /sys/kernel/rcu_expedited)"
	[[ $release == "$SERIES".* ]] && [ "$(cat /sys/kernel/rcu_expedited)" = 0 ]
}

check_load() {
	"$BUILD/tests/vm/probe" load "$BUILD/bpf/xfib.bpf.o"
}

check_load_clang19() {
	"$BUILD/tests/vm/probe" load "$BUILD/tests/vm/xfib-clang-19.bpf.o"
}

check_grace() {
	"$BUILD/tests/vm/probe" grace "$BUILD/bpf/xfib.bpf.o"
}

check_forward() {
	local before after
	make_topology && start_router || {
		cat /run/xfibd.log
		xfib status
		return 1
	}
	in_ns src ping -q -c 2 -i 0.2 -w 20 10.0.1.2 || return # resolves the neighbours
	before=$(forwarded)
	in_ns src ping -c 5 -i 0.2 -w 20 10.0.1.2 | tee /run/ping.log
	after=$(forwarded)
	xfib status
	xfib stats
	[ "$(grep -c 'ttl=63' /run/ping.log)" = 5 ] || return
	echo "5 echoes and 5 replies, $((after - before)) of them forwarded by XDP"
	[ $((after - before)) = 10 ]
}

check_dispatcher() {
	local mode
	in_ns rtr xdp-loader status r0 | tee /run/loader.log
	mode=$(xfib -j status | jq -r '.ports[] | select(.ifname == "r0").attach')
	echo "attached by $mode, beside another program"
	[ "$mode" = dispatcher ] && grep -q ' pass ' /run/loader.log && grep -q ' xfib ' /run/loader.log
}

check_detach() {
	xfib detach r0 || return
	in_ns rtr xdp-loader status r0 | tee /run/loader.log
	if ! grep -q ' pass ' /run/loader.log || grep -q ' xfib ' /run/loader.log; then
		ls -lR /sys/fs/bpf/xdp
		cat /run/xfibd.log
		return 1
	fi
	xfib detach --all && ! ip -n rtr link show r1 | grep -q xdp &&
		in_ns src ping -q -c 1 -w 5 10.0.1.2 >/dev/null &&
		echo "the other program is still there, the kernel forwards"
}

# run CHECK [ARGUMENT]: what it prints is also on the console as it comes.
run() {
	local log=/run/check.log
	if "check_$1" "${@:2}" 2>&1 | tee "$log" >/dev/ttyS0; then
		echo "PASS $SERIES $*: $(tail -n 1 "$log")"
	else
		echo "FAIL $SERIES $*:"
		tail -n 40 "$log" | sed 's/^/    /'
	fi
}

prepare
for check in kernel load load_clang19 grace forward dispatcher detach sharing; do
	run "$check"
done
for room in $ROOMS; do
	run room "$room"
done
echo END
sync
echo o >/proc/sysrq-trigger
sleep 10

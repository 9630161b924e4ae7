#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The checks, in the guest: each is a function that prints what it found and fails when that is not
# right. One PASS or FAIL line a check, the output of a failed one behind it, "END" at the end.
# smoke.sh sets SERIES, BUILD, KERNEL_TREE and TESTS.
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

prepare() {
	ip link set lo up
	mount -t tmpfs run /run
	mkdir -p /run/netns /lib/modules
	mount --bind "$KERNEL_TREE/lib/modules" /lib/modules
	mount -t bpf bpf /sys/fs/bpf
	hostname guest
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

check_grace() {
	"$BUILD/tests/vm/probe" grace "$BUILD/bpf/xfib.bpf.o"
}

# run CHECK: the last line of what it printed stands behind PASS.
run() {
	local name=$1 log=/run/check.log
	if "check_$name" >"$log" 2>&1; then
		echo "PASS $SERIES $name: $(tail -n 1 "$log")"
	else
		echo "FAIL $SERIES $name:"
		tail -n 15 "$log" | sed 's/^/    /'
	fi
}

prepare
for check in kernel load grace; do
	run "$check"
done
echo END
sync
echo o >/proc/sysrq-trigger
sleep 10

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# smoke.sh SERIES...: boots each of Debian's kernels under qemu (no KVM needed) over this machine's
# file system, read only, and runs guest.sh there. Prints its PASS and FAIL lines and one closing
# line. A kernel that cannot be fetched, does not boot or does not finish in time is a failure.
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${B:-build}")
cache=$(realpath -m "${VM_CACHE:-build/vm}")
limit=${VM_TIMEOUT:-420} # seconds a kernel, of which about 5 are the boot

accel=${VM_ACCEL:-tcg,thread=single} # several threads trip over code that the kernel patches at boot

passed=0 failed=0

fail() {
	echo "FAIL $*"
	failed=$((failed + 1))
}

# What init runs in the guest: guest.sh with what it needs to know, on the second serial line.
write_entry() {
	cat >"$1" <<-EOF
		stty -F /dev/ttyS1 raw -echo
		exec </dev/null >/dev/ttyS1 2>&1
		export ROOMS='${ROOMS:-}' CHECK_TIMEOUT='${CHECK_TIMEOUT:-900}' NETFLAGS=$(printf %q "${NETFLAGS:-}")
		export SERIES='$2' BUILD='$build' TREE='$(dirname "$(dirname "$here")")' KERNEL_TREE='$cache/$2'
		exec /bin/bash '$here/guest.sh'
	EOF
}

boot() {
	local tree=$1 entry=$2 out=$3
	timeout --kill-after=10 "$limit" qemu-system-x86_64 -M q35 -accel "$accel" -cpu max -smp 2 -m 2G \
		-display none -monitor none -nic none -no-reboot \
		-kernel "$tree/boot/vmlinuz" -initrd "$tree/initrd" \
		-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
		-device virtio-9p-pci,fsdev=root,mount_tag=root \
		-serial "file:$out.console" -serial "file:$out.log" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off xfib.run=$entry" \
		</dev/null >"$out.qemu" 2>&1
}

smoke() {
	local series=$1 out=$build/tests/vm/$1 start=$SECONDS
	if ! "$here/kernel.sh" "$series" "$cache"; then
		fail "$series fetch: Debian's kernel could not be fetched (see above)"
		return
	fi
	rm -f "$out".{entry,console,log,qemu}
	write_entry "$out.entry" "$series"
	boot "$cache/$series" "$out.entry" "$out"
	touch "$out.log"
	sed '/^END$/d' "$out.log"
	passed=$((passed + $(grep -c '^PASS ' "$out.log")))
	failed=$((failed + $(grep -c '^FAIL ' "$out.log")))
	if ! grep -qx END "$out.log"; then
		fail "$series end: the guest stopped after $((SECONDS - start)) of at most $limit s: $out.console"
		tail -n 20 "$out.console" "$out.qemu" | sed 's/^/    /'
	fi
	echo "     $series took $((SECONDS - start)) s"
}

for series in "$@"; do
	smoke "$series"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

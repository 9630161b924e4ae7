#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Installs what packages.txt lists and is not there yet. Asks nothing; tries again when the package
# source or its lock does not answer; does not touch the network when everything is there.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
readonly tries=4

die() {
	echo "deps: $*" >&2
	exit 1
}

missing() {
	local package
	sed 's/#.*//; /^[[:space:]]*$/d' "$here/packages.txt" | while read -r package; do
		dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
			echo "$package"
	done
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -n "$@"
	else
		die "installing packages needs root, and there is no sudo: run 'make deps' as root"
	fi
}

apt() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
		-o Acquire::Retries=3 -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@" </dev/null
}

install_once() {
	local -a packages
	mapfile -t packages < <(missing)
	[ "${#packages[@]}" -gt 0 ] || return 0
	echo "deps: installing ${packages[*]}"
	apt update && apt install --no-install-recommends "${packages[@]}"
}

command -v apt-get >/dev/null ||
	die "this is no Debian: install the equivalents of tests/ci/packages.txt by hand"

for try in $(seq "$tries"); do
	if install_once; then
		echo "deps: every package is there"
		exit 0
	fi
	[ "$try" = "$tries" ] || sleep $((try * 10))
done
die "gave up after $tries tries, still missing: $(missing | tr '\n' ' ')"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kernel.sh SERIES DIR: brings Debian's kernel of a series (6.1 from bookworm, 6.12 from its
# backports) into DIR/SERIES: boot/vmlinuz, lib/modules, an initrd. What is there already is kept.
# Uses apt-get with a package source list and state of its own under DIR, at the mirror that the
# system is set up with: the system's own sources are read, never changed.
set -euo pipefail

series=$1
dir=$(realpath -m "$2")
tree=$dir/$series
apt=$dir/apt

die() {
	echo "kernel.sh: $*" >&2
	exit 1
}

# The system's Debian mirror, whatever host that is.
mirror() {
	apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)' 'Created-By: Packages' |
		awk -F '|' '$1 == "Debian" && $3 !~ /security|updates|backports/ && $4 == "main" { print $2; exit }'
}

apt_private() {
	local tool=$1
	shift
	"$tool" -q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null -o Dir::State::lists="$apt/lists" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root \
		-o Acquire::Retries=3 "$@"
}

retry() {
	local try
	for try in 1 2 3; do
		"$@" && return 0
		[ "$try" = 3 ] || sleep $((try * 10))
	done
	return 1
}

update_lists() {
	local uri suite
	uri=$(mirror)
	[ -n "$uri" ] || die "the system has no Debian package source (or 'apt-get update' was never run)"
	mkdir -p "$apt/lists/partial"
	for suite in bookworm bookworm-backports; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main"
	done >"$apt/sources.list"
	retry apt_private apt-get update >"$apt/update.log" 2>&1 ||
		die "cannot read the package lists, see $apt/update.log"
}

newest_image() {
	apt_private apt-cache search --names-only "^linux-image-${series//./\\.}\\.[0-9].*-amd64\$" |
		awk '$1 !~ /-(rt|cloud)-amd64$/ { print $1 }' | sort -V | tail -n 1
}

fetch() {
	local image
	update_lists
	image=$(newest_image)
	[ -n "$image" ] || die "the mirror has no kernel $series"
	rm -rf "$tree.new"
	mkdir -p "$tree.new"
	(cd "$tree.new" && retry apt_private apt-get download "$image" >"$apt/download.log" 2>&1) ||
		die "cannot fetch $image, see $apt/download.log"
	dpkg-deb -x "$tree.new"/*.deb "$tree.new"
	rm -f "$tree.new"/*.deb
	mv "$tree.new/boot"/vmlinuz-* "$tree.new/boot/vmlinuz"
	[ -d "$tree.new/lib" ] || mv "$tree.new/usr/lib" "$tree.new/lib"
	depmod -b "$tree.new" "$(ls "$tree.new/lib/modules")"
}

# busybox and the modules that reach the host's file system: the guest's root is an overlay on that.
make_initrd() {
	local base=$1 release root file name
	release=$(ls "$base/lib/modules")
	root=$base/initrd.d
	mkdir -p "$root"/{bin,proc,sys,dev,modules}
	cp "$(command -v busybox)" "$root/bin/busybox"
	install -m755 "$(dirname "$0")/init" "$root/init"
	for file in $(for name in virtio_pci 9pnet_virtio 9p overlay; do
		modprobe -d "$base" -S "$release" --show-depends "$name"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'); do
		name=$(basename "$file" .xz)
		case $file in
		*.xz) xz -dc "$file" >"$root/modules/$name" ;;
		*) cp "$file" "$root/modules/$name" ;;
		esac
		echo "$name" >>"$root/modules/order"
	done
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$base/initrd"
	rm -rf "$root"
}

mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9

# The directory appears whole or not at all, so an interrupted run leaves nothing that looks ready.
if [ ! -d "$tree" ]; then
	fetch
	make_initrd "$tree.new"
	mv "$tree.new" "$tree"
elif [ "$(dirname "$0")/init" -nt "$tree/initrd" ]; then
	make_initrd "$tree"
fi

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# variant.sh OUT.o FILE SCRIPT.sed...: builds the XDP program from a copy of bpf/ with the scripts done
# to FILE. Fails if any line of a script changes nothing, so that a variant cannot quietly become the
# program itself. BPF_CC: the compiler and its flags.
set -eu

out=$1 file=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cp bpf/*.h bpf/*.c "$dir"
while read -r edit; do
	cp "$dir/$file" "$dir/before"
	sed -i -E "$edit" "$dir/$file"
	if cmp -s "$dir/before" "$dir/$file"; then
		echo "variant.sh: '$edit' finds nothing in bpf/$file; it must follow the source" >&2
		exit 1
	fi
done < <(grep -hvE '^(#|$)' "$@")
mkdir -p "$(dirname "$out")"
# shellcheck disable=SC2086 # flags are words
$BPF_CC -c "$dir/xfib.bpf.c" -o "$out"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# variant.sh FILE SED OUT.o: builds the XDP program from a copy of bpf/ in which SED was done to FILE.
# Fails if that changes nothing, so that a variant cannot quietly become the program itself.
# BPF_CC: the compiler and its flags.
set -eu

file=$1 edit=$2 out=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cp bpf/*.h bpf/*.c "$dir"
sed -i -E "$edit" "$dir/$file"
if cmp -s "bpf/$file" "$dir/$file"; then
	echo "variant.sh: '$edit' finds nothing in bpf/$file; it must follow the source" >&2
	exit 1
fi
mkdir -p "$(dirname "$out")"
# shellcheck disable=SC2086 # flags are words
$BPF_CC -c "$dir/xfib.bpf.c" -o "$out"

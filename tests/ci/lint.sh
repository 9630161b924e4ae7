#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# lint.sh [CHECK...]: looks at every file that git knows. Each check is a function that prints what is
# wrong; all (or those named) are made, whatever the earlier ones found.
set -u
cd "$(dirname "$0")/../.." || exit 1

readonly both='GPL-2\.0-only OR BSD-2-Clause'

sources() {
	git ls-files '*.c' '*.h' '*.S' '*.sh' '*.py' '*.mk' '*.bt' Makefile .ci/run tests/vm/init
}

scripts() {
	git ls-files | while read -r file; do
		[ -f "$file" ] && head -n 1 "$file" | grep -qE '^#!.*[/ ](ba)?sh$' && echo "$file"
	done
}

# The kernel's helpers want the GPL; what userspace shares with the programs (abi.h) is under both.
licence_of() {
	case $1 in
	bpf/abi.h) echo "$both" ;;
	bpf/* | *.bpf.c) echo 'GPL-2\.0-only' ;;
	*) echo "$both" ;;
	esac
}

check_licences() {
	local file
	sources | while read -r file; do
		head -n 3 "$file" | grep -qE "SPDX-License-Identifier: $(licence_of "$file")( \*/)?\$" ||
			echo "$file: wants 'SPDX-License-Identifier: $(licence_of "$file" | tr -d '\\')'"
	done
}

check_space() {
	git grep -nIE '[[:space:]]+$' -- . ':!LICENSES' ':!*.pcap'
	git grep -nIE '^    +[^ ]' -- '*.c' '*.h'
	sources | while read -r file; do
		[ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at the end"
	done
}

check_scripts() {
	scripts | xargs -r shellcheck -S warning
}

check_spelling() {
	git ls-files | grep -v '^LICENSES/' | xargs -r codespell --ignore-words tests/ci/words.txt
}

check_format() {
	git ls-files '*.c' | xargs -r clang-format-14 --dry-run 2>&1 | grep 'warning:' |
		cut -d : -f 1 | sort | uniq -c | sed 's/$/: places that `make format` would change/'
}

checks=("$@")
[ $# -gt 0 ] || checks=(licences space scripts spelling format)
failed=0
for check in "${checks[@]}"; do
	found=$("check_$check" 2>&1)
	if [ -z "$found" ]; then
		echo "lint: $check: right"
	else
		printf 'lint: %s:\n%s\n' "$check" "$found"
		failed=1
	fi
done
exit "$failed"

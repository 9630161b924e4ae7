#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Every line of tests/TRAPS-COVERAGE.md names a test or says why there is none, no trap stands there
# twice, and every test that it names exists: a sentence in quotes, or the name of a function.
set -u
cd "$(dirname "$0")" || exit 1

passed=0 failed=0 later=0

fail() {
	echo "TRAPS-COVERAGE.md: $*"
	failed=$((failed + 1))
}

# A name with blanks is a string in C, one without a function.
exists() {
	case $1 in
	*\ *) grep -rqF --include='*.c' --include='*.py' "\"$1\"" . ;;
	*) grep -rqE --include='*.c' --include='*.py' "(def |static void )$1\(" . ;;
	esac
}

declare -A seen
while IFS='|' read -r _ trap _ where _; do
	trap=${trap// /}
	# shellcheck disable=SC2016 # backticks of the table, not of the shell
	mapfile -t names < <(grep -o '`[^`]*`' <<< "$where" | tr -d '`')
	if [ -n "${seen[$trap]:-}" ]; then
		fail "$trap stands there twice"
	elif [ ${#names[@]} = 0 ] && [[ $where =~ later:\ .+ ]]; then
		later=$((later + 1))
	elif [ ${#names[@]} = 0 ]; then
		fail "$trap names no test and no reason ('later: ...')"
	fi
	seen[$trap]=1
	for name in "${names[@]}"; do
		if exists "$name"; then
			passed=$((passed + 1))
		else
			fail "$trap: there is no test '$name'"
		fi
	done
done < <(grep -E '^\| [A-Za-z0-9]+-[0-9]+[a-z]? \|' TRAPS-COVERAGE.md)

[ ${#seen[@]} -gt 0 ] || fail "no traps"
echo "traps: $passed passed, $failed failed, $later skipped"
[ "$failed" = 0 ]

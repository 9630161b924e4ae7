#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# check.sh TARGET...: runs `make TARGET` for each room of tests, goes on after a failure, and ends
# with the one line that sums what the rooms reported. A room is believed only as far as its own
# closing line and exit code agree: a failed exit without a counted failure, and a run that reports
# no test at all, count as one failure each.
set -u

logs=$(realpath -m "${B:-build}/check")
limit=${CHECK_TIMEOUT:-900} # seconds a room
mkdir -p "$logs"

export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -rfEs" # what failed, and why a test is skipped

passed=0 failed=0 skipped=0
verdicts=() skips=()

# The counts of a room's log: its last plain closing line, else the sum of what cmocka and pytest said.
counts() {
	awk '
	function number(word,    part) {
		return match($0, "[0-9]+ " word) ? substr($0, RSTART, RLENGTH) + 0 : 0
	}
	/^([a-z0-9-]+: *)?[0-9]+ passed, [0-9]+ failed/ {
		plain = 1; p = number("passed"); f = number("failed"); s = number("skipped")
	}
	/^\[  PASSED  \] [0-9]+ test/ { P += $4 }
	/^\[  FAILED  \] [0-9]+ test/ { F += $4 }
	/^\[  SKIPPED \] [0-9]+ test/ { S += $4 }
	/^(=+ )?[0-9]+ (passed|failed|skipped|error).* in [0-9.]+s/ {
		P += number("passed"); F += number("failed") + number("error"); S += number("skipped")
	}
	END { print plain ? p " " f " " s : P + 0 " " F + 0 " " S + 0 }' "$1"
}

# Processes that still write to a room's log: the room is over, so it has left them behind.
leftovers() {
	find /proc/[0-9]*/fd -lname "$1" 2>/dev/null | cut -d / -f 3 | sort -un
}

# Into a file, not a pipe: a process that a room leaves behind must not keep the run waiting.
execute() {
	local log=$2 pid
	timeout --kill-after=30 "$limit" "${MAKE:-make}" --no-print-directory "$1" \
		</dev/null >"$log" 2>&1 &
	pid=$!
	trap 'kill "$pid"; exit 130' INT TERM
	tail -n +1 -f --pid="$pid" "$log" | sed -u "s/^/${1#check-} | /"
	wait "$pid"
}

run_room() {
	local room=${1#check-} log=$logs/${1#check-}.log rc p f s pid note=
	echo "== $room"
	: >"$log"
	execute "$1" "$log"
	rc=$?
	read -r p f s < <(counts "$log")
	if [ "$rc" -ge 124 ] && [ "$rc" != 127 ]; then
		note=" (stopped after $limit s)"
		f=$((f + 1))
	elif [ "$rc" != 0 ] && [ "$f" = 0 ]; then
		note=" (exit code $rc)"
		f=1
	elif [ "$rc" = 0 ] && [ $((p + f + s)) = 0 ]; then
		note=" (reported no test)"
		f=1
	fi
	for pid in $(leftovers "$log"); do
		note+=" (left a process behind: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null))"
		f=$((f + 1))
		kill "$pid" 2>/dev/null
	done
	verdicts+=("$(printf '%-12s %4d passed, %d failed, %d skipped%s' "$room" "$p" "$f" "$s" "$note")")
	mapfile -O "${#skips[@]}" -t skips < <(sed -nE "s/^(SKIP(PED)?[ :].*|[^0-9=][^,]* skipped)\$/$room: \1/p" "$log")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

for target in "$@"; do
	run_room "$target"
done

echo
printf '  %s\n' "${verdicts[@]}"
if [ "${#skips[@]}" -gt 0 ]; then
	echo "skipped:"
	printf '  %s\n' "${skips[@]}"
fi
if [ "$skipped" -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

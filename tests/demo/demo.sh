#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A tour of xfib in half a minute, on this machine and without touching its network:
#
#     client  10.0.0.2 ------ 10.0.0.1  router  10.0.1.1 ------ 10.0.1.2  server
#             fd00:0::2 ---- fd00:0::1          fd00:1::1 ---- fd00:1::2
#
# The three are network namespaces. The router gets a routing table of the size and shape of a real
# one, and every route leads to the server, which plays all of the Internet. The client floods it
# through the kernel; then xfibd starts in the router, and the client pings, copies data and floods
# again. At the end xfib tells what XDP forwarded, and what it left to the kernel and why. All is
# removed again, also after Ctrl-C.
#
#   ROUTES4=100000 ROUTES6=20000   how many routes
#   TABLE=FILE                     take the prefixes from a file instead, one a line
set -euo pipefail
cd "$(dirname "$0")/../.."

build=$(realpath "${B:-build}")
routes4=${ROUTES4:-100000}
routes6=${ROUTES6:-20000}
packets=1000000
name=xfib-demo-$$
TMPDIR=${TMPDIR:-/tmp}
client=$name-client router=$name-router server=$name-server
work=

# --- the story -------------------------------------------------------------------------------------

main() {
	say "A client, a router and a server"
	make_network
	show "$router" ip -br link

	say "The router learns $routes4 IPv4 and $routes6 IPv6 routes, as from BGP"
	fill_table
	show "$router" ip -o route show | sed -n '$='
	show "$router" ip route get "$host4" from 10.0.0.2 iif client

	say "A flood of small packets to 1,000 networks, forwarded by the kernel"
	flood IPv4
	flood IPv6

	say "xfibd starts on the router's two interfaces and reads the kernel's tables"
	start_xfibd

	say "Ping, to hosts somewhere in the table"
	show "$client" ping -q -c 50 -i 0.01 "$host4" | grep -v '^$'
	show "$client" ping -q -c 50 -i 0.01 "$host6" | grep -v '^$'

	say "TCP"
	start_iperf3
	show "$client" iperf3 -c "$host4" -t 2 | grep -E 'sender|receiver'
	show "$client" iperf3 -c "$host6" -t 2 | grep -E 'sender|receiver'

	say "The same flood, forwarded by xfib"
	flood IPv4
	flood IPv6

	say "A route changes, with ip(8) as ever; xfib asks the kernel for its opinion too"
	show "$router" ip route add blackhole 198.51.100.0/24
	sleep 0.1
	show "$router" "$build/xfib" -n "$name" lookup 198.51.100.1
	show "$router" "$build/xfib" -n "$name" lookup "$host4"

	say "What xfib did"
	sleep 1 # the tables are counted once a second
	show "$router" "$build/xfib" -n "$name" status
	show "$router" "$build/xfib" -n "$name" stats

	say "Done; removing it all"
}

say() {
	if [ -t 1 ]; then
		printf '\n\033[1m== %s\033[0m\n' "$*"
	else
		printf '\n== %s\n' "$*"
	fi
}

# Prints a command as one would type it in that host, and runs it there.
show() {
	local words=${*:2}
	words=${words//"$build/"/}
	printf '%s# %s\n' "${1##*-}" "${words//" -n $name"/}" >&2
	inside "$@"
}

# `ip netns exec` would hide the BPF file system, where xfib keeps its tables.
inside() {
	nsenter --net="/run/netns/$1" "${@:2}"
}

# --- what happens in it ----------------------------------------------------------------------------

make_network() {
	local host
	for host in "$client" "$router" "$server"; do
		ip netns add "$host"
		inside "$host" sysctl -qw net.ipv6.conf.default.accept_dad=0
		ip -n "$host" link set lo up
	done
	connect "$client" 0
	connect "$server" 1
	inside "$router" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	inside "$client" ping -q -c 1 10.0.1.2 >/dev/null
	inside "$client" ping -q -c 1 fd00:1::2 >/dev/null
}

# A cable between a host and the router's interface of the host's name.
connect() {
	local host=$1 net=$2 port=${1##*-}
	ip -n "$router" link add "$port" type veth peer name eth0 netns "$host"
	ip -n "$router" addr add "10.0.$net.1/24" dev "$port"
	ip -n "$router" addr add "fd00:$net::1/64" dev "$port"
	ip -n "$router" link set "$port" up
	ip -n "$host" addr add "10.0.$net.2/24" dev eth0
	ip -n "$host" addr add "fd00:$net::2/64" dev eth0
	ip -n "$host" link set eth0 up
	ip -n "$host" route add default via "10.0.$net.1"
	ip -n "$host" -6 route add default via "fd00:$net::1"
	# A virtual cable is no real one: it takes what XDP redirects only while its far end polls
	# (GRO), and it leaves checksums to hardware that is not there.
	inside "$host" ethtool -K eth0 gro on tx off >/dev/null
	inside "$router" ethtool -K "$port" gro on
}

fill_table() {
	tests/lib/table.py "$routes4" "$routes6" ${TABLE:+--file "$TABLE"} >"$work/prefixes"
	grep -v : "$work/prefixes" | sed 's/.*/route add & via 10.0.1.2/' | ip -n "$router" -batch -
	grep : "$work/prefixes" | sed 's/.*/route add & via fd00:1::2/' | ip -n "$router" -6 -batch -
	destinations -v 10.0.0.2 >"$work/destinations4"
	destinations -e fd00:0::2 >"$work/destinations6"
	host4=$(awk 'NR == 1 { print $3 }' "$work/destinations4")
	host6=$(awk 'NR == 1 { print $3 }' "$work/destinations6")
	ip -n "$server" addr add "$host4" dev lo
	ip -n "$server" addr add "$host6" dev lo
}

# A thousand networks of a family, as the flood wants them: MAC of the router, source, destination.
destinations() {
	local mac
	mac=$(inside "$router" ip -br link show client | awk '{ print $3 }')
	grep "$1" : "$work/prefixes" | shuf -n 1000 --random-source="$work/prefixes" | cut -d/ -f1 |
		sed "s/^/$mac $2 /"
}

# Packets as fast as one CPU can make and forward them, counted where they arrive.
flood() {
	local family=$1 mac sink arrived took
	mac=$(inside "$client" ip -br link show eth0 | awk '{ print $3 }')
	mkfifo "$work/ask"
	inside "$server" "$build/tests/bench/traffic" sink eth0 <"$work/ask" >"$work/arrived" &
	sink=$!
	exec 3>"$work/ask"
	until [ -s "$work/arrived" ]; do sleep 0.05; done
	took=$(inside "$client" taskset -c 0 "$build/tests/bench/traffic" send eth0 "$mac" "$packets" \
		<"$work/destinations${family#IPv}")
	sleep 0.2
	echo >&3
	exec 3>&-
	wait "$sink"
	rm "$work/ask"
	arrived=$(tail -n 1 "$work/arrived")
	printf '%s: %d of %d packets arrived, %d a second\n' "$family" "$arrived" "$packets" \
		$((arrived * 1000000000 / ${took%% *}))
}

start_xfibd() {
	printf 'router# xfibd client server\n'
	nsenter --net="/run/netns/$router" "$build/xfibd" -n "$name" client server 2>"$work/xfibd.log" &
	pids+=($!)
	until inside "$router" "$build/xfib" -n "$name" -j status 2>/dev/null |
		jq -e '.sync.state == "synced"' >/dev/null; do
		kill -0 $! || { cat "$work/xfibd.log" && exit 1; }
		sleep 0.1
	done
	cat "$work/xfibd.log"
}

start_iperf3() {
	nsenter --net="/run/netns/$server" iperf3 -s >/dev/null 2>&1 &
	pids+=($!)
	until inside "$server" ss -Hltn 'sport = 5201' | grep -q .; do sleep 0.05; done
}

pids=() # of programs started by nsenter itself, which becomes the program

# Nothing interrupts it: what it has begun it ends.
cleanup() {
	local host
	trap '' INT TERM HUP
	trap - EXIT
	{
		[ "${#pids[@]}" = 0 ] || kill "${pids[@]}"
		wait
		inside "$router" "$build/xfib" -n "$name" detach --all
		for host in "$client" "$router" "$server"; do
			ip netns del "$host"
		done
		rm -rf "/sys/fs/bpf/xfib/$name" "/run/xfib/$name"
		[ ! "$work" ] || rm -rf "$work"
	} 2>/dev/null || true
}
trap cleanup EXIT
trap "trap '' INT TERM HUP; exit 130" INT TERM HUP

work=$TMPDIR/$name
mkdir "$work"
main

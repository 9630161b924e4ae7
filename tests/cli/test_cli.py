# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What xfib prints and how it ends: against tables that fixture.c fills by hand, then against xfibd.

The router: p0 10.0.0.1/24 and p1 10.0.1.1/24 in a namespace of its own, with the kernel's routes and
neighbours saying the same as the tables.
"""

import contextlib
import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

BUILD = os.environ.get("B") or os.path.join(os.path.dirname(__file__), "../../build")
XFIB = os.path.join(BUILD, "xfib")
XFIBD = os.path.join(BUILD, "xfibd")
FIXTURE = os.path.join(BUILD, "tests/cli/fixture")

GATEWAY, CONNECTED0, GROUP = 64, 65, 67  # leaf ids of fixture.c
NO_ROUTE_LEAF, LOCAL_LEAF = 25, 26       # leaf ids of verdicts, in the order of bpf/abi.h

KERNEL = """
    link set lo up
    link add p0 type veth peer name h0
    link add p1 type veth peer name h1
    addr add 10.0.0.1/24 dev p0
    addr add 10.0.1.1/24 dev p1
    addr add 2001:db8::1/64 dev p0 nodad
    addr add 2001:db8:1::1/64 dev p1 nodad
    link set p0 up
    link set p1 up
    link set h0 up
    link set h1 up
    neigh add 10.0.0.2 lladdr 02:00:00:00:00:01 dev p0 nud permanent
    neigh add 10.0.1.2 lladdr 02:00:00:00:00:02 dev p1 nud stale
    neigh add 2001:db8:1::2 lladdr 02:00:00:00:00:03 dev p1 nud permanent
    route add default via 10.0.1.2
    route add 192.0.2.0/24 nexthop via 10.0.0.2 weight 1 nexthop via 10.0.1.2 weight 3
    route add 198.51.100.0/24 via 10.0.1.2
    route add 198.51.100.128/25 via 10.0.1.3
    route add blackhole 203.0.113.0/24
    route add 2001:db8:2::/48 via 2001:db8:1::2 mtu 1400
"""


class Router:
    """A namespace with the router, and an instance of the same name."""

    def __init__(self, name):
        self.name = name
        self.pid = os.getpid()

    def run(self, *argv, **kwargs):
        return subprocess.run(["nsenter", f"--net=/run/netns/{self.name}", *argv],
                              capture_output=True, text=True, timeout=60, **kwargs)

    def must(self, *argv, **kwargs):
        result = self.run(*argv, **kwargs)
        assert result.returncode == 0, f"{argv}: {result.stderr}"
        return result.stdout

    def xfib(self, *argv):
        return self.run(XFIB, "-n", self.name, *argv)

    def json(self, *argv):
        return json.loads(self.must(XFIB, "-n", self.name, "-j", *argv))

    def fixture(self, *argv):
        self.must(FIXTURE, self.name, *map(str, argv))

    @property
    def engine(self):
        """Of both families; the tests have no mixture."""
        engines = self.json("status")["engine"]
        assert engines["ipv4"] == engines["ipv6"]
        return engines["ipv4"]

    def make(self):
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        self.must("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                  "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
        self.must("ip", "-batch", "-", input=KERNEL)

    def remove(self):
        self.xfib("detach", "--all")
        shutil.rmtree(f"/sys/fs/bpf/xfib/{self.name}", ignore_errors=True)
        shutil.rmtree(f"/run/xfib/{self.name}", ignore_errors=True)
        subprocess.run(["ip", "netns", "del", self.name], check=False)


def unwind(*_):
    """Ends the run through all fixtures."""
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def bare():
    """The namespace without an instance."""
    signal.signal(signal.SIGTERM, unwind)
    router = Router(f"xfib-cli-{os.getpid()}")
    try:
        router.make()
        yield router
    finally:
        router.remove()


@pytest.fixture
def router(bare, request):
    """Both ports attached, tables filled, a daemon (this very process) that is alive."""
    bare.fixture("engine", getattr(request, "param", "lpm"))
    bare.must(XFIB, "-n", bare.name, "attach", "p0", "p1")
    bare.fixture("fill", bare.pid)
    yield bare
    bare.fixture("fill", 0)
    bare.must(XFIB, "-n", bare.name, "detach", "--all")


# A test of what depends on how the routes lie in the maps.
with_each_engine = pytest.mark.parametrize("router", ["lpm", "trie"], indirect=True)


def one_line(result, program="xfib: "):
    """Errors are one clear line."""
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith(program), result.stderr
    return lines[0]


def keys(document, wanted):
    assert set(wanted.split()) <= set(document), f"missing: {set(wanted.split()) - set(document)}"


# --- the command line itself -----------------------------------------------------------------------


def test_an_unknown_word_is_a_usage_error(bare):
    result = bare.xfib("frobnicate")
    assert result.returncode == 2
    assert "unknown word 'frobnicate'" in result.stderr


@pytest.mark.parametrize("typed, meant", [("detahc", "'detach'"), ("stat", "'status' or 'stats'"),
                                          ("statsu", "'status' or 'stats'"), ("neighbours", "'neigh'"),
                                          ("look", "'lookup'"), ("x", None), ("", None), ("s" * 40, None)])
def test_a_mistyped_word_is_answered_with_all_that_may_have_been_meant(bare, typed, meant):
    result = bare.xfib(typed)
    assert result.returncode == 2
    found = re.search(r"did you mean (.+)\?", result.stderr)
    assert (found.group(1) if found else None) == meant


def test_a_word_is_not_guessed_from_its_beginning(bare):
    assert bare.xfib("neig").returncode == 2


@pytest.mark.parametrize("argv", [
    ["-x"], ["-n", "../evil", "status"], ["status", "more"], ["attach"], ["attach", "--mode", "fast", "p0"],
    ["detach"], ["detach", "p0", "--all"], ["stats", "-i", "soon"], ["stats", "-i", "0"], ["stats", "p0"],
    ["route", "list"], ["route", "show", "10.0.0.1/8"], ["route", "show", "nonsense"], ["neigh", "p0"],
    ["lookup"], ["lookup", "nonsense"], ["lookup", "192.0.2.1", "from"], ["lookup", "192.0.2.1", "via", "p0"],
    ["lookup", "192.0.2.1", "from", "2001:db8::1"], ["verify", "--samples", "-1"],
    ["verify", "--samples", "5", "--all"], ["help", "frobnicate"]])
def test_bad_arguments_are_a_usage_error(bare, argv):
    result = bare.xfib(*argv)
    assert result.returncode == 2, result.stderr
    assert result.stdout == "" and result.stderr != ""


WORDS = ["attach", "detach", "status", "stats", "route", "neigh", "lookup", "verify"]


@pytest.mark.parametrize("word", WORDS)
def test_every_word_has_help(bare, word):
    for argv in ([word, "--help"], ["help", word]):
        result = bare.xfib(*argv)
        assert result.returncode == 0
        assert f"xfib {word}" in result.stdout and "Example:" in result.stdout


def test_help_lists_the_words_and_version_is_told(bare):
    for argv in (["--help"], ["help"]):
        result = bare.xfib(*argv)
        assert result.returncode == 0
        assert all(re.search(rf"^ +{word} ", result.stdout, re.M) for word in WORDS)
    assert re.match(r"xfib \d+\.\d+", bare.xfib("--version").stdout)


def test_help_fits_80_columns(bare):
    for argv in (["--help"], *([word, "--help"] for word in WORDS)):
        assert max(map(len, bare.xfib(*argv).stdout.splitlines())) <= 80


# --- what cannot be done -----------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [["status"], ["stats"], ["route"], ["neigh"], ["lookup", "192.0.2.1"],
                                  ["verify"], ["detach", "p0"], ["detach", "--all"], []])
def test_without_an_instance_every_word_fails_in_one_line(bare, argv):
    result = bare.xfib(*argv)
    assert result.returncode == 1
    assert bare.name in one_line(result)
    assert not os.path.exists(f"/sys/fs/bpf/xfib/{bare.name}")


@pytest.mark.parametrize("ifname", ["nosuch0", "lo"])
def test_attach_to_what_cannot_be_a_port_fails_and_leaves_nothing(bare, ifname):
    result = bare.xfib("attach", "p0", ifname)
    assert result.returncode == 1
    assert ifname in one_line(result)
    assert not os.path.exists(f"/sys/fs/bpf/xfib/{bare.name}")
    assert "xdp" not in bare.must("ip", "link", "show", "p0")


@pytest.mark.parametrize("ifname", ["lo"])
def test_a_daemon_for_what_can_never_be_a_port_fails_and_leaves_nothing(bare, ifname):
    result = bare.run("timeout", "10", XFIBD, "-n", bare.name, "p0", ifname)
    assert result.returncode == 1
    assert ifname in one_line(result, "xfibd: ")
    assert not os.path.exists(f"/sys/fs/bpf/xfib/{bare.name}")
    assert "xdp" not in bare.must("ip", "link", "show", "p0")


@pytest.mark.parametrize("program", ([XFIB, "attach"], [XFIBD]))
@pytest.mark.parametrize("ifname", ("averyveryverylongname", "a/b", "a b", "a:1", ""))
def test_what_can_be_no_name_of_an_interface_is_a_usage_error(bare, program, ifname):
    result = bare.run("timeout", "10", *program, "-n", bare.name, ifname)
    assert result.returncode == 2
    assert "no name of an interface" in result.stderr


@pytest.mark.parametrize("argv, left", [(["attach", "p0"], ["p0"]), (["detach", "--all"], [])])
def test_an_instance_of_a_namespace_that_is_gone_is_no_hindrance(bare, argv, left):
    bare.must(XFIB, "-n", bare.name, "attach", "p0", "p1")
    subprocess.run(["ip", "netns", "del", bare.name], check=True)
    bare.make()
    deadline = time.monotonic() + 10
    result = bare.xfib("-j", *argv)
    while result.returncode and time.monotonic() < deadline:  # a namespace goes in its own time
        assert "another network namespace" in one_line(result) and "rm -r" in result.stderr
        time.sleep(0.2)
        result = bare.xfib("-j", *argv)
    assert result.returncode == 0
    assert f"removed instance '{bare.name}' of a network namespace that is gone" in one_line(result)
    assert [port["ifname"] for port in json.loads(result.stdout)["ports"]] == left
    bare.xfib("detach", "--all")
    assert not os.path.exists(f"/sys/fs/bpf/xfib/{bare.name}")


def test_an_instance_of_a_living_namespace_is_not_taken_over(bare):
    bare.must(XFIB, "-n", bare.name, "attach", "p0")
    for program, *argv in ([XFIBD], [XFIB, "detach", "--all"], [XFIB, "status"]):
        result = subprocess.run(["unshare", "-n", "timeout", "10", program, "-n", bare.name, *argv],
                                capture_output=True, text=True, check=False)
        assert result.returncode == 1
        assert "another network namespace" in one_line(result, os.path.basename(program) + ": ")
    assert [port["ifname"] for port in bare.json("status")["ports"]] == ["p0"]
    bare.must(XFIB, "-n", bare.name, "detach", "--all")


def test_a_port_of_another_instance_names_it(bare):
    bare.must(XFIB, "-n", bare.name, "attach", "p0")
    try:
        result = bare.run(XFIB, "-n", bare.name + "-2", "attach", "p0")
        assert result.returncode == 1
        assert f"xfib -n {bare.name} detach p0" in one_line(result)
    finally:
        bare.must(XFIB, "-n", bare.name, "detach", "--all")


def test_removed_pins_are_told_once_with_what_to_do_and_that_works(bare):
    bare.must(XFIB, "-n", bare.name, "attach", "p0", "p1")
    shutil.rmtree(f"/sys/fs/bpf/xfib/{bare.name}/gen-1")
    for argv in (["status"], ["route"], ["neigh"], ["lookup", "192.0.2.1"], ["verify"]):
        result = bare.xfib(*argv)
        assert result.returncode == 1
        assert f"stop xfibd, xfib -n {bare.name} detach --all, start xfibd again" in one_line(result)
    result = bare.xfib("detach", "--all")
    assert (result.returncode, result.stderr) == (0, "")
    assert not os.path.exists(f"/sys/fs/bpf/xfib/{bare.name}") and not os.path.exists(f"/run/xfib/{bare.name}")
    assert "xdp" not in bare.must("ip", "link", "show", "p0")


# --- without a BPF file system ---------------------------------------------------------------------

@pytest.mark.parametrize("argv", [[XFIB, "attach", "p0"], [XFIB, "status"], [XFIBD, "p0"]])
def test_under_ip_netns_exec_it_says_what_to_use_instead(bare, argv):
    """It hides the BPF file system, and what is mounted there would be gone with the command."""
    result = subprocess.run(["ip", "netns", "exec", bare.name, "sh", "-c",
                             '"$@"; status=$?; mountpoint -q /sys/fs/bpf && exit 9; exit $status', "sh",
                             "timeout", "10", argv[0], "-n", bare.name, *argv[1:]],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 1
    where = "NAME" if argv[1] == "status" else bare.name
    assert f"nsenter --net=/run/netns/{where}" in one_line(result, os.path.basename(argv[0]) + ": ")
    assert "xdp" not in bare.must("ip", "link", "show", "p0")
    assert not os.path.exists(f"/run/xfib/{bare.name}")


WITHOUT_BPFFS = """
    while mountpoint -q /sys/fs/bpf; do umount /sys/fs/bpf || exit; done
    timeout 10 "$@" && mountpoint -q /sys/fs/bpf && exec timeout 10 "$0" -n "$3" detach --all
"""


def test_a_missing_bpf_file_system_is_mounted(bare):
    result = bare.run("unshare", "-m", "sh", "-c", WITHOUT_BPFFS, XFIB, XFIB, "-n", bare.name, "attach", "p0")
    assert result.returncode == 0, result.stderr
    assert "xdp" not in bare.must("ip", "link", "show", "p0")


@pytest.mark.parametrize("argv", [["attach", "p0"], ["status"], ["stats"], ["detach", "--all"], ["verify"]])
def test_without_privilege_it_fails_in_one_line(router, argv):
    result = router.run("setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all",
                        XFIB, "-n", router.name, *argv)
    assert result.returncode == 1
    assert re.search(r"root|permi|privileg|CAP_", one_line(result), re.I)


def test_attach_and_detach_tell_the_ports_that_there_are(router):
    document = json.loads(router.must(XFIB, "-n", router.name, "-j", "attach", "p0"))
    assert [port["ifname"] for port in document["ports"]] == ["p0", "p1"]
    keys(document["ports"][0], "ifname ifindex mode attach enabled reason")
    document = json.loads(router.must(XFIB, "-n", router.name, "-j", "detach", "p1"))
    assert [port["ifname"] for port in document["ports"]] == ["p0"]


def test_lookup_of_what_the_kernel_has_no_words_for_shows_what_xdp_does(router):
    document = router.json("lookup", "ff02::1")
    assert document["verdict"] == "punt_ip6_destination"
    assert document["kernel"] == {"type": None, "dev": None, "via": None, "error": "Message too long"}
    text = router.must(XFIB, "-n", router.name, "lookup", "ff02::1")
    assert "punt_ip6_destination" in text and "kernel  - (it cannot be asked: Message too long)" in text


def test_detach_of_what_is_no_port_fails(router):
    result = router.xfib("detach", "h0")
    assert result.returncode == 1
    assert "h0" in one_line(result)


def test_lookup_by_what_is_no_port_fails(router):
    for ifname in ("h0", "nosuch0"):
        result = router.xfib("lookup", "192.0.2.1", "iif", ifname)
        assert result.returncode == 1
        assert ifname in one_line(result)


def test_output_that_cannot_be_written_is_a_failure(router):
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run(["nsenter", f"--net=/run/netns/{router.name}", XFIB, "-n", router.name],
                                stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert "No space left" in one_line(result)


def test_a_port_that_the_daemon_has_not_seen_yet_or_any_more_is_told_so(router):
    def reason():
        return next(port["reason"] for port in router.json("status")["ports"] if port["ifname"] == "t0")

    router.must("ip", "link", "add", "t0", "type", "veth", "peer", "name", "t1")
    router.must(XFIB, "-n", router.name, "attach", "t0")
    assert reason() == "xfibd has not seen it yet: it looks every second"
    router.must("ip", "link", "del", "t0")
    assert reason() == "the interface has just left this network namespace"
    router.must(XFIB, "-n", router.name, "detach", "t0")


# --- attach, detach ----------------------------------------------------------------------------------


def test_attach_is_idempotent_and_detach_leaves_nothing(bare):
    for _ in range(2):
        result = bare.xfib("attach", "p0")
        assert result.returncode == 0
        assert result.stdout == ""
        assert "until xfibd runs" in one_line(result)
    assert "xdp" in bare.must("ip", "link", "show", "p0")
    assert bare.xfib("detach", "p0").returncode == 0
    assert "xdp" not in bare.must("ip", "link", "show", "p0")
    assert not os.path.exists(f"/sys/fs/bpf/xfib/{bare.name}")


def test_attach_while_a_daemon_is_alive_says_nothing(router):
    result = router.xfib("attach", "p0")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


# --- status ------------------------------------------------------------------------------------------


@with_each_engine
def test_status_has_the_promised_keys(router):
    for argv in (["status"], []):
        s = router.json(*argv)
        keys(s, "instance version daemon engine fast_path sync tables ports l3ifs")
        keys(s["daemon"], "alive age_ms")
        keys(s["engine"], "ipv4 ipv6")
        keys(s["fast_path"], "ipv4 ipv6 reasons")
        keys(s["sync"], "state generation resyncs drift")
        keys(s["tables"], "ipv4 ipv6 neighbours nexthops")
        for family in ("ipv4", "ipv6"):
            keys(s["tables"][family], "routes capacity bytes punt_markers")
        keys(s["tables"]["neighbours"], "entries capacity")
        for port in s["ports"]:
            keys(port, "ifname ifindex mode attach enabled reason")
        for l3if in s["l3ifs"]:
            keys(l3if, "ifname ifindex port vid fib enabled reason")


@with_each_engine
def test_status_tells_the_engine_and_the_memory_of_the_routes(router):
    engine = router.engine
    assert re.search(rf"^ipv4 routes +{engine} +10 +2097152 +64\.0 KiB +0$",
                     router.must(XFIB, "-n", router.name, "status"), re.M)


def test_status_of_a_live_daemon(router):
    s = router.json("status")
    assert s["instance"] == router.name
    assert s["daemon"]["alive"] is True and isinstance(s["daemon"]["age_ms"], int)
    assert s["fast_path"] == {"ipv4": True, "ipv6": True, "reasons": []}
    assert s["sync"]["state"] == "synced"
    assert [(p["ifname"], p["mode"], p["enabled"], p["reason"]) for p in s["ports"]] == [
        ("p0", "native", True, None), ("p1", "native", True, None)]
    assert s["ports"][0]["attach"] in ("direct", "dispatcher")
    assert [(i["ifname"], i["port"], i["enabled"]) for i in s["l3ifs"]] == [("p0", "p0", True), ("p1", "p1", True)]


@pytest.mark.parametrize("spoil", ["none", "late", "dead"])
def test_status_of_a_daemon_that_is_not_there(router, spoil):
    if spoil == "none":
        router.fixture("fill", 0)
    elif spoil == "late":
        router.fixture("beat", 60000, 10000)
    else:
        gone = subprocess.Popen(["true"])
        gone.wait()
        router.fixture("fill", gone.pid)
    assert router.json("status")["daemon"]["alive"] is False
    assert router.json("status")["fast_path"]["ipv4"] is True  # the dead-man switch is still open
    assert router.xfib("status").stdout.startswith("WARNING: xfibd ")
    router.fixture("deadline", 0)
    s = router.json("status")
    assert s["daemon"]["alive"] is False
    assert s["fast_path"]["ipv4"] is False and s["fast_path"]["reasons"]
    assert s["sync"]["state"] == "dirty"
    assert not any(p["enabled"] for p in s["ports"])
    assert router.xfib("status").stdout.startswith("NOT FORWARDING")


def test_status_counts_a_beat_within_the_hold_time_as_alive(router):
    router.fixture("beat", 9000, 600000)
    assert router.json("status")["daemon"]["alive"] is True
    assert 9000 <= router.json("status")["daemon"]["age_ms"] < 600000


@with_each_engine
def test_no_table_line_ends_in_blanks(router):
    for word in ("status", "stats", "neigh", "route"):
        assert not re.search(r" $", router.must(XFIB, "-n", router.name, word), re.M)


# --- stats -------------------------------------------------------------------------------------------


def packets(stats, verdict):
    return next(v["packets"] for v in stats["verdicts"] if v["name"] == verdict)


def test_stats_has_the_promised_keys(router):
    s = router.json("stats")
    keys(s, "verdicts ports")
    for verdict in s["verdicts"]:
        keys(verdict, "name class packets bytes per_cpu")
        assert verdict["class"] in ("forward", "punt", "drop")
        assert isinstance(verdict["packets"], int)
    for port in s["ports"]:
        keys(port, "ifname rx_packets rx_bytes tx_packets tx_bytes tx_drops tx_drops_source queues verdicts")
        assert port["tx_drops_source"] == "ethtool" and isinstance(port["tx_drops"], int)
    names = [v["name"] for v in s["verdicts"]]
    assert names[0] == "forwarded" and "punt_no_route" in names and len(names) == len(set(names))


@with_each_engine
def test_stats_counts_what_comes_in(router):
    before = router.json("stats")
    # A frame to another host's MAC, three times, by the far end of p0.
    frame = "bytes.fromhex('020000000099' '020000000077' '0800') + bytes(50)"
    router.must("/usr/bin/python3", "-c", "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW);"
                f"s.bind(('h0', 0)); [s.send({frame}) for _ in range(3)]")
    after = router.json("stats")
    assert packets(after, "punt_not_our_mac") - packets(before, "punt_not_our_mac") == 3
    verdict = next(v for v in after["verdicts"] if v["name"] == "punt_not_our_mac")
    assert sum(c["packets"] for c in verdict["per_cpu"]) == verdict["packets"]
    assert sum(c["bytes"] for c in verdict["per_cpu"]) == verdict["bytes"]
    p0 = after["ports"][0]
    assert p0["verdicts"]["punt_not_our_mac"] >= 3
    assert p0["rx_packets"] == sum(p0["verdicts"].values()) == sum(q["packets"] for q in p0["queues"])
    assert "punt_not_our_mac" in router.xfib("stats", "--per-cpu").stdout


def test_stats_repeats_with_rates(router):
    command = ["nsenter", f"--net=/run/netns/{router.name}", XFIB, "-n", router.name, "-j", "stats", "-i", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.terminate()
    for line in lines:
        assert line["interval_ms"] >= 100
        keys(line["verdicts"][0], "packets_per_s bytes_per_s")
        keys(line["ports"][0], "rx_packets_per_s tx_bytes_per_s")


# --- route -------------------------------------------------------------------------------------------


# What fixture.c fills in: prefix and leaf.
ROUTES = {
    "10.0.0.0/24": "connected", "10.0.0.1/32": "local", "10.0.0.255/32": "broadcast", "10.0.1.0/24": "connected1",
    "10.0.1.1/32": "local", "10.0.1.255/32": "broadcast", "192.0.2.0/24": "group", "198.51.100.0/24": "far",
    "198.51.100.128/25": "lost", "203.0.113.0/24": "blackhole",
    "2001:db8::/64": "connected", "2001:db8::/128": "anycast", "2001:db8::1/128": "local",
    "2001:db8:1::/64": "connected1", "2001:db8:1::/128": "anycast", "2001:db8:1::1/128": "local",
    "2001:db8:2::/48": "far6"}


def compiled(routes):
    """The fewest prefixes that mean the same: ranges between edges, joined where the leaf is the same."""
    networks = {ipaddress.ip_network(prefix): leaf for prefix, leaf in routes.items()}
    edges = sorted({int(n[0]) for n in networks} | {int(n[-1]) + 1 for n in networks})
    address = type(next(iter(networks))[0])
    ranges = []
    for first, behind in zip(edges, edges[1:]):
        over = [n for n in networks if address(first) in n]
        leaf = networks[max(over, key=lambda n: n.prefixlen)] if over else None
        if ranges and ranges[-1][2] == leaf:
            ranges[-1][1] = behind - 1
        else:
            ranges.append([first, behind - 1, leaf])
    return [str(n) for first, last, leaf in ranges if leaf
            for n in ipaddress.summarize_address_range(address(first), address(last))]


def listed(engine, version):
    routes = {p: leaf for p, leaf in ROUTES.items() if ipaddress.ip_network(p).version == version}
    return list(routes) if engine == "lpm" else compiled(routes)


@with_each_engine
def test_route_lists_all_prefixes_in_order(router):
    routes = router.json("route")
    for route in routes:
        keys(route, "prefix table kind nexthops")
        for hop in route["nexthops"]:
            keys(hop, "dev via lladdr weight")
    prefixes = [route["prefix"] for route in routes]
    assert prefixes == ["0.0.0.0/0", *listed(router.engine, 4), "::/0", *listed(router.engine, 6)]
    assert router.json("route", "show") == routes


@with_each_engine
def test_route_in_text_has_a_line_for_each_prefix_and_leg(router):
    lines = router.must(XFIB, "-n", router.name, "route").splitlines()
    routes = router.json("route")
    assert [line.split()[:2] for line in lines if line[0] != " "] == [
        [route["prefix"], route["table"] or "-"] for route in routes]
    assert sum(line[0] == " " for line in lines) == 2  # the legs of the one group
    shown = router.must(XFIB, "-n", router.name, "route", "show", "198.51.100.7").split()
    assert shown[1:] == ["main" if router.engine == "lpm" else "-", *"via 10.0.1.2 dev p1 lladdr 02:00:00:00:00:02".split()]


@with_each_engine
def test_route_tells_kinds_and_next_hops(router):
    routes = router.json("route")

    def to(address):
        return max((r for r in routes if ipaddress.ip_address(address) in ipaddress.ip_network(r["prefix"])),
                   key=lambda r: ipaddress.ip_network(r["prefix"]).prefixlen)

    lpm = router.engine == "lpm"
    far = {"dev": "p1", "via": "10.0.1.2", "lladdr": "02:00:00:00:00:02", "weight": 1}
    assert to("198.51.100.7") == {"prefix": "198.51.100.0/24" if lpm else "198.51.100.0/25",
                                  "table": "main" if lpm else None, "fib": 0,
                                  "kind": "adjacency", "nexthops": [far]}
    assert to("8.8.8.8")["nexthops"] == [far] and to("8.8.8.8")["table"] == "main"
    assert to("10.0.0.7")["kind"] == "connected"
    assert to("10.0.0.7")["nexthops"] == [{"dev": "p0", "via": None, "lladdr": None, "weight": 1}]
    assert to("10.0.0.1")["kind"] == "punt_local" and to("10.0.0.1")["table"] == ("local" if lpm else None)
    assert to("10.0.0.1")["nexthops"] == []
    assert to("2001:db9::")["kind"] == "punt_no_route"
    group = to("192.0.2.1")
    assert group["kind"] == "group"
    assert [(hop["via"], hop["weight"]) for hop in group["nexthops"]] == [("10.0.0.2", 1), ("10.0.1.2", 3)]
    assert to("198.51.100.200")["nexthops"][0]["lladdr"] is None


@with_each_engine
@pytest.mark.parametrize("asked, lpm, trie", [
    ("198.51.100.0/24", "198.51.100.0/24", "198.51.100.0/25 198.51.100.128/25"),
    ("198.51.100.7", "198.51.100.0/24", "198.51.100.0/25"),
    ("198.51.100.200", "198.51.100.128/25", "198.51.100.128/25"),
    ("198.51.100.0/25", "198.51.100.0/24", "198.51.100.0/25"),
    ("10.0.0.1", "10.0.0.1/32", "10.0.0.1/32"),
    ("10.0.1.252/30", "10.0.1.0/24", "10.0.1.252/31 10.0.1.254/32 10.0.1.255/32"),
    ("8.8.8.8", "0.0.0.0/0", "0.0.0.0/0"), ("0.0.0.0/0", "0.0.0.0/0", "0.0.0.0/0"),
    ("2001:db8::1", "2001:db8::1/128", "2001:db8::1/128"), ("2001:db8:2:3::", "2001:db8:2::/48", "2001:db8:2::/48"),
    ("2001:db9::", "::/0", "::/0"), ("198.51.0.0/16", "0.0.0.0/0", "0.0.0.0/0 198.51.100.0/25 198.51.100.128/25")])
def test_route_show_is_exact_or_the_covering_prefix_or_what_is_inside(router, asked, lpm, trie):
    wanted = lpm if router.engine == "lpm" else trie
    assert [route["prefix"] for route in router.json("route", "show", asked)] == wanted.split()
    lines = router.must(XFIB, "-n", router.name, "route", "show", asked).splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == wanted.split()


# --- neigh -------------------------------------------------------------------------------------------


@with_each_engine
def test_neigh_joins_the_tables_with_the_kernel(router):
    by_addr = {n["addr"]: n for n in router.json("neigh")}
    for neigh in by_addr.values():
        keys(neigh, "addr dev lladdr state used_ms")
    assert set(by_addr) == {"10.0.0.2", "10.0.1.2", "10.0.1.3", "2001:db8:1::2"}
    assert by_addr["10.0.0.2"]["state"] == "PERMANENT"
    assert by_addr["10.0.1.2"]["lladdr"] == "02:00:00:00:00:02" and by_addr["10.0.1.2"]["dev"] == "p1"
    assert isinstance(by_addr["10.0.1.2"]["used_ms"], int)
    assert by_addr["10.0.1.3"]["lladdr"] is None and by_addr["10.0.1.3"]["used_ms"] is None


def test_neigh_tells_the_later_use(router):
    def used(addr):
        return next(n["used_ms"] for n in router.json("neigh") if n["addr"] == addr)

    far, lost = 2, 4  # slots of fixture.c
    router.must("ip", "neigh", "del", "10.0.1.2", "dev", "p1")
    router.must("ip", "neigh", "add", "10.0.1.2", "dev", "p1", "lladdr", "02:00:00:00:00:02", "nud", "stale")
    router.fixture("hit", far, 3000)
    assert used("10.0.1.2") < 3000 * 256      # the kernel's, as it is younger
    router.fixture("hit", lost, 1000)
    assert 999 * 256 <= used("10.0.1.3") <= 1002 * 256 * 10  # HZ is 100 to 1000


# --- lookup ------------------------------------------------------------------------------------------


@with_each_engine
def test_lookup_of_a_forwarded_packet(router):
    answer = router.json("lookup", "198.51.100.7", "iif", "p0")
    keys(answer, "dst verdict reason prefix nexthop kernel agree")
    assert answer["verdict"] == "forwarded" and answer["reason"] is None
    assert answer["prefix"] == ("198.51.100.0/24" if router.engine == "lpm" else "198.51.100.0/25")
    assert answer["nexthop"] == {"dev": "p1", "via": "10.0.1.2", "lladdr": "02:00:00:00:00:02", "mtu": 1500}
    assert answer["kernel"] == {"type": "unicast", "dev": "p1", "via": "10.0.1.2", "error": None}
    assert answer["agree"] is True
    assert answer["src"].startswith("10.0.0.") and answer["src"] not in ("10.0.0.0", "10.0.0.1", "10.0.0.255")


@with_each_engine
def test_lookup_of_an_ipv6_packet(router):
    answer = router.json("lookup", "2001:db8:2::7", "iif", "p0")
    assert answer["verdict"] == "forwarded"
    assert answer["nexthop"] == {"dev": "p1", "via": "2001:db8:1::2", "lladdr": "02:00:00:00:00:03", "mtu": 1400}
    assert answer["agree"] is True


@with_each_engine
def test_lookup_by_the_default_route_and_a_connected_one(router):
    assert router.json("lookup", "8.8.8.8", "iif", "p0")["prefix"] == "0.0.0.0/0"
    answer = router.json("lookup", "10.0.1.2", "from", "10.0.0.9", "iif", "p0")
    assert answer["nexthop"] == {"dev": "p1", "via": None, "lladdr": "02:00:00:00:00:02", "mtu": 1500}
    assert answer["agree"] is True


@with_each_engine
def test_lookup_of_a_multipath_route_takes_some_leg_of_the_kernel(router):
    for last in range(1, 20):
        answer = router.json("lookup", f"192.0.2.{last}", "from", "10.0.0.9", "iif", "p0")
        assert answer["agree"] is True
        assert (answer["verdict"], answer["nexthop"]["via"] if answer["nexthop"] else None) in [
            ("forwarded", "10.0.1.2"), ("punt_same_port", None)]


@with_each_engine
@pytest.mark.parametrize("dst, verdict, prefix, kind", [
    ("10.0.0.1", "punt_local", "10.0.0.1/32", "local"), ("203.0.113.9", "punt_blackhole", "203.0.113.0/24", "blackhole"),
    ("224.0.0.5", "punt_ip4_destination", None, None), ("198.51.100.200", "punt_no_neighbour", "198.51.100.128/25", "unicast"),
    ("2001:db9::", "punt_no_route", "::/0", "none")])
def test_lookup_of_what_goes_to_the_kernel_says_why_and_agrees(router, dst, verdict, prefix, kind):
    answer = router.json("lookup", dst, "iif", "p0")
    assert answer["verdict"] == verdict and answer["reason"]
    assert answer["agree"] is True
    if kind:
        assert answer["kernel"]["type"] == kind
    if verdict != "punt_no_route":
        assert answer["prefix"] == prefix


@with_each_engine
def test_lookup_finds_a_wrong_next_hop(router):
    router.fixture("leaf", "198.51.100.0/24", CONNECTED0)
    router.fixture("leaf", "203.0.113.0/24", GATEWAY)
    answer = router.json("lookup", "203.0.113.9", "iif", "p0")
    assert answer["verdict"] == "forwarded" and answer["kernel"]["type"] == "blackhole"
    assert answer["agree"] is False
    assert "agree   NO" in router.must(XFIB, "-n", router.name, "lookup", "203.0.113.9", "iif", "p0")


def test_lookup_tells_a_source_that_cannot_be(router):
    answer = router.json("lookup", "198.51.100.7", "from", "10.0.0.1", "iif", "p0")
    assert answer["verdict"] == "punt_ip4_own_source"
    assert answer["kernel"]["type"] == "martian"


def test_lookup_without_a_daemon_says_so(router):
    router.fixture("fill", 0)
    router.fixture("deadline", 0)
    answer = router.json("lookup", "198.51.100.7", "iif", "p0")
    assert answer["verdict"] == "punt_deadman" and "xfibd does not run" in answer["reason"]


# --- verify ------------------------------------------------------------------------------------------


@with_each_engine
@pytest.mark.parametrize("argv", [["--samples", "3000", "--seed", "7"], ["--all"]])
def test_verify_of_right_tables(router, argv):
    result = router.json("verify", *argv)
    keys(result, "checked mismatches examples")
    assert result["mismatches"] == 0 and result["examples"] == []
    assert result["checked"] == 3000 if "--samples" in argv else result["checked"] > 40


@with_each_engine
@pytest.mark.parametrize("prefix, leaf, dst", [
    ("198.51.100.0/24", CONNECTED0, "198.51.100."),      # another device
    ("198.51.100.128/25", GATEWAY, "198.51.100."),       # another gateway
    ("203.0.113.0/24", GATEWAY, "203.0.113."),           # forwards what the kernel drops
    ("198.51.100.0/24", GROUP, "198.51.100."),           # one leg is right, one is not
    ("198.51.100.0/24", NO_ROUTE_LEAF, "198.51.100."),   # no route where the kernel has one
    ("198.51.100.64/26", LOCAL_LEAF, "198.51.100."),     # a prefix that should have gone
])
def test_verify_finds_a_wrong_table(router, prefix, leaf, dst):
    router.fixture("leaf", prefix, leaf)
    for argv in (["--samples", "2000"], ["--all"]):
        result = router.xfib("-j", "verify", *argv)
        assert result.returncode == 1
        report = json.loads(result.stdout)
        assert report["mismatches"] > 0
        assert all(example["dst"].startswith(dst) for example in report["examples"])
        keys(report["examples"][0], "dst xfib kernel")
    result = router.xfib("verify", "--all")
    assert result.returncode == 1 and dst in result.stdout


def test_verify_of_no_samples(router):
    assert router.json("verify", "--samples", "0")["checked"] == 0


def test_verify_without_a_daemon_warns(router):
    router.fixture("fill", 0)
    assert "xfibd does not run" in one_line(router.xfib("verify", "--samples", "10"))


# --- against the daemon ------------------------------------------------------------------------------


def eventually(condition):
    """Waits until it is true, for half a minute at most."""
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("waited in vain")


@contextlib.contextmanager
def xfibd(router, *argv, stderr=subprocess.DEVNULL):
    """It runs and is synced; the far ends take redirected frames."""
    for peer in ("h0", "h1"):
        router.must("ethtool", "-K", peer, "gro", "on")
    with subprocess.Popen(["nsenter", f"--net=/run/netns/{router.name}", XFIBD, "-n", router.name, *argv, "p0", "p1"],
                          stderr=stderr) as daemon:
        try:
            eventually(lambda: router.xfib("status").returncode == 0
                       and router.json("status")["sync"]["state"] == "synced"
                       and all(l3if["egress"] for l3if in router.json("status")["l3ifs"]))
            yield daemon
        finally:
            daemon.kill()
            daemon.wait()
            router.xfib("detach", "--all")


@pytest.fixture
def live(bare, request):
    """The router and its xfibd."""
    with xfibd(bare, "--engine", getattr(request, "param", "auto")) as daemon:
        yield bare, daemon


live_with_each_engine = pytest.mark.parametrize("live", ["lpm", "trie"], indirect=True)


@live_with_each_engine
def test_the_engine_is_the_one_that_was_asked_for(live, request):
    router, _ = live
    assert router.engine == request.node.callspec.params["live"]


@live_with_each_engine
def test_the_daemons_tables_agree_with_the_kernel(live):
    router, _ = live
    assert router.json("verify", "--all")["mismatches"] == 0
    assert router.json("verify", "--samples", "5000")["mismatches"] == 0
    assert router.json("route", "show", "198.51.100.7")[0]["nexthops"][0]["via"] == "10.0.1.2"
    assert router.json("route", "show", "203.0.113.0/24")[0]["kind"] == "punt_blackhole"
    assert {n["addr"] for n in router.json("neigh")} >= {"10.0.0.2", "10.0.1.2", "2001:db8:1::2"}


def test_both_engines_answer_alike(bare):
    group = "192.0.2.9"  # which leg a packet takes, each instance draws anew
    asked = ["198.51.100.7", "198.51.100.128", "203.0.113.1", "8.8.8.8", "10.0.0.1", "10.0.0.9",
             "10.0.0.255", "10.0.1.2", "255.0.0.1", "2001:db8::1", "2001:db8::", "2001:db8:1::2", "2001:db8:2::7",
             "2001:db9::1"]
    answers, routes, tables = [], [], []
    for engine in ("lpm", "trie"):
        with xfibd(bare, "--engine", engine):
            answers.append([bare.json("lookup", dst, "iif", "p0") for dst in asked])
            routes.append([bare.json("route", "show", dst) for dst in (*asked, group)])
            tables.append([route["prefix"] for route in bare.json("route")])
            assert bare.json("verify", "--all")["mismatches"] == 0
            assert bare.json("verify", "--seed", "1")["mismatches"] == 0
    for dst, lpm, trie in zip(asked, *answers):
        prefixes = lpm.pop("prefix"), trie.pop("prefix")
        assert lpm == trie and lpm["agree"] is True
        assert all(p is None or ipaddress.ip_address(dst) in ipaddress.ip_network(p) for p in prefixes)
    for (lpm,), (trie,) in zip(*routes):
        assert (lpm["kind"], lpm["nexthops"]) == (trie["kind"], trie["nexthops"])
    assert tables[0] != tables[1]


@live_with_each_engine
@pytest.mark.parametrize("dst", ["198.51.100.7", "8.8.8.8", "10.0.1.2", "2001:db8:2::7"])
def test_the_daemons_tables_forward_as_the_kernel(live, dst):
    router, _ = live
    answer = router.json("lookup", dst, "iif", "p0")
    assert answer["verdict"] == "forwarded" and answer["agree"] is True
    assert answer["nexthop"]["dev"] == answer["kernel"]["dev"] == "p1"


def test_all_reasons_of_an_interface_are_told_in_full(live):
    router, _ = live
    wanted = ("IPv4: net.ipv4.conf.p0.forwarding is 0; IPv6: net.ipv6.conf.p0.forwarding is 0; egress: its driver "
              "cannot send XDP frames: the peer needs an XDP program or `ethtool -K PEER gro on`")
    router.must("sysctl", "-qw", "net.ipv4.conf.p0.forwarding=0", "net.ipv6.conf.p0.forwarding=0")
    try:
        router.must("ethtool", "-K", "h0", "gro", "off")
        eventually(lambda: router.json("status")["l3ifs"][0]["reason"] == wanted)
    finally:
        router.must("sysctl", "-qw", "net.ipv4.conf.p0.forwarding=1", "net.ipv6.conf.p0.forwarding=1")


def test_stats_counts_what_is_forwarded(live):
    router, _ = live

    def port(name):
        return next(p for p in router.json("stats")["ports"] if p["ifname"] == name)

    mac = json.loads(router.must("ip", "-j", "link", "show", "p0"))[0]["address"]
    before = port("p1")["tx_packets"], port("p1")["tx_bytes"], port("p0")["verdicts"].get("forwarded", 0)
    router.must("/usr/bin/python3", "-c", "from scapy.all import *; import socket;"
                f"p = bytes(Ether(dst='{mac}', src='02:00:00:00:00:01') / IP(src='10.0.0.2', dst='198.51.100.7')"
                " / UDP() / bytes(58)); s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW);"
                "s.bind(('h0', 0)); [s.send(p) for _ in range(5)]")
    after = port("p1")["tx_packets"], port("p1")["tx_bytes"], port("p0")["verdicts"]["forwarded"]
    assert [b - a for a, b in zip(before, after)] == [5, 500, 5]


@live_with_each_engine
def test_verify_does_not_mistake_a_change_for_a_mismatch(live):
    router, _ = live
    flip = "".join(f"route replace 198.51.100.0/24 via 10.0.1.{2 + i % 2}\n" for i in range(4001))
    with subprocess.Popen(["nsenter", f"--net=/run/netns/{router.name}", "ip", "-batch", "-"],
                          stdin=subprocess.PIPE, text=True) as batch:
        batch.stdin.write(flip)
        batch.stdin.close()
        assert router.json("verify", "--samples", "5000")["mismatches"] == 0
        assert batch.wait() == 0
    router.must("ip", "route", "replace", "198.51.100.0/24", "via", "10.0.1.2")


def test_a_full_table_is_logged_once_and_once_more_when_it_has_room(bare, tmp_path):
    def routes(verb):
        bare.must("ip", "-batch", "-", input="".join(f"route {verb} 10.9.{i}.0/24 via 10.0.1.2\n" for i in range(40)))

    def lines():
        return [line for line in log.read_text().splitlines() if "room" in line]

    log = tmp_path / "log"
    with log.open("w") as stderr, xfibd(bare, "--routes4", "30", stderr=stderr):
        routes("add")
        eventually(lines)
        first = time.monotonic()
        assert re.match(r"xfibd: \d+ IPv4 routes found no room .* --routes4 above 30$", lines()[0])
        for verb in ("del", "add", "del"):
            routes(verb)
            time.sleep(1.5)
        assert len(lines()) == 1 or time.monotonic() > first + 9
        eventually(lambda: lines()[1:])
        assert lines()[1:] == ["xfibd: all IPv4 routes have room again"]


def test_status_counts_how_often_all_was_read_again(bare):
    with xfibd(bare, "--hold", "1") as daemon:
        assert "read again" not in bare.must(XFIB, "-n", bare.name)
        daemon.send_signal(signal.SIGSTOP)
        time.sleep(2)
        daemon.send_signal(signal.SIGCONT)
        eventually(lambda: "all tables read again: 1; differences that an audit repaired: 0\n"
                   in bare.must(XFIB, "-n", bare.name))


def test_status_tells_that_the_daemon_died(live):
    router, daemon = live
    assert router.json("status")["daemon"]["alive"] is True
    daemon.kill()
    daemon.wait()
    status = router.json("status")
    assert status["daemon"]["alive"] is False
    assert "has died" in status["fast_path"]["reasons"][0]


def test_detach_is_not_undone_by_the_daemon(live):
    router, _ = live
    assert router.xfib("detach", "p0").returncode == 0
    eventually(lambda: [port["ifname"] for port in router.json("status")["ports"]] == ["p1"])
    time.sleep(1.5)  # xfibd reads the ports every second
    assert "xdp" not in router.must("ip", "link", "show", "p0")
    assert router.xfib("attach", "p0").stderr == ""
    eventually(lambda: all(port["enabled"] for port in router.json("status")["ports"]))

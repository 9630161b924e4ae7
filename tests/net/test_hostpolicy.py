#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What XDP would bypass: what is found is said, in time, and only the family or port concerned stays in the kernel.

That each kind of policy is obeyed at all is in test_policy.py."""

import contextlib
import ctypes
import errno
import os
import platform
import signal
import socket
import struct
import sys
import time

import pytest
from scapy.layers.inet6 import IPv6ExtHdrFragment

from lib.flow import Flow
from lib.frames import host4, host6, udp4, udp6

pytestmark = pytest.mark.xfib

EGRESS, IP4, IP6 = "punt_egress_down", "punt_ip4_disabled", "punt_ip6_disabled"
FORWARD = "type filter hook forward priority 0; ip daddr 10.9.9.9 drop;"


def four(port=0):
    return udp4("10.9.9.9", port=port)


def six(port=0):
    return udp6("fd09::9", port=port)


@pytest.fixture
def routed(net):
    net.ip(f"route add 10.9.0.0/16 via {host4(1)}", f"-6 route add fd09::/32 via {host6(1)}")
    net.check([four(), six()], verdict="forwarded", out="p1")
    return net


def nft(net, family, chain, table="fw", name="c"):
    net.each_router("nft", "-f", "-", input=f"table {family} {table} {{\nchain {name} {{ {chain} }}\n}}\n")


def reasons(net):
    return net.xfib.status()["fast_path"]["reasons"]


def l3if_reason(net, ifname):
    return {l["ifname"]: l["reason"] for l in net.xfib.status()["l3ifs"]}.get(ifname)


def says(net, reason):
    def check():
        assert reason in reasons(net)
    net.eventually(check)


def port_says(net, ifname, reason):
    def check():
        assert reason in (l3if_reason(net, ifname) or "")
    net.eventually(check)


def forwards(net):
    net.eventually(lambda: net.check([four(), six()], verdict="forwarded", out="p1"))


# --- what is said, and how far it reaches ---

def test_status_names_the_chain_and_the_log_says_it_once(routed):
    nft(routed, "inet", "type filter hook forward priority 0;", table="filter", name="forward")
    says(routed, "ipv4: nft chain inet filter forward is on the path")
    says(routed, "ipv6: nft chain inet filter forward is on the path")
    routed.eventually(lambda: routed.check([four()], verdict=IP4, out="p1"))
    assert routed.xfib.log().count("IPv4 stays in the kernel: nft chain inet filter forward is on the path") == 1
    routed.each_router("nft", "flush", "ruleset")
    forwards(routed)
    assert reasons(routed) == []
    assert "IPv4 is no longer kept in the kernel" in routed.xfib.log()


def test_all_that_was_found_is_listed(routed):
    nft(routed, "ip", FORWARD)
    routed.ip("xfrm policy add src 10.3.0.0/16 dst 10.4.0.0/16 dir out action block")
    says(routed, "ipv4: nft chain ip fw c is on the path")
    says(routed, "ipv4: IPsec policy 10.3.0.0/16 -> 10.4.0.0/16 (out)")
    routed.check(six(), verdict="forwarded", out="p1")


def test_a_chain_on_one_port_leaves_the_others_alone(routed):
    nft(routed, "netdev", 'type filter hook ingress device "p0" priority 0; ip daddr 10.9.9.9 drop;')
    port_says(routed, "p0", "nft chain netdev fw c is on the ingress of p0")
    routed.same(routed.exchange([four()], 0, 0, IP4))
    routed.check(six(), verdict=IP6, out="p1")
    routed.check([four(2), six(2)], verdict="forwarded", out="p1", port=2)


def test_ingress_filters_of_traffic_control_keep_what_enters(routed):
    routed.each_router("tc", "qdisc", "add", "dev", "p0", "ingress")
    port_says(routed, "p0", "qdisc ingress on p0 may filter what enters")
    routed.check(four(), verdict=IP4, out="p1")
    routed.check([four(2), six(2)], verdict="forwarded", out="p1", port=2)
    routed.each_router("tc", "qdisc", "del", "dev", "p0", "ingress")
    forwards(routed)


def test_a_shaper_below_a_queue_of_queues_counts(routed):
    routed.each_router("tc", "qdisc", "add", "dev", "p1", "root", "handle", "1:", "htb", "default", "1")
    port_says(routed, "p1", "qdisc htb on p1 shapes or filters what leaves")
    routed.eventually(lambda: routed.check(four(), verdict=EGRESS, out="p1"))


def test_a_legacy_table_of_ipv6_leaves_ipv4_alone(routed):
    try:
        routed.each_router("ip6tables-legacy", "-t", "mangle", "-A", "FORWARD", "-d", "fd09::9", "-j", "DROP")
    except RuntimeError as error:
        pytest.skip(f"no ip6tables-legacy here: {error}")
    says(routed, "ipv6: table mangle of legacy ip6tables is on the path")
    routed.same(routed.exchange([six()], 0, 0, IP6))
    routed.check(four(), verdict="forwarded", out="p1")


def test_an_ipsec_policy_of_ipv6_leaves_ipv4_alone(routed):
    routed.ip("xfrm policy add src ::/0 dst fd09::/32 dir fwd action block")
    says(routed, "ipv6: IPsec policy ::/0 -> fd09::/32 (fwd)")
    routed.same(routed.exchange([six()], 0, 0, IP6))
    routed.check(four(), verdict="forwarded", out="p1")
    routed.ip("xfrm policy flush")
    forwards(routed)


def test_an_ipsec_policy_for_what_is_received_is_no_reason(routed):
    routed.ip("xfrm policy add src 0.0.0.0/0 dst 10.9.0.0/16 dir in action block")
    routed.check([four(), six()], verdict="forwarded", out="p1")


def test_an_ipsec_default_that_blocks_is_obeyed(routed):
    routed.each_router("ip", "xfrm", "policy", "setdefault", "fwd", "block")
    says(routed, "ipv4: the default IPsec policy is to block (fwd)")
    routed.same(routed.exchange([four()], 0, 0, IP4))
    routed.same(routed.exchange([six()], 0, 0, IP6))
    routed.each_router("ip", "xfrm", "policy", "setdefault", "fwd", "accept")
    forwards(routed)


TCX_INGRESS, TCX_EGRESS = 46, 47


def bpf(command, *words):
    """The system call; words: its attributes as a format of struct and what it packs."""
    number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    attributes = ctypes.create_string_buffer(struct.pack(*words), 128)
    result = ctypes.CDLL(None, use_errno=True).syscall(number, command, attributes, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf command {command}")
    return result


@contextlib.contextmanager
def bpf_filter(namespace, family, hook=2, flags=0):
    """A program on a hook of netfilter, forward if not told otherwise, that accepts everything."""
    code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xb7, 0, 0, 1, 0x95, 0, 0, 0))  # return NF_ACCEPT
    licence = ctypes.create_string_buffer(b"GPL")
    program = bpf(5, "<IIQQ44xI", 32, 2, ctypes.addressof(code), ctypes.addressof(licence), 45)  # PROG_LOAD
    try:
        with namespace.inside():
            link = bpf(28, "<IIIIIIiI", program, 0, 45, 0, {4: 2, 6: 10}[family], hook, 0, flags)  # LINK_CREATE
    finally:
        os.close(program)
    try:
        yield
    finally:
        os.close(link)


def test_a_bpf_program_on_a_netfilter_hook_is_not_bypassed(routed):
    if not os.path.exists("/sys/module/nfnetlink_hook"):
        pytest.skip("no nfnetlink_hook here, so such a program keeps every namespace in the kernel")
    with bpf_filter(routed.other.router, 4):
        says(routed, "ipv4: netfilter hook nf_hook_run_bpf is on the path")
        routed.check(four(), verdict=IP4, out="p1")
        routed.check(six(), verdict="forwarded", out="p1")
    forwards(routed)


# --- connection tracking ---

def fragments():
    """First ones, whose rest never comes."""
    return [udp4("10.9.9.9", flags="MF", size=64), udp6("fd09::9", headers=IPv6ExtHdrFragment(m=1, id=7))]


TRACKS = "fragments stay: nft chain {} fw c tracks connections"


def test_connection_tracking_for_the_router_itself_keeps_fragments(routed):
    """It is on the path of all packets, and waits for the rest of a datagram."""
    routed.check(fragments(), verdict="forwarded", out="p1")
    nft(routed, "inet", "type filter hook input priority 0; ct state established accept;")
    says(routed, "ipv4: " + TRACKS.format("inet"))
    says(routed, "ipv6: " + TRACKS.format("inet"))
    routed.check(fragments(), verdict="punt_fragment", out=None)
    routed.check([four(), six()], verdict="forwarded", out="p1")
    routed.each_router("nft", "flush", "ruleset")
    routed.eventually(lambda: routed.check(fragments(), verdict="forwarded", out="p1"))
    assert reasons(routed) == []


def test_connection_tracking_of_one_family_is_no_matter_of_the_other(routed):
    nft(routed, "ip", "type filter hook output priority 0; ct state new accept;")
    says(routed, "ipv4: " + TRACKS.format("ip"))
    routed.check(fragments()[:1], verdict="punt_fragment", out=None)
    routed.check(fragments()[1:], verdict="forwarded", out="p1")


def test_a_rule_that_begins_to_track_is_noticed_and_one_that_ends_it(routed):
    nft(routed, "inet", "type filter hook input priority 0; ip saddr 192.0.2.1 counter drop;")
    routed.sync()
    routed.check(fragments(), verdict="forwarded", out="p1")
    assert reasons(routed) == []
    routed.each_router("nft", "add", "rule", "inet", "fw", "c", "ct", "state", "invalid", "drop")
    says(routed, "ipv4: " + TRACKS.format("inet"))
    routed.check(fragments(), verdict="punt_fragment", out=None)
    routed.each_router("nft", "flush", "chain", "inet", "fw", "c")
    routed.eventually(lambda: routed.check(fragments(), verdict="forwarded", out="p1"))
    routed.each_router("nft", "add", "rule", "inet", "fw", "c", "ct", "mark", "1", "drop")
    says(routed, "ipv6: " + TRACKS.format("inet"))
    routed.check(fragments(), verdict="punt_fragment", out=None)


def test_what_no_rule_refers_to_may_track_too(routed):
    routed.each_router("nft", "table inet fw { set s { type ipv4_addr; flags dynamic; ct count over 9; }; }")
    says(routed, "ipv6: fragments stay: nft set inet fw s tracks connections")
    routed.check(fragments(), verdict="punt_fragment", out=None)
    routed.each_router("nft", "delete", "set", "inet", "fw", "s")
    routed.eventually(lambda: routed.check(fragments(), verdict="forwarded", out="p1"))
    routed.each_router("nft", "table inet fw { synproxy y { mss 1460; wscale 7; }; }")
    says(routed, "ipv4: fragments stay: nft object inet fw y tracks connections")
    routed.check(fragments(), verdict="punt_fragment", out=None)


def test_ten_thousand_plain_rules_for_the_router_itself_are_no_reason(routed):
    rules = "".join(f"tcp dport {port} counter; " for port in range(10000))
    nft(routed, "inet", f"type filter hook input priority 0; {rules}")
    routed.sync()
    routed.check([four(), six(), *fragments()], verdict="forwarded", out="p1")
    routed.each_router("nft", "add", "rule", "inet", "fw", "c", "ct", "state", "invalid", "drop")
    says(routed, "ipv4: " + TRACKS.format("inet"))
    routed.check(fragments(), verdict="punt_fragment", out=None)
    routed.check([four(), six()], verdict="forwarded", out="p1")


def test_nat_of_the_router_s_own_connections_is_on_the_path(routed):
    nft(routed, "ip", "type nat hook output priority -100; ip daddr 192.0.2.1 redirect;")
    says(routed, "ipv4: nft chain ip fw c is on the path")
    routed.check(four(), verdict=IP4, out="p1")
    routed.check(six(), verdict="forwarded", out="p1")


def test_a_bpf_program_that_has_the_kernel_defragment_keeps_fragments(routed):
    try:
        with contextlib.ExitStack() as links:
            for router in routed.kernel.router, routed.other.router:
                links.enter_context(bpf_filter(router, 4, hook=1, flags=1))
            routed.eventually(lambda: routed.check(fragments()[:1], verdict="punt_fragment", out=None))
            routed.check(fragments()[1:], verdict="forwarded", out="p1")
            routed.check([four(), six()], verdict="forwarded", out="p1")
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EAFNOSUPPORT, errno.EOPNOTSUPP):
            raise
        pytest.skip("no such programs before kernel 6.6")
    routed.eventually(lambda: routed.check(fragments(), verdict="forwarded", out="p1"))


def test_fragments_may_bypass_connection_tracking_when_that_is_allowed(routed):
    routed.xfib.stop()
    routed.xfib.start(["--allow-bypass", "netfilter"])
    nft(routed, "ip", "type filter hook input priority 0; ct state new accept;")
    says(routed, "ipv4: bypassed by fragments: nft chain ip fw c tracks connections")
    assert routed.xfib.verdicts().get("punt_fragment", 0) == 0


def attach_tcx(namespace, device, where):
    """A program that lets everything go on, for as long as the device is there."""
    code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xb7, 0, 0, -1, 0x95, 0, 0, 0))  # return TCX_NEXT
    licence = ctypes.create_string_buffer(b"GPL")
    program = bpf(5, "<IIQQ", 3, 2, ctypes.addressof(code), ctypes.addressof(licence))  # PROG_LOAD, SCHED_CLS
    try:
        with namespace.inside():
            bpf(8, "<III", socket.if_nametoindex(device), program, where)  # PROG_ATTACH
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        pytest.skip("no tcx before kernel 6.6")
    finally:
        os.close(program)


def test_a_tcx_program_on_the_egress_is_not_bypassed(routed):
    attach_tcx(routed.other.router, "p1", TCX_EGRESS)
    port_says(routed, "p1", "egress: a tcx program on p1 may filter what leaves")
    routed.check([four(), six()], verdict=EGRESS, out="p1")


def test_a_tcx_program_on_the_ingress_keeps_what_enters(routed):
    attach_tcx(routed.other.router, "p0", TCX_INGRESS)
    port_says(routed, "p0", "a tcx program on p0 may filter what enters")
    routed.check(four(), verdict=IP4, out="p1")
    routed.check(four(2), verdict="forwarded", out="p1", port=2)


# --- in time ---

def test_what_was_there_before_the_start_is_obeyed_from_the_first_packet_on(routed):
    assert routed.xfib.stop() == 0
    routed.xfib.cli("detach", "--all")
    nft(routed, "ip", FORWARD)
    with Flow(routed.other, [four()]) as flow:
        routed.xfib.start()
        time.sleep(0.3)
    verdicts = routed.xfib.verdicts()
    assert verdicts["forwarded"] == 0 and verdicts[IP4] > 0
    assert not flow.out


def test_what_was_added_while_the_daemon_was_dead_is_obeyed_after_the_restart(routed):
    routed.xfib.kill()
    nft(routed, "ip", FORWARD)
    routed.each_router("tc", "qdisc", "add", "dev", "p2", "root", "tbf", "rate", "1gbit", "burst", "100k", "latency", "9ms")
    routed.xfib.start()
    routed.same(routed.exchange([four()], 0, 0, IP4))
    routed.check(udp6("fd00:2::2"), verdict=EGRESS, out="p2")
    routed.check(six(), verdict="forwarded", out="p1")


@pytest.mark.net(options=["--hold", "2"])
def test_what_was_added_while_the_daemon_was_stopped_is_obeyed_from_the_first_packet_on(routed):
    routed.xfib.signal(signal.SIGSTOP)
    time.sleep(2.5)
    nft(routed, "ip", FORWARD)
    with Flow(routed.other, [four()]) as flow:
        routed.xfib.signal(signal.SIGCONT)
        says(routed, "ipv4: nft chain ip fw c is on the path")
        routed.xfib.wait(lambda status: status["sync"]["state"] == "synced", "the resync")
    assert not flow.out
    routed.check(six(), verdict="forwarded", out="p1")


@pytest.mark.net(attach=["p0", "p1"])
def test_a_port_that_is_attached_later_is_looked_at_before_it_forwards(routed):
    routed.each_router("tc", "qdisc", "add", "dev", "p2", "clsact")
    before = routed.xfib.verdicts()
    with Flow(routed.other, [four(2)], port=2) as flow:
        routed.xfib.cli("attach", "p2")
        port_says(routed, "p2", "qdisc clsact on p2 may filter what enters")
    after = routed.xfib.verdicts()
    flow.assert_whole({"p1"})
    assert after["forwarded"] == before["forwarded"] and after[IP4] > before[IP4]


# --- the override ---

@pytest.mark.net(options=["--allow-bypass", "netfilter", "--allow-bypass", "tc"])
def test_an_allowed_bypass_forwards_and_says_so(routed):
    nft(routed, "ip", "type filter hook forward priority 0;")
    routed.each_router("tc", "qdisc", "add", "dev", "p1", "root", "tbf", "rate", "1gbit", "burst", "100k", "latency", "9ms")
    says(routed, "ipv4: bypassed: nft chain ip fw c is on the path")
    says(routed, "ipv6: bypassed: qdisc tbf on p1 shapes or filters what leaves")
    routed.check([four(), six()], verdict="forwarded", out="p1")
    log = routed.xfib.log()
    assert log.count("--allow-bypass netfilter") == log.count("--allow-bypass tc") == 1
    assert routed.xfib.status()["fast_path"]["ipv4"] is True


@pytest.mark.net(options=["--allow-bypass", "tc"])
def test_what_is_not_allowed_is_obeyed_all_the_same(routed):
    routed.ip("xfrm policy add src 0.0.0.0/0 dst 10.9.0.0/16 dir fwd action block")
    says(routed, "ipv4: IPsec policy 0.0.0.0/0 -> 10.9.0.0/16 (fwd)")
    routed.same(routed.exchange([four()], 0, 0, IP4))


@pytest.mark.net(options=["--allow-bypass", "xfrm"])
def test_ipsec_may_be_bypassed_too(routed):
    routed.ip("xfrm policy add src 0.0.0.0/0 dst 10.9.0.0/16 dir fwd action allow")
    says(routed, "ipv4: bypassed: IPsec policy 0.0.0.0/0 -> 10.9.0.0/16 (fwd)")
    routed.check(four(), verdict="forwarded", out="p1")


def test_any_other_word_is_refused(net):
    with pytest.raises(RuntimeError, match="--allow-bypass must be netfilter, xfrm or tc, not 'nft'"):
        net.xfib.namespace.run(net.xfib.program("xfibd"), "--allow-bypass", "nft")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What netlink/ reads, beside what ip(8) reads, in a network namespace for each test."""
import json
import os
import subprocess
import uuid

import pytest

EVENTS = os.environ.get("EVENTS", "build/tests/netlink/events")

RTN = {"unicast": 1, "local": 2, "broadcast": 3, "anycast": 4, "multicast": 5, "blackhole": 6,
       "unreachable": 7, "prohibit": 8, "throw": 9}
RTNH_F = {"dead": 1, "pervasive": 2, "onlink": 4, "offload": 8, "linkdown": 16}
TABLE = {"default": 253, "main": 254, "local": 255}
NUD = {"INCOMPLETE": 0x01, "REACHABLE": 0x02, "STALE": 0x04, "DELAY": 0x08, "PROBE": 0x10,
       "FAILED": 0x20, "NOARP": 0x40, "PERMANENT": 0x80}


class Namespace:
    def __init__(self):
        self.name = "xfib-nl-" + uuid.uuid4().hex[:8]
        subprocess.run(["ip", "netns", "add", self.name], check=True)

    def run(self, *argv, **options):
        return subprocess.run(["ip", "netns", "exec", self.name, *argv], check=True, text=True,
                              stdout=subprocess.PIPE, **options).stdout

    def ip(self, *commands):
        """One ip(8) command a line."""
        self.run("ip", "-batch", "-", input="\n".join(commands) + "\n")

    def ip_json(self, words):
        return json.loads(self.run("ip", "-j", "-d", *words.split()) or "[]")

    def dump(self, *tables):
        lines = self.run(EVENTS, "dump", *tables).splitlines()
        return [event for line in lines for event in json.loads(line)]

    def sysctl(self, key):
        return int(self.run("sysctl", "-n", key))

    def monitor(self, channel):
        return Monitor(self, channel)

    def delete(self):
        subprocess.run(["ip", "netns", "del", self.name], check=True)


class Monitor:
    """Collects the events of a `with` block."""

    def __init__(self, ns, channel):
        self.argv = ["ip", "netns", "exec", ns.name, EVENTS, "monitor", channel]
        self.events = []

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        self.events = [json.loads(line) for line in out.splitlines()]

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]


@pytest.fixture
def ns():
    namespace = Namespace()
    yield namespace
    namespace.delete()


@pytest.fixture
def pair(ns):
    """left and right, a veth pair that is up, with addresses of both families on left."""
    ns.ip("link set lo up",
          "link add left address 02:00:00:00:00:01 type veth peer name right",
          "link set left up", "link set right up",
          "address add 192.0.2.1/24 dev left",
          "address add 2001:db8::1/64 dev left nodad")
    return ns


def ifindexes(ns):
    return {link["ifname"]: link["ifindex"] for link in ns.ip_json("link")}


def settled(address):
    """IPv6 makes link-local addresses, their routes and multicast neighbours when it likes."""
    return not address.startswith(("fe80:", "ff"))


def by(events, *keys):
    return {tuple(event[key] for key in keys): event for event in events}


# --- links ---------------------------------------------------------------------------------------

def assert_links_agree(ns):
    seen = by(ns.dump("links"), "ifindex")
    said = ns.ip_json("link")
    index = {link["ifname"]: link["ifindex"] for link in said}
    assert len(seen) == len(said)
    for link in said:
        event = seen[(link["ifindex"],)]
        flags = link["flags"]
        info = link.get("linkinfo", {})
        assert event["name"] == link["ifname"]
        assert event["up"] == ("UP" in flags)
        assert event["carrier"] == ("LOWER_UP" in flags and "DORMANT" not in flags)
        assert event["ether"] == (link["link_type"] == "ether" and
                                  not {"NOARP", "POINTOPOINT", "LOOPBACK"} & set(flags))
        assert event["mtu"] == link["mtu"]
        assert event["master"] == index.get(link.get("master"), 0)
        assert event["kind"] == info.get("info_kind", "")
        assert event["slave_kind"] == info.get("info_slave_kind", "")
        assert event["lower_nsid"] == link.get("link_netnsid", -1)
        assert event["lower"] == (link.get("link_index") or index.get(link.get("link"), 0))
        if len(link.get("address", "")) == 17:
            assert event["mac"] == link["address"]
        if info.get("info_kind") == "vlan":
            assert event["vid"] == info["info_data"]["id"]
        for key, value in event["ip4"].items():
            assert value == ns.sysctl(f"net.ipv4.conf.{link['ifname'].replace('.', '/')}.{key}")
        for key, value in event["ip6"].items():
            assert value == ns.sysctl(f"net.ipv6.conf.{link['ifname'].replace('.', '/')}.{key}")


def test_links_of_many_kinds(pair):
    pair.ip("link add bridge0 type bridge", "link set right master bridge0",
            "link add macvlan0 link left type macvlan",
            "link add vxlan0 type vxlan id 7 local 192.0.2.1 dstport 4789",
            "link add tap1 type veth peer name tap2", "link set tap1 mtu 1400",
            "link set lo mtu 1500")
    pair.run("sysctl", "-qw", "net.ipv4.conf.left.rp_filter=2", "net.ipv4.conf.left.forwarding=1",
             "net.ipv4.conf.tap1.send_redirects=0", "net.ipv4.conf.tap1.accept_local=1",
             "net.ipv4.conf.tap1.route_localnet=1", "net.ipv4.conf.tap1.bc_forwarding=1",
             "net.ipv4.conf.tap1.proxy_arp=1", "net.ipv4.conf.tap1.shared_media=0",
             "net.ipv4.conf.tap1.ignore_routes_with_linkdown=1",
             "net.ipv6.conf.left.forwarding=1", "net.ipv6.conf.tap1.mtu=1300",
             "net.ipv6.conf.tap2.disable_ipv6=1")
    assert_links_agree(pair)


@pytest.mark.parametrize("kind", ["vlan", "vrf", "bond", "dummy"])
def test_link_of_a_kind_that_not_every_kernel_has(pair, kind):
    words = {"vlan": "link left.42 type vlan id 42", "vrf": "vrf0 type vrf table 100",
             "bond": "bond0 type bond", "dummy": "dummy0 type dummy"}[kind]
    try:
        pair.ip("link add " + words if kind != "vlan" else
                "link add link left name left.42 type vlan id 42")
    except subprocess.CalledProcessError:
        pytest.skip(f"this kernel has no {kind} devices")
    if kind in ("vrf", "bond"):
        pair.ip("link set right down", f"link set right master {words.split()[0]}")
    assert_links_agree(pair)


def test_a_peer_in_another_namespace_is_told_by_its_id(pair):
    other = Namespace()
    try:
        pair.ip(f"link set right netns {other.name}")
        assert_links_agree(pair)
        left = by(pair.dump("links"), "name")[("left",)]
        assert left["lower_nsid"] >= 0
    finally:
        other.delete()


def test_links_come_change_and_go(pair):
    with pair.monitor("control") as monitor:
        pair.ip("link add new type veth peer name old", "link set new mtu 1400",
                "link set new address 02:00:00:00:00:99", "link set new name newer",
                "link del newer")
    whole = [event for event in monitor.of("link") if not event["partial"]]
    assert any(event["mtu"] == 1400 and event["name"] == "new" for event in whole)
    assert whole[-1]["del"] and {event["name"] for event in whole if event["del"]} == {"newer",
                                                                                    "old"}
    renamed = [event for event in whole if event["name"] == "newer" and not event["del"]]
    assert renamed[-1]["mac"] == "02:00:00:00:00:99"


def test_ipv6_of_a_link_comes_and_goes_without_the_link(pair):
    left = ifindexes(pair)["left"]
    with pair.monitor("control") as monitor:
        pair.ip("link set left mtu 1000", "link set left mtu 1500")  # below 1280 IPv6 is off
    assert not any(event["del"] for event in monitor.of("link"))
    assert any(conf["del"] for conf in monitor.of("netconf")
               if conf["family"] == 6 and conf["ifindex"] == left)
    assert any(event["partial"] and event["has_ip6_conf"] and event["ip6"]["mtu"] == 1500
               for event in monitor.of("link") if event["ifindex"] == left)


# --- addresses, rules, netconf --------------------------------------------------------------------

def test_addresses(pair):
    pair.ip("address add 198.51.100.1 peer 198.51.100.2/32 dev left",
            "address add 192.0.2.7/24 dev left secondary", "address add 2001:db8::7/128 dev right")
    index = ifindexes(pair)
    said = {(index[link["ifname"]], a["local"]): a["prefixlen"]
            for link in pair.ip_json("address") for a in link.get("addr_info", [])
            if settled(a["local"])}
    seen = {(event["ifindex"], event["addr"]): event["prefixlen"]
            for event in pair.dump("addrs") if settled(event["addr"])}
    assert seen == said
    assert (index["left"], "198.51.100.1") in seen
    with pair.monitor("control") as monitor:
        pair.ip("address del 192.0.2.7/24 dev left", "address add 192.0.2.8/24 dev left")
    assert [(event["addr"], event["del"]) for event in monitor.of("addr")
            if settled(event["addr"])] == [
        ("192.0.2.7", True), ("192.0.2.8", False)]


def test_rules(pair):
    plain = ["rule add prio 10 lookup 1000", "rule add prio 11 lookup 254"]
    selective = ["rule add prio 20 from 192.0.2.0/24 lookup 100",
                 "rule add prio 21 to 192.0.2.0/24 lookup 100",
                 "rule add prio 22 iif left lookup 100", "rule add prio 23 oif left lookup 100",
                 "rule add prio 24 fwmark 1 lookup 100", "rule add prio 25 not to 192.0.2.1",
                 "rule add prio 26 goto 32766", "rule add prio 27 ipproto tcp lookup 100",
                 "rule add prio 28 sport 80 lookup 100", "rule add prio 29 uidrange 0-9 lookup 100",
                 "rule add prio 30 lookup main suppress_prefixlength 0",
                 "rule add prio 31 tos 0x10 lookup 100"]
    with pair.monitor("control") as monitor:
        pair.ip(*plain, *selective, "rule add prio 40 blackhole")
        pair.run("ip", "-6", "rule", "add", "prio", "50", "lookup", "2000")
        pair.ip("rule del prio 40")
    rules = by(pair.dump("rules4", "rules6"), "family", "priority")
    said = {(f, rule["priority"]) for f in (4, 6) for rule in pair.ip_json(f"-{f} rule")}
    assert set(rules) == said
    for (family, priority), rule in rules.items():
        assert rule["selective"] == (20 <= priority <= 31)
    assert rules[(4, 10)]["table"] == 1000
    assert rules[(6, 50)]["table"] == 2000
    assert rules[(4, 32766)]["table"] == 254
    changes = by(monitor.of("rule"), "priority", "del")
    assert not changes[(40, False)]["lookup"]
    assert (40, True) in changes and (50, False) in changes


def test_netconf_follows_sysctls(pair):
    pair.run("sysctl", "-qw", "net.ipv4.conf.left.rp_filter=2", "net.ipv6.conf.left.proxy_ndp=1",
             "net.ipv4.conf.right.ignore_routes_with_linkdown=1")
    index = {**ifindexes(pair), "all": -1, "default": -2}
    keys = {4: ("forwarding", "rp_filter", "proxy_arp", "ignore_routes_with_linkdown"),
            6: ("forwarding", None, "proxy_ndp", "ignore_routes_with_linkdown")}
    seen = by(pair.dump("netconf4", "netconf6"), "family", "ifindex")
    assert len(seen) == 2 * len(index)
    for (family, ifindex), conf in seen.items():
        name = next(n for n, i in index.items() if i == ifindex)
        for key, sysctl in zip(("forwarding", "rp_filter", "proxy_neigh", "ignore_linkdown"),
                               keys[family]):
            expected = pair.sysctl(f"net.ipv{family}.conf.{name}.{sysctl}") if sysctl else -1
            assert conf[key] == expected, (family, name, key)

    with pair.monitor("control") as monitor:
        pair.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.right.forwarding=1",
                 "net.ipv4.conf.left.rp_filter=1")
    confs = monitor.of("netconf")
    assert any(c["family"] == 4 and c["ifindex"] == -1 and c["forwarding"] == 1 for c in confs)
    assert any(c["family"] == 6 and c["ifindex"] == index["right"] and c["forwarding"] == 1
               for c in confs)
    assert any(c["family"] == 4 and c["ifindex"] == index["left"] and c["rp_filter"] == 1
               for c in confs)


# --- routes and nexthops -------------------------------------------------------------------------

def said_legs(route, index):
    """The legs that ip(8) shows, as events show them."""
    def leg(hop):
        gateway = hop.get("gateway") or hop.get("via", {}).get("host")
        shown = {"ifindex": index.get(hop.get("dev"), 0), "weight": hop.get("weight", 1),
                 "encap": "encap" in hop,
                 "flags": sum(RTNH_F.get(flag, 0) for flag in hop.get("flags", []))}
        return {**shown, "gateway": gateway} if gateway else shown

    if "nexthops" in route:
        return [leg(hop) for hop in route["nexthops"]]
    return [leg(route)] if "dev" in route else []


def said_routes(ns, family):
    """The routes that ip(8) shows, as events show them: a sorted list, for two may look alike."""
    index = ifindexes(ns)
    full = 32 if family == 4 else 128
    routes = []
    for route in ns.ip_json(f"-N -{family} route show table all"):
        dst = route["dst"]
        if not settled(dst):
            continue
        if dst == "default":
            dst = "0.0.0.0/0" if family == 4 else "::/0"
        metrics = {key: value for entry in route.get("metrics", []) for key, value in entry.items()}
        type_ = route.get("type", "unicast")
        table = route.get("table", "main")
        routes.append({
            "dst": dst if "/" in dst else f"{dst}/{full}",
            "table": TABLE.get(table) or int(table),
            "type": RTN.get(type_) or int(type_),
            "priority": route.get("metric", 0), "tos": int(route.get("tos", "0"), 0),
            "protocol": int(route["protocol"]), "nhid": route.get("nhid", 0),
            "mtu": metrics.get("mtu", 0), "mtu_lock": "mtu_lock" in json.dumps(metrics),
            "expires": "expires" in route,
            "multipath": "nexthops" in route, "legs": said_legs(route, index)})
    return sorted(routes, key=json.dumps)


def assert_routes_agree(ns, family):
    said = said_routes(ns, family)
    keys = said[0].keys()
    seen = [{key: event[key] for key in keys} for event in ns.dump(f"routes{family}")
            if settled(event["dst"])]
    assert sorted(seen, key=json.dumps) == said


def test_ipv4_routes_of_many_shapes(pair):
    pair.ip("route add 198.51.100.0/24 via 192.0.2.9",
            "route add 198.51.101.0/24 via 192.0.2.9 metric 50 mtu 1300",
            "route add 198.51.102.0/24 dev left tos 0x10",
            "route add 198.51.103.0/24 via inet6 2001:db8::9 dev left",
            "route add 198.51.104.0/24 nexthop via 192.0.2.9 weight 3 nexthop dev right weight 256",
            "route add 198.51.105.0/24 via 203.0.113.9 dev left onlink",
            "route add blackhole 198.51.106.0/24", "route add unreachable 198.51.107.0/24",
            "route add prohibit 198.51.108.0/24", "route add throw 198.51.109.0/24",
            "route add local 198.51.110.0/24 dev lo", "route add default via 192.0.2.9 table 70000",
            "route append 198.51.100.0/24 via 192.0.2.10",
            "nexthop add id 1 via 192.0.2.9 dev left", "nexthop add id 2 dev right",
            "nexthop add id 3 group 1,3/2,5",
            "route add 198.51.111.0/24 nhid 1", "route add 198.51.112.0/24 nhid 3")
    assert_routes_agree(pair, 4)


def test_ipv6_routes_of_many_shapes(pair):
    lines = ["2001:db8:1::/64 via 2001:db8::9", "2001:db8:2::/64 via 2001:db8::9 metric 50 mtu 1300",
             "2001:db8:3::/64 nexthop via 2001:db8::9 weight 3 nexthop via 2001:db8::a dev left",
             "blackhole 2001:db8:4::/64", "unreachable 2001:db8:5::/64",
             "prohibit 2001:db8:6::/64", "2001:db8:7::/64 dev left expires 1000",
             "default via 2001:db8::9 table 70000", "local 2001:db8:8::/64 dev lo"]
    for line in lines:
        pair.run("ip", "-6", "route", "add", *line.split())
    pair.ip("nexthop add id 1 via 2001:db8::9 dev left")
    pair.run("ip", "-6", "route", "add", "2001:db8:9::/64", "nhid", "1")
    assert_routes_agree(pair, 6)


def test_encapsulation_is_noticed(pair):
    try:
        pair.ip("route add 198.51.100.0/24 encap ip id 7 dst 192.0.2.9 dev left")
    except subprocess.CalledProcessError:
        pytest.skip("this kernel has no ip encapsulation of routes")
    route = by(pair.dump("routes4"), "dst")[("198.51.100.0/24",)]
    assert route["legs"][0]["encap"]


def test_dead_legs_are_flagged(pair):
    pair.ip("address add 203.0.113.1/24 dev right",
            "route add 198.51.100.0/24 nexthop via 192.0.2.9 nexthop via 203.0.113.9",
            "link set right down")
    left_only = by(pair.dump("routes4"), "dst")[("198.51.100.0/24",)]
    assert [leg["flags"] & (1 | 16) for leg in left_only["legs"]] == [16, 17]
    assert_routes_agree(pair, 4)


def test_route_notifications(pair):
    with pair.monitor("control") as monitor:
        pair.ip("route add 198.51.100.0/24 via 192.0.2.9",
                "route replace 198.51.100.0/24 via 192.0.2.10",
                "route append 198.51.100.0/24 via 192.0.2.11",
                "route del 198.51.100.0/24 via 192.0.2.10")
        pair.run("ip", "-6", "route", "add", "2001:db8:1::/64", "via", "2001:db8::9")
    shown = [(route["dst"], route["legs"][0]["gateway"], route["del"], route["replace"],
              route["append"]) for route in monitor.of("route")
             if settled(route["dst"])]
    assert shown == [
        ("198.51.100.0/24", "192.0.2.9", False, False, False),
        ("198.51.100.0/24", "192.0.2.10", False, True, False),
        ("198.51.100.0/24", "192.0.2.11", False, False, True),
        ("198.51.100.0/24", "192.0.2.10", True, False, False),
        ("2001:db8:1::/64", "2001:db8::9", False, False, False)]
    assert not any(event["dump"] for event in monitor.events)


def test_nexthops(pair):
    with pair.monitor("control") as monitor:
        pair.ip("nexthop add id 1 via 192.0.2.9 dev left",
                "nexthop add id 2 via 2001:db8::9 dev left", "nexthop add id 3 dev right",
                "nexthop add id 4 blackhole", "nexthop add id 5 via 192.0.2.10 dev left onlink",
                "nexthop add id 6 via 192.0.2.11 fdb",
                "nexthop add id 10 group 1,10/5,255", "nexthop add id 11 group 1/5 type resilient buckets 8",
                "nexthop del id 5")
    nexthops = by(pair.dump("nexthops"), "id")
    index = ifindexes(pair)
    assert set(nexthops) == {(nh["id"],) for nh in pair.ip_json("nexthop")}
    assert nexthops[(1,)]["leg"] == {"ifindex": index["left"], "weight": 1, "flags": 0,
                                     "encap": False, "gateway": "192.0.2.9"}
    assert nexthops[(2,)]["family"] == 6
    assert nexthops[(2,)]["leg"]["gateway"] == "2001:db8::9"
    assert "gateway" not in nexthops[(3,)]["leg"]
    assert nexthops[(4,)]["blackhole"] and nexthops[(6,)]["fdb"]
    # Without id 5 the groups lost a member, and the kernel sends no message of the routes behind.
    assert nexthops[(10,)]["members"] == [[1, 10]]
    assert not nexthops[(10,)]["resilient"] and nexthops[(11,)]["resilient"]
    assert [nh["members"] for nh in monitor.of("nexthop") if nh["id"] == 10][0] == [[1, 10],
                                                                                 [5, 255]]
    assert any(nh["id"] == 5 and nh["del"] for nh in monitor.of("nexthop"))


def test_many_routes(ns):
    count = 100_000
    ns.ip("link set lo up", *(f"route add 10.{i >> 16}.{i >> 8 & 255}.{i & 255} dev lo"
                              for i in range(count)))
    told = json.loads(ns.run(EVENTS, "time", "routes4"))
    print(f"{told['events']} routes in {told['ms']:.0f} ms")
    assert told["events"] == count + 3  # and those of lo
    assert len(ns.dump("routes4")) == count + 3


# --- neighbours ----------------------------------------------------------------------------------

def test_neighbours(pair):
    pair.ip("neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 nud stale dev left",
            "neigh add 192.0.2.10 lladdr 02:00:00:00:00:0a nud permanent dev left",
            "neigh add 192.0.2.11 nud failed dev left",
            "neigh add 2001:db8::9 lladdr 02:00:00:00:00:09 nud reachable dev left router",
            "neigh add 192.0.2.12 lladdr 02:00:00:00:00:0c nud noarp dev left extern_learn",
            "neigh add proxy 192.0.2.20 dev left", "neigh add proxy 2001:db8::20 dev left")
    index = ifindexes(pair)
    said = {(index[n["dev"]], n["dst"]): n for f in (4, 6) for n in
            pair.ip_json(f"-{f} neigh show nud all") if settled(n["dst"])}
    seen = by([n for n in pair.dump("neighs") if settled(n["addr"])], "ifindex", "addr")
    assert set(seen) == set(said)
    for key, event in seen.items():
        assert event["state"] == sum(NUD[state] for state in said[key]["state"])
        assert event["mac"] == said[key].get("lladdr", "")
        assert event["flags"] & 0x80 == (0x80 if "router" in said[key] else 0)
        assert event["flags"] & 0x10 == (0x10 if "extern_learn" in said[key] else 0)
        assert not event["proxy"]
    proxies = pair.dump("proxies")
    assert {event["addr"] for event in proxies} == {"192.0.2.20", "2001:db8::20"}
    assert all(event["proxy"] for event in proxies)

    with pair.monitor("neighbours") as monitor:
        pair.ip("neigh del 192.0.2.9 dev left",
                "neigh replace 192.0.2.10 lladdr 02:00:00:00:00:0b nud permanent dev left")
    changes = [(n["addr"], n["mac"], n["state"]) for n in monitor.of("neigh") if n["family"] == 4]
    assert ("192.0.2.10", "02:00:00:00:00:0b", NUD["PERMANENT"]) in changes
    assert any(n["addr"] == "192.0.2.9" and n["del"] for n in monitor.of("neigh"))


# --- questions -----------------------------------------------------------------------------------

def ask(ns, dst, src="-", iif=0, how="lookup"):
    return json.loads(ns.run(EVENTS, "route", dst, src, str(iif), how))


def test_what_the_kernel_would_do_with_a_packet_that_comes_in(pair):
    index = ifindexes(pair)
    pair.ip("address add 203.0.113.1/24 dev right", "route add 198.51.100.0/24 via 192.0.2.9",
            "route add 198.51.0.0/16 nexthop via 192.0.2.9 nexthop via 203.0.113.9 weight 2",
            "address add 2001:db8:1::1/64 dev right nodad")
    right = index["right"]
    assert ask(pair, "198.51.100.1", "203.0.113.7", right)["error"] == "EHOSTUNREACH"
    pair.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
             "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.right.rp_filter=1")
    answer = ask(pair, "198.51.100.1", "203.0.113.7", right)
    assert (answer["error"], answer["oif"], answer["gateway"]) == ("", index["left"], "192.0.2.9")
    matched = ask(pair, "198.51.1.1", "203.0.113.7", right, "match")
    assert matched["prefix"] == "198.51.0.0/16"
    assert [leg["weight"] for leg in matched["legs"]] == [1, 2]
    # The reverse path filter, and a martian.
    assert ask(pair, "198.51.100.1", "192.0.2.7", right)["error"] in ("EXDEV", "EINVAL")
    assert ask(pair, "198.51.100.1", "127.0.0.1", right)["error"] == "EINVAL"
    answer = ask(pair, "2001:db8::9", "2001:db8:1::7", right)
    assert (answer["error"], answer["oif"]) == ("", index["left"])
    assert ask(pair, "2001:db8:ffff::9", "2001:db8:1::7", right)["error"] == "ENETUNREACH"

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the lookup benchmark prints: tables of its cells, and the figures that they must reach."""

import statistics


def time_of(cell):
    return cell["ns_per_packet"]["median"]


class Cells:
    """All cells, found by what was measured."""
    keys = ("family", "routes", "traffic", "path", "mode", "cpus")

    def __init__(self, cells):
        self.cells = {tuple(cell[key] for key in self.keys): cell for cell in cells}

    def ns(self, *key):
        """The median, None if there is no such cell or no run of it counts."""
        cell = self.cells.get(key)
        return time_of(cell) if cell else None

    def ratio(self, above, below):
        above, below = self.ns(*above), self.ns(*below)
        return above / below if above and below else None


def show_cells(cells):
    print(f"{'':5}{'routes':>8} {'traffic':8}{'mode':5}{'cpus':>4} {'path':11}{'ns a packet: min':>17}{'median':>8}"
          f"{'max':>8}{'Mpps':>8}{'/ floor':>9}{'kernel /':>9}{'delivered':>11}")
    found = Cells(cells)
    for cell in cells:
        row, run = (cell["family"], cell["routes"], cell["traffic"]), (cell["mode"], cell["cpus"])
        times = cell["ns_per_packet"]
        floor = found.ratio((*row, cell["path"], *run), (*row, "floor", *run))
        kernel = found.ratio((*row, "kernel", *run), (*row, cell["path"], *run))
        print(f"{row[0]:5}{row[1]:8} {row[2]:8}{run[0]:5}{run[1]:4} {cell['path']:11}{times['min']:17.1f}"
              f"{times['median']:8.1f}{times['max']:8.1f}{1e3 / times['median']:8.2f}"
              f"{f'{floor:.2f}' if floor else '':>9}{f'{kernel:.2f}' if kernel else '':>9}{cell['delivered']:11}")


def show_parts(parts):
    """Where the time goes, {family: [(part, ns up to and with it)]}."""
    print("\nparts of the trie path, dry: ns a packet of each, and up to it")
    for family, rows in parts.items():
        before = 0
        for name, ns in rows:
            print(f"{family:5} {name:11}{ns - before:8.1f}{ns:8.1f}")
            before = ns


def goal(text, value, at_least=None, at_most=None, unit=""):
    if value is None:
        return {"figure": text, "value": None, "reached": None}
    reached = (at_least is None or value >= at_least) and (at_most is None or value <= at_most)
    return {"figure": text, "value": value, "unit": unit, "reached": reached,
            "goal": f">= {at_least:g}" if at_most is None else f"<= {at_most:g}"}


def against(found, text, cell, other, at_least):
    """How many times as fast as another path the trie is, and what no lookup at all would reach."""
    bound = found.ratio(cell(other), cell("floor"))
    return goal(f"{text}{f' (without any lookup: {bound:.2f})' if bound else ''}", found.ratio(cell(other), cell("trie")),
                at_least=at_least)


FULL_GOALS = {  # trie / floor, kernel / trie, fib_lookup / trie, kernel / trie on the wire
    "ipv4": (1.7, 15, 12, 6),
    "ipv6": (1.8, 22, 15, 10),
}


def figures(cells, full, small, churn, started):
    """Every figure with its goal. full, small: {family: routes} of the largest and the smallest table."""
    found = Cells(cells)
    result = []
    for family, (floor, kernel, helper, wire) in FULL_GOALS.items():
        if family not in full:
            continue
        live = lambda path, cpus=1: (family, full[family], "uniform", path, "live", cpus)  # noqa: E731
        wired = lambda path: (family, full[family], "uniform", path, "wire", 1)            # noqa: E731
        one = lambda path: (family, small[family], "one", path, "live", 1)                 # noqa: E731
        result += [goal(f"{family} trie / floor", found.ratio(live("trie"), live("floor")), at_most=floor),
                   against(found, f"kernel / {family} trie", live, "kernel", kernel),
                   against(found, f"bpf_fib_lookup / {family} trie", live, "fib_lookup", helper),
                   goal(f"{family} one destination, small table: trie / floor", found.ratio(one("trie"), one("floor")),
                        at_most=1.3),
                   against(found, f"kernel / {family} trie on the wire", wired, "kernel", wire)]
        scaling = {path: found.ratio(live(path), live(path, 2)) for path in ("floor", "trie")}
        if all(scaling.values()):
            result.append(goal(f"{family} trie 2 CPUs / 1 CPU (floor: {scaling['floor']:.2f})", scaling["trie"],
                               at_least=round(0.97 * scaling["floor"], 3)))
    for family in full if churn else ():
        load = churn[family]["interference"]
        result += [goal(f"{family} pps under {load['updates_per_second']:.0f} updates/s / same load elsewhere "
                        f"(/ idle: {load['loaded_to_idle']:.2f})", load["written_to_still"], at_least=0.97),
                   goal(f"{family} update, xfibd's own time", churn[family]["single_us"], at_most=50, unit="us"),
                   goal(f"{family} burst, updates/s ({churn[family]['burst']['resyncs']} resyncs)",
                        churn[family]["burst"]["updates_per_second"], at_least=100000)]
    if started:
        tables = started["status"]["tables"]
        result += [goal("kernel memory of both tries", sum(tables[family]["bytes"] for family in ("ipv4", "ipv6")) / 1e6,
                        at_most=40, unit="MB"),
                   goal("xfibd memory", started["rss_mib"], at_most=200, unit="MiB"),
                   goal("start to synced", started["synced_ms"], at_most=3000, unit="ms")]
    return result


def show_figures(rows):
    print("\nfigures to reach")
    for row in rows:
        if row["value"] is None:
            print(f"  {row['figure']:72}{'not measured':>14}")
        else:
            print(f"  {row['figure']:72}{row['value']:11.2f} {row['unit']:3}{row['goal']:>12}  "
                  f"{'pass' if row['reached'] else 'MISS'}")


def summary(runs):
    """ns_per_packet of the runs that count."""
    times = [ns for ns, *_ in runs]
    return {"min": min(times), "median": statistics.median(times), "max": max(times)}

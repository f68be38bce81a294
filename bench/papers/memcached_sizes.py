#!/usr/bin/env python3
"""memcached_sizes.py - Pulsar's Fig. 15 with a real memcached: GETs and SETs of 512 B to 64 KiB through a vNIC whose limits never bind,
and through one without an appliance on the same switch.

    bench/run.sh memcached-sizes [--turns N] [--seconds N] [--connections N] [--minutes N] [--only 'SET 512 B']...
                                                                             root, memcached, -Dbench=true; up to --minutes

Clients and server are kernels in network namespaces on one core, which also takes in their frames (RPS); the switch's worker has the
other; all run in real time. The two clients take turns, so that both meet the same machine, until each median ratio is known
within half a percent, or for --minutes.

The distance of the cores (lib/cores.py), by which interrupts are late too, is measured before and after each turn; a pair of turns counts where it stayed
as it was, and near and far cores have a table each. Writes memcached_sizes.json to the build folder (WEIR_BUILD).
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import time

import links
from frames import mac
from hosts import Hosts
from bench.lib.cores import DISTANCES, distance, wait_for
from bench.lib.host import LOAD_CORE, ROOT, SWITCH_CORE, Place, leave_table, prepare, progress, tool
from bench.papers import claims
from bench.papers.claims import Claim
from bench.papers.memcached import TENANT_PRIORITY
from processes import Process, stop_all, tail
from wait import until

TRACKED, PLAIN, SERVER, PORT = 1, 2, 3, 11211
SIZES = [512 << i for i in range(8)]
OPERATIONS = ("get", "set")
WORKER, OTHERS = SWITCH_CORE, {LOAD_CORE}
FIRST = ("chrt", "--fifo", str(TENANT_PRIORITY))  # before the machine's other programs
RATIO_LEAST = 0.98  # of the throughput without tracking
KNOWN = 0.005  # half of the interval in which a median ratio lies with 95 %
NEVER = {"name": "kv", "limit": "1000Gtokens", "uplink": "400Gbit", "downlink": "400Gbit"}


class Bench:
    def __init__(self, folder, connections):
        self.connections = connections
        self.site = Hosts(folder)
        self.site.join()
        appliance = {"name": "kv", "address": f"10.0.0.{SERVER}", "port": PORT, "protocol": "memcached",
                     "cost": str(ROOT / "configs" / "costs" / "key_value_store.json")}
        self.switch = self.site.start("a", WORKER, {"rate": "100Gbit"},
                                      {TRACKED: {"appliances": [NEVER]}, PLAIN: {}, SERVER: {}}, appliances=[appliance], poll="busy")
        self.kernels = {number: self.site.kernel(number) for number in (TRACKED, PLAIN, SERVER)}
        for number, inside in self.kernels.items():
            links.receive_on(f"eth{number}", OTHERS, " ".join(inside))
        for number in (TRACKED, PLAIN):
            for one, other in ((number, SERVER), (SERVER, number)):
                links.command(f"{' '.join(self.kernels[one])} ip neigh add 10.0.0.{other} lladdr {mac(other)} nud permanent dev eth{one}")
        log = self.site.path("memcached.log")
        self.server = Process([*self.kernels[SERVER], *FIRST, "memcached", "-u", "root", "-l", f"10.0.0.{SERVER}", "-p", str(PORT), "-t", "1",
                               "-c", "4096"], log, cores=OTHERS)
        until(lambda: f":{PORT} " in self.listening(), f"memcached listening: {tail(log)}")

    def listening(self):
        return subprocess.run([*self.kernels[SERVER], "ss", "-Hltn"], capture_output=True, text=True, timeout=10, check=False).stdout

    def turn(self, number, operation, size, seconds):
        """Requests a second of one client, and the busy part, cycles and interrupts per packet of the switch's worker meanwhile."""
        log = pathlib.Path(self.site.path("kv-load.log"))
        log.unlink(missing_ok=True)
        before, interrupts = self.worker(), function_calls()
        load = Process([*self.kernels[number], *FIRST, tool("bench/load/kv-load"), f"10.0.0.{SERVER}", str(PORT), str(self.connections), operation,
                        str(size), str(seconds)], str(log), cores=OTHERS)
        until(lambda: not load.alive(), "the client's end", seconds)
        if load.stop() != 0:
            raise RuntimeError(f"kv-load ended badly: {tail(str(log))}")
        answer, after, interrupts = json.loads(log.read_text()), self.worker(), function_calls() - interrupts
        spent = {key: after[key] - before[key] for key in ("busy_cycles", "idle_cycles", "packets")}
        return {"per_second": answer["answered"] / answer["seconds"],
                "busy": spent["busy_cycles"] / (spent["busy_cycles"] + spent["idle_cycles"]),
                "cycles_per_packet": spent["busy_cycles"] / max(spent["packets"], 1),
                "interrupts_per_packet": interrupts / max(spent["packets"], 1)}

    def pair(self, kind, first_tracked, operation, size, seconds):
        """A turn of either client, with cores of that distance; None where it changed meanwhile."""
        found = {}
        for which in (TRACKED, PLAIN) if first_tracked else (PLAIN, TRACKED):
            found[which] = self.turn(which, operation, size, seconds)
            if distance() != kind:
                return None
        return {"on": found[TRACKED], "off": found[PLAIN]}

    def worker(self):
        return self.switch.ctl("status")["workers"][0]


def function_calls():
    """Interrupts by which other cores have asked the kernels' core for something: here, to take frames in."""
    core, = OTHERS
    calls, = (line.split() for line in pathlib.Path("/proc/interrupts").read_text().splitlines() if line.split()[0] == "CAL:")
    return int(calls[1 + core])


def median_within(values):
    """The 95 % confidence interval of the median of the values' distribution: (from, to), by order statistics."""
    ordered, reach = sorted(values), 0.98 * math.sqrt(len(values))
    first = max(math.floor(len(values) / 2 - reach), 0)
    return ordered[first], ordered[len(values) - 1 - first]


def ratios(samples):
    return [each["on"]["per_second"] / each["off"]["per_second"] for each in samples]


def is_known(samples, turns):
    low, high = median_within(ratios(samples)) if len(samples) >= turns else (0, 1)
    return (high - low) / 2 <= KNOWN


def measure(bench, rows, options):
    """Samples of each row, of near and of far cores: as many as it takes, of all others one in between."""
    samples = {row: {kind: [] for kind in DISTANCES} for row in rows}
    end, reported, number = time.monotonic() + 60 * options.minutes, 0, 0
    while time.monotonic() < end:
        unknown = {row: wanted for row in rows
                   if (wanted := [kind for kind in DISTANCES if not is_known(samples[row][kind], options.turns)])}
        if not unknown:
            break
        for (size, operation), wanted in unknown.items():
            kind = wait_for(wanted)
            if kind in wanted and (pair := bench.pair(kind, number % 2 == 0, operation, size, options.seconds)):
                samples[size, operation][kind].append(pair)
        number += 1
        if time.monotonic() - reported > 15:
            reported = time.monotonic()
            left = {kind: sum(kind in wanted for wanted in unknown.values()) for kind in DISTANCES}
            progress(f"round {number}: {left['near']} of {len(rows)} rows unknown with near cores, {left['far']} with far ones; "
                     f"{(end - reported) / 60:.0f} minutes at most")
    return samples


def summary(samples):
    rows = []
    for (size, operation), chosen in samples.items():
        low, high = median_within(ratios(chosen))
        row = {"size": size, "operation": operation, "ratio": statistics.median(ratios(chosen)), "turns": len(chosen),
               "within": [low, high]}
        for side in ("on", "off"):
            for key in ("per_second", "busy", "cycles_per_packet", "interrupts_per_packet"):
                row[f"{key}_{side}"] = statistics.median(each[side][key] for each in chosen)
        rows.append(row)
    return rows


def size_name(size):
    return f"{size} B" if size < 1024 else f"{size // 1024} KiB"


def name_of(size, operation):
    return f"{operation.upper()} {size_name(size)}"


def lines(rows):
    table = ["| | requests/s without | with | ratio | 95 % of it | turns | worker: cycles per frame without | with | busy |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        table.append(f"| {name_of(row['size'], row['operation'])} | {row['per_second_off']:,.0f} | {row['per_second_on']:,.0f} | {row['ratio']:.3f} | "
                     f"{row['within'][0]:.3f} to {row['within'][1]:.3f} | {row['turns']} | {row['cycles_per_packet_off']:,.0f} | "
                     f"{row['cycles_per_packet_on']:,.0f} | {row['busy_on']:.0%} |")
    return table


def figure(found):
    """Fig. 15: throughput with tracking over that without by size of the request, near and far cores side by side."""
    ratio = {(kind, row["operation"], row["size"]): row["ratio"] for kind, rows in found.items() for row in rows}
    head = [f"{operation.upper()}, {kind} cores" for operation in OPERATIONS for kind in DISTANCES]
    sizes = sorted({size for _, _, size in ratio})
    cells = [[f"{ratio[kind, operation, size]:.3f}" if (kind, operation, size) in ratio else "-" for operation in OPERATIONS for kind in DISTANCES]
             for size in sizes]
    return [f"| with tracking over without | {' | '.join(head)} |", "|---|" + "---:|" * len(head),
            *(f"| {size_name(size)} | {' | '.join(row)} |" for size, row in zip(sizes, cells))]


def judged(found):
    """At each distance of the cores the least ratio of all rows, and how many rows are below the bound."""
    result = []
    for kind in DISTANCES:
        chosen = [row["ratio"] for row in found[kind]]
        result += [Claim("Fig. 15", f"{kind} cores: least ratio of {len(chosen)} rows", min(chosen, default=None), RATIO_LEAST, ">=", digits=3),
                   Claim("Fig. 15", f"{kind} cores: rows below {RATIO_LEAST}", sum(ratio < RATIO_LEAST for ratio in chosen) if chosen else None, 0, digits=0)]
    return result


def report(found):
    """The lines for the paper's page."""
    details = [line for kind in DISTANCES if found[kind] for line in (f"With {kind} cores:", "", *lines(found[kind]), "")]
    return [*figure(found), "", *claims.table(judged(found)).split("\n"), "", *details]


def main():
    names = {name_of(size, operation): (size, operation) for size in SIZES for operation in OPERATIONS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=15, help="of each row at least")
    parser.add_argument("--seconds", type=float, default=0.2, help="of each turn")
    parser.add_argument("--connections", type=int, default=32, help="each with one request under way")
    parser.add_argument("--minutes", type=float, default=30, help="at most")
    parser.add_argument("--only", action="append", choices=names, metavar="ROW", help=f"one of {', '.join(names)}")
    options = parser.parse_args()
    links.enter_own_namespace()
    prepare()
    with Place() as place:
        try:
            bench = Bench(str(place.path), options.connections)
            samples = measure(bench, [names[name] for name in options.only or names], options)
            flow, = bench.switch.ctl("flow", "list", "--interval", "100ms")["flows"]
            if bench.switch.stop() != 0:
                raise RuntimeError("the switch ended badly")
        finally:
            stop_all()
    found = {kind: summary({row: kinds[kind] for row, kinds in samples.items() if kinds[kind]}) for kind in DISTANCES}
    leave_table("memcached_sizes", report(found), samples=[[*row, kinds] for row, kinds in samples.items()], summary=found, total=flow["total"])


if __name__ == "__main__":
    main()

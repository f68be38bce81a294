#!/usr/bin/env python3
"""latency.py - round trip through two vhost ports, in ratios to the raw loop measured just before and just after.

Single frames, and bursts of eight at part loads, for which a switch that is short of cycles may leave the ring to fill (`poll_coalesce`).
"""
from bench.lib.figures import median, ratio_to_raw, select
from bench.lib.host import parser, prepare
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number, number_or_doubt
from bench.lib.system import Raw, Weir, vm_ports
from bench.peers.ovs import Ovs
from bench.peers.testpmd import Testpmd
from bench.system.forwarding import systems_of

RATIO_MOST = 1.15
# name: frames a second from VM 0, frames in a burst
LOADS = {"single frames, 10 k/s": (10_000, 1), "single frames, 50 k/s": (50_000, 1),
         "bursts of 8, 500 k/s": (500_000, 8), "bursts of 8, 2 M/s": (2_000_000, 8)}
FIRST = next(iter(LOADS))  # the load of the target


def echo(seconds, pps, burst):
    """VM 0 sends, VM 1 returns every frame, VM 0 reads the round trip's time."""
    return {"name": "echo", "seconds": seconds, "warmup": 0.2, "inspect": [0], "echo": [1],
            "streams": [{"from": 0, "to": 1, "size": 64, "pps": pps, "burst": burst, "whole_bursts": burst > 1, "stamp": True},
                        {"from": 1, "to": 0, "size": 64, "pps": 10}]}  # so that VM 1's MAC is learned


def figures(load, run):
    stream = load.measure(run)[0]["streams"][0]
    return {**{key: stream["delay_us"][key] for key in ("p50", "p90", "p99", "p999")},
            "lost": max(1 - stream["received"] / max(stream["accepted"] + stream["refused"], 1), 0)}


def visit(record, name, make, number_of_round):
    def measure(system, load):
        for words, (pps, burst) in LOADS.items():
            record.stretch(lambda: figures(load, echo(record.options.seconds, pps, burst)), load=words)
    record.visit(lambda place: make(place, vm_ports(place)), measure, system=name, round=number_of_round)


def ratio(samples, system, load):
    """(median, doubtful) of p50 over the raw loop's p50."""
    return ratio_to_raw(samples, "p50", same=("load",), system=system, load=load)


def tables(samples):
    found = []
    for load in dict.fromkeys(sample["load"] for sample in samples):
        rows = []
        for system in systems_of(select(samples, load=load)):
            mine = select(samples, load=load, system=system)
            rows.append([system, *(number(median([sample[key] for sample in mine])) for key in ("p50", "p90", "p99")),
                         "1.00" if system == "raw" else number_or_doubt(ratio(samples, system, load)),
                         number(100 * median([sample["lost"] for sample in mine]), 1)])
        found.append(Table(f"Round trip of 64-byte frames, {load} each way (us, medians over the rounds)",
                           ["", "p50", "p90", "p99", "p50 x raw", "lost %"], rows))
    return found


def marks(samples):
    return [mark(f"weir / raw, p50, {FIRST}", ratio(samples, "weir", FIRST)[0], RATIO_MOST, " x")]


def main():
    options = parser("latency", __doc__, seconds=1.0, peers=True).parse_args()
    prepare()
    systems = {"weir": Weir, "testpmd-io": Testpmd, **({"ovs-normal": Ovs} if options.peers else {})}
    record = Record(options)
    for number_of_round in range(options.rounds):
        for name, make in systems.items():
            visit(record, "raw", Raw, number_of_round)
            visit(record, name, make, number_of_round)
        visit(record, "raw", Raw, number_of_round)
    finish(record, "bench.system.latency")


if __name__ == "__main__":
    main()

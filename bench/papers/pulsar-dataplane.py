#!/usr/bin/env python3
"""pulsar-dataplane.py - what the switch's part of Pulsar costs and keeps, with real packets and services: runs the benches, writes
docs/results/pulsar-dataplane.md.

    bench/papers.sh pulsar-dataplane [--quick | --render]

--render writes the page from what earlier runs have left in the build folder. The prose is bench/papers/pulsar-dataplane.md.in;
{{NAME}} in it is a table or a number of a bench.
"""
import argparse
import json
import os
import subprocess
import statistics
import sys
import time

from runs import RESULTS, ROOT, render

sys.path.insert(0, str(ROOT / "bench"))

import encryption  # noqa: E402
import requests as null_server  # noqa: E402  (bench/requests.py; the path above comes first)
from lib.host import BUILD, say  # noqa: E402

PAPERS = ROOT / "bench" / "papers"
TRACKERS = BUILD / "trackers.json"
# program and arguments; arguments of a quick run instead; seconds that it may take
RUNS = (([ROOT / "bench" / "requests.py", "--output", BUILD / "requests.json"], ["--rounds", "1", "--pairs", "1"], 400),
        ([PAPERS / "memcached_sizes.py"], ["--turns", "1", "--minutes", "1"], 2400),
        ([PAPERS / "counts.py"], ["--requests", "20000"], 700),
        ([PAPERS / "two_buckets.py"], [], 120),
        ([ROOT / "bench" / "encryption.py", "--output", BUILD / "encryption.json"], ["--rounds", "1", "--seconds", "0.1"], 300))
SIZES = ("1", "10000", "100000", "1000000")
BENCHES = {"mix": "mix of a cache: ten exchanges of 30 bytes to 8 KiB, with acknowledgements", "body": "within a body",
           "set": "memcached, SET of 16 KiB", "get": "memcached, GET and hit", "binary": "the same, binary protocol",
           "split": "the same, the GET in two segments", "redis": "Redis, GET and hit", "nbd": "NBD, read of 4 KiB",
           "nvme": "NVMe/TCP, read of 4 KiB", "iscsi": "iSCSI, read of 4 KiB",
           "pipelined": "memcached, 32 GETs in a segment: each GET and its hit"}


def run_all(quick):
    for program, short, seconds in RUNS:
        say(f"{program[0].name}{', short' if quick else ''}")
        subprocess.run([sys.executable, *map(str, program), *(short if quick else [])], check=True, timeout=seconds,
                       stdout=subprocess.DEVNULL)
    say("the trackers")
    done = subprocess.run([str(ROOT / "bench" / "micro" / "run.sh"), "--trackers", "--json", str(BUILD)], check=True, timeout=500,
                          capture_output=True, text=True)
    TRACKERS.write_text(done.stdout)


def table(head, rows):
    rule = "|---|" + "---:|" * (len(head) - 1)
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])


def trackers(found):
    nanos = found["nanos"]
    rows = [[words, *(f"{nanos[f'{name}/{size}']:.1f}" for size in SIZES)] for name, words in BENCHES.items()]
    return table(["ns per segment", *(f"{int(size):,} connection{'s' if size != '1' else ''}" for size in SIZES)], rows)


def words(found):
    """Everything that the page may name."""
    null = found["requests"]["samples"]["summary"]
    real = {kind: [row["ratio"] for row in rows] for kind, rows in found["memcached_sizes"]["summary"].items()}
    more = [row["cycles_more"] for row in null if row["size"] == 512]
    return {"real": "\n".join(found["memcached_sizes"]["table"]), "counts": "\n".join(found["counts"]["table"]),
            "two_buckets": "\n".join(found["two_buckets"]["table"]),
            "null": table(null_server.HEAD, [null_server.cells(row) for row in null]), "trackers": trackers(found["trackers"]),
            "encryption": table(encryption.HEAD, encryption.rows(found["encryption"]["samples"])),
            "memory": f"{found['trackers']['memory_mib']:.0f}", "null.more": f"{max(more):.0f}",
            **{f"{kind}.{name}": text for kind, ratios in real.items() for name, text in
               (("count", str(len(ratios))), ("met", str(sum(ratio >= null_server.LEAST for ratio in ratios))),
                ("median", f"{statistics.median(ratios):.3f}" if ratios else "none"), ("least", f"{min(ratios, default=0):.3f}"))},
            "commit": found["requests"]["machine"]["commit"] or "?", "cpu": found["requests"]["machine"]["cpu"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs; writes to the build folder only")
    parser.add_argument("--render", action="store_true", help="runs nothing, writes the page from earlier runs")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("pulsar-dataplane.py: must run as root: it makes network namespaces and takes hugepages")
    began = time.monotonic()
    if not options.render:
        run_all(options.quick)
    found = {name: json.loads((BUILD / f"{name}.json").read_text())
             for name in ("requests", "memcached_sizes", "counts", "two_buckets", "trackers", "encryption")}
    target = (BUILD if options.quick else RESULTS) / "pulsar-dataplane.md"
    target.write_text(render((PAPERS / "pulsar-dataplane.md.in").read_text(), words(found)))
    say(f"written: {target} ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main()

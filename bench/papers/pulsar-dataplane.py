#!/usr/bin/env python3
"""pulsar-dataplane.py - what the switch's part of Pulsar costs and keeps, with real packets and services: runs the benches, writes
docs/results/pulsar-dataplane.md.

    bench/run.sh pulsar-dataplane [--quick | --render]

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

from bench.lib.host import BUILD, progress
from bench.lib.report import by_distance, tables_of
from bench.micro import trackers
from bench.papers.runs import RESULTS, ROOT, render
from bench.system import encryption
from bench.system import requests as null_server

PAPERS = ROOT / "bench" / "papers"
# module of the bench; arguments of a quick run; seconds that it may take
RUNS = (("system.requests", ["--rounds", "1", "--pairs", "1"], 400),
        ("papers.memcached_sizes", ["--turns", "1", "--minutes", "1"], 2400),
        ("papers.counts", ["--requests", "20000"], 700),
        ("papers.two_buckets", [], 120),
        ("system.encryption", ["--rounds", "1", "--seconds", "0.1"], 300),
        ("micro.trackers", ["--rounds", "1"], 500))


def run_all(quick):
    for module, short, seconds in RUNS:
        progress(f"{module}{', short' if quick else ''}")
        subprocess.run([sys.executable, "-m", f"bench.{module}", *(short if quick else [])], check=True, timeout=seconds,
                       stdout=subprocess.DEVNULL, cwd=ROOT)


def markdown(bench, measured):
    return "\n\n".join(table.markdown() for table in tables_of(bench, measured["samples"]))


def words(found):
    """Everything that the page may name."""
    null = [row for _, samples in by_distance(found["requests"]["samples"]) for row in null_server.summary(samples)]
    real = {kind: [row["ratio"] for row in rows] for kind, rows in found["memcached_sizes"]["summary"].items()}
    more = [row["cycles_more"] for row in null if row["size"] == 512]
    return {"real": "\n".join(found["memcached_sizes"]["table"]), "counts": "\n".join(found["counts"]["table"]),
            "two_buckets": "\n".join(found["two_buckets"]["table"]),
            "null": markdown(null_server, found["requests"]), "trackers": markdown(trackers, found["trackers"]),
            "encryption": markdown(encryption, found["encryption"]),
            "memory": f"{trackers.memory_mib(found['trackers']['samples']):.0f}", "null.more": f"{max(more):.0f}",
            **{f"{kind}.{name}": text for kind, ratios in real.items() for name, text in
               (("count", str(len(ratios))), ("met", str(sum(ratio >= null_server.RATIO_LEAST for ratio in ratios))),
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
    progress(f"written: {target} ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main()

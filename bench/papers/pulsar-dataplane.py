#!/usr/bin/env python3
"""pulsar-dataplane.py - the benches of the switch's part of Pulsar, its costs and its guarantees, with real packets and services.

    bench/run.sh pulsar-dataplane [--quick | --render]

Runs them one after the other and writes their tables and verdicts into the blocks of docs/results/pulsar-dataplane.md.
"""
import argparse
import os
import subprocess
import sys
import time

from bench.lib import results_page
from bench.lib.host import BUILD, ROOT, progress

PAGE = results_page.FOLDER / "pulsar-dataplane.md"
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs; writes to the build folder only")
    parser.add_argument("--render", action="store_true", help="runs nothing, writes the page from the JSON of earlier runs")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("pulsar-dataplane.py: must run as root: it makes network namespaces and takes hugepages")
    began = time.monotonic()
    if not options.render:
        run_all(options.quick)
    target = BUILD / PAGE.name if options.quick else PAGE
    target.write_text(results_page.filled(PAGE.read_text(), lambda name: results_page.block(BUILD, name)))
    progress(f"written: {target} ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main()

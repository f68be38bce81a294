#!/usr/bin/env python3
"""counts.py - a million mixed requests to a real memcached on wires that lose 1 % and reorder: does the switch count as the server?

    bench/run.sh counts [--requests N]     root, memcached, a build with tests; about a minute, ten at most

Client and server are kernels in network namespaces behind vNICs; test/support/rough_requests.py states how. Writes counts.json to
the build folder (WEIR_BUILD).
"""
import argparse
import sys
import time

import links
from hosts import Hosts
from bench.lib.host import Place, leave_table, prepare, progress
from processes import stop_all
from rough_requests import RoughRequests, faults

CONNECTIONS, SECONDS = 48, 600
NAMES = {"get": "get, mg", "set": "set, ms", "delete": "delete, md", "incr": "incr, ma", "touch": "touch"}


def measure(requests):
    with Place() as place:
        site = Hosts(str(place.path))
        try:
            rough = RoughRequests(site)
            began = time.monotonic()
            counted = rough.run(CONNECTIONS, requests, 1, SECONDS)
            counted["seconds"] = time.monotonic() - began
            if rough.switch.stop() != 0:
                raise RuntimeError("the switch ended badly")
            return counted
        finally:
            site.unplug()
            stop_all()


def lines(counted):
    frames = [way for wire in counted["wires"] for way in wire.values()]
    total = sum(sum(way[kind] for kind in ("passed", "lost")) for way in frames)
    rows = [f"| {NAMES[kind]} | {counted['asked'][kind]:,} | {count:,} | |" for kind, count in counted["server"].items()]
    served = sum(counted["server"].values())
    switch = counted["switch"]
    return ["| | asked by the client | counted by memcached | by the switch |", "|---|---:|---:|---:|", *rows,
            f"| all requests | {sum(counted['asked'].values()):,} | {served:,} | {switch['requests'] - 1:,} |",
            f"| answers | {counted['answers']:,} | | {switch['responses'] - 1:,} |",
            f"| bytes of which no header was understood | | | {switch['plain_bytes']:,} |", "",
            f"{CONNECTIONS} connections. A frame goes over two wires, before and behind the switch, of which each loses 0.5 % and delays 1 %: "
            f"of {total:,} passages {sum(way['lost'] for way in frames):,} failed, {sum(way['late'] for way in frames):,} came out of "
            f"order. {counted['seconds']:.0f} s. "
            f"{'Exact.' if not faults(counted) else 'Not exact: ' + '; '.join(faults(counted)) + '.'}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1_000_000)
    options = parser.parse_args()
    links.enter_own_namespace()
    prepare()
    counted = measure(options.requests)
    progress(f"{'exact' if not faults(counted) else 'NOT exact'}: {faults(counted) or ''}")
    leave_table("counts", lines(counted), counted=counted)
    return 1 if faults(counted) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""alloc_report.py - reads alloc-bench's google-benchmark JSON on stdin, prints tables with bounds and then JSON of medians."""

import json
import math
import re
import sys

BOUNDS_MS = {  # of one core
    "drf/vms:24000/load:100/active:100": 5,
    "hdrf/vms:24000/load:100/active:100": 100,
    "drf/vms:1000008/load:100/active:100": 600,
    "cold/vms:1000008/load:100/active:100": 600,
}
STRETCH_MS = {"hdrf/vms:24000/load:100/active:100": 20}


def rows(report):
    """{name: {ms, flows, resources, entries}} of the medians."""
    return {row["run_name"]: {"ms": row["ms_per_solve"], "flows": int(row["flows"]), "resources": int(row["resources"]),
                              "entries": int(row["entries"])}
            for row in report["benchmarks"] if row.get("aggregate_name") == "median"}


def parts(name):
    """('drf', 24000, 100, 100) of 'drf/vms:24000/load:100/active:100'."""
    match = re.fullmatch(r"(\w+)/vms:(\d+)/load:(\d+)/active:(\d+)", name)
    return match[1], int(match[2]), int(match[3]), int(match[4])


def print_bounds(found):
    for name, row in sorted(found.items(), key=lambda item: parts(item[0])):
        verdict = ""
        if name in BOUNDS_MS:
            verdict = f"  bound {BOUNDS_MS[name]} ms: {'met' if row['ms'] <= BOUNDS_MS[name] else 'MISSED'}"
        if name in STRETCH_MS:
            verdict += f", stretch {STRETCH_MS[name]} ms: {'met' if row['ms'] <= STRETCH_MS[name] else 'missed'}"
        print(f"{name:44} {row['flows']:8} flows {row['resources']:7} resources {row['ms']:9.3f} ms{verdict}")


def growth(found, mechanism):
    """[(flows, ms, ns per flow)] at full load, and the exponent from the least to the greatest."""
    series = sorted((row["flows"], row["ms"], 1e6 * row["ms"] / row["flows"]) for name, row in found.items()
                    if parts(name)[0] == mechanism and parts(name)[2:] == (100, 100))
    exponent = math.log(series[-1][1] / series[0][1]) / math.log(series[-1][0] / series[0][0])
    return series, exponent


def print_growth(found):
    for mechanism in ("drf", "hdrf"):
        series, exponent = growth(found, mechanism)
        print(f"\n{mechanism}: time grows as flows to the power of {exponent:.2f}")
        for flows, ms, each in series:
            print(f"{flows:10} flows {ms:9.3f} ms {each:8.1f} ns a flow")


def print_activity(found):
    """Pulsar's Fig. 16: milliseconds by VMs and how many of them are active."""
    for mechanism in ("drf", "hdrf"):
        cells = {parts(name)[1::2]: row["ms"] for name, row in found.items()
                 if parts(name)[0] == mechanism and parts(name)[2] == 100}
        active = (20, 40, 60, 80, 100)
        print(f"\n| {mechanism}, ms | " + " | ".join(f"{part} % active" for part in active) + " |")
        print("|---" * (len(active) + 1) + "|")
        for vms in (6000, 12000, 18000, 24000):
            print(f"| {vms} VMs | " + " | ".join(f"{cells[vms, part]:.2f}" for part in active) + " |")


def main(only_json):
    found = rows(json.load(sys.stdin))
    if not only_json:
        print_bounds(found)
        print_growth(found)
        print_activity(found)
        print()
    print(json.dumps({"ms": {name: round(row["ms"], 4) for name, row in found.items()},
                      "exponent": {name: round(growth(found, name)[1], 3) for name in ("drf", "hdrf")}}))


if __name__ == "__main__":
    main(sys.argv[1:] == ["yes"])

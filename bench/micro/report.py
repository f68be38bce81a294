#!/usr/bin/env python3
"""report.py - reads google-benchmark JSON on stdin, prints medians as a table and medians with ratios as JSON."""

import json
import sys

BOUNDS = {  # cost per packet, many limiters or vNICs against few
    "wheel_100000_to_1": 1.25,
    "limiters_each_10000_to_1": 1.10,
    "fulfillment_1000_to_1": 1.50,
}
RECEIVER_NS = 15  # meter, sender table, split and feedback together, per received frame of 64 bytes
DECISION_NS = {"fulfillment/": 20, "rls/": 40}  # per packet, with 1 to 1000 vNICs backlogged
TRACKER_MIB = 128  # a million connections
TRACKER_NS = 25  # look-up and tracking, per segment; per request and response where many share one


def medians(report, counter):
    """The median of each bench that has a counter with this beginning: cycles_per_ or ns_per_."""
    return {row["run_name"].split("/iterations:")[0]: value for row in report["benchmarks"] if row.get("aggregate_name") == "median"
            for key, value in row.items() if key.startswith(counter)}


def print_nanos(nanos, bound):
    for name, value in sorted(nanos.items()):
        print(f"{name:36} {value:8.1f} ns, bound {bound} ns  {'met' if value <= bound else 'MISSED'}")


def trackers(nanos, memory, only_json):
    if not only_json:
        print_nanos(nanos, TRACKER_NS)
        print(f"{'memory, a million connections':36} {memory:8.1f} MiB, bound {TRACKER_MIB} MiB  "
              f"{'met' if memory <= TRACKER_MIB else 'MISSED'}")
    print(json.dumps({"nanos": {name: round(value, 2) for name, value in nanos.items()}, "memory_mib": round(memory, 1)}))


def main(only_json):
    report = json.load(sys.stdin)
    cycles = medians(report, "cycles_per_")
    nanos = medians(report, "ns_per_")
    decisions = medians(report, "decision_ns")
    if not cycles:
        return trackers(nanos, max(medians(report, "memory_mib").values()), only_json)
    ratios = {
        "wheel_100000_to_1": cycles["wheel/100000"] / cycles["wheel/1"],
        "wheel_same_rate_100000_to_1": cycles["wheel_same_rate/100000"] / cycles["wheel_same_rate/1"],
        "limiters_10000_to_1": cycles["limiters/10000"] / cycles["limiters/1"],
        "limiters_each_10000_to_1": cycles["limiters_each/10000"] / cycles["limiters_each/1"],
        "limiters_10000_to_100": cycles["limiters/10000"] / cycles["limiters/100"],
        "backlogged_1000_to_1": cycles["backlogged/busy:1000/reserved:0"] / cycles["backlogged/busy:1/reserved:0"],
        "fulfillment_1000_to_1": decisions["fulfillment/busy:1000/promised:400"] / decisions["fulfillment/busy:1/promised:400"],
    }
    if not only_json:
        for name, value in sorted(cycles.items()):
            print(f"{name:36} {value:8.1f} cycles")
        for name, value in ratios.items():
            print(f"{name:36} {value:8.2f} x")
        for name, bound in BOUNDS.items():
            met = "met" if ratios[name] <= bound else "MISSED"
            print(f"{'bound on ' + name:36} {bound:8.2f} x  {met}")
        print_nanos(nanos, RECEIVER_NS)
        for scheduler, bound in DECISION_NS.items():
            print_nanos({name: value for name, value in decisions.items() if name.startswith(scheduler)}, bound)
    print(json.dumps({"cycles": {name: round(value, 2) for name, value in cycles.items()},
                      "nanos": {name: round(value, 2) for name, value in (nanos | decisions).items()},
                      "ratios": {name: round(value, 3) for name, value in ratios.items()}}))


if __name__ == "__main__":
    main(sys.argv[1:] == ["yes"])

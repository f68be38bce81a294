#!/usr/bin/env python3
"""flow_setup.py - the time from a new flow to its limiter, in the switch alone and with the controller's work.

Source: Pulsar 6.3 (83 us a flow, controller included).
"""
import json

from bench.lib.figures import select
from bench.lib.host import parser, prepare, run, tool
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number

LIMITER_US_MOST = 20  # from the first frame to the installed limiter, in the switch
CONTROLLER_US_MOST = 83  # with the controller's work; Pulsar's, on a testbed of 113 VMs
STEPS = {"profile": "a service flow's new rate: the agent computes the buckets",
         "command": "a service flow's new rate: the worker installs it"}
PARTS = ("agent_sends", "controller", "agent_receives")


def flat(report):
    """Samples of flow-setup-bench's JSON."""
    switch = report["switch"]
    return [*({"step": "limiter", "limiters": int(count), **times} for count, times in switch["limiter"].items()),
            *({"step": step, **switch[step]} for step in STEPS),
            *({"step": "controller", "flows": row["flows"], **{f"{part}_us": row[part]["p50_us"] for part in PARTS}, **row["all"]}
              for row in report["controller"])]


def tables(samples):
    limiters = sorted(select(samples, step="limiter"), key=lambda each: each["limiters"])
    rows = [[f"limiter of a new destination, beside {each['limiters']:,}", each] for each in limiters]
    rows += [[words, each] for step, words in STEPS.items() for each in select(samples, step=step)]
    return [Table("In the switch", ["", "p50 us", "p99 us"],
                  [[words, number(each["p50_us"]), number(each["p99_us"])] for words, each in rows]),
            Table("With the controller (medians of the parts)",
                  ["flows", "agent sends us", "controller us", "agent receives us", "together p50 us", "p99 us"],
                  [[f"{each['flows']:,}", *(number(each[f"{part}_us"]) for part in PARTS), number(each["p50_us"]), number(each["p99_us"])]
                   for each in select(samples, step="controller")])]


def marks(samples):
    return [*(mark(f"limiter beside {each['limiters']:,}, p50", each["p50_us"], LIMITER_US_MOST, " us") for each in select(samples, step="limiter")),
            *(mark(f"with the controller, {each['flows']:,} flows, p50 (Pulsar's time)", each["p50_us"], CONTROLLER_US_MOST, " us")
              for each in select(samples, step="controller"))]


def main():
    options = parser("flow_setup", __doc__, rounds=2000).parse_args()
    prepare()
    record = Record(options)
    record.samples = flat(json.loads(run(tool("bench/control/flow-setup-bench"), str(options.rounds), timeout=300)))
    finish(record, "bench.control.flow_setup")


if __name__ == "__main__":
    main()

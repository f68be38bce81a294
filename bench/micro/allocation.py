#!/usr/bin/env python3
"""allocation.py - ctrl/alloc alone: milliseconds of one core per allocation, by flows, load and active part.

Source: Pulsar 6.4.
"""
import math
import re

from bench.lib import micro
from bench.lib.figures import select
from bench.lib.report import Table, mark, number

MS_MOST = {  # of one core
    "drf/vms:24000/load:100/active:100": 5,
    "hdrf/vms:24000/load:100/active:100": 100,
    "drf/vms:1000008/load:100/active:100": 600,
    "cold/vms:1000008/load:100/active:100": 600,
}
MS_WISHED = {"hdrf/vms:24000/load:100/active:100": 20}
MECHANISMS = ("drf", "hdrf")
ACTIVE = (20, 40, 60, 80, 100)  # %
VMS = (6000, 12000, 18000, 24000)


def parts(name):
    """('drf', 24000, 100, 100) of 'drf/vms:24000/load:100/active:100'."""
    match = re.fullmatch(r"(\w+)/vms:(\d+)/load:(\d+)/active:(\d+)", name)
    return match[1], int(match[2]), int(match[3]), int(match[4])


def milliseconds(samples, mechanism, vms, active):
    return micro.one(samples, f"{mechanism}/vms:{vms}/load:100/active:{active}", "ms_per_solve")


def growth(samples, mechanism):
    """([(flows, ms)] at full load, the exponent from the least to the greatest)."""
    series = sorted((int(sample["flows"]), sample["ms_per_solve"]) for sample in samples
                    if parts(sample["name"])[0] == mechanism and parts(sample["name"])[2:] == (100, 100))
    if len(series) < 2:
        return series, None
    return series, math.log(series[-1][1] / series[0][1]) / math.log(series[-1][0] / series[0][0])


def tables(samples):
    every = Table("One allocation (medians; the thread's own time)", ["", "flows", "resources", "ms", "ns a flow"],
                  [[sample["name"], f"{sample['flows']:,.0f}", f"{sample['resources']:,.0f}", number(sample["ms_per_solve"], 3),
                    number(1e6 * sample["ms_per_solve"] / sample["flows"], 1)]
                   for sample in sorted(samples, key=lambda each: parts(each["name"]))])
    by_activity = [Table(f"{mechanism}, ms, by VMs and active part of them", ["", *(f"{active} % active" for active in ACTIVE)],
                         [[f"{vms:,} VMs", *(number(milliseconds(samples, mechanism, vms, active)) for active in ACTIVE)] for vms in VMS])
                   for mechanism in MECHANISMS]
    exponents = Table("Time grows as flows to the power of", ["", "exponent"],
                      [[mechanism, number(growth(samples, mechanism)[1])] for mechanism in MECHANISMS])
    return [every, *by_activity, exponents, *micro.beside(samples, ("ms_per_solve",))]


def marks(samples):
    def found(name):
        case = select(samples, name=name)
        return case[0]["ms_per_solve"] if case else None
    return [*(mark(name, found(name), most, " ms") for name, most in MS_MOST.items()),
            *(mark(f"{name}, wished", found(name), most, " ms") for name, most in MS_WISHED.items())]


if __name__ == "__main__":
    micro.main("allocation", __doc__, "alloc-bench", repetitions=5)

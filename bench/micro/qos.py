#!/usr/bin/env python3
"""qos.py - vswitch/qos alone: buckets, wheel, destination limits, receiver and schedulers, by their numbers."""
from bench.lib import micro
from bench.lib.micro import quotient
from bench.lib.report import Table, mark, number

# The cost with many limiters or vNICs over that with few: title -> (above, below, counter, at most or None).
RATIOS = {
    "wheel, 100,000 limiters / 1": ("wheel/100000", "wheel/1", "cycles_per_packet", 1.25),
    "wheel with one total rate, 100,000 limiters / 1": ("wheel_same_rate/100000", "wheel_same_rate/1", "cycles_per_packet", None),
    "destination limits of one rate each, 10,000 / 1": ("limiters_each/10000", "limiters_each/1", "cycles_per_packet", 1.10),
    "destination limits with one total rate, 10,000 / 1": ("limiters/10000", "limiters/1", "cycles_per_packet", None),
    "destination limits with one total rate, 10,000 / 100": ("limiters/10000", "limiters/100", "cycles_per_packet", None),
    "wrr, 1,000 backlogged vNICs / 1": ("backlogged/busy:1000/reserved:0", "backlogged/busy:1/reserved:0", "cycles_per_packet", None),
    "fulfillment, 1,000 backlogged vNICs / 1": ("fulfillment/busy:1000/promised:400", "fulfillment/busy:1/promised:400", "decision_ns", 1.50),
}
RECEIVER_NS_MOST = 15  # meter, sender table, division and feedback together, per received frame of 64 bytes
PERIOD_NS_MOST = 2000   # of a worker's work in each 200 us, with 500 vNICs
DECISION_NS_MOST = {"fulfillment/": 20, "rls/": 40}  # per packet, with 1 to 1,000 backlogged vNICs


SPREADS = {"wheel": "wheel", "destination limits of one rate each": "limiters_each", "destination limits with one total rate": "limiters"}


def spread(samples, case):
    """The most cycles over the least, of all numbers of limiters; None where there is no case."""
    cycles = [sample["cycles_per_packet"] for sample in samples if sample["name"].startswith(f"{case}/")]
    return max(cycles) / min(cycles) if cycles else None


def tables(samples):
    keys = ("cycles_per_packet", "cycles_per_vnic", "ns_per_packet", "decision_ns", "period_ns")
    return [Table("Alone, in loops with warm caches (medians)", ["", "cycles per packet", "cycles per vNIC", "ns per packet", "ns per decision", "ns per 200 us"],
                  [[sample["name"], *(number(sample.get(key), 1) for key in keys)] for sample in sorted(samples, key=lambda each: each["name"])]),
            Table("Many over few", ["", "ratio"],
                  [[title, number(quotient(samples, above, below, key))] for title, (above, below, key, _) in RATIOS.items()] +
                  [[f"{title}, the most over the least of all numbers", number(spread(samples, case))] for title, case in SPREADS.items()]),
            *micro.beside(samples, keys)]


def marks(samples):
    found = [mark(title, quotient(samples, above, below, key), most, " x") for title, (above, below, key, most) in RATIOS.items() if most]
    for sample in sorted(samples, key=lambda each: each["name"]):
        if "ns_per_packet" in sample:
            found.append(mark(sample["name"], sample["ns_per_packet"], RECEIVER_NS_MOST, " ns"))
        if "period_ns" in sample and "/vnics:500" in sample["name"]:
            found.append(mark(sample["name"], sample["period_ns"], PERIOD_NS_MOST, " ns"))
        found += [mark(sample["name"], sample["decision_ns"], most, " ns")
                  for beginning, most in DECISION_NS_MOST.items() if sample["name"].startswith(beginning)]
    return found


if __name__ == "__main__":
    micro.main("qos", __doc__, "qos-bench", repetitions=11)

#!/usr/bin/env python3
"""workers.py - two workers over one, with a vNIC each or with queue pairs of one vNIC, and the exactness of that vNIC's limit.

Before `spread` all queue pairs of a vNIC were on one worker: the first row is that.
"""
from bench.lib import micro
from bench.lib.micro import quotient
from bench.lib.report import Table, mark, number

ROWS = {"one": "one worker, both queue pairs of a vNIC", "apart": "two workers, a vNIC each", "spread": "two workers, a queue pair each of one vNIC"}
SPREAD_LEAST = 1.9   # x one worker
ERROR_MOST = 0.5     # %


def over_one(samples, shape):
    return quotient(samples, f"forward/{shape}", "forward/one", "packets_per_us")


def tables(samples):
    forward = Table("Frames of 64 bytes from VM to VM, limits that do not bind (medians)", ["", "packets per us", "over one worker"],
                    [[title, number(micro.one(samples, f"forward/{shape}", "packets_per_us"), 2), number(over_one(samples, shape), 2)]
                     for shape, title in ROWS.items()])
    limit = Table("A limit of 1 Gbit/s, frames of 64 bytes: the largest error of 100 ms, % (medians)", ["", "error"],
                  [[ROWS[shape], number(micro.one(samples, f"limit/{shape}", "error_percent"), 3)] for shape in ("one", "spread")])
    return [forward, limit]


def marks(samples):
    return [mark("two workers with queue pairs of one vNIC over one", over_one(samples, "spread"), SPREAD_LEAST, " x", least=True),
            mark("the limit of a vNIC on two workers, in 100 ms", micro.one(samples, "limit/spread", "error_percent"), ERROR_MOST, " %")]


if __name__ == "__main__":
    micro.main("workers", __doc__, "workers-bench", repetitions=11)

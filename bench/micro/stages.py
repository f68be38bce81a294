#!/usr/bin/env python3
"""stages.py - cycles per frame of each stage of the poll loop, alone and warm, beside those of a whole turn."""
from bench.lib import micro
from bench.lib.report import Table, mark, number

SIZES = (64, 512, 1500)
IDLE = (1, 16, 256)
SAMPLED = (16, 64)
TURN_OVER_STAGES_MOST = 1.5     # a turn without rings over classifying and delivering: limits, billing, counters
# title -> case
STAGES = {"classify: checks, look-up, size": "classify", "deliver: to the port of a VM": "deliver",
          "a whole turn from VM to VM, without rings": "turn"}


def cycles(samples, case):
    return micro.one(samples, case, "cycles_per_frame")


def over_stages(samples):
    """A turn's cycles over those of its two stages; None where one was not measured."""
    turn, *parts = (cycles(samples, case) for case in ("turn", "classify", "deliver"))
    return turn / sum(parts) if turn and all(parts) else None


def tables(samples):
    rings = Table("A VM's ring, cycles per frame (medians)", ["", *(f"{size} B" for size in SIZES)],
                  [[title, *(number(cycles(samples, f"{case}/bytes:{size}"), 1) for size in SIZES)]
                   for title, case in (("take: descriptors checked, bytes copied into buffers", "take"),
                                       ("put: bytes copied into the guest's buffers", "put"))])
    stages = Table("Stages behind it, cycles per frame of 64 bytes (medians)", ["", "cycles"],
                   [[title, number(cycles(samples, case), 1)] for title, case in STAGES.items()])
    idle = Table("A turn in which nothing comes, cycles per vNIC (medians)", ["", *(f"{vnics} vNICs" for vnics in IDLE)],
                 [["look at an empty ring, and the turn's part of all else",
                   *(number(cycles(samples, f"idle_turn/vnics:{vnics}"), 1) for vnics in IDLE)]])
    sampled = Table("A sample for the agent's history, once in 1 ms, cycles per command (medians)", ["", *(f"{vnics} vNICs" for vnics in SAMPLED)],
                    [[title, *(number(micro.one(samples, f"sample/vnics:{vnics}/{case}", "cycles_per_command"), 0) for vnics in SAMPLED)]
                     for title, case in (("counters in the cache", "cold:0"), ("counters in memory", "cold:1/iterations:200"))])
    return [rings, stages, idle, sampled]


def marks(samples):
    return [mark("a turn without rings over its stages", over_stages(samples), TURN_OVER_STAGES_MOST, " x")]


if __name__ == "__main__":
    micro.main("stages", __doc__, "stages-bench", repetitions=11)

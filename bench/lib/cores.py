"""cores.py - the distance of the switch's core and its load's: near where the two share a cache, far where they do not.

A hypervisor moves virtual cores, at times several times a minute: a cache line takes some 100 ns to the other core and back where the two
share a cache, 400 to 550 ns where they do not. Figures taken at different distances are not compared.
"""
import time

from bench.lib.host import LOAD_CORE, SWITCH_CORE, run, tool

NEAR, FAR = DISTANCES = ("near", "far")
NEAR_NS = 200       # a round trip of a cache line that is shorter is near
TRIES = 3           # of a stretch during which the cores move
PATIENCE_S = 1.0    # waited for a wanted distance


def distance():
    """NEAR or FAR, by a cache line's round trip between the two cores."""
    return NEAR if float(run(tool("bench/raw/core-distance"), str(LOAD_CORE), str(SWITCH_CORE))) < NEAR_NS else FAR


def wait_for(wanted):
    """The distance, as soon as it is one of those wanted, or after PATIENCE_S."""
    end = time.monotonic() + PATIENCE_S
    while (found := distance()) not in wanted and time.monotonic() < end:
        time.sleep(0.05)
    return found


def steadily(measure, wanted=DISTANCES, moved=lambda reason: None):
    """Repeats `measure` until the cores stay at a wanted distance during it, at most TRIES times.

    @param moved called with the reason for every try during which the cores moved
    @return (distance, the result of `measure`) of the first try at a wanted distance, else of the first at the other distance;
            None where the cores moved in every try
    """
    kept = None
    for _ in range(TRIES):
        before = wait_for(wanted)
        found = measure()
        after = distance()
        if after != before:
            moved(f"the cores moved from {before} to {after}")
            continue
        if before in wanted:
            return before, found
        kept = kept or (before, found)
    return kept

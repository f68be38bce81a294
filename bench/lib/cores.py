"""cores.py - how far the switch's core and its load's are from each other.

A hypervisor moves virtual cores about, at times several times a minute: a cache line goes to the other core and back in some 100 ns
where the two share a cache, and in several times that where they do not. Figures taken at different distances are not compared.
"""
import time

from lib.host import LOAD_CORE, SWITCH_CORE, run, tool

NEAR, FAR = KINDS = ("near", "far")
NEAR_NS = 200
TRIES = 3
PATIENCE_S = 1.0  # to wait for a distance


def distance():
    """In a word, by a cache line's way to the other core and back."""
    return NEAR if float(run(tool("bench/raw/core-distance"), str(LOAD_CORE), str(SWITCH_CORE))) < NEAR_NS else FAR


def wait_for(wanted):
    """The distance, as soon as it is one of those wanted, or after a while."""
    end = time.monotonic() + PATIENCE_S
    while (found := distance()) not in wanted and time.monotonic() < end:
        time.sleep(0.05)
    return found


def steadily(measure, wanted=(NEAR,)):
    """(distance, what `measure` returns) of the first try in which the cores stayed at a distance that is wanted, else of one in which
    they stayed at the other; None where they were moved in every try."""
    kept = None
    for _ in range(TRIES):
        before = wait_for(wanted)
        found = measure()
        if distance() == before:
            kept = kept or (before, found)
            if before in wanted:
                return before, found
    return kept

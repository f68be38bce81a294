"""wait.py - waiting for a condition, and the one bound of all waiting: the only way in which tests and the demo wait.

BOUND_SECONDS is 60 times WEIR_PATIENCE, which sanitizers, valgrind and slow machines raise above 1. A condition
is noticed as soon as it is true, so that the length of the bound costs no time.
"""

import os
import time

SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.02


def patience():
    """The multiplier in WEIR_PATIENCE."""
    text = os.environ.get("WEIR_PATIENCE", "1")
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise SystemExit(f"WEIR_PATIENCE: found '{text}', allowed: a number above 0; it multiplies the 60 s that a test waits")
    return value


BOUND_SECONDS = 60 * patience()


def until(condition, what, after=0):
    """Polls `condition` until it is true and returns its value. Not true within the bound is a TimeoutError that names
    `what`; `after`: seconds that pass in any case before it can come true."""
    bound = after + BOUND_SECONDS
    deadline, pause = time.monotonic() + bound, SHORTEST_PAUSE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {bound:g} s (WEIR_PATIENCE multiplies the 60 s)")
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)

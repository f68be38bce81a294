"""wait.py - waiting for a condition: the only way in which tests and the demo wait."""

import time

POLL_SECONDS = 0.02


def until(condition, seconds, what):
    """Polls `condition` until it is true and returns its value; after `seconds` a TimeoutError that names `what`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(POLL_SECONDS)

"""span.py - rates between two readings of the switch's counters, as bounds that a slow machine cannot falsify."""

import time

from wait import until


class Reading:
    """All vNICs' counters, and between which two moments they were read."""

    def __init__(self, switch):
        self.before = time.monotonic()
        self.vnics = {vnic["name"]: vnic for vnic in switch.ctl("vnic", "list")["vnics"]}
        self.after = time.monotonic()


class Span:
    """The packets and bytes that passed in some `seconds`."""

    def __init__(self, switch, seconds=2.0):
        self.first = Reading(switch)
        until(lambda: time.monotonic() - self.first.after > seconds, "time passing", seconds)
        self.last = Reading(switch)

    def amount(self, name, unit="bytes", direction="from_vm", kind="delivered"):
        return self.last.vnics[name][direction][kind][unit] - self.first.vnics[name][direction][kind][unit]

    def rate(self, name, unit="bytes", **which):
        """(at least, at most) units per second."""
        amount = self.amount(name, unit, **which)
        return amount / (self.last.after - self.first.before), amount / (self.last.before - self.first.after)


def reach_rate(switch, names, unit, at_least, at_most):
    """These vNICs' delivered frames together, in `unit` (bits or packets) per second: never above `at_most`, and at
    `at_least` in one second, because a busy machine takes the workers' time away."""
    scale, counter = (8, "bytes") if unit == "bits" else (1, unit)

    def reached():
        span = Span(switch, 1.0)
        low, high = (scale * sum(column) for column in zip(*(span.rate(name, counter) for name in names)))
        if low >= at_most:
            raise AssertionError(f"{names}: {low:g} {unit}/s at least, allowed below {at_most:g}")
        return high > at_least
    until(reached, f"{names} reaching {at_least:g} {unit}/s")

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
    """What passed in some `seconds`."""

    def __init__(self, switch, seconds=2.0):
        self.first = Reading(switch)
        until(lambda: time.monotonic() - self.first.after > seconds, seconds + 5, "time passing")
        self.last = Reading(switch)

    def amount(self, name, unit="bytes", direction="from_vm", kind="delivered"):
        return self.last.vnics[name][direction][kind][unit] - self.first.vnics[name][direction][kind][unit]

    def rate(self, name, unit="bytes", **which):
        """(at least, at most) units per second."""
        amount = self.amount(name, unit, **which)
        return amount / (self.last.after - self.first.before), amount / (self.last.before - self.first.after)

"""stepped.py - a weir-switch and a weir-ctrl whose time stands still but for step(): exact counts of real processes."""

from controller import Controller
from processes import Process
from switch import Switch


class Stepped:
    """The part of both: the option, and the command that moves the clock."""

    def launch(self):
        self.process = Process([self.PROGRAM, "--config", self.write(), "--clock", "stepped"], self.log, nice=self.NICE)
        return self

    def step(self, span, *options):
        """Lets so much time (as in 100ms) pass; the time afterwards, ns."""
        return self.ctl("clock", "step", span, *options)["now_ns"]


class SteppedSwitch(Stepped, Switch):
    """`step(span, "--turn", "100us")`: in poll turns of that length, else of 10 us."""


class SteppedController(Stepped, Controller):
    pass

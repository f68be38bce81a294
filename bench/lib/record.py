"""record.py - the samples of a bench with the cores' distance, and the stretches that were left out with the reason.

A *visit* is one start of a system with its generator, a *stretch* one measured piece of time within a visit. Both are numbered in the order of
time, and each sample carries the two numbers, by which reports find its neighbors.
"""
from bench.lib.cores import DISTANCES, steadily
from bench.lib.host import Place, progress
from bench.lib.system import session


def _line_of(sample):
    """The sample's words and numbers as a line of progress."""
    shown = {key: value for key, value in sample.items() if isinstance(value, (int, float, str)) and key not in ("visit", "stretch")}
    return ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in shown.items())


class Record:
    def __init__(self, options):
        self.options = options
        self.samples = []
        self.dropped = []
        self._visits = self._stretches = 0
        self._common = {}

    def attempt(self, measure, **what):
        """Calls `measure`, all of whose samples carry `what`. A failure ends it and is recorded, not raised."""
        self._visits += 1
        self._common = {"visit": self._visits, **what}
        try:
            measure()
        except (RuntimeError, TimeoutError, OSError) as error:
            self.drop(str(error))

    def visit(self, make, measure, **what):
        """Starts the system that make(place) returns and its generator, calls measure(system, load), stops both."""
        def inside():
            with Place(keep=self.options.keep) as place:
                system = make(place)
                with session(system) as load:
                    measure(system, load)
        self.attempt(inside, **what)

    def stretch(self, measure, wanted=DISTANCES, **what):
        """Calls `measure` while the cores stay at one distance, and adds the dictionary that it returns as a sample.

        @return the sample, or None where the cores moved in every try
        """
        self._stretches += 1
        kept = steadily(measure, wanted, lambda reason: self.drop(reason, **what))
        if kept is None:
            return None
        distance, found = kept
        sample = {**self._common, "stretch": self._stretches, **what, "cores": distance, **found}
        self.samples.append(sample)
        progress(_line_of(sample))
        return sample

    def drop(self, reason, **what):
        """Records that a stretch, or the rest of a visit, was left out."""
        self.dropped.append({**self._common, **what, "reason": reason})
        progress(f"left out: {_line_of(self.dropped[-1])}")

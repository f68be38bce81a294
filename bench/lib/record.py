"""record.py - what a bench measures: samples with the cores' distance, and the stretches that do not count with the reason.

A *visit* is one start of a system with its generator, a *stretch* one measured piece of time within a visit. Each sample carries
the numbers of both (`turn`, `stretch`), by which reports find what was measured just before and just after it.
"""
from bench.lib.cores import DISTANCES, steadily
from bench.lib.host import Place, progress
from bench.lib.system import session


def _in_words(sample):
    """The sample as a line of progress: its words and numbers, without the places in the order."""
    shown = {key: value for key, value in sample.items() if isinstance(value, (int, float, str)) and key not in ("turn", "stretch")}
    return ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in shown.items())


class Record:
    def __init__(self, options):
        self.options = options
        self.samples = []
        self.dropped = []
        self._visits = self._stretches = 0
        self._common = {}

    def attempt(self, measure, **what):
        """Calls `measure`. `what` is part of all its samples; a failure ends it and is recorded, not raised."""
        self._visits += 1
        self._common = {"turn": self._visits, **what}
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
        """Adds the dictionary that `measure` returns as a sample taken at one distance of the cores.

        @return the sample, or None where the cores moved in every try
        """
        self._stretches += 1
        kept = steadily(measure, wanted, lambda reason: self.drop(reason, **what))
        if kept is None:
            return None
        distance, found = kept
        sample = {**self._common, "stretch": self._stretches, **what, "cores": distance, **found}
        self.samples.append(sample)
        progress(_in_words(sample))
        return sample

    def drop(self, reason, **what):
        """Records a stretch that does not count."""
        self.dropped.append({**self._common, **what, "reason": reason})
        progress(f"left out: {_in_words(self.dropped[-1])}")

"""hostile_table.py - the table of attacks: a victim's frames and delays beside each, over those without; marks; rows that are missing.

A sample is one measured stretch of one `part` (floods, guest floods, attacks): with its `attack`, or without any (NONE). A ratio is to the stretches without an
attack that were measured just before and just after it, on cores as far from each other. Pure.
"""
import dataclasses
import math
import statistics

from bench.lib.cores import DISTANCES
from bench.lib.figures import median, select
from bench.lib.report import Table, mark, number

NONE = "none"
WAYS = {"in": "from the wire", "out": "to the wire"}
PERCENT_LEAST = 99.0
P99_RATIO_MOST = 2.0
REACH = 8           # stretches between an attack and one without
FEW = 8             # attacks that have rows of their own; more have a row for each family


@dataclasses.dataclass(frozen=True)
class Row:
    """One attack. `group`: of a flood its kind, of an attack of test/hostile its family."""
    part: str
    name: str
    group: str


def without(samples, sample):
    """The stretches without an attack beside this one, the nearest on either side."""
    alike = select(samples, part=sample["part"], attack=NONE, visit=sample["visit"], cores=sample["cores"])
    before = [each for each in alike if 0 < sample["stretch"] - each["stretch"] <= REACH]
    after = [each for each in alike if 0 < each["stretch"] - sample["stretch"] <= REACH]
    return before[-1:] + after[:1]


def time_of(sample, way, key):
    """A one-way time of the victim's frames, us; infinite where none of them arrived, None where it is not known."""
    return math.inf if sample.get(f"{way}_percent") == 0 else sample.get(f"{way}_{key}")


def ratio(samples, sample, way, key):
    """The sample's time over that without an attack; None where either is not known."""
    found = time_of(sample, way, key)
    beside = [time_of(each, way, key) for each in without(samples, sample)]
    beside = [each for each in beside if each and math.isfinite(each)]
    return found / statistics.fmean(beside) if beside and found is not None else None


@dataclasses.dataclass(frozen=True)
class Way:
    """Medians over the rounds for one way of the victim's frames.

    @param percent of its promised packets that arrive
    @param p50, p99 one-way times, us
    """
    percent: float
    p50: float
    p50_ratio: float
    p99: float
    p99_ratio: float


@dataclasses.dataclass(frozen=True)
class Kept:
    """The victim's figures beside one attack. `cores`: the distance at which it was measured most often; the figures are of it alone."""
    row: Row
    cores: str
    ways: dict
    steps: float
    mpps: float

    @property
    def percent(self):
        return min(way.percent for way in self.ways.values())

    @property
    def p50_ratio(self):
        return max(way.p50_ratio for way in self.ways.values())

    @property
    def p99_ratio(self):
        return max(way.p99_ratio for way in self.ways.values())


def _way(samples, chosen, way):
    figures = [median([each.get(f"{way}_percent") for each in chosen]),
               *(median([of(each) for each in chosen]) for key in ("p50_us", "p99_us")
                 for of in (lambda each, key=key: time_of(each, way, key), lambda each, key=key: ratio(samples, each, way, key)))]
    return None if None in figures else Way(*figures)


def kept(samples, row):
    """The row's figures, or None where one of them is missing. A round in which the switch ended counts alone: no median hides it."""
    found = [each for each in select(samples, part=row.part, attack=row.name) if without(samples, each)]
    found = [each for each in found if each.get("switch_ended")] or found
    if not found:
        return None
    cores = max(DISTANCES, key=lambda distance: len(select(found, cores=distance)))
    chosen = select(found, cores=cores)
    ways = {way: _way(samples, chosen, way) for way in WAYS}
    if None in ways.values():
        return None
    return Kept(row, cores, ways, *(median([each.get(key) for each in chosen]) for key in ("attack_steps", "attack_mpps")))


def rows_of(samples):
    """The rows that were begun, in the order of time."""
    return list(dict.fromkeys(Row(each["part"], each["attack"], each["group"]) for each in samples if each["attack"] != NONE))


def missing(samples, rows):
    """Those of `rows` that have no figures."""
    return [row for row in rows if kept(samples, row) is None]


def _measured(samples):
    """(floods, attacks): the rows that have figures; guest floods are floods."""
    every = [each for each in (kept(samples, row) for row in rows_of(samples)) if each]
    return [each for each in every if each.row.part != "attacks"], [each for each in every if each.row.part == "attacks"]


def _families(every):
    return {family: [each for each in every if each.row.group == family] for family in dict.fromkeys(each.row.group for each in every)}


def times(value, us=None):
    """A ratio as a cell, with the time itself before it."""
    if math.isinf(value):
        return "none arrives"
    return ("" if us is None else f"{us:.1f} us, ") + f"{value:.2f} x"


HEAD = ["from the wire %", "p50", "p99", "to the wire %", "p50", "p99"]


def _cells(ways):
    for way in ways.values():
        yield from (number(way.percent), times(way.p50_ratio, way.p50), times(way.p99_ratio, way.p99))


def _alone(samples, part):
    """The victim's figures without an attack, at the distance at which most such stretches were measured: the times that the others are over."""
    every = select(samples, part=part, attack=NONE)
    cores = max(DISTANCES, key=lambda distance: len(select(every, cores=distance)))
    of = select(every, cores=cores)
    ways = {way: Way(*(median([each.get(f"{way}_{key}") for each in of]) for key in ("percent", "p50_us")), 1.0,
                     median([each.get(f"{way}_p99_us") for each in of]), 1.0) for way in WAYS}
    return Kept(Row(part, NONE, "-"), cores, ways, None, None)


def _table_each(title, kind, every, count, alone):
    """One row per attack. @param count the last column but one: (head, its figure of a Kept, digits)"""
    head, of, digits = count
    return Table(title, ["attack", kind, *HEAD, head, "cores"],
                 [[each.row.name, each.row.group, *_cells(each.ways), number(of(each), digits), each.cores] for each in (alone, *every)])


def _table_of_families(title, every, alone):
    rows = [[NONE, "-", number(alone.percent), "-", times(1.0, max(way.p50 for way in alone.ways.values())), "-",
             times(1.0, max(way.p99 for way in alone.ways.values())), "-", "-"]]
    for family, members in _families(every).items():
        least = min(members, key=lambda each: each.percent)
        p50 = max(members, key=lambda each: each.p50_ratio)
        p99 = max(members, key=lambda each: each.p99_ratio)
        rows.append([family, len(members), number(least.percent), least.row.name, times(p50.p50_ratio), p50.row.name, times(p99.p99_ratio),
                     p99.row.name, f"{sum(each.steps for each in members):.0f}"])
    return Table(title, ["family", "attacks", "arrives, least %", "during", "p50, most", "during", "p99, most", "during", "steps"], rows)


def tables(samples):
    """A table of floods, and one of the attacks of a guest: each, or the worst of each family where there are many."""
    floods, attacks = _measured(samples)
    made = []
    if floods:
        made.append(_table_each("Floods: the part of the victim's promised packets that arrives, and its one-way times beside those without an attack",
                                "kind", floods, ("attackers Mpps", lambda each: each.mpps, 2), _alone(samples, floods[0].row.part)))
    if len(attacks) > FEW:
        made.append(_table_of_families("A guest that breaks the rules: the worst of each family, of both ways", attacks, _alone(samples, "attacks")))
    elif attacks:
        made.append(_table_each("A guest that breaks the rules", "family", attacks, ("steps", lambda each: each.steps, 0), _alone(samples, "attacks")))
    return made


def _marks_of(what, share_of, p99_of):
    """@param share_of, p99_of the (words, figure) that are judged"""
    return [mark(f"{what}: frames that arrive{share_of[0]}", share_of[1], PERCENT_LEAST, " %", True),
            mark(f"{what}: p99 over that without{p99_of[0]}", p99_of[1], P99_RATIO_MOST, " x")]


def marks(samples):
    """Two for each row of the tables, of the way that fares worse, behind those of the rows without an attack, which show whether the machine did
    other things."""
    floods, attacks = _measured(samples)
    found = [mark(f"without {words}: frames that arrive", _alone(samples, rows[0].row.part).percent, PERCENT_LEAST, " %", True)
             for words, rows in (("a flood", floods), ("an attack of a guest", attacks)) if rows]
    found += [each for kept_row in (floods if len(attacks) > FEW else floods + attacks)
             for each in _marks_of(kept_row.row.name, ("", kept_row.percent), ("", kept_row.p99_ratio))]
    for family, members in (_families(attacks) if len(attacks) > FEW else {}).items():
        least = min(members, key=lambda each: each.percent)
        most = max(members, key=lambda each: each.p99_ratio)
        found += _marks_of(f"family {family}", (f" ({least.row.name})", least.percent), (f" ({most.row.name})", most.p99_ratio))
    return found

"""claims.py - the claims of a page: each is a figure and its bound, and the verdict follows from the two.

A page ends with the table of its claims and the list of figures not reproduced: the claims whose verdict is MISSED, each with the reason,
and the paper's figures that were not tried.
"""
import dataclasses
import math
import textwrap

from bench.lib.report import verdict

COLUMNS = 150  # of a line of prose
WORDS = {"<=": "at most ", ">=": "at least ", "<": "below ", "is": ""}


@dataclasses.dataclass(frozen=True)
class Claim:
    """A figure beside its bound.

    @param found a number or a text; math.inf is a moment that never came, None is not measured
    @param relation of `found` to `allowed`: <=, >=, < or is
    @param why the reason to print if the bound is not kept
    """
    figure: str
    what: str
    found: object
    allowed: object
    relation: str = "<="
    unit: str = ""
    digits: int = 1
    why: str = ""

    @property
    def verdict(self):
        return verdict(self.found, self.allowed, self.relation)

    def text(self, value):
        if value is None:
            return "-"
        if isinstance(value, str):
            return value
        return "never" if math.isinf(value) else f"{value:,.{self.digits}f}{self.unit}"

    @property
    def bound(self):
        return WORDS[self.relation] + self.text(self.allowed)


def table(claims):
    """The claims with their verdicts, as Markdown."""
    rows = [f"| {claim.figure} | {claim.what} | {claim.text(claim.found)} | {claim.bound} | {claim.verdict} |" for claim in claims]
    return "\n".join(["| figure | what | found | bound | verdict |", "|---|---|---:|---:|---|", *rows])


def missed(claims):
    """The lines of "Not reproduced" that follow from verdicts."""
    items = [f"- **{claim.figure}, {claim.what}**: {claim.text(claim.found)} instead of {claim.bound}. {claim.why}".rstrip()
             for claim in claims if claim.verdict == "MISSED"]
    return "\n".join(textwrap.fill(item, COLUMNS, subsequent_indent="  ", break_on_hyphens=False) for item in items) or "- Of the claims above: nothing."


def counted(claims):
    """How many claims have which verdict, as a phrase."""
    verdicts = [claim.verdict for claim in claims]
    return ", ".join(f"{verdicts.count(each)} {each}" for each in dict.fromkeys(verdicts))

"""report.py - tables as Markdown, marks against targets, and the JSON of a bench.

A bench is a module with tables(samples) and marks(samples); the samples of one call are of one distance of the cores, so that near and far
cores never share a table. A mark's verdict is computed here from the figure found and the figure allowed.
"""
import collections
import dataclasses
import importlib
import json
import math
import operator
import pathlib
import textwrap

from bench.lib.cores import DISTANCES
from bench.lib.figures import quartiles
from bench.lib.host import machine, progress


LINE_COLUMNS = 130   # of prose in a page


@dataclasses.dataclass
class Table:
    title: str
    head: list
    rows: list

    def markdown(self):
        """Title and table, aligned so that it can be read in a terminal too."""
        cells = [self.head, *[[str(cell) for cell in row] for row in self.rows]]
        widths = [max(map(len, column)) for column in zip(*cells)]

        def line(row):
            return "| " + " | ".join([row[0].ljust(widths[0]), *[cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]]) + " |"

        ruler = "|" + "|".join(["-" * (widths[0] + 2), *["-" * (width + 1) + ":" for width in widths[1:]]]) + "|"
        return "\n".join([f"{self.title}:", "", line(cells[0]), ruler, *map(line, cells[1:])])


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def number_or_doubt(pair, digits=2):
    """A (value, doubtful) of figures.py; a question mark stands for doubtful."""
    value, doubtful = pair
    return number(value, digits) + (" ?" if doubtful else "")


def with_quartiles(values, digits=1):
    low, middle, high = quartiles(values)
    return number(middle, digits) if low == high else f"{middle:.{digits}f} ({low:.{digits}f}..{high:.{digits}f})"


RELATIONS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, "is": operator.eq}


def verdict(found, allowed, relation="<="):
    """The one place where a figure is judged: met, MISSED, or not measured where `found` is None.

    @param relation of found to allowed: a key of RELATIONS
    """
    if found is None:
        return "not measured"
    return "met" if RELATIONS[relation](found, allowed) else "MISSED"


def mark(what, found, allowed, unit="", least=False, digits=2):
    """A measured figure beside its target and the verdict.

    @param found None where nothing was measured
    @param least the figure is to be at least `allowed`, not at most
    """
    return {"what": what, "found": found, "allowed": allowed, "least": least, "unit": unit, "digits": digits,
            "verdict": verdict(found, allowed, ">=" if least else "<=")}


def marks_table(marks):
    """The figure found, the figure allowed and the verdict, one mark a row."""
    rows = [[each["what"], number(each["found"], each["digits"]) + each["unit"],
             f"{'>=' if each['least'] else '<='} {each['allowed']:g}{each['unit']}", each["verdict"]] for each in marks]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in collections.Counter(each["verdict"] for each in marks).items())
    return Table(f"Against the targets ({counts})", ["what", "found", "allowed", "verdict"], rows)


def by_distance(samples):
    """[(distance, its samples)], near before far; None is the distance of benches that use one core."""
    parts = [(distance, [sample for sample in samples if sample.get("cores") == distance]) for distance in (*DISTANCES, None)]
    return [(distance, part) for distance, part in parts if part]


def parts_of(bench, samples):
    """by_distance(); all samples in one part for a bench with CORES_ARE_OF_ROWS, each of whose rows is of one distance and names it."""
    return [(None, samples)] if getattr(bench, "CORES_ARE_OF_ROWS", False) and samples else by_distance(samples)


def marks_of(bench, samples):
    """The marks of every distance that were measured at it."""
    return [{**each, "cores": distance} for distance, part in parts_of(bench, samples) for each in bench.marks(part) if each["found"] is not None]


def tables_of(bench, samples, family=None):
    """All tables of a bench: those of near cores with their marks, then those of far cores with theirs. Each names the processor's family."""
    tables = []
    for distance, part in parts_of(bench, samples):
        marks = marks_of(bench, part)
        on = ", ".join(filter(None, (f"{distance} cores" if distance else None, family)))
        tables += [dataclasses.replace(table, title=table.title + (f"; {on}" if on else ""))
                   for table in [*bench.tables(part), *([marks_table(marks)] if marks else [])]]
    return tables


def finite(content):
    """The same with null for infinite numbers, which JSON does not have."""
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and math.isinf(content) else content


def finish(record, module):
    """Prints the tables of the recorded samples, with options.json the JSON instead, and writes everything to options.output.

    @param module the bench's full name, e.g. bench.system.latency
    """
    bench = importlib.import_module(module)
    on = machine()
    text = "\n\n".join(table.markdown() for table in tables_of(bench, record.samples, on.get("family")))
    content = {"schema": 2, "module": module, "machine": on, "options": vars(record.options),
               "marks": marks_of(bench, record.samples), "samples": record.samples, "dropped": record.dropped,
               "table": text.splitlines()}
    written = json.dumps(finite(content), indent=1) + "\n"
    print(written if vars(record.options).get("json") else f"\n{text}")
    path = pathlib.Path(record.options.output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written)
    progress(f"written: {path}")


def _rounds(measured):
    """The rounds of a bench with a Record and the stretches that it left out; empty for other benches."""
    options = measured.get("options", {})
    if "rounds" not in options:
        return ""
    left_out = f", {len(measured['dropped'])} stretches left out" if measured["dropped"] else ""
    return f"; {options['rounds']} rounds" + (f" of {options['seconds']:g} s" if "seconds" in options else "") + left_out


def origin(measured):
    """The line under a bench's tables: machine, packages, commit, time, rounds; unknown parts are left out."""
    on = measured["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in on.get("packages", {}).items() if version)
    family = f" ({on['family']})" if on.get("family") else ""
    parts = [f"{on['cpu']}{family}, {on['cores']} cores" + (f", Linux {on['kernel']}" if on.get("kernel") else ""), packages,
             f"commit {on['commit'] or 'not recorded'}, {on['time']}"]
    line = "; ".join(filter(None, parts)) + _rounds(measured) + "." + (f" {measured['note']}" if "note" in measured else "")
    return textwrap.fill(line, LINE_COLUMNS, break_long_words=False, break_on_hyphens=False)

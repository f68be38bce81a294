"""report.py - tables for people, JSON for machines, and the marks against the targets."""
import json
import pathlib
import statistics

from lib.host import machine, say


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(title, head, rows):
    """A Markdown table, aligned so that it reads well in a terminal too."""
    cells = [head, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]

    def line(row):
        first = row[0].ljust(widths[0])
        return "| " + " | ".join([first, *[cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]]) + " |"

    rule = "|" + "|".join(["-" * (widths[0] + 2), *["-" * (width + 1) + ":" for width in widths[1:]]]) + "|"
    print("\n".join(["", title, "", line(cells[0]), rule, *map(line, cells[1:])]))


def target(what, found, allowed, unit="", least=False):
    """One line of the issue's list: at most (or at least) `allowed`; not measured counts as not met."""
    met = found is not None and (found >= allowed if least else found <= allowed)
    return {"what": what, "found": found, "allowed": allowed, "least": least, "unit": unit, "met": met}


def print_targets(targets, title="Against the targets"):
    rows = [[each["what"], f"{number(each['found'])}{each['unit']}",
             f"{'>=' if each['least'] else '<='} {each['allowed']:g}{each['unit']}", "met" if each["met"] else "MISSED"]
            for each in targets]
    table(title, ["what", "found", "allowed", ""], rows)


def save(path, bench, options, samples, targets):
    """Writes everything that was measured, with the machine it was measured on."""
    content = {"schema": 1, "bench": bench, "machine": machine(), "options": options, "targets": targets,
               "samples": samples}
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(json.dumps(content, indent=1) + "\n")
    say(f"written: {path}")

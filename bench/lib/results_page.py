#!/usr/bin/env python3
"""results_page.py - fills the marked blocks of README.md and docs/results/*.md with the tables of measured JSON files.

    bench/run.sh results [FOLDER]     default: the build folder, where benches write NAME.json

A block begins with `<!-- results:NAME -->` and ends with `<!-- /results -->`, and in docs/results it has the newest figures of each family of
processors (families.py); it stays as it is where there is no JSON, or where the JSON is of
no commit: measured with changes, or outside of a clone. A page with a template beside its bench (bench/system/NAME.md.in) is begun with its
first figures, and its text is the template's. A page of a paper, of which most is simulated, has the numbers of its
blocks' verdicts, met and MISSED, between `<!-- measured:count -->` and `<!-- /measured -->`, and the rows that missed, as a list, behind
`<!-- measured:open -->`.
"""
import dataclasses
import importlib
import json
import pathlib
import re
import sys
import textwrap

from bench import demo_view
from bench.lib import families, summary
from bench.lib.host import BUILD, ROOT
from bench.lib.report import origin, tables_of

FOLDER = ROOT / "docs" / "results"
PAGES = (ROOT / "README.md", *sorted(FOLDER.glob("*.md")))
TEMPLATES = ROOT / "bench" / "system"
COLUMNS = 150
BEGIN = r"<!-- results:([\w-]+) -->"


def wrapped(text):
    """The text with prose of at most COLUMNS in a line; tables and code stay as they are."""
    return "\n".join(line if line.startswith(("|", "    ", "!")) else
                     textwrap.fill(line, COLUMNS, subsequent_indent="  " * line.startswith("- "), break_on_hyphens=False) for line in text.split("\n"))


@dataclasses.dataclass(frozen=True)
class Content:
    """The text of a block, and the family of the processor that it was measured on; None where the JSON has none."""
    text: str
    family: str | None

    def beside(self, old):
        """The block with these figures in place of those that it had of the same family."""
        if self.family is None and families.MARK.search(old):
            return old  # measured before families were recorded: it may be of any of them
        return families.with_part(old, self.family, self.text) if self.family else self.text


def block(folder, name):
    """The Content of a block, or None where NAME.json is missing, or is of no commit."""
    if name == "summary":
        return summary_block(folder)
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    measured = json.loads(path.read_text())
    if not is_of_a_commit(measured):
        return None
    return Content(text_of(name, measured), measured["machine"].get("family"))


def text_of(name, measured):
    """Tables and origin of the content of a bench's JSON."""
    if name == "demo":
        return "\n".join(["```text", demo_view.result_table(measured).strip("\n"), "```", "", origin(measured)])
    if "module" not in measured:
        return wrapped("\n".join([*measured["table"], "", origin(measured)]))
    bench = importlib.import_module(measured["module"])
    tables = tables_of(bench, measured["samples"], measured["machine"].get("family"))
    return wrapped("\n\n".join([*(table.markdown() for table in tables), origin(measured)]))


def is_of_a_commit(measured):
    """Whether the figures are those of a commit: no others are published."""
    on = measured["machine"]
    return bool(on["commit"]) and not on.get("changed")


def without_blocks(text):
    """A page's text beside its blocks."""
    return re.sub(rf"{BEGIN}.*?<!-- /results -->", "", text, flags=re.DOTALL)


def blocks(text):
    """{name: content} of a page's blocks."""
    return dict(re.findall(rf"{BEGIN}\n(.*?)\n?<!-- /results -->", text, re.DOTALL))


def summary_block(folder):
    """The README's table, or None where one of its benches was not measured, or not all at one commit on one family of processors."""
    paths = {name: folder / f"{name}.json" for name in summary.BENCHES}
    measured = {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}
    if not all(map(is_of_a_commit, measured.values())):
        return None
    table = summary.table(measured)
    if table is None:
        return None
    return Content("\n\n".join([table.markdown(), origin(measured["forwarding"])]), measured["forwarding"]["machine"].get("family"))


def filled(text, content_of):
    """The page with every block replaced by content_of(its name), unless that is None."""
    def replaced(found):
        content = content_of(found[1])
        return found[0] if content is None else f"<!-- results:{found[1]} -->\n{content}\n<!-- /results -->"
    return summarized(re.sub(rf"{BEGIN}\n.*?<!-- /results -->", replaced, text, flags=re.DOTALL))


def measured_verdicts(text):
    """(cells before the verdict, verdict) of each judged row in a page's blocks, by the figures measured last."""
    rows = [re.findall(r"^\| (.+?) \| +(met|MISSED) \|$", families.newest(content), re.MULTILINE) for content in blocks(text).values()]
    return [([cell.strip() for cell in cells.split(" | ")], verdict) for row in rows for cells, verdict in row]


def summarized(text):
    """The page with `<!-- measured:count -->` and `<!-- measured:open -->` followed by the numbers of its blocks' verdicts and the rows that missed."""
    verdicts = measured_verdicts(text)
    missed = [cells for cells, verdict in verdicts if verdict == "MISSED"]
    parts = {"count": f"{len(verdicts) - len(missed)} met, {len(missed)} MISSED",
             "open": "\n".join(wrapped(f"- **{', '.join(what)}**: {found} instead of {allowed}.") for *what, found, allowed in missed)}
    for name, content in parts.items():
        between = "\n" if name == "open" else ""
        text = re.sub(rf"(<!-- measured:{name} -->).*?(<!-- /measured -->)", lambda found: between.join([found[1], content, found[2]]),
                      text, flags=re.DOTALL)
    return text


def begun():
    """{page: its template} of the pages whose text is a template's, those that are not there yet too."""
    return {FOLDER / template.name.removesuffix(".in"): template for template in sorted(TEMPLATES.glob("*.md.in"))}


def fill(page, template, content_of):
    """Fills the page's blocks, in its template's text where there is a content for all of them.

    @return {block: its Content, or None where it stays}
    """
    before = (template or page).read_text()
    old = blocks(page.read_text()) if page.exists() else {}
    contents = {name: content_of(name) for name in re.findall(BEGIN, before)}
    keeps_families = page.parent == FOLDER
    written = {name: content.beside(old.get(name, "")) if keeps_families else content.text for name, content in contents.items() if content}
    if not template or all(contents.values()):
        page.write_text(filled(before, written.get))
    return contents


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD
    templates = begun()
    for page in dict.fromkeys((*PAGES, *templates)):
        for name, content in fill(page, templates.get(page), lambda name: block(folder, name)).items():
            print(f"{page.name}: {name}: {'written' if content else 'stays'}")
    print(f"A block stays where {folder} has no JSON of it, or one of no commit: measured with changes. The summary stays, too, where one of\n"
          f"{', '.join(summary.BENCHES)} has no near cores, or is of another commit or family of processors than the others.")


if __name__ == "__main__":
    main()

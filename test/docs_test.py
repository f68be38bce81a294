#!/usr/bin/env python3
"""docs_test.py - the documentation against the code: links, drop reasons, counters, commands, the picture; pages of results name their commits.

Each rule is one test; a fault is one line. The last line is `N passed, N failed`.
"""
import fnmatch
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "test", "support")]

from bench.lib import published, results_page  # noqa: E402  (the paths above come first)
from rules import Unjudged, run  # noqa: E402

PAGES = ("README.md", "CONTRIBUTING.md", "docs", "vswitch", "ctrl", "cost_functions", "bench", "test")
SOURCE_PAGES = ("vswitch/README.md", "vswitch/qos/README.md", "vswitch/datapath/README.md", "ctrl/calibrate/README.md",
                "bench/sim/README.md")
WITH_ROOMS = ("vswitch/qos", "vswitch/datapath")    # their pages name the files of all rooms below

WAY_FILES = 14


def read(name):
    with open(os.path.join(ROOT, name)) as stream:
        return stream.read()


def names(*folders, ending):
    for folder in folders:
        if os.path.isfile(os.path.join(ROOT, folder)):
            yield folder
        for path, _, files in os.walk(os.path.join(ROOT, folder)):
            yield from (os.path.relpath(os.path.join(path, file), ROOT) for file in files if file.endswith(ending))


def anchors(page):
    titles = re.findall(r"^#+ (.*)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def rule_links_lead_somewhere():
    for page in names(*PAGES, ending=".md"):
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)", read(page)):
            place = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
            if not os.path.exists(os.path.join(ROOT, place)):
                yield f"{page}: there is no {place}"
            elif anchor and anchor not in anchors(place):
                yield f"{page}: {place} has no heading #{anchor}"


def rule_algorithms_name_tests_and_files_that_exist():
    text = re.sub(r"\s+", " ", read("docs/algorithms.md"))
    tests = {"".join(re.findall(r'"((?:\\.|[^"\\])*)"', literals)) for file in names("test", ending=".cc")
             for literals in re.findall(r'TEST_CASE\(\s*((?:"(?:\\.|[^"\\])*"\s*)+)', read(file))}
    yield from (f'docs/algorithms.md: no test is called "{name}"' for name in re.findall(r'"([^"]*)"', text) if name not in tests)
    yield from (f"docs/algorithms.md: there is no {file}" for file in re.findall(r"`((?:\w+/)+\w+\.\w+)`", text)
                if not os.path.exists(os.path.join(ROOT, file)))


def rule_every_drop_reason_is_explained():
    operations = read("docs/operations.md")
    for reason in re.findall(r'^ *\{"(\w+)", "', read("vswitch/base/drop_reason.h"), re.MULTILINE):
        if f"\n| `{reason}` |" not in operations:
            yield f"docs/operations.md: no row for the drop reason {reason}"


def rule_every_reported_name_is_explained():
    known = {word for code in re.findall(r"`([^`\n]+)`", read("docs/operations.md")) for word in re.findall(r"\w+", code)}
    reports = read("vswitch/agent/report_json.cc") + read("vswitch/agent/report_json_flows.cc")
    for key in sorted(set(re.findall(r'(?:\{|answer\[)"(\w+)"[,\]]', reports))):
        if key not in known:
            yield f"docs/operations.md: `{key}` of the reports is not explained"


def rule_every_command_is_explained():
    operations = read("docs/operations.md")
    rows = re.findall(r"^\| `([^`]*)`", operations, re.MULTILINE)
    commands = re.findall(r'^ +COMMAND\(\w+, +"([\w -]+)"', read("ctrl/cli/commands.h"), re.MULTILINE)
    for command in commands or ["(no command found in ctrl/cli/commands.h)"]:
        if not any(row == command or row.startswith(command + " ") for row in rows):
            yield f"docs/operations.md: no row for weirctl {command}"


def exported_metrics():
    """{name of the samples: type} of the tables of families in the code."""
    endings = {"Counter": "_total", "Gauge": "", "Summary": "", "Info": "_info"}
    families = re.compile(r'\{\s*"(weir_\w+)",\s*(?:metrics::)?Type::k(\w+),')
    sources = names("vswitch/metrics", "ctrl/metrics", "common/metrics", "common/http", ending=(".h", ".cc"))
    code = "".join(re.sub(r"//[^\n]*", "", read(source)) for source in sources)
    code = re.sub(r"Family kConnectionsFamily\{\s*", "Family{", code)
    return {name + endings[kind]: kind.lower() for name, kind in families.findall(code)}


def rule_every_metric_is_explained():
    exported = exported_metrics()
    rows = dict(re.findall(r"^\| `(weir_\w+)` \| (\w+) \|", read("docs/metrics.md"), re.MULTILINE))
    yield from (f"docs/metrics.md: no row for the {kind} {name}" for name, kind in sorted(exported.items()) if name not in rows)
    yield from (f"docs/metrics.md: no program has {name}" for name in sorted(rows) if name not in exported)
    yield from (f"docs/metrics.md: {name} is a {exported[name]}, not a {kind}" for name, kind in sorted(rows.items())
                if exported.get(name, kind) != kind)


def rule_rules_and_dashboards_use_metrics_that_exist():
    exported = exported_metrics()
    for page in [*names("configs/dashboards", "test/dashboards", ending=(".json", ".yml")), "docs/metrics.md"]:
        for name in sorted(set(re.findall(r"(?<![\w:])weir_\w+", read(page))) - set(exported)):
            yield f"{page}: no program has {name}"


def rule_pages_of_source_folders_name_every_file():
    for page in SOURCE_PAGES:
        folder = os.path.dirname(page)
        words = {word for code in re.findall(r"`([^`\n]+)`", read(page)) for word in re.findall(r"[\w*.{,}]+", code)}
        named = {re.sub(r"\.[\w{,}]+$", "", word) for word in words}
        inside = names(folder, ending=(".h", ".cc")) if folder in WITH_ROOMS else (
            file for file in os.listdir(os.path.join(ROOT, folder)) if file.endswith((".h", ".cc")))
        for stem in sorted({os.path.splitext(os.path.basename(file))[0] for file in inside}):
            if not any(fnmatch.fnmatch(stem, name) for name in named):
                yield f"{page}: {stem} is not in the table of files"


def rule_the_way_of_a_frame_and_the_places_exist():
    """docs/architecture.md: at most WAY_FILES files, each once, with their functions; folders that answer `where is it`."""
    page = read("docs/architecture.md")
    way = re.findall(r"^\| \d+ \| `([^`]+)` \| `(\w+)` \|", page, re.MULTILINE)
    if not 0 < len(way) <= WAY_FILES or len({file for file, _ in way}) != len(way):
        yield f"docs/architecture.md: a frame's way has {len(way)} steps; 1 to {WAY_FILES}, each in a file of its own"
    for file, function in way:
        if not os.path.exists(os.path.join(ROOT, file)) or not re.search(rf"\b{function}\(", read(file)):
            yield f"docs/architecture.md: {file} has no function {function}"
    for question, place in re.findall(r"^\| ([^|`]+\?) \| `([^`]+)` \|", page, re.MULTILINE):
        if not os.path.isdir(os.path.join(ROOT, place)):
            yield f"docs/architecture.md: {question}: there is no folder {place}"


def rule_result_blocks_can_be_filled():
    for page in names("README.md", "docs/results", ending=".md"):
        for name, closed in re.findall(r"<!-- results:([\w-]+) -->(?:(?!<!-- results).)*?(<!-- /results -->|\Z)", read(page), re.DOTALL):
            if not closed:
                yield f"{page}: the block results:{name} does not end"
            if name == "summary":                       # of several benches: bench/lib/summary.py
                continue
            bench = name.split("-")[0]  # NAME-PART is one part of a bench's tables
            benches = [f"bench/{folder}/{bench}.py" for folder in ("system", "micro", "control", "papers")] + [f"bench/{bench}.py"]
            if not any(os.path.exists(os.path.join(ROOT, bench)) for bench in benches):
                yield f"{page}: no bench writes results:{name}; looked for {', '.join(benches)}"


def rule_what_is_published_names_a_commit_of_this_history():
    every = published.published()
    silent = set(names("docs/results", ending=".md")) - {each.page for each in every}
    yield from (f"{page}: publishes no block; a page of results has one that names its commit" for page in sorted(silent))
    yield from (f"{each.page}: {each.block} names no commit; `bench/run.sh NAME --publish` writes it" for each in every if each.commit is None)
    if not published.history_is_known():
        raise Unjudged("skipped", "whether the commits that pages name are of this history: git is not here, or has a part of the history alone")
    yield from (f"{each.page}: {each.block} names the commit {each.commit}, which is no ancestor of HEAD" for each in every
                if each.commit and published.age(each.commit) is None)


def rule_nothing_is_published_that_was_not_measured():
    for page in [*names("README.md", "docs", "bench", ending=".md"), *names("bench", ending=".md.in"), *names("bench", ending=".py")]:
        for number, line in enumerate(read(page).split("\n"), start=1):
            if re.search(r"not measured yet|\| *not measured *\|", line, re.IGNORECASE):
                yield f"{page}:{number}: measured or removed; `not measured` is no result"


def rule_verdicts_are_computed_and_not_typed():
    """Neither templates nor the handwritten text of a page of results have a verdict: it stands in a block or in a table of claims."""
    typed = re.compile(r"\b(met|missed|reached|unreached|holds?|confirmed|reproduced)\b", re.IGNORECASE)
    by_hand = {str(page.relative_to(ROOT)): results_page.without_blocks(page.read_text())
               for page in results_page.PAGES if page.parent == results_page.FOLDER and not published.is_generated(page)}
    by_hand |= {page: read(page).replace("{{missed}}", "") for page in names("bench", ending=".md.in")}
    for page, text in by_hand.items():
        beside_headings = re.sub(r"\bnot[\s-]+reproduced\b", "", text, flags=re.IGNORECASE)      # the list that each page ends with
        yield from (f"{page}: '{line.strip()}' has a typed verdict; compute it from the figure and its bound"
                    for line in beside_headings.split("\n") if typed.search(line))


def rule_the_picture_is_true():
    drawing = subprocess.run([sys.executable, os.path.join(ROOT, "docs", "draw_architecture.py"), "--check"],
                             capture_output=True, text=True, check=False)
    if drawing.returncode != 0:
        yield drawing.stdout.strip() or drawing.stderr.strip().split("\n")[-1]


def main():
    return run({name: rule for name, rule in globals().items() if name.startswith("rule_")})


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""published.py - the blocks that README.md and docs/results publish, with the commit that each names, and its age in commits.

    bench/run.sh --stale [--json]     oldest first: commits since then, commit, page, block

A page in virtual time names its commit at its top and counts as the block `page`; the blocks inside of it name their own.
"""
import dataclasses
import json
import math
import re
import subprocess
import sys

from bench.lib import families
from bench.lib.host import ROOT
from bench.lib.results_page import PAGES, blocks, without_blocks

TEMPLATES = ROOT / "bench" / "papers"
WHOLE = "page"


@dataclasses.dataclass(frozen=True)
class Published:
    """A block that has a content, or a whole page in virtual time.

    @param commit that its text names; None where it names none
    """
    page: str
    block: str
    commit: str | None


def is_generated(page):
    """Whether the page is written from a template, all of it."""
    return (TEMPLATES / f"{page.name}.in").exists()


def commit_in(text):
    """The first commit that a text names."""
    found = re.search(r"\bcommit\s+([0-9a-f]{7,40})\b", text)
    return found and found[1]


def published_in(page):
    """[Published] of one page, in its order."""
    text, name = page.read_text(), str(page.relative_to(ROOT))
    whole = [Published(name, WHOLE, commit_in(without_blocks(text)))] if is_generated(page) else []
    parts = [(block, families.parts(content)) for block, content in blocks(text).items()]
    return whole + [Published(name, f"{block} on {family}" if len(of_families) > 1 else block, commit_in(content))
                    for block, of_families in parts for family, content in of_families.items()]


def published():
    return [each for page in PAGES for each in published_in(page)]


def git(*words):
    """(exit status, output) of git in this repository; status 127 where there is no git."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 127, ""
    return done.returncode, done.stdout.strip()


def history_is_known():
    """Whether git has all commits before HEAD, so that a commit can be looked up."""
    return git("rev-parse", "--is-shallow-repository") == (0, "false")


def age(commit):
    """The number of commits since `commit`; None where it is no ancestor of HEAD."""
    if commit is None or git("merge-base", "--is-ancestor", commit, "HEAD")[0] != 0:
        return None
    return int(git("rev-list", "--count", f"{commit}..HEAD")[1])


def oldest_first(every):
    """[(Published, its age)]; an age that is not known is the oldest."""
    ages = [(each, age(each.commit)) for each in every]
    return sorted(ages, key=lambda pair: (-(math.inf if pair[1] is None else pair[1]), pair[0].page, pair[0].block))


def lines(ages):
    yield f"{'commits old':>11}  {'commit':<9} block"
    yield from (f"{'unknown' if old is None else old:>11}  {each.commit or 'none':<9} {each.page}: {each.block}" for each, old in ages)


def main():
    if not history_is_known():
        sys.exit("run.sh --stale: git has no complete history here; ages need a clone that is not shallow (git fetch --unshallow)")
    ages = oldest_first(published())
    if "--json" in sys.argv[1:]:
        rows = [{**dataclasses.asdict(each), "commits_old": old} for each, old in ages]
        print(json.dumps({"schema": 1, "published": rows}, indent=1))
    else:
        print("\n".join(lines(ages)))


if __name__ == "__main__":
    main()

"""rules.py - runs the rules of tidy_test.py and docs_test.py: a line for each with ok, FAILED or skipped, its faults, the sums.

Each of the two has a canary, which runs it on a tree that breaks every rule.
"""
import collections
import re
import subprocess
import sys


class Unjudged(Exception):
    """A rule cannot be judged on this machine: (skipped or FAILED, why)."""


def judge(rule):
    """(word of the verdict, lines to print) of a rule, which is called and gives its faults."""
    faults = []
    try:
        for fault in rule():
            faults.append(fault)
    except Unjudged as reason:
        verdict, why = reason.args
        return "FAILED" if faults else verdict, [*faults, why]
    return ("FAILED", faults) if faults else ("ok", [])


def run(rules):
    """Judges {name: rule} in the order of names, prints, and returns the exit status. A skipped rule is no passed one."""
    verdicts = collections.Counter()
    for name, rule in sorted(rules.items()):
        verdict, lines = judge(rule)
        print(f"{verdict:7}", name.removeprefix("rule_").replace("_", " "))
        print("".join(f"        {line}\n" for line in lines), end="")
        verdicts[verdict] += 1
    if verdicts["skipped"]:
        print(f"{verdicts['skipped']} skipped")
    print(f"{verdicts['ok']} passed, {verdicts['FAILED']} failed")
    return 1 if verdicts["FAILED"] else 0


def run_canary(checker, *words):
    """Runs a checker on its broken tree and prints the verdict on each rule as a canary's. A skipped rule has let the tree pass.

    @param words the checker's arguments
    @return the checker's exit status
    """
    done = subprocess.run([sys.executable, checker, *words], capture_output=True, text=True, check=False)
    verdicts = re.findall(r"^(ok|FAILED|skipped) +(\S.*)$", done.stdout, re.MULTILINE)
    for verdict, rule in verdicts:
        print(f"{verdict:7}canary: {rule}")
    failed = sum(verdict == "FAILED" for verdict, _ in verdicts)
    if not failed or done.returncode == 0:
        print(done.stdout, done.stderr)
    print(f"{len(verdicts) - failed} passed, {failed} failed")
    return done.returncode

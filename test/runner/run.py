#!/usr/bin/env python3
"""run.py - the test command behind test/run.sh: the default tier, or shards of the deep tier with their verdicts.

Exit status: 0 when all that ran has passed, 1 when a test has failed, 2 when nothing could be run. The last line is
`N passed, N failed`.
"""

import argparse
import dataclasses
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import time

import jobs
import verdicts
from suites import DEEP, DEFAULT, FOR_CI, FOR_EVERY_CI, KINDS, POLL

ROOT = jobs.ROOT
SETUP = os.path.join(ROOT, "test", "support", "setup.sh")
LINE_COLUMNS = 150
BUILD = """root=$0; source "$root/test/support/progress.sh"; source "$root/test/support/build.sh"; "$@\""""


class Refused(Exception):
    """The command cannot be carried out; the message has the remedy."""


def parse(words):
    parser = argparse.ArgumentParser(prog="test/run.sh", description="Builds Weir and runs its tests: without options the default tier.",
                                     epilog="suites: " + ", ".join(suite.name for suite in DEFAULT)
                                     + "; shards of --deep: " + ", ".join(suite.name for suite in DEEP))
    parser.add_argument("--only", metavar="SUITE", action="append", default=[], help="this suite of the default tier; may be repeated")
    parser.add_argument("--repeat", metavar="N", type=int, default=1, help="runs the suites N times")
    parser.add_argument("--test", metavar="WORDS", help="with one suite or shard: only tests with WORDS in their names")
    parser.add_argument("--deep", metavar="SHARD", nargs="*", help="these shards of the deep tier, or all; proved shards are not run again")
    parser.add_argument("--again", action="store_true", help="with --deep: also shards that are proved")
    parser.add_argument("--for-ci", action="store_true",
                        help=f"with --deep: {', '.join(FOR_EVERY_CI)}, and the shard whose published verdict is red or the oldest")
    parser.add_argument("--status", action="store_true", help="with --deep: lists the shards that are proved, stale, failed")
    parser.add_argument("--publish", action="store_true", help="with --deep: writes the newest verdicts into test/runner/proved.json")
    options = parser.parse_args(words)
    deep_only = [name for name in ("again", "for_ci", "status", "publish") if getattr(options, name)]
    if options.deep is None and deep_only:
        parser.error(f"--{deep_only[0].replace('_', '-')} needs --deep")
    if options.repeat < 1:
        parser.error(f"--repeat {options.repeat}: at least 1 is needed")
    return options


def pick(table, names, kind):
    """The suites with these names, in the order of the table; all without names."""
    known = {suite.name: suite for suite in table}
    for name in names:
        if name not in known:
            raise Refused(f"unknown {kind} {name}; there are: {', '.join(known)}")
    return [suite for suite in table if not names or suite.name in names]


def divisible(suite):
    """Whether its tests can be run one by one."""
    return all(job.command[0].endswith(("/run.py", "/meson_tests.py", "/fuzz.py")) for job in suite.jobs)


def narrow(suites, words):
    """The suites with their jobs restricted to tests with `words` in their names."""
    if len(suites) != 1:
        raise Refused("--test needs exactly one suite or shard")
    suite = suites[0]
    if not divisible(suite):
        raise Refused(f"the tests of {suite.name} cannot be run one by one: leave out --test")
    narrowed = tuple(dataclasses.replace(job, command=(*job.command, f"--test={words}")) for job in suite.jobs)
    return [dataclasses.replace(suite, jobs=narrowed, canaries=())]


class Run:
    """One run of the command: the hugepages that it reserved are given back at its end."""

    def __init__(self):
        self.rows = []              # of the table at the end
        self.results = []
        self.set_up = False

    def part(self, name, began, counts=("", "", "")):
        self.rows.append((name, *counts, time.monotonic() - began))

    def setup(self, suites):
        needs = sorted({need for suite in suites for need in suite.needs})
        began = time.monotonic()
        if subprocess.run([SETUP, *needs], check=False).returncode != 0:
            sys.exit(2)             # it has printed the reason and the way out
        self.set_up = True
        self.part("install", began)

    def release(self):
        if self.set_up:
            subprocess.run([SETUP, "--release"], check=False)

    def build(self, suites):
        """Builds the programs that the suites run, one ninja for each folder. @return the folders that did not build"""
        bad = set()
        for folder in sorted({suite.folder for suite in suites if suite.folder}):
            began = time.monotonic()
            chosen = [suite for suite in suites if suite.folder == folder]
            path = os.path.join(ROOT, folder)
            good = self.shell("configure", path, KINDS[folder])
            targets = {target for suite in chosen for target in suite.targets}
            for name in sorted({name for suite in chosen for name in suite.tests}) if good else ():
                listed = subprocess.run([sys.executable, os.path.join(ROOT, "test/runner/meson_tests.py"), folder, name, "--list"], cwd=ROOT,
                                        stdout=subprocess.PIPE, text=True, check=False)
                good = good and listed.returncode == 0
                targets |= set(listed.stdout.split())
            if not good or not self.shell("build", path, KINDS[folder], *sorted(targets)):
                bad.add(folder)
            self.part(folder, began)
        return bad

    @staticmethod
    def shell(*words):
        return subprocess.run(["bash", "-c", BUILD, ROOT, *words], check=False).returncode == 0

    def count(self, results):
        self.results += results
        for result in results:
            part = f"{result.suite}, poll lane" if result.lane == POLL else result.suite
            self.rows.append((part, result.passed, result.failed, result.skipped, result.seconds))

    def fail(self, suite):
        self.count([jobs.Result(suite.name, 0, 1, 0, 0.0)])

    def run(self, suites):
        bad = self.build(suites)
        for suite in suites:
            if suite.folder in bad:
                self.fail(suite)
        good = [suite for suite in suites if suite.folder not in bad]
        results = jobs.run([(suite, job) for suite in good for job in suite.jobs])
        self.count(results + jobs.run_canaries(good))
        for result in results:
            if result.failed:
                suite = next(suite for suite in suites if suite.name == result.suite)
                again = f"test/run.sh {'--deep' if suite.paths else '--only'} {suite.name}"
                print(f"to run this again: {again}" + (" --test 'WORDS OF THE TEST'" if divisible(suite) else ""))

    def end(self):
        """Prints times and counts. @return the exit status"""
        print("\n".join(jobs.table(self.rows)))
        slowest = jobs.slowest(self.results)
        if slowest:
            print("slowest tests:", *slowest, sep="\n")
        print(*ages(), sep="\n")
        passed, failed = (sum(getattr(result, name) for result in self.results) for name in ("passed", "failed"))
        print(f"{passed} passed, {failed} failed", flush=True)
        return 1 if failed or not passed else 0


def ages():
    """Lines with the age of the newest verdict of each shard of the deep tier."""
    cells = []
    for suite in DEEP:
        state, verdict = verdicts.state(suite)
        old = verdicts.age(verdict)
        cells.append(f"{suite.name} {'never' if verdict is None else 'unknown' if old is None else old}"
                     + (" FAILED" if verdict and verdict["failed"] else "" if state != "proved" else " (holds)"))
    text = f"commits since the verdicts of --deep: {', '.join(cells)}"
    return textwrap.wrap(text, LINE_COLUMNS, subsequent_indent="    ", break_on_hyphens=False)


def default(run, options):
    suites = pick(DEFAULT, options.only, "suite")
    if options.test:
        suites = narrow(suites, options.test)
    run.setup(suites)
    for number in range(options.repeat):
        if options.repeat > 1:
            print(f"== run {number + 1} of {options.repeat}", flush=True)
        run.run(suites)


def check_tree():
    changed = verdicts.changes()
    if changed is None:
        raise Refused("--deep keeps verdicts by commit, and this is no git checkout: clone the repository")
    if changed:
        raise Refused(f"--deep keeps verdicts by commit, and {len(changed)} paths differ from HEAD: commit or stash them, then run it again")


def show_status(suites):
    print(f"{'shard':<14} {'state':<8} {'passed':>7} {'failed':>7} {'seconds':>8}  {'commit':<14} at")
    for suite in suites:
        state, verdict = verdicts.state(suite)
        cells = [verdict[name] for name in ("passed", "failed", "seconds", "commit", "at")] if verdict else ["", "", "", "", ""]
        print("{:<14} {:<8} {:>7} {:>7} {:>8}  {:<14} {}".format(suite.name, state, *cells))


def shards(options):
    names = [*FOR_EVERY_CI, verdicts.most_wanted(FOR_CI)] if options.for_ci else options.deep
    return pick(DEEP, names, "shard")


def deep(run, options):
    suites = shards(options)
    if options.test:
        suites = narrow(suites, options.test)
    else:
        check_tree()
    for suite in sorted(suites, key=lambda each: not each.bare):
        state, verdict = verdicts.state(suite)
        if state == "proved" and not options.again and not options.test:
            print(f"{suite.name}: proved at {verdict['commit']} ({verdict['passed']} passed), and nothing that it depends on has changed")
            run.count([jobs.Result(suite.name, verdict["passed"], 0, 0, 0.0)])
            continue
        if not suite.bare and not run.set_up:
            run.setup([each for each in suites if not each.bare])
        before, began, judged = len(run.results), time.monotonic(), verdicts.subject(suite.paths)
        run.run([suite])
        passed, failed = (sum(getattr(result, name) for result in run.results[before:]) for name in ("passed", "failed"))
        if not options.test:
            verdicts.keep(suite.name, judged, passed, failed, time.monotonic() - began)


def show(options):
    """Carries out an option that runs nothing. @return whether there was one"""
    if options.status:
        show_status(shards(options))
    elif options.publish:
        print(f"{verdicts.publish(DEEP)} verdicts are in test/runner/proved.json")
    return options.status or options.publish


def lock():
    """The one run of this checkout. The lock ends with its process, however that ends."""
    os.makedirs(jobs.LOGS, exist_ok=True)
    stream = open(os.path.join(jobs.LOGS, "run.lock"), "a+")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.seek(0)
        raise Refused(f"process {stream.read().strip()} runs tests in this checkout: wait for its end, or use another clone") from None
    stream.truncate(0)
    stream.write(str(os.getpid()))
    stream.flush()
    return stream


def main(words):
    options = parse(words)
    run = Run()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if show(options):
            return 0
        with lock():
            (default if options.deep is None else deep)(run, options)
        return run.end() if run.results else 0
    except Refused as refusal:
        print(f"test/run.sh: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        jobs.end_all()
        print("test/run.sh: ended before its time; the next run starts where this one stopped", file=sys.stderr)
        return 130
    finally:
        run.release()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

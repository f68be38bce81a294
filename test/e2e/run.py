#!/usr/bin/env python3
"""run.py - the end-to-end tests of one folder: `run.py process|smoke|rates|guests|installed [--lane=LANE] [--test=WORDS]`.

`--lane=poll`: tests that run poll-mode programs (`POLLS` of their class), `beside`: all others. WORDS: a part of the wanted tests' names.
Needs root and hugepages, which test/run.sh sees to; network and mounts are the program's own. WEIR_BUILD names
the build folder. The last line is `N passed, N failed`, before it stands `N skipped`: a skipped test has not passed.
"""

import argparse
import atexit
import os
import signal
import sys
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "test", "support"), os.path.join(ROOT, "bench", "guest")]


class Report(unittest.TestResult):
    """One line per test, while it goes on."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def line(self, verdict, test):
        title = test.id().rsplit(".", 1)[1].removeprefix("test_").replace("_", " ")
        print(f"{verdict} {title} ({time.monotonic() - self.began:.1f} s)", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line("ok    ", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line("FAILED", test)
        traceback.print_exception(*err, file=sys.stdout)
        if hasattr(test, "diagnosis"):
            print(test.diagnosis(), flush=True)

    addError = addFailure

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line("skipped", test)


def wanted(tests, lane, words):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from wanted(test, lane, words)
        elif words in test.id() and lane in (None, "poll" if getattr(test, "POLLS", True) else "beside"):
            yield test


def parse():
    parser = argparse.ArgumentParser(description="end-to-end tests of one folder")
    parser.add_argument("suite")
    parser.add_argument("--lane", choices=["poll", "beside"])
    parser.add_argument("--test", default="", metavar="WORDS")
    return parser.parse_args()


def prefer():
    """Raises the priority of this process and of those that it starts, whose rates are judged, until its end."""
    from processes import come_first
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    had = come_first(-20)
    if had is not None:
        atexit.register(come_first, had)


def main(options):
    import links
    links.enter_own_namespace()
    if options.suite == "rates":
        prefer()
    found = unittest.defaultTestLoader.discover(os.path.join(HERE, options.suite), pattern="*_test.py")
    report = Report()
    unittest.TestSuite(wanted(found, options.lane, options.test.replace(" ", "_"))).run(report)
    # One that fails, and once more while its switch is stopped, is one.
    failed, skipped = len({test.id() for test, _ in report.failures + report.errors}), len(report.skipped)
    print(f"{skipped} skipped")
    print(f"{report.testsRun - failed - skipped} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(parse()))

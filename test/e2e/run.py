#!/usr/bin/env python3
"""run.py - the end-to-end tests: `run.py process|guests [WORD]`, WORD a part of the wanted tests' names.

Tests that are @timed measure rates of the product as it is shipped: WEIR_SANITIZED=1 skips them.
Needs root and hugepages, which test/run.sh sees to; network and mounts are the program's own. WEIR_BUILD names
the build folder. The last line is `N passed, N failed`, before it stands `N skipped`: a skipped test has not passed.
"""

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


def wanted(tests, word):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from wanted(test, word)
        elif word in test.id():
            yield test


def main(suite, word=""):
    import links
    from processes import come_first
    links.enter_own_namespace()
    # What asks the pollers must come before them; the autogroup is our session's, so it is given back, when ended too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    had = come_first(-20)
    if had is not None:
        atexit.register(come_first, had)
    found = unittest.defaultTestLoader.discover(os.path.join(HERE, suite), pattern="*_test.py")
    report = Report()
    unittest.TestSuite(test for test in wanted(found, word.replace(" ", "_"))).run(report)
    failed, skipped = len(report.failures) + len(report.errors), len(report.skipped)
    print(f"{skipped} skipped")
    print(f"{report.testsRun - failed - skipped} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
"""meson_tests.py - runs a build folder's unit tests of one suite; counts test cases, not programs.

    meson_tests.py FOLDER SUITE [WRAPPER]  builds that suite's programs and runs them, under a command that takes its time
"""

import json
import os
import re
import subprocess
import sys

ALL_PASSED = re.compile(r"All tests passed \([\d ]+assertions? in (\d+) test cases?\)")
SOME_FAILED = re.compile(r"test cases:\s+(\d+)(?:\s+\|\s+(\d+) passed)?(?:\s+\|\s+(\d+) failed)?")

PATIENCE = 10  # times a test's time, under a wrapper


def programs(folder, suite):
    """Build targets of the suite's tests, relative to the build folder."""
    listing = subprocess.run(["meson", "introspect", folder, "--tests"], capture_output=True, text=True, check=True)
    # Meson prints "unit" or "weir:unit", by version.
    tests = [test for test in json.loads(listing.stdout) if suite in [name.split(":")[-1] for name in test["suite"]]]
    built = {os.path.relpath(test["cmd"][0], folder) for test in tests}
    return sorted(name for name in built if not name.startswith(".."))  # an interpreter is not built here


def count(result):
    """(passed, failed) test cases of one program's run; a program that is no Catch2 test counts as one case."""
    output = result.get("stdout", "")
    good = ALL_PASSED.search(output)
    if good and result["result"] == "OK":
        return int(good[1]), 0
    bad = SOME_FAILED.search(output)
    if bad and bad[3]:
        return int(bad[2] or 0), int(bad[3])
    return (1, 0) if result["result"] == "OK" else (0, 1)


def main(folder, suite, wrapper=None):
    names = programs(folder, suite)
    if not names:
        sys.exit(f"meson_tests: {folder} has no tests in suite '{suite}'")
    if subprocess.run(["ninja", "-C", folder, "--quiet", *names], check=False).returncode != 0:
        sys.exit(f"meson_tests: the tests of suite '{suite}' do not build in {folder}")
    under = ["--wrapper", wrapper, "--timeout-multiplier", str(PATIENCE)] if wrapper else []
    subprocess.run(["meson", "test", "-C", folder, "--no-rebuild", "--quiet", "--suite", suite, *under], check=False,
                   stdout=subprocess.DEVNULL)
    passed = failed = 0
    with open(os.path.join(folder, "meson-logs", "testlog.json")) as stream:
        for result in map(json.loads, stream):
            good, bad = count(result)
            passed, failed = passed + good, failed + bad
            print(f"{'ok    ' if not bad else 'FAILED'} {result['name']}: {good} passed, {bad} failed")
            if bad:
                print(result.get("stdout", ""), result.get("stderr", ""), sep="\n")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

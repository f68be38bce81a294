#!/usr/bin/env python3
"""meson_tests.py - runs the programs of one Meson suite of a build folder; counts test cases, not programs.

    meson_tests.py FOLDER SUITE [WRAPPER]         runs them all, under a command that takes its time, such as valgrind
    meson_tests.py FOLDER SUITE --test=WORDS      runs the test cases with WORDS in their names
    meson_tests.py FOLDER SUITE --list            prints the targets to build, one a line

The programs are built already. WEIR_PATIENCE multiplies the time that each may take. The last line is `N passed, N failed`.
"""

import json
import os
import re
import subprocess
import sys

ALL_PASSED = re.compile(r"All tests passed \([\d ]+assertions? in (\d+) test cases?\)")
SOME_FAILED = re.compile(r"test cases:\s+(\d+)(?:\s+\|\s+(\d+) passed)?(?:\s+\|\s+(\d+) failed)?")
SECONDS = 600           # of all chosen test cases of one program
WRAPPED = 10            # times a program's time, under a wrapper
PATIENCE = float(os.environ.get("WEIR_PATIENCE", "1"))


def programs(folder, suite):
    """Build targets of the suite's tests, relative to the build folder."""
    listing = subprocess.run(["meson", "introspect", folder, "--tests"], capture_output=True, text=True, check=True)
    # Meson prints "unit" or "weir:unit", by version.
    tests = [test for test in json.loads(listing.stdout) if suite in [name.split(":")[-1] for name in test["suite"]]]
    built = {os.path.relpath(test["cmd"][0], folder) for test in tests}
    return sorted(name for name in built if not name.startswith(".."))  # an interpreter is not built here


def count(output, good):
    """(passed, failed) test cases of one program's run; a program that is no Catch2 test counts as one case."""
    passed = ALL_PASSED.search(output)
    if passed and good:
        return int(passed[1]), 0
    failed = SOME_FAILED.search(output)
    if failed and failed[3]:
        return int(failed[2] or 0), int(failed[3])
    return (1, 0) if good else (0, 1)


def all_of(folder, suite, wrapper):
    """(name, seconds, good, output) of every test of the suite, run by Meson."""
    patience = PATIENCE * (WRAPPED if wrapper else 1)
    under = ["--wrapper", wrapper] if wrapper else []
    subprocess.run(["meson", "test", "-C", folder, "--no-rebuild", "--quiet", "--suite", suite, "--timeout-multiplier", f"{patience:g}", *under],
                   check=False, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "meson-logs", "testlog.json")) as stream:
        for result in map(json.loads, stream):
            yield result["name"].split(" / ")[-1], result["duration"], result["result"] == "OK", result.get("stdout", "") + result.get("stderr", "")


def some_of(folder, suite, words):
    """The same for the programs that have test cases with these words in their names."""
    for name in programs(folder, suite):
        done = subprocess.run([os.path.join(folder, name), f"*{words}*", "--durations", "yes"], capture_output=True, text=True, errors="replace",
                              timeout=SECONDS * PATIENCE, check=False)
        if "No tests ran" not in done.stdout and "No test cases matched" not in done.stdout:
            yield name, 0.0, done.returncode == 0, done.stdout + done.stderr


def main(folder, suite, option=""):
    names = programs(folder, suite)
    if option == "--list":
        print(*names, sep="\n")
        return 0
    if not names:
        print(f"meson_tests.py: {folder} has no tests in suite '{suite}'")
    missing = [name for name in names if not os.path.exists(os.path.join(folder, name))]
    if missing:
        print(f"meson_tests.py: not built in {folder}: {' '.join(missing)}")
    passed, failed = 0, int(not names or bool(missing))
    words = option.removeprefix("--test=")
    results = some_of(folder, suite, words) if option.startswith("--test=") else all_of(folder, suite, option)
    for name, seconds, well, output in results if not failed else ():
        good, bad = count(output, well)
        passed, failed = passed + good, failed + bad
        print(f"{'ok    ' if not bad else 'FAILED'} {name}: {good} passed, {bad} failed ({seconds:.1f} s)", flush=True)
        if bad:
            print(output)
    if not passed + failed:
        print(f"meson_tests.py: no test case of {suite} has these words: {words}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

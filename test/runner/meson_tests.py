#!/usr/bin/env python3
"""meson_tests.py - runs the programs of one Meson suite of a build folder, as many at once as there are cores; counts test cases.

    meson_tests.py FOLDER SUITE [WRAPPER]         runs them all, under a command that takes its time, such as valgrind
    meson_tests.py FOLDER SUITE --test=WORDS      runs the test cases with WORDS in their names
    meson_tests.py FOLDER SUITE --list            prints the targets to build, one a line

The programs are built already; the longest of the last run come first. WEIR_PATIENCE multiplies the time that each may take. Test
cases of a second and more have lines of their own. The last line is `N passed, N failed`.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

ALL_PASSED = re.compile(r"All tests passed \([\d ]+assertions? in (\d+) test cases?\)")
SOME_FAILED = re.compile(r"test cases:\s+(\d+)(?:\s+\|\s+(\d+) passed)?(?:\s+\|\s+(\d+) failed)?")
NONE_CHOSEN = re.compile(r"No tests ran|No test cases matched")
DURATION = re.compile(r"^(\d+\.\d+) s: (.*)\n", re.MULTILINE)
SLOW_SECONDS = 1.0
SECONDS = 600           # of one program
WRAPPED = 10            # times that, under a wrapper
LONG_LEFT_OUT = "~[long]"   # of Catch: cases that a wrapper would hold for minutes. The sanitizers run them
PATIENCE = float(os.environ.get("WEIR_PATIENCE", "1"))


def tests_of(folder, suite):
    """Meson's descriptions of the suite's tests."""
    listing = subprocess.run(["meson", "introspect", folder, "--tests"], capture_output=True, text=True, check=True)
    # Meson prints "unit" or "weir:unit", by version.
    return [test for test in json.loads(listing.stdout) if suite in [name.split(":")[-1] for name in test["suite"]]]


def targets(folder, tests):
    """The programs that are built for these tests, relative to the folder: an interpreter is not."""
    built = {os.path.relpath(test["cmd"][0], folder) for test in tests}
    return sorted(name for name in built if not name.startswith(".."))


def uses_catch(test):
    return test["cmd"][0].endswith("_test")


def count(output, good):
    """(passed, failed) test cases of one program's run; a program that is no Catch2 test counts as one case."""
    passed = ALL_PASSED.search(output)
    if passed and good:
        return int(passed[1]), 0
    failed = SOME_FAILED.search(output)
    if failed and failed[3]:
        return int(failed[2] or 0), int(failed[3])
    return (1, 0) if good else (0, 1)


def arguments(test, wrapper, words):
    """Of the program: those that Meson gives it, and Catch's choice of cases."""
    if not uses_catch(test):
        return test["cmd"][1:]
    return [*test["cmd"][1:], *([f"*{words}*"] if words else []), *([LONG_LEFT_OUT] if wrapper else []), "--durations", "yes"]


def run(test, wrapper, words):
    """(test, seconds, good, output) of one program."""
    began, bound = time.monotonic(), SECONDS * PATIENCE * (WRAPPED if wrapper else 1)
    try:
        done = subprocess.run([*wrapper, test["cmd"][0], *arguments(test, wrapper, words)], env={**os.environ, **test["env"]},
                              cwd=test["workdir"], text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=bound, check=False)
        good, output = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired as late:
        good, output = False, f"{(late.stdout or b'').decode(errors='replace')}\nended after {bound:g} s, its bound"
    return test, time.monotonic() - began, good, output


def report(name, seconds, good, output):
    """Prints the program's lines. @return its (passed, failed) test cases"""
    passed, failed = count(output, good)
    print(f"{'ok    ' if not failed else 'FAILED'} {name}: {passed} passed, {failed} failed, {seconds:.1f} s", flush=True)
    for case, slow in {case: float(slow) for slow, case in DURATION.findall(output) if float(slow) >= SLOW_SECONDS}.items():
        print(f"slow   {name}: {case} ({slow:.1f} s)")
    if failed:
        print(DURATION.sub("", output))
    return passed, failed


def longest_first(tests, file):
    try:
        with open(file) as stream:
            times = json.load(stream)
    except (OSError, ValueError):
        times = {}
    return sorted(tests, key=lambda test: -times.get(test["name"], 0)), times


def run_all(folder, tests, wrapper, words):
    """Runs the tests and notes their times in the folder. @return (passed, failed) test cases"""
    file = os.path.join(folder, "test-times.json")
    ordered, times = longest_first(tests, file)
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        begun = [pool.submit(run, test, wrapper, words) for test in ordered]
        for one in concurrent.futures.as_completed(begun):
            test, seconds, good, output = one.result()
            if words and NONE_CHOSEN.search(output):
                continue
            more, bad = report(test["name"], seconds, good, output)
            passed, failed = passed + more, failed + bad
            times[test["name"]] = round(seconds, 1)
    if not words and not wrapper:
        with open(file, "w") as stream:
            json.dump(times, stream, indent=1)
    return passed, failed


def main(folder, suite, option=""):
    folder = os.path.abspath(folder)
    tests = tests_of(folder, suite)
    if option == "--list":
        print(*targets(folder, tests), sep="\n")
        return 0
    words = option.removeprefix("--test=") if option.startswith("--test=") else ""
    missing = [name for name in targets(folder, tests) if not os.path.exists(os.path.join(folder, name))]
    passed, failed = 0, 1
    if missing:
        print(f"meson_tests.py: not built in {folder}: {' '.join(missing)}")
    elif not tests:
        print(f"meson_tests.py: {folder} has no tests in suite '{suite}'")
    else:
        chosen = [test for test in tests if uses_catch(test)] if words else tests
        passed, failed = run_all(folder, chosen, option.split() if not words else [], words)
        if not passed + failed:
            print(f"meson_tests.py: no test case of {suite} has these words: {words}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

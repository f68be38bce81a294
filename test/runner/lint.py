#!/usr/bin/env python3
"""lint.py - runs clang-tidy with the checks of .clang-tidy on each translation unit of the product, as many at once as there are cores.

    lint.py FOLDER [PART...]      FOLDER is configured; PART: only units whose path contains one

Each unit is one test, and the last line is `N passed, N failed`. A finding is printed as clang-tidy prints it.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCT = ("common/", "cost_functions/", "vswitch/", "ctrl/")
CANARY = "test/canary/lint_canary.cc"       # has a fault on purpose: runs only when it is named


def linter():
    """clang-tidy of the version that test/support/setup.sh installs: 16 on Debian 12, 19 on Debian 13."""
    return next((name for name in ("clang-tidy-16", "clang-tidy-19") if shutil.which(name)), None)


def units(folder):
    """{name: path} of the product's translation units in the folder's compilation database. One may include several sources (meson.build)."""
    with open(os.path.join(folder, "compile_commands.json")) as stream:
        entries = json.load(stream)
    chosen = {}
    for entry in entries:
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        name = os.path.relpath(path, folder if path.startswith(os.path.abspath(folder) + os.sep) else ROOT)
        if name.startswith(PRODUCT) or name == CANARY:
            chosen.setdefault(name, path)
    return chosen


def lint(program, folder, path):
    """(passed, seconds, output). Compilers' warnings are the builds' business; asserts are seen."""
    began = time.monotonic()
    done = subprocess.run([program, "--quiet", "-p", folder, "--extra-arg=-Wno-everything", "--extra-arg=-UNDEBUG", path], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    return done.returncode == 0, time.monotonic() - began, done.stdout or done.stderr


def main(folder, *parts):
    program = linter()
    if program is None:
        print("FAILED clang-tidy is not installed: test/support/setup.sh --tests\n0 passed, 1 failed")
        return 1
    every = units(folder)
    names = [name for name in every if (any(part in name for part in parts) if parts else name != CANARY)]
    if not names:
        print(f"FAILED no unit of {folder}'s compilation database contains {' or '.join(parts)}\n0 passed, 1 failed")
        return 1
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, (passed, seconds, output) in zip(names, pool.map(lambda each: lint(program, folder, every[each]), names)):
            print("ok    " if passed else "FAILED", name, f"({seconds:.1f} s)", flush=True)
            failed += not passed
            if not passed:
                print(output, flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
"""fuzz.py - runs every fuzz target of a build folder (-Dfuzz=true) from its committed corpus, as many at once as there are cores.

    fuzz.py FOLDER SECONDS            each for so long: the suite fuzz of test/run.sh, 15 s
    fuzz.py FOLDER -runs=N [TARGET]   by hand: N inputs each, or of one target only (`frame`, `tracker-nbd`)

The targets are those of test/fuzz/meson.build, as meson has noted them in FOLDER, with their corpora and seeds; one that
is not built has failed. Each is one test, and the last line is `N passed, N failed`. Input that broke a target stays in
FOLDER/test/fuzz; add it to the corpus.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUFFIX = "_fuzzer"


def targets(folder):
    """Name, program and folders with inputs, of every fuzz target in the folder."""
    with open(os.path.join(folder, "meson-info", "intro-tests.json")) as stream:
        tests = json.load(stream)
    for test in tests:
        program, *arguments = test["cmd"]
        if program.endswith(SUFFIX):
            name = os.path.basename(program).removesuffix(SUFFIX)
            yield name, program, [argument for argument in arguments if not argument.startswith("-")]


def run(target, amount):
    """(passed, the last lines of its output)."""
    name, program, inputs = target
    if not os.path.exists(program):
        return False, ["it is not built"]
    words = os.path.join(ROOT, "test", "fuzz", f"{name}.dict")
    with tempfile.TemporaryDirectory(prefix="weir-fuzz-") as found:
        result = subprocess.run([program, amount, "-timeout=60", "-print_final_stats=1",
                                 f"-artifact_prefix={os.path.dirname(program)}/{name}-",
                                 *([f"-dict={words}"] if os.path.exists(words) else []), found, *inputs],
                                capture_output=True, text=True, errors="replace", check=False)
    return result.returncode == 0, result.stderr.strip().split("\n")


def main(folder, amount, only=None):
    if not amount.startswith("-runs="):
        amount = f"-max_total_time={int(amount)}"
    chosen = sorted(target for target in targets(folder) if only in (None, target[0]))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, _, _), (passed, lines) in zip(chosen, pool.map(lambda target: run(target, amount), chosen)):
            runs = next((line.split()[-1] for line in lines if line.startswith("stat::number_of_executed_units")), "?")
            print("ok    " if passed else "FAILED", name, f"{runs} inputs ({amount.lstrip('-')})", flush=True)
            if not passed:
                failed += 1
                print("\n".join(lines[-60:]))
    if not chosen:
        print(f"fuzz.py: no such fuzz target in {folder}: configure it with -Dfuzz=true")
        failed = 1
    print(f"{max(len(chosen) - failed, 0)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
"""fuzz.py - runs fuzz targets of a build folder (-Dfuzz=true) from their committed corpora, as many at once as there are cores.

    fuzz.py FOLDER SECONDS [--test=TARGET]        each for so long: the shard fuzz, 15 s
    fuzz.py FOLDER -runs=N [--test=TARGET]        by hand: N inputs each, or of one target only (`frame`, `tracker-nbd`)

libFuzzer reads a target's whole corpus first and draws from a fixed seed, or from that in WEIR_SEED. The targets are those of
test/fuzz/meson.build, as meson has noted them in FOLDER, with their corpora; one that is not built has failed. Each is one test,
and the last line is `N passed, N failed`. Input that broke a target stays in FOLDER/test/fuzz; add it to the corpus.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUFFIX = "_fuzzer"
CANARY = "canary"       # breaks on purpose: runs only when it is named
SEED = os.environ.get("WEIR_SEED", "1")


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
    """(passed, seconds, the last lines of its output)."""
    name, program, inputs = target
    if not os.path.exists(program):
        return False, 0.0, ["it is not built"]
    words = os.path.join(ROOT, "test", "fuzz", f"{name}.dict")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weir-fuzz-") as found:
        result = subprocess.run([program, amount, f"-seed={SEED}", "-timeout=60", "-print_final_stats=1",
                                 f"-artifact_prefix={os.path.dirname(program)}/{name}-",
                                 *([f"-dict={words}"] if os.path.exists(words) else []), found, *inputs],
                                capture_output=True, text=True, errors="replace", check=False)
    return result.returncode == 0, time.monotonic() - began, result.stderr.strip().split("\n")


def main(folder, amount, option=""):
    if not amount.startswith("-runs="):
        amount = f"-max_total_time={int(amount)}"
    only = option.removeprefix("--test=")
    chosen = sorted(target for target in targets(folder) if (only == target[0] if only else target[0] != CANARY))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, _, _), (passed, seconds, lines) in zip(chosen, pool.map(lambda target: run(target, amount), chosen)):
            runs = next((line.split()[-1] for line in lines if line.startswith("stat::number_of_executed_units")), "?")
            print("ok    " if passed else "FAILED", name, f"{runs} inputs of seed {SEED} ({seconds:.1f} s)", flush=True)
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

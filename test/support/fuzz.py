#!/usr/bin/env python3
"""fuzz.py - runs the fuzzers of input from outside (requests, messages, files) for a while from their committed corpus.

    fuzz.py FOLDER SECONDS    the fuzzers of a build folder (-Dfuzz=true), as many at once as there are cores

Each fuzzer is one test. The last line is `N passed, N failed`. Input that broke a fuzzer stays in FOLDER/test/fuzz; add
it to the corpus.
"""
import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# As `timed_fuzzers` of test/fuzz/meson.build.
TIMED = ("tracker-*", "request_path", "solve", "wire")


def run(fuzzer, seconds):
    """(passed, the last lines of its output)."""
    name = os.path.basename(fuzzer).removesuffix("_fuzzer")
    corpus = os.path.join(ROOT, "test", "fuzz", "corpus", name)
    with tempfile.TemporaryDirectory(prefix="weir-fuzz-") as found:
        result = subprocess.run([fuzzer, f"-max_total_time={seconds}", "-max_len=4096", "-print_final_stats=1",
                                 f"-artifact_prefix={os.path.dirname(fuzzer)}/{name}-", found, corpus],
                                capture_output=True, text=True, errors="replace", timeout=seconds + 300, check=False)
    return result.returncode == 0, result.stderr.strip().split("\n")


def main(folder, seconds):
    fuzzers = sorted(path for name in TIMED for path in glob.glob(os.path.join(folder, "test", "fuzz", f"{name}_fuzzer")))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for fuzzer, (passed, lines) in zip(fuzzers, pool.map(lambda fuzzer: run(fuzzer, seconds), fuzzers)):
            runs = next((line.split()[-1] for line in lines if line.startswith("stat::number_of_executed_units")), "?")
            print("ok    " if passed else "FAILED", os.path.basename(fuzzer), f"{runs} inputs in {seconds} s")
            if not passed:
                failed += 1
                print("\n".join(lines[-60:]))
    if not fuzzers:
        print(f"fuzz.py: no fuzzers in {folder}: configure it with -Dfuzz=true and build them")
        failed = 1
    print(f"{len(fuzzers) - failed if fuzzers else 0} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))

"""jobs.py - runs jobs in two lanes at once, longest first, and reads their reports.

A job's output is in build/SUITE-LANE.log, and on standard output line by line behind the name of its suite.
"""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

from suites import BESIDE, POLL

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGS = os.path.join(ROOT, "build")
TIMES = os.path.join(LOGS, "times.json")
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$")
SKIPPED = re.compile(r"^(\d+) skipped$")
TEST = re.compile(r"^(?:ok|FAILED|slow)\s+(.*?) \((\d+\.\d+) s\)$")
FAILED = re.compile(r"^FAILED (.*)$")
SLOWEST = 10

# tests: (seconds, suite, title) of each; failures: the lines of those that failed.
Result = collections.namedtuple("Result", "suite passed failed skipped seconds tests failures lane", defaults=[(), (), BESIDE])

printing = threading.Lock()
running = set()


def say(text):
    with printing:
        print(text, flush=True)


def recorded():
    """{job: seconds} of earlier runs in this checkout."""
    try:
        with open(TIMES) as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return {}


def record(more):
    with open(f"{TIMES}.new", "w") as stream:
        json.dump({**recorded(), **more}, stream, indent=1, sort_keys=True)
    os.replace(f"{TIMES}.new", TIMES)


def key(suite, job):
    return f"{suite.name}-{job.lane}"


def read_report(suite, status, seconds, lines):
    """The counts and tests in a job's output. Without a last line of counts, or with a status other than 0 and no failure, one test has failed."""
    counts = COUNTS.match(lines[-1]) if lines else None
    passed, failed = map(int, counts.groups()) if counts else (0, 1)
    if status != 0 and failed == 0:
        failed = 1
    skipped = sum(int(found[1]) for found in map(SKIPPED.match, lines) if found)
    tests = [(float(found[2]), suite, found[1]) for found in map(TEST.match, lines) if found]
    return Result(suite, passed, failed, skipped, seconds, tests, [found[1] for found in map(FAILED.match, lines) if found])


def run_job(suite, job, shown=True):
    """Runs one job to its end. `shown`: its output is printed, not only kept."""
    began, lines = time.monotonic(), []
    program = os.path.join(ROOT, job.command[0])
    words = [sys.executable, program] if program.endswith(".py") else [program]
    places = {name: os.path.join(ROOT, value) if name == "WEIR_BUILD" else value for name, value in job.environment}
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **places}
    # The kernel ends the job when this command is killed.
    child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *words, *job.command[1:]], cwd=ROOT, env=environment, text=True, errors="replace",
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    running.add(child)
    watch = threading.Timer(suite.bound, end, [child, f"{suite.name}: ended after {suite.bound} s, its bound"])
    watch.start()
    with open(os.path.join(LOGS, f"{key(suite, job)}.log"), "w") as log:
        for line in child.stdout:
            lines.append(line.rstrip("\n"))
            log.write(line)
            if shown:
                say(f"{suite.name:<10} {lines[-1]}")
    status = child.wait()
    watch.cancel()
    running.discard(child)
    return read_report(suite.name, status, time.monotonic() - began, [line for line in lines if line])._replace(lane=job.lane)


def end(child, reason=None):
    """Ends a job with all that it started."""
    if reason:
        say(reason)
    try:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_all():
    for child in list(running):
        end(child)


def in_order(jobs, times):
    """(suite, job) pairs of one lane, the longest first: by recorded times, else by those of the table."""
    return sorted(jobs, key=lambda pair: -times.get(key(*pair), pair[1].seconds))


def run(pairs):
    """Runs (suite, job) pairs in their lanes. @return their results"""
    times, results = recorded(), []

    def work(lane):
        for suite, job in in_order([pair for pair in pairs if pair[1].lane == lane], times):
            result = run_job(suite, job)
            results.append(result)
            if not result.failed:
                times[key(suite, job)] = round(result.seconds, 1)

    lanes = [threading.Thread(target=work, args=[lane]) for lane in (POLL, BESIDE)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    record(times)
    return results


def run_canaries(suites):
    """Runs jobs in which each test must fail, by the name of canary. One that is not reported as failed is a failure of its suite."""
    results = []
    for suite in suites:
        for job in suite.canaries:
            bad = run_job(suite, job, shown=False)
            seen = len(bad.failures) == bad.failed > 0 == bad.passed and all("canary" in line for line in bad.failures)
            say(f"{'ok    ' if seen else 'FAILED'} {suite.name}: {os.path.basename(job.command[0])} reports its canary ({bad.seconds:.1f} s)")
            results.append(Result(f"{suite.name}, canary", int(seen), int(not seen), 0, bad.seconds))
    return results


def slowest(results):
    tests = sorted((test for result in results for test in result.tests), reverse=True)
    return [f"{seconds:8.1f} s  {suite}: {title}" for seconds, suite, title in tests[:SLOWEST]]


def table(rows):
    """Rows of (part, passed, failed, skipped, seconds) as lines; a count may be ''."""
    lines = [f"{'part':<22} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}"]
    return lines + [f"{part:<22} {passed:>7} {failed:>7} {skipped:>8} {seconds:>8.0f}" for part, passed, failed, skipped, seconds in rows]

#!/usr/bin/env python3
"""runner_test.py - the test command's own tests: reports, order, verdicts, the shard of a commit, refusals."""

import json
import os
import select
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import jobs
import meson_tests
import run
import suites
import verdicts

COMMAND = os.path.join(verdicts.ROOT, "test", "runner", "run.py")
ENDS_WITHIN_SECONDS = 60


def verdict(tree, failed=0, at="2026-01-01T00:00:00Z"):
    return {"shard": "tsan", "tree": tree, "commit": "abc", "passed": 3, "failed": failed, "seconds": 1, "at": at}


class ReportTest(unittest.TestCase):
    def read(self, status, *lines):
        result = jobs.read_report("unit", status, 1.0, list(lines))
        return result.passed, result.failed, result.skipped

    def test_the_last_line_counts(self):
        self.assertEqual(self.read(0, "1 passed, 1 failed", "2 skipped", "7 passed, 0 failed"), (7, 0, 2))
        self.assertEqual(self.read(1, "5 passed, 2 failed"), (5, 2, 0))

    def test_a_job_that_ends_without_counts_or_badly_has_failed(self):
        self.assertEqual(self.read(0), (0, 1, 0))
        self.assertEqual(self.read(0, "5 passed, 0 failed", "and then it stopped"), (0, 1, 0))
        self.assertEqual(self.read(1, "5 passed, 0 failed"), (5, 1, 0))

    def test_the_slowest_tests_are_listed_longest_first(self):
        one = jobs.read_report("process", 0, 9.0, ["ok     a limit (2.5 s)", "FAILED a share (10.0 s)", "1 passed, 0 failed"])
        self.assertEqual(jobs.slowest([one]), ["    10.0 s  process: a share", "     2.5 s  process: a limit"])

    def test_jobs_of_a_lane_start_longest_first_by_recorded_times(self):
        short, long = (suites.Suite(name, "", (suites.Job((name,), seconds=seconds),)) for name, seconds in (("short", 1), ("long", 5)))
        pairs = [(suite, suite.jobs[0]) for suite in (short, long)]
        self.assertEqual([suite.name for suite, _ in jobs.in_order(pairs, {})], ["long", "short"])
        self.assertEqual([suite.name for suite, _ in jobs.in_order(pairs, {"short-beside": 9})], ["short", "long"])

    def test_a_wrapper_leaves_out_the_long_cases_of_a_program_that_has_arguments_too(self):
        for given in ([], ["--order", "rand"]):
            program = {"cmd": ["build/a_test", *given]}
            self.assertEqual(meson_tests.arguments(program, ["valgrind"], ""), [*given, "~[long]", "--durations", "yes"])
            self.assertEqual(meson_tests.arguments(program, [], "a limit"), [*given, "*a limit*", "--durations", "yes"])


class CanaryTest(unittest.TestCase):
    def outcome(self, script):
        """(passed, failed) of a suite whose canary is this shell script."""
        with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as stream:
            stream.write(f"#!/bin/sh\n{script}\n")
        self.addCleanup(os.unlink, stream.name)
        os.chmod(stream.name, 0o700)
        with mock.patch.object(jobs, "say"), tempfile.TemporaryDirectory() as logs, mock.patch.object(jobs, "LOGS", logs):
            result, = jobs.run_canaries([suites.Suite("unit", "", (), canaries=(suites.Job((stream.name,)),))])
        return result.passed, result.failed

    def test_a_canary_that_is_reported_passes_and_one_that_is_not_fails(self):
        self.assertEqual(self.outcome("echo 'FAILED canary'; echo '0 passed, 1 failed'; exit 1"), (1, 0))
        self.assertEqual(self.outcome("echo '1 passed, 0 failed'"), (0, 1))
        self.assertEqual(self.outcome("echo 'FAILED canary'; echo '1 passed, 1 failed'; exit 1"), (0, 1))

    def test_a_canary_that_could_not_run_is_not_reported(self):
        self.assertEqual(self.outcome("echo 'not built'; echo '0 passed, 1 failed'; exit 1"), (0, 1))
        self.assertEqual(self.outcome("echo 'FAILED another test'; echo '0 passed, 1 failed'; exit 1"), (0, 1))


class KilledTest(unittest.TestCase):
    def test_a_job_ends_with_the_command_that_is_killed(self):
        with tempfile.TemporaryDirectory() as logs:
            job = os.path.join(logs, "job.sh")
            with open(job, "w", opener=lambda path, flags: os.open(path, flags, 0o700)) as stream:
                stream.write("#!/bin/sh\necho $$\nexec tail -f /dev/null\n")
            script = f"import jobs, suites; jobs.LOGS = {logs!r}; jobs.run_job(suites.Suite('s', '', ()), suites.Job(({job!r},)))"
            command = subprocess.Popen([sys.executable, "-c", script], cwd=os.path.dirname(COMMAND), stdout=subprocess.PIPE, text=True)
            child = os.pidfd_open(int(command.stdout.readline().split()[1]))
            self.addCleanup(os.close, child)
            command.kill()
            command.communicate()
            self.assertEqual(select.select([child], [], [], ENDS_WITHIN_SECONDS)[0], [child])


class VerdictTest(unittest.TestCase):
    def test_a_verdict_holds_for_its_tree_only(self):
        self.assertEqual(verdicts.judge([], "t1")[0], "never")
        self.assertEqual(verdicts.judge([verdict("t1")], "t1")[0], "proved")
        self.assertEqual(verdicts.judge([verdict("t1")], "t2")[0], "stale")
        self.assertEqual(verdicts.judge([verdict("t1", failed=1)], "t1")[0], "failed")

    def test_the_newest_verdict_of_a_tree_counts(self):
        later = verdict("t1", failed=2, at="2026-01-02T00:00:00Z")
        self.assertEqual(verdicts.judge([verdict("t1"), later, verdict("t2", at="2026-01-03T00:00:00Z")], "t1"), ("failed", later))

    def test_verdicts_are_kept_by_the_contents_of_their_paths(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(verdicts, "STORE", os.path.join(folder, "kept")), \
                mock.patch.object(verdicts, "ROOT", folder), mock.patch.object(verdicts, "PUBLISHED", os.path.join(folder, "proved.json")):
            def commit(name, text):
                with open(os.path.join(folder, name), "w") as stream:
                    stream.write(text)
                verdicts.git("add", name)
                verdicts.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", name)

            shard = suites.Suite("tsan", "", (), paths=("a",))
            verdicts.git("init", "-q")
            commit("a", "1")
            self.assertEqual(verdicts.state(shard)[0], "never")
            verdicts.keep("tsan", verdicts.subject(shard.paths), 4, 0, 12.4)
            commit("b", "1")
            self.assertEqual(verdicts.state(shard)[0], "proved")
            commit("a", "2")
            self.assertEqual(verdicts.state(shard)[0], "stale")
            verdicts.keep("tsan", verdicts.subject(shard.paths), 3, 1, 12.4)
            self.assertEqual(verdicts.state(shard)[0], "failed")
            commit("a", "1")
            self.assertEqual(verdicts.state(shard)[0], "proved")
            self.assertEqual(verdicts.publish([shard]), 1)
            self.assertEqual(json.loads(open(verdicts.PUBLISHED).read())[0]["failed"], 1)

    def test_the_paths_of_all_shards_exist(self):
        for suite in suites.DEEP:
            for path in suite.paths:
                self.assertTrue(os.path.exists(os.path.join(verdicts.ROOT, path)), f"{suite.name}: {path}")

    def test_shards_of_processes_depend_on_every_common_module_of_theirs(self):
        folder = os.path.join(verdicts.ROOT, "test", "e2e")
        modules = {f"test/e2e/{name}" for name in os.listdir(folder) if name.endswith(".py")}
        self.assertLessEqual(modules, set(suites.END_TO_END))

    def test_ci_takes_the_shard_whose_published_verdict_is_red_then_missing_then_the_oldest(self):
        ages = {"c1": "1", "c9": "9"}
        def most_wanted(**published):
            listed = [{"shard": shard, "commit": commit, "failed": failed} for shard, (commit, failed) in published.items()]
            with mock.patch.object(verdicts, "read", lambda path: listed), \
                    mock.patch.object(verdicts, "git", lambda *words: ages.get(words[-1].removesuffix("..HEAD"))):
                return verdicts.most_wanted(("lint", "tsan", "fuzz"))
        self.assertEqual(most_wanted(lint=("c1", 0), tsan=("c9", 0), fuzz=("c1", 0)), "tsan")
        self.assertEqual(most_wanted(lint=("c1", 0), tsan=("c9", 0)), "fuzz")
        self.assertEqual(most_wanted(lint=("c1", 0), tsan=("c9", 0), fuzz=("of another history", 0)), "fuzz")
        self.assertEqual(most_wanted(lint=("c1", 2), tsan=("c9", 0)), "lint")
        self.assertEqual(most_wanted(), "lint")
        self.assertLessEqual({*suites.FOR_CI, *suites.FOR_EVERY_CI}, {suite.name for suite in suites.DEEP})

    def test_each_deep_verdict_is_listed_with_its_age(self):
        states = {"tsan": ("stale", verdict("t1")), "fuzz": ("failed", verdict("t1", failed=1)), "seeds": ("proved", verdict("t1"))}
        with mock.patch.object(verdicts, "state", lambda suite: states.get(suite.name, ("never", None))), \
                mock.patch.object(verdicts, "git", lambda *words: "150"):
            text = " ".join(line.strip() for line in run.ages())
        for words in ("asan-unit never,", "tsan 150,", "fuzz 150 FAILED,", "seeds 150 (holds),"):
            self.assertIn(words, text)


class RefusalTest(unittest.TestCase):
    def refused(self, *words):
        """The one line with which the command refuses these words."""
        done = subprocess.run([sys.executable, COMMAND, *words], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return done.stderr.strip().split("\n")[-1]

    def test_what_is_unknown_is_refused_with_the_names_there_are(self):
        with self.assertRaisesRegex(run.Refused, "unknown shard nope; there are: asan-unit, "):
            run.pick(suites.DEEP, ["nope"], "shard")
        with self.assertRaisesRegex(run.Refused, "unknown suite nope; there are: tidy, "):
            run.pick(suites.DEFAULT, ["nope"], "suite")

    def test_options_that_contradict_each_other_are_refused(self):
        self.assertIn("--status needs --deep", self.refused("--status"))
        self.assertIn("--repeat 0: at least 1", self.refused("--repeat", "0"))

    def test_a_dirty_tree_and_one_without_git_are_refused(self):
        for changes, words in (([" M a"], "1 paths differ from HEAD: commit or stash"), (None, "no git checkout")):
            with mock.patch.object(verdicts, "changes", lambda changes=changes: changes), self.assertRaisesRegex(run.Refused, words):
                run.check_tree()

    def test_a_second_run_in_one_checkout_is_refused_and_a_killed_one_leaves_no_lock(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(jobs, "LOGS", folder):
            with run.lock(), self.assertRaisesRegex(run.Refused, f"process {os.getpid()} runs tests in this checkout"):
                run.lock()
            run.lock().close()

    def test_too_few_hugepages_are_refused_with_the_reason_and_nothing_stays_reserved(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("nr_hugepages", "free_hugepages", "surplus_hugepages"):
                with open(os.path.join(folder, name), "w") as stream:
                    stream.write("0")
            script = f"source {run.SETUP}; pages={folder}; state={folder}/owner; leftovers() {{ :; }}; reserve_hugepages"
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            line, = done.stderr.splitlines()
            self.assertIn("of 256 hugepages of 2 MiB that are needed 0 are free: programs that run hold the other pages", line)
            self.assertFalse(os.path.exists(f"{folder}/owner"))

    def test_hugepages_go_back_with_the_last_user_that_ends_or_releases_them(self):
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(["sleep", "60"]) as other:
            for name, count in (("nr_hugepages", 7), ("surplus_hugepages", 0)):
                with open(os.path.join(folder, name), "w") as stream:
                    stream.write(str(count))
            setup = f"source {run.SETUP}; pages={folder}; state={folder}/owner; free_pages() {{ reserved_pages; }}; report() {{ :; }}; "
            def pages(user, command):
                subprocess.run(["bash", "-c", f"{setup} user={user}; {command}"], check=True)
                with open(os.path.join(folder, "nr_hugepages")) as stream:
                    return int(stream.read())
            self.assertEqual(pages(os.getpid(), "reserve_hugepages"), 1024)      # of which 7 were there
            self.assertEqual(pages(other.pid, "reserve_hugepages"), 1024)
            self.assertEqual(pages(os.getpid(), "release_hugepages"), 1024)
            other.kill()
            other.wait()
            self.assertEqual(pages(os.getpid(), "release_hugepages"), 7)
            self.assertFalse(os.path.exists(f"{folder}/owner"))

    def test_single_tests_need_a_suite_that_can_be_divided(self):
        unit, tidy = run.pick(suites.DEFAULT, ["unit", "tidy"], "suite")[::-1]
        self.assertEqual(run.narrow([unit], "debt")[0].jobs[0].command[-1], "--test=debt")
        with self.assertRaisesRegex(run.Refused, "cannot be run one by one"):
            run.narrow([tidy], "words")
        with self.assertRaisesRegex(run.Refused, "exactly one"):
            run.narrow([unit, tidy], "words")


class Line(unittest.TextTestResult):
    """One line per test, as all suites print them."""

    def addSuccess(self, test):
        print("ok    ", test.id().rsplit(".", 1)[1].removeprefix("test_").replace("_", " "))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        print("FAILED", test.id().rsplit(".", 1)[1].removeprefix("test_").replace("_", " "), self._exc_info_to_string(err, test), sep="\n")

    addError = addFailure


def main():
    found = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    report = Line(sys.stderr, False, 0)
    found.run(report)
    failed = len(report.failures) + len(report.errors)
    print(f"{report.testsRun - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

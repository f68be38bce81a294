"""suites.py - the suites of test/run.sh: those of the default tier and the shards of the deep one.

Each suite is one or more jobs, programs whose last line is `N passed, N failed`. A job is in a lane: `poll` for those that run
poll-mode programs, one at a time, and `beside` for all others. A shard of the deep tier also states the paths on which its
verdict depends: the verdict is kept for the hash of their contents.
"""

import dataclasses

POLL, BESIDE = "poll", "beside"
RELEASE, ADDRESS, THREAD = "build", "build-asan", "build-tsan"
KINDS = {RELEASE: "tests", ADDRESS: "address", THREAD: "thread"}     # of test/support/build.sh, by build folder
MINUTE = 60
SHARD_SECONDS = 20 * MINUTE     # of one shard, with its build, on two cores


@dataclasses.dataclass(frozen=True)
class Job:
    command: tuple              # words; the first is a path from the root
    lane: str = BESIDE
    seconds: int = 10           # its time, until one is recorded
    environment: tuple = ()     # of (name, value)


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    phrase: str
    jobs: tuple
    folder: str = ""            # build folder; empty: nothing is built
    tests: tuple = ()           # Meson suites whose programs are built
    targets: tuple = ()         # further targets to build
    needs: tuple = ()           # options of test/support/setup.sh
    canaries: tuple = ()        # jobs that must fail, and be reported as failed
    paths: tuple = ()           # of a shard: those on which its verdict depends
    bound: int = SHARD_SECONDS  # each job is ended after so many seconds
    bare: bool = False          # runs without packages and hugepages of this machine

    @property
    def seconds(self):
        return sum(job.seconds for job in self.jobs)


def unit(folder, suite, *words, seconds=50, environment=()):
    return Job(("test/runner/meson_tests.py", folder, suite, *words), seconds=seconds, environment=environment)


def end_to_end(suite, *words, lane=POLL, folder=RELEASE, seconds=60, patience=1):
    return Job(("test/e2e/run.py", suite, f"--lane={lane}", *words), lane, seconds,
               (("WEIR_BUILD", folder), ("WEIR_PATIENCE", str(patience))))


def script(name, *words, lane=BESIDE, seconds=10):
    return Job((name, *words), lane, seconds)


CANARY = unit(RELEASE, "canary", seconds=1)
CANARY_END_TO_END = end_to_end("canary", lane=BESIDE, seconds=1)
CANARY_TIDY = script("test/canary/tidy_canary.py", seconds=1)
CANARY_DOCS = script("test/canary/docs_canary.py", seconds=2)
ROOT_NEEDS = ("--tests",)

DEFAULT = (
    Suite("tidy", "lengths, includes, headers, words, format", (script("test/tidy_test.py", seconds=12),),
          needs=ROOT_NEEDS, canaries=(CANARY_TIDY,)),
    Suite("docs", "the documents against the code", (script("test/docs_test.py", seconds=1),), needs=ROOT_NEEDS,
          canaries=(CANARY_DOCS,)),
    Suite("runner", "verdicts, lanes and choices of this command", (script("test/runner/runner_test.py", seconds=1),), needs=ROOT_NEEDS),
    Suite("unit", "every part on a manual clock", (unit(RELEASE, "unit"),), RELEASE, ("unit", "canary"), needs=ROOT_NEEDS,
          canaries=(CANARY,)),
    Suite("registry", "a scheduler added to a copy of the sources", (script("test/registry_test.py", seconds=24),), needs=ROOT_NEEDS),
    Suite("process", "the real switch and controller, testpmd as VMs",
          (end_to_end("process", seconds=100), end_to_end("process", lane=BESIDE, seconds=60)), RELEASE, targets=("programs",),
          needs=ROOT_NEEDS, canaries=(CANARY_END_TO_END,)),
    Suite("smoke", "two QEMU guests exchange TCP through the switch", (end_to_end("smoke", seconds=20),), RELEASE,
          targets=("programs",), needs=("--tests", "--guests")),
)

# Every verdict on the product depends on these.
PRODUCT = ("common", "cost_functions", "vswitch", "ctrl", "configs", "meson.build", "meson_options.txt", "test/meson.build", "test/support",
           "test/canary")
UNIT = (*PRODUCT, "test/common", "test/cost_functions", "test/ctrl", "test/vswitch", "test/hostile", "test/runner/meson_tests.py")
END_TO_END = (*PRODUCT, "test/hostile", "test/e2e/run.py", "test/e2e/case.py", "test/e2e/two_hosts.py", "test/e2e/nbd_store.py",
              "test/e2e/calibration.py", "test/e2e/controller_case.py", "test/e2e/guests_case.py")
FRESH = (*PRODUCT, "test", "bench/demo.sh", "bench/demo.py", "bench/demo_view.py", "bench/guest", "bench/sim", "bench/lib")


def fresh(name, phrase, *words):
    return Suite(name, phrase, (Job(("test/runner/fresh.sh", *words), POLL, 8 * MINUTE),), paths=FRESH, bare=True,
                 bound=2 * SHARD_SECONDS)


# One thread runs at a time, each in turn: a worker that polls would keep the others out for seconds otherwise. 30 random
# switches take a minute.
VALGRIND = "valgrind --quiet --error-exitcode=1 --fair-sched=try"
UNDER_VALGRIND = (("WEIR_SEEDS", "30"), ("WEIR_VALGRIND", "1"), ("WEIR_PATIENCE", "4"))
DEEP = (
    Suite("asan-unit", "unit under ASan and UBSan, by clang", (unit(ADDRESS, "unit", seconds=190),), ADDRESS, ("unit", "canary"),
          needs=ROOT_NEEDS, canaries=(unit(ADDRESS, "canary"),), paths=UNIT),
    Suite("asan-process", "process tests under the same",
          (end_to_end("process", folder=ADDRESS, seconds=150, patience=3),
           end_to_end("process", lane=BESIDE, folder=ADDRESS, seconds=60, patience=3)), ADDRESS, targets=("programs",),
          needs=ROOT_NEEDS, canaries=(CANARY_END_TO_END,), paths=(*END_TO_END, "test/e2e/process")),
    Suite("tsan", "rings, counters and a switch's workers in threads under TSan", (unit(THREAD, "tsan", seconds=5),), THREAD,
          ("tsan", "canary"), needs=ROOT_NEEDS, canaries=(unit(THREAD, "canary"),), paths=UNIT),
    Suite("lint", "clang-tidy's checks of faults (.clang-tidy)", (script("test/runner/lint.py", RELEASE, seconds=300),), RELEASE,
          ("canary",), needs=ROOT_NEEDS, canaries=(script("test/runner/lint.py", RELEASE, "lint_canary"),),
          paths=(*PRODUCT, ".clang-tidy", "test/runner/lint.py")),
    Suite("fuzz", "each fuzz target from its corpus, with a fixed seed", (script("test/runner/fuzz.py", ADDRESS, "15", seconds=150),),
          ADDRESS, ("fuzz",), needs=ROOT_NEEDS, canaries=(script("test/runner/fuzz.py", ADDRESS, "15", "--test=canary"),),
          paths=(*PRODUCT, "test/fuzz", "test/vswitch/datapath", "test/runner/fuzz.py")),
    Suite("guests", "QEMU guests: offloads, queues, kills, reboots, steering", (end_to_end("guests", seconds=190),), RELEASE,
          targets=("programs",), needs=("--tests", "--guests"), canaries=(CANARY_END_TO_END,),
          paths=(*END_TO_END, "test/e2e/guests", "test/e2e/smoke", "bench/guest")),
    Suite("rates", "promises in real time, kernels' TCP and appliances", (end_to_end("rates", seconds=150),), RELEASE,
          targets=("programs",), needs=ROOT_NEEDS, canaries=(CANARY_END_TO_END,), paths=(*END_TO_END, "test/e2e/rates")),
    Suite("simulator", "the simulator, and all programs installed", (unit(RELEASE, "simulator", seconds=20),
                                                                      end_to_end("installed", lane=BESIDE, seconds=5)), RELEASE,
          ("simulator", "canary"), ("all",), needs=ROOT_NEEDS, canaries=(CANARY,), paths=(*UNIT, "bench/sim", "bench/scenarios", "test/bench",
                                                                                "test/e2e/installed")),
    Suite("memory", "unit under Valgrind, without the cases tagged [long]", (unit(RELEASE, "unit", VALGRIND, seconds=300, environment=UNDER_VALGRIND),),
          RELEASE, ("unit", "canary-memory"), needs=("--tests", "--memory"),
          canaries=(unit(RELEASE, "canary-memory", VALGRIND),), paths=UNIT),
    Suite("seeds", "the controller and many switches under faults, 10,000 seeds", (unit(RELEASE, "seeds", seconds=600),), RELEASE,
          ("seeds", "canary"), needs=ROOT_NEEDS, canaries=(CANARY,), paths=(*PRODUCT, "test/ctrl/faults", "test/runner/meson_tests.py")),
    fresh("fresh-tests", "a minimal Debian 12: tests, then the demo", "bookworm", "test/run.sh", "bench/demo.sh"),
    fresh("fresh-demo", "a minimal Debian 12 with the packages and objects of fresh-tests: the demo, then a guest", "--kept", "bookworm",
          "bench/demo.sh", "test/run.sh --only smoke"),
    fresh("fresh-trixie", "a minimal Debian 13, with an earlier run's objects: install, build, unit, smoke", "--kept", "trixie",
          "test/run.sh --only unit --only smoke"),
)

# Half a minute: CI runs them every time.
FOR_EVERY_CI = ("simulator",)
# CI runs one of these: their verdicts depend neither on the machine's speed, nor on a network, nor on a linter's version. Of equally old
# ones the first, which is the shortest.
FOR_CI = ("tsan", "fuzz", "asan-process", "seeds", "memory", "asan-unit")

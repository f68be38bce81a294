"""micro.py - google-benchmark programs of bench/micro: repetitions of all cases in random order, and their medians."""
import json
import random
import re
import shlex

from bench.lib.figures import median, select
from bench.lib.host import BUILD, SWITCH_CORE, parser, prepare, run, tool
from bench.lib.record import Record
from bench.lib.report import Table, finish, number

# Keys of every case in google-benchmark's JSON; the others are the case's own counters.
STANDARD = {"name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads",
            "iterations", "aggregate_name", "aggregate_unit", "real_time", "cpu_time", "time_unit"}

LIBRARIES = re.compile(r"-Wl,--start-group (\S+\.a(?: \S+\.a)*) ")


def cases(report, aggregate=None):
    """[{"name", and the case's own counters}] of google-benchmark's JSON: all runs, or one aggregate such as "median"."""
    return [{"name": row["run_name"].split("/iterations:")[0].removesuffix("/manual_time"),
             **{key: value for key, value in row.items() if key not in STANDARD}}
            for row in report["benchmarks"] if row.get("aggregate_name") == aggregate]


def shuffled(command, program, output, seed):
    """The command that links a program, changed so that its libraries are in an order drawn by `seed`, and the program is `output`."""
    libraries = LIBRARIES.search(command)
    if not libraries:
        raise RuntimeError(f"{program}: its link command names no group of libraries: {command[:200]}")
    names = libraries.group(1).split(" ")
    random.Random(seed).shuffle(names)
    return command.replace(libraries.group(1), " ".join(names)).replace(f"-o bench/micro/{program} ", f"-o {shlex.quote(output)} ")


def linked_anew(program, build, output, seed):
    """Links a program of a build folder with its libraries in another order, as `output`.

    The same instructions at other places of a program differ by 3 % in 40 ns.
    """
    command = run("ninja", "-C", str(build), "--quiet", "-t", "commands", f"bench/micro/{program}").strip().splitlines()[-1]
    run("sh", "-c", f"cd {shlex.quote(str(build))} && {shuffled(command, program, output, seed)}", timeout=120)


def measure(program, *options, build=BUILD, path=None, timeout=300):
    """Runs a program of bench/micro, or the one at `path`, on the switch's core and returns google-benchmark's JSON.

    Raises RuntimeError when a case failed, or when the options chose none.
    """
    output = run("taskset", "-c", str(SWITCH_CORE), path or tool(f"bench/micro/{program}", build), *options, "--benchmark_format=json",
                 timeout=timeout)
    if "{\n" not in output:
        raise RuntimeError(f"{program} {' '.join(options)}: no case was measured: {output.strip()[-200:]}")
    report = json.loads(output[output.index("{\n"):])
    failed = [row for row in report["benchmarks"] if row.get("error_occurred")]
    if failed:
        raise RuntimeError(f"{program}: {failed[0]['name']}: {failed[0]['error_message']}")
    return report


def medians(program, repetitions, seconds):
    """The cases' medians over repetitions that are interleaved, so that the machine's changes affect all alike."""
    report = measure(program, f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={seconds}",
                     "--benchmark_enable_random_interleaving=true", "--benchmark_report_aggregates_only=true")
    return cases(report, "median") or cases(report)  # of a single repetition there is no median


def in_turn(program, base, repetitions, seconds):
    """medians(), each case with those of the base's build as "before", {counter: median}; each repetition measures both."""
    rounds = {build: [] for build in (BUILD, base)}
    for _ in range(repetitions):
        for build, found in rounds.items():
            found += cases(measure(program, f"--benchmark_min_time={seconds}", "--benchmark_enable_random_interleaving=true", build=build))
    now, before = (together(found) for found in rounds.values())
    return [{**case, "before": {key: value for key, value in before.get(name, {}).items() if key != "name"}} for name, case in now.items()]


def together(found):
    """{name: the case with the medians of its counters} of cases that were measured several times."""
    names = dict.fromkeys(case["name"] for case in found)
    return {name: {"name": name, **{key: median([case[key] for case in found if case["name"] == name])
                                    for key in next(case for case in found if case["name"] == name) if key != "name"}} for name in names}


def beside(samples, keys):
    """[The table of the cases beside those of an earlier commit], by the first of these counters that a case has; [] without a base."""
    if not any(sample.get("before") for sample in samples):
        return []
    rows = []
    for sample in sorted(samples, key=lambda each: each["name"]):
        key = next((key for key in keys if key in sample), None)
        before = sample.get("before", {}).get(key)
        if key:
            rows.append([sample["name"], key.replace("_", " "), number(sample[key], 3), number(before, 3),
                         number(sample[key] / before if before else None)])
    return [Table("Beside an earlier commit, measured in turn (medians; -: it has no such case)", ["", "unit", "now", "before", "now / before"], rows)]


def one(samples, name, key):
    """A counter of the case with this name; None where it was not measured."""
    found = select(samples, name=name)
    return found[0].get(key) if found else None


def quotient(samples, above, below, key):
    """One case's counter over another's."""
    top, bottom = one(samples, above, key), one(samples, below, key)
    return top / bottom if top is not None and bottom else None


def main(name, about, program, repetitions):
    """The whole bench `bench.micro.NAME`: measures the program, prints tables, writes JSON."""
    options = parser(name, about, rounds=repetitions, seconds=0.1)
    options.add_argument("base", nargs="?", help="build folder of an earlier commit, whose cases are measured in turn with these")
    options = options.parse_args()
    prepare()
    record = Record(options)
    record.samples = (in_turn(program, options.base, options.rounds, options.seconds) if options.base else
                      medians(program, options.rounds, options.seconds))
    finish(record, f"bench.micro.{name}")

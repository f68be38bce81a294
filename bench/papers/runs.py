"""runs.py - runs variants of scenarios with weir-sim, several at once, reports progress, and writes a paper's page."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from bench.lib import results_page
from bench.lib.host import BUILD, ROOT, last_change
from bench.papers import claims

SCENARIOS = ROOT / "bench" / "scenarios"
RESULTS = ROOT / "docs" / "results"
RUN_SECONDS_MAX = 1800  # a run takes seconds on a quiet core, and minutes beside builds
# The paths that decide figures in virtual time: code, scenarios and costs.
SIMULATED = ("bench/control", "bench/scenarios", "bench/sim", "common", "configs/costs", "cost_functions", "ctrl", "vswitch")


def read_scenario(name):
    """A scenario with comments on lines of their own, as a dictionary."""
    text = (SCENARIOS / f"{name}.jsonc").read_text()
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


def variant(name, isolation, without=(), **changes):
    """A scenario with another isolation, without some sources, and with `section__key` set to other values."""
    scenario = read_scenario(name)
    scenario.pop("$schema", None)
    scenario["isolation"] = isolation
    scenario["sources"] = [source for source in scenario["sources"] if source["name"] not in without]
    for source in scenario["sources"]:
        if "sizes" in source:
            source["sizes"] = str((SCENARIOS / name).parent.joinpath(source["sizes"]).resolve())
    for place, value in changes.items():
        section, _, key = place.rpartition("__")
        (scenario[section] if section else scenario)[key] = value
    return scenario


def render(template, found):
    """A page with {{NAME}} replaced by the text computed under that name."""
    missing = sorted(set(re.findall(r"\{\{([^}]+)\}\}", template)) - set(found))
    if missing:
        raise KeyError(f"nothing was computed for {', '.join(missing)}")
    return re.sub(r"\{\{([^}]+)\}\}", lambda match: found[match[1]], template)


def arguments(name, doc, quick="", **programs):
    """The command line that every paper in virtual time has, and `target`: the folder of its page.

    @param name the paper's, and that of its work folder in the build folder
    @param quick the length of the runs with --quick, for --help; empty where it is the usual one
    @param programs name=path of further programs in the build folder
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for program, path in ({"sim": "bench/sim/weir-sim"} | programs).items():
        parser.add_argument(f"--{program}", default=BUILD / path, type=pathlib.Path, help="a program (default %(default)s)")
    parser.add_argument("--work", default=BUILD / "papers" / name, type=pathlib.Path, help="folder for scenarios and results (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{quick and quick + '; '}writes to the work folder only")
    options = parser.parse_args()
    options.began = time.monotonic()
    options.target = options.work if options.quick else RESULTS
    return options


def measured(options, name):
    """A block of the page for the table of another program, measured with real packets in real time: the one that bench/run.sh left
    in the build folder, else the page's own. `bench/run.sh results` fills the block too."""
    content = results_page.block(options.work.parents[1], name)
    if content is None:
        content = next((kept for page in sorted(RESULTS.glob("*.md")) if (kept := results_page.blocks(page.read_text()).get(name)) is not None), None)
    if content is None:
        raise SystemExit(f"results:{name} was measured nowhere: bench/run.sh {name.replace('_', '-')} first, or take the block out of the template")
    return f"<!-- results:{name} -->\n{content}\n<!-- /results -->"


def seeds_of(results):
    """The seeds of all runs as text: "seed 1", "seeds 1 to 5"."""
    seeds = sorted({result["seed"] for result in results.values() if "seed" in result})
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"


def provenance(name, options, results):
    """The line that states how a page came about: command, commit, date, seeds, runs, events. The commit is the last one that changed anything
    that the figures follow from."""
    commit, changed = last_change(options.sim.resolve().parents[2], SIMULATED)
    if not commit:
        raise SystemExit(f"{name}: git knows no commit of {', '.join(SIMULATED)}, and the page must name one: run the bench in a clone")
    events = sum(result["events"] for result in results.values()) / 1e6
    return (f"Written by `bench/run.sh {name}`, {time.strftime('%Y-%m-%d', time.gmtime())}; the simulated code is that of commit {commit}"
            f"{' with changes' if changed else ''}; {seeds_of(results)};\n{len(results)} runs in virtual time, {events:,.0f} million events. The same "
            "code and seeds give the same numbers.")


def publish(name, options, results, found, judged):
    """Writes the page of the figures in `found` and, beside the results that it comes from, its numbers.

    @param judged the page's claims, in the order of the page
    """
    found |= {"provenance": provenance(name, options, results), "claims": claims.table(judged), "missed": claims.missed(judged),
              "verdicts": claims.counted(judged)}
    page = options.target / f"{name}.md"
    page.write_text(results_page.summarized(render((ROOT / "bench" / "papers" / f"{name}.md.in").read_text(), found)))
    (options.work / "numbers.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    print(f"written: {page} ({time.monotonic() - options.began:.0f} s)", file=sys.stderr)


class Runner:
    """Runs scenarios by name; results are dictionaries. Nothing is run twice by one program."""

    def __init__(self, program, work, *arguments):
        self.program = pathlib.Path(program)
        self.arguments = arguments
        self.work = pathlib.Path(work)
        self.work.mkdir(parents=True, exist_ok=True)

    def run_one(self, name, scenario):
        path = self.work / f"{name}.scenario.json"
        path.write_text(json.dumps(scenario, indent=1) + "\n")
        done = subprocess.run([self.program, "--timing", *self.arguments, path], capture_output=True, text=True, check=False,
                              timeout=RUN_SECONDS_MAX)
        if done.returncode != 0:
            raise RuntimeError(f"{name}: weir-sim ended with {done.returncode}: {done.stderr.strip()}")
        (self.work / f"{name}.json").write_text(done.stdout)
        return json.loads(done.stdout), done.stderr.strip()

    def run_all(self, scenarios):
        """{name: result} of all scenarios; the events and seconds of each are progress."""
        began = time.monotonic()
        results = {}
        with concurrent.futures.ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, len(scenarios))) as pool:
            jobs = {pool.submit(self.run_one, name, scenario): name for name, scenario in scenarios.items()}
            for job in concurrent.futures.as_completed(jobs):
                name = jobs[job]
                results[name], speed = job.result()
                print(f"[{len(results)}/{len(scenarios)}, {time.monotonic() - began:.0f} s] {name}: {speed}",
                      file=sys.stderr)
        return results

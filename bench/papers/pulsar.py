#!/usr/bin/env python3
"""pulsar.py - Pulsar's evaluation with the controller's own code: runs it, writes docs/results/pulsar.md and its plots.

Called by bench/run.sh. The prose is bench/papers/pulsar.md.in; {{NAME}} in it is a number that is computed here.
"""
import json
import os
import subprocess
import sys

from bench.papers import pulsar_plots as plots
from bench.papers.claims import Claim
from bench.papers.runs import ROOT, Runner, arguments, publish, read_scenario

SCHEMES = {"off": "without", "appliances": "per appliance", "network": "network only", "weir": "Weir"}
PROMISED = {"A": 400, "B": 1600, "C": 800, "D": 800}  # MT/s, end to end (6.1)
SETTLED = 10  # intervals: from here on, means of Fig. 12
ARRIVALS = (0, 15, 30)  # s, of Fig. 14
COSTS = ROOT / "configs" / "costs"
SIZES = ("web-search", "data-mining", "eyeq-fabric")
PROGRAM_SECONDS_MAX = 200
GBIT = 8e-3  # Gbit/s of one MT/s
TESTBED = {1: (5.2, 5.2, 29.9), 2: (7.1, 0.7, 27.1)}  # Fig. 1 without isolation, Gbit/s of A, B, C
GUARANTEED = {"A": 4.8, "B": 2.4}  # in fig1, Gbit/s
# Fig. 13: which tenant is short under each other scheme, and by how many percent.
SHORT = {"off": {"B": 64, "D": 28}, "appliances": {"B": 63, "D": 12}, "network": {"D": 30}}
NO_REASON = "The cause is not known."
# Why a claim fails, printed only where it does.
WHY = {
    "fig1": "B's host encrypts no faster in phases 2 and 3.",
    "depth": "Services, links and VMs of the scenario are chosen to fit the text's other figures; with these D is shorter than in the paper.",
    "total": "Under Weir A gets twice as much here as in the paper, so that all together get more.",
    "fig17": "Data mining has flows of up to a gigabyte, which fill the link for seconds: only intervals within a flow foretell the next one.",
}


def under(name, isolation, **changes):
    return read_scenario(f"pulsar/{name}") | {"isolation": isolation} | changes


def fig3_loads():
    """{name: loads}: A like B, and four times as aggressive, over one link, in closed and in open loops."""
    loads = {}
    for times in (1, 4):
        link = {"to_vm": 7, "size": "64KiB"}
        loads[f"network-{times}"] = [link | {"tenant": "A", "connections": times, "outstanding": 4 * times},
                                     link | {"tenant": "B", "connections": 1, "outstanding": 4}]
        files = {"service": "files", "size": "64KiB"}
        loads[f"closed-{times}"] = [files | {"tenant": "A", "outstanding": 8 * times}, files | {"tenant": "B", "outstanding": 8}]
        # Together B's rate and A's are more than the store can do; B's alone is less than half of it.
        loads[f"open-{times}"] = [files | {"tenant": "A", "rate": f"{2500 * times}tokens"}, files | {"tenant": "B", "rate": "2500tokens"}]
    return loads


def accurate(work):
    """Fig. 14's key-value store, charged for the time that its servers really spend: a token a nanosecond."""
    scenario = under("fig14-key-value", "weir")
    service = scenario["services"][0]
    row = {"size": "larger", "shape": "points", "tokens": 1, "per": "1B",
           "points": [[size, int(spent.removesuffix("ns"))] for size, spent in service["read"].items()]}
    table = {"name": "key-value store", "unit": "ns of a server", "source": "the scenario", "monotone": False,
             "operations": {"read": row, "otherwise": row}}
    (work / "accurate.json").write_text(json.dumps(table))
    service["costs"] = os.path.relpath(work / "accurate", COSTS)
    return scenario


def scenarios(work):
    runs = {f"fig12-{scheme}": under("fig12", scheme) for scheme in SCHEMES}
    for store in ("key-value", "file-store"):
        for scheme in ("off", "weir"):
            runs[f"fig14-{store}-{scheme}"] = under(f"fig14-{store}", scheme)
    runs["fig14-accurate"] = accurate(work)
    for scheme in ("off", "weir"):
        runs[f"fig1-{scheme}"] = under("fig1", scheme)
        for name, loads in fig3_loads().items():
            runs[f"fig3-{name}-{scheme}"] = under("fig3", scheme, loads=loads)
    return runs


def tokens(result, tenant, begin, end=None):
    """Mean and least of the tenant's intervals, MT/s."""
    served = [each / 1e6 for each in result["series"]["tenants"][tenant]["served"][begin:end]]
    return sum(served) / len(served), min(served)


def fig1(found, results, target, claims):
    rates = {}
    for scheme in ("off", "weir"):
        for phase in range(3):
            for tenant in "ABC":
                mean, _ = tokens(results[f"fig1-{scheme}"], tenant, 4 * phase + 1, 4 * phase + 4)
                rates[scheme, phase + 1, tenant] = mean * GBIT
                found[f"fig1-{scheme}.{phase + 1}.{tenant}"] = f"{mean * GBIT:.1f}"
    off = [abs(rates["off", phase, tenant] / paper - 1) for phase, papers in TESTBED.items() for tenant, paper in zip("ABC", papers)]
    claims.append(Claim("Fig. 1", "without isolation, any tenant in phases 1 and 2: off from the testbed's rate", 100 * max(off), 10, unit=" %", why=NO_REASON))
    claims += [Claim("Fig. 1", f"Weir: {tenant} in its worst phase, of its guarantee",
                     100 * min(rates["weir", phase, tenant] for phase in (1, 2, 3)) / guaranteed, 97, ">=", " %", why=WHY["fig1"])
               for tenant, guaranteed in GUARANTEED.items()]


def fig3(found, results, target, claims):
    part = {}
    for name in fig3_loads():
        for scheme in ("off", "weir"):
            shares = [tokens(results[f"fig3-{name}-{scheme}"], tenant, 6)[0] for tenant in "AB"]
            part[name, scheme] = round(100 * shares[0] / sum(shares))
            found[f"fig3-{name}-{scheme}"] = f"{100 * shares[0] / sum(shares):.0f} : {100 * shares[1] / sum(shares):.0f}"
    for name in ("network", "closed", "open"):
        claims += [Claim("Fig. 3", f"{name}: A's part, alike, without isolation", part[f"{name}-1", "off"], 50, "is", " %", 0, NO_REASON),
                   Claim("Fig. 3", f"{name}: A's part, four times as aggressive, without isolation", part[f"{name}-4", "off"], 80, "is", " %", 0, NO_REASON),
                   Claim("Fig. 3", f"{name}: A's part, four times as aggressive, Weir", part[f"{name}-4", "weir"], 50, "is", " %", 0, NO_REASON)]


def short_tenants(least):
    """The tenants whose least interval is below the guarantee, as text."""
    return ", ".join(tenant for tenant, promised in PROMISED.items() if least[tenant] < 0.99 * promised) or "none"


def fig12_claims(served, least, search):
    """Which tenant is short under which scheme, and by how much, beside the paper's Fig. 12 and 13."""
    claims = [Claim("Fig. 12", "Weir: tenants below their guarantees in any interval", short_tenants(least["weir"]), "none", "is", why=NO_REASON),
              Claim("Fig. 12", "Weir: tenant-intervals below a guarantee while capacities are searched", search, 0, digits=0, why=NO_REASON)]
    for scheme, paper in SHORT.items():
        name = SCHEMES[scheme]
        claims.append(Claim("Fig. 13", f"{name}: tenants below their guarantees", short_tenants(least[scheme]), ", ".join(paper), "is", why=NO_REASON))
        for tenant, percent in paper.items():
            short = 100 * (1 - served[scheme][tenant] / PROMISED[tenant])
            claims.append(Claim("Fig. 13", f"{name}: {tenant} is short by {short:.0f} %; percentage points from the paper's {percent} %", abs(short - percent), 5,
                                digits=0, why=WHY["depth"]))
    together = {scheme: sum(each.values()) for scheme, each in served.items()}
    return claims + [Claim("Fig. 12", "all tenants together without isolation, over those with it", together["off"] / together["weir"], 1.05, ">=", " x", 2,
                           WHY["total"] + " The paper: 1.09 x.")]


def fig12(found, results, target, claims):
    served, least_of, means = {}, {}, {}
    for scheme, label in SCHEMES.items():
        served[label] = means[scheme] = {}
        least_of[scheme] = {}
        for tenant, promised in PROMISED.items():
            mean, least = tokens(results[f"fig12-{scheme}"], tenant, SETTLED)
            served[label][tenant], least_of[scheme][tenant] = mean, least
            short = "" if least >= 0.99 * promised else f", **{100 * (1 - mean / promised):.0f} % short**"
            found[f"fig12-{scheme}.{tenant}"] = f"{mean:,.0f}{short}"
        found[f"fig12-{scheme}.all"] = f"{sum(served[label].values()):,.0f}"
    weir = results["fig12-weir"]
    # While the search goes up from the bottom of the window.
    below = [i + 1 for i in range(1, SETTLED) for tenant, promised in PROMISED.items()
             if weir["series"]["tenants"][tenant]["served"][i] < 0.99e6 * promised]
    found["fig12.settled"] = str(SETTLED)
    claims += fig12_claims(means, least_of, len(below))
    plots.draw_schemes(target / "pulsar-fig12.svg", served, PROMISED)


def phase_of(found, key, result, begin, end, tenants, claims):
    """The figures of the estimate and the tenants from one arrival to the next; interval k ends k seconds after the arrival."""
    (service,) = result["series"]["services"].values()
    names = list(tenants)
    real = sum(service["served"][end - 4:end]) / 4
    errors = [abs(each / real - 1) for each in service["estimate"][begin:end]]
    stable = next(k for k in range(len(errors)) if max(errors[k:]) <= 0.05) + 1
    found[f"{key}.real"] = f"{real / 1e6:,.0f}"
    found[f"{key}.stable"] = str(stable)
    found[f"{key}.error"] = f"{100 * max(errors[stable - 1:]):.1f} %"
    least = {name: [served / tenants[name] for served in result["series"]["tenants"][name]["served"][begin:end]] for name in names}
    found[f"{key}.least"] = f"{100 * min(min(each[1:]) for each in least.values()):.0f} %"
    found[f"{key}.first"] = f"{100 * min(each[0] for each in least.values()):.0f} %"
    shares = [max(abs(least[name][k] / least[names[-1]][k] - 1) for name in names) for k in range(5, end - begin)]
    found[f"{key}.ratio"] = f"{100 * max(shares):.1f} %" if len(names) > 1 else "-"
    where = f"{key.removeprefix('fig14-').rsplit('.', 1)[0]} with {' and '.join(reversed(names))}"
    claims += [Claim("Fig. 14", f"{where}: intervals until the estimate is stable", stable, 5, digits=0, why=NO_REASON),
               Claim("Fig. 14", f"{where}: the least part of a guarantee in any interval", 100 * min(map(min, least.values())), 100, ">=", " %", 0, NO_REASON)]
    if len(names) > 1:
        claims.append(Claim("Fig. 14", f"{where}: error of the tenants' ratio from the sixth interval", 100 * max(shares), 5, unit=" %", why=NO_REASON))


def fig14(found, results, target, claims):
    for store, unit in (("key-value", 200e6), ("file-store", 100e6)):
        result = results[f"fig14-{store}-weir"]
        guarantees = {"B": 3 * unit, "C": 2 * unit, "D": unit}
        ends = (*ARRIVALS[1:], len(result["series"]["tenants"]["B"]["served"]))
        for phase, (begin, end) in enumerate(zip(ARRIVALS, ends)):
            present = {name: guarantees[name] for name in "BCD"[2 - phase:]}
            phase_of(found, f"fig14-{store}.{phase + 1}", result, begin, end, present, claims)
        for tenant, promised in guarantees.items():
            found[f"fig14-{store}-off.{tenant}"] = f"{100e6 * tokens(results[f'fig14-{store}-off'], tenant, 35)[0] / promised:.0f} %"
        plots.draw_capacity(target / f"pulsar-fig14-{store}.svg", result, 1)
    (service,) = results["fig14-accurate"]["series"]["services"].values()
    found["fig14-accurate"] = ", ".join(f"{service['estimate'][end - 1] / 1e6:,.0f}" for end in ends)


def run_json(command, text=None):
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True, check=False,
                          timeout=PROGRAM_SECONDS_MAX)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return json.loads(done.stdout)


def search(weirctl, real, **settings):
    """The search on an appliance that queues the requests beyond its capacity: one row of `solve` after the other."""
    problem = {"kind": "capacity", "min": 5000, "max": 10000, "tolerance": 100, "intervals": []} | settings
    given, queue, rows = problem["min"], 0, []
    for _ in range(14):
        served = min(real, given + queue)
        queue = max(0, queue + given - real)
        problem["intervals"].append({"throughput": served, "offered": 20000, "outstanding": 10 + queue, "violated": False})
        rows.append(run_json([weirctl, "solve", "-"], json.dumps(problem))["intervals"][-1])
        given = rows[-1].get("allocate", rows[-1]["estimate"])
    return rows


def fig8(found, programs, target, claims):
    real = 6500
    searches = {"the paper's search": search(programs["weirctl"], real, readings=1),
                "the controller's": search(programs["weirctl"], real, jump=True)}
    for key, rows in zip(("plain", "weir"), searches.values()):
        found[f"fig8-{key}"] = ", ".join(f"{row['estimate']:.0f}" for row in rows[:11])
        found[f"fig8-{key}.at"] = str(next(k for k in range(len(rows)) if all(
            abs(row["estimate"] / real - 1) <= 0.035 for row in rows[k:])) + 1)
        claims.append(Claim("Fig. 8", f"{'the paper search' if key == 'plain' else 'the controller'}: first interval from which the estimate is within 3.5 %",
                            int(found[f"fig8-{key}.at"]), 8, digits=0, why=NO_REASON))
    plots.draw_search(target / "pulsar-fig8.svg", searches, real)


def fig17(found, programs, target, claims):
    curves, table = {}, []
    for name in SIZES:
        rows = run_json([programs["demand-error"], ROOT / "bench" / "scenarios" / "sizes" / f"{name}.txt"])
        curves[name] = [(row["interval_s"], row["error"]) for row in rows]
        table.append(f"| {name} | " + " | ".join(f"{100 * row['error']:.0f}" for row in rows) + " |")
        best = min(rows, key=lambda row: row["error"])["interval_s"]
        claims.append(Claim("Fig. 17", f"{name}: interval with the least error", "10 to 30 s" if 10 <= best <= 30 else f"{best:g} s", "10 to 30 s", "is",
                            why=WHY["fig17"]))
    found["fig17.head"] = " | ".join(f"{seconds:g} s" for seconds, _ in curves[SIZES[0]])
    found["fig17.table"] = "\n".join(table)
    plots.draw_lines(target / "pulsar-fig17.svg", curves, "interval, s", "error, part of what was used")


def control_plane(found, programs, quick, claims):
    result = run_json([programs["interval-bench"], 200 if quick else 2000, 3])
    for key in ("bytes_up_per_flow", "bytes_down_per_flow", "header_bytes_per_switch"):
        found[f"interval.{key}"] = f"{result[key]:.0f}"
    for way, most in (("up", 64), ("down", 32)):
        claims.append(Claim("6.3", f"bytes {way} per changed flow and interval", result[f"bytes_{way}_per_flow"], most, digits=0, why=NO_REASON))


def main():
    options = arguments("pulsar", __doc__, quick="few events")
    options.work.mkdir(parents=True, exist_ok=True)
    runs = scenarios(options.work.resolve())
    if options.quick:
        runs |= {name: scenario | {"duration": "12s"} for name, scenario in runs.items() if name.startswith("fig12")}
    results = Runner(options.sim, options.work, "--costs", COSTS).run_all(runs)
    build = options.sim.resolve().parents[2]
    programs = {"weirctl": build / "ctrl/cli/weirctl", "demand-error": build / "bench/sim/demand-error",
                "interval-bench": build / "bench/control/interval-bench"}
    found, claims = {}, []
    for figure in (fig1, fig3, fig12, fig14):
        figure(found, results, options.target, claims)
    for figure in (fig8, fig17):
        figure(found, programs, options.target, claims)
    control_plane(found, programs, options.quick, claims)
    publish("pulsar", options, results, found, claims)
    return 0


if __name__ == "__main__":
    sys.exit(main())

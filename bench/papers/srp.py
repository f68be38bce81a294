#!/usr/bin/env python3
"""srp.py - Storage Resource Pools' evaluation in virtual time: runs it, writes docs/results/srp.md and its plots.

Called by bench/run.sh. The prose is bench/papers/srp.md.in; {{NAME}} in it is a number that is computed here.
"""
import json
import subprocess
import sys

from bench import plot
from bench.papers.claims import Claim
from bench.papers.runs import ROOT, Runner, arguments, measured, publish, read_scenario

SEEDS = range(1, 6)
SETTLED = 0.1  # of a host's new rate
CHANGES = (60, 120)  # of fig8, s
PAPER = {"E": 900, "F": 300, "A": 400, "B": 500, "C": 200, "D": 100}  # Fig. 3's reservations
NO_REASON = "The cause is not known."
# Why a claim fails, printed only where it does.
WHY = {
    "fig3": "The text of SRP 3.3 and the printed result do not fit each other: the result needs the two demands exchanged.",
    "fig7": "PARDA's hosts schedule here by static reservations before all shares, so that nothing of host 1's window is left for VM3; "
            "mClock itself is not modeled.",
    "fig8": "PARDA's speed depends on its beta. The paper does not give it; 8 requests of all hosts together are our own choice.",
    "fig10": "Closed loops with thinking and bursts stand for Filebench and DVDStore; their demands are our own choice.",
}
APPLICATIONS = {"mail": ("mail1", "mail2"), "oltp": ("oltp1", "oltp2"), "ws": ("ws1", "ws2", "ws3"), "dvdstore": ("dvdstore",)}


def without_promises(scenario):
    for pool in scenario["pools"]:
        pool.pop("reservation", None)
        pool.pop("limit", None)
    return scenario


def idle_vms():
    """Fig. 6: the setting of Fig. 5, where three VMs fall idle one after the other."""
    scenario = read_scenario("srp/fig5") | {"title": "SRP Fig. 6", "events": []}
    for vm, end in (("VM1", "30s"), ("VM2", "60s"), ("VM3", "90s")):
        next(each for each in scenario["vms"] if each["name"] == vm)["to"] = end
    return scenario


def scenarios():
    runs = {f"fig5-{seed}": read_scenario("srp/fig5") | {"seed": seed} for seed in SEEDS}
    runs |= {f"fig8-srp-{seed}": read_scenario("srp/fig8") | {"seed": seed} for seed in SEEDS}
    runs |= {f"{name}-{control}": read_scenario(f"srp/{name}") | {"control": control}
             for name in ("fig7", "fig8") for control in ("srp", "parda")}
    runs["fig6"] = idle_vms()
    runs["fig10-with"] = read_scenario("srp/fig10")
    runs["fig10-without"] = without_promises(read_scenario("srp/fig10"))
    return runs


def mean(result, series, begin, end):
    """Of rows that end in (begin, end], s."""
    row = result["row_ns"] / 1e9
    chosen = [value for i, value in enumerate(series) if begin < (i + 1) * row <= end]
    return sum(chosen) / len(chosen)


def served(result, vms, begin, end):
    return sum(mean(result, result["series"]["vms"][vm], begin, end) for vm in vms)


def number(value, digits=0):
    return f"{value:,.{digits}f}"


def percent(fraction):
    return f"{100 * fraction:.1f} %"


def fig3(found, weirctl, claims):
    """The worked example, by `weirctl solve`, with the demands as the text has them and as its result needs them."""
    def leaf(name, demand, **more):
        return {"id": name, "demand": demand, **more}
    for reading, (a, b) in {"text": (600, 400), "result": (400, 600)}.items():
        problem = {"kind": "pools", "capacity": 1200, "root": {"reservation": 1200, "limit": 2300, "shares": 1000, "children": [
            {"id": "E", "shares": 3, "children": [leaf("A", a, reservation=400), leaf("B", b, shares=2)]},
            {"id": "F", "shares": 1, "limit": 500, "children": [leaf("C", 400), leaf("D", 100)]}]}}
        done = subprocess.run([weirctl, "solve", "-"], input=json.dumps(problem), capture_output=True, text=True, check=True)
        nodes = json.loads(done.stdout)["nodes"]
        result = {node["id"]: round(node["reservation"]) for node in nodes}
        claims.append(Claim("Fig. 3", f"reservations of {', '.join(PAPER)} with A wanting {a} and B {b}",
                            ", ".join(str(result[name]) for name in PAPER), ", ".join(map(str, PAPER.values())), "is", why=WHY["fig3"]))
        for node in nodes:
            limit = "none" if node["limit"] is None else number(node["limit"])
            found[f"fig3-{reading}.{node['id']}"] = f"{number(node['reservation'])}, {limit}, {number(node['shares'])}"


def fig5(found, results, plots, claims):
    parts = {"first": (10, 60), "then": (65, 120)}
    reserved, ratio = [], []
    for seed in SEEDS:
        result = results[f"fig5-{seed}"]
        pools = {name: {part: served(result, vms, *span) for part, span in parts.items()}
                 for name, vms in (("RP1", ("VM1", "VM4")), ("RP2", ("VM2", "VM5")), ("RP3", ("VM3", "VM6")))}
        reserved += [1 - pools["RP1"]["first"] / 1500, abs(1 - pools["RP1"]["then"] / 500)]
        ratio += [abs(pools["RP2"][part] / pools["RP3"][part] / 2 - 1) for part in parts]
    for part, span in parts.items():
        for vm in range(1, 7):
            found[f"fig5.{part}.VM{vm}"] = number(served(results["fig5-1"], (f"VM{vm}",), *span))
        found[f"fig5.{part}.latency"] = number(mean(results["fig5-1"], results["fig5-1"]["series"]["latency_us"], *span) / 1e3, 1)
        found[f"fig5.{part}.window"] = number(mean(results["fig5-1"], results["fig5-1"]["series"]["window"], *span))
    claims += [Claim("Fig. 5", "RP1 below its reservation or off its limit, the worst of five seeds", 100 * max(0, *reserved), 3, unit=" %", why=NO_REASON),
               Claim("Fig. 5", "ratio of RP2 to RP3 off from 2, the worst of five seeds", 100 * max(ratio), 5, unit=" %", why=NO_REASON)]
    plot.draw_lines(plots / "srp-fig5.svg", {"": lines(results["fig5-1"])}, "IOPS")


def lines(result):
    """VM -> (s, tokens/s)."""
    row = result["row_ns"] / 1e9
    return {vm: ([(i + 1) * row for i in range(len(series))], series) for vm, series in result["series"]["vms"].items()}


def fig6(found, results, plots, claims):
    for part, span in {"all": (10, 30), "one": (35, 60), "two": (65, 90), "three": (95, 120)}.items():
        for vm in range(1, 7):
            found[f"fig6.{part}.VM{vm}"] = number(served(results["fig6"], (f"VM{vm}",), *span))
    idle, busy = (35, 60), (10, 30)
    outside = [served(results["fig6"], (f"VM{vm}",), *idle) / served(results["fig6"], (f"VM{vm}",), *busy) - 1 for vm in (2, 5, 3, 6)]
    claims += [Claim("Fig. 6", "VM4 while its sibling VM1 is idle, of RP1's reservation", 100 * served(results["fig6"], ("VM4",), *idle) / 1500, 97, ">=",
                     " %", why=NO_REASON),
               Claim("Fig. 6", "change of any VM of another pool meanwhile", 100 * max(map(abs, outside)), 5, unit=" %", why=NO_REASON)]
    plot.draw_lines(plots / "srp-fig6.svg", {"": lines(results["fig6"])}, "IOPS")


def fig7(found, results, claims):
    for control in ("srp", "parda"):
        result = results[f"fig7-{control}"]
        for vm in range(1, 7):
            found[f"fig7-{control}.VM{vm}"] = number(served(result, (f"VM{vm}",), 20, 80))
        for host in ("h1", "h2"):
            found[f"fig7-{control}.{host}"] = number(mean(result, result["series"]["hosts"][host]["window"], 20, 80))


    def vm(control, number_of_vm):
        return served(results[f"fig7-{control}"], (f"VM{number_of_vm}",), 20, 80)
    claims += [Claim("Fig. 7", "SRP: the less of VM1 and VM2, of its reservation", 100 * min(vm("srp", 1), vm("srp", 2)) / 750, 97, ">=", " %", why=NO_REASON),
               Claim("Fig. 7", "SRP: VM3, of the mean of VM4 to VM6", 100 * vm("srp", 3) / (sum(vm("srp", i) for i in (4, 5, 6)) / 3), 90, ">=", " %",
                     why=NO_REASON),
               Claim("Fig. 7", "PARDA: the more of VM1 and VM2, IOPS", max(vm("parda", 1), vm("parda", 2)), 750, "<", digits=0, why=NO_REASON),
               Claim("Fig. 7", "PARDA: VM3, IOPS", vm("parda", 3), 149, ">=", digits=0, why=WHY["fig7"])]


def settled(result, change):
    """Intervals from a change on until every host keeps within SETTLED of its rate of 20 to 60 s later, second by second."""
    row, latest = result["row_ns"] / 1e9, 0
    for series in result["series"]["vms"].values():
        final = mean(result, series, change + 30, change + 60)
        for first in range(round(change / row), min(round((change + 60) / row), len(series)) - 1):
            if abs(sum(series[first:first + 2]) / 2 / final - 1) > SETTLED:
                latest = max(latest, (first + 1) * row - change)
    return latest / (result["interval_ns"] / 1e9)


def fig8(found, results, plots, claims):
    spans = {"before": (30, 60), "doubled": (90, 120), "halved": (150, 180)}
    for control in ("srp", "parda"):
        result = results[f"fig8-{control}"]
        for part, span in spans.items():
            rates = [served(result, (f"VM{vm}",), *span) for vm in (1, 2, 3)]
            found[f"fig8-{control}.{part}"] = " : ".join(number(rate / rates[0], 2) for rate in rates)
            found[f"fig8-{control}.{part}.all"] = number(sum(rates))
        for change in CHANGES:
            found[f"fig8-{control}.{change}"] = number(settled(result, change), 1)
    worst = max(settled(results[f"fig8-srp-{seed}"], change) for seed in SEEDS for change in CHANGES)
    parda = max(settled(results["fig8-parda"], change) for change in CHANGES)
    claims += [Claim("Fig. 8", "SRP: intervals until new shares are in effect, the worst of five seeds and both changes", worst, 2, why=NO_REASON),
               Claim("Fig. 8", "PARDA: intervals until new shares are in effect", parda, 7.5, why=WHY["fig8"])]
    plot.draw_lines(plots / "srp-fig8.svg", {"PARDA": lines(results["fig8-parda"]), "SRP": lines(results["fig8-srp"])}, "IOPS")


def fig10(found, results, claims):
    rates, times = {}, {}
    for which in ("without", "with"):
        vms = results[f"fig10-{which}"]["summary"]["vms"]
        for application, names in APPLICATIONS.items():
            rate = sum(vms[name]["requests_per_second"] for name in names)
            latency = sum(vms[name]["requests_per_second"] * vms[name]["latency_us"] for name in names) / rate / 1e3
            found[f"fig10-{which}.{application}"] = number(rate)
            found[f"fig11-{which}.{application}"] = number(latency, 1)
            rates[which, application], times[which, application] = rate, latency
    for application in ("ws", "dvdstore"):
        claims += [Claim("Fig. 10", f"{application}: requests with settings over those without", rates["with", application] / rates["without", application],
                         1.05, ">=", " x", 2, WHY["fig10"]),
                   Claim("Fig. 11", f"{application}: latency with settings over that without", times["with", application] / times["without", application],
                         0.95, "<=", " x", 2, WHY["fig10"])]
    claims += [Claim("Fig. 11", "mail: latency with settings over that without", times["with", "mail"] / times["without", "mail"], 1.05, ">=", " x", 2,
                     WHY["fig10"]),
               Claim("Fig. 11", "oltp: change of the latency", 100 * abs(times["with", "oltp"] / times["without", "oltp"] - 1), 5, unit=" %", why=WHY["fig10"])]


def main():
    options = arguments("srp", __doc__, weirctl="ctrl/cli/weirctl")
    results = Runner(options.sim, options.work, "--costs", ROOT / "configs" / "costs").run_all(scenarios())
    found, claims = {}, []
    fig3(found, options.weirctl, claims)
    fig5(found, results, options.target, claims)
    fig6(found, results, options.target, claims)
    fig7(found, results, claims)
    fig8(found, results, options.target, claims)
    fig10(found, results, claims)
    found["real"] = measured(options, "pools")
    publish("srp", options, results, found, claims)
    return 0


if __name__ == "__main__":
    sys.exit(main())

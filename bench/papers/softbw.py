#!/usr/bin/env python3
"""softbw.py - SoftBW's evaluation in virtual time: runs it, writes docs/results/softbw.md and its plots.

Called by bench/run.sh. The prose is bench/papers/softbw.md.in; {{NAME}} in it is a number that is computed here.
"""
import math
import sys

from bench import plot
from bench.papers import rate_limits, softbw_fleet
from bench.papers.analysis import mean_between, recovered_after, windows
from bench.papers.claims import Claim
from bench.papers.runs import Runner, arguments, measured, publish, variant

MS = 1_000_000
SCHEDULERS = ("wrr", "fulfillment", "rls")
WAYS = ("off", *SCHEDULERS)
RECEIVERS = (0, 1, 2, 4, 8)
# Short flows: bytes, milliseconds between them on average, their mean rate in % of 1 Gbit/s.
SHORT = {"8k-10": ("8k", "0.6554%"), "8k-100": ("8k", "0.0655%"), "32k-10": ("32k", "2.6214%"), "32k-100": ("32k", "0.2621%")}
BURST = (500 * MS, 1_000 * MS)  # of fig6
BACK = 0.98 * 300e6
GUARANTEE = 450e6  # of fig5 and fig8
NO_REASON = "The cause is not known."
# Why a claim fails, printed only where it does.
WHY = {
    "fig5-alone": "5 % of the link are headroom here; the paper has none at the sender.",
    "medians": "Transfers that wait for a timeout of 200 ms dominate the means; most transfers do not.",
}


def with_scheduler(name, way):
    return variant(f"softbw/{name}", "off") if way == "off" else variant(f"softbw/{name}", "weir", hosts__scheduler=way)


def scenarios():
    """Every run of the set: name -> scenario."""
    runs = {f"fig6-{way}": with_scheduler("fig6", way) for way in WAYS}
    runs |= {f"fig8-{way}": with_scheduler("fig8", way) for way in SCHEDULERS}
    for way in WAYS:
        for receivers in RECEIVERS if way != "off" else ():
            run = runs[f"fig5-{receivers}-{way}"] = with_scheduler("fig5", way)
            run["sources"][1]["to"] = f"2-{receivers + 1}" if receivers > 1 else "2"
            if receivers == 0:
                del run["sources"][1]
        for short, (size, load) in SHORT.items():
            run = runs[f"fig7-{short}-{way}"] = with_scheduler("fig7", way)
            flows = run["sources"][1]
            flows |= {"load": load, "sizes": flows["sizes"].replace("8k", size)}
    return runs


def megabit(rate, digits=0):
    return f"{rate / 1e6:,.{digits}f}"


def goodput(result, source, seconds):
    """Payload that was delivered in all of the run, bit/s."""
    found = result["summary"]["sources"].get(source)
    return 8 * found["delivered_bytes"] / seconds if found else 0.0


def fig5(found, results, claims):
    alone = goodput(results["fig5-0-fulfillment"], "x", 3) / 1e6
    off = [abs(goodput(results[f"fig5-{receivers}-fulfillment"], "x", 3) / GUARANTEE - 1) for receivers in RECEIVERS if receivers]
    claims += [Claim("Fig. 5", "fulfillment: X beside any number of Y's flows, off from 450 Mbit/s", 100 * max(off), 5, unit=" %", why=NO_REASON),
               Claim("Fig. 5", "fulfillment: X alone", alone, 940, ">=", " Mbit/s", 0, WHY["fig5-alone"])]
    for way in SCHEDULERS:
        for receivers in RECEIVERS:
            result = results[f"fig5-{receivers}-{way}"]
            found[f"fig5-{receivers}-{way}"] = f"{megabit(goodput(result, 'x', 3))} / {megabit(goodput(result, 'y', 3))}"


def fig6(found, results, plots, claims):
    for way in WAYS:
        result = results[f"fig6-{way}"]
        back = recovered_after(result, "2", "Y", *BURST, BACK)
        found[f"fig6-{way}.back"] = "never" if back is None else f"{back / MS:.1f}"
        for host, tenant in (("1", "X"), ("2", "Y")):
            points = windows(result, host, tenant, 100 * MS)
            found[f"fig6-{way}.{tenant}"] = megabit(mean_between(points, 600 * MS, BURST[1]))
        if way == "fulfillment":
            after = math.inf if back is None else back / MS
            claims += [Claim("Fig. 6", "fulfillment: Y has 98 % of its guarantee after", after, 1, unit=" ms", why=NO_REASON),
                       Claim("Fig. 6", "the same, against the paper's 10 ms", after, 10, unit=" ms", why=NO_REASON)]

    def lines(way):
        result = results[f"fig6-{way}"]
        curves = {}
        for host, tenant in (("1", "X"), ("2", "Y")):
            points = [(at, rate) for at, rate in windows(result, host, tenant, MS) if 480 * MS < at <= 560 * MS]
            curves[tenant] = ([at / 1e9 for at, _ in points], [rate / 1e6 for _, rate in points])
        return curves
    plot.draw_lines(plots / "softbw-fig6.svg", {way: lines(way) for way in ("off", "fulfillment")}, "Mbit/s received")


def fig7(found, results, claims):
    ratios, medians = [], []
    for short in SHORT:
        times, middle = {}, {}
        for way in WAYS:
            done = results[f"fig7-{short}-{way}"]["summary"]["sources"]["short"]["completion_ns"]["up to 100 kB"]
            times[way], middle[way] = done["mean"], done["p50"]
            for key in ("mean", "p99"):
                found[f"fig7-{short}-{way}.{key}"] = f"{done[key] / MS:.2f}"
            found[f"fig7-{short}-{way}.long"] = megabit(goodput(results[f"fig7-{short}-{way}"], "long", 30))
        ratios.append(times["off"] / times["fulfillment"])
        medians.append(middle["off"] / middle["fulfillment"])
        found[f"fig7-{short}.faster"] = f"{ratios[-1]:.0f} x, {medians[-1]:.0f} x"
    claims += [Claim("Fig. 7", f"{what} with best effort over that with fulfillment, the least of four rows", min(values), 2.8, ">=", " x", why=NO_REASON)
               for what, values in (("mean time", ratios), ("median time", medians))]


def fig8(found, results, claims):
    for way in SCHEDULERS:
        rates = [goodput(results[f"fig8-{way}"], vm, 5) for vm in "ABC"]
        for vm, rate in zip("ABC", rates):
            found[f"fig8-{way}.{vm}"] = megabit(rate, 1)
        apart = max(rates) / min(rates) - 1
        found[f"fig8-{way}.apart"] = f"{100 * apart:.1f} %"
        if way == "fulfillment":
            claims.append(Claim("Fig. 8", "fulfillment: the most of A, B, C above the least", 100 * apart, 2, unit=" %", why=NO_REASON))


def main():
    options = arguments("softbw", __doc__)
    runner = Runner(options.sim, options.work)
    results = runner.run_all(scenarios() | rate_limits.trials(SHORT) | softbw_fleet.scenarios())
    best = rate_limits.choose(results, SHORT)
    results |= runner.run_all(rate_limits.comparisons(best))
    found, claims = {}, []
    fig5(found, results, claims)
    fig6(found, results, options.target, claims)
    fig7(found, results, claims)
    claims += rate_limits.fill(found, results, best, SHORT, BURST, BACK)
    fig8(found, results, claims)
    found["fig10"] = measured(options, "vm_count")
    claims += softbw_fleet.report(found, results, options.target)
    publish("softbw", options, results, found, claims)
    return 0


if __name__ == "__main__":
    sys.exit(main())

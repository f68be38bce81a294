#!/usr/bin/env python3
"""softbw.py - SoftBW's evaluation in virtual time: runs it, writes docs/results/softbw.md and its plots.

Called by bench/run.sh. The prose is bench/papers/softbw.md.in; {{NAME}} in it is a number that is computed here.
"""
import sys

from bench import plot
from bench.papers import rate_limits, softbw_fleet
from bench.papers.analysis import mean_between, recovered_after, windows
from bench.papers.runs import Runner, arguments, measured, publish, variant

MS = 1_000_000
SCHEDULERS = ("wrr", "fulfillment", "rls")
WAYS = ("off", *SCHEDULERS)
RECEIVERS = (0, 1, 2, 4, 8)
# Short flows: bytes, milliseconds between them on average, what that is of 1 Gbit/s.
SHORT = {"8k-10": ("8k", "0.6554%"), "32k-10": ("32k", "2.6214%"), "32k-100": ("32k", "0.2621%")}
BURST = (500 * MS, 1_000 * MS)  # of fig6
BACK = 0.98 * 300e6


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


def fig5(found, results):
    for way in SCHEDULERS:
        for receivers in RECEIVERS:
            result = results[f"fig5-{receivers}-{way}"]
            found[f"fig5-{receivers}-{way}"] = f"{megabit(goodput(result, 'x', 3))} / {megabit(goodput(result, 'y', 3))}"


def fig6(found, results, plots):
    worst = 0
    for way in WAYS:
        result = results[f"fig6-{way}"]
        back = recovered_after(result, "2", "Y", *BURST, BACK)
        found[f"fig6-{way}.back"] = "never" if back is None else f"{back / MS:.1f}"
        for host, tenant in (("1", "X"), ("2", "Y")):
            points = windows(result, host, tenant, 100 * MS)
            found[f"fig6-{way}.{tenant}"] = megabit(mean_between(points, 600 * MS, BURST[1]))
        if way == "fulfillment":
            worst = back if back is not None else BURST[1]
    found["fig6.met"] = "met" if worst <= MS else "missed"

    def lines(way):
        result = results[f"fig6-{way}"]
        curves = {}
        for host, tenant in (("1", "X"), ("2", "Y")):
            points = [(at, rate) for at, rate in windows(result, host, tenant, MS) if 480 * MS < at <= 560 * MS]
            curves[tenant] = ([at / 1e9 for at, _ in points], [rate / 1e6 for _, rate in points])
        return curves
    plot.draw_lines(plots / "softbw-fig6.svg", {way: lines(way) for way in ("off", "fulfillment")}, "Mbit/s received")


def fig7(found, results):
    ratios = []
    for short in SHORT:
        times = {}
        for way in WAYS:
            done = results[f"fig7-{short}-{way}"]["summary"]["sources"]["short"]["completion_ns"]["up to 100 kB"]
            times[way] = done["mean"]
            for key in ("mean", "p99"):
                found[f"fig7-{short}-{way}.{key}"] = f"{done[key] / MS:.2f}"
            found[f"fig7-{short}-{way}.long"] = megabit(goodput(results[f"fig7-{short}-{way}"], "long", 30))
        ratios.append(times["off"] / times["fulfillment"])
        found[f"fig7-{short}.faster"] = f"{ratios[-1]:.0f}"
    found["fig7.least"] = f"{min(ratios):.0f}"


def fig8(found, results):
    for way in SCHEDULERS:
        rates = [goodput(results[f"fig8-{way}"], vm, 5) for vm in "ABC"]
        for vm, rate in zip("ABC", rates):
            found[f"fig8-{way}.{vm}"] = megabit(rate, 1)
        apart = max(rates) / min(rates) - 1
        found[f"fig8-{way}.apart"] = f"{100 * apart:.1f} %"
        if way == "fulfillment":
            found["fig8.met"] = "met" if apart <= 0.02 else "missed"


def main():
    options = arguments("softbw", __doc__)
    runner = Runner(options.sim, options.work)
    results, speeds = runner.run_all(scenarios() | rate_limits.trials(SHORT) | softbw_fleet.scenarios())
    best = rate_limits.choose(results, SHORT)
    results |= runner.run_all(rate_limits.comparisons(best))[0]
    found = {}
    fig5(found, results)
    fig6(found, results, options.target)
    fig7(found, results)
    fig8(found, results)
    found["fig10"] = measured(options, "vm_count")
    rate_limits.fill(found, results, best, SHORT, BURST, BACK)
    softbw_fleet.report(found, results, speeds, options.target)
    publish("softbw", options, results, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""eyeq.py - EyeQ's evaluation in virtual time: runs it, writes docs/results/eyeq.md and its plots.

Called by bench/run.sh. The prose is bench/papers/eyeq.md.in; {{NAME}} in it is a number that is computed here.
"""
import sys

from bench import plot
from bench.papers.analysis import mean_between, recovered_after, settled_after, swing, taken_over_after, used, windows
from bench.papers.runs import Runner, arguments, measured, publish, variant

MS = 1_000_000
LINK = 10e9
LAWS = ("eyeq-linear", "weir")
FLOOD = (20 * MS, 60 * MS)  # of the fig6 scenarios


def steady_server(scenario):
    """Requests that are served in a constant time: nothing but the network makes latencies differ."""
    scenario["hosts"]["stack_delay"] = "35us"
    for source in scenario["sources"]:
        if source["kind"] == "requests":
            source |= {"service": "15us", "service_times": "constant"}
    return scenario


# Bursts of the mix: how long on and off, and whether the four senders take turns.
BURSTS = {"mix": ("2ms", "3ms", True), "mix-short": ("1ms", "1500us", True), "mix-long": ("5ms", "5ms", True),
          "mix-together": ("2ms", "3ms", False)}


def mixes():
    runs = {}
    for name, (on, off, stagger) in BURSTS.items():
        runs[f"{name}-weir"] = variant("mix", "weir")
        runs[f"{name}-marks"] = variant("mix", "weir", hosts__headroom="5%")
        for run in (runs[f"{name}-weir"], runs[f"{name}-marks"]):
            bursty = next(source for source in run["sources"] if source["name"] == "bursty")
            bursty |= {"on": on, "off": off, "stagger": stagger}
    return runs


def scenarios():
    """Every run of the set: name -> scenario."""
    runs = {"fig2-alone": variant("eyeq/fig2", "off", without=["bursts"]),
            "table1-alone": variant("eyeq/table1", "off", without=["bursts"]),
            "table1-alone-weir": variant("eyeq/table1", "weir", without=["bursts"]),
            "table1-steady-alone": steady_server(variant("eyeq/table1", "off", without=["bursts"])),
            "table1-steady-weir": steady_server(variant("eyeq/table1", "weir")),
            "fig9-flow": variant("eyeq/fig9-flow", "off"), "fig9-packet": variant("eyeq/fig9-packet", "off")}
    for isolation in ("off", *LAWS):
        for name in ("fig2", "fig6-14", "fig6-100", "table1", "fig8"):
            runs[f"{name}-{isolation}"] = variant(f"eyeq/{name}", isolation)
    for isolation in LAWS:
        for periods in range(1, 4):
            runs[f"delay{periods}-{isolation}"] = variant("eyeq/fig6-14", isolation, duration="80ms",
                                                          hosts__feedback_delay=f"{200 * periods}us")
        for name in ("idle-share", "mix"):
            runs[f"{name}-{isolation}"] = variant(name, isolation)
    runs |= mixes()
    # The longest first, so that the cores end together.
    order = ("fig8", "table1", "fig9")
    return dict(sorted(runs.items(), key=lambda item: (not item[0].startswith(order), item[0])))


def shortened(runs):
    """A tenth of each run that is long: shows that everything works, not what comes out."""
    for scenario in runs.values():
        for key in ("duration", "warmup"):
            if scenario.get(key, "").endswith("s") and not scenario[key].endswith(("ms", "us")):
                scenario[key] = f"{float(scenario[key][:-1]) * 100:.0f}ms"
        if scenario.get("warmup", "").endswith("200ms"):
            scenario["warmup"] = "20ms"
    return runs


def micros(nanoseconds, digits=1):
    return "never" if nanoseconds is None else f"{nanoseconds / 1e3:,.{digits}f}"


def millis(nanoseconds, digits=1):
    return "never" if nanoseconds is None else f"{nanoseconds / 1e6:,.{digits}f}"


def gigabit(rate, digits=2):
    return f"{rate / 1e9:.{digits}f}"


def percent(fraction, digits=1):
    return f"{100 * fraction:.{digits}f} %"


def latencies(found, results, run, source):
    latency = results[run]["summary"]["sources"][source]["latency_ns"]
    for key in ("p50", "p99", "p999"):
        found[f"{run}.{key}"] = micros(latency[key])
    return latency


def fig2(found, results, plots):
    for run in ("fig2-alone", "fig2-off", "fig2-eyeq-linear", "fig2-weir"):
        latencies(found, results, run, "ping")
        bursts = results[run]["summary"]["sources"].get("bursts", {"rate_bps": 0})
        found[f"{run}.udp"] = gigabit(bursts["rate_bps"])
    plot.draw_quantiles(plots / "eyeq-fig2-latency.svg", {
        name.removeprefix("fig2-"): plot.quantiles_of(results[name], "latency_ns")["ping"]
        for name in ("fig2-alone", "fig2-off", "fig2-weir")}, "latency of a request, us")
    plot.draw_series(plots / "eyeq-fig2-rates.svg", {name: results[f"fig2-{name}"] for name in ("off", "weir")},
                     begin=40 * MS, end=70 * MS)


def fig6(found, results, plots):
    for senders in (14, 100):
        for isolation in ("off", *LAWS):
            run = f"fig6-{senders}-{isolation}"
            result = results[run]
            found[f"{run}.recovered"] = millis(recovered_after(result, "0", "tcp", *FLOOD, 0.9 * 4.5e9), 1)
            found[f"{run}.queue"] = f"{max(result['series']['hosts']['0']['queue_peak_bytes']) / 1e3:,.0f}"
            found[f"{run}.tcp"] = gigabit(mean_between(windows(result, "0", "tcp", MS), 40 * MS, 60 * MS))
            found[f"{run}.udp"] = gigabit(mean_between(windows(result, "0", "udp", MS), 40 * MS, 60 * MS))
            found[f"{run}.swing"] = percent(swing(result, "0", "udp", 35 * MS, 60 * MS))
            found[f"{run}.before"] = gigabit(mean_between(windows(result, "0", "tcp", MS), 10 * MS, 20 * MS))
            found[f"{run}.timeouts"] = str(result["summary"]["sources"]["victim"]["timeouts"])
    for isolation in LAWS:
        for periods in range(4):
            result = results[f"delay{periods}-{isolation}" if periods else f"fig6-14-{isolation}"]
            found[f"delay{periods}-{isolation}.swing"] = percent(swing(result, "0", "udp", 35 * MS, 60 * MS))
            found[f"delay{periods}-{isolation}.settled"] = millis(settled_after(result, "0", ("tcp", "udp"), *FLOOD), 1)
            found[f"delay{periods}-{isolation}.timeouts"] = str(result["summary"]["sources"]["victim"]["timeouts"])
    for senders in (14, 100):
        plot.draw_series(plots / f"eyeq-fig6-{senders}.svg",
                         {name: results[f"fig6-{senders}-{name}"] for name in ("off", *LAWS)}, begin=18 * MS, end=30 * MS)


def fig8(found, results, plots):
    for isolation in ("off", *LAWS):
        sources = results[f"fig8-{isolation}"]["summary"]["sources"]
        for job, source in sources.items():
            done = source["completion_ns"]
            finished = done["count"] == source["connections"]
            found[f"fig8-{isolation}.{job}"] = f"{done['max'] / 1e9:.2f}" if finished else "not finished"
        last = max(source["completion_ns"]["max"] for source in sources.values())
        found[f"fig8-{isolation}.all"] = f"{last / 1e9:.2f}"
        curves = {job: [each / 1e9 for each in source["completion_ns"]["quantiles"]] for job, source in sources.items()}
        if isolation != "eyeq-linear" and all(curves.values()):
            plot.draw_quantiles(plots / f"eyeq-fig8-{isolation}.svg", curves, "completion of a transfer, s", logarithmic=False)


def table1(found, results, plots):
    alone = latencies(found, results, "table1-alone", "set")
    latencies(found, results, "table1-alone-weir", "set")
    steady = latencies(found, results, "table1-steady-alone", "set")
    beside = latencies(found, results, "table1-steady-weir", "set")
    for key in ("p50", "p99", "p999"):
        found[f"table1-steady-weir.{key}.ratio"] = f"{100 * (beside[key] / steady[key] - 1):+.1f} %"
    for isolation in ("off", *LAWS):
        run = f"table1-{isolation}"
        latency = latencies(found, results, run, "set")
        for key in ("p50", "p99", "p999"):
            ratio = latency[key] / alone[key]
            found[f"{run}.{key}.ratio"] = f"{ratio:,.0f} x" if ratio > 10 else f"{100 * (ratio - 1):+.1f} %"
        found[f"{run}.timeouts"] = str(results[run]["summary"]["sources"]["set"]["timeouts"])
        found[f"{run}.answered"] = str(results[run]["summary"]["sources"]["set"]["answered"])
        found[f"{run}.udp"] = gigabit(results[run]["summary"]["sources"]["bursts"]["rate_bps"] / 16)
    plot.draw_quantiles(plots / "eyeq-table1.svg", {
        name: plot.quantiles_of(results[f"table1-{name}"], "latency_ns")["set"]
        for name in ("alone", "off", *LAWS)}, "latency of a SET, us")


def fig9(found, results, plots):
    for ecmp in ("flow", "packet"):
        summary = results[f"fig9-{ecmp}"]["summary"]
        for place in ("edge", "core"):
            queue = summary["queues"][f"{place}_bytes"]
            for key in ("p90", "p99", "p999", "max"):
                found[f"fig9-{ecmp}.{place}.{key}"] = f"{queue[key] / 1e3:.1f}"
        found[f"fig9-{ecmp}.edge.drops"] = f"{summary['packets']['dropped_at_edge']:,}"
        found[f"fig9-{ecmp}.core.drops"] = f"{summary['packets']['dropped_in_core']:,}"
    plot.draw_queues(plots / "eyeq-fig9.svg", {"per flow": results["fig9-flow"], "per packet": results["fig9-packet"]})


def conservation(found, results, plots):
    for run in ("mix-eyeq-linear", *mixes()):
        found[f"{run}.used"] = percent(used(results[run], "0", 20 * MS, 200 * MS) / LINK)
    for isolation in LAWS:
        result = results[f"idle-share-{isolation}"]
        # All but a tenth of the 9 Gbit/s counts as taken over.
        rises = taken_over_after(result, "0", "A", "B", 0.9 * 9e9)
        found[f"idle-share-{isolation}.rise"] = millis(None if None in rises else max(rises), 1)
    plot.draw_series(plots / "eyeq-idle-share.svg", {name: results[f"idle-share-{name}"] for name in LAWS}, end=45 * MS)


def main():
    options = arguments("eyeq", __doc__, quick="a tenth of the time")
    runs = scenarios()
    results, _ = Runner(options.sim, options.work).run_all(shortened(runs) if options.quick else runs)
    found = {}
    for figure in (fig2, fig6, fig8, table1, fig9, conservation):
        figure(found, results, options.target)
    found |= {"fig7.htb": measured(options, "htb"), "table1.memcached": measured(options, "memcached")}
    publish("eyeq", options, results, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())

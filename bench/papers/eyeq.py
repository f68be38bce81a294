#!/usr/bin/env python3
"""eyeq.py - EyeQ's evaluation in virtual time: runs it, writes docs/results/eyeq.md and its plots.

Called by bench/run.sh. The prose is bench/papers/eyeq.md.in; {{NAME}} in it is a number that is computed here.
"""
import math
import sys

from bench import plot
from bench.papers.analysis import mean_between, recovered_after, settled_after, swing, taken_over_after, used, windows
from bench.papers.claims import Claim
from bench.papers.runs import Runner, arguments, measured, publish, variant

US = 1_000
MS = 1_000_000
SEEDS = range(1, 6)
LINK = 10e9
LAWS = ("eyeq-linear", "weir")
FLOOD = (20 * MS, 60 * MS)  # of the fig6 scenarios
STEADY = (35 * MS, 60 * MS)  # where swings are read
HALF = 4.5e9  # bit/s of either tenant
FINE, COARSE = 200 * US, MS  # windows of the swings
FIG8 = {"a": "P4, P2, P1", "b": "P1, P2, P4"}  # the paper's orders: without isolation, with EyeQ
NO_REASON = "The cause is not known."
# Why a claim fails, printed only where it does.
WHY = {
    "settled-14": "The frames that the flood has put into the queue drain first; then TCP is above and below its half for some windows of 200 us.",
    "settled-100": "45 Mbit/s are one frame in 270 us. A window of 200 us has 73 frames of the tenant on average, and how many senders fire in it varies.",
    "swing-100": "As above: a window of 200 us has 73 frames on average. Windows of 1 ms are judged in the row below.",
    "fig8-order": "Simulated hosts poll their guests' rings in turn, so that a VM's part of a link does not grow with its connections; "
                  "the paper's hosts have one queue for all connections.",
    "fig8-longer": "Without isolation the jobs are not as unequal as the paper's (above), and all of them end late.",
    "steady": "With a constant service time nothing hides the queue before a link that is 90 % used.",
    "marks": "Bursts of four senders at once make switches mark, and TCP halves its windows.",
    "core": "The longest queue is one sample; the percentiles are far below.",
    "fig2": "The closed loop asks most often in the quiet 15 ms of 20, so that its median is that of the quiet time.",
}


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


def seeded(run, seed):
    """The name of a run with another seed; the first has the bare name."""
    return run if seed == SEEDS[0] else f"{run}.{seed}"


def mixes():
    runs = {}
    for name in BURSTS:
        runs[f"{name}-weir"] = variant("mix", "weir")
        for seed in SEEDS:
            runs[seeded(f"{name}-marks", seed)] = variant("mix", "weir", hosts__headroom="5%", seed=seed)
    for name, run in runs.items():
        on, off, stagger = BURSTS[name.split(".")[0].rsplit("-", 1)[0]]
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
    for senders in (14, 100):
        for seed in SEEDS:
            runs[seeded(f"fig6-{senders}-weir", seed)] = variant(f"eyeq/fig6-{senders}", "weir", seed=seed)
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
    """A tenth of each run that is long: shows that every part works; its figures mean nothing."""
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


def fig2(found, results, plots, claims):
    for run in ("fig2-alone", "fig2-off", "fig2-eyeq-linear", "fig2-weir"):
        latencies(found, results, run, "ping")
        bursts = results[run]["summary"]["sources"].get("bursts", {"rate_bps": 0})
        found[f"{run}.udp"] = gigabit(bursts["rate_bps"])
    median = {run: results[f"fig2-{run}"]["summary"]["sources"]["ping"]["latency_ns"]["p50"] for run in ("alone", "off", "weir")}
    claims += [Claim("Fig. 2", "median latency beside bursts without isolation, over that with EyeQ", median["off"] / median["weir"], 10, ">=", " x",
                     why=WHY["fig2"]),
               Claim("Fig. 2", "median latency with isolation", median["weir"] / US, 55, unit=" us")]
    plot.draw_quantiles(plots / "eyeq-fig2-latency.svg", {
        name.removeprefix("fig2-"): plot.quantiles_of(results[name], "latency_ns")["ping"]
        for name in ("fig2-alone", "fig2-off", "fig2-weir")}, "latency of a request, us")
    plot.draw_series(plots / "eyeq-fig2-rates.svg", {name: results[f"fig2-{name}"] for name in ("off", "weir")},
                     begin=40 * MS, end=70 * MS)


def flood_figures(result):
    """Fig. 6's figures of one run: ns until the TCP tenant has its half, ns until both tenants have theirs, swings in windows of either width."""
    halves = all(abs(mean_between(windows(result, "0", tenant, MS), *STEADY) / HALF - 1) <= 0.1 for tenant in ("tcp", "udp"))
    return {"recovered": recovered_after(result, "0", "tcp", *FLOOD, 0.9 * HALF),
            "settled": settled_after(result, "0", ("tcp", "udp"), *FLOOD, width_ns=FINE) if halves else None,
            "fine": max(swing(result, "0", tenant, *STEADY, width_ns=FINE) for tenant in ("tcp", "udp")),
            "coarse": max(swing(result, "0", tenant, *STEADY, width_ns=COARSE) for tenant in ("tcp", "udp"))}


def worst_of(values):
    """The largest, where None is a moment that never came."""
    return max(math.inf if value is None else value for value in values)


def span(values, text):
    """Least and largest of some runs; None is a moment that never came, and how many there are is added."""
    known = sorted(value for value in values if value is not None)
    never = len(values) - len(known)
    if not known:
        return "never"
    ends = text(known[0]) if known[0] == known[-1] else f"{text(known[0])} to {text(known[-1])}"
    return f"{ends}, never in {never} of {len(values)} runs" if never else ends


def fig6_weir(found, results, claims):
    """Five seeds with Weir: least and largest on the page, the worst in the claims."""
    for senders, within_ms in ((14, 1), (100, 2)):
        runs = [flood_figures(results[seeded(f"fig6-{senders}-weir", seed)]) for seed in SEEDS]
        for key, text in (("recovered", millis), ("settled", millis), ("fine", percent), ("coarse", percent)):
            found[f"fig6-{senders}-weir.{key}"] = span([run[key] for run in runs], text)
        settled, recovered = (worst_of(run[key] for run in runs) / MS for key in ("settled", "recovered"))
        where = f"{senders} senders"
        claims += [Claim("Fig. 6", f"{where}: TCP has 90 % of its half after", recovered, within_ms, unit=" ms", why=NO_REASON),
                   Claim("Fig. 6", f"{where}: both tenants within 10 % of their rates in every 200 us from", settled, within_ms, unit=" ms",
                         why=WHY[f"settled-{senders}"])]
        if senders == 14:
            claims.append(Claim("Fig. 6", f"{where}: the same, against the paper's 5 ms", settled, 5, unit=" ms", why=WHY["settled-14"]))
        for key, width in (("fine", "200 us"), ("coarse", "1 ms")):
            claims.append(Claim("Fig. 6", f"{where}: largest swing of either tenant, windows of {width}", 100 * max(run[key] for run in runs), 10,
                                unit=" %", why=WHY["swing-100"]))


def fig6(found, results, plots, claims):
    for senders in (14, 100):
        for isolation in ("off", *LAWS):
            run = f"fig6-{senders}-{isolation}"
            result = results[run]
            figures = flood_figures(result)
            for key, text in (("recovered", millis), ("settled", millis), ("fine", percent), ("coarse", percent)):
                found[f"{run}.{key}"] = text(figures[key])
            found[f"{run}.queue"] = f"{max(result['series']['hosts']['0']['queue_peak_bytes']) / 1e3:,.0f}"
            found[f"{run}.tcp"] = gigabit(mean_between(windows(result, "0", "tcp", MS), 40 * MS, 60 * MS))
            found[f"{run}.udp"] = gigabit(mean_between(windows(result, "0", "udp", MS), 40 * MS, 60 * MS))
            found[f"{run}.before"] = gigabit(mean_between(windows(result, "0", "tcp", MS), 10 * MS, 20 * MS))
            found[f"{run}.timeouts"] = str(result["summary"]["sources"]["victim"]["timeouts"])
    fig6_weir(found, results, claims)
    for isolation in LAWS:
        for periods in range(4):
            result = results[f"delay{periods}-{isolation}" if periods else f"fig6-14-{isolation}"]
            coarse = swing(result, "0", "udp", *STEADY)
            found[f"delay{periods}-{isolation}.swing"] = percent(coarse)
            found[f"delay{periods}-{isolation}.settled"] = millis(settled_after(result, "0", ("tcp", "udp"), *FLOOD), 1)
            found[f"delay{periods}-{isolation}.timeouts"] = str(result["summary"]["sources"]["victim"]["timeouts"])
            if isolation == "weir":
                claims.append(Claim("Fig. 6", f"14 senders, feedback {200 * periods} us late: largest swing of UDP, windows of 1 ms", 100 * coarse, 10,
                                    unit=" %", why=NO_REASON))
    for senders in (14, 100):
        plot.draw_series(plots / f"eyeq-fig6-{senders}.svg",
                         {name: results[f"fig6-{senders}-{name}"] for name in ("off", *LAWS)}, begin=18 * MS, end=30 * MS)


def fig8(found, results, plots, claims):
    order, whole = {}, {}
    for isolation in ("off", *LAWS):
        sources = results[f"fig8-{isolation}"]["summary"]["sources"]
        for job, source in sources.items():
            done = source["completion_ns"]
            finished = done["count"] == source["connections"]
            found[f"fig8-{isolation}.{job}"] = f"{done['max'] / 1e9:.2f}" if finished else "not finished"
        last = max(source["completion_ns"]["max"] for source in sources.values())
        found[f"fig8-{isolation}.all"] = f"{last / 1e9:.2f}"
        whole[isolation] = last
        order[isolation] = ", ".join(sorted(sources, key=lambda job: sources[job]["completion_ns"]["max"]))
        curves = {job: [each / 1e9 for each in source["completion_ns"]["quantiles"]] for job, source in sources.items()}
        if isolation != "eyeq-linear" and all(curves.values()):
            plot.draw_quantiles(plots / f"eyeq-fig8-{isolation}.svg", curves, "completion of a transfer, s", logarithmic=False)
    found |= {f"fig8-{isolation}.order": text for isolation, text in order.items()}
    for part, isolation in (("a", "off"), ("b", "weir")):
        alike = order[isolation] == FIG8[part]
        found[f"fig8{part}"] = f"in the paper's order ({FIG8[part]})" if alike else (
            f"in the order {order[isolation]} where the paper has {FIG8[part]}: Fig. 8({part}) is not reproduced")
    claims += [Claim("Fig. 8(a)", "order in which the jobs complete without isolation", order["off"], FIG8["a"], "is", why=WHY["fig8-order"]),
               Claim("Fig. 8(b)", "order with guarantees of 4:2:1", order["weir"], FIG8["b"], "is", why=NO_REASON),
               Claim("Fig. 8", "the whole with guarantees, over the whole without", f"{whole['weir'] / whole['off']:.2f} x", "1.17 x", "is",
                     why=WHY["fig8-longer"])]


def table1(found, results, plots, claims):
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
        if isolation == "weir":
            for times, pair, why in (("exponential", (latency, alone), NO_REASON), ("constant", (beside, steady), WHY["steady"])):
                for key, name, most in (("p99", "p99", 5), ("p999", "p99.9", 10)):
                    claims.append(Claim("Table 1", f"{times} service times: {name} of SETs beside UDP, above that alone",
                                        100 * (pair[0][key] / pair[1][key] - 1), most, unit=" %", why=why))
    plot.draw_quantiles(plots / "eyeq-table1.svg", {
        name: plot.quantiles_of(results[f"table1-{name}"], "latency_ns")["set"]
        for name in ("alone", "off", *LAWS)}, "latency of a SET, us")


def fig9(found, results, plots, claims):
    for ecmp in ("flow", "packet"):
        summary = results[f"fig9-{ecmp}"]["summary"]
        for place in ("edge", "core"):
            queue = summary["queues"][f"{place}_bytes"]
            for key in ("p90", "p99", "p999", "max"):
                found[f"fig9-{ecmp}.{place}.{key}"] = f"{queue[key] / 1e3:.1f}"
        found[f"fig9-{ecmp}.edge.drops"] = f"{summary['packets']['dropped_at_edge']:,}"
        found[f"fig9-{ecmp}.core.drops"] = f"{summary['packets']['dropped_in_core']:,}"
    core = results["fig9-packet"]["summary"]["queues"]["core_bytes"]
    claims += [Claim("Fig. 9", "longest queue in the core with per-packet ECMP", core["max"] / 1e3, 50, "<", " kB", why=WHY["core"]),
               Claim("Fig. 9", "drops in the core with per-packet ECMP", results["fig9-packet"]["summary"]["packets"]["dropped_in_core"], 0, digits=0,
                     why=NO_REASON)]
    plot.draw_queues(plots / "eyeq-fig9.svg", {"per flow": results["fig9-flow"], "per packet": results["fig9-packet"]})


def conservation(found, results, plots, claims):
    def part(run):
        return used(results[run], "0", 20 * MS, 200 * MS) / LINK
    for run in ("mix-eyeq-linear", *(f"{name}-weir" for name in BURSTS)):
        found[f"{run}.used"] = percent(part(run))
    for name in BURSTS:
        parts = [part(seeded(f"{name}-marks", seed)) for seed in SEEDS]
        found[f"{name}-marks.used"] = span(parts, lambda value: percent(value, 2))
        words = "{} on, {} off{}".format(*BURSTS[name][:2], "" if BURSTS[name][2] else ", all at once")
        claims += [Claim("work conservation", f"bursts of {words}: of the link used", 100 * part(f"{name}-weir"), 90, ">=", " %", 2, NO_REASON),
                   Claim("work conservation", f"bursts of {words}, headroom 5 % and marks: of the link used", 100 * min(parts), 95, ">=", " %", 2,
                         WHY["marks"])]
    for isolation in LAWS:
        result = results[f"idle-share-{isolation}"]
        # All but a tenth of the 9 Gbit/s counts as taken over.
        rises = taken_over_after(result, "0", "A", "B", 0.9 * 9e9)
        found[f"idle-share-{isolation}.rise"] = millis(None if None in rises else max(rises), 1)
        if isolation == "weir":
            claims.append(Claim("work conservation", "an idle vNIC's share in use after", worst_of(rises) / MS, 1, unit=" ms", why=NO_REASON))
    plot.draw_series(plots / "eyeq-idle-share.svg", {name: results[f"idle-share-{name}"] for name in LAWS}, end=45 * MS)


def main():
    options = arguments("eyeq", __doc__, quick="a tenth of the time")
    runs = scenarios()
    results = Runner(options.sim, options.work).run_all(shortened(runs) if options.quick else runs)
    found, claims = {}, []
    for figure in (fig2, fig6, fig8, table1, fig9, conservation):
        figure(found, results, options.target, claims)
    found |= {"fig7.htb": measured(options, "htb"), "table1.memcached": measured(options, "memcached")}
    publish("eyeq", options, results, found, claims)
    return 0


if __name__ == "__main__":
    sys.exit(main())

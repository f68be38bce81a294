"""softbw_fleet.py - SoftBW's over-commitment (Fig. 2, 11 to 13) and its latency (Fig. 9): what is run, and what came of it.

Part of softbw.py, which runs it and writes the page.
"""
import re
import statistics

from bench import plot
from bench.papers.runs import read_scenario, variant

SEEDS = range(1, 6)
RATIOS = (1, 4, 6)
AGAIN = (1, 3, 4, 6)
# Fig. 2: 16 VMs on a link, by what they want of their guarantees on average.
MODEL_RATIOS = (1, 2, 3, 4, 4.6, 5, 6, 6.9, 8, 9, 10)
MODEL = {10: 6.9, 15: 4.6}  # %: the ratio at which the paper has less than 5 %
LOADS = (50, 90, 120)
VMS = (1, 2, 4, 8, 15)
BOUNDS = {"utilisation": 3.9, "late": 0.016, "failed": 0.084, "seconds": 60}
RULES = ("softbw", "weir")  # how dynamic guarantees are set: s'/t' of each, or also by deadline when not all fit
LINES = {1: "1x", 4: "4x", 6: "6x"}


def fleet(**changes):
    scenario = read_scenario("fleet/softbw-fig11")
    for key, value in changes.items():
        (scenario if key in scenario or key == "seed" else scenario["fleet"])[key] = value
    return scenario


def round_trips(way, load, vms):
    """N VMs that send, as in the scenario's only one."""
    scenario = variant("softbw/fig9", "off") if way == "off" else variant("softbw/fig9", "weir", hosts__scheduler=way)
    tenant, source = scenario["tenants"].pop(), scenario["sources"].pop()
    for i in range(vms):
        name = f"udp{i + 1}"
        scenario["tenants"].append(tenant | {"name": name})
        scenario["sources"].append(source | {"name": name, "tenant": name, "rate": f"{10_000 * load // vms}kbit"})
    return scenario


def scenarios():
    """Every run of this part: name -> scenario."""
    runs = {f"fig2-{use}-{ratio}": fleet(servers=500, dynamic="0%", utilisation=f"{use}%", overcommit=f"{ratio * 100:g}%",
                                         guarantee=f"{ratio * 62_500:.0f}kbit")
            for use in MODEL for ratio in MODEL_RATIOS}
    runs |= {f"fig9-{load}-{vms}-{way}": round_trips(way, load, vms)
             for load in LOADS for vms in VMS for way in ("off", "fulfillment")}
    runs |= {f"fig11-{rule}-{ratio}-{seed}": fleet(overcommit=f"{ratio}00%", seed=seed, by_deadline=rule == "weir")
             for rule in RULES for ratio in RATIOS for seed in SEEDS}
    return runs | {f"fig11-again-{ratio}-1": fleet(overcommit=f"{ratio}00%", starts="again") for ratio in AGAIN}


def percent(part, digits=1):
    return f"{100 * part:.{digits}f} %"


def verdict(met):
    return "met" if met else "missed"


def fig2(found, results, plots):
    figure, axis = plot.pyplot.subplots(figsize=(5.6, 3.2))
    for use, ratio in MODEL.items():
        model = [results[f"fig2-{use}-{each}"]["model"]["failure_probability"] for each in MODEL_RATIOS]
        drawn = [results[f"fig2-{use}-{each}"]["summary"]["strict"]["overloaded"] for each in MODEL_RATIOS]
        for each, by_model, by_lot in zip(MODEL_RATIOS, model, drawn):
            found[f"fig2-{use}-{each}"] = f"{percent(by_model, 2)}, {percent(by_lot, 2)}"
        found[f"fig2-{use}.met"] = verdict(model[MODEL_RATIOS.index(ratio)] < 0.05)
        axis.plot(MODEL_RATIOS, model, linewidth=1, label=f"{use} % used at 1x, eq. 2")
        axis.plot(MODEL_RATIOS, drawn, "o", markersize=4, label=f"{use} %, drawn by lot", color=axis.lines[-1].get_color())
    axis.set_xlabel("promised against what the link has")
    axis.set_ylabel("fails, of all seconds")
    axis.legend(framealpha=0.6, fontsize=7)
    plot.save(figure, plots / "softbw-fig2.svg")


def fig9(found, results):
    worst = 0
    for load in LOADS:
        for vms in VMS:
            times = {}
            for way in ("off", "fulfillment"):
                latency = results[f"fig9-{load}-{vms}-{way}"]["summary"]["sources"]["asks"]["latency_ns"]
                times[way] = latency["mean"]
                found[f"fig9-{load}-{vms}-{way}"] = f"{latency['mean'] / 1e3:.0f}, {latency['p99'] / 1e3:.0f}"
            worst = max(worst, times["fulfillment"] - times["off"])
    found["fig9.more"] = f"{worst / 1e3:.1f}"


def overcommitted(found, results, rule, seeds, ratios=RATIOS):
    """The rows of one rule: means of the seeds, the worst of them, and the means as numbers, by ratio."""
    def of(ratio, value):
        return [value(results[f"fig11-{rule}-{ratio}-{seed}"]["summary"]) for seed in seeds]
    reached = {}
    for ratio in ratios:
        name = f"fig11-{rule}-{ratio}"
        means = {"utilisation": statistics.fmean(of(ratio, lambda s: s["utilisation"])),
                 "late": statistics.fmean(of(ratio, lambda s: s["dynamic"]["late"])),
                 "failed": statistics.fmean(of(ratio, lambda s: s["strict"]["failed"]))}
        found |= {f"{name}.{key}": percent(value) for key, value in means.items()}
        means["times"] = means["utilisation"] / statistics.fmean(of(1, lambda s: s["utilisation"]))
        found[f"{name}.times"] = f"{means['times']:.2f}"
        worst = max(of(ratio, lambda s: max(s["dynamic"]["late_relative"], default=1)))
        found[f"{name}.worst"] = f"{worst:.1f}"
        found[f"{name}.longest"] = str(max(of(ratio, lambda s: len(s["strict"]["vms_by_failed_intervals"]) - 1)))
        charges = [sum(sum(each.values()) for each in of(to, lambda s: s["charges"])) for to in (ratio, 1)]
        found[f"{name}.charges"] = f"{charges[0] / charges[1]:.2f}"
        reached[ratio] = means
    return reached


def fig11(found, results, speeds, plots):
    overcommitted(found, results, "softbw", SEEDS)
    overcommitted(found, results, "again", (1,), AGAIN)
    reached = overcommitted(found, results, "weir", SEEDS)[4]
    found["fig11.met"] = verdict(reached["times"] >= BOUNDS["utilisation"])
    found["fig12.met"] = verdict(reached["late"] <= BOUNDS["late"])
    found["fig13.met"] = verdict(reached["failed"] <= BOUNDS["failed"])
    seconds = max(float(re.search(r"in ([\d.e+-]+) s", speed)[1]) for name, speed in speeds.items() if name.startswith("fig11-"))
    found["fleet.seconds"] = f"{seconds:.0f}"
    found["fleet.met"] = verdict(seconds < BOUNDS["seconds"])
    panel = {LINES[ratio]: (list(range(1, 601)), [100 * each for each in results[f"fig11-weir-{ratio}-1"]["series"]["utilisation"]])
             for ratio in RATIOS}
    plot.draw_lines(plots / "softbw-fig11.svg", {"2,000 servers": panel}, "% of all links used")


def fig12(results, plots):
    figure, (left, right) = plot.pyplot.subplots(1, 2, figsize=(8.4, 3.2))
    for ratio in RATIOS[1:]:
        for rule, style in (("weir", "-"), ("softbw", "--")):
            summary = results[f"fig11-{rule}-{ratio}-1"]["summary"]
            color = {4: "tab:blue", 6: "tab:orange"}[ratio]
            label = f"{LINES[ratio]}, {'by deadline' if rule == 'weir' else 'SoftBW'}"
            late, done = summary["dynamic"]["late_relative"], summary["dynamic"]["relative_permille"]["count"]
            left.plot([1, *late], [100 * (len(late) - i) / done for i in range(len(late) + 1)], style, color=color, linewidth=1.2,
                      label=label)
            by_seconds, vms = summary["strict"]["vms_by_failed_intervals"], summary["strict"]["vms"]
            right.plot(range(1, len(by_seconds)), [100 * sum(by_seconds[i:]) / vms for i in range(1, len(by_seconds))], style,
                       color=color, linewidth=1.2, label=label)
    left.set_xlim(1, 3)
    left.set_xlabel("time of a transmission / what was promised")
    left.set_ylabel("% that take longer")
    right.set_xlabel("seconds of 600 that failed, or more")
    right.set_ylabel("% of strict VMs")
    for axis in (left, right):
        axis.legend(framealpha=0.6, fontsize=7)
    plot.save(figure, plots / "softbw-fig12.svg")


def report(found, results, speeds, plots):
    fig2(found, results, plots)
    fig9(found, results)
    fig11(found, results, speeds, plots)
    fig12(results, plots)

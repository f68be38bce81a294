"""softbw_fleet.py - SoftBW's over-commitment (Fig. 2, 11 to 13) and its latency (Fig. 9): the runs and their figures.

Part of softbw.py, which runs it and writes the page.
"""
import statistics

from bench import plot
from bench.papers.claims import Claim
from bench.papers.runs import read_scenario, variant

SEEDS = range(1, 6)
RATIOS = (1, 4, 6)
AGAIN = (1, 3, 4, 6)
# Fig. 2: 16 VMs on a link, by their mean demand in % of their guarantees.
MODEL_RATIOS = (1, 2, 3, 4, 4.6, 5, 6, 6.9, 8, 9, 10)
MODEL = {10: 6.9, 15: 4.6}  # %: the ratio at which the paper has less than 5 %
LOADS = (50, 90, 120)
VMS = (1, 2, 4, 8, 15)
NO_REASON = "The cause is not known."
# Why a claim fails, printed only where it does.
WHY = {
    "again": "The paper counts the VMs that finish in time, as if each sent once. With all of them sending again the network is used half as much again as in "
             "the paper.",
    "softbw": "Setting each dynamic guarantee by itself, as the paper does, promises at moments more than the link has; the paper divides links once a second, "
              "this simulation whenever a demand changes.",
    "worst": "The worst of five seeds; the paper shows one run.",
    "used": "The cause is not known: strict VMs alone use 7.5 % here (half of the VMs at 15 %), which leaves 2 % of the paper's 9.5 % for the dynamic ones.",
}
SCHEMES = ("softbw", "weir")  # how dynamic guarantees are set: s'/t' of each, or also by deadline when not all fit
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
    runs = {f"fig2-{use}-{ratio}": fleet(servers=500, dynamic="0%", utilization=f"{use}%", overcommit=f"{ratio * 100:g}%",
                                         guaranteed_rate=f"{ratio * 62_500:.0f}kbit")
            for use in MODEL for ratio in MODEL_RATIOS}
    runs |= {f"fig9-{load}-{vms}-{way}": round_trips(way, load, vms)
             for load in LOADS for vms in VMS for way in ("off", "fulfillment")}
    runs |= {f"fig11-{scheme}-{ratio}-{seed}": fleet(overcommit=f"{ratio}00%", seed=seed, by_deadline=scheme == "weir")
             for scheme in SCHEMES for ratio in RATIOS for seed in SEEDS}
    return runs | {f"fig11-again-{ratio}-1": fleet(overcommit=f"{ratio}00%", starts="again") for ratio in AGAIN}


def percent(part, digits=1):
    return f"{100 * part:.{digits}f} %"


def fig2(found, results, plots, claims):
    figure, axis = plot.pyplot.subplots(figsize=(5.6, 3.2))
    for use, ratio in MODEL.items():
        model = [results[f"fig2-{use}-{each}"]["model"]["failure_probability"] for each in MODEL_RATIOS]
        drawn = [results[f"fig2-{use}-{each}"]["summary"]["strict"]["overloaded"] for each in MODEL_RATIOS]
        for each, by_model, by_lot in zip(MODEL_RATIOS, model, drawn):
            found[f"fig2-{use}-{each}"] = f"{percent(by_model, 2)}, {percent(by_lot, 2)}"
        claims += [Claim("Fig. 2", f"seconds with too little at {ratio} times the link, {use} % used, by {how}", 100 * part[MODEL_RATIOS.index(ratio)], 5, "<",
                         " %", 2, NO_REASON) for how, part in (("eq. 2", model), ("lot", drawn))]
        axis.plot(MODEL_RATIOS, model, linewidth=1, label=f"{use} % used at 1x, eq. 2")
        axis.plot(MODEL_RATIOS, drawn, "o", markersize=4, label=f"{use} %, drawn by lot", color=axis.lines[-1].get_color())
    axis.set_xlabel("promised against what the link has")
    axis.set_ylabel("fails, of all seconds")
    axis.legend(framealpha=0.6, fontsize=7)
    plot.save(figure, plots / "softbw-fig2.svg")


def fig9(found, results, claims):
    worst = 0
    for load in LOADS:
        for vms in VMS:
            times = {}
            for way in ("off", "fulfillment"):
                latency = results[f"fig9-{load}-{vms}-{way}"]["summary"]["sources"]["asks"]["latency_ns"]
                times[way] = latency["mean"]
                found[f"fig9-{load}-{vms}-{way}"] = f"{latency['mean'] / 1e3:.0f}, {latency['p99'] / 1e3:.0f}"
            worst = max(worst, times["fulfillment"] - times["off"])
    claims.append(Claim("Fig. 9", "mean round trip with fulfillment above that without, the worst row", worst / 1e3, 10, unit=" us", why=NO_REASON))


def overcommitted(found, results, scheme, seeds, ratios=RATIOS):
    """The rows of one scheme: means of the seeds, the worst of them, and the means as numbers, by ratio."""
    def of(ratio, value):
        return [value(results[f"fig11-{scheme}-{ratio}-{seed}"]["summary"]) for seed in seeds]
    result = {}
    for ratio in ratios:
        name = f"fig11-{scheme}-{ratio}"
        means = {"utilization": statistics.fmean(of(ratio, lambda s: s["utilization"])),
                 "late": statistics.fmean(of(ratio, lambda s: s["dynamic"]["late"])),
                 "failed": statistics.fmean(of(ratio, lambda s: s["strict"]["failed"]))}
        found |= {f"{name}.{key}": percent(value) for key, value in means.items()}
        means["times"] = means["utilization"] / statistics.fmean(of(1, lambda s: s["utilization"]))
        found[f"{name}.times"] = f"{means['times']:.2f}"
        worst = means["worst"] = max(of(ratio, lambda s: max(s["dynamic"]["late_relative"], default=1)))
        found[f"{name}.worst"] = f"{worst:.1f}"
        means["longest"] = max(of(ratio, lambda s: len(s["strict"]["vms_by_failed_intervals"]) - 1))
        found[f"{name}.longest"] = str(means["longest"])
        charges = [sum(sum(each.values()) for each in of(to, lambda s: s["charges"])) for to in (ratio, 1)]
        found[f"{name}.charges"] = f"{charges[0] / charges[1]:.2f}"
        result[ratio] = means
    return result


def bounds_of(scheme, means, why):
    """The claims of Fig. 11 to 13 at 4 times the link, which are the paper's figures."""
    return [Claim("Fig. 11", f"{scheme}: network used, times what it was at 1", means["times"], 3.9, ">=", " x", 2, why),
            Claim("Fig. 12", f"{scheme}: transmissions that are late", 100 * means["late"], 1.6, unit=" %", why=why),
            Claim("Fig. 12", f"{scheme}: the longest transmission, times what was promised", means["worst"], 2.0, unit=" x",
                  why=why if why != NO_REASON else WHY["worst"]),
            Claim("Fig. 13", f"{scheme}: strict VMs with any second that failed", 100 * means["failed"], 8.4, unit=" %", why=why),
            Claim("Fig. 13", f"{scheme}: the most such seconds of a VM", means["longest"], 10, digits=0, why=why)]


def fig11(found, results, plots, claims):
    alone = overcommitted(found, results, "softbw", SEEDS)
    again = overcommitted(found, results, "again", (1,), AGAIN)
    deadline = overcommitted(found, results, "weir", SEEDS)
    claims += bounds_of("by deadline", deadline[4], NO_REASON)
    claims += bounds_of("s' / t'", alone[4], WHY["softbw"])
    claims += bounds_of("by deadline, every VM sends again", again[4], WHY["again"])
    claims.append(Claim("Fig. 11", "network used at 1, percentage points from the paper's 9.5 %", abs(100 * deadline[1]["utilization"] - 9.5), 1,
                        unit=" points", why=WHY["used"]))
    panel = {LINES[ratio]: (list(range(1, 601)), [100 * each for each in results[f"fig11-weir-{ratio}-1"]["series"]["utilization"]])
             for ratio in RATIOS}
    plot.draw_lines(plots / "softbw-fig11.svg", {"2,000 servers": panel}, "% of all links used")


def fig12(results, plots):
    figure, (left, right) = plot.pyplot.subplots(1, 2, figsize=(8.4, 3.2))
    for ratio in RATIOS[1:]:
        for scheme, style in (("weir", "-"), ("softbw", "--")):
            summary = results[f"fig11-{scheme}-{ratio}-1"]["summary"]
            color = {4: "tab:blue", 6: "tab:orange"}[ratio]
            label = f"{LINES[ratio]}, {'by deadline' if scheme == 'weir' else 'SoftBW'}"
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


def report(found, results, plots):
    """@return the claims"""
    claims = []
    fig2(found, results, plots, claims)
    fig9(found, results, claims)
    fig11(found, results, plots, claims)
    fig12(results, plots)
    return claims

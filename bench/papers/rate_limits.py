"""rate_limits.py - SoftBW's Fig. 6 to 8 beside periodic rate limits, tuned as well as they can be. Part of softbw.py.

Neither SoftBW nor our notes on ElasticSwitch give its curve and constants, so many are tried. Of each kind that setting counts
with which short flows are fastest (mean over Fig. 7's rows, geometric) and the long one delivers at least 95 % of the bytes that it
delivers under Weir.
"""
import itertools
import math

from bench.papers.analysis import mean_between, recovered_after, windows
from bench.papers.claims import Claim
from bench.papers.runs import variant

MS = 1_000_000
FASTER_LEAST = 4.5  # the upper end of the paper's 2.8 to 4.5
KINDS = {"loss": "limits that go by loss", "queue": "limits that go by queue", "known": "limits that know the link"}
# Why a claim fails, printed only where it does.
WHY = {
    "queue": "Short flows are 0.1 to 2.6 % of the link, which fits into what such limits leave free: with them a short flow takes little longer than "
             "with the link for itself, so that no scheduler could be 4.5 times as fast.",
    "medians": "The means are those of flows that wait for a timeout of 200 ms; most flows do not.",
}
WHY["known"], WHY["loss"] = WHY["queue"], "The cause is not known."
LONG_LEAST = 0.95
BUSY = "32k-1"  # beyond the paper: a quarter of the link in short flows
TRIED = {
    "loss": [{"nic": nic, "signal": "loss", "decrease": decrease, "regain": regain}
             for nic, decrease, regain in itertools.product((64, 128, 256), ("10%", "30%"), (10, 40))],
    "queue": [{"signal": "queue", "queue": queue, "decrease": decrease, "regain": regain}
              for queue, decrease, regain in itertools.product((32, 64, 128), ("10%", "30%"), (10, 40))],
    "known": [{"ceiling": "95%"}],
}


def limited(scenario, setting):
    """The scenario with the edge of rate limits. Beside the keys of `rate_limits`, `nic` are the places of the NIC."""
    scenario["isolation"] = "rate-limits"
    scenario["hosts"]["nic_descriptors"] = setting.get("nic", 1024)
    scenario["rate_limits"] = {key: value for key, value in setting.items() if key != "nic"}
    return scenario


def short_flows(size, load):
    scenario = variant("softbw/fig7", "weir")
    flows = scenario["sources"][1]
    flows |= {"load": load, "sizes": flows["sizes"].replace("8k", size)}
    return scenario


def completion(results, name):
    return results[name]["summary"]["sources"]["short"]["completion_ns"]["up to 100 kB"]


def long_flow(results, name):
    return results[name]["summary"]["sources"]["long"]["delivered_bytes"]


def trials(short):
    """The runs that find the best settings. @param short Fig. 7's rows: name -> size, load"""
    runs = {f"fig7-{row}-{kind}-{i}": limited(short_flows(*short[row]), setting)
            for row in short for kind, settings in TRIED.items() for i, setting in enumerate(settings)}
    runs |= {f"fig7-{row}-alone": variant_alone(*short[row]) for row in short}
    return runs


def variant_alone(size, load):
    """Short flows with the link for themselves: nothing can be faster."""
    scenario = short_flows(size, load)
    scenario["sources"] = [source for source in scenario["sources"] if source["name"] == "short"]
    return scenario


def choose(results, short):
    """The number of the best setting of each kind."""
    best = {}
    for kind, settings in TRIED.items():
        def long_enough(i):
            return all(long_flow(results, f"fig7-{row}-{kind}-{i}") >=
                       LONG_LEAST * long_flow(results, f"fig7-{row}-fulfillment") for row in short)

        def slowness(i):
            return math.prod(completion(results, f"fig7-{row}-{kind}-{i}")["mean"] for row in short)
        best[kind] = min(filter(long_enough, range(len(settings))), key=slowness)
    return best


def comparisons(best):
    """The runs with the best settings."""
    runs = {f"fig7-{BUSY}-fulfillment": busy()}
    runs[f"fig7-{BUSY}-fulfillment"]["hosts"]["scheduler"] = "fulfillment"
    for kind, i in best.items():
        setting = TRIED[kind][i]
        runs[f"fig7-{BUSY}-{kind}"] = limited(busy(), setting)
        runs[f"fig6-{kind}"] = limited(variant("softbw/fig6", "weir"), setting)
        runs[f"fig8-{kind}"] = limited(variant("softbw/fig8", "weir"), setting)
        runs[f"fig6-{kind}-50ms"] = limited(variant("softbw/fig6", "weir"), setting | {"period": "50ms"})
    return runs


def busy():
    return short_flows("32k", "26.2144%")


def words(setting):
    """A setting as the page shows it."""
    what = {"loss": "the NIC has {nic} places", "queue": "{queue} packets make a queue"}.get(setting.get("signal"), "")
    return (what + ", a congestion takes {decrease}, regained after {regain} periods").format(**setting)


def fill_rows(found, results, best, rows):
    slowest = {kind: math.inf for kind in best}
    for row in rows:
        weir = completion(results, f"fig7-{row}-fulfillment")
        found[f"limits-{row}.weir"] = f"{weir['mean'] / MS:.2f}, {weir['p50'] / MS:.2f}"
        found[f"limits-{row}.weir.long"] = f"{long_flow(results, f'fig7-{row}-fulfillment') * 8 / 30e6:.0f}"
        for kind, i in best.items():
            name = f"fig7-{row}-{kind}" + ("" if row == BUSY else f"-{i}")
            done = completion(results, name)
            ratio = done["mean"] / weir["mean"]
            found[f"limits-{row}.{kind}"] = f"{done['mean'] / MS:.2f}, {done['p50'] / MS:.2f}"
            found[f"limits-{row}.{kind}.ratio"] = f"{ratio:.1f}"
            found[f"limits-{row}.{kind}.long"] = f"{long_flow(results, name) * 8 / 30e6:.0f}"
            if row != BUSY:
                slowest[kind] = min(slowest[kind], ratio)
    return slowest


def fill(found, results, best, short, burst, back_rate):
    """Figures for the page, after both sets of runs. @return the claims"""
    claims = []
    slowest = fill_rows(found, results, best, (*short, BUSY))
    for kind, ratio in slowest.items():
        found[f"limits.{kind}.least"] = f"{ratio:.1f}"
        claims.append(Claim("Fig. 7", f"mean time with {KINDS[kind]} over that with fulfillment, the least of four rows", ratio, FASTER_LEAST, ">=", " x",
                            why=WHY[kind]))
    medians = [completion(results, f"fig7-{row}-loss-{best['loss']}")["p50"] / completion(results, f"fig7-{row}-fulfillment")["p50"]
               for row in short]
    claims.append(Claim("Fig. 7", f"median time with {KINDS['loss']} over that with fulfillment, the least of four rows", min(medians), FASTER_LEAST, ">=",
                        " x", why=WHY["medians"]))
    found["limits.loss.medians"] = f"{min(medians):.1f} to {max(medians):.1f}"
    for row in short:
        found[f"limits-{row}.alone"] = f"{completion(results, f'fig7-{row}-alone')['mean'] / MS:.2f}"
    for kind in ("loss", "queue"):
        found[f"limits.{kind}.words"] = words(TRIED[kind][best[kind]])
    found["limits.tried"] = str(len(TRIED["loss"]))
    for kind in best:
        for suffix in ("", "-50ms"):
            result = results[f"fig6-{kind}{suffix}"]
            back = recovered_after(result, "2", "Y", *burst, back_rate)
            found[f"limits-fig6-{kind}{suffix}.back"] = "not at all" if back is None else f"{back / MS:.1f} ms"
            points = windows(result, "2", "Y", 100 * MS)
            found[f"limits-fig6-{kind}{suffix}.Y"] = f"{mean_between(points, 600 * MS, burst[1]) / 1e6:.0f}"
        sources = results[f"fig8-{kind}"]["summary"]["sources"]
        found[f"limits-fig8-{kind}"] = ", ".join(f"{sources[vm]['delivered_bytes'] * 8 / 5e6:.0f}" for vm in "ABC")
    return claims

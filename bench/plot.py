#!/usr/bin/env python3
"""plot.py - draws results of weir-sim as SVG or PNG (by the file's ending); needs matplotlib.

    bench/plot.py series OUT [--host 0] [--from 15ms] [--to 40ms] LABEL=RESULT.json...   arrivals and queue over time
    bench/plot.py cdf OUT --value latency_ns LABEL=RESULT.json...                        quantiles of each source
    bench/plot.py queues OUT LABEL=RESULT.json...                                        quantiles of edge and core queues
"""
import argparse
import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("Agg")
# The same numbers give the same file.
matplotlib.rcParams.update({"svg.hashsalt": "weir", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False})
from matplotlib import pyplot  # noqa: E402  (after the choice of backend)

NUMBER = r"-?\d+\.\d+"
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def nanos(text):
    """`15ms` in nanoseconds."""
    number = text.rstrip("nums")
    return float(number) * UNITS[text[len(number):]]


def rounded(coordinate):
    """@param coordinate the match of a number"""
    return f"{float(coordinate[0]):.1f}".removesuffix(".0")


def compact(svg):
    """The same picture in a tenth of the lines: a path in one line, coordinates to a tenth of a point, no metadata, no comments."""
    svg = re.sub(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: " ".join(re.sub(NUMBER, rounded, path[0]).split()), svg)
    svg = re.sub(rf'(?<= [xy]="){NUMBER}(?=")', rounded, svg)
    svg = re.sub(r"(?<=translate\()[^)]*", lambda shift: re.sub(NUMBER, rounded, shift[0]), svg)
    svg = re.sub(r"\s*\n\s*(?=[^<\s])", " ", svg)              # attributes that were given lines of their own
    svg = re.sub(r"(<g\b[^>]*>)\s*\n\s*(?=<)", r"\1", svg)      # a group in the line of its first part
    return re.sub(r"(?<=>)\s*\n\s*(?=</g>)", "", svg)


def save(figure, path):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, bbox_inches="tight", metadata=metadata, dpi=110)
    pyplot.close(figure)
    if path.suffix == ".svg":
        path.write_text(compact(path.read_text()))


def window(result, begin, end):
    """Indexes of the samples that end within begin..end (ns), and their times in ms."""
    times = result["series"]["time_ns"]
    chosen = [i for i, time in enumerate(times) if begin < time <= end]
    return chosen, [times[i] / 1e6 for i in chosen]


def draw_series(path, results, host="0", begin=0.0, end=float("inf")):
    """One column a result: the rate of each tenant's received traffic at the host, above the queue before it."""
    figure, axes = pyplot.subplots(2, len(results), figsize=(4.2 * len(results), 4.2), sharex="col", sharey="row",
                                   squeeze=False, height_ratios=[2, 1])
    for column, (label, result) in enumerate(results.items()):
        watched = result["series"]["hosts"][host]
        chosen, times = window(result, begin, end)
        above, below = axes[0][column], axes[1][column]
        for tenant, series in watched["tenants"].items():
            above.plot(times, [series["received_bps"][i] / 1e9 for i in chosen], label=tenant, linewidth=1)
        below.plot(times, [watched["queue_peak_bytes"][i] / 1e3 for i in chosen], color="tab:red", linewidth=1)
        above.set_title(label)
        below.set_xlabel("ms")
    axes[0][0].set_ylabel("Gbit/s received")
    axes[1][0].set_ylabel("queue, kB")
    axes[0][0].legend(loc="upper right", framealpha=0.6)
    save(figure, path)


def draw_lines(path, panels, label):
    """panels: title -> {name: (seconds, values)}, one column each."""
    figure, axes = pyplot.subplots(1, len(panels), figsize=(5.6 if len(panels) == 1 else 4.2 * len(panels), 3.2), sharey=True,
                                   squeeze=False)
    for axis, (title, lines) in zip(axes[0], panels.items()):
        for name, (times, values) in lines.items():
            axis.plot(times, values, label=name, linewidth=1)
        axis.set_title(title)
        axis.set_xlabel("s")
    axes[0][0].set_ylabel(label)
    axes[0][0].legend(loc="upper right", framealpha=0.6, fontsize=7)
    save(figure, path)


def draw_quantiles(path, curves, label, logarithmic=True):
    """curves: name -> 101 quantiles."""
    figure, axis = pyplot.subplots(figsize=(5.2, 3.4))
    for name, quantiles in curves.items():
        axis.plot(quantiles, [i / (len(quantiles) - 1) for i in range(len(quantiles))], label=name, linewidth=1.3)
    if logarithmic:
        axis.set_xscale("log")
    axis.set_xlabel(label)
    axis.set_ylabel("fraction up to it")
    axis.legend(framealpha=0.6)
    save(figure, path)


def quantiles_of(result, value, scale=1e3):
    """Quantiles of every source that has the value: name -> list, in units of `scale`."""
    sources = result["summary"]["sources"]
    return {name: [each / scale for each in source[value]["quantiles"]] for name, source in sources.items()
            if source.get(value, {}).get("quantiles")}


def draw_cdf(path, results, value):
    curves = {f"{label} {name}".strip(): quantiles for label, result in results.items()
              for name, quantiles in quantiles_of(result, value).items()}
    draw_quantiles(path, curves, "us")


def draw_queues(path, results):
    curves = {f"{place}, {label}": [each / 1e3 for each in result["summary"]["queues"][f"{place}_bytes"]["quantiles"]]
              for label, result in results.items() for place in ("edge", "core")}
    draw_quantiles(path, {name: curve for name, curve in curves.items() if curve}, "queue, kB", logarithmic=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["series", "cdf", "queues"])
    parser.add_argument("out")
    parser.add_argument("results", nargs="+", metavar="LABEL=RESULT.json")
    parser.add_argument("--host", default="0")
    parser.add_argument("--from", dest="begin", type=nanos, default=0.0)
    parser.add_argument("--to", dest="end", type=nanos, default=float("inf"))
    parser.add_argument("--value", default="latency_ns", choices=["latency_ns", "completion_ns"])
    options = parser.parse_args()
    results = {}
    for item in options.results:
        label, _, path = item.rpartition("=")
        results[label or pathlib.Path(path).stem] = json.loads(pathlib.Path(path).read_text())
    if options.kind == "series":
        draw_series(options.out, results, options.host, options.begin, options.end)
    elif options.kind == "cdf":
        draw_cdf(options.out, results, options.value)
    else:
        draw_queues(options.out, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())

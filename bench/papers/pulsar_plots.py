"""pulsar_plots.py - the pictures of docs/results/pulsar.md; needs matplotlib."""

from bench.plot import pyplot, save

COLOURS = {"A": "tab:green", "B": "tab:blue", "C": "tab:orange", "D": "tab:purple"}


def draw_schemes(path, served, guarantees):
    """served: {scheme: {tenant: MT/s}}; bars beside each other, and the guaranteed MT/s as a line over each."""
    figure, axis = pyplot.subplots(figsize=(7.2, 3.2))
    width = 0.8 / len(guarantees)
    for at, (tenant, promised) in enumerate(guarantees.items()):
        places = [scheme + (at - (len(guarantees) - 1) / 2) * width for scheme in range(len(served))]
        heights = [each[tenant] for each in served.values()]
        axis.bar(places, heights, width * 0.9, label=tenant, color=COLOURS[tenant])
        for place, height in zip(places, heights):
            axis.plot([place - width / 2, place + width / 2], [promised, promised], color="black", linewidth=1.5)
            if height < 0.99 * promised:
                axis.text(place, promised + 60, "!", ha="center", color="red", weight="bold")
    axis.set_xticks(range(len(served)), list(served))
    axis.set_ylabel("MT/s (line: guarantee)")
    axis.legend(ncols=len(guarantees), framealpha=0.6)
    save(figure, path)


def draw_capacity(path, result, seconds):
    """Tenants' throughput on top of each other, and the estimate."""
    (service,) = result["series"]["services"].values()
    tenants = result["series"]["tenants"]
    times = [(i + 1) * seconds for i in range(len(service["served"]))]
    figure, axis = pyplot.subplots(figsize=(5.2, 2.8))
    order = sorted(tenants, reverse=True)
    axis.stackplot(times, [[each / 1e6 for each in tenants[name]["served"]] for name in order], labels=order,
                   colors=[COLOURS[name] for name in order], alpha=0.6, step="pre")
    axis.step(times, [each / 1e6 for each in service["estimate"]], where="post", color="black", linewidth=1.3, label="estimate")
    axis.set_xlabel("s")
    axis.set_ylabel("MT/s")
    axis.set_ylim(bottom=0)
    axis.legend(ncols=4, framealpha=0.6, fontsize=8)
    save(figure, path)


def draw_search(path, searches, real):
    """{name: rows of `weirctl solve`}: the window and the estimate of each."""
    figure, axes = pyplot.subplots(1, len(searches), figsize=(4.2 * len(searches), 2.8), sharey=True, squeeze=False)
    for axis, (name, rows) in zip(axes[0], searches.items()):
        times = range(1, len(rows) + 1)
        for key in ("min_window", "max_window"):
            axis.step(times, [row[key] for row in rows], where="post", linestyle=":", linewidth=1, color="tab:gray")
        axis.step(times, [row["estimate"] for row in rows], where="post", color="tab:blue", linewidth=1.4)
        axis.axhline(real, color="tab:red", linewidth=0.8)
        axis.set_title(name)
        axis.set_xlabel("interval")
    axes[0][0].set_ylabel("tokens/s")
    save(figure, path)


def draw_lines(path, curves, label, unit):
    """{name: [(x, y)]}, both axes logarithmic."""
    figure, axis = pyplot.subplots(figsize=(4.6, 2.8))
    for name, points in curves.items():
        axis.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, linewidth=1.2, label=name)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(label)
    axis.set_ylabel(unit)
    axis.legend(framealpha=0.6)
    save(figure, path)

"""figures.py - medians of samples, and ratios to the raw loop measured just before and just after.

A shared machine changes its speed by a factor of two within minutes, so that a system is divided by its neighbors in time and the median
of these ratios is reported, not the ratio of two medians. All samples here are of one distance of the cores.
"""
import statistics

UNSTEADY = 0.15  # the raw loop before and after differ by more of their mean: the machine changed in between


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def quartiles(values):
    """(lower quartile, median, upper quartile); all the same for a single value, all None for none."""
    values = [value for value in values if value is not None]
    if len(values) < 2:
        return (median(values),) * 3
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def select(samples, **wanted):
    return [sample for sample in samples if all(sample.get(key) == value for key, value in wanted.items())]


def median_of(samples, key, **wanted):
    return median([sample.get(key) for sample in select(samples, **wanted)])


def raws_beside(samples, sample, same, reach):
    """The raw loop's samples just before and just after the sample's visit: on either side the nearest that is at most `reach` visits
    away and has the same value under the keys `same`."""
    alike = [raw for raw in select(samples, system="raw", **{key: sample.get(key) for key in same})]
    before = [raw for raw in alike if 0 < sample["visit"] - raw["visit"] <= reach]
    after = [raw for raw in alike if 0 < raw["visit"] - sample["visit"] <= reach]
    return before[-1:] + after[:1]


def agree(values):
    """Whether the values measured before and after differ by at most UNSTEADY of their mean."""
    return not values or max(values) - min(values) <= UNSTEADY * statistics.fmean(values)


def over(value, beside):
    """(value / mean of its neighbors, whether these agree); None without neighbors."""
    return (value / statistics.fmean(beside), agree(beside)) if beside else None


def steady_median(ratios):
    """(median, doubtful) of results of over(): of ratios whose neighbors agree, or of all, and then doubtful, where none do."""
    ratios = [ratio for ratio in ratios if ratio is not None]
    steady = [value for value, agree in ratios if agree]
    return median(steady or [value for value, _ in ratios]), bool(ratios) and not steady


def ratio_to_raw(samples, key="cycles_per_packet", same=("case", "size"), reach=1, **wanted):
    """(median, doubtful) of the ratios of wanted samples to the raw loop beside them."""
    return steady_median([over(sample[key], [raw[key] for raw in raws_beside(samples, sample, same, reach)])
                          for sample in select(samples, **wanted)])

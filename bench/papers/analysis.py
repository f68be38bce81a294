"""analysis.py - figures from results of weir-sim: the time at which rates settle, their steadiness, the part of each flow."""


def windows(result, host, tenant, width_ns):
    """[(end in ns, mean bit/s)] of the tenant's received traffic at the host, in consecutive windows."""
    per_window = max(1, round(width_ns / result["sample_ns"]))
    times = result["series"]["time_ns"]
    rates = result["series"]["hosts"][host]["tenants"][tenant]["received_bps"]
    return [(times[i + per_window - 1], sum(rates[i:i + per_window]) / per_window)
            for i in range(0, len(rates) - per_window + 1, per_window)]


def mean_between(points, begin, end):
    inside = [rate for time, rate in points if begin < time <= end]
    return sum(inside) / len(inside) if inside else 0.0


def settled_after(result, host, tenants, begin, end, width_ns=200_000, tolerance=0.1):
    """ns after `begin` from which every window of every tenant, until `end`, is within the tolerance of its mean over
    the second half; None when that is never so."""
    latest = 0
    for tenant in tenants:
        points = windows(result, host, tenant, width_ns)
        final = mean_between(points, (begin + end) / 2, end)
        off = [time for time, rate in points
               if begin < time <= end and not abs(rate - final) <= tolerance * final]
        if off and off[-1] + width_ns > end:
            return None
        latest = max(latest, off[-1] - begin if off else 0)
    return latest


def swing(result, host, tenant, begin, end, width_ns=1_000_000):
    """The largest distance of a window's rate from the mean, as a fraction of the mean."""
    points = windows(result, host, tenant, width_ns)
    mean = mean_between(points, begin, end)
    return max(abs(rate - mean) for time, rate in points if begin < time <= end) / mean if mean else 1.0


def used(result, host, begin, end):
    """Bit/s that all tenants received at the host."""
    tenants = result["series"]["hosts"][host]["tenants"]
    return sum(mean_between(windows(result, host, tenant, result["sample_ns"]), begin, end) for tenant in tenants)


def recovered_after(result, host, tenant, begin, end, wanted, width_ns=200_000):
    """ns after `begin` until the first window with `wanted` bit/s, from which on every whole ms has it too; None when
    that is never so."""
    for time, rate in windows(result, host, tenant, width_ns):
        if begin < time <= end - 2_000_000 and rate >= wanted:
            moments = range(int(time), int(end) - 1_000_000, 1_000_000)
            fine = windows(result, host, tenant, result["sample_ns"])
            if all(mean_between(fine, moment, moment + 1_000_000) >= wanted for moment in moments):
                return time - begin
    return None


def taken_over_after(result, host, silent, heir, level, width_ns=100_000):
    """For each time that `silent` stops receiving for at least 1 ms: the ns until `heir` receives `level` bit/s."""
    gone = windows(result, host, silent, width_ns)
    points = windows(result, host, heir, width_ns)
    quiet = round(1_000_000 / width_ns)
    stops = [gone[i][0] for i in range(len(gone) - quiet)
             if gone[i][1] > 0 and all(rate == 0 for _, rate in gone[i + 1:i + 1 + quiet])]
    return [next((time - stop for time, rate in points if time > stop and rate >= level), None) for stop in stops]

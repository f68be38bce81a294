"""wire_report.py - what feedback costs per frame from the wire: the difference of two visits in one round."""
import statistics

from lib.report import median, number, print_targets, table, target

NS_ALLOWED = 15.0  # meter, split and feedback together, at 64 bytes
SMALL = 64
KINDS = {"wire-on": "feedback on", "wire-told": "senders told"}


def _find(samples, **wanted):
    return [s for s in samples if s["case"] == "wire" and all(s.get(k) == v for k, v in wanted.items())]


def differences(samples, system, size, senders, key="ns_per_packet"):
    """Of the rounds in which the raw loop kept still beside both visits, if there are any: [on less off]."""
    found = []
    for number_of_round in sorted({s["round"] for s in samples}):
        at = {"round": number_of_round, "size": size, "senders": senders}
        for with_it, without in zip(_find(samples, system=system, **at), _find(samples, system="wire-off", **at)):
            if with_it.get("cores") == without.get("cores"):
                found.append((with_it.get("unsteady") or without.get("unsteady"), with_it[key] - without[key]))
    steady = [each for unsteady, each in found if not unsteady]
    return steady or [each for _, each in found]


def _spread_text(values):
    """The median and the quartiles: single rounds meet the machine in another mood than their neighbours."""
    if len(values) < 2:
        return number(median(values), 1)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.1f} ({low:.1f}..{high:.1f})"


def _senders_text(count):
    return f"{count:,} sender{'s' if count > 1 else ''}"


def _print_costs(samples):
    """One row for each size and number of senders."""
    rows = []
    for size, senders in sorted({(s["size"], s["senders"]) for s in _find(samples) if s["system"] != "raw"}):
        at = {"size": size, "senders": senders}
        off = _find(samples, system="wire-off", **at)
        row = [f"{size} B, {_senders_text(senders)}",
               number(median([s["cycles_per_packet"] for s in off]), 0), number(median([s.get("ratio") for s in off])),
               number(median([s["mpps"] for s in off]), 1)]
        for system in KINDS:
            row += [number(median(differences(samples, system, size, senders, "cycles_per_packet")), 0),
                    _spread_text(differences(samples, system, size, senders))]
        told = [s["told_pps"] / 1000 for s in _find(samples, system="wire-told", **at)]
        rows.append([*row, number(median(told), 0)])
    head = ["busy cycles per packet", "feedback off", "x raw", "Mpps", "on adds", "ns", "telling adds", "ns", "k told/s"]
    table("Frames from the wire to one VM, and what feedback adds (medians; ns with the rounds' quartiles)", head, rows)


def print_wire(samples):
    """Prints both tables; @return the targets."""
    _print_costs(samples)
    marks = [target(f"{name}, {_senders_text(senders)}, 64 B", median(differences(samples, system, SMALL, senders)), NS_ALLOWED,
                    " ns")
             for system, name in KINDS.items()
             for senders in sorted({s["senders"] for s in _find(samples, system=system, size=SMALL)})]
    print_targets(marks, "Frames from the wire, what feedback may add")
    return marks

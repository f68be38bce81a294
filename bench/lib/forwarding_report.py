"""forwarding_report.py - from samples in the order they were taken to ratios, tables and marks."""
from lib import wire_report
from lib.report import median, number, print_targets, save, table, target

UNSTEADY = 0.15  # two neighbouring raw runs that differ by more: the machine moved under the system between them
ISSUE_RATIO = {64: 1.45, 512: 1.25, 1500: 1.12}
FLOWS_ALLOWED = 1.05
MACS_ALLOWED = 1.2
BESIDE_RAW = ("size", "wire")  # the cases that the raw loop runs too


def _visits(samples):
    """Consecutive samples of one system: [(system, [samples])] in order."""
    visits = []
    for sample in samples:
        if not visits or visits[-1][0] != (sample["round"], sample["system"]):
            visits.append(((sample["round"], sample["system"]), []))
        visits[-1][1].append(sample)
    return visits


def _what(sample):
    """What the raw loop's figure must have in common with a system's."""
    return sample["case"], sample.get("size"), sample.get("cores")


def _raws_beside(visits, index):
    """What the raw loop cost just before and just after a visit: [{what: cycles}]."""
    for side in (range(index - 1, -1, -1), range(index + 1, len(visits))):
        for (_, system), samples in (visits[at] for at in side):
            if system == "raw":
                yield {_what(s): s["cycles_per_packet"] for s in samples if s["case"] in BESIDE_RAW}
                break


def add_ratios(samples):
    """Gives every sample of a case that the raw loop runs too its ratio to that just before and just after it."""
    visits = _visits(samples)
    for index, ((_, system), visit) in enumerate(visits):
        raws = list(_raws_beside(visits, index))
        for sample in visit:
            near = [raw[_what(sample)] for raw in raws if _what(sample) in raw]
            if system != "raw" and near:
                mean = sum(near) / len(near)
                sample["ratio"] = sample["cycles_per_packet"] / mean
                sample["unsteady"] = (max(near) - min(near)) / mean > UNSTEADY


def ratio(samples, system, size):
    """Median over the rounds, of the steady ones if there are any."""
    mine = [s for s in samples if s["system"] == system and s["case"] == "size" and s["size"] == size and "ratio" in s]
    steady = [s["ratio"] for s in mine if not s["unsteady"]]
    return median(steady or [s["ratio"] for s in mine])


def ratio_text(samples, system, size):
    """A question mark where the raw loop moved by more than the bound in every round."""
    mine = [s for s in samples if s["system"] == system and s["case"] == "size" and s["size"] == size and "ratio" in s]
    doubt = " ?" if mine and all(s["unsteady"] for s in mine) else ""
    return number(ratio(samples, system, size)) + doubt


def _median_of(samples, key, **wanted):
    return median([s.get(key) for s in samples if all(s.get(k) == v for k, v in wanted.items())])


def own_ratio(samples, system, case):
    """A case's cycles over the same system's plain 64-byte cycles just before and just after it."""
    ratios = []
    for before, special, after in zip(samples, samples[1:], samples[2:]):
        alike = before.get("cores") == special.get("cores") == after.get("cores")
        if special["system"] == system and special["case"] == case and before["case"] == after["case"] == "plain" and alike:
            near = [before["cycles_per_packet"], after["cycles_per_packet"]]
            mean = sum(near) / 2
            unsteady = (max(near) - min(near)) / mean > UNSTEADY
            ratios.append((unsteady, special["cycles_per_packet"] / mean))
    steady = [ratio for unsteady, ratio in ratios if not unsteady]
    return median(steady or [ratio for _, ratio in ratios])


def load_ratio(samples, fraction, burst):
    """Weir's cycles over OVS's (learning) at the same offered load, round by round."""
    ratios = []
    for number_of_round, distance in {(s["round"], s.get("cores")) for s in samples}:
        at = {"round": number_of_round, "cores": distance, "case": "load", "fraction": fraction, "offered_burst": burst}
        weir = _median_of(samples, "cycles_per_packet", system="weir", **at)
        ovs = _median_of(samples, "cycles_per_packet", system="ovs-normal", **at)
        if weir and ovs:
            ratios.append(weir / ovs)
    return median(ratios)


def _systems(samples):
    return list(dict.fromkeys(s["system"] for s in samples if s["case"] == "size"))


def print_sizes(samples, sizes):
    rows = []
    for system in _systems(samples):
        row = [system]
        for size in sizes:
            at = {"system": system, "case": "size", "size": size}
            row += [number(_median_of(samples, "cycles_per_packet", **at), 0),
                    "1.00" if system == "raw" else ratio_text(samples, system, size),
                    number(_median_of(samples, "mpps", **at), 1)]
        rows.append(row)
    head = ["busy cycles per packet"]
    for size in sizes:
        head += [f"{size} B", "x raw", "Mpps"]
    table("Two VMs flooding each other, one core (medians; Mpps in both directions together)", head, rows)


def print_cases(samples):
    rows = [[system, number(own_ratio(samples, system, "flows")), number(own_ratio(samples, system, "macs"))]
            for system in ("weir", "weir-macs", "ovs-normal") if system in _systems(samples)]
    table("64 bytes, in ratios to the same system's single flow", ["", "10,000 5-tuples", "1,000 MACs"], rows)


def print_loads(samples, loads):
    rows = []
    for burst, fraction in loads:
        row = [f"{fraction:.0%}, bursts of {burst}"]
        for system in ("weir", "ovs-normal"):
            at = {"system": system, "case": "load", "fraction": fraction, "offered_burst": burst}
            row += [number(_median_of(samples, "cycles_per_packet", **at), 0),
                    number(_median_of(samples, "mean_burst", **at), 1)]
        rows.append([*row, number(load_ratio(samples, fraction, burst))])
    table("64 bytes at a part of the saturating load: cycles per packet and mean burst",
          ["offered", "weir", "burst", "ovs-normal", "burst", "weir/ovs"], rows)


def targets_of(samples, loads):
    marks = [target(f"weir / raw at {size} B", ratio(samples, "weir", size), allowed, " x")
             for size, allowed in ISSUE_RATIO.items()]
    marks.append(target("10,000 5-tuples / one flow", own_ratio(samples, "weir", "flows"), FLOWS_ALLOWED, " x"))
    marks.append(target("1,000 destinations / one", own_ratio(samples, "weir-macs", "macs"), MACS_ALLOWED, " x"))
    marks += [target(f"weir / ovs-normal at {fraction:.0%} load, bursts of {burst}",
                     load_ratio(samples, fraction, burst), 1.0, " x") for burst, fraction in loads]
    return marks


def print_and_save(samples, options):
    loads = sorted({(s["offered_burst"], s["fraction"]) for s in samples if s["case"] == "load"})
    add_ratios(samples)
    marks = []
    if _systems(samples):
        print_sizes(samples, options.sizes)
        print_cases(samples)
        if loads:
            print_loads(samples, loads)
        marks = targets_of(samples, loads)
        print_targets(marks)
    if any(s["case"] == "wire" for s in samples):
        marks += wire_report.print_wire(samples)
    save(options.output, "forwarding", vars(options), samples, marks)

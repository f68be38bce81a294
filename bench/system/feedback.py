#!/usr/bin/env python3
"""feedback.py - the cost of metering and feedback per frame from the wire to a VM: feedback off, on, and advertising rates to senders.

Frames from the wire are the only ones that are metered. The generator plays the wire on the uplink, floods one VM and ignores the rates that
are advertised to it, so that the load stays. The configurations follow one another between two visits of the raw loop, since they differ
by a few cycles; reported is the median of the rounds' differences, with the quartiles.
"""
import itertools

from bench.lib.figures import agree, median, median_of, ratio_to_raw, raws_beside, select
from bench.lib.host import parser, prepare
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number, number_or_doubt, with_quartiles
from bench.lib.system import Raw, Weir, ports_with_wire, wire_uplink

VM, WIRE = 0, 1
SIZES = (64, 1500)
SENDERS = (1, 1_000)
# The receiver divides the link's rate: far more than arrives, so that no sender is limited, or far less.
ROOMY, NARROW = "400Gbit", "5Gbit"
SYSTEMS = {"off": {"rate": ROOMY, "feedback": False},
           "on": {"rate": ROOMY, "feedback": True},
           "advertising": {"rate": NARROW, "feedback": True}}
REACH = len(SYSTEMS)  # visits to the raw loop's
NS_MOST = 15.0        # meter, split and feedback together, at 64 bytes
SMALL = 64


def weir(place, name, **more):
    ports = ports_with_wire(place)
    return Weir(place, ports, uplink=wire_uplink(ports, SYSTEMS[name]["rate"]), feedback=SYSTEMS[name]["feedback"], **more)


def from_wire(size, senders, seconds):
    """Senders in random order, the worst for caches."""
    return {"name": f"wire-{size}-{senders}", "seconds": seconds, "warmup": 0.1,
            "streams": [{"from": WIRE, "to": VM, "size": size, "src_macs": senders, "random": True}]}


def figures(load, run, system):
    result, busy = load.measure(run, system)
    return {"cycles_per_packet": busy.cycles_per_packet, "ns_per_packet": busy.cycles_per_packet * 1e9 / load.tsc_hz,
            "mpps": result["ports"][VM]["rx_packets"] / result["seconds"] / 1e6,  # not the feedback frames
            "feedback_pps": result["ports"][WIRE]["rx_packets"] / result["seconds"]}


def stretches(record, load, system, senders=SENDERS):
    for size, count in itertools.product(SIZES, senders):
        run = from_wire(size, count, record.options.seconds)
        record.stretch(lambda run=run: figures(load, run, system), case="wire", size=size, senders=count)


def one_round(record, number_of_round):
    def raw():
        record.visit(lambda place: Raw(place, ports_with_wire(place)),
                     lambda system, load: stretches(record, load, system, SENDERS[:1]),  # the raw loop reads no address
                     system="raw", round=number_of_round)
    raw()
    for name in list(SYSTEMS)[::-1 if number_of_round % 2 else 1]:
        record.visit(lambda place, name=name: weir(place, name), lambda system, load: stretches(record, load, system),
                     system=name, round=number_of_round)
    raw()


def differences(samples, system, size, senders, key="ns_per_packet"):
    """The cost of `system` less that of `off`, round by round: of the rounds in which the raw loop's two visits agree, if there are any."""
    found = []
    for sample in select(samples, system=system, size=size, senders=senders):
        raws = [raw["cycles_per_packet"] for raw in raws_beside(samples, sample, ("case", "size"), REACH)]
        found += [(sample[key] - off[key], agree(raws))
                  for off in select(samples, system="off", round=sample["round"], size=size, senders=senders)]
    return [value for value, steady in found if steady] or [value for value, _ in found]


def senders_text(count):
    return f"{count:,} sender{'s' if count > 1 else ''}"


def tables(samples):
    rows = []
    for size, senders in sorted({(sample["size"], sample["senders"]) for sample in samples if sample["system"] != "raw"}):
        at = {"size": size, "senders": senders}
        row = [f"{size} B, {senders_text(senders)}", number(median_of(samples, "cycles_per_packet", system="off", **at), 0),
               number_or_doubt(ratio_to_raw(samples, reach=REACH, system="off", **at)),
               number(median_of(samples, "mpps", system="off", **at), 1)]
        for system in ("on", "advertising"):
            row += [number(median(differences(samples, system, size, senders, "cycles_per_packet")), 0),
                    with_quartiles(differences(samples, system, size, senders))]
        rows.append([*row, number(median_of(samples, "feedback_pps", system="advertising", **at), 0)])
    return [Table("Frames from the wire to one VM, and what feedback adds (medians; ns with the rounds' quartiles)",
                  ["busy cycles per packet", "feedback off", "x raw", "Mpps", "on adds", "ns", "advertising adds", "ns",
                   "feedback frames/s"], rows)]


def marks(samples):
    return [mark(f"feedback {system}, {senders_text(senders)}, {SMALL} B", median(differences(samples, system, SMALL, senders)),
                 NS_MOST, " ns")
            for system in ("on", "advertising") for senders in SENDERS]


def main():
    options = parser("feedback", __doc__, rounds=15, seconds=0.2).parse_args()
    prepare()
    record = Record(options)
    for number_of_round in range(options.rounds):
        one_round(record, number_of_round)
    finish(record, "bench.system.feedback")


if __name__ == "__main__":
    main()

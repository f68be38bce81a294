#!/usr/bin/env python3
"""compare.py - whether anything became slower: a build folder of an earlier commit against this one, interleaved in one run.

    bench/run.sh compare BASE_BUILD [--benches forwarding,uplink,vlan,feedback,requests,drf,schedulers,trackers,bypass]

Every round measures each case with both builds one after the other, the base first in even rounds. A case's figure is the median over the
rounds of this build's cost divided by the base's, with its quartiles; costs are cycles, ns or ms, so that above 1 is slower. A pair counts when the
cores had one distance for both. A micro bench is linked anew in each round, since the places of the same instructions in a program differ by
some percent. `bench/run.sh compare build` compares this build with itself and so shows the noise.

Generator, raw loop and core-distance are this build's for both sides; the switch, weirctl and the micro benches are each build's own.
"""
import argparse
import functools
import pathlib
import tempfile

from bench.lib import micro
from bench.lib.cores import DISTANCES
from bench.lib.figures import median, quartiles
from bench.lib.host import BUILD, base_of, parser, prepare
from bench.lib.load import pair
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number
from bench.lib.system import Weir, ports_with_wire, vm_ports, wire_uplink
from bench.system import feedback, forwarding

SIDES = ("base", "change")
RATIO_MOST = 1.02
ROUNDS_LEAST = 5  # fewer ratios do not show that a case became slower
# bench: program, which of its cases, the counter that is the cost.
MICRO = {"requests": ("request-path-bench", ".", "ns_per_frame"),
         "drf": ("alloc-bench", "^(drf|hdrf)/vms:24000/load:100/active:100$|^drf/vms:1000008/", "ms_per_solve"),
         "schedulers": ("qos-bench", "^(backlogged|bypass|fulfillment|limiters|receiver|request_passes|rls|wheel)",
                        "cycles_per_packet"),
         "trackers": ("tracker-bench", "/10000/", "ns_per_segment"),
         "bypass": ("uplink-bench", ".", "cycles_per_frame")}
# Cases that an earlier commit has under another name.
RENAMED = {"uplink/ruled_one_peer": "uplink/allocated_one_peer", "uplink/ruled_stretches_of_8": "uplink/allocated_runs_of_8",
           "uplink/ruled_in_turn": "uplink/allocated_in_turn", "uplink/others_ruled": "uplink/others_allocated"}
SYSTEM = ("forwarding", "uplink", "vlan", "feedback")
VLAN = 100
BENCHES = (*SYSTEM, *MICRO)


def forwarding_stretches(system, load, seconds):
    """[(case, function that measures its cost)]"""
    return [(f"two VMs, {size} B", lambda size=size: forwarding.figures(load, pair(size, seconds), system)) for size in forwarding.SIZES]


def uplink_stretches(system, load, seconds):
    return [(f"VM to wire, {size} B", lambda size=size: forwarding.figures(load, forwarding.to_wire(size, seconds), system, True))
            for size in forwarding.SIZES]


def vlan_stretches(system, load, seconds):
    """The uplink's tag is added on the way to the wire, and removed on the way to the VM."""
    def run(size, sender, receiver):
        streams = [{"from": sender, "to": receiver, "size": size}, {"from": receiver, "to": sender, "pps": 100}]
        for stream in streams:
            stream["vlan"] = VLAN if stream["from"] == forwarding.WIRE else 0
        return {"name": f"vlan-{size}", "seconds": seconds, "warmup": 0.2, "streams": streams}
    ways = {"VM to wire": (forwarding.VM, forwarding.WIRE), "wire to VM": (forwarding.WIRE, forwarding.VM)}
    return [(f"{way} in a VLAN, {size} B", lambda size=size, ends=ends: forwarding.figures(load, run(size, *ends), system))
            for way, ends in ways.items() for size in forwarding.SIZES]


def feedback_stretches(name, system, load, seconds):
    return [(f"feedback {name}, {size} B, {feedback.senders_text(senders)}",
             lambda size=size, senders=senders: feedback.figures(load, feedback.from_wire(size, senders, seconds), system))
            for size in feedback.SIZES for senders in feedback.SENDERS]


def weir_with_uplink(place, build, vlan=0):
    ports = ports_with_wire(place)
    ports[forwarding.VM]["vnic"] = {"vlan": vlan}
    return Weir(place, ports, uplink=wire_uplink(ports, "400Gbit"), build=build)


# bench: [((place, build) -> System, (system, load, seconds) -> stretches)]
VISITS = {"forwarding": [(lambda place, build: Weir(place, vm_ports(place), build=build), forwarding_stretches)],
          "uplink": [(weir_with_uplink, uplink_stretches)],
          "vlan": [(functools.partial(weir_with_uplink, vlan=VLAN), vlan_stretches)],
          "feedback": [(lambda place, build, name=name: feedback.weir(place, name, build=build), functools.partial(feedback_stretches, name))
                       for name in feedback.SYSTEMS]}


def in_turn(number_of_round):
    return SIDES[::-1] if number_of_round % 2 else SIDES


def visit_both(record, builds, number_of_round, bench, make, stretches):
    """Visits the switches of both builds; the second is measured at the first one's distance of the cores, when that returns."""
    distance_of = {}
    for side in in_turn(number_of_round):
        def measure(system, load, side=side):
            for case, figures in stretches(system, load, record.options.seconds):
                wanted = (distance_of[case],) if case in distance_of else DISTANCES
                sample = record.stretch(lambda: {"cost": figures()["cycles_per_packet"]}, wanted, case=case)
                if sample and distance_of.setdefault(case, sample["cores"]) != sample["cores"]:
                    record.drop(f"the cores were {distance_of[case]} for the other build and {sample['cores']} for this one", case=case)
        record.visit(lambda place, side=side: make(place, builds[side]), measure, bench=bench, side=side, round=number_of_round)


def micro_both(record, builds, number_of_round, bench):
    """Runs a micro bench of both builds within one stretch; each round links both with their libraries in other orders."""
    program, chosen, counter = MICRO[bench]

    def costs(side, folder):
        path = str(pathlib.Path(folder) / side)
        micro.linked_anew(program, builds[side], path, f"{side} {number_of_round}")
        report = micro.measure(program, f"--benchmark_filter={chosen}", f"--benchmark_min_time={record.options.seconds / 10}", path=path)
        return {RENAMED.get(case["name"], case["name"]): case[counter] for case in micro.cases(report) if counter in case}
    with tempfile.TemporaryDirectory() as folder:
        record.attempt(lambda: record.stretch(lambda: {side: costs(side, folder) for side in in_turn(number_of_round)}),
                       bench=bench, round=number_of_round)


def measure_all(options, builds):
    record = Record(options)
    for number_of_round in range(options.rounds):
        for bench in options.benches:
            for make, stretches in VISITS.get(bench, ()):
                visit_both(record, builds, number_of_round, bench, make, stretches)
            if bench in MICRO:
                micro_both(record, builds, number_of_round, bench)
    return record


def costs_of(samples):
    """{bench: {case: {round: {side: cost}}}} of samples of one distance."""
    found = {}
    for sample in samples:
        sides = {sample["side"]: {sample["case"]: sample["cost"]}} if "side" in sample else {side: sample[side] for side in SIDES}
        for side, costs in sides.items():
            for case, cost in costs.items():
                found.setdefault(sample["bench"], {}).setdefault(case, {}).setdefault(sample["round"], {})[side] = cost
    return found


def ratios_of(rounds):
    """This build's cost over the base's, of the rounds that have both."""
    return [sides["change"] / sides["base"] for sides in rounds.values() if len(sides) == len(SIDES)]


def verdict(ratios):
    """met: the median is within RATIO_MOST; MISSED: so is not even the lower quartile of enough rounds; else more rounds are needed."""
    if not ratios:
        return "not measured"
    low, middle, _ = quartiles(ratios)
    if middle <= RATIO_MOST:
        return "met"
    return "MISSED" if low > RATIO_MOST and len(ratios) >= ROUNDS_LEAST else "unclear"


def tables(samples):
    made = []
    for bench, cases in costs_of(samples).items():
        rows = []
        for case, rounds in cases.items():
            costs = {side: median([sides.get(side) for sides in rounds.values()]) for side in SIDES}
            low, middle, high = quartiles(ratios_of(rounds))
            rows.append([case, number(costs["base"], 2), number(costs["change"], 2), number(middle, 3), number(low, 3), number(high, 3),
                         str(len(ratios_of(rounds)))])
        made.append(Table(f"{bench}: this build beside the base (medians; quartiles of the rounds' ratios)",
                          ["cost", "base", "this", "ratio", "lower quartile", "upper quartile", "rounds"], rows))
    return made


def marks(samples):
    return [{**mark(case, median(ratios_of(rounds)), RATIO_MOST, " x", digits=3), "verdict": verdict(ratios_of(rounds))}
            for cases in costs_of(samples).values() for case, rounds in cases.items()]


def chosen_benches(text):
    wanted = text.split(",")
    unknown = [name for name in wanted if name not in BENCHES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no such bench: {', '.join(unknown)}")
    return wanted


def main():
    known = parser("compare", __doc__, rounds=9, seconds=0.5)
    known.add_argument("base", type=pathlib.Path, metavar="BASE_BUILD", help="a build folder with -Dbench=true of the commit to compare with")
    known.add_argument("--benches", type=chosen_benches, default=list(BENCHES), metavar=",".join(BENCHES), help="default: all")
    options = known.parse_args()
    builds = {"base": base_of(options), "change": BUILD}
    prepare()
    finish(measure_all(options, builds), "bench.system.compare")


if __name__ == "__main__":
    main()

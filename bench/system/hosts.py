#!/usr/bin/env python3
"""hosts.py - hosts as users have them: many ports, VLANs, part loads, many destinations, many senders; this build beside an earlier commit's.

    bench/run.sh hosts [BASE_BUILD]

Every round visits each host with this build and, where given, with the base and with the base once more, whose difference from the base is the
machine's noise. A case's cost is busy cycles per packet, or the median time of a frame in us. Some cases have a plain one (two VMs alone, one
receiver, one sender, no VLAN) of the same round and build; `x plain` is their ratio.
"""
import dataclasses
import pathlib

from bench.lib.cores import DISTANCES
from bench.lib.figures import median, quartiles
from bench.lib.host import BUILD, base_of, parser, prepare
from bench.lib.load import pair
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number
from bench.lib.system import Weir, ports_with_wire, vm_ports, wire_uplink
from bench.system.latency import echo

SMALL = 64
BASE, THIS, AGAIN = "base", "this", "base again"
SILENT, ABSENT = 30, 96         # further vNICs beside two: with a VM that sends nothing, and without a VM
RECEIVERS = 16
SENDERS = (1, 2, 4, 8, 16)
QUEUES = 4
VLAN = 100
ONE_WAY_MPPS = (0.5, 1, 2)
SCHEDULERS = ("wrr", "fulfillment", "rls")
CYCLES, P50, P99 = "cycles", "p50 us", "p99 us"
# (case, most of its cost over its plain case's)
MOST = {"two VMs among 128": 1.05, "round trip among 128": 1.15, "VM to wire in a VLAN": 1.10, "wire to VM in a VLAN": 1.10,
        f"VM to {RECEIVERS} VMs": 1.30, f"wire to {RECEIVERS} VMs": 1.30, f"VM to {QUEUES} rings of a VM": 1.30,
        **{f"{SENDERS[-1]} VMs to wire, {name}": 1.30 for name in SCHEDULERS}}


@dataclasses.dataclass
class Case:
    name: str
    run: dict
    costs: object               # (result, busy) -> {unit: cost}
    plain: str | None = None


def flood(name, seconds, *streams):
    return {"name": name, "seconds": seconds, "warmup": 0.2, "streams": list(streams)}


def cycles(_, busy):
    return {CYCLES: busy.cycles_per_packet}


def delays(result, _):
    delay = result["streams"][0]["delay_us"]
    return {P50: delay["p50"], P99: delay["p99"]}


class Alone:
    """Two VMs."""
    def make(self, place, build):
        return Weir(place, vm_ports(place), build=build)

    def cases(self, seconds):
        yield Case("two VMs", pair(SMALL, seconds), cycles)
        yield Case("round trip", echo(seconds, 10_000, 1), delays)
        for mpps in ONE_WAY_MPPS:
            run = flood("one way", seconds, {"from": 0, "to": 1, "size": SMALL, "pps": mpps * 1e6, "burst": 1, "stamp": True},
                        {"from": 1, "to": 0, "size": SMALL, "pps": 10})
            yield Case(f"one way, {mpps:g} Mpps", {**run, "inspect": [1]}, delays)


class WithSilentVnics(Weir):
    """Two VMs, others that send nothing, and vNICs whose VMs are not there."""
    def config(self):
        config = super().config()
        absent = [{"name": f"absent{i}", "mac": f"02:00:00:01:{i:02x}:00", "socket": self.place.file(f"absent{i}.sock")} for i in range(ABSENT)]
        config["vnics"] = [{**vnic, "reservation": "1Mbit"} for vnic in config["vnics"] + [self.vnic(port) for port in absent]]
        return config


class Among:
    def make(self, place, build):
        return WithSilentVnics(place, vm_ports(place, 2 + SILENT), build=build)

    def cases(self, seconds):
        silent = {"unread": list(range(2, 2 + SILENT))}     # a generator that polls them has longer rounds, which would count as the switch's
        yield Case("two VMs among 128", {**pair(SMALL, seconds), **silent}, cycles, "two VMs")
        yield Case("round trip among 128", {**echo(seconds, 10_000, 1), **silent}, delays, "round trip")


class ManyOnWire:
    """One VM, sixteen others with consecutive addresses, and the wire."""
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def make(self, place, build):
        ports = ports_with_wire(place, RECEIVERS + 2)
        for number_of_vm, port in enumerate(ports[1:-1]):
            port["mac"] = f"02:00:00:02:00:{number_of_vm:02x}"
        for port in ports[:-1]:
            port["vnic"] = {"reservation": "1Mbit"}
        return Weir(place, ports, uplink=wire_uplink(ports, "400Gbit", scheduler=self.scheduler), build=build)

    def cases(self, seconds):
        sender, first, wire = 0, 1, RECEIVERS + 1
        known = [{"from": vm, "to": wire, "size": SMALL, "pps": 10} for vm in range(wire)] + [{"from": wire, "to": sender, "pps": 10}]
        if self.scheduler == SCHEDULERS[0]:
            for name, source in (("VM", sender), ("wire", wire)):
                for count in (1, RECEIVERS):
                    stream = {"from": source, "to": first, "size": SMALL, "dst_macs": count}
                    yield Case(f"{name} to {count} VM{'s' if count > 1 else ''}", flood("receivers", seconds, stream, *known), cycles,
                               f"{name} to 1 VM" if count > 1 else None)
        for count in SENDERS:
            streams = [{"from": vm, "to": wire, "size": SMALL} for vm in range(count)]
            yield Case(f"{count} VM{'s' if count > 1 else ''} to wire, {self.scheduler}", flood("senders", seconds, *streams, known[-1]), cycles,
                       f"1 VM to wire, {self.scheduler}" if count > 1 else None)


class InVlan:
    def __init__(self, vlan):
        self.vlan = vlan

    def make(self, place, build):
        ports = ports_with_wire(place)
        ports[0]["vnic"] = {"vlan": self.vlan}
        return Weir(place, ports, uplink=wire_uplink(ports, "400Gbit"), build=build)

    def cases(self, seconds):
        vm, wire = 0, 1
        for name, sender, receiver in (("VM to wire", vm, wire), ("wire to VM", wire, vm)):
            streams = [{"from": sender, "to": receiver, "size": SMALL}, {"from": receiver, "to": sender, "pps": 100}]
            for stream in streams:
                stream["vlan"] = self.vlan if stream["from"] == wire else 0
            yield Case(name + (" in a VLAN" if self.vlan else ""), flood("vlan", seconds, *streams), cycles, name if self.vlan else None)


class ManyRings:
    """A VM with several receive rings."""
    def make(self, place, build):
        ports = vm_ports(place)
        ports[1] |= {"queues": QUEUES, "vnic": {"queues": QUEUES}}
        return Weir(place, ports, build=build)

    def cases(self, seconds):
        back = {"from": 1, "to": 0, "size": SMALL, "pps": 10}
        for name, flows, plain in (("VM to one ring of a VM", 1, None), (f"VM to {QUEUES} rings of a VM", 64, "VM to one ring of a VM")):
            yield Case(name, flood("rings", seconds, {"from": 0, "to": 1, "size": SMALL, "flows": flows}, back), cycles, plain)


HOSTS = (Alone(), Among(), InVlan(0), InVlan(VLAN), *map(ManyOnWire, SCHEDULERS), ManyRings())


def chosen(options):
    """[(host, its cases)]: all, or those that options.cases names, and their plain cases."""
    cases = {host: list(host.cases(options.seconds)) for host in HOSTS}
    named = [case for made in cases.values() for case in made if any(word in case.name for word in options.cases or [""])]
    names = {name for case in named for name in (case.name, case.plain)}
    return [(host, wanted) for host, made in cases.items() if (wanted := [case for case in made if case.name in names])]


def measure_all(options, builds):
    record = Record(options)
    for number_of_round in range(options.rounds):
        for host, cases in chosen(options):
            distance_of = {}
            for side in list(builds)[::-1 if number_of_round % 2 else 1]:
                record.visit(lambda place, host=host, side=side: host.make(place, builds[side]),
                             lambda system, load, cases=cases, distance_of=distance_of: visit(record, system, load, cases, distance_of),
                             side=side, round=number_of_round)
    return record


def visit(record, system, load, cases, distance_of):
    """The distance of the cores of a case's first measurement is wanted of the other builds too."""
    for case in cases:
        known = distance_of.get(case.name)
        sample = record.stretch(lambda case=case: case.costs(*load.measure(case.run, system)), (known,) if known else DISTANCES,
                                case=case.name, plain=case.plain)
        if sample:
            distance_of.setdefault(case.name, sample["cores"])


def ratios(samples, wanted, beside, unit):
    """The cost of samples for which wanted(sample) holds over that of the sample which beside(sample) describes, round by round."""
    def key(sample, **other):
        return tuple({**sample, **other}[name] for name in ("round", "side", "case"))
    by_key = {key(sample): sample for sample in samples}
    pairs = [(sample, by_key.get(key(sample, **beside(sample)))) for sample in samples if wanted(sample)]
    return [sample[unit] / other[unit] for sample, other in pairs if other and unit in sample and unit in other and other[unit]]


def to_plain(samples, case, side, unit):
    return median(ratios(samples, lambda sample: sample["case"] == case and sample["side"] == side and sample["plain"],
                         lambda sample: {"case": sample["plain"]}, unit))


def to_base(samples, case, side, unit):
    return ratios(samples, lambda sample: sample["case"] == case and sample["side"] == side, lambda _: {"side": BASE}, unit)


def tables(samples):
    sides = [side for side in (BASE, THIS) if any(sample["side"] == side for sample in samples)]
    rows = []
    for case in dict.fromkeys(sample["case"] for sample in samples):
        mine = [sample for sample in samples if sample["case"] == case]
        for unit in (CYCLES, P50, P99):
            if not any(unit in sample for sample in mine):
                continue
            row = [f"{case}, {unit}"]
            for side in sides:
                cost = median([sample.get(unit) for sample in mine if sample["side"] == side])
                row += [number(cost, 0 if unit == CYCLES else 2), number(to_plain(samples, case, side, unit))]
            if BASE in sides:
                low, middle, high = quartiles(to_base(samples, case, THIS, unit))
                row += [number(middle), number(low), number(high), number(median(to_base(samples, case, AGAIN, unit)))]
            rows.append(row)
    head = [cell for side in sides for cell in (side, "x plain")] + (["this/base", "lower quartile", "upper", "base again/base"] if BASE in sides else [])
    return [Table("Hosts as users have them, 64 bytes (medians)", ["", *head], rows)]


def marks(samples):
    return [mark(f"{case} / {next((sample['plain'] for sample in samples if sample['case'] == case), '')}",
                 to_plain(samples, case, THIS, P50 if case.startswith("round trip") else CYCLES), most, " x") for case, most in MOST.items()]


def main():
    known = parser("hosts", __doc__, rounds=3, seconds=0.5)
    known.add_argument("base", nargs="?", type=pathlib.Path, metavar="BASE_BUILD", help="a build folder with -Dbench=true of the commit to compare with")
    known.add_argument("--cases", nargs="+", metavar="WORDS", help="only cases with one of these words, e.g. VLAN 'two VMs'; their plain cases come with them")
    options = known.parse_args()
    builds = {THIS: BUILD}
    if base := base_of(options):
        builds = {BASE: base, THIS: BUILD, AGAIN: base}
    prepare()
    finish(measure_all(options, builds), "bench.system.hosts")


if __name__ == "__main__":
    main()

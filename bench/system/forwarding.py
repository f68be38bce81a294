#!/usr/bin/env python3
"""forwarding.py - busy cycles per packet and packets/s of each system, in ratios to the raw vhost loop measured just before and after.

A round visits the systems in turn, each between two visits of the raw loop. Two VMs flood each other, so that the switch is the
bottleneck; `weir-uplink` instead sends from a VM through scheduler and uplink to the wire.
"""
import contextlib
import dataclasses
import itertools
import pathlib

from bench.lib.figures import median, median_of, over, ratio_to_raw, select, steady_median
from bench.lib.host import BUILD, base_of, parser, prepare
from bench.lib.load import pair
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number, number_or_doubt
from bench.lib.system import Raw, Weir, ports_with_wire, vm_ports, wire_uplink
from bench.peers.ovs import NOT_BINDING, Ovs
from bench.peers.testpmd import Testpmd

FLOWS = 10_000
MACS = 1_000
FRACTIONS = (0.25, 0.5, 0.75)
BURSTS = (1, 8)  # part loads: packets evenly spread, or in small bursts as from a guest that is notified seldom
SMALL = 64
SIZES = (SMALL, 512, 1500)
CASES = ("flows", "macs", "loads", "uplink", "watched")
RATIO_MOST = {64: 1.05, 512: 0.75, 1500: 0.72}  # Weir's cycles over the raw loop's, on split rings
FLOWS_MOST, MACS_MOST, PEER_MOST, WATCHED_MOST = 1.05, 1.2, 1.0, 1.02
VM, WIRE = 0, 1
RINGS = {"split": "", "packed": "packed_vq=1"}  # devargs of virtio-user


@dataclasses.dataclass
class Item:
    """A system in one configuration, and which cases it runs besides the sizes."""
    name: str
    make: object            # (place, ports) -> System
    cases: tuple = ()
    free_macs: bool = False  # VM 1 may use any MAC: no anti-spoofing
    uplink: bool = False     # only frames from VM 0 to the wire, instead of two VMs

    def system(self, place, rings):
        ports = ports_with_wire(place) if self.uplink else vm_ports(place)
        for port in ports:
            port["devargs"] = RINGS[rings]
        if self.free_macs:
            ports[1]["vnic"] = {"anti_spoofing": False}
        return self.make(place, ports)


def items(peers, base=None):
    """@param base (build folder, commit) of an earlier switch that is measured too"""
    weir = [Item("weir", Weir, ("flows", "loads")),
            Item("weir-macs", Weir, ("macs",), free_macs=True),
            Item("weir-watched", lambda place, ports: Weir(place, ports, metrics=True), ("watched",)),
            Item("weir-off", lambda place, ports: Weir(place, ports, isolation=False))]
    testpmd = [Item("testpmd-io", Testpmd), Item("testpmd-mac", lambda place, ports: Testpmd(place, ports, mode="mac"))]
    policer = {0: NOT_BINDING, 1: NOT_BINDING}
    ovs = [Item("ovs-normal", Ovs, ("flows", "macs", "loads")),
           Item("ovs-static", lambda place, ports: Ovs(place, ports, flows="static")),
           Item("ovs-policer", lambda place, ports: Ovs(place, ports, policer=policer))]
    if base:
        folder, commit = base
        weir.insert(1, Item(f"weir-{commit}", lambda place, ports: Weir(place, ports, build=folder)))
    return [*(ovs if peers else []), *weir, *testpmd]  # OVS first: its saturating load sets the part loads


TO_WIRE = Item("weir-uplink", lambda place, ports: Weir(place, ports, uplink=wire_uplink(ports, "400Gbit")), uplink=True)


def many_macs(seconds):
    """VM 0 sends to many MACs, all behind VM 1, whose own frames make them known."""
    run = pair(SMALL, seconds)
    run["warmup"] = 1.0
    run["streams"][0]["dst_macs"] = MACS
    run["streams"][1]["src_macs"] = MACS
    return run


def to_wire(size, seconds):
    """VM 0 floods the wire; a few frames from there make the wire's MAC known."""
    return {"name": f"uplink-{size}", "seconds": seconds, "warmup": 0.2,
            "streams": [{"from": VM, "to": WIRE, "size": size}, {"from": WIRE, "to": VM, "pps": 100}]}


class Rounds:
    """Visits the chosen systems round by round, each between two visits of the raw loop."""

    def __init__(self, options):
        self.options = options
        self.record = Record(options)
        self.saturating_pps = None  # both directions together, at 64 bytes, of this round's first switch

    def measure(self):
        wanted = self.options.systems.split(",") if self.options.systems else None
        chosen = [item for item in items(self.options.peers, self.options.base and (self.options.base, self.options.base_commit)) if wanted is None or item.name in wanted]
        with_uplink = "uplink" in self.options.cases and (wanted is None or TO_WIRE.name in wanted)
        for number_of_round in range(self.options.rounds):
            self.saturating_pps = None
            for item in chosen:
                self.visit(number_of_round, Item("raw", Raw))
                self.visit(number_of_round, item)
            if chosen:
                self.visit(number_of_round, Item("raw", Raw))
            if with_uplink:
                for item in (Item("raw", Raw, uplink=True), TO_WIRE, Item("raw", Raw, uplink=True)):
                    self.visit(number_of_round, item)
        return self.record

    def visit(self, number_of_round, item):
        def measure(system, load):
            for case, run in self.runs(item):
                with system.watched() if case["case"] == "watched" else contextlib.nullcontext():
                    sample = self.record.stretch(lambda: figures(load, run, system, item.uplink), **case)
                if sample and sample["case"] == "size" and sample["size"] == SMALL and item.name != "raw" and not self.saturating_pps:
                    self.saturating_pps = sample["mpps"] * 1e6
        self.record.visit(lambda place: item.system(place, self.options.rings), measure, system=item.name, round=number_of_round)

    def runs(self, item):
        """Lazily, so that part loads know the saturating load measured before them."""
        seconds, cases = self.options.seconds, [case for case in item.cases if case in self.options.cases]
        for size in self.options.sizes:
            yield ({"case": "uplink", "size": size}, to_wire(size, seconds)) if item.uplink else (
                {"case": "size", "size": size}, pair(size, seconds))
        plain = {"case": "plain", "size": SMALL}, pair(SMALL, seconds)
        if "flows" in cases:
            yield from (plain, ({"case": "flows", "size": SMALL}, pair(SMALL, seconds, flows=FLOWS)), plain)
        if "macs" in cases:
            yield from (plain, ({"case": "macs", "size": SMALL}, many_macs(seconds)), plain)
        if "watched" in cases:
            yield from (plain, ({"case": "watched", "size": SMALL}, pair(SMALL, seconds)), plain)
        if "loads" in cases and self.saturating_pps:
            for burst, fraction in itertools.product(BURSTS, FRACTIONS):
                pace = {"pps": self.saturating_pps * fraction / 2, "burst": max(burst, 8), "whole_bursts": burst > 1}
                yield {"case": "load", "size": SMALL, "fraction": fraction, "offered_burst": burst}, \
                    pair(SMALL, seconds, **pace)


def figures(load, run, system, one_way=False):
    """One stretch; `one_way` counts the frames that the wire received, and not the few frames to the VM."""
    result, busy = load.measure(run, system)
    received = result["ports"][WIRE]["rx_packets"] if one_way else result["rx_packets"]
    return {"cycles_per_packet": busy.cycles_per_packet, "mean_burst": busy.mean_burst,
            "mpps": received / result["seconds"] / 1e6, "lost": max(1 - received / max(result["tx_packets"], 1), 0),
            "longest_gap_us": result["longest_gap_us"]}


def own_ratio(samples, system, case, key="cycles_per_packet"):
    """(median, doubtful) of a case's cycles over the same system's plain 64-byte cycles just before and just after it."""
    ratios = []
    for special in select(samples, system=system, case=case):
        beside = [plain[key] for plain in select(samples, visit=special["visit"], case="plain")
                  if abs(plain["stretch"] - special["stretch"]) == 1]
        ratios.append(over(special[key], beside))
    return steady_median(ratios)


def watched_ratio(samples):
    """Packets/s without over those with a scrape each second and a capture of drops, besides the history that is always kept."""
    kept = own_ratio(samples, "weir-watched", "watched", "mpps")[0]
    return 1 / kept if kept else None


def load_ratio(samples, fraction, burst):
    """Weir's cycles over those of OVS (a learning switch) at the same offered load, round by round; None where OVS was not measured."""
    ratios = []
    for number_of_round in {sample["round"] for sample in samples}:
        at = {"round": number_of_round, "case": "load", "fraction": fraction, "offered_burst": burst}
        weir, ovs = (median_of(samples, "cycles_per_packet", system=system, **at) for system in ("weir", "ovs-normal"))
        if weir and ovs:
            ratios.append(weir / ovs)
    return median(ratios)


def loads_of(samples):
    return sorted({(sample["offered_burst"], sample["fraction"]) for sample in select(samples, case="load")})


def systems_of(samples):
    """The names in the order of their first visits, the raw loop first."""
    return sorted(dict.fromkeys(sample["system"] for sample in samples), key=lambda name: name != "raw")


def sizes_table(samples, case, title):
    sizes = sorted({sample["size"] for sample in select(samples, case=case)})
    rows = []
    for system in systems_of(select(samples, case=case)):
        row = [system]
        for size in sizes:
            at = {"system": system, "case": case, "size": size}
            row += [number(median_of(samples, "cycles_per_packet", **at), 0),
                    "1.00" if system == "raw" else number_or_doubt(ratio_to_raw(samples, **at)),
                    number(median_of(samples, "mpps", **at), 1)]
        rows.append(row)
    return Table(title, ["busy cycles per packet", *(cell for size in sizes for cell in (f"{size} B", "x raw", "Mpps"))], rows)


def cases_table(samples):
    systems = dict.fromkeys(sample["system"] for sample in samples if sample["case"] in ("flows", "macs"))
    return Table("64 bytes, in ratios to the same system's single flow", ["", f"{FLOWS:,} 5-tuples", f"{MACS:,} MACs"],
                 [[system, *(number_or_doubt(own_ratio(samples, system, case)) for case in ("flows", "macs"))] for system in systems])


def loads_table(samples):
    rows = []
    for burst, fraction in loads_of(samples):
        row = [f"{fraction:.0%}, bursts of {burst}"]
        for system in ("weir", "ovs-normal"):
            at = {"system": system, "case": "load", "fraction": fraction, "offered_burst": burst}
            row += [number(median_of(samples, "cycles_per_packet", **at), 0), number(median_of(samples, "mean_burst", **at), 1)]
        rows.append([*row, number(load_ratio(samples, fraction, burst))])
    return Table("64 bytes at a part of the saturating load: cycles per packet and mean burst",
                 ["offered", "weir", "burst", "ovs-normal", "burst", "weir/ovs"], rows)


def tables(samples):
    found = []
    if select(samples, case="size"):
        found.append(sizes_table(samples, "size", "Two VMs flooding each other, one core (medians; Mpps in both directions together)"))
    if select(samples, case="uplink"):
        found.append(sizes_table(samples, "uplink", "One VM to the wire, through scheduler and uplink (medians)"))
    if select(samples, case="flows") or select(samples, case="macs"):
        found.append(cases_table(samples))
    if loads_of(samples):
        found.append(loads_table(samples))
    return found


def marks(samples):
    def ratio(size):
        return ratio_to_raw(samples, system="weir", case="size", size=size)[0]
    return [*(mark(f"weir / raw at {size} B", ratio(size), allowed, " x") for size, allowed in RATIO_MOST.items()),
            mark(f"{FLOWS:,} 5-tuples / one flow", own_ratio(samples, "weir", "flows")[0], FLOWS_MOST, " x"),
            mark(f"{MACS:,} destinations / one", own_ratio(samples, "weir-macs", "macs")[0], MACS_MOST, " x"),
            mark("packets/s without / with scrapes and a capture of drops", watched_ratio(samples), WATCHED_MOST, " x"),
            *(mark(f"weir / ovs-normal at {fraction:.0%} load, bursts of {burst}", load_ratio(samples, fraction, burst), PEER_MOST, " x")
              for burst, fraction in loads_of(samples))]


def main():
    known = parser("forwarding", __doc__, rounds=3, seconds=1.0, peers=True)
    known.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=list(SIZES),
                       help="frame bytes without FCS (default 64,512,1500)")
    known.add_argument("--cases", type=lambda text: text.split(","), default=list(CASES), help=f"besides the sizes: {','.join(CASES)}")
    known.add_argument("--rings", choices=list(RINGS), default="split", help="of all VMs (default %(default)s)")
    known.add_argument("--base", type=pathlib.Path, metavar="BUILD", help="measure the switch of an earlier commit's build folder, too")
    known.add_argument("--systems", help="only these, e.g. weir,testpmd-io")
    known.add_argument("--quick", action="store_true", help="one round of half seconds")
    options = known.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 0.5
    base_of(options)
    if options.rings != "split" and options.output == known.get_default("output"):
        options.output = str(BUILD / f"forwarding-{options.rings}.json")
    prepare()
    finish(Rounds(options).measure(), "bench.system.forwarding")


if __name__ == "__main__":
    main()

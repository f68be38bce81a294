#!/usr/bin/env python3
"""forwarding.py - busy cycles per packet and packets/s of each system, in ratios to the raw vhost loop measured just before and after.

A round takes the systems in turn, each between two runs of the raw loop: the machine's mood (other tenants, where the
hypervisor put our two cores) changes within minutes and by a factor of two, so only neighbours in time are compared.
"""
import dataclasses
import itertools

from lib import forwarding_report as report
from lib import cores, wire
from lib.host import Place, parser, prepare, say
from lib.load import pair
from lib.system import Raw, Weir, session, vm_ports
from peers.ovs import NOT_BINDING, Ovs
from peers.testpmd import Testpmd

FLOWS = 10_000
MACS = 1_000
FRACTIONS = (0.25, 0.5, 0.75)
BURSTS = (1, 8)  # partial loads: packets evenly spread, or in small bursts as from a guest that is kicked seldom
SMALL = 64


@dataclasses.dataclass
class Item:
    """A system in one configuration, and which cases it runs besides the sizes."""
    name: str
    make: object            # (place, ports) -> System
    cases: tuple = ()
    free_macs: bool = False  # VM 1 may use any MAC: no anti-spoofing
    wire: bool = False       # only frames from the wire to VM 0, instead of two VMs

    def ports(self, place):
        if self.wire:
            return wire.ports(place)
        made = vm_ports(place)
        if self.free_macs:
            made[1]["vnic"] = {"anti_spoofing": False}
        return made


def items(peers):
    weir = [Item("weir", Weir, ("flows", "loads")),
            Item("weir-macs", Weir, ("macs",), free_macs=True),
            Item("weir-off", lambda place, ports: Weir(place, ports, isolation=False))]
    testpmd = [Item("testpmd-io", Testpmd), Item("testpmd-mac", lambda place, ports: Testpmd(place, ports, mode="mac"))]
    policer = {0: NOT_BINDING, 1: NOT_BINDING}
    ovs = [Item("ovs-normal", Ovs, ("flows", "macs", "loads")),
           Item("ovs-static", lambda place, ports: Ovs(place, ports, flows="static")),
           Item("ovs-policer", lambda place, ports: Ovs(place, ports, policer=policer))]
    return [*(ovs if peers else []), *weir, *testpmd]  # OVS first: its saturating load sets the partial loads


def wire_items():
    def maker(how):
        return lambda place, ports: wire.weir(place, ports, **how)
    return [Item(name, maker(how), wire=True) for name, how in wire.SYSTEMS.items()]


def many_macs(size, seconds):
    """VM 0 sends to many MACs, all behind VM 1, which makes them known by sending from them."""
    run = pair(size, seconds)
    run["warmup"] = 1.0
    run["streams"][0]["dst_macs"] = MACS
    run["streams"][1]["src_macs"] = MACS
    return run


def special(case):
    """What a line of progress says of a case besides its size."""
    if "fraction" in case:
        return f" at {case['fraction']:.0%} load, bursts of {case['offered_burst']}"
    return f", {case['senders']} sender(s)" if "senders" in case else ""


class Rounds:
    def __init__(self, options):
        self.options = options
        self.samples = []
        self.saturating_pps = None  # both directions together, at 64 bytes, of this round's first switch

    def go(self):
        wanted = self.options.systems.split(",") if self.options.systems else None
        every = items(self.options.peers) + (wire_items() if "wire" in self.options.cases else [])
        chosen = [item for item in every if wanted is None or item.name in wanted]
        from_wire = [item for item in chosen if item.wire]
        for number in range(self.options.rounds):
            self.saturating_pps = None
            self.between_raw(number, [[item] for item in chosen if not item.wire], Item("raw", Raw))
            if from_wire:  # differences of few cycles between neighbours, so nothing comes between them
                in_turn = from_wire[::-1] if number % 2 else from_wire
                self.between_raw(number, [in_turn], Item("raw", Raw, wire=True))
        return self.samples

    def between_raw(self, number, groups, raw):
        for group in groups:
            for item in [raw, *group]:
                self.measure(number, item)
        if groups:
            self.measure(number, raw)

    def measure(self, number, item):
        with Place(keep=self.options.keep) as place:
            system = item.make(place, item.ports(place))
            try:
                with session(system) as load:
                    for case, run in self.runs(item):
                        self.take(number, item, case, run, load, system)
            except (RuntimeError, TimeoutError, OSError) as error:
                say(f"{item.name}: {error}")
                self.samples.append({"round": number, "system": item.name, "case": "failed", "why": str(error)})

    def runs(self, item):
        """Lazily, so that partial loads know the saturating load measured before them."""
        seconds, cases = self.options.seconds, [c for c in item.cases if c in self.options.cases]
        if item.wire:
            senders = wire.SENDERS[:1] if item.name == "raw" else wire.SENDERS  # the raw loop reads no address
            for size, count in itertools.product(wire.SIZES, senders):
                yield {"case": "wire", "size": size, "senders": count}, wire.one_way(size, count, seconds)
            return
        for size in self.options.sizes:
            yield {"case": "size", "size": size}, pair(size, seconds)
        plain = {"case": "plain", "size": SMALL}, pair(SMALL, seconds)
        if "flows" in cases:
            yield from (plain, ({"case": "flows", "size": SMALL}, pair(SMALL, seconds, flows=FLOWS)), plain)
        if "macs" in cases:
            yield from (plain, ({"case": "macs", "size": SMALL}, many_macs(SMALL, seconds)), plain)
        if "loads" in cases and self.saturating_pps:
            for burst, fraction in itertools.product(BURSTS, FRACTIONS):
                pace = {"pps": self.saturating_pps * fraction / 2, "burst": max(burst, 8), "whole_bursts": burst > 1}
                yield {"case": "load", "size": SMALL, "fraction": fraction, "offered_burst": burst}, \
                    pair(SMALL, seconds, **pace)

    def take(self, number, item, case, run, load, system):
        kept = cores.steadily(lambda: load.measure(run, system), cores.KINDS)
        if kept is None:
            say(f"{item.name}: {case['case']} left out, the cores were moved")
            return
        distance, (result, busy) = kept
        received = result["ports"][wire.VM]["rx_packets"] if item.wire else result["rx_packets"]  # not the feedback
        pps = received / result["seconds"]
        if case == {"case": "size", "size": SMALL} and item.name != "raw" and self.saturating_pps is None:
            self.saturating_pps = pps
        lost = 1 - received / max(result["tx_packets"], 1)
        sample = {"round": number, "system": item.name, **case, "cores": distance, "mpps": pps / 1e6, "lost": max(lost, 0),
                  "longest_gap_us": result["longest_gap_us"], **dataclasses.asdict(busy)}
        if item.wire:
            sample["ns_per_packet"] = busy.cycles_per_packet * 1e9 / load.tsc_hz
            sample["told_pps"] = result["ports"][wire.WIRE]["rx_packets"] / result["seconds"]
        self.samples.append(sample)
        say(f"round {number + 1}/{self.options.rounds} {item.name:12} {case['case']:5} {case['size']:5} B{special(case)}: "
            f"{busy.cycles_per_packet:6.1f} cycles/packet, {pps / 1e6:6.2f} Mpps, {distance} cores")


def parse_options():
    known = parser("forwarding", __doc__, rounds=3, seconds=1.0)
    known.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[64, 512, 1500])
    known.add_argument("--cases", type=lambda text: text.split(","), default=["flows", "macs", "loads", "wire"],
                       help="besides the sizes: flows,macs,loads,wire")
    known.add_argument("--systems", help="only these, e.g. weir,testpmd-io")
    known.add_argument("--quick", action="store_true", help="one round of half seconds")
    options = known.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 0.5
    return options


def main():
    options = parse_options()
    prepare()
    samples = Rounds(options).go()
    report.print_and_save(samples, options)


if __name__ == "__main__":
    main()

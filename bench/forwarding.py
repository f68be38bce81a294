#!/usr/bin/env python3
"""forwarding.py - busy cycles per packet and packets/s of each system, in ratios to the raw vhost loop measured just before and after.

A round takes the systems in turn, each between two runs of the raw loop: the machine's mood (other tenants, where the
hypervisor put our two cores) changes within minutes and by a factor of two, so only neighbours in time are compared.
"""
import dataclasses
import itertools

from lib import forwarding_report as report
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


def vms(place, free_macs):
    ports = vm_ports(place)
    if free_macs:
        ports[1]["vnic"] = {"anti_spoofing": False}
    return ports


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


def many_macs(size, seconds):
    """VM 0 sends to many MACs, all behind VM 1, which makes them known by sending from them."""
    run = pair(size, seconds)
    run["warmup"] = 1.0
    run["streams"][0]["dst_macs"] = MACS
    run["streams"][1]["src_macs"] = MACS
    return run


class Rounds:
    def __init__(self, options):
        self.options = options
        self.samples = []
        self.saturating_pps = None  # both directions together, at 64 bytes, of this round's first switch

    def go(self):
        wanted = self.options.systems.split(",") if self.options.systems else None
        chosen = [item for item in items(self.options.peers) if wanted is None or item.name in wanted]
        for number in range(self.options.rounds):
            self.saturating_pps = None
            for item in chosen:
                self.raw(number)
                self.measure(number, item)
            self.raw(number)
        return self.samples

    def raw(self, number):
        self.measure(number, Item("raw", Raw))

    def measure(self, number, item):
        with Place(keep=self.options.keep) as place:
            system = item.make(place, vms(place, item.free_macs))
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
        result, busy = load.measure(run, system)
        pps = result["rx_packets"] / result["seconds"]
        if case == {"case": "size", "size": SMALL} and item.name != "raw" and self.saturating_pps is None:
            self.saturating_pps = pps
        lost = 1 - result["rx_packets"] / max(result["tx_packets"], 1)
        self.samples.append({"round": number, "system": item.name, **case, "mpps": pps / 1e6, "lost": max(lost, 0),
                             "longest_gap_us": result["longest_gap_us"], **dataclasses.asdict(busy)})
        share = f" at {case['fraction']:.0%} load, bursts of {case['offered_burst']}" if "fraction" in case else ""
        say(f"round {number + 1}/{self.options.rounds} {item.name:12} {case['case']:5} {case['size']:5} B{share}: "
            f"{busy.cycles_per_packet:6.1f} cycles/packet, {pps / 1e6:6.2f} Mpps")


def parse_options():
    known = parser("forwarding", __doc__, rounds=3, seconds=1.0)
    known.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[64, 512, 1500])
    known.add_argument("--cases", type=lambda text: text.split(","), default=["flows", "macs", "loads"],
                       help="besides the sizes: flows,macs,loads")
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

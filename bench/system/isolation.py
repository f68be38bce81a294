#!/usr/bin/env python3
"""isolation.py - a victim that offers 250 Mbit/s beside a flooding neighbor at a 1 Gbit/s bottleneck: its frames that arrive, and their delay.

Three ports: the victim (VM 0), the neighbor (VM 1) and the wire. Weir's bottleneck is its uplink's rate; OVS has a policer of 1 Gbit/s
on the wire's port. Weir with isolation off has no rate at all, so there the wire itself is slow. Times are the generator's, from the
victim's ring to the wire.
"""
from bench.lib.figures import median_of
from bench.lib.host import parser, prepare
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number
from bench.lib.system import Weir, ports_with_wire, wire_uplink
from bench.peers.ovs import Ovs

BOTTLENECK_BPS = 1_000_000_000
VICTIM_BPS = 250_000_000
FLOODS = {"none": None, "1500 B flood": 1500, "64 B flood": 64}  # the neighbor's frame bytes
DELIVERED_PERCENT_LEAST, DELAY_US_MOST = 99.0, 10.0
VICTIM, NEIGHBOR, WIRE = 0, 1, 2


def ports(place):
    made = ports_with_wire(place, 3)
    made[VICTIM]["vnic"] = {"reservation": "300Mbit"}
    made[NEIGHBOR]["vnic"] = {"reservation": "0Mbit"}
    return made


def weir(place, isolation):
    made = ports(place)
    return Weir(place, made, isolation=isolation, uplink=wire_uplink(made, f"{BOTTLENECK_BPS // 10**6}Mbit", headroom="0%"))


def systems(peers):
    """{name: place -> System}"""
    made = {"weir": lambda place: weir(place, True), "weir-off": lambda place: weir(place, False)}
    if peers:
        made["ovs-policer"] = lambda place: Ovs(place, ports(place), policer={WIRE: BOTTLENECK_BPS // 8})
    return made


def traffic(seconds, flood_bytes, slow_wire):
    run = {"name": "isolation", "seconds": seconds, "warmup": 0.5, "inspect": [WIRE],
           "streams": [{"name": "victim", "from": VICTIM, "to": WIRE, "size": 1500, "bps": VICTIM_BPS, "stamp": True},
                       {"name": "known", "from": WIRE, "to": VICTIM, "pps": 100}]}  # so that the wire's MAC is learned
    if flood_bytes:
        run["streams"].append({"name": "neighbor", "from": NEIGHBOR, "to": WIRE, "size": flood_bytes, "stamp": True})
    if slow_wire:
        run["wire_bps"] = {str(WIRE): BOTTLENECK_BPS}
    return run


def figures(load, run, flood_bytes):
    result, _ = load.measure(run)
    streams = {stream["name"]: stream for stream in result["streams"]}
    victim, neighbor = streams["victim"], streams.get("neighbor", {"received": 0})
    delay = victim.get("delay_us", {})
    return {"delivered_percent": 100 * victim["received"] / max(victim["accepted"] + victim["refused"], 1),
            "p50_us": delay.get("p50"), "p99_us": delay.get("p99"),
            "neighbor_mbps": neighbor["received"] * (flood_bytes or 0) * 8 / result["seconds"] / 1e6}


def visit(record, name, make, number_of_round):
    def measure(_, load):
        for flood, flood_bytes in FLOODS.items():
            run = traffic(record.options.seconds, flood_bytes, slow_wire=name == "weir-off")
            record.stretch(lambda: figures(load, run, flood_bytes), flood=flood)
    record.visit(make, measure, system=name, round=number_of_round)


def tables(samples):
    keys = {"delivered_percent": 1, "p50_us": 1, "p99_us": 1, "neighbor_mbps": 0}
    rows = [[system, flood, *(number(median_of(samples, key, system=system, flood=flood), digits) for key, digits in keys.items())]
            for system in dict.fromkeys(sample["system"] for sample in samples) for flood in FLOODS]
    return [Table("A victim that offers 250 Mbit/s of 1500-byte frames at a 1 Gbit/s bottleneck (one-way times, medians)",
                  ["", "neighbor", "victim receives %", "one way p50 us", "p99 us", "neighbor Mbit/s"], rows)]


def marks(samples):
    found = []
    for flood in list(FLOODS)[1:]:
        at = {"system": "weir", "flood": flood}
        found += [mark(f"victim beside {flood}", median_of(samples, "delivered_percent", **at), DELIVERED_PERCENT_LEAST, " %", True),
                  mark(f"one way p50 beside {flood}", median_of(samples, "p50_us", **at), DELAY_US_MOST, " us")]
    return found


def main():
    options = parser("isolation", __doc__, rounds=3, seconds=3.0, peers=True).parse_args()
    prepare()
    record = Record(options)
    for number_of_round in range(options.rounds):
        for name, make in systems(options.peers).items():
            visit(record, name, make, number_of_round)
    finish(record, "bench.system.isolation")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""hostile.py - a victim that stays within its promise, while others on its host do their worst: what arrives, and after what time.

The victim (VM 0) receives from the wire and sends to it. The attackers are all other VMs; the generator plays them, so that they share
its core: what it could not offer counts neither for nor against the switch. `test/hostile` plays a guest that breaks the rules of its
rings, which a generator on virtio-user cannot.
"""
from bench.lib.figures import median_of
from bench.lib.host import parser, prepare
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number
from bench.lib.system import Weir, ports_with_wire, wire_uplink

VMS = 28
WIRE = VMS          # the last port
VICTIM = 0
ARRIVES_PERCENT_LEAST = 99.0
P99_RATIO_MOST = 2.0


def flood_each_other(others):
    return [{"from": vm, "to": vm + 1 if vm < VMS - 1 else 1, "size": 64} for vm in others]


def flood_the_wire(others):
    return [{"from": vm, "to": WIRE, "size": 64} for vm in others]


# name: the attackers' streams, given the ports that they may use.
ATTACKS = {"none": lambda others: [],
           "28 VMs flood each other": flood_each_other,
           "28 VMs flood the wire": flood_the_wire}
# What the wire sends to the victim, frames per second, and the victim to the wire.
RATES = {"100 kpps each way": (100_000, 100_000), "1 Mpps from the wire": (1_000_000, 10_000)}


def weir(place):
    made = ports_with_wire(place, VMS + 1)
    made[VICTIM]["vnic"] = {"reservation": "2Gbit", "reservation_pps": "500kpps"}
    for port in made[1:WIRE]:
        port["vnic"] = {"reservation": "0Mbit"}
    return Weir(place, made, uplink=wire_uplink(made, "10Gbit"))


def traffic(seconds, attack, to_victim, from_victim):
    return {"name": "hostile", "seconds": seconds, "warmup": 0.5, "inspect": [VICTIM, WIRE],
            "streams": [{"name": "in", "from": WIRE, "to": VICTIM, "size": 64, "pps": to_victim, "stamp": True},
                        {"name": "out", "from": VICTIM, "to": WIRE, "size": 64, "pps": from_victim, "stamp": True},
                        *ATTACKS[attack](range(1, VMS))]}


def figures(load, run):
    result, _ = load.measure(run)
    found = {}
    for stream in result["streams"]:
        name = stream.get("name")
        if name in ("in", "out"):
            offered = max(stream["accepted"] + stream["refused"], 1)
            delay = stream.get("delay_us", {})
            found |= {f"{name}_percent": 100 * stream["received"] / offered, f"{name}_mpps": offered / result["seconds"] / 1e6,
                      f"{name}_refused_percent": 100 * stream["refused"] / offered,
                      f"{name}_p50_us": delay.get("p50"), f"{name}_p99_us": delay.get("p99")}
    return found | {"others_mpps": (result["rx_packets"] / result["seconds"] / 1e6) - found["in_mpps"] - found["out_mpps"]}


def visit(record, number_of_round):
    def measure(_, load):
        for rates, (to_victim, from_victim) in RATES.items():
            for attack in ATTACKS:
                run = traffic(record.options.seconds, attack, to_victim, from_victim)
                record.stretch(lambda run=run: figures(load, run), attack=attack, rates=rates)
    record.visit(weir, measure, system="weir", round=number_of_round)


KEYS = {"in_mpps": 2, "in_percent": 2, "in_refused_percent": 2, "in_p50_us": 1, "in_p99_us": 1, "out_percent": 2, "out_p50_us": 1,
        "out_p99_us": 1, "others_mpps": 2}


def tables(samples):
    rows = [[rates, attack, *(number(median_of(samples, key, attack=attack, rates=rates), digits) for key, digits in KEYS.items())]
            for rates in RATES for attack in ATTACKS]
    return [Table("A victim of 64-byte frames beside others that do their worst (one-way times, medians)",
                  ["victim", "attack", "from the wire Mpps", "arrive %", "refused at the wire's ring %", "p50 us", "p99 us",
                   "to the wire: arrive %", "p50 us", "p99 us", "others Mpps"], rows)]


def marks(samples):
    found = []
    for rates in RATES:
        for attack in list(ATTACKS)[1:]:
            at = {"attack": attack, "rates": rates}
            before = {"attack": "none", "rates": rates}
            for way, phrase in (("in", "from the wire"), ("out", "to the wire")):
                found.append(mark(f"{rates}, {attack}: {phrase}", median_of(samples, f"{way}_percent", **at), ARRIVES_PERCENT_LEAST,
                                  " %", True))
                found.append(mark(f"{rates}, {attack}: p99 {phrase} beside that of before",
                                  median_of(samples, f"{way}_p99_us", **at) / median_of(samples, f"{way}_p99_us", **before),
                                  P99_RATIO_MOST, " x"))
    return found


def main():
    options = parser("hostile", __doc__, rounds=3, seconds=2.0).parse_args()
    prepare()
    record = Record(options)
    for number_of_round in range(options.rounds):
        visit(record, number_of_round)
    finish(record, "bench.system.hostile")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""hostile.py - a victim that stays within its promise, while others on its host do their worst: what arrives, and after what time.

The victim (VM 0) receives from the wire and sends to it. Floods come from all other VMs; the generator plays them, so that they share its
core: what it could not offer counts neither for nor against the switch. A guest that breaks the rules of vhost-user and virtio is played by
test/hostile on a vNIC of its own, one attack after the other, with some 5 % of the generator's core (its priority); in the row `none` a program that
only spins has its place. The generator does not time the frames that were on their way while another program had its core.
"""
import json
import re
import sys

from bench.lib.figures import median_of
from bench.lib.host import LOAD_CORE, parser, prepare, run, tool
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number
from bench.lib.system import Weir, ports_with_wire, wire_uplink
from processes import Process  # in test/support: bench/__init__.py

FLOODING_VMS = 28
VICTIM, PEER = 0, 1
ARRIVES_PERCENT_LEAST = 99.0
P99_RATIO_MOST = 2.0
NONE = "none"
TOOL = "test/hostile/weir-hostile"
ATTACKER_NICE = -7          # beside -20 of the bench: 5 % of a core that both want
ATTACKER_MAC_NUMBER = 3     # its MAC address is 52:54:00:00:00:03
PEER_MAC_NUMBER = 20
PROMISE = {"reservation": "2Gbit", "reservation_pps": "500kpps"}


def flood_each_other(others, _):
    return [{"from": vm, "to": vm + 1 if vm + 1 in others else others[0], "size": 64} for vm in others]


def flood_the_wire(others, wire):
    return [{"from": vm, "to": wire, "size": 64} for vm in others]


# name: the attackers' streams, given the ports that they may use and that of the wire.
FLOODS = {NONE: lambda *_: [],
          f"{FLOODING_VMS} VMs flood each other": flood_each_other,
          f"{FLOODING_VMS} VMs flood the wire": flood_the_wire}
# What the wire sends to the victim, frames per second, and the victim to the wire.
RATES = {"100 kpps each way": (100_000, 100_000), "1 Mpps from the wire": (1_000_000, 10_000)}
ATTACKED_RATES = (100_000, 100_000)


def ports(place, vms):
    """The victim, VMs without a reservation, and the wire."""
    made = ports_with_wire(place, vms + 1)
    made[VICTIM]["vnic"] = PROMISE
    for port in made[1:vms]:
        port["vnic"] = {"reservation": "0Mbit"}
    return made


class Attacked(Weir):
    """Two VMs and the wire, and a vNIC whose guest is not the generator's."""

    def __init__(self, place):
        made = ports(place, 2)
        made[PEER]["mac"] = f"52:54:00:00:00:{PEER_MAC_NUMBER:02x}"
        super().__init__(place, made, uplink=wire_uplink(made, "10Gbit"))
        self.socket = place.file("attacker.sock")

    def config(self):
        config = super().config()
        config["vnics"].append({"name": "attacker", "socket": self.socket, "mode": "server", "reservation": "0Mbit",
                                "mac": f"52:54:00:00:00:{ATTACKER_MAC_NUMBER:02x}"})
        return config

    def attack(self, name, seconds):
        """Starts test/hostile for so many seconds; with NONE a program in its place that spins and touches no ring."""
        command = ([sys.executable, "-c", "while True: pass"] if name == NONE else
                   [tool(TOOL), "--socket", self.socket, "--vm", str(ATTACKER_MAC_NUMBER), "--peer", str(PEER_MAC_NUMBER),
                    "--attack", name, "--seconds", str(seconds), "--json"])
        return Process(command, self.place.file(f"hostile-{name}.log"), cores=[LOAD_CORE], nice=ATTACKER_NICE)


def traffic(seconds, wire, rates, floods):
    to_victim, from_victim = rates
    return {"name": "hostile", "seconds": seconds, "warmup": 0.5, "inspect": [VICTIM, wire],
            "streams": [{"name": "in", "from": wire, "to": VICTIM, "size": 64, "pps": to_victim, "stamp": True},
                        {"name": "out", "from": VICTIM, "to": wire, "size": 64, "pps": from_victim, "stamp": True}, *floods]}


def figures(load, what):
    result, _ = load.measure(what)
    found = {}
    for stream in result["streams"]:
        name = stream.get("name")
        if name in ("in", "out"):
            offered = max(stream["accepted"] + stream["refused"], 1)
            delay = stream.get("delay_us", {})
            found |= {f"{name}_percent": 100 * stream["received"] / offered, f"{name}_mpps": offered / result["seconds"] / 1e6,
                      f"{name}_refused_percent": 100 * stream["refused"] / offered,
                      f"{name}_p50_us": delay.get("p50"), f"{name}_p99_us": delay.get("p99_typical", delay.get("p99"))}
    return found | {"others_mpps": (result["rx_packets"] / result["seconds"] / 1e6) - found["in_mpps"] - found["out_mpps"]}


def flood(record, number_of_round):
    wire = FLOODING_VMS + 1  # behind the victim and the others

    def measure(_, load):
        for rates, each in RATES.items():
            for attack, streams in FLOODS.items():
                what = traffic(record.options.seconds, wire, each, streams(range(1, wire), wire))
                record.stretch(lambda what=what: figures(load, what), part="floods", attack=attack, rates=rates)

    def make(place):
        made = ports(place, wire)
        return Weir(place, made, uplink=wire_uplink(made, "10Gbit"))
    record.visit(make, measure, system="weir", round=number_of_round)


def attacked(system, load, attack, what):
    """The victim's figures during one attack, and what the attacker did in that time."""
    seconds = what["seconds"] + what["warmup"] + 0.5
    attacker = system.attack(attack, seconds)
    try:
        if attack == NONE:
            return figures(load, what)
        attacker.expect("begins")
        found = figures(load, what)
        attacker.child.wait(timeout=seconds + 20)
        return found | {f"attack_{key}": value for key, value in json.loads(attacker.output().splitlines()[-1]).items() if key != "attack"}
    finally:
        attacker.kill()


def attack_all(record, number_of_round):
    wire = 2

    def measure(system, load):
        what = traffic(record.options.seconds, wire, ATTACKED_RATES, [])
        for attack in (NONE, *(record.options.attacks or attacks())):
            record.stretch(lambda attack=attack: attacked(system, load, attack, what), part="attacks", attack=attack)
    record.visit(Attacked, measure, system="weir", round=number_of_round)


def attacks():
    """{name: phrase} as the tool lists them."""
    return dict(re.match(r"(\S+)\s+(.*)", line).groups() for line in run(tool(TOOL), "--list").splitlines())


FLOOD_KEYS = {"in_mpps": 2, "in_percent": 2, "in_refused_percent": 2, "in_p50_us": 1, "in_p99_us": 1, "out_percent": 2, "out_p50_us": 1,
              "out_p99_us": 1, "others_mpps": 2}
ATTACK_KEYS = {"attack_steps": 0, "attack_connects": 0, "attack_frames": 0, "in_percent": 2, "in_p50_us": 1, "in_p99_us": 1,
               "out_percent": 2, "out_p50_us": 1, "out_p99_us": 1}


def row(samples, keys, **at):
    return [number(median_of(samples, key, **at), digits) for key, digits in keys.items()]


def tables(samples):
    flooded = [[rates, attack, *row(samples, FLOOD_KEYS, part="floods", attack=attack, rates=rates)]
               for rates in RATES for attack in FLOODS]
    made = [Table("A victim of 64-byte frames beside others that flood (one-way times, medians)",
                  ["victim", "attack", "from the wire Mpps", "arrive %", "refused at the wire's ring %", "p50 us", "p99 us",
                   "to the wire: arrive %", "p50 us", "p99 us", "others Mpps"], flooded)]
    names = dict.fromkeys(sample["attack"] for sample in samples if sample["part"] == "attacks")
    if names:
        made.append(Table("A victim of 100,000 64-byte frames per second each way beside a guest that breaks the rules (medians)",
                          ["attack", "steps", "connects", "frames", "from the wire: arrive %", "p50 us", "p99 us",
                           "to the wire: arrive %", "p50 us", "p99 us"],
                          [[name, *row(samples, ATTACK_KEYS, part="attacks", attack=name)] for name in names]))
    return made


def ratio(value, before):
    return None if value is None or not before else value / before


def marks_beside(samples, phrase, at, before):
    found = []
    for way, words in (("in", "from the wire"), ("out", "to the wire")):
        found += [mark(f"{phrase}: {words}", median_of(samples, f"{way}_percent", **at), ARRIVES_PERCENT_LEAST, " %", True),
                  mark(f"{phrase}: p99 {words} beside that without", ratio(median_of(samples, f"{way}_p99_us", **at),
                                                                           median_of(samples, f"{way}_p99_us", **before)),
                       P99_RATIO_MOST, " x")]
    return found


def worst(samples, key, choose, names):
    """The median of the attack with the least, or most, of it, and its name."""
    found = {name: median_of(samples, key, part="attacks", attack=name) for name in names}
    known = {name: value for name, value in found.items() if value is not None}
    return max(known.items(), key=lambda item: choose * item[1], default=(None, None))


def marks(samples):
    found = []
    for rates in RATES:
        for attack in list(FLOODS)[1:]:
            found += marks_beside(samples, f"{rates}, {attack}", {"part": "floods", "attack": attack, "rates": rates},
                                  {"part": "floods", "attack": NONE, "rates": rates})
    names = [name for name in dict.fromkeys(sample["attack"] for sample in samples if sample["part"] == "attacks") if name != NONE]
    for way, words in (("in", "from the wire"), ("out", "to the wire")):
        name, least = worst(samples, f"{way}_percent", -1, names)
        found.append(mark(f"the worst of {len(names)} attacks ({name}): {words}", least, ARRIVES_PERCENT_LEAST, " %", True))
        name, most = worst(samples, f"{way}_p99_us", 1, names)
        before = median_of(samples, f"{way}_p99_us", part="attacks", attack=NONE)
        found.append(mark(f"the worst of {len(names)} attacks ({name}): p99 {words} beside that without", ratio(most, before),
                          P99_RATIO_MOST, " x"))
    return found


PARTS = {"floods": flood, "attacks": attack_all}


def main():
    options = parser("hostile", __doc__, rounds=3, seconds=2.0)
    options.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="(default: all)")
    options.add_argument("--attacks", nargs="+", metavar="NAME", help="of test/hostile/weir-hostile --list (default: all)")
    options = options.parse_args()
    prepare()
    record = Record(options)
    for number_of_round in range(options.rounds):
        for part in options.parts:
            PARTS[part](record, number_of_round)
    finish(record, "bench.system.hostile")


if __name__ == "__main__":
    main()

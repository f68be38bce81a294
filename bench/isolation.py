#!/usr/bin/env python3
"""isolation.py - a noisy neighbour at a 1 Gbit bottleneck: what a victim that offers 0.25 Gbit still gets, and how late.

Three ports: the victim (VM 0), the neighbour (VM 1) and the wire. Weir's bottleneck is its uplink's rate; OVS has a
policer of 1 Gbit on the wire's port. Weir with isolation off has no rate at all, so there the wire itself is slow.
"""
from lib.host import Place, parser, prepare, say
from lib.report import median, number, print_targets, save, table, target
from lib.system import Weir, session, vm_ports
from peers.ovs import Ovs

BOTTLENECK_BPS = 1_000_000_000
VICTIM_BPS = 250_000_000
NEIGHBOURS = {"nobody": None, "1500 B flood": 1500, "64 B flood": 64}
DELIVERED_LEAST, QUEUE_DELAY_MOST = 99.0, 10.0


def ports(place):
    made = vm_ports(place, 3)
    made[0]["vnic"] = {"reservation": "300Mbit"}
    made[1]["vnic"] = {"reservation": "0Mbit"}
    made[2] |= {"name": "wire", "socket": place.file("wire"), "wire": True}
    return made


def uplink(made):
    return {"device": f"net_vhost0,iface={made[2]['socket']},queues=1", "rate": f"{BOTTLENECK_BPS // 10**6}Mbit",
            "headroom": "0%"}


def weir(place, isolation):
    made = ports(place)
    system = Weir(place, made, isolation=isolation, uplink=uplink(made))
    system.name = "weir" if isolation else "weir-off"
    return system


def traffic(seconds, neighbour, slow_wire):
    run = {"name": "isolation", "seconds": seconds, "warmup": 0.5, "inspect": [2],
           "streams": [{"name": "victim", "from": 0, "to": 2, "size": 1500, "bps": VICTIM_BPS, "stamp": True},
                       {"name": "known", "from": 2, "to": 0, "pps": 100}]}  # so that the wire's MAC is learned
    if neighbour:
        run["streams"].append({"name": "neighbour", "from": 1, "to": 2, "size": neighbour, "stamp": True})
    if slow_wire:
        run["wire_bps"] = {"2": BOTTLENECK_BPS}
    return run


def queue_delay_us(system):
    """The switch's own p50 of the victim, in microseconds; only Weir says."""
    if not isinstance(system, Weir):
        return None
    return system.ctl("vnic", "show", "vm0")["queue_delay_ns"]["p50"] / 1000


def measure(system, options, samples):
    with session(system) as load:
        for name, size in NEIGHBOURS.items():
            run = traffic(options.seconds, size, slow_wire=system.name == "weir-off")
            result, _ = load.measure(run)
            streams = {stream["name"]: stream for stream in result["streams"]}
            victim = streams["victim"]
            other = streams.get("neighbour", {"received": 0})
            sample = {"system": system.name, "neighbour": name,
                      "delivered_percent": 100 * victim["received"] / max(victim["accepted"] + victim["refused"], 1),
                      "delay_us": victim.get("delay_us"), "queue_delay_us": queue_delay_us(system),
                      "neighbour_mbps": other["received"] * (size or 0) * 8 / result["seconds"] / 1e6}
            samples.append(sample)
            say(f"{system.name:12} {name:13}: the victim gets {sample['delivered_percent']:.1f} %")


def value(samples, key, pick=lambda found: found, **wanted):
    return median([pick(s[key]) for s in samples
                   if s[key] is not None and all(s[k] == v for k, v in wanted.items())])


def report(samples, options):
    rows = []
    for system in dict.fromkeys(s["system"] for s in samples):
        for name in NEIGHBOURS:
            at = {"system": system, "neighbour": name}
            rows.append([system, name, number(value(samples, "delivered_percent", **at), 1),
                         number(value(samples, "delay_us", lambda d: d["p50"], **at), 1),
                         number(value(samples, "delay_us", lambda d: d["p99"], **at), 1),
                         number(value(samples, "queue_delay_us", **at), 1),
                         number(value(samples, "neighbour_mbps", **at), 0)])
    table("A victim that offers 250 Mbit of 1500-byte frames at a 1 Gbit bottleneck",
          ["", "neighbour", "victim gets %", "one way p50 us", "p99 us", "queue p50 us", "neighbour Mbit"], rows)
    marks = []
    for name in list(NEIGHBOURS)[1:]:
        at = {"system": "weir", "neighbour": name}
        marks += [target(f"victim beside {name}", value(samples, "delivered_percent", **at), DELIVERED_LEAST, " %", True),
                  target(f"queue delay p50 beside {name}", value(samples, "queue_delay_us", **at), QUEUE_DELAY_MOST, " us")]
    print_targets(marks)
    save(options.output, "isolation", vars(options), samples, marks)


def main():
    options = parser("isolation", __doc__, rounds=1, seconds=3.0).parse_args()
    prepare()
    makers = [lambda place: weir(place, True), lambda place: weir(place, False)]
    if options.peers:
        makers.append(lambda place: Ovs(place, ports(place), policer={2: BOTTLENECK_BPS // 8}))
    samples = []
    for _ in range(options.rounds):
        for make in makers:
            with Place(keep=options.keep) as place:
                try:
                    measure(make(place), options, samples)
                except (RuntimeError, TimeoutError, OSError) as error:
                    say(str(error))
    report(samples, options)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""idle.py - what an idle switch costs and how fast it is back: Weir with `poll: adaptive`, OVS-DPDK with pmd-sleep-max.

CPU of the polling thread without traffic; the delay of a packet that comes after 50 ms of silence; and the time from
the first packet of a flood until packets arrive at 90 % of the rate that they settle at.
"""
from lib.host import Place, parser, prepare, say
from lib.load import pair
from lib.process import cpu_share, grown, thread_ns
from lib.report import median, number, print_targets, save, table, target
from lib.system import Weir, session, vm_ports
from peers.ovs import Ovs

IDLE_PERCENT_MOST, FIRST_PACKET_US_MOST, FULL_SPEED_MS_MOST = 5.0, 150.0, 1.0
OVS_SLEEP_MAX_US = 500
BURSTS_OF_LOAD = 9
INTERVAL = 1e-4
FULL = 0.9


def rare_packets(seconds):
    return {"name": "rare", "seconds": seconds, "warmup": 0.2, "inspect": [1],
            "streams": [{"from": 0, "to": 1, "pps": 20, "burst": 1, "stamp": True}]}


def sudden_flood():
    return {"name": "flood", "seconds": 0.03, "warmup": 0, "series": INTERVAL, "streams": [{"from": 0, "to": 1}]}


def full_speed_ms(result):
    """When the received packets of one interval first reach 90 % of the settled rate (the last third's median)."""
    series = result["ports"][1]["series"][:-1]
    settled = median(series[-len(series) // 3:])
    return next((index + 1) * INTERVAL * 1000 for index, packets in enumerate(series) if packets >= FULL * settled)


def polling_thread(system, load):
    """The thread that works while there is traffic."""
    before = thread_ns(system.pid)
    load.measure(pair(64, 0.5))
    growth = grown(before, thread_ns(system.pid))
    return max(growth, key=growth.get)


def measure(system, options):
    with session(system) as load:
        thread = polling_thread(system, load)
        idle = cpu_share(system.pid, thread, options.seconds)
        result, _ = load.measure(rare_packets(options.seconds))
        floods = [full_speed_ms(load.measure(sudden_flood())[0]) for _ in range(BURSTS_OF_LOAD)]
    return {"system": system.name, "idle_percent": idle, "first_packet_us": result["streams"][0]["delay_us"],
            "full_speed_ms": median(floods), "floods_ms": floods}


def report(samples, options):
    def of(system, pick):
        return median([pick(s) for s in samples if s["system"] == system])

    picks = [lambda s: s["idle_percent"], lambda s: s["first_packet_us"]["p50"], lambda s: s["first_packet_us"]["p99"],
             lambda s: s["full_speed_ms"]]
    names = list(dict.fromkeys(s["system"] for s in samples))
    table("Idle, and back", ["", "idle CPU %", "first packet p50 us", "p99 us", "full speed ms"],
          [[name, *[number(of(name, pick)) for pick in picks]] for name in names])
    marks = [target("idle CPU of the worker", of("weir", picks[0]), IDLE_PERCENT_MOST, " %"),
             target("first packet after idle, p50", of("weir", picks[1]), FIRST_PACKET_US_MOST, " us"),
             target("full speed after idle", of("weir", picks[3]), FULL_SPEED_MS_MOST, " ms")]
    print_targets(marks)
    save(options.output, "idle", vars(options), samples, marks)


def main():
    options = parser("idle", __doc__, rounds=1, seconds=5.0).parse_args()
    prepare()
    makers = [lambda place: Weir(place, vm_ports(place), poll="adaptive")]
    if options.peers:
        makers.append(lambda place: Ovs(place, vm_ports(place), sleep_max_us=OVS_SLEEP_MAX_US))
    samples = []
    for _ in range(options.rounds):
        for make in makers:
            with Place(keep=options.keep) as place:
                system = make(place)
                try:
                    samples.append(measure(system, options))
                    say(f"{system.name}: {samples[-1]}")
                except (RuntimeError, TimeoutError, OSError) as error:
                    say(f"{system.name}: {error}")
    report(samples, options)


if __name__ == "__main__":
    main()

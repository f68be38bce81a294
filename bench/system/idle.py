#!/usr/bin/env python3
"""idle.py - CPU time of an idle switch and the time to wake it: Weir with `poll: adaptive`, OVS-DPDK with pmd-sleep-max.

    bench/run.sh idle [BASE_BUILD]

Guests' kicks wake Weir; beside an uplink without interrupts (`weir-naps`) it naps. `a bare wake-up` is
a thread's that sleeps on an eventfd: the lower bound of a first packet. With BASE_BUILD an earlier commit's build is measured too.
CPU share of the polling thread without traffic; the delay of a packet that comes after 50 ms of silence; and the time from the first packet of
a flood until packets arrive at 90 % of the rate that the flood settles at.
"""
import pathlib

from bench.lib.figures import median, median_of
from bench.lib.host import LOAD_CORE, SWITCH_CORE, base_of, parser, prepare, run, tool
from bench.lib.load import pair
from bench.lib.process import cpu_share, grown, thread_ns
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number
from bench.lib.system import Weir, vm_ports
from bench.peers.ovs import Ovs

IDLE_PERCENT_MOST, FIRST_PACKET_US_MOST, FULL_SPEED_MS_MOST = 0.5, 40.0, 1.0
OVS_SLEEP_MAX_US = 500
FLOODS = 9
INTERVAL_S = 1e-4
BARE = "a bare wake-up"
FULL = 0.9  # of the settled rate


def rare_packets(seconds):
    return {"name": "rare", "seconds": seconds, "warmup": 0.2, "inspect": [1],
            "streams": [{"from": 0, "to": 1, "pps": 20, "burst": 1, "stamp": True}]}


def sudden_flood():
    return {"name": "flood", "seconds": 0.03, "warmup": 0, "series": INTERVAL_S, "streams": [{"from": 0, "to": 1}]}


def full_speed_ms(result):
    """Until the packets of one interval first reach FULL of the settled rate, which is the last third's median."""
    series = result["ports"][1]["series"][:-1]
    settled = median(series[-len(series) // 3:])
    return next((index + 1) * INTERVAL_S * 1000 for index, packets in enumerate(series) if packets >= FULL * settled)


def polling_thread(system, load):
    """The id of the thread that uses most CPU time while there is traffic."""
    before = thread_ns(system.pid)
    load.measure(pair(64, 0.5))
    growth = grown(before, thread_ns(system.pid))
    return max(growth, key=growth.get)


def first_packet(load, seconds):
    delay = load.measure(rare_packets(seconds))[0]["streams"][0]["delay_us"]
    return {"first_packet_p50_us": delay["p50"], "first_packet_p99_us": delay["p99"]}


def visit(record, name, make, number_of_round):
    def measure(system, load):
        seconds, thread = record.options.seconds, polling_thread(system, load)
        record.stretch(lambda: {"idle_percent": cpu_share(system.pid, thread, seconds)})
        record.stretch(lambda: first_packet(load, seconds))
        record.stretch(lambda: {"full_speed_ms": median([full_speed_ms(load.measure(sudden_flood())[0]) for _ in range(FLOODS)])})
    record.visit(make, measure, system=name, round=number_of_round)


def tables(samples):
    keys = ("idle_percent", "first_packet_p50_us", "first_packet_p99_us", "full_speed_ms")
    return [Table("Idle, and back (medians)", ["", "idle CPU %", "first packet p50 us", "p99 us", "full speed ms"],
                  [[system, *(number(median_of(samples, key, system=system)) for key in keys)]
                   for system in dict.fromkeys(sample["system"] for sample in samples)])]


def marks(samples):
    return [mark("idle CPU of the worker", median_of(samples, "idle_percent", system="weir"), IDLE_PERCENT_MOST, " %"),
            mark("first packet after idle, p50", median_of(samples, "first_packet_p50_us", system="weir"), FIRST_PACKET_US_MOST, " us"),
            mark("full speed after idle", median_of(samples, "full_speed_ms", system="weir"), FULL_SPEED_MS_MOST, " ms")]


def main():
    known = parser("idle", __doc__, rounds=3, seconds=5.0, peers=True)
    known.add_argument("base", nargs="?", type=pathlib.Path, metavar="BASE_BUILD", help="a build folder with -Dbench=true of the commit to compare with")
    options = known.parse_args()
    prepare()
    makers = {"weir": lambda place: Weir(place, vm_ports(place), poll="adaptive", uplink=None),
              "weir-naps": lambda place: Weir(place, vm_ports(place), poll="adaptive")}
    if base := base_of(options):
        makers["base"] = lambda place: Weir(place, vm_ports(place), poll="adaptive", uplink=None, build=base)
    if options.peers:
        makers["ovs-normal"] = lambda place: Ovs(place, vm_ports(place), sleep_max_us=OVS_SLEEP_MAX_US)
    record = Record(options)
    for number_of_round in range(options.rounds):
        record.stretch(lambda: {"first_packet_p50_us": float(run(tool("bench/raw/wake-delay"), str(SWITCH_CORE), str(LOAD_CORE)))}, system=BARE)
        for name, make in makers.items():
            visit(record, name, make, number_of_round)
    finish(record, "bench.system.idle")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""requests.py - the cost of tracking requests: busy cycles per memcached request and requests/s, over those of the same switch without it.

Source: Pulsar 6.3.

The client and server of weir-requests do nothing else, so that the switch's worker limits the rate. One switch has two
clients, one with limits that never bind and one without an appliance; they take turns of a fraction of a second at the same server, so that
both meet the same machine. Each round is a new switch, in which the clients' roles are swapped.
"""
import dataclasses
import itertools

from bench.lib.figures import median, select
from bench.lib.host import parser, prepare
from bench.lib.load import Load
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number
from bench.lib.system import Weir, vm_ports

KIB = 1024
SIZES = (512, *(kib * KIB for kib in (1, 2, 4, 8, 16, 32, 64)))
OPERATIONS = ("get", "put")
RATIO_LEAST = 0.98  # of the throughput without tracking
SATURATED = 0.9  # of the worker's time
SERVER, ADDRESS, LISTEN = 2, "10.0.0.9", 11211
NEVER_BINDING = {"name": "kv", "limit": "1000Gtokens", "uplink": "400Gbit", "downlink": "400Gbit"}
RING = "queue_size=1024,packed_vq=1,in_order=1,mrg_rxbuf=0"


class Tracking(Weir):
    """A switch in which VM `tracked` has limits at the appliance; no limit of the links, so that nothing else differs."""

    def __init__(self, place, tracked):
        ports = vm_ports(place, 3)
        for index, port in enumerate(ports):
            port["devargs"] = RING
            port["vnic"] = {"reservation": None, "limit": None, "limit_pps": None,
                            **({"appliances": [NEVER_BINDING]} if index == tracked else {})}
        super().__init__(place, ports)

    def vnic(self, port):
        return {key: value for key, value in super().vnic(port).items() if value is not None}

    def config(self):
        appliance = {"name": "kv", "address": ADDRESS, "port": LISTEN, "protocol": "memcached", "cost": "key_value_store"}
        return {**super().config(), "appliances": [appliance]}

    def load(self, place, ports, listens):
        return Load(place, ports, listens, program="bench/load/weir-requests")


def turn(load, system, client, operation, size, seconds):
    """One client's turn."""
    result, busy = load.measure({"client": client, "server": SERVER, "operation": operation, "bytes": size, "seconds": seconds,
                                 "warmup": seconds / 4}, system)
    if result["unexpected"] or result["unanswered"]:
        raise RuntimeError(f"frames were lost: {result}")
    return {**dataclasses.asdict(busy), "per_second": result["per_second"], "load_idle": result["idle"],
            "connections": result["connections"],
            "cycles_per_request": busy.cycles_per_packet * result["frames_per_request"]}


def check_tracked(system, tracked):
    """Raises RuntimeError unless the switch counts requests of the tracked VM."""
    flow, = system.ctl("flow", "list", "--interval", "50ms")["flows"]
    if flow["vnic"] != f"vm{tracked}":
        raise RuntimeError(f"requests of another VM are tracked: {flow}")


def one_round(record, number_of_round):
    options, tracked = record.options, number_of_round % 2

    def measure(system, load):
        for size, operation in itertools.product(options.sizes, OPERATIONS):
            for pair in range(options.pairs):
                order = (True, False) if (pair + number_of_round) % 2 else (False, True)
                record.stretch(lambda: {"on" if on else "off": turn(load, system, tracked if on else 1 - tracked, operation, size,
                                                                    options.seconds) for on in order},
                               size=size, operation=operation)
        check_tracked(system, tracked)
    record.visit(lambda place: Tracking(place, tracked), measure, round=number_of_round)


def summary(samples):
    """By size and operation: medians, and the median of the ratios of the two turns of a pair."""
    rows = []
    for size, operation in dict.fromkeys((sample["size"], sample["operation"]) for sample in samples):
        every = [pair for pair in select(samples, size=size, operation=operation) if pair["on"]["per_second"] and pair["off"]["per_second"]]
        # Where other programs had the machine, the worker did not limit the rate.
        chosen = [pair for pair in every if min(pair["on"]["busy_share"], pair["off"]["busy_share"]) >= SATURATED] or every
        row = {"size": size, "operation": operation, "pairs": len(chosen),
               "throughput_ratio": median([pair["on"]["per_second"] / pair["off"]["per_second"] for pair in chosen]),
               "cycles_more": median([pair["on"]["cycles_per_request"] - pair["off"]["cycles_per_request"] for pair in chosen])}
        for side in ("on", "off"):
            for key in ("per_second", "cycles_per_request", "busy_share", "load_idle"):
                row[f"{key}_{side}"] = median([pair[side][key] for pair in chosen])
        rows.append(row)
    return rows


def name_of(row):
    size = row["size"]
    return f"{row['operation'].upper()} {f'{size} B' if size < KIB else f'{size // KIB} KiB'}"


HEAD = ["", "k requests/s without", "with", "ratio", "cycles per request without", "with", "more", "worker busy", "load idle"]


def cells(row):
    """Under HEAD, one row of summary()."""
    return [name_of(row), number(row["per_second_off"] / 1e3, 0), number(row["per_second_on"] / 1e3, 0),
            number(row["throughput_ratio"], 3), number(row["cycles_per_request_off"], 0), number(row["cycles_per_request_on"], 0),
            number(row["cycles_more"], 0), f"{row['busy_share_on']:.0%}", f"{row['load_idle_on']:.0%}"]


def tables(samples):
    return [Table("memcached requests through the switch, with and without tracking (medians; ratios of neighbors in time)", HEAD,
                  [cells(row) for row in summary(samples)])]


def marks(samples):
    return [mark(f"{name_of(row)}: throughput with tracking / without", row["throughput_ratio"], RATIO_LEAST, "", least=True, digits=3)
            for row in summary(samples)]


def main():
    options = parser("requests", __doc__, rounds=4, seconds=0.2)
    options.add_argument("--pairs", type=int, default=3, help="turns of both clients, for each size and round")
    options.add_argument("--sizes", type=lambda text: [int(each) for each in text.split(",")], default=list(SIZES),
                         help="bytes of the values")
    options = options.parse_args()
    prepare()
    record = Record(options)
    for number_of_round in range(options.rounds):
        one_round(record, number_of_round)
    finish(record, "bench.system.requests")


if __name__ == "__main__":
    main()

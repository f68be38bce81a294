#!/usr/bin/env python3
"""requests.py - what it costs to track requests: busy cycles per memcached request and requests/s, in ratios to the same switch without.

Pulsar's Fig. 15 with a client and a server that do nothing (weir-requests), so that the switch's worker is what limits. One
switch has two clients, one with limits that never bind and one without an appliance; they take turns of a fraction of a
second at the same server, so that both meet the same machine. Each round is a new switch, with the clients' parts swapped.
"""
import dataclasses
import itertools

from lib.host import Place, parser, prepare, say
from lib.load import Load
from lib.report import median, number, print_targets, save, table, target
from lib.system import Weir, session, vm_ports

KIB = 1024
SIZES = (512, *(kib * KIB for kib in (1, 2, 4, 8, 16, 32, 64)))
OPERATIONS = ("get", "put")
LEAST = 0.98  # of the throughput without tracking
SATURATED = 0.9  # of the worker's time
SERVER, ADDRESS, LISTEN = 2, "10.0.0.9", 11211
NEVER = {"name": "kv", "limit": "1000Gtokens", "uplink": "400Gbit", "downlink": "400Gbit"}
RING = "queue_size=1024,packed_vq=1,in_order=1,mrg_rxbuf=0"


class Tracking(Weir):
    """A switch in which VM `tracked` has limits at the appliance; no limit of the links, so that nothing else differs."""
    name = "weir"

    def __init__(self, place, tracked):
        ports = vm_ports(place, 3)
        for index, port in enumerate(ports):
            port["devargs"] = RING
            port["vnic"] = {"reservation": None, "limit": None, "limit_pps": None,
                            **({"appliances": [NEVER]} if index == tracked else {})}
        super().__init__(place, ports)

    def vnic(self, port):
        return {key: value for key, value in super().vnic(port).items() if value is not None}

    def config(self):
        appliance = {"name": "kv", "address": ADDRESS, "port": LISTEN, "protocol": "memcached", "cost": "key_value_store"}
        return {**super().config(), "appliances": [appliance]}

    def load(self, place, ports, listens):
        return Load(place, ports, listens, program="bench/load/weir-requests")

    def end(self):
        after = self.worker()
        grown = {key: after[key] - self._before[key] for key in ("packets", "bursts", "busy_cycles", "idle_cycles")}
        return Worker(grown["busy_cycles"] / max(grown["packets"], 1), grown["packets"] / max(grown["bursts"], 1),
                      grown["busy_cycles"] / max(grown["busy_cycles"] + grown["idle_cycles"], 1))


@dataclasses.dataclass
class Worker:
    cycles_per_packet: float
    mean_burst: float
    busy: float


def take(load, system, client, operation, size, seconds):
    result, worker = load.measure({"client": client, "server": SERVER, "operation": operation, "bytes": size, "seconds": seconds,
                                   "warmup": seconds / 4}, system)
    if result["strays"] or result["unanswered"]:
        raise RuntimeError(f"frames were lost: {result}")
    return {**dataclasses.asdict(worker), "per_second": result["per_second"], "load_idle": result["idle"],
            "connections": result["connections"],
            "cycles_per_request": worker.cycles_per_packet * result["frames_per_request"]}


def counted(system, tracked):
    """Requests that the switch has seen and answers that it has matched, so that what was measured is what was meant."""
    flow, = system.ctl("flow", "list", "--interval", "50ms")["flows"]
    if flow["vnic"] != f"vm{tracked}":
        raise RuntimeError(f"requests of another VM are tracked: {flow}")
    return flow


def one_round(place, index, options, samples):
    tracked = index % 2
    system = Tracking(place, tracked)
    with session(system) as load:
        for size, operation in itertools.product(options.sizes, OPERATIONS):
            for pair in range(options.pairs):
                order = (True, False) if (pair + index) % 2 else (False, True)
                found = {on: take(load, system, tracked if on else 1 - tracked, operation, size, options.seconds) for on in order}
                samples.append({"round": index, "size": size, "operation": operation, "on": found[True], "off": found[False]})
            last = samples[-1]
            say(f"round {index + 1}/{options.rounds} {operation} {size:6} B: {last['off']['cycles_per_request']:8.0f} -> "
                f"{last['on']['cycles_per_request']:8.0f} cycles, {last['off']['per_second'] / 1e6:.3f} -> "
                f"{last['on']['per_second'] / 1e6:.3f} M/s, worker busy {last['on']['busy']:.1%}")
        counted(system, tracked)


def summary(samples):
    """By size and operation: medians, and the median of the ratios of neighbours in time."""
    rows = []
    for size, operation in dict.fromkeys((s["size"], s["operation"]) for s in samples):
        every = [s for s in samples if (s["size"], s["operation"]) == (size, operation) and s["on"]["per_second"] and s["off"]["per_second"]]
        # Where the machine was somebody else's the worker was not what limits.
        chosen = [s for s in every if min(s["on"]["busy"], s["off"]["busy"]) >= SATURATED] or every
        row = {"size": size, "operation": operation, "pairs": len(chosen),
               "throughput_ratio": median([s["on"]["per_second"] / s["off"]["per_second"] for s in chosen]),
               "cycles_ratio": median([s["off"]["cycles_per_request"] / s["on"]["cycles_per_request"] for s in chosen]),
               "cycles_more": median([s["on"]["cycles_per_request"] - s["off"]["cycles_per_request"] for s in chosen])}
        for side in ("on", "off"):
            for key in ("per_second", "cycles_per_request", "busy", "load_idle", "mean_burst"):
                row[f"{key}_{side}"] = median([s[side][key] for s in chosen])
        rows.append(row)
    return rows


def kib(size):
    return f"{size} B" if size < KIB else f"{size // KIB} KiB"


HEAD = ["", "k requests/s without", "with", "ratio", "cycles per request without", "with", "more", "worker busy", "load idle"]


def cells(row):
    return [f"{row['operation'].upper()} {kib(row['size'])}", number(row["per_second_off"] / 1e3, 0), number(row["per_second_on"] / 1e3, 0),
            number(row["throughput_ratio"], 3), number(row["cycles_per_request_off"], 0), number(row["cycles_per_request_on"], 0),
            number(row["cycles_more"], 0), f"{row['busy_on']:.0%}", f"{row['load_idle_on']:.0%}"]


def main():
    options = parser("requests", __doc__, rounds=4, seconds=0.2)
    options.add_argument("--pairs", type=int, default=3, help="turns of both, for each size and round")
    options.add_argument("--sizes", type=lambda text: [int(each) for each in text.split(",")], default=list(SIZES))
    options = options.parse_args()
    prepare()
    samples = []
    for index in range(options.rounds):
        with Place(keep=options.keep) as place:
            one_round(place, index, options, samples)
    rows = summary(samples)
    table("memcached requests through the switch, with and without tracking (medians; ratios of neighbours)", HEAD,
          [cells(row) for row in rows])
    marks = [target(f"{row['operation'].upper()} {kib(row['size'])}: throughput with tracking", row["throughput_ratio"], LEAST, "", least=True)
             for row in rows]
    print_targets(marks)
    save(options.output, "requests", vars(options), {"summary": rows, "samples": samples}, marks)


if __name__ == "__main__":
    main()

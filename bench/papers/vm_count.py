#!/usr/bin/env python3
"""vm_count.py - SoftBW's Fig. 10: the cost of scheduling per packet with 1 to 16 VMs, the decision alone and in the whole switch.

    bench/run.sh vm-count [--rounds 3] [--minutes 15]     root; until near cores have so many rounds, or for --minutes

In the whole switch VMs together offer 8.5 Gbit/s of 1500-byte frames to an uplink of 10 Gbit/s: with isolation off, and with a strict
reservation for each, `fulfillment`, limits and all that belongs to it. Then all of them flood, so that the scheduler has every
frame in hand. Compared figures are of one distance of the two cores (lib/cores.py), and either distance has its rows.
Writes vm_count.json to the build folder (WEIR_BUILD); `bench/run.sh softbw` prints the table.
"""
import itertools
import json
import time

from bench.lib import cores
from bench.lib.figures import median
from bench.lib.host import Place, leave_table, parser, prepare, progress, run, tool
from bench.lib.report import number
from bench.lib.system import Weir, session, vm_ports

COUNTS = (1, 2, 4, 8, 16)
SCHEDULERS = ("wrr", "fulfillment", "rls")
FRAME, ON_WIRE = 1500, 1524
OFFERED_BPS, LINK_BPS = 8_500_000_000, 10_000_000_000
RESERVED_MBIT = 8_500


def decisions():
    """ns of each scheduler's decision with so many VMs: medians of repetitions in turn."""
    found = json.loads(run(tool("bench/micro/qos-bench"), "--benchmark_filter=^vms_", "--benchmark_format=json",
                           "--benchmark_repetitions=7", "--benchmark_min_time=0.05", "--benchmark_enable_random_interleaving=true",
                           "--benchmark_report_aggregates_only=true", timeout=200))
    return {row["run_name"]: row["decision_ns"] for row in found["benchmarks"] if row.get("aggregate_name") == "median"}


def switch(place, count, isolation):
    """A switch with so many VMs, whose wire the generator plays."""
    ports = vm_ports(place, count + 1)
    for port in ports[:count]:
        port["vnic"] = {"reservation": f"{RESERVED_MBIT // count}Mbit"}
    ports[count] |= {"name": "wire", "socket": place.file("wire"), "wire": True}
    uplink = {"device": f"net_vhost0,iface={ports[count]['socket']},queues=1", "rate": "10Gbit", "headroom": "5%",
              "scheduler": "fulfillment"}
    return Weir(place, ports, isolation=isolation, uplink=uplink)


def traffic(count, seconds, flood):
    pace = {} if flood else {"pps": OFFERED_BPS // 8 // ON_WIRE // count, "burst": 8}
    run_ = {"name": "vms", "seconds": seconds, "warmup": 0.2, "wire_bps": {str(count): LINK_BPS},
            "streams": [{"from": vm, "to": count, "size": FRAME, **pace} for vm in range(count)]}
    return run_


def measure(count, isolation, floods, seconds):
    """Busy cycles per frame and frames per second for each way of offering; None for one in which the cores were moved."""
    with Place() as place:
        system = switch(place, count, isolation)
        with session(system) as load:
            return [one(load, system, count, traffic(count, seconds, flood)) for flood in floods]


def one(load, system, count, run_):
    kept = cores.steadily(lambda: load.measure(run_, system), (cores.NEAR,))
    if kept is None:
        return None
    distance, (result, busy) = kept
    return {"cores": distance, "cycles": busy.cycles_per_packet, "burst": busy.mean_burst, "pps": result["ports"][count]["rx_pps"],
            "tsc_hz": load.tsc_hz}


def compare(count, seconds):
    """A sample, whose parts were taken at one distance; None where the cores were moved."""
    off, = measure(count, False, (False,), seconds)
    on, flood = measure(count, True, (False, True), seconds)
    if None in (off, on, flood) or len({each["cores"] for each in (off, on, flood)}) != 1:
        progress(f"{count:2} VMs: left out, the cores were moved")
        return None
    progress(f"{count:2} VMs: {off['cycles']:.0f} cycles off, {on['cycles']:.0f} on ({on['cycles'] - off['cycles']:+.0f}), "
             f"{flood['cycles']:.0f} when all flood; {off['pps'] / 1e3:.0f}, {on['pps'] / 1e3:.0f}, {flood['pps'] / 1e3:.0f} k/s; "
             f"{off['cores']} cores")
    return {"vms": count, "cores": off["cores"], "off": off, "on": on, "flood": flood}


def undisturbed(run_):
    """The switch has taken the offered load: no other program had its core or the generator's."""
    return run_["pps"] >= 0.95 * OFFERED_BPS / 8 / ON_WIRE


def row(count, kind, at):
    at = [each for each in at if undisturbed(each["off"]) and undisturbed(each["on"])] or at
    more = sorted(each["on"]["cycles"] - each["off"]["cycles"] for each in at)
    core = median(more) * OFFERED_BPS / 8 / ON_WIRE / at[0]["on"]["tsc_hz"]
    flood = median([each["flood"]["cycles"] for each in at if undisturbed(each["flood"])])
    return (f"| {count} | {kind} | {len(at)} | " + " | ".join(number(median([each[way]["cycles"] for each in at]), 0) for way in ("off", "on")) +
            f" | {median(more):+.0f} ({more[0]:+.0f} to {more[-1]:+.0f}) | {core:.1%} | {number(flood, 0)} |")


def lines(nanos, samples):
    table = ["| ns a decision, VMs: | " + " | ".join(map(str, COUNTS)) + " |", "|---|" + "---:|" * len(COUNTS)]
    for name in SCHEDULERS:
        table.append(f"| {name} | " + " | ".join(number(nanos[f"vms_{name}/{count}"], 1) for count in COUNTS) + " |")
    table += ["", "| VMs | cores | rounds | cycles a frame, off | on | more (range) | of a core at 8.5 Gbit/s | all flood |",
              "|---:|---|---:|---:|---:|---:|---:|---:|"]
    for kind in cores.DISTANCES:
        for count in COUNTS:
            at = found(samples, count, kind)
            if at:
                table.append(row(count, kind, at))
    return table


def found(samples, count, kind):
    return [each for each in samples if (each["vms"], each["cores"]) == (count, kind)]


def main():
    options = parser("vm_count", __doc__, rounds=3, seconds=0.6)
    options.add_argument("--minutes", type=float, default=15, help="at most")
    options = options.parse_args()
    prepare()
    nanos = decisions()
    samples, end = [], time.monotonic() + 60 * options.minutes
    for count in itertools.cycle(COUNTS):
        missing = [each for each in COUNTS if len(found(samples, each, cores.NEAR)) < options.rounds]
        if not missing or time.monotonic() > end:
            break
        if count == COUNTS[0]:
            progress(f"with near cores are missing: {', '.join(map(str, missing))} VMs; {(end - time.monotonic()) / 60:.0f} minutes at most")
        if count in missing:
            samples += filter(None, [compare(count, options.seconds)])
    leave_table("vm_count", lines(nanos, samples), samples=samples, decision_ns=nanos)


if __name__ == "__main__":
    main()

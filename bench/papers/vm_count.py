#!/usr/bin/env python3
"""vm_count.py - SoftBW's Fig. 10: what scheduling costs per packet with 1 to 16 VMs, the decision alone and in the whole switch.

    bench/papers/vm_count.py [--rounds 5]     root; three minutes

In the whole switch VMs together offer 8.5 Gbit/s of 1500-byte frames to an uplink of 10 Gbit/s: with isolation off, and with a strict
reservation for each, `fulfillment`, limits and all that belongs to it. Then all of them flood, so that the scheduler has every
frame in hand. Writes vm_count.json to the build folder (WEIR_BUILD); `bench/papers.sh softbw` prints the table.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lib.host import Place, leave_table, parser, prepare, run, say, tool  # noqa: E402  (the path above comes first)
from lib.report import median, number  # noqa: E402
from lib.system import Weir, session, vm_ports  # noqa: E402

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
    """Busy cycles per frame and frames per second for each way of offering."""
    with Place() as place:
        system = switch(place, count, isolation)
        with session(system) as load:
            found = []
            for flood in floods:
                result, busy = load.measure(traffic(count, seconds, flood), system)
                found.append({"cycles": busy.cycles_per_packet, "burst": busy.mean_burst,
                              "pps": result["ports"][count]["rx_pps"],
                              "tsc_hz": load.tsc_hz})
            return found


def one_round(samples, seconds):
    for count in COUNTS:
        off, = measure(count, False, (False,), seconds)
        on, flood = measure(count, True, (False, True), seconds)
        samples.append({"vms": count, "off": off, "on": on, "flood": flood})
        say(f"{count:2} VMs: {off['cycles']:.0f} cycles off, {on['cycles']:.0f} on ({on['cycles'] - off['cycles']:+.0f}), "
            f"{flood['cycles']:.0f} when all flood; {off['pps'] / 1e3:.0f}, {on['pps'] / 1e3:.0f}, {flood['pps'] / 1e3:.0f} k/s")


def undisturbed(run_):
    """The switch has taken what was offered: nobody else had its core, or the generator's."""
    return run_["pps"] >= 0.95 * OFFERED_BPS / 8 / ON_WIRE


def lines(nanos, samples):
    table = ["| VMs | decision of wrr, ns | fulfillment | rls | whole switch, off: cycles | on | more (range) | of a core at 8.5 Gbit/s | all flood |",
             "|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for count in COUNTS:
        at = [each for each in samples if each["vms"] == count]
        at = [each for each in at if undisturbed(each["off"]) and undisturbed(each["on"])] or at
        more = sorted(each["on"]["cycles"] - each["off"]["cycles"] for each in at)
        core = median(more) * OFFERED_BPS / 8 / ON_WIRE / at[0]["on"]["tsc_hz"]
        flood = median([each["flood"]["cycles"] for each in at if undisturbed(each["flood"])])
        table.append(f"| {count} | " + " | ".join(number(nanos[f"vms_{name}/{count}"], 1) for name in SCHEDULERS) + " | " +
                     " | ".join(number(median([each[way]["cycles"] for each in at]), 0) for way in ("off", "on")) +
                     f" | {median(more):+.0f} ({more[0]:+.0f} to {more[-1]:+.0f}) | {core:.1%} | {number(flood, 0)} |")
    return table


def main():
    options = parser("vm_count", __doc__, rounds=5, seconds=0.6).parse_args()
    prepare()
    nanos = decisions()
    samples = []
    for index in range(options.rounds):
        say(f"round {index + 1}/{options.rounds}")
        one_round(samples, options.seconds)
    leave_table("vm_count", lines(nanos, samples), samples=samples, decision_ns=nanos)


if __name__ == "__main__":
    main()

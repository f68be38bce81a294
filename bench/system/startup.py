#!/usr/bin/env python3
"""startup.py - time from process start to the first forwarded packet, memory for two ports, a restart of a switch with sixteen vNICs that was
killed under traffic, and a port added while the switch runs.

The VMs are there first, as after a switch's restart: the generator listens, was connected to a raw loop once (its devices need that to
finish), and sends all the time; the switch under test connects to it.
"""
import time

from bench.lib.figures import median_of
from bench.lib.host import Place, parser, prepare
from bench.lib.load import Load, pair
from bench.lib.process import huge_mib, resident_mib
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number
from bench.lib.system import Raw, Weir, vm_ports
from bench.peers.ovs import Ovs

START_MS_MOST, RESTART_MS_MOST, HUGE_MIB_MOST, OTHER_MIB_MOST, ADD_MS_MOST = 350, 300, 256, 48, 100
VNICS = 16                  # of a switch that restarts; two of them have a VM


class Sixteen(Weir):
    """Sixteen vNICs that connect to their VMs' sockets; the first fourteen have no VM."""

    def config(self):
        config = super().config()
        empty = [{"name": f"empty{number}", "socket": self.place.file(f"empty{number}.sock"), "mode": "client",
                  "mac": f"02:00:00:01:{number:02x}:00", "reservation": "0Mbit"} for number in range(VNICS - len(self.ports))]
        return {**config, "vnics": empty + config["vnics"]}


def until_first_packet(at):
    """The other VMs send to VM `at`; the run ends when VM `at` has received something."""
    others = [port for port in (0, 1) if port != at]
    return {"name": "first", "seconds": 20, "warmup": 0, "drain": 0, "stop_on_rx": at,
            "streams": [{"from": port, "to": at, "pps": 100_000} for port in others]}


def rehearsal(at):
    """The same for 0.1 s, so that the frames exist; then every ring is emptied."""
    return {**until_first_packet(at), "seconds": 0.1, "drain": 0.1}


def first_packet_ms(load, run, start):
    """Milliseconds from the moment (ns) that start() returns to the first packet; the generator takes the time, not this program."""
    load.begin({"wait_links": 20})
    load.begin(run)
    began = start()
    first = load.result(run)["ports"][run["stop_on_rx"]]["first_rx_monotonic_ns"]
    if first is None:
        raise TimeoutError("no packet was forwarded")
    return (first - began) / 1e6


def connect_once(place, load, ports):
    """Lets a raw loop take the two ports, rehearses, and stops it."""
    raw = Raw(place, ports, listens=False)
    raw.start()
    try:
        load.wait_ready()
        raw.wait_peers()
        load.measure(rehearsal(1))
    finally:
        raw.stop()


def started(system):
    system.start()
    return system.child.started_ns


def measure_start(make, keep):
    """Milliseconds to the first packet, and MiB of memory once packets are forwarded."""
    with Place(keep=keep) as place:
        system = make(place, vm_ports(place), listens=False)
        load = Load(place, system.ports, listens=True)
        try:
            connect_once(place, load, system.ports)
            spent = first_packet_ms(load, until_first_packet(1), lambda: started(system))
            return {"start_ms": spent, "huge_mib": huge_mib(system.pid, load.pid), "other_mib": resident_mib(system.pid)}
        finally:
            load.stop()
            system.stop()


def measure_restart(keep):
    """Milliseconds to the first packet of a switch with sixteen vNICs after it was killed under traffic."""
    with Place(keep=keep) as place:
        system = Sixteen(place, vm_ports(place), listens=False)
        load = system.bring_up()
        try:
            load.measure(rehearsal(1))
            flood = {**pair(64, 0.5), "warmup": 0, "drain": 0}
            load.begin(flood)
            load.wait_measuring()
            system.child.kill()
            load.result(flood)
            while load.links_up(0.05):  # until the generator has noticed that its peer is gone
                pass
            return {"restart_ms": first_packet_ms(load, until_first_packet(1), lambda: started(system))}
        finally:
            load.stop()
            system.stop()


def measure_add(keep):
    """Milliseconds from `weirctl vnic add` to the first packet that the new port receives."""
    with Place(keep=keep) as place:
        ports = vm_ports(place, 3)
        system = Weir(place, ports, listens=False)
        load = system.bring_up()
        try:
            load.measure(rehearsal(2))
            system.ctl("vnic", "remove", "vm2")
            while load.links_up(0.05):  # until the generator has noticed that its peer is gone
                pass
            description = place.write("vm2.json", system.vnic(ports[2]))

            def add():
                began = time.monotonic_ns()
                system.ctl("vnic", "add", description)
                return began
            return {"add_ms": first_packet_ms(load, until_first_packet(2), add)}
        finally:
            load.stop()
            system.stop()


def tables(samples):
    keys = ("start_ms", "huge_mib", "other_mib", "restart_ms", "add_ms")
    return [Table("Start to first forwarded packet, memory for two ports, a restart with sixteen vNICs, a port added at run time (medians)",
                  ["", "start ms", "hugepages MiB", "other MiB", "restart ms", "vnic add ms"],
                  [[system, *(number(median_of(samples, key, system=system), 1) for key in keys)]
                   for system in dict.fromkeys(sample["system"] for sample in samples)])]


def marks(samples):
    def of(key):
        return median_of(samples, key, system="weir")
    return [mark("start to first packet", of("start_ms"), START_MS_MOST, " ms"),
            mark("restart with sixteen vNICs to first packet", of("restart_ms"), RESTART_MS_MOST, " ms"),
            mark("hugepages, two ports", of("huge_mib"), HUGE_MIB_MOST, " MiB"),
            mark("other memory, two ports", of("other_mib"), OTHER_MIB_MOST, " MiB"),
            mark("weirctl vnic add to first packet", of("add_ms"), ADD_MS_MOST, " ms")]


def main():
    options = parser("startup", __doc__, rounds=5, peers=True).parse_args()
    prepare()
    record = Record(options)
    systems = {"weir": Weir, **({"ovs-normal": Ovs} if options.peers else {})}
    for number_of_round in range(options.rounds):
        for name, make in systems.items():
            record.attempt(lambda: record.stretch(lambda: measure_start(make, options.keep)), system=name, round=number_of_round)
        record.attempt(lambda: record.stretch(lambda: measure_restart(options.keep)), system="weir", round=number_of_round)
        record.attempt(lambda: record.stretch(lambda: measure_add(options.keep)), system="weir", round=number_of_round)
    finish(record, "bench.system.startup")


if __name__ == "__main__":
    main()

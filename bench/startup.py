#!/usr/bin/env python3
"""startup.py - from process start to the first forwarded packet, memory for two ports, and a port added while the switch runs.

The VMs are there first, as after a switch's restart: the generator listens, was connected to a raw loop once (its
devices need that to finish), and sends all the time; the switch under test connects to it.
"""
import json
import time

from lib.host import Place, parser, prepare, say
from lib.load import Load
from lib.process import huge_mib, resident_mib
from lib.report import median, number, print_targets, save, table, target
from lib.system import Raw, Weir, vm_ports
from peers.ovs import Ovs

START_MS_MOST, HUGE_MIB_MOST, OTHER_MIB_MOST, ADD_MS_MOST = 350, 256, 48, 100


def until_first_packet(at):
    """Both VMs send; over when VM `at` has received something."""
    others = [port for port in (0, 1) if port != at]
    return {"name": "first", "seconds": 20, "warmup": 0, "drain": 0, "stop_on_rx": at,
            "streams": [{"from": port, "to": at, "pps": 100_000} for port in others]}


def rehearsal(at):
    """The same for a moment, so that the frames exist; then every ring is emptied."""
    return {**until_first_packet(at), "seconds": 0.1, "drain": 0.1}


def first_packet_ns(load, run, start):
    """Waits for the links and then for the packet, without this program in between; start() begins the clock."""
    load.begin({"wait_links": 20})
    load.begin(run)
    began = start()
    first = load.result(run)["ports"][run["stop_on_rx"]]["first_rx_monotonic_ns"]
    if first is None:
        raise TimeoutError("no packet came through")
    return first - began


def connect_once(place, load, ports):
    """Lets a raw loop take the two ports, rehearses, and goes away."""
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


def measure_start(place, system):
    """Milliseconds to the first packet, and the memory once it forwards."""
    load = Load(place, system.ports, listens=True)
    try:
        connect_once(place, load, system.ports)
        spent_ns = first_packet_ns(load, until_first_packet(1), lambda: started(system))
        return {"system": system.name, "start_ms": spent_ns / 1e6, "huge_mib": huge_mib(system.pid, load.pid),
                "other_mib": resident_mib(system.pid)}
    finally:
        load.stop()
        system.stop()


def measure_add(place):
    """Milliseconds from `weirctl vnic add` to the first packet that the new port receives."""
    ports = vm_ports(place, 3)
    system = Weir(place, ports, listens=False)
    load = system.bring_up()
    try:
        run = until_first_packet(2)
        load.measure(rehearsal(2))
        system.ctl("vnic", "remove", "vm2")
        while load.links_up(0.05):  # until the generator has seen its peer go
            pass
        description = place.write("vm2.json", system.vnic(ports[2]))

        def add():
            began = time.monotonic_ns()
            system.ctl("vnic", "add", description)
            return began
        return {"system": "weir", "add_ms": first_packet_ns(load, run, add) / 1e6}
    finally:
        load.stop()
        system.stop()


def attempt(what, measure, samples):
    try:
        samples.append(measure())
        say(f"{what}: {json.dumps(samples[-1])}")
    except (RuntimeError, TimeoutError, OSError) as error:
        say(f"{what}: {error}")


def report(samples, options):
    def of(system, key):
        return median([s[key] for s in samples if s["system"] == system and key in s])

    keys = ["start_ms", "huge_mib", "other_mib", "add_ms"]
    names = list(dict.fromkeys(s["system"] for s in samples))
    table("Start to first forwarded packet, memory for two ports, a port added at run time (medians)",
          ["", "start ms", "hugepages MiB", "other MiB", "vnic add ms"],
          [[name, *[number(of(name, key), 1) for key in keys]] for name in names])
    marks = [target("start to first packet", of("weir", "start_ms"), START_MS_MOST, " ms"),
             target("hugepages, two ports", of("weir", "huge_mib"), HUGE_MIB_MOST, " MiB"),
             target("other memory, two ports", of("weir", "other_mib"), OTHER_MIB_MOST, " MiB"),
             target("weirctl vnic add to first packet", of("weir", "add_ms"), ADD_MS_MOST, " ms")]
    print_targets(marks)
    save(options.output, "startup", vars(options), samples, marks)


def main():
    options = parser("startup", __doc__, rounds=5).parse_args()
    prepare()
    makers = [Weir, *([Ovs] if options.peers else [])]
    samples = []
    for _ in range(options.rounds):
        for make in makers:
            with Place(keep=options.keep) as place:
                system = make(place, vm_ports(place), listens=False)
                attempt(f"{system.name} start", lambda: measure_start(place, system), samples)
        with Place(keep=options.keep) as place:
            attempt("weir vnic add", lambda: measure_add(place), samples)
    report(samples, options)


if __name__ == "__main__":
    main()

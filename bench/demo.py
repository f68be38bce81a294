#!/usr/bin/env python3
"""demo.py - shows the effect of isolation on a victim beside a flooding neighbor; run by bench/demo.sh.

Two guests send to a third over a wire of 100 Mbit/s, or of 40 where the emulated guests share two or three cores: they
could not fill a faster one. The victim sends half of the wire and has 70 % of it reserved; the neighbor sends all that its
socket takes. Three phases of eight seconds: the victim alone, both with isolation off, both with isolation on. The guests
stay, the switch is restarted with the other setting.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "test", "support"), os.path.join(ROOT, "bench", "guest")]

import links  # noqa: E402  (the path above comes first)
from bench.demo_view import View, result_table  # noqa: E402
from bench.lib.host import BUILD, machine  # noqa: E402
from guest import Guest, Nic, accelerator  # noqa: E402
from processes import Process, stop_all  # noqa: E402
from switch import TelemetrySwitch, other_cores  # noqa: E402
from traffic import Flow, Ping, rate, wait_reachable  # noqa: E402
from wait import until  # noqa: E402

RECEIVER = "10.0.0.9"
RECEIVER_MAC = "52:54:00:00:00:09"
VMS = {"victim": 1, "neighbor": 2}
# Phase, isolation, whether the neighbor floods.
PHASES = (("alone", False, False), ("off", False, True), ("on", True, True))
MANY_CORES = 4                                      # the worker's and one for each guest
LEAD_SECONDS = 1                                    # of a flow before the counting begins
FLOOD_PORT = 5202


def few_cores():
    """With two cores the worker sleeps between bursts, so that guests may use its core too."""
    return len(os.sched_getaffinity(0)) < MANY_CORES


WIRE_BPS = 40_000_000 if few_cores() else 100_000_000
RESERVATION_BPS = WIRE_BPS * 7 // 10
VICTIM_BPS = WIRE_BPS // 2


def configuration(folder, isolation):
    def vnic(name, number):
        return {"name": name, "socket": f"{folder}/{name}.sock", "mac": f"52:54:00:00:00:0{number}",
                **({"reservation": f"{RESERVATION_BPS // 10**6}Mbit"} if name == "victim" else {})}
    return {"isolation": isolation, "poll": "adaptive" if few_cores() else "busy", "vnics": [vnic(*item) for item in VMS.items()],
            "uplink": {"device": "net_af_packet0,iface=uplink", "rate": f"{WIRE_BPS // 10**6}Mbit"}}


def boot(folder):
    """The three guests, all booting at once."""
    cards = {name: Nic(f"52:54:00:00:00:0{number}", f"10.0.0.{number}/24", socket=f"{folder}/{name}.sock")
             for name, number in VMS.items()}
    cards["receiver"] = Nic(RECEIVER_MAC, f"{RECEIVER}/24", tap="far", offloads=False)
    guests = {name: Guest(name, folder, [card], None if few_cores() else other_cores()) for name, card in cards.items()}
    for guest in guests.values():
        guest.boot(wait=False)
    for guest in guests.values():
        guest.wait_ready()
    # An emulated guest that waits for a core sends the frames gathered meanwhile in one burst, for which its reservation
    # needs some ms. The flooding guest stands back where cores are few, so that the three compete for the wire alone.
    guests["neighbor"].process.set_nice(0)
    return guests


def phase(guests, switch, name, floods, seconds, view):
    """Runs the sources for `seconds`: of each VM the offered and the delivered bit/s, the part of the time that its ring was
    held back, and the victim's latency in ms."""
    victim, neighbor, receiver = guests["victim"], guests["neighbor"], guests["receiver"]
    sources = {"victim": Flow(victim, receiver, RECEIVER, VICTIM_BPS)}
    if floods:
        sources["neighbor"] = Flow(neighbor, receiver, RECEIVER, 0, FLOOD_PORT)
    flow = sources["victim"]
    for vm, source in sources.items():
        until(lambda: source.sample().sent.time >= LEAD_SECONDS, f"the {vm}'s flow starting")
    ping = Ping(victim, RECEIVER, interval=0.1)

    def sample():
        return {vm: source.sample() for vm, source in sources.items()}

    def held_back():
        return {vm: switch.vnic(vm).get("held_back_ns", {}).get("total", 0) / 1e9 for vm in sources}
    samples, held = [sample()], [held_back()]
    for second in range(1, seconds + 1):
        until(lambda: flow.sample().sent.time > samples[-1]["victim"].sent.time, "the victim's flow continuing")
        samples.append(sample())
        held.append(held_back())
        view.second(name, second, {vm: rate(samples[-2][vm], samples[-1][vm]) for vm in sources}, ping.latest(),
                    {vm: held[-1][vm] - held[-2][vm] for vm in sources})
    latency = ping.stop()
    for source in reversed(sources.values()):
        source.stop()
    rates = {vm: rate(samples[0][vm], samples[-1][vm]) for vm in sources}
    return {"phase": name, "vms": [
        {"name": vm, "offered_bps": rates[vm].offered, "delivered_bps": rates[vm].delivered,
         "reservation_bps": RESERVATION_BPS if vm == "victim" else 0,
         "held_back": min((held[-1][vm] - held[0][vm]) / seconds, 1),
         "latency_ms": latency if vm == "victim" else None} for vm in sources]}


def run(folder, seconds, view):
    links.wire("uplink", "far", f"{WIRE_BPS // 10**6}mbit", "256k")
    guests, switch, phases = None, None, []
    for name, isolation, floods in PHASES:
        if switch is None or switch.config["isolation"] != isolation:
            if switch is not None:
                switch.stop()
            switch = TelemetrySwitch(folder, configuration(folder, isolation)).start()
        if guests is None:
            view.note(f"booting three guests ({accelerator()}) ...")
            guests = boot(folder)
        view.note("waiting for the guests to reach each other ...")
        for vm in VMS:
            wait_reachable(guests[vm], RECEIVER)
        phases.append(phase(guests, switch, name, floods, seconds, view))
    switch.stop()
    return {"schema": 2, "accelerator": accelerator(), "wire_bps": WIRE_BPS, "seconds": seconds, "phases": phases, "machine": machine()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="the result as JSON on standard output")
    parser.add_argument("--seconds", type=int, default=8, help="length of each of the three phases (default 8)")
    options = parser.parse_args()
    links.enter_own_namespace()
    Process.first = True
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("demo: stopped"))
    folder = tempfile.mkdtemp(prefix="weir-demo-")
    try:
        result = run(folder, options.seconds, View(sys.stderr))
    except KeyboardInterrupt:
        sys.exit("demo: stopped")
    except Exception as reason:                     # of any kind: the user gets one line
        sys.exit(f"demo: {' '.join(str(reason).split())}")
    finally:
        stop_all()
        shutil.rmtree(folder)
    print(result_table(result), file=sys.stderr)
    text = json.dumps(result, indent=2)
    (BUILD / "demo.json").write_text(text + "\n")
    if options.json:
        print(text)


if __name__ == "__main__":
    main()

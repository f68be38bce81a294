#!/usr/bin/env python3
"""demo.py - shows what isolation does for a victim beside a flooding neighbour; run by bench/demo.sh.

The victim sends 50 Mbit to the receiver over a 100 Mbit wire and has 70 Mbit reserved; its neighbour sends all it can.
Ten seconds with isolation off, ten with it on; the switch is restarted between them and the guests stay.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "test", "support"), os.path.join(ROOT, "bench", "guest")]

import links  # noqa: E402  (the path above comes first)
from demo_view import View, result_table  # noqa: E402
from guest import Guest, Nic, accelerator  # noqa: E402
from processes import stop_all  # noqa: E402
from switch import Switch, other_cores  # noqa: E402
from traffic import Flood, Flow, Ping, rate, wait_reachable  # noqa: E402
from wait import until  # noqa: E402

WIRE_BPS = 100_000_000
RESERVATION_BPS = 70_000_000
VICTIM_BPS = 50_000_000
RECEIVER = "10.0.0.9"
RECEIVER_MAC = "52:54:00:00:00:09"
VMS = {"victim": 1, "neighbour": 2}
LEAD_SECONDS = 1                                    # of the victim's flow before the counting begins
SPARE_SECONDS = 15                                  # of the victim's flow, so that the counting ends before it


def configuration(folder, isolation):
    def vnic(name, number):
        return {"name": name, "socket": f"{folder}/{name}.sock", "mac": f"52:54:00:00:00:0{number}",
                **({"reservation": f"{RESERVATION_BPS // 10**6}Mbit"} if name == "victim" else {})}
    return {"isolation": isolation, "vnics": [vnic(*item) for item in VMS.items()],
            "uplink": {"device": "net_af_packet0,iface=uplink", "rate": f"{WIRE_BPS // 10**6}Mbit"}}


def boot(folder):
    """The three guests, all booting at once."""
    cores = other_cores()
    guests = {name: Guest(name, folder, [Nic(f"52:54:00:00:00:0{number}", f"10.0.0.{number}/24",
                                             socket=f"{folder}/{name}.sock")], cores)
              for name, number in VMS.items()}
    guests["receiver"] = Guest("receiver", folder, [Nic(RECEIVER_MAC, f"{RECEIVER}/24", tap="far",
                                                        offloads=False)], cores)
    for guest in guests.values():
        guest.boot(wait=False)
    for guest in guests.values():
        guest.wait_ready()
    return guests


def phase(guests, switch, isolation, seconds, view):
    """Runs both sources for `seconds`; what each VM offered, what arrived, and the victim's latency."""
    victim, neighbour, receiver = guests["victim"], guests["neighbour"], guests["receiver"]
    flow = Flow(victim, receiver, RECEIVER, VICTIM_BPS, seconds + SPARE_SECONDS)
    sources = {"victim": flow, "neighbour": Flood(neighbour, receiver, RECEIVER, RECEIVER_MAC)}
    until(lambda: flow.sample().sent.time >= LEAD_SECONDS, 20, "the victim's flow starting")
    ping = Ping(victim, RECEIVER, interval=0.1)
    samples = [{name: source.sample() for name, source in sources.items()}]
    for second in range(1, seconds + 1):
        until(lambda: flow.sample().sent.time > samples[-1]["victim"].sent.time, 20, "the victim's flow going on")
        samples.append({name: source.sample() for name, source in sources.items()})
        held = {name: switch.vnic(name).get("held_back_ns", {}).get("total", 0) for name in VMS}
        view.second(isolation, second, {name: rate(samples[-2][name], samples[-1][name]) for name in VMS},
                    ping.latest(), held)
    latency = ping.stop()
    for source in reversed(sources.values()):
        source.stop()
    rates = {name: rate(samples[0][name], samples[-1][name]) for name in VMS}
    return {"isolation": isolation, "vms": [
        {"name": name, "offered_bps": rates[name].offered, "delivered_bps": rates[name].delivered,
         "reservation_bps": RESERVATION_BPS if name == "victim" else 0,
         "latency_ms": latency if name == "victim" else None} for name in VMS]}


def run(folder, seconds, view):
    links.wire("uplink", "far", f"{WIRE_BPS // 10**6}mbit", "256k")
    guests, phases = None, []
    for isolation in (False, True):
        switch = Switch(folder, configuration(folder, isolation)).start()
        if guests is None:
            view.note(f"booting three guests ({accelerator()}) ...")
            guests = boot(folder)
        view.note("waiting for the guests to reach each other ...")
        wait_reachable(guests["victim"], RECEIVER)
        wait_reachable(guests["neighbour"], RECEIVER)
        phases.append(phase(guests, switch, isolation, seconds, view))
        switch.stop()
    return {"schema": 1, "accelerator": accelerator(), "wire_bps": WIRE_BPS, "seconds": seconds, "phases": phases}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="the result as JSON on standard output")
    parser.add_argument("--seconds", type=int, default=10, help="length of each of the two phases (default 10)")
    options = parser.parse_args()
    links.enter_own_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("demo: stopped"))
    folder = tempfile.mkdtemp(prefix="weir-demo-")
    try:
        result = run(folder, options.seconds, View(sys.stderr))
    except KeyboardInterrupt:
        sys.exit("demo: stopped")
    except Exception as reason:                     # whatever it is, the user gets one line
        sys.exit(f"demo: {' '.join(str(reason).split())}")
    finally:
        stop_all()
        shutil.rmtree(folder)
    print(result_table(result), file=sys.stderr)
    if options.json:
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""two_buckets.py - the example of Pulsar 4.4 with real NBD reads: a flow with (800 tokens, 6000 bytes) a second turns from reads of
500 bytes to reads of 4 KiB, with a bucket for each resource and with a single one.

    bench/run.sh two-buckets     root, nbdkit; half a minute

Writes two_buckets.json to the build folder (WEIR_BUILD).
"""
import json
import subprocess
import sys

import links
from hosts import Hosts
from bench.lib.host import ROOT, Place, leave_table, prepare, progress
from bench.papers import claims
from bench.papers.claims import Claim
from processes import Process, stop_all, tail
from wait import until

CLIENT, SERVER, PORT = 1, 3, 10809
TOKENS, BYTES = 800, 6000  # a second; 5000 of the paper's bytes are 6000 with the headers of ten answers
TOKENS_EACH = 80
PHASES = ((500, 5), (4096, 6))  # read so much, for so long
FLAT = {"name": "80 a read", "unit": "tokens", "source": "Pulsar 4.4",
        "operations": {"read": {"size": "response", "shape": "linear", "base": TOKENS_EACH, "tokens": 0, "per": "1B"},
                       "otherwise": {"size": "sum", "shape": "linear", "base": 1, "tokens": 0, "per": "1B"}}}
SEGMENT, HEADERS, REPLY = 1448, 78, 16


def on_the_wire(size):
    """Bytes of an answer on the way back."""
    return size + REPLY + (1 + (size + REPLY) // SEGMENT) * HEADERS


def reads(buckets):
    """Reads a second in each phase, the first half second of either left out."""
    with Place() as place:
        site = Hosts(str(place.path))
        try:
            site.join()
            cost = place.write("cost.json", FLAT)
            limits = {"limit": f"{TOKENS}tokens", "downlink": f"{BYTES * 8 // 1000}kbit", "burst": "100ms", "buckets": buckets}
            switch = site.start("a", 1, {"rate": "1Gbit"}, {CLIENT: {"appliances": [{"name": "disk", **limits}]}, SERVER: {}},
                                appliances=[{"name": "disk", "address": f"10.0.0.{SERVER}", "port": PORT, "protocol": "nbd",
                                             "cost": cost}])
            client, server = site.kernel(CLIENT), site.kernel(SERVER)
            nbdkit = Process([*server, "nbdkit", "--foreground", "--exit-with-parent", "--port", str(PORT), "memory", "64M"],
                             site.path("nbdkit.log"))
            until(lambda: f":{PORT} " in listening(server), f"nbdkit listening: {tail(nbdkit.log)}")
            rates = asked(client)
            if switch.stop() != 0:
                raise RuntimeError("the switch ended badly")
            return rates
        finally:
            site.unplug()
            stop_all()


def listening(inside):
    return subprocess.run([*inside, "ss", "-Hltn"], capture_output=True, text=True, timeout=10, check=False).stdout


def asked(client):
    program = ROOT / "test" / "support" / "nbd_client.py"
    done = subprocess.run([*client, sys.executable, str(program), f"10.0.0.{SERVER}", str(PORT),
                           *(f"{size}:{seconds}" for size, seconds in PHASES)], capture_output=True, text=True, timeout=90, check=True)
    rates, began = [], 0.0
    for phase in json.loads(done.stdout)["reads"]:
        times = [at for at in phase["times"] if at > began + 0.5]
        rates.append((len(times) - 1) / (times[-1] - times[0]))
        began = phase["times"][-1]
    return rates


def lines(found):
    table = ["| | reads/s | tokens/s, of 800 | bytes/s of the way back, of 6000 |", "|---|---:|---:|---:|"]
    for buckets, rates in found.items():
        for (size, _), rate in zip(PHASES, rates):
            tokens, bytes_ = rate * TOKENS_EACH, rate * on_the_wire(size)
            table.append(f"| {buckets}, reads of {size} bytes | {rate:.2f} | {tokens:.0f} ({tokens / TOKENS:.2f} x) | "
                         f"{bytes_:,.0f} ({bytes_ / BYTES:.2f} x) |")
    return table


def judged(found):
    """With two buckets neither resource is exceeded in either phase; with one the network is, by large reads."""
    def part(buckets, phase):
        return found[buckets][phase] * on_the_wire(PHASES[phase][0]) / BYTES
    over = max(max(rate * TOKENS_EACH / TOKENS, part("multi", phase)) for phase, rate in enumerate(found["multi"]))
    return [Claim("4.4", "two buckets: the more exceeded of tokens and bytes, in any phase", over, 1.02, unit=" x", digits=2),
            Claim("4.4", "one bucket: bytes of the network in the second phase", part("single", 1), 5, ">=", " x", 2)]


def report(found):
    """The lines for the paper's page."""
    return [*lines(found), "", *claims.table(judged(found)).split("\n")]


def main():
    links.enter_own_namespace()
    prepare()
    found = {}
    for buckets in ("multi", "single"):
        found[buckets] = reads(buckets)
        progress(f"{buckets}: {found[buckets]}")
    leave_table("two_buckets", report(found), reads_per_second=found)


if __name__ == "__main__":
    main()

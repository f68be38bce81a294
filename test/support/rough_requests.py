"""rough_requests.py - requests to a real memcached through a switch, on wires that lose and reorder, and their number by the
client, the server and the switch. Only inside a network namespace of the tests.

VM 1 is the client, VM 3 the server; either's wire loses frames both ways, so that some are lost before the switch has seen
them and some behind it.
"""

import json
import os
import signal
import sys

import links
from processes import run
from switch import ROOT

CLIENT, SERVER, PORT = 1, 3, 11211
LOST = 50  # of 10,000, on each of two wires: 1 % of a side's frames
LATE = 100
# Bytes that may be under way on a connection: the switch keeps 64 KiB of the bytes beyond a hole.
WINDOW_BYTES = 65_536
# The least retransmission timeout: a kernel does not send again a frame that is only late. Its default is 200 ms.
RTO_MIN = "30ms"
BYTES = {"name": "bytes", "unit": "bytes", "source": "as they are",
         "operations": {"otherwise": {"size": "sum", "shape": "linear", "base": 0, "tokens": 1, "per": "1B"}}}


class RoughRequests:
    """`site` is a Hosts; the switch is `a`, on core 1."""

    def __init__(self, site, seed=1, lost=LOST, late=LATE):
        self.site = site
        site.join()
        self.wires = [site.plug_rough(number, lost, late, seed + number) for number in (CLIENT, SERVER)]
        cost = site.path("bytes.json")
        with open(cost, "w") as stream:
            json.dump(BYTES, stream)
        self.switch = site.start("a", 1, {"rate": "10Gbit"}, {CLIENT: {"appliances": [{"name": "kv"}]}, SERVER: {}},
                                 appliances=[{"name": "kv", "address": f"10.0.0.{SERVER}", "port": PORT, "protocol": "memcached",
                                              "cost": cost}])
        self.client, self.server = site.kernel(CLIENT), site.kernel(SERVER)
        for number, inside in ((CLIENT, self.client), (SERVER, self.server)):
            links.command(f"{' '.join(inside)} ip route change 10.0.0.0/24 dev eth{number} src 10.0.0.{number} rto_min {RTO_MIN}")
            run([*inside, "sh", "-c", f"echo 4096 {WINDOW_BYTES} {WINDOW_BYTES} >/proc/sys/net/ipv4/tcp_rmem"])

    def run(self, connections, requests, seed, seconds=0):
        """Plays so many requests, which take some `seconds`. Returns the counts of client, server, switch and wires."""
        server = self.site.serve(self.server, PORT, "memcached", "-u", "root", "-l", f"10.0.0.{SERVER}", "-p", PORT, "-c", 4096,
                                 "-m", 1024)
        program = os.path.join(ROOT, "test", "support", "memcached_client.py")
        result = json.loads(run([*self.client, sys.executable, program, f"10.0.0.{SERVER}", PORT, connections, requests, seed],
                                seconds).stdout)
        flow, = self.switch.ctl("flow", "list", "--interval", "100ms")["flows"]
        result["switch"] = {**flow["total"], "outstanding": flow["outstanding"]}
        server.stop()
        result["wires"] = [self.ended(wire) for wire in self.wires]
        return result

    @staticmethod
    def ended(wire):
        wire.stop(signal.SIGTERM)
        return json.loads(wire.output().splitlines()[-1])


def faults(result):
    """The counts that do not agree, in words; empty when all are exact."""
    asked, server, switch = result["asked"], result["server"], result["switch"]
    everything = sum(server.values()) + 1  # and the request for the counters
    found = [f"{kind}: {count} asked, {server[kind]} served" for kind, count in asked.items() if count != server[kind]]
    for what, counted, expected in (("requests", switch["requests"], everything), ("responses", switch["responses"], result["answers"] + 1),
                                    ("bytes without a header", switch["plain_bytes"], 0), ("outstanding", switch["outstanding"], 0)):
        if counted != expected:
            found.append(f"{what}: {counted} at the switch, {expected} expected")
    return found

"""calibration.py - weir-calibrate in a tenant's kernel, through a switch. VM 1 measures, VM 3 serves."""

import json
import os

from processes import run
from switch import BUILD, Switch
from two_hosts import TwoHosts

MEMCACHED_PORT = 11211
CALIBRATE = os.path.join(BUILD, "ctrl", "calibrate", "weir-calibrate")
PLAIN = {"name": "bytes", "unit": "bytes", "source": "as they are",
         "operations": {"otherwise": {"size": "sum", "shape": "linear", "base": 0, "tokens": 1, "per": "1B"}}}
# A busy machine makes rates uneven, and these bounds allow it; refusals for noise have tests of their own without a clock.
PATIENT = ("--noise", "100%", "--error", "30%", "--anyway")
FEW = ("--connections", "2", "--outstanding", "32")
SHORT = ("--time", "100ms", "--warmup", "50ms", *FEW)
SHORTEST = ("--time", "20ms", "--warmup", "10ms", *FEW)     # for tests that assert no rates


class Calibration(TwoHosts):
    def start(self, protocol, port, **limits):
        self.join()
        cost = self.path("plain.json")
        with open(cost, "w") as stream:
            json.dump(PLAIN, stream)
        self.appliance = {"name": "disk", "address": "10.0.0.3", "port": port, "protocol": protocol, "cost": cost}
        self.a = self.host("a", 1, {"rate": "1Gbit"}, None, {1: {"appliances": [{"name": "disk", **limits}]}, 3: {}},
                           {"appliances": [self.appliance]})
        self.client, self.server = self.kernel(1), self.kernel(3)

    def store(self, *filters, threads=4):
        """nbdkit; `filters`: their names, then their parameters."""
        names = [f"--filter={word}" for word in filters if "=" not in word]
        self.site.serve_nbd(self.server, "--threads", threads, *names, "memory", "16M", *(word for word in filters if "=" in word))

    def calibrate(self, *words):
        """Runs weir-calibrate in the client's kernel: (its status, its --json report)."""
        done = run([*self.client, CALIBRATE, *words, "--json"], check=False)
        self.assertTrue(done.stdout, done.stderr)
        return done.returncode, json.loads(done.stdout)

    def measured(self, *words, pace=SHORT):
        """The table that it writes, accepted by the switch, and the rest of its report."""
        file = self.path("measured.json")
        status, report = self.calibrate(*words, *pace, *PATIENT, "--socket", self.a.socket, "--output", file)
        self.assertEqual(status, 0, report)
        checked = Switch(self.path("a"), {**self.a.config, "appliances": [{**self.appliance, "cost": file}]})
        checked.file = self.path("checked.jsonc")
        self.assertEqual(checked.check()[0], 0, checked.check()[1])
        with open(file) as stream:
            return json.load(stream), report["data"]

    def serve_memcached(self):
        self.serve(self.server, MEMCACHED_PORT, "memcached", "-u", "root", "-l", "10.0.0.3", "-p", MEMCACHED_PORT)

    def items(self):
        """Number of values in memcached."""
        ask = f"exec 3<>/dev/tcp/10.0.0.3/{MEMCACHED_PORT}; printf 'stats\\r\\nquit\\r\\n' >&3; cat <&3"
        output = run([*self.client, "bash", "-c", ask]).stdout
        return int(next(line.split()[2] for line in output.splitlines() if " curr_items " in line))

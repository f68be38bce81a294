"""calibrate_test.py - weir-calibrate in a tenant's kernel, through a switch, against appliances of known costs.

nbdkit's filters make the costs: `rate` gives so many bytes a second, `delay` lets so many requests pass a second,
whatever their size. VM 1 measures, VM 3 serves. Bounds are wide, since the machine is shared: shapes and ratios count.
"""

import json
import os
import subprocess

from case import timed
from switch import BUILD, Switch
from two_hosts import TwoHosts
from processes import Process
from wait import until

CALIBRATE = os.path.join(BUILD, "ctrl", "calibrate", "weir-calibrate")
NBD_PORT, MEMCACHED_PORT = 10809, 11211
PLAIN = {"name": "bytes", "unit": "bytes", "source": "as they are",
         "operations": {"otherwise": {"size": "sum", "shape": "linear", "base": 0, "tokens": 1, "per": "1B"}}}
# What a busy machine may do to a rate; refusals for noise have tests of their own without a clock.
PATIENT = ("--noise", "100%", "--error", "30%", "--anyway")
SHORT = ("--time", "100ms", "--warmup", "50ms", "--connections", "2", "--outstanding", "32")
HEADER = 16
ATTEMPTS = 4


class CalibrateTest(TwoHosts):
    def start(self, protocol, port, **limits):
        self.join()
        cost = self.path("plain.json")
        with open(cost, "w") as stream:
            json.dump(PLAIN, stream)
        self.appliance = {"name": "disk", "address": "10.0.0.3", "port": port, "protocol": protocol, "cost": cost}
        self.a = self.host("a", 1, {"rate": "1Gbit"}, None, {1: {"appliances": [{"name": "disk", **limits}]}, 3: {}},
                           {"appliances": [self.appliance]})
        self.client, self.server = self.kernel(1), self.kernel(3)

    def serve(self, port, *command):
        server = Process([*self.server, *command], self.path(f"{command[0]}.log"))

        def listening():
            sockets = subprocess.run([*self.server, "ss", "-Hltn"], capture_output=True, text=True, timeout=10, check=False)
            return f":{port} " in sockets.stdout
        until(listening, 20, f"{command[0]} listening")
        return server

    def store(self, *filters, threads=4):
        """nbdkit; `filters`: their names, then their parameters."""
        names = [f"--filter={word}" for word in filters if "=" not in word]
        self.serve(NBD_PORT, "nbdkit", "--foreground", "--exit-with-parent", "--threads", str(threads), "--port",
                   str(NBD_PORT), *names, "memory", "16M", *(word for word in filters if "=" in word))

    def calibrate(self, *words):
        """weir-calibrate where the client is: (status, what --json gives)."""
        done = subprocess.run([*self.client, CALIBRATE, *words, "--json"], capture_output=True, text=True, timeout=240,
                              check=False)
        self.assertTrue(done.stdout, done.stderr)
        return done.returncode, json.loads(done.stdout)

    def measured(self, *words):
        """The table that it writes, accepted by the switch, and the rest of its report."""
        file = self.path("measured.json")
        status, report = self.calibrate(*words, *SHORT, *PATIENT, "--socket", self.a.socket, "--output", file)
        self.assertEqual(status, 0, report)
        checked = Switch(self.path("a"), {**self.a.config, "appliances": [{**self.appliance, "cost": file}]})
        checked.file = self.path("checked.jsonc")
        self.assertEqual(checked.check()[0], 0, checked.check()[1])
        with open(file) as stream:
            return json.load(stream), report["data"]

    def settles(self, judge, *words):
        """Measures until `judge` is content: a machine without time for us makes small requests as slow as large ones."""
        for attempt in range(ATTEMPTS):
            table, data = self.measured("nbd", "10.0.0.3", *words)
            points = {point["size"] - HEADER: point for point in data["fits"][0]["points"]}
            try:
                return judge(table["operations"]["read"]["shape"], {size: point["per_second"] for size, point in points.items()},
                             {size: point["fitted"] for size, point in points.items()})
            except AssertionError:
                if attempt == ATTEMPTS - 1:
                    raise

    def between(self, least, value, most):
        self.assertLess(least, value)
        self.assertLess(value, most)

    @timed
    def test_a_store_with_both_has_a_minimum_and_then_costs_by_the_byte(self):
        self.start("nbd", NBD_PORT)
        # What is saved up while requests are small is not to pay for the large ones.
        self.store("rate", "delay", "rate=128M", "burstiness=0.1", "delay-read=5ms")

        def judge(shape, rates, tokens):
            self.between(0.5, rates[1024] / rates[4096], 2)
            self.between(1.2, rates[32768] / rates[65536], 3.3)
            self.assertLess(tokens[4096], 2 * tokens[1024])
            self.between(3, tokens[65536] / tokens[1024], 10)  # 6.6 by the filters
            self.assertIn(shape, ("minimum", "linear", "points"))
        self.settles(judge, "--sizes", "1KiB,4KiB,32KiB,64KiB")

    @timed
    def test_memcached_is_measured_counted_and_left_as_it_was(self):
        self.start("memcached", MEMCACHED_PORT)
        self.serve(MEMCACHED_PORT, "memcached", "-u", "root", "-l", "10.0.0.3", "-p", str(MEMCACHED_PORT))
        table, data = self.measured("memcached", "10.0.0.3", "--sizes", "64B,1KiB,16KiB,64KiB")
        self.assertEqual(set(table["operations"]), {"read", "write", "otherwise"})
        self.assertGreater(table["operations"]["read"]["key"], 0)
        self.assertIn("vm1 to disk", data["what"])
        for one in data["measurements"]:  # large writes may overrun the ring of a busy switch
            self.assertGreater(one["counted_by_switch"], (0.99 if one["request_bytes"] < 2000 else 0.5) * one["asked"])
        for fit in data["fits"]:
            fitted = [point["fitted"] for point in fit["points"]]
            self.assertEqual(fitted, sorted(fitted))
            self.assertGreater(fitted[-1], 1.5 * fitted[0])  # 64 KiB beside 64 bytes
        again = self.path("again.json")
        with open(again, "w") as stream:
            json.dump(data, stream)
        status, report = self.calibrate("--from", again, *PATIENT)
        self.assertEqual((status, report["data"]["table"]), (0, table))
        status, _ = self.calibrate("memcached-binary", "10.0.0.3", "--operations", "read", "--sizes", "1KiB", *SHORT, *PATIENT)
        self.assertEqual(status, 0)
        self.assertEqual(self.items(), 0)

    def items(self):
        """Number of values in memcached."""
        ask = "exec 3<>/dev/tcp/10.0.0.3/11211; printf 'stats\\r\\nquit\\r\\n' >&3; cat <&3"
        output = subprocess.run([*self.client, "bash", "-c", ask], capture_output=True, text=True, timeout=20, check=False).stdout
        return int(next(line.split()[2] for line in output.splitlines() if " curr_items " in line))

    def test_a_run_that_would_not_measure_the_appliance_is_refused_with_the_reason(self):
        self.start("nbd", NBD_PORT, limit="2Mtokens", burst="100ms")
        words = ("nbd", "10.0.0.3", "--sizes", "4KiB", *SHORT, "--noise", "100%")
        status, report = self.calibrate(*words)
        self.assertEqual((status, report["ok"]), (1, False))
        self.assertIn("10.0.0.3:10809", report["faults"][0]["path"])
        self.store()
        status, report = self.calibrate(*words, "--operations", "write")
        self.assertEqual((status, report["faults"][0]["allowed"]), (2, "--overwrite as well"))
        # 2,000,000 bytes a second are 480 requests, and a memory store has thousands.
        status, report = self.calibrate(*words, "--socket", self.a.socket)
        self.assertEqual((status, report["ok"]), (1, False))
        self.assertTrue(any(fault["found"].startswith("held back") for fault in report["faults"]), report["faults"])
        status, report = self.calibrate("redis", "10.0.0.3", "--port", str(NBD_PORT), "--sizes", "4KiB")
        self.assertEqual((status, report["ok"]), (1, False))

"""appliance_test.py - requests of a kernel to a real appliance, NBD, through a switch that tracks them.

VM 1 is the client, VM 3 the server, on one host. Rates are low and bounds wide; where possible, requests are counted and not timed.
"""

import json
import os
import random
import subprocess
import sys

from case import timed
from processes import Process
from switch import ROOT
from two_hosts import TwoHosts
from wait import until

NBD_PORT = 10809
# Every read costs 80 tokens here, whatever its size (Pulsar 4.4).
FLAT = {"name": "80 a read", "unit": "tokens", "source": "Pulsar 4.4",
        "operations": {"read": {"size": "response", "shape": "linear", "base": 80, "tokens": 0, "per": "1B"},
                       "otherwise": {"size": "sum", "shape": "linear", "base": 1, "tokens": 0, "per": "1B"}}}
# What a read's answer takes of the link to the client: 16 bytes of reply, and headers for each segment.
SMALL, LARGE = 500 + 16 + 78, 4096 + 16 + 3 * 78
APPLIANCE_TOKENS, DOWNLINK_BYTES = 1200, 9000
BURST_SECONDS = 0.1
# Of 8 reads that each of two clients has ready, 4 are at the store, which takes 20 ms for each.
WINDOW, DELAY_MS, SHARES = 4, 20, {1: 300, 2: 100}


class ApplianceTest(TwoHosts):
    def start(self, cost, protocol="nbd", port=NBD_PORT, **limits):
        """The switch, a client's kernel and a server's; returns the words before a command in either."""
        self.join()
        path = self.path("cost.json")
        with open(path, "w") as stream:
            json.dump(cost, stream)
        self.a = self.host("a", 1, {"rate": "1Gbit"}, None, {1: {"appliances": [{"name": "disk", **limits}]}, 3: {}},
                           {"appliances": [{"name": "disk", "address": "10.0.0.3", "port": port, "protocol": protocol,
                                            "cost": path}]})
        return self.kernel(1), self.kernel(3)

    def serve(self, inside, port, *command):
        """A server, once it listens."""
        server = Process([*inside, *command], self.path(f"{command[0]}.log"))
        until(lambda: f":{port} " in self.sockets(inside), 20, f"{command[0]} listening")
        return server

    def sockets(self, inside):
        return subprocess.run([*inside, "ss", "-Hltn"], capture_output=True, text=True, timeout=10, check=False).stdout

    def nbd_server(self, inside):
        return self.serve(inside, NBD_PORT, "nbdkit", "--foreground", "--exit-with-parent", "--port", str(NBD_PORT),
                          "memory", "64M")

    def client(self, inside, name, port, *arguments):
        """The result that a client of test/support prints at its end."""
        program = os.path.join(ROOT, "test", "support", f"{name}.py")
        done = subprocess.run([*inside, sys.executable, program, "10.0.0.3", str(port), *arguments], capture_output=True,
                              text=True, timeout=90, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def reads(self, inside, *phases):
        return self.client(inside, "nbd_client", NBD_PORT, *phases)["reads"]

    def most(self, phase, limit_bytes, each):
        """How many answers of `each` bytes the limit lets come back in the time of a phase that began with an empty
        bucket: one may be in debt, one more asked for before."""
        seconds = phase["times"][-1] - phase["began"]
        return (limit_bytes * (seconds + BURST_SECONDS)) / each + 2

    @timed
    def test_a_flow_that_goes_from_small_to_large_reads_stays_within_both_its_allocations(self):
        client, server = self.start(FLAT, limit=f"{APPLIANCE_TOKENS}tokens", downlink=f"{DOWNLINK_BYTES * 8 // 1000}kbit",
                                    burst="100ms")
        self.nbd_server(server)
        small, large = self.reads(client, "500:2", "4096:4")
        small["began"], large["began"] = 0, small["times"][-1]
        self.assertLess(len(small["times"]), self.most(small, APPLIANCE_TOKENS, 80))
        self.assertLess(len(small["times"]), self.most(small, DOWNLINK_BYTES, SMALL))
        self.assertLess(len(large["times"]), self.most(large, DOWNLINK_BYTES, LARGE))
        self.assertGreater(len(large["times"]), 3)
        self.assertGreater(len(small["times"]), 2 * len(large["times"]))

    @timed
    def test_with_one_bucket_the_same_flow_takes_several_times_its_allocation(self):
        client, server = self.start(FLAT, limit=f"{APPLIANCE_TOKENS}tokens", downlink=f"{DOWNLINK_BYTES * 8 // 1000}kbit",
                                    burst="100ms", buckets="single")
        self.nbd_server(server)
        _, large = self.reads(client, "500:1", "4096:3")
        self.assertGreater(len(large["times"]) * LARGE, 3 * 3 * DOWNLINK_BYTES)

    def test_why_and_flow_list_name_the_bucket_that_holds_the_flow_back(self):
        client, server = self.start(FLAT, limit=f"{APPLIANCE_TOKENS}tokens", downlink="100Mbit", burst="100ms")
        self.nbd_server(server)
        program = os.path.join(ROOT, "test", "support", "nbd_client.py")
        reader = Process([*client, sys.executable, program, "10.0.0.3", str(NBD_PORT), "4096:80"], self.path("reader.log"))
        until(lambda: self.a.ctl("flow", "list", "--interval", "200ms")["flows"][0]["held_back_by"], 20, "a flow held back")
        sample = self.a.ctl("flow", "list", "vm1", "--interval", "3s")
        flow, = sample["flows"]
        self.assertEqual((flow["vnic"], flow["appliance"], flow["held_back_by"]), ("vm1", "disk", "appliance"))
        self.assertEqual(flow["limit_per_second"], {"appliance": APPLIANCE_TOKENS, "uplink": None, "downlink": 12_500_000,
                                                    "cycles": None})
        used = flow["used_per_second"]["appliance"] * sample["seconds"]
        # The readings' own times are not those of the tallies to the millisecond.
        self.assertLess(used, 1.2 * APPLIANCE_TOKENS * (sample["seconds"] + BURST_SECONDS) + 80)
        self.assertAlmostEqual(flow["requests_per_second"] * sample["seconds"], used / 80, delta=2)
        self.assertEqual(flow["blocked_percent"]["downlink"], 0)

        by = until(lambda: self.a.ctl("why", "vm1", "--interval", "500ms")["held_back_by"], 20, "vm1 held back")
        self.assertEqual((by["bucket"], by["appliance"]), ("appliance", "disk"))
        self.assertEqual(self.a.ctl("why", "vm3", "--interval", "200ms")["held_back_by"], None)
        self.assertEqual(self.a.ctl("flow", "list", "vm3", "--interval", "50ms")["flows"], [])

        self.a.ctl("vnic", "set", "vm1", "disk.limit=3ktokens")
        changed, = self.a.ctl("flow", "list", "vm1", "--interval", "1s")["flows"]
        self.assertEqual(changed["limit_per_second"]["appliance"], 3000)
        self.assertGreater(changed["used_per_second"]["appliance"], 1.5 * APPLIANCE_TOKENS)
        reader.stop()

    @timed
    def test_a_window_bounds_outstanding_requests_and_its_shares_divide_a_slow_store(self):
        path = self.path("cost.json")
        with open(path, "w") as stream:
            json.dump(FLAT, stream)
        parts = {number: {"appliances": [{"name": "disk", "shares": shares}]} for number, shares in SHARES.items()}
        disk = {"name": "disk", "address": "10.0.0.3", "port": NBD_PORT, "protocol": "nbd", "cost": path,
                "window": f"{80 * WINDOW}tokens", "scheduler": "rls"}
        self.join()
        self.a = self.host("a", 1, {"rate": "1Gbit"}, None, {**parts, 3: {}}, {"appliances": [disk]})
        first, second, server = self.kernel(1), self.kernel(2), self.kernel(3)
        self.serve(server, NBD_PORT, "nbdkit", "--foreground", "--exit-with-parent", "--port", str(NBD_PORT),
                   "--threads", "16", "--filter", "delay", "memory", "64M", f"rdelay={DELAY_MS}ms")
        program = os.path.join(ROOT, "test", "support", "nbd_client.py")
        readers = [Process([*inside, sys.executable, program, "10.0.0.3", str(NBD_PORT), "--connections", "8", "512:60"],
                           self.path("reader.log")) for inside in (first, second)]

        def both_wait():
            flows = self.a.ctl("flow", "list", "--interval", "100ms")["flows"]
            return all(flow["held"] for flow in flows) and len(flows) == len(SHARES)
        until(both_wait, 20, "both clients waiting for the window")
        sample = self.a.ctl("flow", "list", "--interval", "4s")
        self.assertLessEqual(sample["appliances"][0]["outstanding_tokens"], 80 * WINDOW)
        answered = [flow["responses_per_second"] for flow in sample["flows"]]
        # What is outstanding together is what can be answered in a delay.
        self.assertLess(sum(answered), 1.1 * WINDOW * 1000 / DELAY_MS)
        self.assertGreater(sum(answered), 0.4 * WINDOW * 1000 / DELAY_MS)
        self.assertAlmostEqual(answered[0] / answered[1], SHARES[1] / SHARES[2], delta=0.8)
        for flow in sample["flows"]:
            self.assertEqual(flow["held_back_by"], "window")
            self.assertLess(flow["latency_ns"]["p50"], 4 * DELAY_MS * 1_000_000)
        self.assertEqual(self.a.ctl("why", "vm2", "--interval", "500ms")["held_back_by"]["bucket"], "window")
        for reader in readers:
            reader.stop()

    def tcp_counters(self, inside):
        """TCP counters of that kernel by name, as nstat reads them."""
        counters = {}
        for file in ("snmp", "netstat"):
            done = subprocess.run([*inside, "cat", f"/proc/net/{file}"], capture_output=True, text=True, timeout=10,
                                  check=True)
            lines = done.stdout.splitlines()
            for names, values in zip(lines[::2], lines[1::2]):
                counters.update(zip(names.split()[1:], values.split()[1:]))
        return {name: int(counters[name]) for name in ("TCPTimeouts", "RetransSegs", "TCPToZeroWindowAdv",
                                                       "TCPFromZeroWindowAdv", "TCPWinProbe") if name in counters}

    @timed
    def test_clients_whose_requests_would_wait_for_seconds_do_not_time_out(self):
        client, server = self.start(FLAT, limit="1600tokens", burst="10ms")
        self.nbd_server(server)
        # 20 a second for 40 that are ready: each waits for 2 s, ten times what TCP waits before it sends again.
        program = os.path.join(ROOT, "test", "support", "nbd_client.py")
        reader = Process([*client, sys.executable, program, "10.0.0.3", str(NBD_PORT), "--connections", "40", "512:60"],
                         self.path("reader.log"))
        answered = lambda: self.a.ctl("flow", "list", "--interval", "50ms")["flows"][0]["total"]["responses"]
        # All begin at once: their requests are not known before, and the last of these may time out.
        until(lambda: answered() > 300, 40, "each client's second answer")
        before, count = self.tcp_counters(client), answered()
        until(lambda: answered() > count + 100, 40, "more answers")
        after = self.tcp_counters(client)
        reader.stop()
        grown = {name: after[name] - before[name] for name in after}
        self.assertEqual((grown["TCPTimeouts"], grown["RetransSegs"]), (0, 0), grown)

    def test_nbdcopy_and_qemu_io_bring_their_data_there_and_back_and_are_counted(self):
        client, server = self.start(FLAT)
        self.nbd_server(server)
        data, back, uri = self.path("data"), self.path("back"), f"nbd://10.0.0.3:{NBD_PORT}"
        with open(data, "wb") as stream:
            stream.write(random.Random(1).randbytes(16 << 20))
        # One writes 64 requests of 256 KiB at a time, over several connections; the other one after the other.
        for command in (["nbdcopy", data, uri], ["qemu-io", "-f", "raw", "-c", "read 0 1M", "-c", "write -P 7 16M 64k",
                                                 "-c", "flush", "-c", "read -P 7 16M 64k", uri]):
            done = subprocess.run([*client, *command], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("failed", done.stdout)
        subprocess.run([*client, "nbdcopy", uri, back], timeout=60, check=True)
        with open(data, "rb") as sent, open(back, "rb") as received:
            self.assertEqual(received.read(16 << 20), sent.read())
        flow, = self.a.ctl("flow", "list", "--interval", "50ms")["flows"]
        self.assertGreater(flow["total"]["responses"], 60)  # whatever sizes they choose
        # Their bursts may overrun the devices that stand in for NICs; what passes beyond such a hole is plain bytes.
        counted = flow["total"]["used"]["uplink"] + flow["total"]["used"]["downlink"]
        self.assertGreater(counted, 2 * (16 << 20))
        self.assertEqual(flow["outstanding"], 0)
        self.assertEqual(flow["total"]["failed"], 0)

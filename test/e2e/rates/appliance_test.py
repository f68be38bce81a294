"""appliance_test.py - requests of real kernels to an NBD store in real time: limits, windows, and TCP's own clocks.

Rates are low and bounds wide.
"""

import json

from nbd_store import READ_TOKENS, NbdStore
from processes import run
from wait import until

# Bytes of a read's answer on the link to the client: the data, 16 bytes of reply, and headers for each segment.
SMALL, LARGE = 500 + 16 + 78, 4096 + 16 + 3 * 78
APPLIANCE_TOKENS, DOWNLINK_BYTES = 1200, 9000
LIMITS = {"limit": f"{APPLIANCE_TOKENS}tokens", "downlink": f"{DOWNLINK_BYTES * 8 // 1000}kbit", "burst": "100ms"}
BURST_SECONDS = 0.1
# Of 8 reads that each of two clients has ready, 4 are at the store, which takes 20 ms for each.
WINDOW, DELAY_MS, SHARES = 4, 20, {1: 300, 2: 100}


class ApplianceTest(NbdStore):
    def results(self, *phases):
        """The report on each phase of VM 1's reads, which are sent one after the other."""
        reader = self.reads(1, 1, *phases)
        until(lambda: not reader.alive(), "the reads' end", sum(float(phase.split(":")[1]) for phase in phases))
        return json.loads(reader.output())["reads"]

    def most(self, phase, limit_bytes, each):
        """How many answers of `each` bytes the limit lets come back in the time of a phase that began with an empty
        bucket: one may be in debt, one more asked for before."""
        seconds = phase["times"][-1] - phase["began"]
        return (limit_bytes * (seconds + BURST_SECONDS)) / each + 2

    def test_a_flow_that_goes_from_small_to_large_reads_stays_within_both_its_allocations(self):
        self.start("memory", "64M", clients={1: LIMITS})
        small, large = self.results("500:2", "4096:4")
        small["began"], large["began"] = 0, small["times"][-1]
        self.assertLess(len(small["times"]), self.most(small, APPLIANCE_TOKENS, READ_TOKENS))
        self.assertLess(len(small["times"]), self.most(small, DOWNLINK_BYTES, SMALL))
        self.assertLess(len(large["times"]), self.most(large, DOWNLINK_BYTES, LARGE))
        self.assertGreater(len(large["times"]), 3)
        self.assertGreater(len(small["times"]), 2 * len(large["times"]))

    def test_with_one_bucket_the_same_flow_takes_several_times_its_allocation(self):
        self.start("memory", "64M", clients={1: {**LIMITS, "buckets": "single"}})
        _, large = self.results("500:1", "4096:3")
        self.assertGreater(len(large["times"]) * LARGE, 3 * 3 * DOWNLINK_BYTES)

    def test_a_window_is_what_a_slow_store_answers_in_its_delay_and_shares_divide_it(self):
        self.start("--threads", 16, "--filter", "delay", "memory", "64M", f"rdelay={DELAY_MS}ms",
                   clients={number: {"shares": shares} for number, shares in SHARES.items()},
                   window=f"{READ_TOKENS * WINDOW}tokens", scheduler="rls")
        for number in SHARES:
            self.reads(number, 8)
        until(lambda: all(flow["held"] for flow in self.flows()), "both clients waiting for the window")
        flows = self.flows(interval="4s")
        answered = [flow["responses_per_second"] for flow in flows]
        self.assertLess(sum(answered), 1.1 * WINDOW * 1000 / DELAY_MS)
        self.assertGreater(sum(answered), 0.4 * WINDOW * 1000 / DELAY_MS)
        self.assertAlmostEqual(answered[0] / answered[1], SHARES[1] / SHARES[2], delta=0.8)
        for flow in flows:
            self.assertLess(flow["latency_ns"]["p50"], 4 * DELAY_MS * 1_000_000)

    def test_what_a_limit_admits_in_a_second_is_used(self):
        self.start("memory", "64M", clients={1: {"limit": f"{APPLIANCE_TOKENS}tokens", "downlink": "100Mbit", "burst": "100ms"}})
        self.reads(1, 1)
        until(lambda: self.held_by("appliance"), "a flow held back")
        sample = self.a.ctl("flow", "list", "vm1", "--interval", "3s")
        flow, = sample["flows"]
        used = flow["used_per_second"]["appliance"] * sample["seconds"]
        # The readings' own times are not those of the tallies to the millisecond.
        self.assertLess(used, 1.2 * APPLIANCE_TOKENS * (sample["seconds"] + BURST_SECONDS) + READ_TOKENS)
        self.assertAlmostEqual(flow["requests_per_second"] * sample["seconds"], used / READ_TOKENS, delta=2)
        self.a.ctl("vnic", "set", "vm1", "disk.limit=3ktokens")
        changed, = self.flows("vm1", interval="1s")
        self.assertGreater(changed["used_per_second"]["appliance"], 1.5 * APPLIANCE_TOKENS)

    def tcp_counters(self, inside):
        """TCP counters of that kernel by name, as nstat reads them."""
        counters = {}
        for file in ("snmp", "netstat"):
            lines = run([*inside, "cat", f"/proc/net/{file}"]).stdout.splitlines()
            for names, values in zip(lines[::2], lines[1::2]):
                counters.update(zip(names.split()[1:], values.split()[1:]))
        return {name: int(counters[name]) for name in ("TCPTimeouts", "RetransSegs", "TCPToZeroWindowAdv",
                                                       "TCPFromZeroWindowAdv", "TCPWinProbe") if name in counters}

    def test_clients_whose_requests_would_wait_for_seconds_do_not_time_out(self):
        # 20 requests a second for 40 that are ready: each waits for 2 s, ten times TCP's least retransmission timeout.
        self.start("memory", "64M", clients={1: {"limit": "1600tokens", "burst": "10ms"}})
        self.reads(1, 40)

        def answered():
            return self.flows(interval="50ms")[0]["total"]["responses"]
        # All begin at once: their requests are not known before, and the last of these may time out.
        until(lambda: answered() > 300, "each client's second answer")
        before, count = self.tcp_counters(self.kernels[1]), answered()
        until(lambda: answered() > count + 100, "more answers")
        after = self.tcp_counters(self.kernels[1])
        grown = {name: after[name] - before[name] for name in after}
        self.assertEqual((grown["TCPTimeouts"], grown["RetransSegs"]), (0, 0), grown)

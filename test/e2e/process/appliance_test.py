"""appliance_test.py - requests to a real NBD store: the bucket that holds them back, their outstanding tokens, and that data is whole.

Nothing is timed; e2e/rates/appliance_test.py measures the same set-up.
"""

import random

from hosts import NBD_PORT
from nbd_store import READ_TOKENS, NbdStore
from processes import run
from wait import until

# For one client: 50 reads a second by the first; 84 small reads or 11 large ones by the second.
LIMITS = {"limit": "4ktokens", "downlink": "400kbit", "burst": "100ms"}
SMALL, LARGE = "500:100000", "4096:100000"
WINDOW, SHARES = 4, {1: 300, 2: 100}


class ApplianceTest(NbdStore):
    POLLS = False

    def test_a_flow_that_goes_from_small_to_large_reads_is_held_back_by_one_bucket_and_then_by_the_other(self):
        self.start("memory", "64M", clients={1: LIMITS})
        reader = self.reads(1, 4, SMALL)
        until(lambda: self.held_by("appliance"), "small reads held back by the appliance's bucket alone")
        reader.kill()
        self.reads(1, 4, LARGE)
        until(lambda: self.held_by("downlink"), "large reads held back by the downlink's bucket alone")

    def test_with_one_bucket_large_reads_pay_nothing_for_the_downlink(self):
        self.start("memory", "64M", clients={1: {**LIMITS, "buckets": "single"}})
        self.reads(1, 4, LARGE)
        until(lambda: self.flows()[0]["total"]["responses"] > 50, "large reads")
        until(lambda: self.held_by("appliance"), "large reads held back by the appliance's bucket alone")

    def test_why_and_flow_list_name_the_bucket_that_holds_the_flow_back(self):
        self.start("memory", "64M", clients={1: {"limit": "1200tokens", "downlink": "100Mbit", "burst": "100ms"}})
        self.reads(1, 4, LARGE)
        until(lambda: self.held_by("appliance"), "a flow held back")
        flow, = self.flows("vm1", interval="500ms")
        self.assertEqual((flow["vnic"], flow["appliance"], flow["held_back_by"]), ("vm1", "disk", "appliance"))
        self.assertEqual(flow["limit_per_second"], {"appliance": 1200, "uplink": None, "downlink": 12_500_000, "cycles": None})
        self.assertEqual(flow["blocked_percent"]["downlink"], 0)

        by = until(lambda: self.a.ctl("why", "vm1", "--interval", "200ms")["held_back_by"], "vm1 held back")
        self.assertEqual((by["bucket"], by["appliance"]), ("appliance", "disk"))
        self.assertEqual(self.a.ctl("why", "vm3", "--interval", "100ms")["held_back_by"], None)
        self.assertEqual(self.flows("vm3", interval="50ms"), [])

        self.a.ctl("vnic", "set", "vm1", "disk.limit=3ktokens")
        changed, = self.flows("vm1", interval="50ms")
        self.assertEqual(changed["limit_per_second"]["appliance"], 3000)
        before = changed["total"]["responses"]
        until(lambda: self.flows("vm1", interval="50ms")[0]["total"]["responses"] > before + 10, "responses after the change")
        total = self.flows("vm1", interval="50ms")[0]["total"]
        self.assertLessEqual(total["used"]["appliance"], READ_TOKENS * total["requests"])
        self.assertGreater(total["used"]["appliance"], READ_TOKENS * 10)

    def test_a_window_bounds_outstanding_requests_and_its_shares_divide_a_slow_store(self):
        # Of 8 reads that each of two clients has ready, 4 are at the store, which takes 20 ms for each.
        self.start("--threads", 16, "--filter", "delay", "memory", "64M", "rdelay=20ms",
                   clients={number: {"shares": shares} for number, shares in SHARES.items()},
                   window=f"{READ_TOKENS * WINDOW}tokens", scheduler="rls")
        for number in SHARES:
            self.reads(number, 8)

        def both_wait():
            flows = self.flows()
            return len(flows) == len(SHARES) and all(flow["held"] and flow["held_back_by"] == "window" for flow in flows)
        until(both_wait, "both clients waiting for the window")

        def answered():
            sample = self.a.ctl("flow", "list", "--interval", "50ms")
            self.assertLessEqual(sample["appliances"][0]["outstanding_tokens"], READ_TOKENS * WINDOW)
            return [flow["total"]["responses"] for flow in sample["flows"]]
        before = answered()

        def by_shares():
            first, second = (now - then for now, then in zip(answered(), before))
            return second > 20 and first > 2 * second
        until(by_shares, "the client with three times the shares getting twice the answers")
        self.assertEqual(self.a.ctl("why", "vm2", "--interval", "200ms")["held_back_by"]["bucket"], "window")

    def test_nbdcopy_and_qemu_io_bring_their_data_there_and_back_and_are_counted(self):
        self.start("memory", "64M")
        client = self.kernels[1]
        data, back, uri = self.path("data"), self.path("back"), f"nbd://10.0.0.3:{NBD_PORT}"
        with open(data, "wb") as stream:
            stream.write(random.Random(1).randbytes(16 << 20))
        # One writes 64 requests of 256 KiB at a time, over several connections; the other one after the other.
        run([*client, "nbdcopy", data, uri])
        done = run([*client, "qemu-io", "-f", "raw", "-c", "read 0 1M", "-c", "write -P 7 16M 64k", "-c", "flush", "-c",
                    "read -P 7 16M 64k", uri])
        self.assertNotIn("failed", done.stdout)
        run([*client, "nbdcopy", uri, back])
        with open(data, "rb") as sent, open(back, "rb") as received:
            self.assertEqual(received.read(16 << 20), sent.read())
        flow, = self.flows(interval="50ms")
        self.assertGreater(flow["total"]["responses"], 60)  # independent of the request sizes that they choose
        # Their bursts may overrun the devices that stand in for NICs; bytes beyond such a hole may be counted as plain bytes.
        counted = flow["total"]["used"]["uplink"] + flow["total"]["used"]["downlink"]
        self.assertGreater(counted, 2 * (16 << 20))
        self.assertEqual(flow["outstanding"], 0)
        self.assertEqual(flow["total"]["failed"], 0)

"""calibrate_test.py - weir-calibrate writes tables that the switch accepts, and refuses runs that would not measure the appliance.

The costs that it measures are asserted in e2e/rates.
"""

import json

from calibration import MEMCACHED_PORT, PATIENT, SHORTEST, Calibration
from hosts import NBD_PORT


class CalibrateTest(Calibration):
    POLLS = False

    def test_a_run_that_would_not_measure_the_appliance_is_refused_with_the_reason(self):
        self.start("nbd", NBD_PORT, limit="1Mtokens", burst="100ms")
        words = ("nbd", "10.0.0.3", "--sizes", "4KiB", *SHORTEST, "--noise", "100%")
        status, report = self.calibrate(*words)
        self.assertEqual((status, report["ok"]), (1, False))
        self.assertIn("10.0.0.3:10809", report["faults"][0]["path"])
        self.store()
        status, report = self.calibrate(*words, "--operations", "write")
        self.assertEqual((status, report["faults"][0]["allowed"]), (2, "--overwrite as well"))
        # 1,000,000 bytes a second are 240 requests, and a memory store has thousands.
        status, report = self.calibrate(*words, "--socket", self.a.socket)
        self.assertEqual((status, report["ok"]), (1, False))
        self.assertTrue(any(fault["found"].startswith("held back") for fault in report["faults"]), report["faults"])
        status, report = self.calibrate("redis", "10.0.0.3", "--port", str(NBD_PORT), "--sizes", "4KiB")
        self.assertEqual((status, report["ok"]), (1, False))

    def test_memcached_is_measured_and_left_as_it_was_and_the_report_gives_the_same_table_again(self):
        self.start("memcached", MEMCACHED_PORT)
        self.serve_memcached()
        table, data = self.measured("memcached", "10.0.0.3", "--operations", "read", "--sizes", "64B,16KiB", pace=SHORTEST)
        self.assertEqual(set(table["operations"]), {"read", "otherwise"})
        self.assertGreater(table["operations"]["read"]["key"], 0)
        self.assertIn("vm1 to disk", data["what"])
        self.assertTrue(all(one["counted_by_switch"] for one in data["measurements"]), data["measurements"])
        again = self.path("again.json")
        with open(again, "w") as stream:
            json.dump(data, stream)
        status, report = self.calibrate("--from", again, *PATIENT)
        self.assertEqual((status, report["data"]["table"]), (0, table))
        status, _ = self.calibrate("memcached-binary", "10.0.0.3", "--operations", "read", "--sizes", "1KiB", *SHORTEST, *PATIENT)
        self.assertEqual(status, 0)
        self.assertEqual(self.items(), 0)

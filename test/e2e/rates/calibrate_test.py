"""calibrate_test.py - the costs that weir-calibrate measures of appliances whose costs are known.

nbdkit's filters make the costs: `rate` lets so many bytes pass a second, `delay` so many requests of any
size. Bounds are wide, since the machine is shared: shapes and ratios count.
"""

from calibration import MEMCACHED_PORT, Calibration
from hosts import NBD_PORT

HEADER = 16
ATTEMPTS = 4


class CalibrateTest(Calibration):
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

    def test_a_store_with_both_has_a_minimum_and_then_costs_by_the_byte(self):
        self.start("nbd", NBD_PORT)
        # A short burst (0.1 s): bytes that `rate` saves up while requests are small must not pay for the large ones.
        self.store("rate", "delay", "rate=128M", "burstiness=0.1", "delay-read=5ms")

        def judge(shape, rates, tokens):
            self.between(0.5, rates[1024] / rates[4096], 2)
            self.between(1.2, rates[32768] / rates[65536], 3.3)
            self.assertLess(tokens[4096], 2 * tokens[1024])
            self.between(3, tokens[65536] / tokens[1024], 10)  # 6.6 by the filters
            self.assertIn(shape, ("minimum", "linear", "points"))
        self.settles(judge, "--sizes", "1KiB,4KiB,32KiB,64KiB")

    def test_memcached_costs_more_by_the_byte_and_its_requests_are_counted(self):
        self.start("memcached", MEMCACHED_PORT)
        self.serve_memcached()
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

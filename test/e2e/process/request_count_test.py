"""request_count_test.py - the switch counts requests to a real memcached exactly, though the wires lose and reorder frames.

The same with a million requests: bench/run.sh counts.
"""

from rough_requests import RoughRequests, faults
from two_hosts import TwoHosts

CONNECTIONS, REQUESTS = 12, 15_000


class RequestCountTest(TwoHosts):
    POLLS = False

    def test_requests_are_counted_as_the_server_counts_them_although_frames_are_lost_and_reordered(self):
        rough = RoughRequests(self.site)
        self.a = rough.switch
        result = rough.run(CONNECTIONS, REQUESTS, 1)
        self.assertEqual(faults(result), [], result)
        for wire in result["wires"]:
            for way in wire.values():
                self.assertGreater(way["lost"], 0, wire)
                self.assertGreater(way["late"], 0, wire)

"""flood_rates_test.py - the same floods as in process/flood_test.py in real time: no interval begins late, no allocation is missing.

The switches are of bytes. They answer ZeroMQ's heartbeats within 3 s, for which they need a processor.
"""

import contextlib
import threading

import zmtp
from case import Case
from controller import Controller
from wait import until

INTERVAL = 2_000_000_000        # ns
NAMES = 20_000


class FloodRatesTest(Case):
    def setUp(self):
        super().setUp()
        self.controller = Controller(self.folder, {
            "interval": "2s", "topology": {"hosts": [{"name": name} for name in ("h1", "h2", "h3")]},
            "tenants": [{"name": "A", "vnics": [{"name": "vm1"}, {"name": "vm2"}]}]})
        self.addCleanup(self.controller.stop)
        self.controller.start()
        self.is_over = threading.Event()

    def peer(self, name, *vnics):
        peer = zmtp.Peer(self.path("ctrl.ipc"), name)
        self.addCleanup(peer.close)
        peer.hello(vnics)
        until(lambda: peer.intervals(zmtp.WELCOME), f"{name} welcomed")
        return peer

    def repeat(self, peer, pause, message):
        def send():
            with contextlib.suppress(OSError):
                while not self.is_over.wait(pause):
                    peer.write(message())
        threading.Thread(target=send, daemon=True).start()

    def test_under_both_floods_no_interval_begins_half_an_interval_late_and_no_allocation_is_missing(self):
        quiet, names, demands = self.peer("h1", "vm1"), self.peer("h2"), self.peer("h3")
        large = names.encoded_hello([f"foreign-{number}" for number in range(NAMES)])
        many = b"".join(demands.encoded_demand() for _ in range(200))
        # 2,000 DEMANDs and 2 HELLOs a second, while a switch sends 5 DEMANDs.
        self.repeat(quiet, 0.2, quiet.encoded_demand)
        self.repeat(demands, 0.1, lambda: many)
        self.repeat(names, 0.5, lambda: large)
        until(quiet.intervals, "an allocation")
        first = quiet.intervals()[-1] + 1
        until(lambda: first + 4 in quiet.intervals(), "allocations of five intervals")
        status = self.controller.ctl("status")
        self.is_over.set()
        self.assertEqual([interval for interval in quiet.intervals() if interval >= first][:5], list(range(first, first + 5)))
        self.assertEqual(status["loop"]["missed"], 0)
        self.assertLessEqual(status["loop"]["lag_ns"]["max"], INTERVAL // 2)
        self.assertGreater(status["budgets"]["refused"]["messages"], 0)
        self.assertEqual(status["hosts"][0]["state"], "connected")

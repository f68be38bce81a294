"""flood_test.py - peers of the real controller that send more than the protocol allows: no other host waits for its allocations."""

import zmtp
from case import Case
from stepped import SteppedController
from wait import patience, until

NAMES = 20_000
HELLOS = 20


class FloodTest(Case):
    """Hosts of bytes: `quiet` keeps to the protocol."""

    POLLS = False

    def start_controller(self):
        controller = SteppedController(self.folder, {"interval": "1s", "topology": {"hosts": [{"name": name} for name in ("h1", "h2", "h3")]},
                                                     "tenants": [{"name": "A", "vnics": [{"name": "vm1"}, {"name": "vm2"}]}]})
        self.addCleanup(controller.stop)
        return controller.start()

    def peer(self, name):
        peer = zmtp.Peer(self.path("ctrl.ipc"), name)
        self.addCleanup(peer.close)
        return peer

    def welcomed(self, peer, *vnics):
        peer.hello(vnics)
        until(lambda: peer.intervals(zmtp.WELCOME), f"{peer.host} welcomed")
        peer.demand()
        return peer

    def budgets(self, controller):
        return controller.ctl("status")["budgets"]

    def test_of_20_large_hellos_and_1000_demands_the_budget_is_taken_and_time_goes_on(self):
        controller = self.start_controller()
        quiet = self.welcomed(self.peer("h1"), "vm1")
        names, demands = self.peer("h2"), self.welcomed(self.peer("h3"))
        foreign = [f"foreign-{number}" for number in range(NAMES)]

        def refused():
            return self.budgets(controller)["refused"]

        def answered():
            return len(names.intervals(zmtp.WELCOME)) + refused()["hellos"] + refused()["hello_bytes"]
        # A sanitized controller reads too slowly for the heartbeats of a connection that is full, and ends it.
        is_slow = patience() > 1
        for number in range(1, HELLOS + 1):
            names.hello(foreign)
            if is_slow:
                until(lambda: answered() == number, f"HELLO {number} welcomed or refused")
        for _ in range(1_000):
            demands.demand()
        until(lambda: answered() == HELLOS, "every HELLO welcomed or refused")
        until(lambda: refused()["messages"] == 1_002 - 420 and refused()["hellos"] + refused()["hello_bytes"] > 0, "both refused")
        until(lambda: controller.ctl("status")["counters"]["refused"]["vnics"] % NAMES == 0, "every name of a HELLO refused")
        for interval in range(1, 6):
            controller.step("1s")
            until(lambda: interval in quiet.intervals(), f"the allocations of interval {interval}")
            quiet.demand()
        self.assertEqual(len(controller.host("h2")["refused_vnics"]), 6)
        self.assertLess(len(controller.ctl("audit", "--last", "1000")["entries"]), 100)

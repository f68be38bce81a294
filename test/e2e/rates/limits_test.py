"""limits_test.py - limits, reservations and shares in real time, with real processes, by the switch's own wire counters.

Nothing passes faster than promised in any second; the promise must be reached in one of them, however busy the machine.
"""

from case import Case, mac
from span import Span, reach_rate
from testpmd import Testpmd
from wait import until

MBIT = 1_000_000


class LimitsTest(Case):
    def test_limits_in_bits_and_in_packets_are_reached_and_never_passed(self):
        receiver, *senders = self.vm(2, begin=False), self.sender(1, 2, 64, begin=False), self.sender(3, 2, 1518, begin=False)
        self.start_switch(self.vnic(1, limit="20Mbit"), self.vnic(3, limit="20Mbit"), self.vnic(2))
        self.begin(receiver)
        for number, sender in zip((1, 3), senders):
            self.begin(sender)
            self.wait_more(f"vm{number}", direction="from_vm")
            reach_rate(self.switch, [f"vm{number}"], "bits", 19 * MBIT, 20.2 * MBIT)
            sender.halt()
        self.switch.ctl("vnic", "set", "vm1", "limit=1Gbit", "limit_pps=20kpps")
        senders[0].start()
        self.wait_more("vm1", direction="from_vm")
        reach_rate(self.switch, ["vm1"], "packets", 18_600, 20_200)
        self.assertEqual((self.drops("vm1"), self.drops("vm3")), ({}, {}))
        self.assert_accounts()


class WorkersTest(Case):
    def start_switch(self, *vnics, **keys):
        return super().start_switch(*vnics, workers=[0, 1], poll="adaptive", **keys)

    def test_senders_of_two_workers_fill_the_wire_together_and_no_more(self):
        senders = [self.sender(number, 9, 1518, begin=False) for number in (1, 2)]
        self.start_switch(self.vnic(1, worker=0), self.vnic(2, worker=1),
                          uplink={"device": "net_null0,no-rx=1", "rate": "40Mbit", "headroom": "10%"})
        self.begin(*senders)
        reach_rate(self.switch, ["vm1", "vm2"], "bits", 30 * MBIT, 36.4 * MBIT)
        self.assert_accounts()

    def test_a_limit_holds_across_workers(self):
        guests = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        self.start_switch(self.vnic(1, worker=0, limit_pps="4kpps"), self.vnic(2, worker=1))
        self.begin(*guests)
        self.wait_more("vm1", direction="from_vm")
        reach_rate(self.switch, ["vm1"], "packets", 3_800, 4_040)


class ContentionTest(Case):
    """vm1 and vm2 both send all they can over a 40 Mbit wire; at its far end is a testpmd that takes everything."""

    def setUp(self):
        super().setUp()
        senders = [self.sender(number, 9, 1518, begin=False) for number in (1, 2)]
        self.start_switch(self.vnic(1, shares=300), self.vnic(2, shares=100),
                          uplink={"device": f"net_vhost0,iface={self.path('wire.sock')}", "rate": "40Mbit", "headroom": "10%"})
        wire = Testpmd(self.folder, [{"path": self.path("wire.sock"), "mac": mac(9)}], "rxonly")
        until(lambda: self.switch.ctl("status")["uplink"]["state"] == "up", "the uplink coming up")
        wire.start()
        self.begin(*senders)

    def change(self, *settings):
        """Of vm1; the traffic of before has passed then."""
        self.switch.ctl("vnic", "set", "vm1", *settings)
        self.wait_more("vm1", "vm2", direction="from_vm", packets=100)

    def part(self):
        """vm1's part of the bytes that both send in two seconds."""
        span = Span(self.switch)
        return span.amount("vm1") / (span.amount("vm1") + span.amount("vm2"))

    def test_the_wire_is_filled_and_divided_by_shares_reservation_and_limit(self):
        self.wait_more("vm1", "vm2", direction="from_vm", packets=100)
        reach_rate(self.switch, ["vm1", "vm2"], "bits", 34 * MBIT, 36.4 * MBIT)
        self.assertAlmostEqual(self.part(), 0.75, delta=0.02)
        self.change("shares=1", "reservation=30Mbit")
        self.assertAlmostEqual(self.part(), 0.84, delta=0.04)   # 30 of 36 Mbit are 0.83; of the other 6, vm1 gets 1 of 101
        self.change("reservation=10Mbit", "limit=10Mbit")
        reach_rate(self.switch, ["vm1"], "bits", 9 * MBIT, 10.1 * MBIT)
        reach_rate(self.switch, ["vm2"], "bits", 24 * MBIT, 26.4 * MBIT)
        self.assert_accounts()

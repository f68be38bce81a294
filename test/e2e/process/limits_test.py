"""limits_test.py - limits, reservations and shares with real processes, by the switch's own wire counters.

Nothing passes faster than promised in any second; the promise must be reached in one of them, however busy the machine.
"""

from case import Case, mac, timed
from span import Span
from testpmd import Testpmd
from wait import until

MBIT = 1_000_000


class LimitsTest(Case):
    @timed
    def test_a_limit_in_bits_holds_at_small_and_large_frames_without_a_drop(self):
        receiver, sender = self.vm(2, begin=False), self.sender(1, 2, 64, begin=False)
        self.start_switch(self.vnic(1, limit="20Mbit"), self.vnic(2))
        self.begin(receiver)
        for size in (64, 1518):
            sender, = self.begin(sender if size == 64 else self.sender(1, 2, size, begin=False))
            self.wait_packets("vm2", "to_vm", "delivered", self.packets("vm2", "to_vm", "delivered") + 1000)
            self.assert_rate(["vm1"], "bits", 19 * MBIT, 20.2 * MBIT)
            sender.stop()
        self.assertGreater(self.switch.vnic("vm1")["held_back_ns"]["limit"], 10**9)
        self.assertEqual(self.drops("vm1"), {})
        self.assert_accounts()

    @timed
    def test_a_limit_in_packets_holds_beside_one_in_bits(self):
        guests = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        self.start_switch(self.vnic(1, limit="1Gbit", limit_pps="20kpps"), self.vnic(2))
        self.begin(*guests)
        self.wait_packets("vm1", "from_vm", "delivered", 1000)
        self.assert_rate(["vm1"], "packets", 18_600, 20_200)
        self.assertEqual(self.drops("vm1"), {})


class ContentionTest(Case):
    """vm1 and vm2 both send all they can over a 40 Mbit wire; at its far end is a testpmd that takes everything."""

    def contend(self, scheduler="wrr", **promises):
        senders = [self.sender(number, 9, 1518, begin=False) for number in (1, 2)]
        self.start_switch(*(self.vnic(number, **promises.get(f"vm{number}", {})) for number in (1, 2)),
                          uplink={"device": f"net_vhost0,iface={self.path('wire.sock')}", "rate": "40Mbit",
                                  "headroom": "10%", "scheduler": scheduler})
        Testpmd(self.folder, [{"path": self.path("wire.sock"), "mac": mac(9)}], "rxonly").start()
        until(lambda: self.switch.ctl("status")["uplink"]["state"] == "up", 20, "the uplink coming up")
        for number, sender in enumerate(senders, start=1):   # vm1 alone at first: beside vm2 it may get next to nothing
            self.begin(sender)
            self.wait_packets(f"vm{number}", "from_vm", "delivered", 1000)

    @timed
    def test_the_wire_is_filled_to_its_rate_less_the_headroom_and_no_more(self):
        self.contend()
        self.assert_rate(["vm1", "vm2"], "bits", 34 * MBIT, 36.4 * MBIT)

    @timed
    def test_shares_divide_the_wire(self):
        self.contend(vm1={"shares": 300}, vm2={"shares": 100})
        span = Span(self.switch)
        ratio = span.amount("vm1") / span.amount("vm2")
        self.assertGreater(ratio, 2.7)
        self.assertLess(ratio, 3.3)

    @timed
    def test_a_reservation_comes_before_shares(self):
        self.contend(vm1={"reservation": "30Mbit", "shares": 1}, vm2={"shares": 1000})
        span = Span(self.switch)
        part = span.amount("vm1") / (span.amount("vm1") + span.amount("vm2"))
        self.assertGreater(part, 0.80)              # 30 of 36 Mbit are 0.83; of the other 6, vm1 gets next to nothing
        self.assertLess(part, 0.88)

    def test_a_dynamic_guarantee_given_live_is_kept_by_rls_and_ends_in_fairness(self):
        self.contend("rls", vm1={"shares": 1}, vm2={"shares": 10_000})
        self.switch.ctl("vnic", "set", "vm1", "guarantee=dynamic", "size=12MB", "time=6s")
        guarantee = self.switch.vnic("vm1")["guarantee"]
        self.assertEqual(guarantee["kind"], "dynamic")
        self.assertGreater(guarantee["rate_bps"], 0)
        self.assertLessEqual(guarantee["rate_bps"], 16 * MBIT)    # less when a second has ended since
        guarantee = until(lambda: self.ended("vm1"), 40, "the dynamic guarantee being over")
        self.assertLess(guarantee["dynamic"]["left_bytes"], 6_000_000)    # by its share it would be nearly all
        self.assertEqual(guarantee["rate_bps"], 0)

    def ended(self, name):
        guarantee = self.switch.vnic(name)["guarantee"]
        return guarantee if guarantee["kind"] == "fairness" else None

    @timed
    def test_capacity_that_one_vm_leaves_goes_to_the_other(self):
        self.contend(vm1={"reservation": "10Mbit", "limit": "10Mbit"})
        self.assert_rate(["vm1"], "bits", 9 * MBIT, 10.1 * MBIT)
        self.assert_rate(["vm2"], "bits", 24 * MBIT, 26.4 * MBIT)
        self.assert_accounts()

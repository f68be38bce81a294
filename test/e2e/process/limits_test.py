"""limits_test.py - limits, reservations, shares and guarantees with real processes: which bucket holds a VM back, and which VM gets more.

Nothing is timed: how much passes in a second is asserted in virtual time (test/vswitch/datapath/loop/limits_test.cc), on a stepped
clock, and in real time by e2e/rates.
"""

from case import Case, mac
from testpmd import Testpmd
from wait import until


class LimitsTest(Case):
    def test_a_limit_in_bits_holds_small_and_large_frames_back_without_a_drop(self):
        receiver, *senders = self.vm(2, begin=False), self.sender(1, 2, 64, begin=False), self.sender(3, 2, 1518, begin=False)
        self.start_switch(self.vnic(1, limit="20Mbit"), self.vnic(3, limit="20Mbit"), self.vnic(2))
        self.begin(receiver, *senders)
        for name in ("vm1", "vm3"):
            self.wait_more(name, direction="from_vm")
            self.wait_held_back(name, "limit")
            self.assertEqual(self.drops(name), {})
        self.wait_more("vm2")
        self.assert_accounts()

    def test_a_limit_in_packets_holds_back_beside_one_in_bits(self):
        guests = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        self.start_switch(self.vnic(1, limit="1Gbit", limit_pps="20kpps"), self.vnic(2))
        self.begin(*guests)
        self.wait_more("vm1", direction="from_vm")
        self.wait_held_back("vm1", "limit")
        self.assertEqual(self.drops("vm1"), {})
        self.assert_accounts()


class ContentionTest(Case):
    """vm1 and vm2 both send all they can over a 40 Mbit wire; at its far end is a testpmd that takes everything."""

    def contend(self, scheduler="wrr", **promises):
        senders = [self.sender(number, 9, 1518, begin=False) for number in (1, 2)]
        self.start_switch(*(self.vnic(number, **promises.get(f"vm{number}", {})) for number in (1, 2)),
                          uplink={"device": f"net_vhost0,iface={self.path('wire.sock')}", "rate": "40Mbit",
                                  "headroom": "10%", "scheduler": scheduler})
        wire = Testpmd(self.folder, [{"path": self.path("wire.sock"), "mac": mac(9)}], "rxonly")
        until(lambda: self.switch.ctl("status")["uplink"]["state"] == "up", "the uplink coming up")
        wire.start()
        self.begin(*senders)

    def sent(self, name):
        return self.switch.vnic(name)["from_vm"]["delivered"]["bytes"]

    def wait_ahead(self, ahead, behind):
        """Waits until `ahead` has sent twice as much since now as `behind`, and 1 MB at least."""
        before = self.sent(ahead), self.sent(behind)

        def leads():
            more, less = self.sent(ahead) - before[0], self.sent(behind) - before[1]
            return more > max(2 * less, 1_000_000)
        until(leads, f"{ahead} sending twice as much as {behind}")

    def test_shares_reservation_and_limit_decide_which_vm_gets_more_of_a_wire_and_may_change(self):
        self.contend(vm1={"shares": 300}, vm2={"shares": 100})
        for name in ("vm1", "vm2"):
            self.wait_more(name, direction="from_vm", packets=100)
            self.wait_held_back(name, "uplink")
        self.wait_ahead("vm1", "vm2")
        self.switch.ctl("vnic", "set", "vm2", "shares=900")
        self.wait_ahead("vm2", "vm1")
        # A reservation comes before shares, and the part of the wire that a limit leaves free goes to the other vNIC. A worker that
        # loses its core loses the bytes that the wire could have carried meanwhile: so the reservation is most of the wire, the
        # limit little of it.
        self.switch.ctl("vnic", "set", "vm1", "shares=1", "reservation=30Mbit")
        self.wait_ahead("vm1", "vm2")
        self.switch.ctl("vnic", "set", "vm1", "reservation=1Mbit", "limit=1Mbit", "shares=10000")
        self.wait_ahead("vm2", "vm1")
        self.wait_held_back("vm1", "limit")
        self.assertEqual((self.drops("vm1"), self.drops("vm2")), ({}, {}))
        self.assert_accounts()

    def test_a_dynamic_guarantee_given_live_is_kept_by_rls_and_ends_in_fairness(self):
        self.contend("rls", vm1={"shares": 1}, vm2={"shares": 10_000})
        self.switch.ctl("vnic", "set", "vm1", "guarantee_kind=dynamic", "size=4MB", "time=2s")
        guarantee = self.switch.vnic("vm1")["guarantee"]
        self.assertEqual(guarantee["kind"], "dynamic")
        self.assertGreater(guarantee["rate_bps"], 0)
        before = self.sent("vm2")
        guarantee = until(lambda: self.ended("vm1"), "the dynamic guarantee being over")
        # By its share vm1 sends a ten-thousandth of vm2's bytes. How many bytes both send in 2 s depends on the machine.
        self.assertGreater(4_000_000 - guarantee["dynamic"]["left_bytes"], (self.sent("vm2") - before) / 100)
        self.assertEqual(guarantee["rate_bps"], 0)

    def ended(self, name):
        guarantee = self.switch.vnic(name)["guarantee"]
        return guarantee if guarantee["kind"] == "fairness" else None

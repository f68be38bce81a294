"""runtime_test.py - vNICs are added, changed and removed under traffic, and no other vNIC loses a frame."""

import os

from case import Case, mac
from switch import Refused
from testpmd import Testpmd
from wait import until


class RuntimeTest(Case):
    def setUp(self):
        super().setUp()
        self.receiver, self.source = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        self.start_switch(self.vnic(1), self.vnic(2))
        self.begin(self.receiver)

    def lossless(self, sender):
        """Ends the traffic of vm1 and checks that vm2's VM has every frame that vm1's VM sent."""
        sender.halt()
        sent = sender.sent()
        until(lambda: self.packets("vm1", "from_vm", "delivered") == sent, f"all {sent} frames through")
        until(lambda: self.receiver.received() >= sent, f"all {sent} frames at the VM")
        self.assertEqual(self.receiver.received(), sent)
        self.assertEqual((self.drops("vm1"), self.drops("vm2", "to_vm")), ({}, {}))
        self.assert_accounts()

    def steady(self):
        """vm1 sends to vm2 so slowly that vm2's ring holds 200 ms of it: testpmd may lose its core for that long, and a
        lost frame is the switch's fault."""
        self.switch.ctl("vnic", "set", "vm1", "limit_pps=5kpps")
        return self.begin(self.source)[0]

    def test_adding_and_removing_a_vnic_loses_nothing_of_the_others(self):
        sender = self.steady()
        for number in range(5):
            guest = self.vm(3, begin=False)
            if number % 2:                          # the vNIC finds its guest, the guest its vNIC, in turn
                until(lambda: os.path.exists(self.path("vm3.sock")), "the guest's socket")
            self.switch.ctl("vnic", "add", "name=vm3", f"socket={self.path('vm3.sock')}", f"mac={mac(3)}")
            self.begin(guest)
            self.switch.ctl("vnic", "remove", "vm3")
            guest.kill()
            self.wait_more("vm2")
        self.lossless(sender)

    def test_changing_a_vnic_takes_effect_and_loses_nothing(self):
        sender = self.steady()
        for limit in ("100Mbit", "none", "20Mbit", "none"):
            self.switch.ctl("vnic", "set", "vm1", f"limit={limit}", "shares=200")
            self.wait_more("vm2")
        self.assertEqual(self.switch.vnic("vm1")["shares"], 200)
        self.assertIsNone(self.switch.vnic("vm1")["limit_bps"])
        self.lossless(sender)

    def test_a_removed_vnic_leaves_no_counters_address_or_socket_behind(self):
        self.switch.ctl("vnic", "add", "name=vm3", f"socket={self.path('vm3.sock')}", f"mac={mac(3)}", "mode=server")
        self.switch.ctl("vnic", "remove", "vm3")
        self.assertEqual([vnic["name"] for vnic in self.switch.ctl("vnic", "list")["vnics"]], ["vm1", "vm2"])
        with self.assertRaises(Refused):
            self.switch.vnic("vm3")
        self.switch.ctl("vnic", "add", "name=vm4", f"socket={self.path('vm3.sock')}", f"mac={mac(3)}", "mode=server")
        Testpmd(self.folder, [{"path": self.path("vm3.sock"), "mac": mac(3)}]).start()
        self.switch.wait_up("vm4")

    def test_impossible_commands_are_refused_with_their_place_and_nothing_changes(self):
        before = self.switch.ctl("vnic", "list")["vnics"]
        for words, place in ((("set", "vm1", "mtu=9000"), "mtu"), (("set", "vm1", "limit=fast"), "limit"),
                             (("add", "name=vm2", "socket=/tmp/x.sock", f"mac={mac(9)}"), "name"),
                             (("remove", "vm8"), "")):
            with self.assertRaises(Refused) as refusal:
                self.switch.ctl("vnic", *words)
            self.assertIn(place, str(refusal.exception.faults))
        self.assertEqual([vnic["name"] for vnic in before], [v["name"] for v in self.switch.ctl("vnic", "list")["vnics"]])
        self.lossless(self.steady())

"""workers_test.py - two workers: frames cross between them, every one is accounted for, and each vNIC stands alone.

A pair of VMs plays ball: one testpmd sends frames that one of its ports receives back on the other port, so that a fixed
number of frames goes round in each direction and none is lost to a slow machine.
"""

from case import Case, mac
from testpmd import Testpmd
from wait import until

BURSTS = 8
ENOUGH = 2_000


class WorkersTest(Case):
    def start_switch(self, *vnics, **keys):
        return super().start_switch(*vnics, workers=[0, 1], poll="adaptive", **keys)

    def pair(self, one, other):
        """A testpmd that plays these two VMs, for begin(), with BURSTS * 32 frames under way in either direction then."""
        ports = [{"path": self.path(f"vm{number}.sock"), "mac": mac(number), "server": 1} for number in (one, other)]
        peers = [f"--eth-peer=0,{mac(other)}", f"--eth-peer=1,{mac(one)}"]
        guest = Testpmd(self.folder, ports, "mac", options=peers)
        guest.vnics = [f"vm{one}", f"vm{other}"]
        return guest

    def crossed(self):
        """Frames handed over so far, by worker."""
        return [worker["handoff"]["posted"] for worker in self.switch.ctl("status")["workers"]]

    def assert_passed_on(self, sender, receiver):
        """`receiver` was offered as many frames as `sender` delivered, once none is on its way any more."""
        def settled():
            sent, got = self.switch.vnic(sender)["from_vm"], self.switch.vnic(receiver)["to_vm"]
            return not sent["queued"]["packets"] and sent["delivered"]["packets"] == got["offered"]["packets"]
        until(settled, f"all frames of {sender} at {receiver}")

    def assert_none_lost(self, guest):
        """The guest, a pair() of VM 1 and VM 2, still plays: each frame arrives."""
        self.assert_accounts()
        guest.halt()
        self.assert_passed_on("vm1", "vm2")
        self.assert_passed_on("vm2", "vm1")
        for name in ("vm1", "vm2"):
            self.assertEqual((self.drops(name), self.drops(name, "to_vm")), ({}, {}))
        self.assert_accounts()

    def test_frames_cross_workers_in_both_directions_and_none_is_lost(self):
        guest = self.pair(1, 2)
        self.start_switch(self.vnic(1, worker=0), self.vnic(2, worker=1))
        self.begin(guest, bursts=BURSTS)
        self.wait_more("vm1", "vm2", packets=ENOUGH)
        for posted in self.crossed():
            self.assertGreater(posted, ENOUGH)
        self.assert_none_lost(guest)

    def test_vnics_change_workers_while_frames_cross_and_none_is_lost(self):
        guest = self.pair(1, 2)
        self.start_switch(self.vnic(1, worker=0), self.vnic(2, worker=1))
        self.begin(guest, bursts=BURSTS)
        for move in range(8):
            name, worker = ("vm1", "vm2")[move % 2], (1, 0, 0, 1)[move % 4]
            self.wait_more("vm1", "vm2", packets=ENOUGH)
            self.switch.ctl("vnic", "set", name, f"worker={worker}")
            self.assertEqual(self.switch.vnic(name)["worker"], worker)
        self.switch.ctl("vnic", "set", "vm1", "worker=auto")
        self.wait_more("vm1", "vm2", packets=ENOUGH)
        self.assert_none_lost(guest)
        self.assertRaisesRegex(Exception, 'worker.*2.*0 to 1', self.switch.ctl, "vnic", "set", "vm1", "worker=2")

    def test_balance_moves_no_vnic_while_workers_have_cycles_and_a_command_does(self):
        guest = self.pair(1, 3)
        self.start_switch(*map(self.vnic, (1, 2, 3, 4)), balance=True)
        self.begin(guest, bursts=BURSTS)
        self.wait_more("vm1", "vm3", packets=ENOUGH)
        self.assertEqual([self.switch.vnic(f"vm{number}")["worker"] for number in (1, 2, 3, 4)], [0, 1, 0, 1])
        self.switch.ctl("vnic", "set", "vm3", "worker=1")
        moved = [event for event in self.switch.ctl("events")["events"] if event["event"] == "moved"]
        self.assertEqual([(event["vnic"], event["detail"].split(";")[0]) for event in moved], [("vm3", "worker 0 to 1")])

    def test_a_limit_holds_across_workers_and_a_removed_vnic_leaves_the_others_going(self):
        guest, other = self.pair(1, 2), self.pair(3, 4)
        self.start_switch(self.vnic(1, worker=0, limit_pps="4kpps"), self.vnic(2, worker=1), self.vnic(3, worker=1),
                          self.vnic(4, worker=0))
        self.begin(guest, other, bursts=BURSTS)
        self.wait_more("vm1", "vm2", "vm3", "vm4", packets=ENOUGH)
        self.wait_held_back("vm1", "limit")
        self.switch.ctl("vnic", "remove", "vm3")
        self.wait_more("vm1", "vm2", packets=ENOUGH)
        self.assert_accounts()
        self.switch.ctl("vnic", "remove", "vm4")
        self.wait_more("vm1", "vm2", packets=ENOUGH)
        guest.halt()
        self.assert_passed_on("vm1", "vm2")
        self.assertEqual((self.drops("vm1"), self.drops("vm2", "to_vm")), ({}, {}))
        self.assert_accounts()

    def test_senders_of_two_workers_share_the_wire_and_wait_for_it(self):
        senders = [self.sender(number, 9, 1518, begin=False) for number in (1, 2)]
        self.start_switch(self.vnic(1, worker=0), self.vnic(2, worker=1),
                          uplink={"device": "net_null0,no-rx=1", "rate": "40Mbit", "headroom": "10%"})
        self.begin(*senders)
        self.wait_more("vm1", "vm2", direction="from_vm")
        for name in ("vm1", "vm2"):
            self.wait_held_back(name, "uplink")
            self.assertEqual(self.drops(name), {})
        self.assert_accounts()

"""vhost_test.py - vhost-user ports with testpmd as VMs: which side listens, ring layouts, coming and going, a stuck VM."""

import itertools
import struct

from case import Case
from front_end import GET_QUEUE_NUM, SET_VRING_NUM, FrontEnd
from wait import until

LAYOUTS = {
    "split": {},
    "packed": {"packed_vq": 1},
    "split, not mergeable": {"mrg_rxbuf": 0},
    "packed, in order, not mergeable": {"packed_vq": 1, "in_order": 1, "mrg_rxbuf": 0},
}
ENOUGH = 20_000


class VhostTest(Case):
    def pass_traffic(self, sender, receiver, name="vm2"):
        """Frames go from one VM to the other and arrive there."""
        self.wait_more(name, packets=ENOUGH)
        sender.halt()
        until(lambda: receiver.received() >= ENOUGH, "the receiving VM counting them")
        self.assert_accounts()

    def test_two_vms_that_own_their_sockets_exchange_frames(self):
        guests = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        self.start_switch(self.vnic(1), self.vnic(2))
        receiver, sender = self.begin(*guests)
        self.pass_traffic(sender, receiver)
        self.assertEqual(self.drops("vm1"), {})

    def test_two_vms_on_sockets_of_the_switch_exchange_frames(self):
        self.start_switch(self.vnic(1, mode="server"), self.vnic(2, mode="server"))
        receiver, sender = self.begin(self.vm(2, server=False, begin=False), self.sender(1, 2, server=False, begin=False))
        self.pass_traffic(sender, receiver)

    def test_every_ring_layout_carries_short_frames_and_long_ones_in_one_copy(self):
        self.start_switch(self.vnic(1), self.vnic(2))
        for (title, layout), size in itertools.product(LAYOUTS.items(), (64, 1500)):
            with self.subTest(f"{title}, {size} bytes"):
                straight = self.straight()
                receiver, sender = self.begin(self.vm(2, begin=False, **layout), self.sender(1, 2, size, begin=False, **layout))
                self.pass_traffic(sender, receiver)
                self.assertEqual(self.straight() > straight, size == 1500)
                features = self.switch.vnic("vm1")["features"]
                self.assertEqual("packed" in features, "packed_vq" in layout, features)
                self.assertEqual("mergeable" in features, "mrg_rxbuf" not in layout, features)
                sender.stop()
                receiver.stop()

    def straight(self):
        """Frames to VM 2 that were copied once."""
        return self.switch.vnic("vm2")["to_vm"]["straight_packets"]

    def test_two_queue_pairs_are_negotiated_and_used(self):
        guests = self.vm(2, queues=2, begin=False), self.sender(1, 2, queues=2, begin=False)
        self.start_switch(self.vnic(1, queues=2), self.vnic(2, queues=2))
        receiver, sender = self.begin(*guests)
        self.pass_traffic(sender, receiver)
        self.assertIn("multiqueue", self.switch.vnic("vm1")["features"])

    def test_a_front_end_that_uses_more_queue_pairs_than_the_vnic_has_is_refused_and_named(self):
        self.start_switch(self.vnic(1, mode="server"), self.vnic(2, mode="server", queues=2))
        with FrontEnd(self.path("vm1.sock")) as one, FrontEnd(self.path("vm2.sock")) as two:
            self.assertEqual((one.ask(GET_QUEUE_NUM), two.ask(GET_QUEUE_NUM)), (1, 2))
        for _ in range(3):      # as a front-end that comes back after each disconnect
            with FrontEnd(self.path("vm1.sock")) as front_end:
                front_end.send(SET_VRING_NUM, struct.pack("<II", 2, 256))
                self.assertIsNone(front_end.ask(GET_QUEUE_NUM))
        fault = "disconnected the front-end: ring 2; allowed: 0 to 1, as `queues` of the vNIC is 1"

        def lines():
            with open(self.switch.log, errors="replace") as log:
                return [line for line in log if fault in line]
        until(lambda: self.switch.vnic("vm1")["front_end_fault"].startswith(fault), "the fault in the vNIC's report")
        until(lambda: "vNIC vm1" in "".join(lines()), "a line in the log")
        self.assertIsNone(self.switch.vnic("vm2")["front_end_fault"])
        self.vm(1, server=False)
        until(lambda: self.switch.vnic("vm1")["front_end_fault"] is None, "the fault forgotten, as a front-end is served")
        self.assertEqual(len(lines()), 1)

    def test_two_vnics_of_one_vm_forward_between_two_others(self):
        guests = (self.vm(4, begin=False), self.vm(2, 3, forward="mac", peer=4, begin=False),
                  self.sender(1, 2, begin=False))
        self.start_switch(*(self.vnic(number, anti_spoofing=number < 3) for number in (1, 2, 3, 4)))
        receiver, _, sender = self.begin(*guests)
        self.pass_traffic(sender, receiver, "vm4")

    def test_a_killed_vm_goes_down_and_comes_back_while_others_go_on(self):
        guests = self.vm(2, begin=False), self.vm(3, begin=False), self.sender(1, 2, begin=False)
        self.start_switch(*map(self.vnic, (1, 2, 3)))
        _, victim, _ = self.begin(*guests)
        for _ in range(2):
            victim.kill()
            until(lambda: self.switch.vnic("vm3")["state"] == "down", "vm3 down")
            self.wait_more("vm2", packets=ENOUGH)
            victim = self.vm(3)
        self.assert_accounts()

    def test_vms_reconnect_to_a_switch_that_was_killed_and_forward_again(self):
        guests = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        switch = self.start_switch(self.vnic(1), self.vnic(2))
        receiver, _ = self.begin(*guests)
        self.wait_packets("vm2", "to_vm", "delivered", ENOUGH)
        switch.kill()
        before = receiver.received()
        switch.start().wait_up("vm1", "vm2")
        until(lambda: receiver.received() >= before + ENOUGH, "frames after the restart")
        self.assert_accounts()

    def test_a_vm_that_does_not_drain_its_ring_hurts_no_other(self):
        stuck, *guests = (self.vm(2, begin=False), self.vm(4, begin=False), self.sender(1, 2, begin=False),
                          self.sender(3, 4, begin=False))
        self.start_switch(*map(self.vnic, (1, 2, 3, 4)))
        self.begin(stuck)[0].halt()
        receiver, _, sender = self.begin(*guests)
        until(lambda: self.drops("vm2", "to_vm").get("vm_ring_full", 0) >= ENOUGH, "vm2's ring full")
        self.pass_traffic(sender, receiver, "vm4")
        self.assertEqual(self.drops("vm4", "to_vm").get("vm_down", 0), 0)

"""spread_test.py - one vNIC on two workers: each polls its queue pairs of a real guest, limits hold for both together.

A testpmd with two queue pairs plays two VMs, as in workers_test.py: frames of pair 0 are sent on by worker 0, those of
pair 1 by worker 1, and none crosses.
"""

import json

from case import Case, mac
from testpmd import Testpmd
from wait import until

BURSTS = 4
ENOUGH = 2_000


class SpreadTest(Case):
    def start_switch(self, *vnics, **keys):
        return super().start_switch(*vnics, workers=[0, 1], poll="adaptive", **keys)

    def spread(self, number, **keys):
        return self.vnic(number, queues=2, spread=True, **keys)

    def pair(self, one, other, queues=2):
        ports = [{"path": self.path(f"vm{number}.sock"), "mac": mac(number), "server": 1, "queues": queues}
                 for number in (one, other)]
        peers = [f"--eth-peer=0,{mac(other)}", f"--eth-peer=1,{mac(one)}"]
        guest = Testpmd(self.folder, ports, "mac", options=peers, queues=queues)
        guest.vnics = [f"vm{one}", f"vm{other}"]
        return guest

    def workers(self):
        return self.switch.ctl("status")["workers"]

    def wait_workers(self, packets=ENOUGH):
        """Each worker polls so many more packets."""
        before = [worker["packets"] for worker in self.workers()]
        until(lambda: all(worker["packets"] >= count + packets for worker, count in zip(self.workers(), before)),
              f"{packets} packets of each worker")

    def assert_all_arrived(self, sender, receiver):
        def settled():
            sent, got = self.switch.vnic(sender)["from_vm"], self.switch.vnic(receiver)["to_vm"]
            return not sent["queued"]["packets"] and sent["delivered"]["packets"] == got["offered"]["packets"]
        until(settled, f"all frames of {sender} at {receiver}")
        self.assertEqual((self.drops(sender), self.drops(receiver, "to_vm")), ({}, {}))

    def test_each_worker_polls_its_pairs_and_no_frame_crosses_or_is_lost(self):
        guest = self.pair(1, 2)
        self.start_switch(self.spread(1), self.spread(2, worker=1))
        self.begin(guest, bursts=BURSTS)
        self.wait_workers()
        self.assertEqual([self.switch.vnic(name)["workers"] for name in ("vm1", "vm2")], [[0, 1], [1, 0]])
        self.assertEqual([worker["vnics"] for worker in self.workers()], [2, 2])
        self.assertRaisesRegex(Exception, "vm1 is spread over workers and does not move", self.switch.ctl, "vnic", "set",
                               "vm1", "worker=1")
        self.wait_more("vm1", "vm2", packets=ENOUGH)
        guest.halt()
        self.assert_all_arrived("vm1", "vm2")
        self.assert_all_arrived("vm2", "vm1")
        self.assert_accounts()

    def test_a_limit_holds_for_both_and_changes_and_a_vnic_is_added_again(self):
        guest = self.pair(1, 2)
        config = self.spread(1, limit_pps="4kpps")
        self.start_switch(config, self.spread(2))
        self.begin(guest, bursts=BURSTS)
        self.wait_more("vm1", "vm2", packets=ENOUGH)
        self.wait_held_back("vm1", "limit")
        self.switch.ctl("vnic", "set", "vm1", "limit_pps=null", "limit=10Gbit")
        self.wait_workers()
        self.switch.ctl("vnic", "remove", "vm1")
        self.switch.ctl("vnic", "add", json.dumps(config))
        self.switch.wait_up("vm1", "vm2")
        self.assert_accounts()

    def test_a_guest_with_one_pair_is_served_by_the_home_and_frames_of_others_find_it(self):
        self.start_switch(self.spread(1, worker=1), self.vnic(2, worker=0))
        guests = self.vm(1, begin=False), self.sender(2, 1, begin=False)
        self.begin(*guests)
        self.wait_more("vm1", packets=ENOUGH)
        self.assertGreater(self.workers()[0]["handoff"]["posted"], ENOUGH)
        self.assert_accounts()

    def test_a_switch_with_one_worker_or_a_vnic_with_one_pair_refuses_it(self):
        self.start_switch(self.vnic(1))
        for keys, allowed in (({"queues": 1}, "queues"), ({"device": "net_null0", "queues": 1}, "socket")):
            vnic = {**self.vnic(2, spread=True), **keys}
            if "device" in keys:
                vnic.pop("socket")
            self.assertRaisesRegex(Exception, f"spread.*{allowed}", self.switch.ctl, "vnic", "add", json.dumps(vnic))

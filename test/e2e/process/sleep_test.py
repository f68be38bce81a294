"""sleep_test.py - workers with `poll: adaptive` sleep while no frame comes, and each frame that comes then is delivered."""

import os

from case import Case
from switch import Switch
from wait import until

BURST = 32
SILENCES = 5


class SleepTest(Case):
    def start_switch(self, *vnics, **keys):
        return super().start_switch(*vnics, workers=[0, 1], poll="adaptive", **keys)

    def sleeps(self):
        """Of each worker, so far. To ask wakes it, and it sleeps again."""
        return [worker["sleeps"] for switch in (self.switch, self.far) if switch for worker in switch.ctl("status")["workers"]]

    def wait_asleep(self):
        before = self.sleeps()
        until(lambda: all(now > earlier for earlier, now in zip(before, self.sleeps())), "all workers asleep again")

    def setUp(self):
        super().setUp()
        self.far = None

    def start_far_switch(self):
        """Another switch, whose vNIC `wire` is this one's uplink, a virtio-user device; and VM 1 is there."""
        folder = self.path("far")
        os.mkdir(folder)
        wire = {"name": "wire", "socket": self.path("wire.sock"), "mode": "server", "mac": "02:00:00:00:77:00", "anti_spoofing": False}
        self.far = Switch(folder, {"host": "far", "workers": [1], "poll": "adaptive", "vnics": [self.vnic(1), wire]}).start()
        self.addCleanup(self.far.stop)

    def assert_burst_after_each_silence(self, **ring):
        self.vm(2, **ring)
        sender = self.vm(1, peer=2, begin=False, **ring).ready()
        (self.far or self.switch).wait_up("vm1")
        for silence in range(1, SILENCES + 1):
            self.wait_asleep()
            sender.start(bursts=1)
            self.wait_packets("vm2", "to_vm", "delivered", BURST * silence)
            sender.halt()
        self.assertEqual(self.drops("vm2", "to_vm"), {})
        self.assert_accounts()

    def test_a_guests_kick_wakes_its_worker_and_the_frames_that_of_the_receiver(self):
        self.start_switch(self.vnic(1, worker=0), self.vnic(2, worker=1))
        self.assert_burst_after_each_silence()

    def test_packed_rings_kick_likewise(self):
        self.start_switch(self.vnic(1, worker=0, packed=True), self.vnic(2, worker=1, packed=True))
        self.assert_burst_after_each_silence(packed_vq=1)

    def test_an_interrupt_of_the_uplink_wakes_the_worker(self):
        self.start_far_switch()
        super().start_switch(self.vnic(2), workers=[0], poll="adaptive",
                             uplink={"device": f"net_virtio_user0,path={self.path('wire.sock')}", "rate": "10Gbit"})
        self.far.wait_up("wire")
        self.assert_burst_after_each_silence()

    def test_commands_and_guests_that_come_and_go_are_noticed_in_its_sleep(self):
        self.start_switch(self.vnic(1, worker=0), self.vnic(2, worker=1))
        self.wait_asleep()
        self.switch.ctl("vnic", "set", "vm1", "limit=1Gbit")
        for _ in range(2):
            guest = self.vm(1)
            self.wait_asleep()
            guest.kill()
            until(lambda: self.switch.vnic("vm1")["state"] == "down", "vm1 down")

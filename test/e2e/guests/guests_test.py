"""guests_test.py - real QEMU guests through the switch: traffic, limits, and restarts of either side."""

import os
import shutil
import tempfile

from case import mac
from guest import Guest, Nic
from guests_case import GuestsCase, address
from span import Span, reach_rate
from switch import other_cores
from traffic import Flood, serve, wait_reachable
from wait import until

MBIT = 1_000_000
BYTES = 4 << 20


class TwoGuestsTest(GuestsCase):
    def test_two_guests_ping_and_exchange_tcp_and_udp(self):
        self.start_switch(self.vnic(1), self.vnic(2))
        one, two = self.guests(1, 2)
        wait_reachable(one, address(2))
        self.assertIn(" 0% packet loss", one.run(f"ping -q -c 20 -i 0.05 {address(2)}"))
        self.assertIn(" 0% packet loss", one.run(f"ping -q -c 3 -s 8000 {address(2)}"))
        link_local = two.run("ip -6 addr show dev eth0 | grep -o 'fe80[^/]*'").strip()
        until(lambda: "0% packet loss" in one.run(f"ping -q -c 1 -W 1 -I eth0 {link_local}", check=False), "IPv6")
        serve(two)
        self.transfer(one, 2, BYTES)
        self.transfer(one, 2, BYTES, "-R")
        udp = self.iperf(one, 2, "-u -b 5M -t 3")["sum"]
        self.assertLess(udp["lost_percent"], 1.0)
        self.assert_accounts()

    def test_guests_without_offloads_with_packed_rings_and_with_queues_exchange_tcp(self):
        self.start_switch(self.vnic(1, queues=2), self.vnic(2), self.vnic(3, mode="server"))
        one, = self.guests(1, queues=2, cpus=2)
        two, = self.guests(2, packed=True)
        three, = self.guests(3, offloads=False, mergeable=False, listens=False)
        serve(three)
        for guest in (one, two):
            wait_reachable(guest, address(3))
            self.transfer(guest, 3, BYTES)
            self.transfer(guest, 3, BYTES, "-R")
        self.assertIn("multiqueue", self.switch.vnic("vm1")["features"])
        self.assertIn("packed", self.switch.vnic("vm2")["features"])
        self.assertNotIn("checksum", self.switch.vnic("vm3")["features"])
        self.assert_accounts()

    def test_a_guest_whose_queues_two_workers_poll_exchanges_tcp_in_many_flows(self):
        self.start_switch(self.vnic(1, queues=2, spread=True), self.vnic(2), workers=[0, 1], poll="adaptive")
        one, = self.guests(1, queues=2, cpus=2)
        two, = self.guests(2)
        wait_reachable(one, address(2))
        serve(two)
        for options in ("-P 4", "-P 4 -R"):
            self.transfer(one, 2, BYTES, options)
        self.assertEqual(self.switch.vnic("vm1")["workers"], [0, 1])
        for worker in self.switch.ctl("status")["workers"]:
            self.assertGreater(worker["packets"], 100)
        self.assert_accounts()

    def test_one_tcp_flow_reaches_its_limit_and_never_passes_it(self):
        self.start_switch(self.vnic(1, limit="100Mbit"), self.vnic(2))
        one, two = self.guests(1, 2)
        wait_reachable(one, address(2))
        serve(two)
        self.begin(one, 2)
        self.wait_packets("vm1", "from_vm", "delivered", 2000)
        reach_rate(self.switch, ["vm1"], "bits", 95 * MBIT, 101 * MBIT)
        for _ in range(5):
            low, _ = Span(self.switch, 1.0).rate("vm1")
            self.assertLess(8 * low, 101 * MBIT)
        self.assert_accounts()

    def test_a_guest_that_is_killed_or_reboots_under_traffic_comes_back(self):
        self.start_switch(self.vnic(1), self.vnic(2))
        one, two = self.guests(1, 2)
        wait_reachable(one, address(2))
        one.start(f"exec ping -i 0.02 {address(2)} >/dev/null")
        for fall in (two.reboot, lambda: (two.kill(), two.boot())):
            fall()
            wait_reachable(one, address(2))
            self.wait_more("vm2", packets=50)
        self.assert_accounts()

    def test_a_tcp_flow_outlives_a_switch_that_is_killed_or_restarted_under_it(self):
        self.outlive_restarts(packed=False)

    def test_a_tcp_flow_over_packed_rings_outlives_a_switch_that_is_killed_or_restarted_under_it(self):
        self.outlive_restarts(packed=True)
        for name in ("vm1", "vm2"):
            self.assertIn("packed", self.switch.vnic(name)["features"])

    def outlive_restarts(self, packed):
        kept = tempfile.mkdtemp(prefix="weir-test-", dir="/dev/shm")    # places of packed rings are kept beside the command socket
        self.addCleanup(shutil.rmtree, kept)
        switch = self.start_switch(self.vnic(1), self.vnic(2), control_socket=os.path.join(kept, "switch.sock"))
        one, two = self.guests(1, 2, packed=packed)
        wait_reachable(one, address(2))
        serve(two)
        flow = self.begin(one, 2)
        for fall in (switch.kill, lambda: self.assertEqual(switch.stop(), 0)):
            self.wait_more("vm2")
            fall()
            switch.start().wait_up("vm1", "vm2")
            self.wait_more("vm2")
            wait_reachable(two, address(1))
        self.assertTrue(flow.answer.empty(), "the flow has ended")
        self.assert_accounts()


class ThreeGuestsTest(GuestsCase):
    def test_two_tcp_senders_get_their_promises_of_a_wire_to_a_third_guest(self):
        self.start_switch(self.vnic(1, reservation="60Mbit", shares=1), self.vnic(2, shares=100),
                          uplink={"device": f"net_vhost0,iface={self.path('vm9.sock')},client=1", "rate": "100Mbit"})
        nine = Guest("vm9", self.folder, [Nic(mac(9), f"{address(9)}/24", socket=self.path("vm9.sock"), offloads=False)],
                     other_cores()).boot(wait=False)
        one, two = self.guests(1, 2)
        nine.wait_ready()
        for guest in (one, two):
            wait_reachable(guest, address(9))
        for port in (5201, 5202):
            serve(nine, f"-p {port}")
        self.begin(one, 9, "-p 5201")
        self.begin(two, 9, "-p 5202 -P 4")
        for name in ("vm1", "vm2"):
            self.wait_packets(name, "from_vm", "delivered", 2000)
        reach_rate(self.switch, ["vm1"], "bits", 55 * MBIT, 91 * MBIT)
        reach_rate(self.switch, ["vm1", "vm2"], "bits", 80 * MBIT, 91 * MBIT)
        self.assert_accounts()

    def test_two_guests_go_on_while_a_third_that_is_flooded_dies_and_comes_back(self):
        self.start_switch(*map(self.vnic, (1, 2, 3)))
        one, two, three = self.guests(1, 2, 3)
        for number in (2, 3):
            wait_reachable(one, address(number))
        early = self.drops("vm2", "to_vm").get("vm_down", 0)   # from a guest that was up before vm2 was
        serve(two)
        flow = self.begin(one, 2)
        Flood(two, three, address(3), mac(3))
        for fall, back in ((three.kill, three.boot), (lambda: None, three.reboot)):
            self.wait_more("vm3")
            fall()
            self.wait_more("vm2")
            back()
            self.wait_more("vm2")
        self.wait_more("vm3")
        self.assertTrue(flow.answer.empty(), "the flow has ended")
        self.assertGreater(self.drops("vm3", "to_vm")["vm_down"], 0)
        self.assertEqual(self.drops("vm2", "to_vm").get("vm_down", 0), early)
        self.assert_accounts()

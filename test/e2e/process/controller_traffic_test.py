"""controller_traffic_test.py - traffic under a real controller: its bill, two tenants' parts of an appliance, and of a link.

Rates are asserted in virtual time (test/ctrl/daemon/interval_solver_test.cc, link_test.cc) and by
e2e/rates/datacenter_test.py.
"""

import json
import random

from controller import Controller
from controller_case import APPLIANCE, COST, ControllerCase, limit, tenant
from hosts import NBD_PORT
from switch import Refused
from two_hosts import TwoHosts
from wait import until

CONNECTIONS = 16  # enough to want all of the appliance, however slow the machine


class BilledTrafficTest(ControllerCase):
    def test_every_byte_is_billed_once_though_the_controller_is_killed_meanwhile(self):
        guests = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        controller = self.control("h1", prices={"p0": 1, "link": "1Gbit", "period": "1s"})
        self.switch = self.join("h1", 1, 2)
        self.wait_link(self.switch, "connected")
        self.switch.ctl("vnic", "set", "vm1", "limit_pps=5kpps")
        _, sender = self.begin(*guests)
        until(lambda: controller.ctl("bill")["lines"] >= 2, "the first periods on the bill")
        controller.kill()
        self.wait_more("vm1", packets=7500, direction="from_vm")    # at 5 kpps: a period of 1 s and some
        controller.start()
        until(lambda: controller.ctl("bill")["lines"] >= 5, "the bytes sent meanwhile on the bill")
        sender.halt()

        def settled():
            sent = self.switch.vnic("vm1")["from_vm"]["delivered"]["bytes"]
            row, = controller.ctl("bill", "--tenant", "A", "--verify")["rows"]
            return sent == row["delivered_bytes"]
        until(settled, "every byte on the bill")
        bill = controller.ctl("bill", "--verify", "--from", "2026-01-01")
        self.assertIsNone(bill["first_altered"])
        self.assertEqual([(row["vnic"], row["guarantee_kind"]) for row in bill["rows"]], [("vm1", "fairness")])
        self.assertGreater(bill["charge"], 0)
        with self.assertRaises(Refused):
            controller.ctl("bill", "--from", "2026-01-02", "--to", "2026-01-01")
        controller.kill()
        ends = [ended // 1_000_000_000 for ended, in controller.billed("SELECT ended FROM bill ORDER BY number")]
        self.assertEqual(len(ends), len(set(ends)))


class TenantLifeTest(ControllerCase):
    """docs/operations.md, "The life of a tenant"."""

    def test_a_tenant_comes_changes_and_goes_while_its_vms_send_and_its_last_bytes_are_billed(self):
        guests = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        controller = self.control("h1", "h2", tenants=[tenant("B", "vm2")],
                                  prices={"p0": 1, "link": "1Gbit", "period": "1s"})
        self.switch, second = self.join("h1", 1, 2), self.join("h2", 4)
        until(lambda: self.switch.vnic("vm1")["refusal"] == "it is not in the cluster file", "vm1 unknown")
        added = controller.ctl("tenant", "add", "name=C", "disk.reservation=200tokens", "--vnic", "vm1", "--vnic", "vm4",
                               "--wait", "20s")
        self.assertEqual((added["revision"], added["pending"]), (2, []))
        self.wait_limit(self.switch, "vm1", 100)
        self.wait_limit(second, "vm4", 100)
        self.assertIsNone(self.switch.vnic("vm1")["refusal"])
        self.switch.ctl("vnic", "set", "vm1", "limit_pps=5kpps")
        _, sender = self.begin(*guests)
        self.wait_more("vm1", packets=7500, direction="from_vm")
        changed = controller.ctl("tenant", "set", "C", "disk.reservation=300tokens", "--yes", "--wait", "20s")
        self.assertEqual(changed["smaller"], [])
        self.wait_limit(self.switch, "vm1", 150)
        self.wait_limit(second, "vm4", 150)
        self.wait_limit(self.switch, "vm2", 400)
        sender.halt()
        # Frames that its ring still has after the removal would be served as those of an unknown vNIC, on no bill.
        until(lambda: self.packets("vm1", "from_vm", "offered") == sender.sent() and
              self.packets("vm1", "from_vm", "queued") == 0, "the last frames of vm1's ring are delivered")
        removed = controller.ctl("tenant", "remove", "C", "--yes", "--wait", "20s")
        self.assertEqual({(each["vnic"], each["host"]) for each in removed["held"]}, {("vm1", "h1"), ("vm4", "h2")})
        self.assertEqual(self.switch.vnic("vm1")["refusal"], "it is not in the cluster file")

        def settled():
            sent = self.switch.vnic("vm1")["from_vm"]["delivered"]["bytes"]
            row, = controller.ctl("bill", "--tenant", "C", "--verify")["rows"]
            return sent == row["delivered_bytes"]
        until(settled, "every byte on the tenant's bill")
        self.assertEqual([each["author"].split()[0] for each in controller.ctl("history")["revisions"]],
                         ["weir-ctrl", "uid", "uid", "uid"])


class RefusedTrafficTest(ControllerCase):
    POLLS = False

    def test_frames_of_a_refused_vnic_wait_until_the_controller_has_a_place_for_it(self):
        guests = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        elsewhere = {**tenant("A", "vm1"), "vnics": [{"name": "vm1", "host": "h2"}]}
        controller = self.control("h1", "h2", tenants=[elsewhere, tenant("B", "vm2", reservation=200)])
        self.switch = self.join("h1", 1, 2)
        until(lambda: self.switch.vnic("vm1")["refusal"] == "its host is h2", "vm1 refused")
        _, sender = self.begin(*guests)
        self.wait_held_back("vm1", "refused", 100_000_000)
        self.assertEqual(self.packets("vm1", "from_vm", "offered"), 0)
        self.assertIsNone(self.switch.vnic("vm2")["refusal"])
        self.assertEqual(self.link(self.switch)["refused_vnics"],
                         [{"name": "vm1", "why": "its host is h2", "service": "hold"}])
        why = self.switch.ctl("why", "vm1", "--interval", "200ms")
        self.assertEqual((why["held_back_by"]["bucket"], why["refusal"]), ("refused", "its host is h2"))
        # The refusal outlasts the controller, and ends with its reason: no switch and no guest is restarted.
        controller.kill()
        self.wait_link(self.switch, "silent")
        self.assertEqual(self.packets("vm1", "from_vm", "offered"), 0)
        controller.start()
        self.wait_link(self.switch, "connected")
        self.assertEqual(self.packets("vm1", "from_vm", "offered"), 0)
        del elsewhere["vnics"][0]["host"]
        controller.apply()
        self.wait_more("vm1", packets=1000, direction="from_vm")
        self.assertIsNone(self.switch.vnic("vm1")["refusal"])
        sender.halt()
        with open(self.switch.log) as stream:
            log = stream.read()
        self.assertEqual(log.count("vNIC vm1: the controller refuses it: its host is h2; its frames wait"), 1)
        self.assertEqual(log.count("vNIC vm1: the controller refuses it no more"), 1)


class ApplianceTrafficTest(TwoHosts):
    """Two tenants' kernels read from one NBD server as fast as they may, 10 tokens a read, of 1000 a second."""

    POLLS = False

    def setUp(self):
        super().setUp()
        self.join()
        self.controller = Controller(self.folder, {
            "topology": {"hosts": [{"name": "a"}]}, "appliances": [APPLIANCE],
            "tenants": [tenant("A", "vm1"), tenant("B", "vm2", reservation=200)]}).start()
        cost = self.path("cost.json")
        with open(cost, "w") as stream:
            json.dump({**COST, "operations": {"otherwise": {**COST["operations"]["otherwise"], "base": 10}}}, stream)
        part = {"appliances": [{"name": "disk", "burst": "100ms"}]}
        self.a = self.host("a", 1, {"rate": "1Gbit"}, None, {1: part, 2: part, 3: {}},
                           {"controller": {"connect": self.controller.endpoint},
                            "appliances": [{"name": "disk", "address": "10.0.0.3", "port": NBD_PORT, "protocol": "nbd",
                                            "cost": cost}]})
        self.kernels = {number: self.kernel(number) for number in (1, 2, 3)}
        self.site.serve_nbd(self.kernels[3], "memory", "64M")

    def read(self, number):
        """Starts VM `number`'s reads, which outlast the test."""
        return self.site.client(self.kernels[number], "nbd_client", "10.0.0.3", NBD_PORT, "--connections", CONNECTIONS, "512:100000")

    def wait_limits(self, **bounds):
        """Until every named vNIC's rate is within its bounds, at one moment."""
        until(lambda: all(low <= limit(self.a, name) <= high for name, (low, high) in bounds.items()),
              f"rates within {bounds}")

    def test_two_tenants_share_an_appliance_by_their_reservations_and_a_killed_controller_changes_little(self):
        first = self.read(1)
        self.wait_limits(vm1=(900, 1000))
        self.read(2)
        # 400 and 200 reserved, and of the 400 that are left two thirds and one.
        self.wait_limits(vm1=(600, 730), vm2=(270, 400))
        flow, = self.a.ctl("flow", "list", "vm2", "--interval", "500ms")["flows"]
        self.assertEqual(flow["held_back_by"], "appliance")
        # The switch's own limit, which no message states, leaves the other tenant the rest.
        self.a.ctl("vnic", "set", "vm1", "disk.limit=200tokens")
        self.wait_limits(vm2=(700, 850))
        self.a.ctl("vnic", "set", "vm1", "disk.limit=none")
        self.wait_limits(vm1=(600, 730), vm2=(270, 400))
        first.kill()
        self.wait_limits(vm2=(900, 1000))
        # Under load, killed at any moment: no guarantee is gone, and no limit is lifted.
        moments = random.Random(3)
        for _ in range(5):
            self.controller.wait_intervals(moments.randrange(3))
            self.controller.kill()
            self.assertEqual(self.controller.stored("PRAGMA integrity_check"), [("ok",)])
            self.assertGreaterEqual(limit(self.a, "vm2"), 200)
            self.controller.start()
            self.assertTrue(200 <= limit(self.a, "vm2") <= 1000, limit(self.a, "vm2"))
        self.wait_limits(vm2=(900, 1000))
        status = self.controller.ctl("status")
        self.assertEqual(status["counters"]["refused"]["records"], 0)


class AllocatedTrafficTest(TwoHosts):
    """Two tenants' VMs send to their own on the other host; the controller knows of a link that is narrower than the wire."""

    POLLS = False

    def setUp(self):
        super().setUp()
        self.join()
        pairs = (("A", 1, 3, 8), ("B", 2, 4, 4))
        self.controller = Controller(self.folder, {
            "topology": {"hosts": [{"name": name, "uplink": "20Mbit"} for name in ("a", "b")]},
            "tenants": [{"name": name, "vnics": [{"name": f"vm{number}", "reservation": f"{mbit}Mbit"} for number in ends]}
                        for name, *ends, mbit in pairs]}).start()
        link = {"controller": {"connect": self.controller.endpoint}}
        self.b = self.host("b", 0, {"rate": "1Gbit"}, None, {3: {}, 4: {}}, link)
        self.a = self.host("a", 1, {"rate": "1Gbit"}, None, {1: {}, 2: {}}, link)

    def dropped(self, name):
        return self.a.vnic(name)["from_vm"]["drops"].get("destination_congested", 0)

    def wait_held(self, name):
        """Waits until the switch has dropped more than 100 further frames of this VM as beyond its allocation."""
        before = self.dropped(name)
        until(lambda: self.dropped(name) > before + 100, f"{name} beyond its allocation")

    def test_traffic_between_vms_keeps_to_the_controllers_allocation(self):
        until(lambda: self.a.ctl("status")["controller"]["state"] == "connected", "the controller's rates")
        self.assertEqual(self.a.ctl("status")["controller"]["flows"], 0, "no VM sends, so none is a peer")
        self.send(1, 30_000_000, 3)
        self.wait_held("vm1")
        self.send(2, 30_000_000, 4)
        self.wait_held("vm2")
        self.wait_held("vm1")
        self.assertEqual(self.a.ctl("status")["controller"]["flows"], 2)
        # While the controller is silent each VM is held to its guarantee: 8 and 4 Mbit/s to its one peer, of 30 that it sends.
        self.controller.kill()
        until(lambda: self.a.ctl("status")["controller"]["state"] == "silent", "the controller silent")
        self.wait_held("vm1")
        self.wait_held("vm2")
        self.controller.start()
        until(lambda: self.a.ctl("status")["controller"]["state"] == "connected", "the controller there again")
        self.wait_held("vm1")
        self.wait_held("vm2")

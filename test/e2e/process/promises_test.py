"""promises_test.py - the promise to a vNIC comes from the controller's specification, beside other values in the switch's file."""

from controller_case import ControllerCase
from frames import mac
from processes import run
from switch import WEIRCTL, Refused
from wait import until

GBIT = 1_000_000_000
UPLINK = {"device": "net_null0,no-rx=1"}


class PromisesTest(ControllerCase):
    POLLS = False

    def wait_promise(self, switch, source, **values):
        def is_in_force():
            vnic = switch.vnic("vm1")
            return vnic["promise"]["from"] == source and {key: vnic[key] for key in values} == values
        until(is_in_force, f"vm1 with {values} of the {source}")

    def test_a_vnic_has_the_specifications_promise_and_both_sides_name_the_files(self):
        vnic = {"name": "vm1", "reservation": "1Gbit", "limit": "6Gbit"}
        controller = self.control("h1", tenants=[{"name": "A", "vnics": [vnic, {"name": "vm2"}]}])
        switch = self.join("h1", 1, 2, uplink=UPLINK, vnic={"reservation": "2Gbit", "limit": "4Gbit", "shares": 300})
        promised = {"reservation_bps": GBIT, "limit_bps": 4 * GBIT, "shares": 100}
        self.wait_promise(switch, "controller", **promised)
        differences = [{"key": "reservation", "promised": "1Gbit", "file": "2Gbit"},
                       {"key": "limit", "promised": "6Gbit", "file": "4Gbit, which is lower and holds"},
                       {"key": "shares", "promised": "100", "file": "300"}]
        self.assertEqual(switch.vnic("vm1")["promise"]["differences"], differences)
        self.assertEqual(switch.ctl("status")["vnics"][0]["promise"]["differences"], differences)
        self.assertIn("of the controller; its file differs: reservation 1Gbit (file: 2Gbit)",
                      run([WEIRCTL, "--socket", switch.socket, "vnic", "show", "vm1"]).stdout)
        with open(switch.log) as stream:
            self.assertIn("vNIC vm1: the controller's specification holds", stream.read())
        warning, = (line for line in controller.host("h1")["warnings"] if "vm1" in line)
        self.assertIn("reservation 1Gbit (file: 2Gbit); limit 6Gbit (file: 4Gbit", warning)
        # The switch changes no promise but by a lower limit of its own.
        with self.assertRaisesRegex(Refused, "weirctl tenant set-vnic TENANT vm1 reservation=VALUE"):
            switch.ctl("vnic", "set", "vm1", "reservation=3Gbit")
        switch.ctl("vnic", "set", "vm1", "limit=3Gbit")
        self.wait_promise(switch, "controller", limit_bps=3 * GBIT)
        # The controller changes it while all runs.
        controller.ctl("tenant", "set-vnic", "A", "vm1", "reservation=2Gbit", "limit=2500Mbit", "weight=300", "--yes")
        changed = {"reservation_bps": 2 * GBIT, "limit_bps": 2_500_000_000, "shares": 300}
        self.wait_promise(switch, "controller", **changed)
        until(lambda: [line for line in controller.host("h1")["warnings"] if "reservation" in line] == [],
              "no warning about reservations")
        controller.ctl("tenant", "set-vnic", "A", "vm1", "guarantee_kind=dynamic", "size=75GB", "time=600s", "reservation=none",
                       "--yes")
        until(lambda: switch.vnic("vm1")["guarantee"]["kind"] == "dynamic", "a dynamic guarantee")
        self.assertEqual(switch.vnic("vm1")["reservation_bps"], GBIT)
        controller.ctl("tenant", "set-vnic", "A", "vm1", "guarantee_kind=none", "size=none", "time=none", "reservation=2Gbit",
                       "--yes")
        self.wait_promise(switch, "controller", **changed)
        # A switch that starts without the controller has the last promise.
        until(lambda: self.link(switch)["state"] == "connected", "the switch connected")
        controller.kill()
        switch.stop()
        switch.start()
        self.assertEqual(self.link(switch)["state"], "silent")
        self.wait_promise(switch, "kept", **changed)
        controller.start()
        self.wait_promise(switch, "controller", **changed)
        # Without the kept promises and the controller it has its file's values.
        controller.kill()
        switch.config["controller"]["promises_file"] = self.path("other.promises")
        switch.stop()
        switch.start()
        self.wait_promise(switch, "file", reservation_bps=2 * GBIT, limit_bps=4 * GBIT, shares=300)

    def test_a_vnic_with_another_address_than_the_specifications_is_held(self):
        vnic = {"name": "vm1", "mac": mac(2), "vlan": 0}
        controller = self.control("h1", tenants=[{"name": "A", "vnics": [vnic]}])
        switch = self.join("h1", 1)
        why = f"its MAC address is {mac(2)}, and the switch's file has {mac(1)}"
        until(lambda: switch.vnic("vm1")["refusal"] == why, "vm1 refused")
        self.assertEqual(controller.host("h1")["refused_vnics"], ["vm1: " + why])
        controller.ctl("tenant", "set-vnic", "A", "vm1", f"mac={mac(1)}", "--yes")
        until(lambda: switch.vnic("vm1")["refusal"] is None, "vm1 placed")
        self.wait_promise(switch, "controller", shares=100)

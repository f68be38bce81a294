"""controller_case.py - base of the controller's tests: a real controller, real switches, two tenants and one appliance.

Intervals are short (0.2 s) and nothing is timed: states and intervals are waited for.
"""

import json
import os

from case import SANITIZERS, Case
from controller import Controller
from hosts import NBD_PORT
from switch import Switch
from wait import until

COST = {"name": "80 a read", "unit": "tokens", "source": "Pulsar 4.4",
        "operations": {"otherwise": {"size": "sum", "shape": "linear", "base": 80, "tokens": 0, "per": "1B"}}}
APPLIANCE = {"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}


def tenant(name, *vnics, reservation=400):
    return {"name": name, "vnics": [{"name": vnic} for vnic in vnics],
            "appliances": [{"name": "disk", "reservation": f"{reservation}tokens"}]}


def limit(switch, name):
    """Tokens per second that the vNIC may use of its appliance now."""
    flow, = switch.ctl("flow", "list", name, "--interval", "50ms")["flows"]
    return flow["limit_per_second"]["appliance"]


class ControllerCase(Case):
    """A controller of `self.control()`, and the switches that `self.join()` it, each with a folder of its own."""

    def setUp(self):
        super().setUp()
        self.switches = []
        self.controller = None
        self.addCleanup(self.stop_both)

    def stop_both(self):
        for self.switch in self.switches:
            self.stop_switch()
        if self.controller and self.controller.process:
            self.stop_controller()

    def stop_controller(self):
        status = self.controller.stop()
        with open(self.controller.log, errors="replace") as stream:
            log = stream.read()
        complaints = [line for line in log.splitlines() if any(word in line for word in SANITIZERS)]
        self.assertEqual((status, complaints), (0, []), log[-6000:])

    def control(self, *hosts, **keys):
        """Starts the controller of these hosts, two tenants and one appliance."""
        self.controller = Controller(self.folder, {
            "topology": {"hosts": [host if isinstance(host, dict) else {"name": host} for host in hosts]},
            "appliances": [APPLIANCE], "tenants": [tenant("A", "vm1"), tenant("B", "vm2", reservation=200)], **keys})
        return self.controller.start()

    def join(self, name, *numbers, core=1, host=None, uplink=None, vnic=None, **controller):
        """Starts a switch with these VMs' vNICs, each of which may use the disk up to 5000 tokens; its `host` is its name, and `vnic`
        are further keys of its first vNIC."""
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        cost = self.path("cost.json")
        with open(cost, "w") as stream:
            json.dump(COST, stream)
        link = {"connect": self.controller.endpoint, **controller}
        switch = Switch(folder, {
            "host": host or name, "workers": [core], "poll": "adaptive", "controller": link,
            "appliances": [{"name": "disk", "address": "10.0.0.3", "port": NBD_PORT, "protocol": "nbd", "cost": cost}],
            **({"uplink": uplink} if uplink else {}),
            "vnics": [self.vnic(number, appliances=[{"name": "disk", "limit": "5ktokens"}], **((vnic or {}) if place == 0 else {}))
                      for place, number in enumerate(numbers)]})
        self.switches.append(switch)
        return switch.start()

    def link(self, switch):
        return switch.ctl("status")["controller"]

    def wait_link(self, switch, state):
        until(lambda: self.link(switch)["state"] == state, f"the link of {switch.config['host']} {state}")

    def wait_limit(self, switch, name, tokens):
        until(lambda: limit(switch, name) == tokens, f"{name} limited to {tokens} tokens")

"""phone_call_test.py - "my VM is slow since ten": three hosts with traffic, a noisy neighbor that begins at a known second, and the one
command that names the resource, the neighbor and the second (docs/operations.md, "A tenant calls").

The time of a machine that does other things passes unevenly: the second lies between the start of the neighbor's traffic and the
first answer that names it.
"""

import time

from console import Console
from controller import Controller
from processes import run
from scraper import free_address
from switch import WEIRCTL
from tokens import make_token
from two_hosts import TwoHosts
from wait import until

LINK = 20_000_000
SLOW, NOISY, SLOW_PEER, NOISY_PEER = 1, 2, 3, 4     # vm1 and vm3 are of tenant A, vm2 and vm4 of tenant B


class PhoneCallTest(TwoHosts):
    """vm1 is on host a, vm2 on b, and both send to host c, where vm3 and vm4 are."""

    POLLS = False
    HOSTS = ("a", "b", "c")

    def setUp(self):
        super().setUp()
        self.site.join_rack(*self.HOSTS)
        self.address, self.token = free_address(), make_token(self.folder, "caller", "view")
        self.controller = Controller(self.folder, {
            "api": {"listen": self.address, "token_file": self.path("tokens")}, "headroom": "0%",
            "topology": {"hosts": [{"name": name, "uplink": f"{LINK // 1_000_000}Mbit"} for name in self.HOSTS]},
            "tenants": [{"name": name, "vnics": [{"name": f"vm{number}"} for number in ends]}
                        for name, *ends in (("A", SLOW, SLOW_PEER), ("B", NOISY, NOISY_PEER))]}).start()
        link = {"controller": {"connect": self.controller.endpoint}}
        self.c = self.host("c", 0, {"rate": "1Gbit"}, None, {SLOW_PEER: {}, NOISY_PEER: {}}, link)
        self.b = self.host("b", 1, {"rate": "1Gbit"}, None, {NOISY: {}}, link)
        self.a = self.host("a", 0, {"rate": "1Gbit"}, None, {SLOW: {}}, link)
        for name in self.HOSTS:
            self.controller.wait_host(name, "connected")
        self.console = Console(self.folder)     # before the traffic, which takes the cores
        self.addCleanup(self.console.stop)
        self.console.start().resize(1280, 900)
        self.console.enter(f"http://{self.address}/", self.token)

    def why(self):
        return self.controller.ctl("why", "vm1", "--cluster")

    def flow(self):
        """vm1's flow to vm3, None until the controller knows it."""
        return next((flow for flow in self.why()["flows"] if flow["destination"] == "vm3"), None)

    def test_one_command_names_the_resource_the_neighbor_and_the_second(self):
        self.send(SLOW, 12_000_000, SLOW_PEER)
        until(lambda: (self.flow() or {"wanted": 0})["wanted"] > LINK / 2, "the demand of vm1")
        self.assertIsNone(self.flow()["held_by"], "a link of 20 Mbit/s carries 12")
        before = int(time.time())
        self.send(NOISY, 18_000_000, NOISY_PEER)
        until(lambda: self.flow()["held_by"] == "downlink of host c", "vm1 held back by the downlink of its peer's host")
        answer = self.why()
        after = time.time()
        resource, = answer["resources"]
        self.assertEqual((resource["name"], resource["capacity"]), ("downlink of host c", LINK))
        self.assertTrue(before <= resource["since"] <= after, (before, resource["since"], after))
        users = {user["vnic"]: user for user in resource["users"]}
        self.assertEqual({name: user["tenant"] for name, user in users.items()}, {"vm1": "A", "vm2": "B"})
        self.assertTrue(before <= users["vm2"]["since"] <= after, (before, users["vm2"]["since"], after))
        self.assertLessEqual(users["vm1"]["since"], before)
        self.assert_words(resource["since"])
        self.assert_console(resource["since"])

    def assert_words(self, since):
        """The text for the operator has resource, neighbor with its tenant, second, and the command that mends it."""
        text = run([WEIRCTL, "--socket", self.controller.socket, "why", "vm1", "--cluster"]).stdout
        second = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(since))
        for part in ("downlink of host c", f"short since {second}", "vm2", "weirctl tenant set-vnic A vm1 reservation=RATE"):
            self.assertIn(part, text)
        neighbor, = [line for line in text.splitlines() if line.startswith("vm2")]
        self.assertRegex(neighbor, r"^vm2\s+B\s")

    def assert_console(self, since):
        """The console shows the same."""
        self.console.open("vnics/vm1", "downlink of host c")
        self.console.wait_text("vm2")
        self.console.wait_text(time.strftime("%H:%M:%S", time.gmtime(since)))
        self.assertEqual(self.console.errors, [])

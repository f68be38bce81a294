"""controller_test.py - the real controller and real switches: over ipc and tcp, with keys right and wrong, killed and
restarted at any moment.

Intervals are short (0.2 s) and nothing is timed: states are waited for.
"""

import json
import os
import random
import socket
import subprocess
import sys
import time

from case import SANITIZERS, Case, timed
from controller import INTERVAL, Controller, make_key
from processes import Process
from switch import ROOT, WEIRCTL, Refused, Switch
from two_hosts import TwoHosts
from wait import until

COST = {"name": "80 a read", "unit": "tokens", "source": "Pulsar 4.4",
        "operations": {"otherwise": {"size": "sum", "shape": "linear", "base": 80, "tokens": 0, "per": "1B"}}}
NBD_PORT = 10809
APPLIANCE = {"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}


def tenant(name, *vnics, reservation=400):
    return {"name": name, "vnics": [{"name": vnic} for vnic in vnics],
            "appliances": [{"name": "disk", "reservation": f"{reservation}tokens"}]}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def limit(switch, name):
    """Tokens per second that the vNIC may use of its appliance now."""
    flow, = switch.ctl("flow", "list", name, "--interval", "50ms")["flows"]
    return flow["limit_per_second"]["appliance"]


class ControllerTest(Case):
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

    def join(self, name, *numbers, core=1, **controller):
        """Starts a switch with these VMs' vNICs, each of which may use the disk up to 5000 tokens."""
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        cost = self.path("cost.json")
        with open(cost, "w") as stream:
            json.dump(COST, stream)
        link = {"connect": self.controller.endpoint, **controller}
        switch = Switch(folder, {
            "host": name, "workers": [core], "poll": "adaptive", "controller": link,
            "appliances": [{"name": "disk", "address": "10.0.0.3", "port": 10809, "protocol": "nbd", "cost": cost}],
            "vnics": [self.vnic(number, appliances=[{"name": "disk", "limit": "5ktokens"}]) for number in numbers]})
        self.switches.append(switch)
        return switch.start()

    def link(self, switch):
        return switch.ctl("status")["controller"]

    def wait_link(self, switch, state, seconds=20):
        until(lambda: self.link(switch)["state"] == state, seconds, f"the link of {switch.config['host']} {state}")

    def wait_limit(self, switch, name, tokens, seconds=20):
        until(lambda: limit(switch, name) == tokens, seconds, f"{name} limited to {tokens} tokens")

    def test_a_switch_joins_over_ipc_and_takes_its_guarantees_from_the_controller(self):
        controller = self.control("h1")
        switch = self.join("h1", 1, 2)
        self.wait_link(switch, "connected")
        self.wait_limit(switch, "vm1", 400)
        self.wait_limit(switch, "vm2", 200)
        controller.wait_host("h1", "connected")
        self.assertEqual(controller.host("h1")["vnics"], 2)
        self.assertEqual(controller.host("h1")["refused_vnics"], [])
        # A vNIC that is removed and added again has its rate at once; the controller is informed if it stays away. Six absences
        # of 0.4 s outlast the 2 s of one, and the switch compares its vNICs with HELLO in most of them.
        vm2 = self.vnic(2, appliances=[{"name": "disk", "limit": "5ktokens"}])
        for _ in range(6):
            switch.ctl("vnic", "remove", "vm2")
            time.sleep(0.4)
            switch.ctl("vnic", "add", json.dumps(vm2))
            self.assertEqual(limit(switch, "vm2"), 200)
        switch.ctl("vnic", "remove", "vm2")
        until(lambda: controller.host("h1")["vnics"] == 1, 20, "the controller without vm2")

    def test_pools_are_shown_as_trees_and_changed_while_all_runs(self):
        shared = {"appliances": [{"name": "disk"}], "vnics": [{"name": "vm1"}, {"name": "vm2"}], "name": "A"}
        controller = self.control("h1", tenants=[shared], pools=[
            {"name": "sales", "appliance": "disk", "reservation": "600tokens"},
            {"name": "web", "parent": "sales", "vnics": [{"name": "vm1", "reservation": "100tokens"}]}])
        switch = self.join("h1", 1, 2)
        self.wait_limit(switch, "vm1", 600)  # what is reserved in its pools, which has no other vNIC

        def nodes():
            return {node["name"]: node for node in controller.ctl("pool", "show")["pools"][0]["nodes"]}
        until(lambda: nodes()["vm1"].get("host") == "h1", 20, "the controller dividing pools")
        self.assertEqual(nodes()["sales"]["static"], {"reservation": 600, "limit": None, "shares": 100})
        self.assertEqual(nodes()["disk"]["entitlement"], 1000)
        controller.ctl("pool", "set", "sales", "limit=700tokens", "shares=300")
        until(lambda: nodes()["sales"]["entitlement"] == 700, 20, "the new limit")
        self.assertEqual(nodes()["vm2"]["entitlement"], 300)
        with self.assertRaises(Refused):
            controller.ctl("pool", "set", "web", "reservation=601tokens")
        # What was set outlives the controller, until it is taken back or the file has a new value for it.
        controller.kill()
        controller.start()
        until(lambda: nodes()["sales"].get("entitlement") == 700, 20, "the limit that was set before the restart")
        self.assertEqual(nodes()["sales"]["configured"], {"reservation": 600, "limit": None, "shares": 100})
        controller.ctl("pool", "reset", "sales")
        self.assertEqual(nodes()["sales"]["static"], {"reservation": 600, "limit": None, "shares": 100})
        controller.ctl("pool", "set", "sales", "shares=300")
        controller.kill()
        controller.cluster["pools"][0]["shares"] = 50
        controller.start()
        self.assertEqual(nodes()["sales"]["static"]["shares"], 50)
        self.assertIn("sales: shares=300 no longer counts", str(controller.ctl("audit")))

    def test_every_byte_is_billed_once_though_the_controller_is_killed_meanwhile(self):
        guests = self.vm(2, begin=False), self.sender(1, 2, begin=False)
        controller = self.control("h1", prices={"p0": 1, "link": "1Gbit", "period": "1s"})
        self.switch = self.join("h1", 1, 2)
        self.wait_link(self.switch, "connected")
        self.switch.ctl("vnic", "set", "vm1", "limit_pps=5kpps")
        _, sender = self.begin(*guests)
        until(lambda: controller.ctl("bill")["lines"] >= 2, 20, "the first periods on the bill")
        controller.kill()
        time.sleep(1.5)                             # a period and some
        controller.start()
        until(lambda: controller.ctl("bill")["lines"] >= 5, 30, "what was sent meanwhile on the bill")
        sender.halt()

        def settled():
            sent = self.switch.vnic("vm1")["from_vm"]["delivered"]["bytes"]
            row, = controller.ctl("bill", "--tenant", "A", "--verify")["rows"]
            return sent == row["delivered_bytes"]
        until(settled, 20, "every byte on the bill")
        bill = controller.ctl("bill", "--verify", "--from", "2026-01-01")
        self.assertIsNone(bill["first_altered"])
        self.assertEqual([(row["vnic"], row["guarantee"]) for row in bill["rows"]], [("vm1", "fairness")])
        self.assertGreater(bill["charge"], 0)
        with self.assertRaises(Refused):
            controller.ctl("bill", "--from", "2026-01-02", "--to", "2026-01-01")
        controller.kill()
        ends = [ended // 1_000_000_000 for ended, in controller.stored("SELECT ended FROM bill ORDER BY number")]
        self.assertEqual(len(ends), len(set(ends)))

    def test_without_the_controller_the_guarantees_hold_and_it_may_come_back(self):
        controller = self.control("h1")
        switch = self.join("h1", 1)
        self.wait_link(switch, "connected")
        epoch = self.link(switch)["epoch"]
        controller.kill()
        self.wait_link(switch, "silent")
        self.assertEqual(limit(switch, "vm1"), 400)
        controller.start()
        self.wait_link(switch, "connected")
        self.assertGreater(self.link(switch)["epoch"], epoch)
        self.assertEqual(limit(switch, "vm1"), 400)

    def test_a_switch_that_is_killed_and_restarted_is_known_again(self):
        controller = self.control("h1")
        switch = self.join("h1", 1)
        self.wait_link(switch, "connected")
        switch.kill()
        switch.start()
        self.wait_link(switch, "connected")
        controller.wait_host("h1", "connected")
        self.wait_limit(switch, "vm1", 400)

    def test_over_tcp_the_right_key_comes_in_and_no_other(self):
        own, h1, h2, unlisted = (make_key(self.path(name)) for name in ("ctrl.key", "h1.key", "h2.key", "unlisted.key"))
        endpoint = f"tcp://127.0.0.1:{free_port()}"
        controller = self.control({"name": "h1", "key": h1}, {"name": "h2", "key": h2}, listen=[endpoint],
                                  secret_key_file=self.path("ctrl.key"))
        controller.endpoint = endpoint
        good = self.join("h1", 1, server_key=own, secret_key_file=self.path("h1.key"))
        self.wait_link(good, "connected")
        self.assertTrue(controller.host("h1")["authenticated"])
        self.stop_switches()

        unknown = self.join("h1", 1, server_key=own, secret_key_file=self.path("unlisted.key"))
        until(lambda: controller.ctl("status")["sockets"]["denied"], 20, "a connection denied")
        self.assertEqual(self.link(unknown)["state"], "connecting")
        self.stop_switches()

        liar = self.join("h1", 1, server_key=own, secret_key_file=self.path("h2.key"))
        self.wait_link(liar, "refused")
        self.assertEqual(self.link(liar)["refusal"], "host h1 is claimed with the key of h2")
        self.assertEqual(limit(liar, "vm1"), 5000)
        self.assertIn("refused: host h1 is claimed with the key of h2",
                      [refusal["what"] for refusal in controller.ctl("status")["refusals"]])
        self.stop_switches()

        deceived = self.join("h1", 1, server_key=unlisted, secret_key_file=self.path("h1.key"))
        until(lambda: self.link(deceived)["unsent"], 20, "messages that found no controller")
        self.assertEqual(self.link(deceived)["state"], "connecting")

    def stop_switches(self):
        for self.switch in self.switches:
            self.stop_switch()
        self.switches = []

    def test_killed_at_any_moment_the_controller_forgets_nothing_and_no_limit_is_lifted(self):
        controller = self.control("h1")
        switch = self.join("h1", 1, 2)
        self.wait_link(switch, "connected")
        self.wait_limit(switch, "vm1", 400)
        moments = random.Random(7)
        epochs = [self.link(switch)["epoch"]]
        for _ in range(8):
            time.sleep(moments.random() * 2 * INTERVAL)
            controller.kill()
            stored = [epoch for epoch, in controller.stored("SELECT epoch FROM epochs ORDER BY epoch")]
            self.assertEqual(controller.stored("PRAGMA integrity_check"), [("ok",)])
            self.assertLessEqual(set(epochs), set(stored))
            self.assertEqual(controller.stored("SELECT count(*) FROM specifications"), [(1,)])
            ends = controller.stored("SELECT id, kind, name FROM endpoints ORDER BY id")
            self.assertEqual([name for _, _, name in ends], ["disk", "vm1", "vm2"])
            controller.start()
            self.assertEqual((limit(switch, "vm1"), limit(switch, "vm2")), (400, 200))
            epochs.append(controller.ctl("status")["epoch"])
        self.assertEqual(epochs, sorted(set(epochs)))
        self.wait_link(switch, "connected")
        controller.wait_host("h1", "connected")

    def test_a_second_controller_on_the_same_store_is_refused(self):
        controller = self.control("h1")
        second = Controller(self.folder, {**controller.cluster, "listen": [f"ipc://{self.folder}/other.ipc"],
                                          "control_socket": self.path("other.sock")})
        second.file, second.log = self.path("other.jsonc"), self.path("other.log")
        second.launch()
        second.process.expect("another weir-ctrl uses it", 20)

    def test_a_wrong_cluster_file_is_refused_with_every_fault(self):
        wrong = Controller(self.folder, {"interval": "1", "topology": {"hosts": [{"name": "h1"}, {"name": "h1"}]},
                                         "tenants": [tenant("A", "vm1")]})
        status, output = wrong.check()
        self.assertEqual(status, 2)
        for path in ("interval", "topology.hosts[1].name", "tenants[0].appliances[0].name"):
            self.assertIn(f"cluster.jsonc: {path}: found", output)
        self.assertIn("3 faults; nothing was started", output)

    def plan(self, cluster, *words):
        """weirctl on a cluster file: (status, its data)."""
        planned = Controller(self.folder, {**self.controller.cluster, **cluster})
        planned.file = self.path("planned.jsonc")
        done = subprocess.run([WEIRCTL, "--json", *words, planned.write()], capture_output=True, text=True, timeout=20,
                              check=False)
        return done.returncode, json.loads(done.stdout).get("data")

    def test_a_vnic_whose_guarantee_does_not_fit_is_refused_and_a_dry_run_names_what_would_break(self):
        vnics = [{"name": f"vm{number}", "reservation": f"{gbit}Gbit"} for number, gbit in ((1, 6), (2, 6), (3, 5), (4, 5))]
        vnics[1]["host"] = vnics[3]["host"] = "h2"
        tenants = [{"name": "A", "vnics": vnics[:2]}, {"name": "B", "vnics": vnics[2:]}]
        controller = self.control("h1", "h2", tenants=tenants)      # vm3 would fit beside vm4
        self.wait_link(self.join("h1", 1, 3), "connected")
        until(lambda: controller.host("h1")["refused_vnics"], 20, "vm3 refused")
        self.assertEqual(controller.host("h1")["refused_vnics"], [
            "vm3: its guarantee does not fit: the uplink of host h1 would need 11Gbit of 9.7Gbit"])
        status, plan = self.plan({"tenants": tenants}, "plan")
        self.assertEqual((status, plan["admitted"]), (0, True))
        more = [*tenants, {"name": "C", "vnics": [{"name": "c1", "host": "h1", "reservation": "5Gbit"},
                                                  {"name": "c2", "host": "h2", "reservation": "5Gbit"}]}]
        status, plan = self.plan({"tenants": more}, "--socket", controller.socket, "apply", "--dry-run")
        self.assertEqual((status, plan["admitted"]), (3, False))
        self.assertEqual(plan["tenants"][0]["vnics"][0], {"name": "vm1", "host": "h1", "reservation": 6_000_000_000})
        self.assertEqual({broken["tenant"] for broken in plan["broken"]}, {"A", "C"})
        self.assertTrue(all(broken["new"] for broken in plan["broken"]))


class ControllerTrafficTest(TwoHosts):
    """Two tenants' kernels read from one NBD server as fast as they may, 10 tokens a read, of 1000 a second."""

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
        server = Process([*self.kernels[3], "nbdkit", "--foreground", "--exit-with-parent", "--port", str(NBD_PORT), "memory",
                          "64M"], self.path("nbdkit.log"))
        until(lambda: server.alive() and f":{NBD_PORT} " in subprocess.run(
            [*self.kernels[3], "ss", "-Hltn"], capture_output=True, text=True, timeout=10, check=False).stdout, 20, "nbdkit")

    def read(self, number):
        """Starts VM `number`'s reads, which outlast the test."""
        program = os.path.join(ROOT, "test", "support", "nbd_client.py")
        return Process([*self.kernels[number], sys.executable, program, "10.0.0.3", str(NBD_PORT), "--connections", "4",
                        "512:120"], self.path(f"reader{number}.log"))

    def wait_limits(self, seconds=40, **bounds):
        """Until every named vNIC's rate is within its bounds, at one moment."""
        until(lambda: all(low <= limit(self.a, name) <= high for name, (low, high) in bounds.items()), seconds,
              f"rates within {bounds}")

    @timed
    def test_two_tenants_share_an_appliance_by_their_reservations_and_a_killed_controller_changes_little(self):
        first = self.read(1)
        self.wait_limits(vm1=(900, 1000))
        self.read(2)
        # 400 and 200 reserved, and of the 400 that are left two thirds and one.
        self.wait_limits(vm1=(600, 730), vm2=(270, 400))
        flow, = self.a.ctl("flow", "list", "vm2", "--interval", "2s")["flows"]
        self.assertEqual(flow["held_back_by"], "appliance")
        self.assertGreater(flow["used_per_second"]["appliance"], 150)
        first.kill()
        self.wait_limits(vm2=(900, 1000))
        # Under load, killed at any moment: no guarantee is gone, and no limit is lifted.
        moments = random.Random(3)
        for _ in range(5):
            time.sleep(moments.random() * 2 * INTERVAL)
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

    def rates(self):
        """Mbit/s that vm1 and vm2 sent in the last second."""
        def sent():
            return [self.a.vnic(name)["from_vm"]["delivered"]["bytes"] for name in ("vm1", "vm2")]
        before, began = sent(), time.monotonic()
        time.sleep(1)
        seconds = time.monotonic() - began
        return [(now - then) * 8e-6 / seconds for then, now in zip(before, sent())]

    def wait_rates(self, within, what):
        until(lambda: within(*self.rates()), 60, what)

    @timed
    def test_traffic_between_vms_keeps_to_the_controllers_allocation(self):
        until(lambda: self.a.ctl("status")["controller"]["flows"] == 2, 20, "both flows allocated")
        self.send(1, 30_000_000, 3)
        self.wait_rates(lambda first, _: 15 < first < 21, "vm1 with the whole link")
        self.send(2, 30_000_000, 4)
        self.wait_rates(lambda first, second: first > 7.5 and second > 3.8 and first + second < 21, "both with their parts")
        self.controller.kill()
        self.wait_rates(lambda first, second: first > 25 and second > 25, "no rule without a controller")
        self.controller.start()
        self.wait_rates(lambda first, second: first > 7.5 and second > 3.8 and first + second < 21, "both allocated again")

"""controller_test.py - the real controller and real switches: over ipc and tcp, with keys right and wrong, cut off, killed and
restarted at any moment.
"""

import copy
import json
import os
import random
import socket
import threading

import links
from controller import Controller, make_key
from controller_case import APPLIANCE, ControllerCase, limit, tenant
from processes import run
from switch import WEIRCTL, Refused
from wait import until


def free_port(host="127.0.0.1"):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def has_ip6():
    """Whether this machine's loopback has its IPv6 address."""
    try:
        return free_port("::1") != 0
    except OSError:
        return False


class ControllerTest(ControllerCase):
    POLLS = False

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
        # of two intervals outlast the 2 s of one, and the switch compares its vNICs with HELLO in most of them.
        vm2 = self.vnic(2, appliances=[{"name": "disk", "limit": "5ktokens"}])
        for _ in range(6):
            switch.ctl("vnic", "remove", "vm2")
            controller.wait_intervals(2)
            switch.ctl("vnic", "add", json.dumps(vm2))
            self.assertEqual(limit(switch, "vm2"), 200)
        switch.ctl("vnic", "remove", "vm2")
        until(lambda: controller.host("h1")["vnics"] == 1, "the controller without vm2")

    def test_a_vnic_that_another_host_has_is_placed_when_it_leaves_there(self):
        controller = self.control("h1", "h2")
        first = self.join("h1", 1)
        controller.wait_host("h1", "connected")
        second = self.join("h2", 1)
        until(lambda: second.vnic("vm1")["refusal"] == "host h1 has it", "vm1 refused on h2")
        self.assertEqual(controller.host("h2")["refused_vnics"], ["vm1: host h1 has it"])
        first.ctl("vnic", "remove", "vm1")
        until(lambda: second.vnic("vm1")["refusal"] is None, "vm1 placed on h2")
        self.assertEqual(controller.host("h2")["refused_vnics"], [])
        self.wait_limit(second, "vm1", 400)

    def test_a_reader_reads_and_changes_nothing_and_the_audit_trail_has_each_change(self):
        reading = self.path("read.sock")
        controller = self.control("h1", "h2", tenants=[tenant("A", "vm1")], control_read_socket=reading)
        changed = controller.ctl("tenant", "add", "name=B", "--vnic", "vm2")
        entry = controller.ctl("audit", "--changes")["entries"][-1]
        self.assertEqual((entry["kind"], entry["revision"], entry["peer"].split(",")[0]),
                         ("specification", changed["revision"], f"uid {os.getuid()}"))
        self.assertEqual([each["path"] for each in entry["changes"]], ["tenants.B"])
        controller.ctl("host", "drain", "h2", "--yes")
        self.assertEqual(controller.host("h2")["drained"], {"floating": [], "stated": []})

        def ask(*words):
            return run([WEIRCTL, "--socket", reading, "--json", "--timeout", "20s", *words], check=False)
        for command in ("status", "audit", "plan", "show"):
            self.assertEqual(ask(command).returncode, 0, command)
        refused = ask("tenant", "remove", "B")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("the permission to change is missing", refused.stdout)
        self.assertEqual(controller.ctl("history")["revision"], changed["revision"] + 1)

    def test_pools_are_shown_as_trees_and_changed_while_all_runs(self):
        shared = {"appliances": [{"name": "disk"}], "vnics": [{"name": "vm1"}, {"name": "vm2"}], "name": "A"}
        controller = self.control("h1", tenants=[shared], pools=[
            {"name": "sales", "appliance": "disk", "reservation": "600tokens"},
            {"name": "web", "parent": "sales", "vnics": [{"name": "vm1", "reservation": "100tokens"}]}])
        switch = self.join("h1", 1, 2)
        self.wait_limit(switch, "vm1", 600)  # the tokens/s reserved in its pools, which have no other vNIC

        def nodes():
            return {node["name"]: node for node in controller.ctl("pool", "show")["pools"][0]["nodes"]}
        until(lambda: nodes()["vm1"].get("host") == "h1", "the controller dividing pools")
        self.assertEqual(nodes()["sales"]["static"], {"reservation": 600, "limit": None, "shares": 100})
        self.assertEqual(nodes()["disk"]["entitlement"], 1000)
        controller.ctl("pool", "set", "sales", "limit=700tokens", "shares=300")
        until(lambda: nodes()["sales"]["entitlement"] == 700, "the new limit")
        self.assertEqual(nodes()["vm2"]["entitlement"], 300)
        with self.assertRaises(Refused):
            controller.ctl("pool", "set", "web", "reservation=601tokens")
        # A value that was set outlives the controller, until it is reset or the file has a new value for it.
        controller.kill()
        controller.start()
        until(lambda: nodes()["sales"].get("entitlement") == 700, "the limit that was set before the restart")
        self.assertEqual(nodes()["sales"]["configured"], {"reservation": 600, "limit": None, "shares": 100})
        controller.ctl("pool", "reset", "sales")
        self.assertEqual(nodes()["sales"]["static"], {"reservation": 600, "limit": None, "shares": 100})
        controller.ctl("pool", "set", "sales", "shares=300")
        controller.cluster["pools"][0]["shares"] = 50
        controller.apply()
        self.assertEqual(nodes()["sales"]["static"]["shares"], 50)
        self.assertIn("sales: shares=300 no longer counts", str(controller.ctl("audit")))

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

    def test_a_switch_that_starts_without_the_controller_has_its_last_promises(self):
        controller = self.control("h1")
        switch = self.join("h1", 1, 2)
        self.wait_link(switch, "connected")
        self.wait_limit(switch, "vm1", 400)
        self.assertEqual(self.link(switch)["promises"]["from"], "controller")
        controller.kill()
        switch.kill()
        switch.start()
        self.assertEqual(self.link(switch)["state"], "silent")
        self.assertEqual((limit(switch, "vm1"), limit(switch, "vm2")), (400, 200))
        promises = self.link(switch)["promises"]
        self.assertEqual((promises["from"], promises["in_force"]), ("file", True))
        with open(switch.log) as stream:
            self.assertIn("until it answers, its promises of", stream.read())
        self.assertIn("from the file that outlasts the switch", run([WEIRCTL, "--socket", switch.socket, "status"]).stdout)
        # A file that is damaged is named and not used in any part; the controller's answer mends it.
        switch.kill()
        path = switch.socket + ".promises"
        with open(path) as stream:
            text = stream.read()
        with open(path, "w") as stream:
            stream.write(text.replace("400", "401"))
        switch.start()
        self.assertEqual((self.link(switch)["state"], self.link(switch)["promises"]), ("connecting", None))
        self.assertEqual(limit(switch, "vm1"), 5000)
        with open(switch.log) as stream:
            self.assertIn("not used: it is damaged", stream.read())
        controller.start()
        self.wait_link(switch, "connected")
        self.wait_limit(switch, "vm1", 400)

    def test_of_two_switches_with_one_identity_the_first_stays_and_the_second_waits(self):
        controller = self.control("h1")
        first = self.join("h1", 1)
        self.wait_link(first, "connected")
        second = self.join("clone", 1, host="h1")
        self.wait_link(second, "refused")
        self.assertIn("host h1 is connected already", self.link(second)["refusal"])
        controller.wait_intervals(4)
        self.assertEqual(self.link(first)["state"], "connected")
        self.assertEqual(len([entry for entry in controller.ctl("audit")["entries"] if entry["kind"] == "welcome"]), 1)
        self.assertTrue([refusal for refusal in controller.ctl("status")["refusals"] if "h1 is connected" in refusal["what"]])
        for log in (second.log, controller.log):
            with open(log) as stream:
                self.assertIn("host h1 is connected already", stream.read())
        first.kill()
        self.wait_link(second, "connected")

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

        unknown = self.join("unknown", 1, host="h1", server_key=own, secret_key_file=self.path("unlisted.key"))
        until(lambda: controller.ctl("status")["sockets"]["denied"], "a connection denied")
        self.assertEqual(self.link(unknown)["state"], "connecting")
        self.stop_switches()

        liar = self.join("liar", 1, host="h1", server_key=own, secret_key_file=self.path("h2.key"))
        self.wait_link(liar, "refused")
        self.assertEqual(self.link(liar)["refusal"], "host h1 is claimed with the key of h2")
        self.assertEqual(limit(liar, "vm1"), 5000)
        self.assertIn("refused: host h1 is claimed with the key of h2",
                      [refusal["what"] for refusal in controller.ctl("status")["refusals"]])
        self.stop_switches()

        deceived = self.join("deceived", 1, host="h1", server_key=unlisted, secret_key_file=self.path("h1.key"))
        until(lambda: self.link(deceived)["unsent"], "messages that found no controller")
        self.assertEqual(self.link(deceived)["state"], "connecting")

    def over_tcp(self, endpoint):
        """A controller that listens there, and the links' keys: (controller, arguments for join())."""
        own, h1 = (make_key(self.path(name)) for name in ("ctrl.key", "h1.key"))
        self.controller = Controller(self.folder, {
            "topology": {"hosts": [{"name": "h1", "key": h1}]}, "appliances": [APPLIANCE], "tenants": [tenant("A", "vm1")],
            "listen": [endpoint], "secret_key_file": self.path("ctrl.key")})
        self.controller.endpoint = endpoint
        return self.controller, {"server_key": own, "secret_key_file": self.path("h1.key")}

    def test_over_ipv6_a_switch_joins_or_the_controller_says_that_the_machine_has_none(self):
        if not has_ip6():
            controller, _ = self.over_tcp("tcp://[::1]:5555")
            controller.launch()
            controller.process.expect("cannot listen on tcp://[::1]:5555")
            return
        port = free_port("::1")
        controller, keys = self.over_tcp(f"tcp://[::1]:{port}")
        for listen in ("[::1]", "[::]"):
            controller.cluster["listen"] = [f"tcp://{listen}:{port}"]
            self.assertEqual(controller.check()[0], 0)
            controller.start()
            switch = self.join("h1", 1, connect=f"tcp://[::1]:{port}", **keys)
            self.wait_link(switch, "connected")
            self.assertEqual(self.link(switch)["fault"], "")
            self.stop_switches()
            self.stop_controller()

    def test_a_name_with_addresses_of_one_family_is_reached_there(self):
        port = free_port()
        controller, keys = self.over_tcp(f"tcp://[::]:{port}" if has_ip6() else f"tcp://127.0.0.1:{port}")
        controller.start()
        switch = self.join("h1", 1, connect=f"tcp://localhost:{port}", **keys)
        self.wait_link(switch, "connected")

    def test_a_controller_that_cannot_be_reached_is_named_once_for_each_cause(self):
        port = free_port()
        controller, keys = self.over_tcp(f"tcp://127.0.0.1:{port}")
        causes = {f"tcp://no-such-name.invalid:{port}": "the name does not resolve",
                  f"tcp://127.0.0.1:{port}": "no program listens there"}
        for endpoint, cause in causes.items():
            switch = self.join("h1", 1, connect=endpoint, **keys)
            until(lambda: cause in self.link(switch)["fault"], f"{endpoint}: {cause}")
            with open(switch.log) as stream:
                self.assertEqual([line.count(cause) for line in stream if endpoint in line], [1])
            if endpoint != controller.endpoint:
                self.stop_switches()
        controller.start()
        self.wait_link(switch, "connected")
        self.assertEqual(self.link(switch)["fault"], "")

    def test_cut_off_while_both_live_a_switch_keeps_to_its_guarantees_and_is_connected_again(self):
        own, h1 = (make_key(self.path(name)) for name in ("ctrl.key", "h1.key"))
        endpoint = f"tcp://127.0.0.1:{free_port()}"
        controller = self.control({"name": "h1", "key": h1}, listen=[endpoint], secret_key_file=self.path("ctrl.key"))
        controller.endpoint = endpoint
        switch = self.join("h1", 1, server_key=own, secret_key_file=self.path("h1.key"))
        self.wait_link(switch, "connected")
        self.wait_limit(switch, "vm1", 400)
        self.addCleanup(links.command, "ip link set lo up")
        links.command("ip link set lo down")
        self.wait_link(switch, "silent")
        self.assertEqual(limit(switch, "vm1"), 400)
        links.command("ip link set lo up")
        self.wait_link(switch, "connected")
        controller.wait_host("h1", "connected")
        # A silent switch's guarantees count as wanted until its next report, and a wanted rate has room up to the whole appliance.
        self.assertIn(limit(switch, "vm1"), (400, 1000))
        self.wait_limit(switch, "vm1", 400)

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
            controller.wait_intervals(moments.randrange(3))
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

    def test_a_change_while_all_runs_reaches_the_switches_and_outlives_the_controller(self):
        controller = self.control("h1", "h2")
        first, second = self.join("h1", 1), self.join("h2", 2)
        self.wait_limit(first, "vm1", 400)
        self.wait_limit(second, "vm2", 200)
        controller.settings = copy.deepcopy(controller.cluster)
        controller.cluster["tenants"][0]["appliances"][0]["reservation"] = "500tokens"
        with self.assertRaisesRegex(Refused, "base"):
            controller.apply("--base", "7")
        change = controller.apply("--base", "1", "--wait", "20s")
        self.assertEqual((change["revision"], change["pending"], change["smaller"]), (2, [], []))
        self.wait_limit(first, "vm1", 500)
        self.wait_limit(second, "vm2", 200)
        # The store's revision counts from now on; the file is the first one still.
        controller.kill()
        controller.start()
        self.assertEqual(controller.ctl("status")["revision"], 2)
        with open(controller.log) as stream:
            self.assertIn("the cluster file differs", stream.read())
        self.wait_limit(first, "vm1", 500)
        controller.ctl("rollback", "1", "--base", "2", "--yes", "--wait", "20s")
        self.wait_limit(first, "vm1", 400)
        self.assertEqual([each["revision"] for each in controller.ctl("history")["revisions"]], [1, 2, 3])

    def test_killed_while_a_change_is_applied_the_controller_has_all_of_it_or_nothing(self):
        controller = self.control("h1")
        switch = self.join("h1", 1, 2)
        self.wait_limit(switch, "vm1", 400)
        moments = random.Random(3)
        for number in range(8):
            revision = controller.ctl("status")["revision"]
            tokens = controller.cluster["tenants"][0]["appliances"][0]["reservation"] = f"{300 + number}tokens"
            new = {"name": f"new{number}"}
            controller.cluster["tenants"][0]["vnics"].append(new)
            file = controller.next_file()
            killer = threading.Timer(moments.random() * 0.05, controller.kill)
            killer.start()
            run([WEIRCTL, "--socket", controller.socket, "--timeout", "500ms", "apply", file, "--yes", "--force"], check=False)
            killer.join()
            self.assertEqual(controller.stored("PRAGMA integrity_check"), [("ok",)])
            (last, text), = controller.stored("SELECT max(number), text FROM specifications")
            is_applied = tokens in text
            self.assertEqual(last, revision + is_applied)
            ends = controller.stored(f"SELECT count(*) FROM endpoints WHERE name = '{new['name']}'")
            self.assertEqual(ends, [(int(is_applied),)])
            controller.start()
            self.assertEqual(controller.ctl("status")["revision"], last)
        self.wait_link(switch, "connected")

    def test_a_second_controller_on_the_same_store_is_refused(self):
        controller = self.control("h1")
        second = Controller(self.folder, {**controller.cluster, "listen": [f"ipc://{self.folder}/other.ipc"],
                                          "control_socket": self.path("other.sock")})
        second.file, second.log = self.path("other.jsonc"), self.path("other.log")
        second.launch()
        second.process.expect("another weir-ctrl uses it")

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
        done = run([WEIRCTL, "--json", *words, planned.write()], check=False)
        return done.returncode, json.loads(done.stdout).get("data")

    def test_a_vnic_whose_guarantee_does_not_fit_is_refused_and_a_dry_run_names_what_would_break(self):
        vnics = [{"name": f"vm{number}", "reservation": f"{gbit}Gbit"} for number, gbit in ((1, 6), (2, 6), (3, 5), (4, 5))]
        vnics[1]["host"] = vnics[3]["host"] = "h2"
        tenants = [{"name": "A", "vnics": vnics[:2]}, {"name": "B", "vnics": vnics[2:]}]
        controller = self.control("h1", "h2", tenants=tenants)      # vm3 would fit beside vm4
        self.wait_link(self.join("h1", 1, 3), "connected")
        until(lambda: controller.host("h1")["refused_vnics"], "vm3 refused")
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

"""config_test.py - wrong configurations and hosts that lack something: the messages, and that nothing is touched."""

import os

from case import Case, mac
from processes import Process, run
from switch import SWITCH, WORKER_CORE, Switch
from wait import until

HOSTILE = {
    "workers": [1, 1],
    "uplink": {"device": "net_null0", "rate": "10", "scheduler": "fifo", "mtu": 70000},
    "vnics": [
        {"name": "vm1", "socket": "relative.sock", "mac": mac(1), "limit": "1Gbit", "reservation": "2Gbit"},
        {"name": "vm1", "socket": "/tmp/vm.sock", "mac": "01:00:5e:00:00:01", "shares": 0, "queues": "many"},
        {"name": "vm3", "mac": mac(1), "vlan": 5000, "colour": "blue"},
    ],
    "feedback": {"period": "1s"},
}
PLACES = ["workers", "uplink.rate", "uplink.scheduler", "uplink.mtu", "vnics[0].socket", "vnics[0].reservation",
          "vnics[1].name", "vnics[1].mac", "vnics[1].shares", "vnics[1].queues", "vnics[2].socket", "vnics[2].vlan",
          "vnics[2].colour", "feedback.period"]


class ConfigTest(Case):
    POLLS = False

    def refused(self, switch, prefix=()):
        """Runs a switch that must not come up: (status, its own lines)."""
        done = run([*prefix, SWITCH, "--config", switch.write()], check=False)
        lines = (done.stdout + done.stderr).splitlines()
        return done.returncode, [line for line in lines if line.startswith("weir-switch: ")]

    def test_a_hostile_configuration_exits_2_with_every_fault_and_touches_nothing(self):
        switch = Switch(self.folder, HOSTILE)
        status, output = switch.check()
        self.assertEqual(status, 2, output)
        self.assertEqual([place for place in PLACES if place not in output], [], output)
        self.assertEqual(os.listdir(self.folder), ["switch.jsonc"])
        self.assertEqual(self.refused(switch)[0], 2)

    def test_a_sound_configuration_passes_the_check_without_starting(self):
        status, output = Switch(self.folder, {"vnics": [self.vnic(1)]}).check()
        self.assertEqual(status, 0, output)
        self.assertEqual(os.listdir(self.folder), ["switch.jsonc"])

    def test_cost_tables_and_programs_are_read_by_the_check(self):
        appliance = {"name": "disk", "address": "10.0.0.5", "port": 10809, "protocol": "nbd", "cost": "ssd_file_store"}
        self.assertEqual(Switch(self.folder, {"appliances": [appliance]}).check()[0], 0)
        with open(self.path("mine.json"), "w") as stream:
            stream.write('{"name": "mine",\n "unit": 1}')
        switch = Switch(self.folder, {"appliances": [{**appliance, "cost": "./mine.json", "program": "mine.json"}]})
        status, output = switch.check()
        self.assertEqual(status, 2, output)
        self.assertIn("appliances[0].cost: found 1;", output)
        self.assertIn("mine.json: unit: wrong type (line 2)", output)
        self.assertIn("appliances[0].program: ", output)
        self.assertEqual(self.refused(switch)[0], 2)

    def test_a_missing_socket_folder_is_named_by_the_check_with_its_remedy_and_is_no_fault(self):
        vnic = {**self.vnic(2), "socket": self.path("nowhere/vm2.sock")}
        status, output = Switch(self.folder, {"vnics": [self.vnic(1), vnic]}).check()
        self.assertEqual(status, 0, output)
        self.assertEqual(output.count("will wait"), 1, output)
        self.assertIn(f"vNIC vm2 will wait: the folder {self.path('nowhere')} is missing; make it: mkdir -p {self.path('nowhere')}", output)
        self.assertEqual(os.listdir(self.folder), ["switch.jsonc"])

    def test_what_the_host_lacks_and_the_check_can_see_is_the_same_line_as_at_the_start(self):
        with open(self.path("file"), "w"):
            pass
        cases = {"workers[0]: core 1000 is not one of the cores": {"workers": [1000]},
                 "agent_core: core 1001 is not one of the cores": {"agent_core": 1001},
                 "control_socket: the folder": {"control_socket": self.path("file/switch.sock")}}
        for text, keys in cases.items():
            with self.subTest(text):
                switch = Switch(self.folder, keys)
                status, output = switch.check()
                self.assertEqual((status, output.count("\n")), (1, 1), output)
                self.assertIn(f"weir-switch: {text}", output)
                self.assertEqual(self.refused(switch), (1, [output.strip()]))

    def test_a_switch_that_is_bound_to_one_core_runs_its_worker_and_its_agent_there(self):
        self.switch = Switch(self.folder, {"poll": "adaptive"})
        self.switch.process = Process([SWITCH, "--config", self.switch.write()], self.switch.log, cores=[WORKER_CORE])
        until(self.switch.answers, "the switch answering")
        pid = self.switch.process.pid
        cores = {thread: os.sched_getaffinity(int(thread)) for thread in os.listdir(f"/proc/{pid}/task")}
        self.assertEqual(set().union(*cores.values()), {WORKER_CORE}, cores)

    def test_a_missing_device_is_one_line_that_names_it(self):
        uplink = {"device": "net_af_packet0,iface=nosuch0"}
        status, lines = self.refused(Switch(self.folder, {"uplink": uplink}))
        self.assertEqual((status, len(lines)), (1, 1), lines)
        self.assertIn("net_af_packet0,iface=nosuch0", lines[0])

    def test_missing_hugepages_are_one_line_with_the_command_that_reserves_them(self):
        hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/kernel/mm/hugepages && exec "$0" "$@"']
        status, lines = self.refused(Switch(self.folder, {}), hide)
        self.assertEqual((status, len(lines)), (1, 1), lines)
        self.assertIn("/proc/sys/vm/nr_hugepages", lines[0])

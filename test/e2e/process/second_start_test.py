"""second_start_test.py - a second switch or controller on a socket or DPDK folder of the first: refused with one line, and nothing is touched."""

import json
import os

from case import Case
from controller import Controller
from processes import run
from switch import SWITCH, Switch


class SecondStartTest(Case):
    POLLS = False
    CLUSTER = {"topology": {"hosts": [{"name": "h1"}]}}

    def setUp(self):
        super().setUp()
        self.start_switch(self.vnic(1, mode="server"), poll="adaptive")
        self.second = self.path("second")
        os.mkdir(self.second)

    def kept(self):
        """The files that a second start must not touch, and their inodes: sockets, locks and DPDK's folder."""
        folder = f"/run/dpdk/{self.prefix()}"
        paths = [self.switch.socket, self.path("vm1.sock"), folder, *(os.path.join(folder, name) for name in os.listdir(folder))]
        return {path: os.stat(path).st_ino for path in sorted(paths)}

    def prefix(self):
        return self.switch.config["eal"][-1].split("=")[1]

    def refused(self, keys):
        """Starts another switch with the same file but for `keys`. The line with which it ends."""
        other = Switch(self.second, {**self.switch.config, "vnics": [], **keys})
        before = self.kept()
        done = run([SWITCH, "--config", other.write()], check=False)
        lines = (done.stdout + done.stderr).splitlines()
        self.assertEqual((done.returncode, len(lines)), (1, 1), lines)
        self.assertEqual(self.kept(), before)
        self.assertEqual(self.switch.vnic("vm1")["name"], "vm1")            # the first one answers
        return lines[0]

    def test_a_second_switch_is_refused_with_the_first_ones_process_and_socket_and_touches_nothing(self):
        own_socket = {"control_socket": os.path.join(self.second, "switch.sock")}
        own_prefix = {"eal": ["--no-pci", f"--file-prefix={self.prefix()}-second"]}
        for keys in ({"vnics": self.switch.config["vnics"]},                # the same file
                     {**own_socket, "uplink": {"device": "net_af_packet0,iface=nosuch0"}},
                     own_prefix):
            with self.subTest(keys):
                line = self.refused(keys)
                self.assertIn(f"process {self.switch.process.pid}", line)
                self.assertIn(self.switch.socket, line)
        self.assertEqual(os.listdir(self.second), ["switch.jsonc"])

    def test_a_second_switch_with_a_host_and_sockets_of_its_own_runs_beside_the_first(self):
        first, before = self.switch, self.kept()
        eal = ["--no-pci", "--single-file-segments", f"--file-prefix={self.prefix()}-second"]
        self.switch = Switch(self.second, {"host": "h2", "poll": "adaptive", "eal": eal}).start()
        self.stop_switch()
        self.switch = first
        self.assertEqual(self.kept(), before)

    def test_a_second_controller_on_a_socket_of_the_first_is_refused_whatever_its_store(self):
        first = Controller(self.folder, self.CLUSTER).start()
        os.mkdir(self.path("third"))
        other = Controller(self.path("third"), self.CLUSTER)
        for keys in ({"control_socket": first.socket}, {"listen": [first.endpoint]}):
            with self.subTest(keys):
                other.settings = {**other.cluster, **keys}
                before = os.stat(first.socket).st_ino
                done = run([other.PROGRAM, "--config", other.write()], check=False)
                lines = (done.stdout + done.stderr).splitlines()
                self.assertEqual((done.returncode, len(lines)), (1, 1), lines)
                self.assertIn(f"process {first.process.pid}", lines[0])
                self.assertEqual(os.stat(first.socket).st_ino, before)
                self.assertFalse(os.path.exists(other.store))
                self.assertTrue(json.dumps(first.ctl("status")))
        self.assertEqual(first.stop(), 0)
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".lock")], ["switch.sock.lock"])

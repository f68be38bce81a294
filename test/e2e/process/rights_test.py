"""rights_test.py - users of the groups of an installation: QEMU's may open guests' sockets and change nothing, readers may read."""

import json
import os
import stat

from case import mac
from controller import Controller
from controller_case import ControllerCase
from daemon import WEIRCTL
from processes import run
from switch import Switch

# Ids that need no entry in /etc/group.
ADMIN, READ, VM = 64_201, 64_202, 64_203
QEMU, READER, OPERATOR = 64_301, 64_302, 64_303


class RightsTest(ControllerCase):
    POLLS = False

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        for name, group, mode in (("admin", ADMIN, 0o2750), ("read", READ, 0o2750), ("vm", VM, 0o3770)):     # packaging/weir.tmpfiles
            os.mkdir(self.path(name))
            os.chown(self.path(name), 0, group)
            os.chmod(self.path(name), mode)

    def as_user(self, user, group, *words):
        return run(["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *words], check=False)

    def ctl(self, user, group, path, *words):
        """weirctl of that user: (status, reply)."""
        done = self.as_user(user, group, WEIRCTL, "--socket", path, "--json", *words)
        return done.returncode, json.loads(done.stdout)

    def refused(self, *where_and_words):
        status, reply = self.ctl(*where_and_words)
        self.assertEqual((status, reply["ok"]), (1, False), reply)
        return reply["faults"][0]

    def connects(self, user, group, path):
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
        return self.as_user(user, group, "/usr/bin/python3", "-c", code).returncode == 0

    def test_a_user_of_the_guests_group_connects_to_guests_sockets_and_changes_nothing(self):
        os.umask(0o007)
        self.addCleanup(os.umask, 0o022)
        self.switch = Switch(self.folder, {
            "poll": "adaptive", "control_socket": self.path("admin/switch.sock"), "control_read_socket": self.path("read/switch.sock"),
            "vnics": [{"name": "vm1", "mac": mac(1), "socket": self.path("vm/vm1.sock"), "mode": "server"},
                      {"name": "vm2", "mac": mac(2), "socket": self.path("vm/vm2.sock"), "mode": "server", "socket_group": "daemon",
                       "socket_mode": "0600"}]})
        self.switch.socket = self.path("admin/switch.sock")
        self.switch.start()
        admin, read, guest = (self.path(name) for name in ("admin/switch.sock", "read/switch.sock", "vm/vm1.sock"))
        # QEMU: its sockets alone, and no other VM's file.
        self.assertTrue(self.connects(QEMU, VM, guest))
        for path in (admin, read, self.path("vm/vm2.sock")):
            self.assertFalse(self.connects(QEMU, VM, path), path)
        self.assertNotEqual(self.as_user(QEMU, VM, "rm", guest).returncode, 0)
        self.assertTrue(os.path.exists(guest))
        self.assertIn("may not open", self.refused(QEMU, VM, admin, "vnic", "set", "vm1", "limit=64kbit")["message"])
        # A reader reads, and the attempt of more is in the log with its user.
        status, reply = self.ctl(READER, READ, read, "vnic", "list")
        self.assertEqual((status, len(reply["data"]["vnics"])), (0, 2))
        self.assertFalse(self.connects(READER, READ, admin))
        fault = self.refused(READER, READ, read, "vnic", "set", "vm1", "limit=64kbit")
        self.assertEqual((fault["path"], fault["found"]), ("command", "vnic.set"))
        self.assertIsNone(self.switch.vnic("vm1")["limit_bps"])
        # An operator may all, and has a name in the log.
        status, _ = self.ctl(OPERATOR, ADMIN, admin, "vnic", "set", "vm1", "limit=64Mbit")
        self.assertEqual((status, self.switch.vnic("vm1")["limit_bps"]), (0, 64_000_000))
        with open(self.switch.log) as stream:
            log = stream.read()
        self.assertRegex(log, rf"vnic.set at control_read_socket, of uid {READER}, process \d+: refused")
        self.assertRegex(log, rf"command vnic.set .*64Mbit.* of uid {OPERATOR}, process \d+")
        for path in (admin, read):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o660)

    def test_of_the_controllers_sockets_each_group_may_open_its_own(self):
        os.umask(0o022)                             # its own modes count under any umask
        admin, read = self.path("admin/ctrl.sock"), self.path("read/ctrl.sock")
        self.controller = Controller(self.folder, {"topology": {"hosts": [{"name": "h1"}]}, "control_socket": admin,
                                                   "control_read_socket": read})
        self.controller.socket = admin
        self.controller.start()
        for user, group, path, may in ((QEMU, VM, admin, False), (QEMU, VM, read, False), (READER, READ, admin, False),
                                       (READER, READ, read, True), (OPERATOR, ADMIN, admin, True), (OPERATOR, ADMIN, read, False)):
            self.assertEqual(self.connects(user, group, path), may, (user, path))
        self.assertEqual(self.refused(READER, READ, read, "pool", "set", "p", "shares=3")["path"], "command")
        self.assertEqual(self.ctl(OPERATOR, ADMIN, admin, "status")[0], 0)

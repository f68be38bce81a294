"""sockets_test.py - folders of sockets that are missing, read-only or made anew, and sockets that others have: one vNIC waits, and comes when it can."""

import os
import shutil
import socket

from case import Case, mac
from processes import run
from switch import Switch
from wait import BOUND_SECONDS, until


class SocketsTest(Case):
    POLLS = False

    def start_switch(self, *vnics, **keys):
        return super().start_switch(*vnics, poll="adaptive", **keys)

    def at(self, number, path, mode):
        return {**self.vnic(number, mode=mode), "socket": path}

    def stream(self):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(one.close)
        one.settimeout(BOUND_SECONDS)
        return one

    def listener(self, path):
        """A program that listens there, as QEMU does."""
        one = self.stream()
        one.bind(path)
        one.listen()
        return one

    def connects(self, path):
        try:
            self.stream().connect(path)
        except OSError:
            return False
        return True

    def fault(self, name):
        vnic = self.switch.vnic(name)
        self.assertEqual(vnic["state"], "down")
        return vnic["socket_fault"]

    def wait_fault(self, name, *texts):
        until(lambda: all(text in (self.fault(name) or "") for text in texts), f"{name} waiting: {texts}")

    def wait_server(self, name, path):
        until(lambda: self.connects(path), f"{name} listening on {path}")
        self.assertIsNone(self.fault(name))

    def test_folders_that_are_missing_come_go_and_come_again_and_only_their_vnics_wait(self):
        folder = self.path("late")
        server, client, other = os.path.join(folder, "vm2.sock"), os.path.join(folder, "vm3.sock"), self.path("vm1.sock")
        self.start_switch(self.vnic(1, mode="server"), self.at(2, server, "server"), self.at(3, client, "client"))
        inode = os.stat(other).st_ino
        for name in ("vm2", "vm3"):
            self.assertEqual(self.fault(name), f"the folder {folder} is missing; make it: mkdir -p {folder}")
            self.assertEqual(self.switch.process.output().count(f"vNIC {name}: no front-end can come"), 1)
        self.assertIsNone(self.fault("vm1"))
        os.mkdir(folder)
        self.wait_server("vm2", server)
        self.listener(client).accept()              # the switch connects
        shutil.rmtree(folder)
        self.wait_fault("vm2", "missing")
        self.assertEqual(os.stat(other).st_ino, inode)
        os.mkdir(folder)
        self.wait_server("vm2", server)
        shutil.rmtree(folder)                       # and made again before the switch looks
        os.mkdir(folder)
        self.wait_server("vm2", server)
        os.remove(server)
        self.wait_server("vm2", server)

    def test_commands_are_answered_again_when_their_folder_is_made_again(self):
        folder = self.path("commands")
        path = os.path.join(folder, "switch.sock")
        self.switch = Switch(self.folder, {"poll": "adaptive", "control_socket": path})
        self.switch.socket = path
        self.switch.start()
        for _ in range(2):
            shutil.rmtree(folder)
            os.mkdir(folder)
            until(self.switch.answers, "the switch answering at the new socket")
        with open(path + ".other", "w"):
            pass
        os.rename(path + ".other", path)            # the switch leaves another program's file there alone
        self.stop_switch()
        self.assertTrue(os.path.exists(path))

    def test_a_vnic_is_added_before_its_folder_is_there_and_removed_without_a_trace(self):
        path = self.path("late/vm2.sock")
        self.start_switch(self.vnic(1))
        self.switch.ctl("vnic", "add", "name=vm2", f"socket={path}", f"mac={mac(2)}", "mode=server")
        self.assertIn("mkdir -p", self.fault("vm2"))
        os.mkdir(self.path("late"))
        self.wait_server("vm2", path)
        self.switch.ctl("vnic", "remove", "vm2")
        self.assertEqual(os.listdir(self.path("late")), [])

    def test_on_a_read_only_mount_a_client_connects_and_a_server_waits_until_it_can_write(self):
        folder = self.path("mount")
        os.mkdir(folder)
        run(["mount", "-t", "tmpfs", "weir", folder])
        self.addCleanup(run, ["umount", "--lazy", folder])
        client, server = os.path.join(folder, "vm1.sock"), os.path.join(folder, "vm2.sock")
        vm = self.listener(client)
        run(["mount", "-o", "remount,ro", folder])
        self.start_switch(self.at(1, client, "client"), self.at(2, server, "server"))
        vm.accept()
        self.assertIsNone(self.fault("vm1"))
        fault = self.fault("vm2")
        self.assertIn("read-only", fault)
        self.assertIn(f"ReadWritePaths={folder}", fault)
        self.assertNotIn("chown", fault)
        run(["mount", "-o", "remount,rw", folder])
        self.wait_server("vm2", server)

    def test_a_socket_that_another_program_has_stays_its_own_and_what_it_leaves_is_replaced(self):
        path, file = self.path("vm1.sock"), self.path("vm2.sock")
        owner = self.listener(path)
        with open(file, "w") as stream:
            stream.write("text")
        self.start_switch(self.at(1, path, "server"), self.at(2, file, "server"), self.vnic(3, mode="server"))
        self.assertIn(f"listens on {path}", self.fault("vm1"))
        self.assertIn(f"{file} is there and not a socket", self.fault("vm2"))
        self.assertIsNone(self.fault("vm3"))
        self.assertTrue(self.connects(path))
        owner.accept()                              # and no other has connected
        owner.setblocking(False)
        self.assertRaises(BlockingIOError, owner.accept)
        owner.close()
        self.wait_server("vm1", path)
        os.remove(file)
        self.wait_server("vm2", file)

    def test_a_socket_that_another_program_takes_at_run_time_is_not_removed_at_the_end(self):
        path = self.path("vm1.sock")
        self.start_switch(self.vnic(1, mode="server"))
        taken = self.path("taken.sock")
        owner = self.listener(taken)
        os.rename(taken, path)                      # in place of the switch's
        self.wait_fault("vm1", f"listens on {path}")
        self.stop_switch()
        self.assertTrue(self.connects(path))
        owner.accept()

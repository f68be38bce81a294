"""store_test.py - the real controller on a disk that is full for a while, its backup, and stores that it refuses."""

import os
import shutil

from controller import Controller
from controller_case import APPLIANCE, ControllerCase
from daemon import BUILD, Refused
from processes import run
from wait import until

POOLED = {"appliances": [APPLIANCE], "topology": {"hosts": [{"name": "h1"}]},
          "tenants": [{"name": "A", "vnics": [{"name": "vm1"}], "appliances": [{"name": "disk"}]}],
          "pools": [{"name": "sales", "appliance": "disk", "vnics": [{"name": "vm1"}]}]}


class StoreTest(ControllerCase):
    POLLS = False

    def on_disk(self, folder, **keys):
        self.controller = Controller(self.folder, {**POOLED, "store": os.path.join(folder, "ctrl.db"), **keys})
        self.controller.store = os.path.join(folder, "ctrl.db")
        return self.controller

    def refused(self, *options):
        """The output of a weir-ctrl that does not start."""
        done = run([self.controller.PROGRAM, "--config", self.controller.write(), *options], check=False)
        self.assertEqual(done.returncode, 1)
        return done.stdout + done.stderr

    def test_a_disk_that_does_not_answer_holds_up_no_interval(self):
        hang = self.path("hang")
        controller = self.on_disk(self.folder)
        controller.around = ["env", f"LD_PRELOAD={os.path.join(BUILD, 'test', 'libslow-disk.so')}", f"WEIR_SLOW_DISK={hang}"]
        controller.start()
        controller.wait_intervals(2)
        with open(hang, "w"):
            reply = controller.ctl("pool", "set", "sales", "shares=300")
            self.assertEqual((reply["lasting"], "has not answered" in reply["fault"]), (False, True))
            controller.wait_intervals(20)                   # a loop that waited for the disk would not come to the next one
            until(lambda: "has not answered" in (controller.ctl("status")["store"]["fault"] or ""), "the fault of the store")
            for words in (("audit",), ("rollback", "1", "--force"), ("backup", self.path("copy"))):
                with self.assertRaisesRegex(Refused, "the disk has not answered"):
                    controller.ctl(*words)
            controller.wait_intervals(5)
        os.remove(hang)
        until(lambda: controller.ctl("status")["store"]["failing_since"] is None, "the store written again")
        until(lambda: any("written again after" in entry["text"] for entry in controller.ctl("audit")["entries"]), "the gap in the trail")
        self.assertEqual(len([entry for entry in controller.ctl("audit")["entries"] if entry["kind"] == "pool"]), 1)
        self.stop_controller()
        self.assertEqual(controller.stored("SELECT value FROM pool_settings"), [(300,)])

    def test_on_a_full_disk_the_controller_goes_on_and_writes_again_when_there_is_room(self):
        disk = self.path("disk")
        os.mkdir(disk)
        run(["mount", "-t", "tmpfs", "-o", "size=2m", "weir", disk])
        self.addCleanup(run, ["umount", "--lazy", disk], check=False)
        controller = self.on_disk(disk).start()
        filler = os.path.join(disk, "filler")
        with open(filler, "wb", buffering=0) as stream:
            try:
                while stream.write(b"x" * 4096):
                    pass
            except OSError as full:
                self.assertIn("No space left", str(full))
        reply = controller.ctl("pool", "set", "sales", "shares=300")
        self.assertFalse(reply["lasting"])
        self.assertIn("full", reply["fault"])
        before = controller.ctl("status")["interval"]
        until(lambda: controller.ctl("status")["store"]["refused_writes"] >= 3, "the store tried again every interval")
        status = controller.ctl("status")
        self.assertGreater(status["interval"], before)
        self.assertIsNotNone(status["store"]["failing_since"])
        entry, = [entry for entry in controller.ctl("audit")["entries"] if entry["kind"] == "pool"]
        self.assertEqual((entry["stored"], entry["text"].split(",")[0]), (False, "sales: shares 100 -> 300"))
        self.assertIn("uid ", entry["peer"])
        os.remove(filler)
        until(lambda: controller.ctl("status")["store"]["failing_since"] is None, "the store written again")
        until(lambda: any(entry["kind"] == "store" for entry in controller.ctl("audit")["entries"]), "the gap in the audit trail")
        controller.kill()
        self.assertEqual(controller.stored("SELECT value FROM pool_settings"), [(300,)])
        self.assertEqual(len(controller.stored("SELECT 1 FROM audit WHERE kind = 'pool'")), 1)
        self.assertEqual(len(controller.stored("SELECT 1 FROM audit WHERE kind = 'store' AND text LIKE 'written again after%'")), 1)

    def test_a_backup_is_a_store_of_its_own_and_damaged_lost_and_foreign_stores_are_refused(self):
        controller = self.on_disk(self.folder, name="blue").start()
        copy = self.path("copy.db")
        self.assertEqual(controller.ctl("backup", copy)["file"], copy)
        epoch = controller.ctl("status")["epoch"]
        self.stop_controller()
        self.controller = self.on_disk(self.folder, name="red")
        self.assertIn("--renamed-from blue", self.refused())
        with open(controller.store, "r+b") as stream:
            stream.seek(os.path.getsize(controller.store) // 2)
            stream.write(b"x" * 8192)
        self.controller = self.on_disk(self.folder, name="blue")
        self.assertIn("put a backup in its place", self.refused())
        # Lost, with a bill beside it.
        os.remove(controller.store)
        os.makedirs(controller.store + "-bill")
        with open(controller.store + "-bill/2026-11.db", "wb"):
            pass
        self.assertIn("--epoch-above", self.refused())
        shutil.rmtree(controller.store + "-bill")
        os.replace(copy, controller.store)
        self.controller.start()
        self.assertGreater(self.controller.ctl("status")["epoch"], epoch)
        self.assertTrue([entry for entry in self.controller.ctl("audit")["entries"] if entry["text"] == f"epoch {epoch}"])

    def test_after_a_lost_store_the_switch_says_why_it_ignores_the_controller_and_which_epoch_is_needed(self):
        controller = self.on_disk(self.folder)
        controller.options = ["--epoch-above", str(2 ** 40)]
        controller.start()
        switch = self.join("h1", 1)
        self.wait_link(switch, "connected")
        epoch = self.link(switch)["epoch"]
        self.assertEqual(epoch, 2 ** 40 + 1)
        self.lose_store()
        controller.options = []
        controller.start()
        until(lambda: self.link(switch)["ignored"], "the reason why the controller is ignored")
        self.assertIn(f"--epoch-above {epoch}", self.link(switch)["ignored"])
        controller.wait_intervals(6)
        with open(switch.log) as stream:
            self.assertEqual(stream.read().count("answers, and is ignored"), 1)
        self.lose_store()
        controller.options = ["--epoch-above", str(epoch)]
        controller.start()
        until(lambda: self.link(switch)["epoch"] == epoch + 1, "the controller followed again")
        self.assertEqual(self.link(switch)["ignored"], "")

    def lose_store(self):
        self.controller.kill()
        for ending in ("", "-wal"):
            if os.path.exists(self.controller.store + ending):
                os.remove(self.controller.store + ending)

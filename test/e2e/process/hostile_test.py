"""hostile_test.py - a front-end that lies in every way, on a vNIC of its own, beside two VMs that must not notice."""

import json
import os
import resource

from case import Case
from daemon import BUILD
from processes import Process, run
from wait import BOUND_SECONDS, until

HOSTILE = os.path.join(BUILD, "test", "hostile", "weir-hostile")
BARRED = {"memory-punched": 6, "memory-absent": 7}      # the attacks after which the switch bars the socket, and the VM of each
SEEDS = (1, 2)
STEPS = 5                      # of each attack and seed; bench/run.sh hostile goes on for longer
UNLIMITED = 1_000 * BOUND_SECONDS
ENOUGH = 1000
LOG_LINES = 40                  # of the switch, for two seeds; the vhost library alone wrote 3,468


class HostileTest(Case):
    """vm1 sends to vm2 all the time; the attacker has vm3's socket, on which the switch listens, and sends to vm4. vm5 sends
    bursts to the attacker. vm6 and vm7 are of attacks after which a socket is barred."""

    def start(self):
        guests = self.vm(2, 4, begin=False), self.sender(1, 2, 200, begin=False), self.sender(5, 3, 200, begin=False)
        self.source = guests[1]
        self.start_switch(self.vnic(1, limit_pps="5kpps"), self.vnic(2), self.vnic(3, mode="server"), self.vnic(4),
                          self.vnic(5, limit_pps="5kpps"), *(self.vnic(vm, mode="server") for vm in BARRED.values()))
        self.begin(*guests)
        self.wait_packets("vm2", "to_vm", "delivered", ENOUGH)

    def buffers_free(self):
        return self.switch.ctl("status")["memory"]["buffers_free"]

    def attack(self, seed, vm=3, name="all", steps=STEPS):
        """One attack of the tool, or all that leave the socket usable; the steps and connections of each."""
        done = run([HOSTILE, "--socket", self.path(f"vm{vm}.sock"), "--vm", vm, "--peer", 4, "--seed", seed, "--attack", name,
                    "--steps", steps, "--seconds", UNLIMITED, "--json"])
        return [json.loads(line) for line in done.stdout.splitlines()]

    def open_files(self):
        return len(os.listdir(f"/proc/{self.switch.process.pid}/fd"))

    def mappings(self):
        """Files of guests' memory that the switch has mapped."""
        with open(f"/proc/{self.switch.process.pid}/maps") as stream:
            return sum("/memfd:hostile" in line for line in stream)

    def assert_nothing_left(self, files, buffers):
        until(lambda: self.switch.vnic("vm3")["state"] == "down", "vm3 down")
        until(lambda: self.open_files() <= files, f"{files} open files again")
        self.assertEqual(self.mappings(), 0)
        until(lambda: self.buffers_free() >= buffers, f"{buffers} free buffers again")

    def test_no_attack_ends_the_switch_or_takes_frames_of_two_other_vms(self):
        self.start()
        files, buffers = self.open_files(), self.buffers_free() - 2 * ENOUGH
        for seed in SEEDS:
            for done in self.attack(seed):
                self.assertEqual(done["steps"], STEPS, done)
                self.assertGreater(done["connects"], 0, done)
                self.assertEqual(done["bytes_changed"], 0, done)
            self.switch.check_alive()
            self.wait_more("vm1", packets=ENOUGH, direction="from_vm")
        self.attack_until_barred()
        self.assertEqual(self.drops("vm1"), {})
        self.assert_only_broadcasts_lost()
        self.assert_accounts()
        with open(self.switch.log, errors="replace") as log:
            self.assertLess(len(log.readlines()), LOG_LINES, "a guest decides how much is logged")
        self.assert_nothing_left(files, buffers)
        self.work_again()

    def attack_until_barred(self):
        """An attack that makes a worker wait costs the attacker its socket, and the vNIC says why."""
        for name, vm in BARRED.items():
            with self.subTest(name):
                until(lambda: self.attack(1, vm, name) and self.switch.vnic(f"vm{vm}")["front_end_fault"], f"vm{vm} barred")
                self.switch.check_alive()
                self.wait_more("vm1", packets=ENOUGH, direction="from_vm")

    def assert_only_broadcasts_lost(self):
        """vm1 stops. Of the frames offered to vm2, no more are lost than the attacker has broadcast: none of vm1's need be among them.

        All programs here share a core, so that vm2's VM may be late to empty its ring, in which copies of broadcasts lie as
        well; those beyond the MTU are refused. How many frames arrive in time is measured by bench/run.sh hostile.
        """
        self.source.halt()
        until(lambda: self.packets("vm1", "from_vm", "offered") == self.source.sent(), "all frames of vm1 taken from its ring")
        until(lambda: self.packets("vm1", "from_vm", "queued") + self.packets("vm2", "to_vm", "queued") == 0, "no frame waiting")
        broadcasts = self.packets("vm2", "to_vm", "offered") - self.packets("vm1", "from_vm", "delivered")
        self.assertGreater(broadcasts, 0)
        drops = self.drops("vm2", "to_vm")
        self.assertLessEqual(drops.keys(), {"vm_ring_full", "vm_buffer_short", "mtu_exceeded"})
        self.assertLessEqual(sum(drops.values()), broadcasts, drops)

    def work_again(self):
        """vm3's socket serves an honest guest."""
        before = self.packets("vm3", "from_vm", "delivered")
        self.sender(3, 4, server=False)
        self.wait_packets("vm3", "from_vm", "delivered", before + ENOUGH)
        self.assert_accounts()

    def connect_beside(self, attack):
        """vm1 connects while a front-end at vm3's socket goes on with the attack."""
        self.start_switch(self.vnic(1, mode="server"), self.vnic(3, mode="server"))
        attacker = Process([HOSTILE, "--socket", self.path("vm3.sock"), "--attack", attack, "--seconds", str(UNLIMITED)],
                           self.path("hostile.log"))
        attacker.expect(f"{attack} begins")
        self.vm(1, server=False)
        self.assertTrue(attacker.alive(), "the attack ended before the VM was up")

    def test_a_vm_connects_while_a_front_end_sends_half_messages(self):
        self.connect_beside("half-message")

    def test_a_vm_connects_while_a_front_end_sends_files_whose_close_waits(self):
        self.connect_beside("blocking-close")

    def test_a_switch_may_open_as_many_files_as_its_hard_limit_allows(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
        self.start_switch(self.vnic(1, mode="server"))
        self.assertEqual(resource.prlimit(self.switch.process.pid, resource.RLIMIT_NOFILE), (hard, hard))

"""leftovers_test.py - files that a switch leaves on its host: none after an ordinary end, those of one run after SIGKILL.

The test runner gives this program a /dev/hugepages and a /run/dpdk of its own, so that all files found there are of this program.
"""

import glob
import mmap
import os
import signal
import subprocess

from case import Case
from daemon import ROOT

PAGE = 2 << 20
SETUP = os.path.join(ROOT, "test", "support", "setup.sh")


def hugepage_files():
    return set(glob.glob("/dev/hugepages/*"))


def runtime_folders():
    return set(glob.glob("/run/dpdk/weir-*"))


class LeftoversTest(Case):
    POLLS = False

    def setUp(self):
        super().setUp()
        self.before = hugepage_files() | runtime_folders()

    def sockets(self):
        return set(glob.glob(self.path("*.sock")))

    def left(self):
        """Hugepage files, runtime folders and sockets that were not there before."""
        return (hugepage_files() | runtime_folders() | self.sockets()) - self.before

    def start(self):
        self.start_switch(self.vnic(1, mode="server"), poll="adaptive")

    def test_an_ordinary_end_leaves_nothing(self):
        self.start()
        self.assertEqual(hugepage_files() - self.before, set())
        self.stop_switch()
        self.assertEqual(self.left(), set())

    def test_kills_leave_no_more_than_one_runs_folder_and_sockets_and_the_next_end_takes_them(self):
        for _ in range(3):
            self.start()
            self.switch.stop(signal.SIGKILL)
            self.assertEqual(hugepage_files() - self.before, set())
            self.assertEqual(len(runtime_folders() - self.before), 1)
            self.assertLessEqual(self.sockets(), {self.path("vm1.sock"), self.path("switch.sock")})
        self.start()
        self.stop_switch()
        self.assertEqual(self.left(), set())

    def leftovers(self):
        """Files that setup.sh counts as those of killed programs."""
        done = subprocess.run(["bash", "-c", f"source {SETUP}; leftovers"], capture_output=True, text=True, check=True)
        return {name for name in done.stdout.split() if os.path.dirname(name) == "/dev/hugepages"}

    def test_setup_distinguishes_files_of_killed_programs_from_pages_in_use(self):
        used, mapped, forgotten = (f"/dev/hugepages/{name}" for name in ("used", "mapped", "forgotten"))
        files = {name: os.open(name, os.O_CREAT | os.O_RDWR) for name in (used, mapped, forgotten)}
        for file in files.values():
            os.ftruncate(file, PAGE)
        pages = mmap.mmap(files[mapped], PAGE)
        for name in (mapped, forgotten):
            os.close(files[name])
        self.assertEqual(self.leftovers(), {forgotten})
        pages.close()
        os.close(files[used])
        self.assertEqual(self.leftovers(), {used, mapped, forgotten})
        for name in files:
            os.remove(name)

"""daemon.py - the common part of a weir-switch and a weir-ctrl for tests: a file, a log, a command socket.

One at a time per folder.
"""

import json
import os
import signal
import subprocess
import time

from processes import Process, run, tail
from wait import BOUND_SECONDS, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("WEIR_BUILD", os.path.join(ROOT, "build"))
WEIRCTL = os.path.join(BUILD, "ctrl", "cli", "weirctl")
LATE = "no reply within"
CHANGES = {"set", "set-vnic", "add", "remove", "reset", "apply", "drain", "step"}
# Less than the time that a command may take in all, so that it is weirctl that reports.
CHANGE_BOUND = f"{min(BOUND_SECONDS / 2, 3600)}s"


class Refused(Exception):
    """weirctl refused the command; `faults` as in its JSON."""

    def __init__(self, words, faults):
        super().__init__(f"weirctl {' '.join(words)}: {faults}")
        self.faults = faults


class Daemon:
    """`program` with `settings`, a dictionary, as its `file`; commands go to `socket`."""

    PROGRAM = None
    NICE = -10

    def __init__(self, folder, file, log, socket):
        self.folder = folder
        self.file = os.path.join(folder, file)
        self.log = os.path.join(folder, log)
        self.socket = os.path.join(folder, socket)
        self.name = os.path.basename(self.PROGRAM)
        self.process = None
        self.settings = {}
        self.options = []
        self.around = []        # words before the program: `env NAME=VALUE`

    def write(self):
        with open(self.file, "w") as stream:
            json.dump(self.settings, stream, indent=2)
        return self.file

    def check(self):
        """The program's `--check`: (status, output)."""
        done = run([self.PROGRAM, "--config", self.write(), "--check"], check=False)
        return done.returncode, done.stdout + done.stderr

    def launch(self):
        """Starts the process and does not wait."""
        self.process = Process([*self.around, self.PROGRAM, "--config", self.write(), *self.options], self.log, nice=self.NICE)
        return self

    def start(self):
        """Starts it and waits until it answers. Returns itself."""
        self.launch()
        until(self.answers, f"{self.name} answering weirctl")
        return self

    def check_alive(self):
        if not self.process.alive():
            raise ChildProcessError(f"{self.name} ended with {self.process.child.returncode}: {tail(self.log)}")

    def answers(self):
        self.check_alive()
        try:
            return bool(self.ctl("status"))
        except (Refused, subprocess.TimeoutExpired):
            return False

    def ctl(self, *words):
        """A weirctl command; its `data`, or Refused. On a machine that does other things a reply may come late: a reading is asked
        for again after weirctl's 2 s, a change is asked for once and waited for."""
        changes = bool(CHANGES & set(words))
        deadline = time.monotonic() + BOUND_SECONDS
        while True:
            done = run([WEIRCTL, "--socket", self.socket, "--json", *(("--timeout", CHANGE_BOUND) if changes else ()), *words], check=False)
            try:
                reply = json.loads(done.stdout)
            except json.JSONDecodeError:
                raise Refused(words, (done.stdout + done.stderr).strip()) from None
            if reply.get("ok", done.returncode == 0):
                return reply.get("data", reply)
            late = LATE in str(reply.get("faults")) and not changes
            if not late or not (self.process and self.process.alive()) or time.monotonic() > deadline:
                raise Refused(words, reply.get("faults"))

    def stop(self, how=signal.SIGTERM):
        """Ends it; returns its exit status."""
        status = self.process.stop(how) if self.process else 0
        self.process = None
        return status

    def kill(self):
        return self.stop(signal.SIGKILL)

"""switch.py - a weir-switch of our own: `Switch(folder, config).start()`, then `ctl("vnic", "list")`.

One at a time per folder; the folder holds its configuration, log and command socket.
"""

import json
import os
import signal
import subprocess

from processes import Process, tail
from wait import until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("WEIR_BUILD", os.path.join(ROOT, "build"))
SWITCH = os.path.join(BUILD, "vswitch", "weir-switch")
WEIRCTL = os.path.join(BUILD, "ctrl", "cli", "weirctl")
WORKER_CORE = 1


class Refused(Exception):
    """weirctl said no; `faults` as in its JSON."""

    def __init__(self, words, faults):
        super().__init__(f"weirctl {' '.join(words)}: {faults}")
        self.faults = faults


def other_cores():
    """Where everything but the switch's worker runs."""
    return (os.sched_getaffinity(0) - {WORKER_CORE}) or {0}


class Switch:
    """`config` is the configuration as a dictionary; host, command socket and EAL arguments are filled in."""

    def __init__(self, folder, config):
        self.folder = folder
        self.socket = os.path.join(folder, "switch.sock")
        self.log = os.path.join(folder, "switch.log")
        self.file = os.path.join(folder, "switch.jsonc")
        self.process = None
        prefix = f"--file-prefix=weir-{os.getpid()}-{os.path.basename(folder)}"
        self.config = {"host": "h1", "workers": [WORKER_CORE], "control_socket": self.socket,
                       "eal": ["--no-pci", "--single-file-segments", prefix], **config}

    def write(self):
        with open(self.file, "w") as stream:
            json.dump(self.config, stream, indent=2)
        return self.file

    def check(self):
        """`weir-switch --check`: (status, output)."""
        done = subprocess.run([SWITCH, "--config", self.write(), "--check"], capture_output=True, text=True,
                              timeout=20, check=False)
        return done.returncode, done.stdout + done.stderr

    def launch(self):
        """Starts the process and does not wait."""
        self.process = Process([SWITCH, "--config", self.write()], self.log, nice=-20)
        return self

    def start(self, seconds=20):
        """Starts it and waits until it answers. Returns the switch."""
        self.launch()
        until(self.answers, seconds, "weir-switch answering weirctl")
        return self

    def answers(self):
        if not self.process.alive():
            raise ChildProcessError(f"weir-switch ended with {self.process.child.returncode}: {tail(self.log)}")
        try:
            return bool(self.ctl("status"))
        except (Refused, subprocess.TimeoutExpired):
            return False

    def ctl(self, *words):
        """A weirctl command; its `data`, or Refused."""
        done = subprocess.run([WEIRCTL, "--socket", self.socket, "--json", *words], capture_output=True, text=True,
                              timeout=10, check=False)
        try:
            reply = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise Refused(words, (done.stdout + done.stderr).strip()) from None
        if not reply.get("ok", done.returncode == 0):
            raise Refused(words, reply.get("faults"))
        return reply.get("data", reply)

    def vnic(self, name):
        return self.ctl("vnic", "show", name)

    def wait_up(self, *names, seconds=20):
        """Waits until the vNICs' guests have their drivers running."""
        until(lambda: all(self.vnic(name)["state"] == "up" for name in names), seconds, f"vNICs {names} up")
        return self

    def stop(self, how=signal.SIGTERM):
        """Ends it; returns its exit status."""
        status = self.process.stop(how) if self.process else 0
        self.process = None
        return status

    def kill(self):
        return self.stop(signal.SIGKILL)

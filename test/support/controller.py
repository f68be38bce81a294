"""controller.py - a weir-ctrl of our own: `Controller(folder, cluster).start()`, then `ctl("status")`.

One at a time per folder; the folder holds its cluster file, log, store and sockets.
"""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess

from processes import Process, tail
from switch import BUILD, WEIRCTL, Refused
from wait import until

CONTROLLER = os.path.join(BUILD, "ctrl", "weir-ctrl")
INTERVAL = 0.2


def make_key(path):
    """A key pair: the secret in the file; returns the public key."""
    done = subprocess.run([CONTROLLER, "--make-key", path], capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.strip()


class Controller:
    """`cluster` is the cluster file as a dictionary; sockets, store and a short interval are filled in."""

    def __init__(self, folder, cluster):
        self.folder = folder
        self.socket = os.path.join(folder, "ctrl.sock")
        self.log = os.path.join(folder, "ctrl.log")
        self.file = os.path.join(folder, "cluster.jsonc")
        self.store = os.path.join(folder, "ctrl.db")
        self.endpoint = f"ipc://{folder}/ctrl.ipc"
        self.process = None
        self.cluster = {"interval": f"{int(INTERVAL * 1000)}ms", "listen": [self.endpoint],
                        "control_socket": self.socket, "store": self.store, **cluster}

    def write(self):
        with open(self.file, "w") as stream:
            json.dump(self.cluster, stream, indent=2)
        return self.file

    def check(self):
        """`weir-ctrl --check`: (status, output)."""
        done = subprocess.run([CONTROLLER, "--config", self.write(), "--check"], capture_output=True, text=True,
                              timeout=20, check=False)
        return done.returncode, done.stdout + done.stderr

    def launch(self):
        self.process = Process([CONTROLLER, "--config", self.write()], self.log)
        return self

    def start(self, seconds=20):
        self.launch()
        until(self.answers, seconds, "weir-ctrl answering weirctl")
        return self

    def answers(self):
        if not self.process.alive():
            raise ChildProcessError(f"weir-ctrl ended with {self.process.child.returncode}: {tail(self.log)}")
        try:
            return bool(self.ctl("status"))
        except (Refused, subprocess.TimeoutExpired):
            return False

    def ctl(self, *words):
        """A command of the controller's socket; its `data`, or Refused."""
        done = subprocess.run([WEIRCTL, "--socket", self.socket, "--json", *words], capture_output=True, text=True,
                              timeout=10, check=False)
        try:
            reply = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise Refused(words, (done.stdout + done.stderr).strip()) from None
        if not reply.get("ok"):
            raise Refused(words, reply.get("faults"))
        return reply["data"]

    def host(self, name):
        return next(host for host in self.ctl("status")["hosts"] if host["name"] == name)

    def wait_host(self, name, state, seconds=20):
        until(lambda: self.host(name)["state"] == state, seconds, f"host {name} {state}")

    def stored(self, question):
        """The rows that the store answers with; only while no controller has it."""
        with contextlib.closing(sqlite3.connect(self.store)) as store:
            return store.execute(question).fetchall()

    def stop(self, how=signal.SIGTERM):
        status = self.process.stop(how) if self.process else 0
        self.process = None
        return status

    def kill(self):
        return self.stop(signal.SIGKILL)

"""controller.py - a weir-ctrl for tests: `Controller(folder, cluster).start()`, then `ctl("status")`.

One at a time per folder; the folder holds its cluster file, log, store and sockets.
"""

import contextlib
import os
import sqlite3
import subprocess

from daemon import BUILD, Daemon
from wait import until

CONTROLLER = os.path.join(BUILD, "ctrl", "weir-ctrl")
INTERVAL = 0.2


def make_key(path):
    """A key pair: the secret in the file; returns the public key."""
    done = subprocess.run([CONTROLLER, "--make-key", path], capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.strip()


class Controller(Daemon):
    """`cluster` is the cluster file as a dictionary; sockets, store and a short interval are filled in."""

    PROGRAM = CONTROLLER

    def __init__(self, folder, cluster):
        super().__init__(folder, "cluster.jsonc", "ctrl.log", "ctrl.sock")
        self.store = os.path.join(folder, "ctrl.db")
        self.endpoint = f"ipc://{folder}/ctrl.ipc"
        self.settings = self.cluster = {"interval": f"{int(INTERVAL * 1000)}ms", "listen": [self.endpoint],
                                        "control_socket": self.socket, "store": self.store, **cluster}

    def host(self, name):
        return next(host for host in self.ctl("status")["hosts"] if host["name"] == name)

    def wait_host(self, name, state, seconds=20):
        until(lambda: self.host(name)["state"] == state, seconds, f"host {name} {state}")

    def stored(self, question):
        """The rows that the store answers with; only while no controller has it."""
        with contextlib.closing(sqlite3.connect(self.store)) as store:
            return store.execute(question).fetchall()

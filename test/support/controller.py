"""controller.py - a weir-ctrl for tests: `Controller(folder, cluster).start()`, then `ctl("status")`.

One at a time per folder; the folder holds its cluster file, log, store and sockets.
"""

import contextlib
import glob
import json
import os
import sqlite3

from daemon import BUILD, Daemon
from processes import run
from wait import until

CONTROLLER = os.path.join(BUILD, "ctrl", "weir-ctrl")
INTERVAL_MS = 200


def make_key(path):
    """A key pair: the secret in the file; returns the public key."""
    return run([CONTROLLER, "--make-key", path]).stdout.strip()


class Controller(Daemon):
    """`cluster` is the cluster file as a dictionary; sockets, store and a short interval are filled in."""

    PROGRAM = CONTROLLER

    def __init__(self, folder, cluster):
        super().__init__(folder, "cluster.jsonc", "ctrl.log", "ctrl.sock")
        self.store = os.path.join(folder, "ctrl.db")
        self.endpoint = f"ipc://{folder}/ctrl.ipc"
        self.settings = self.cluster = {"interval": f"{INTERVAL_MS}ms", "listen": [self.endpoint],
                                        "control_socket": self.socket, "store": self.store, **cluster}

    def next_file(self):
        """The cluster as it is now, as a file of its own."""
        file = os.path.join(self.folder, "next.jsonc")
        with open(file, "w") as stream:
            json.dump(self.cluster, stream)
        return file

    def apply(self, *options):
        """The cluster as it is now becomes the next revision of the running controller."""
        return self.ctl("apply", self.next_file(), "--yes", *(() if "--base" in options else ("--force",)), *options)

    def host(self, name):
        return next(host for host in self.ctl("status")["hosts"] if host["name"] == name)

    def wait_host(self, name, state):
        until(lambda: self.host(name)["state"] == state, f"host {name} {state}")

    def wait_intervals(self, count):
        """Waits until so many of its intervals have ended."""
        before = self.ctl("status")["interval"]
        until(lambda: self.ctl("status")["interval"] >= before + count, f"{count} intervals")

    def billed(self, question):
        """The rows that the bill's files answer with, month by month; a controller may write meanwhile."""
        rows = []
        for file in sorted(glob.glob(self.store + "-bill/*.db")):
            with contextlib.closing(sqlite3.connect(file)) as bill:
                rows += bill.execute(question).fetchall()
        return rows

    def stored(self, question):
        """The rows that the store answers with; only while no controller has it."""
        with contextlib.closing(sqlite3.connect(self.store)) as store:
            return store.execute(question).fetchall()

"""switch.py - a weir-switch for tests: `Switch(folder, config).start()`, then `ctl("vnic", "list")`.

One at a time per folder; the folder holds its configuration, log and command socket.
"""

import json
import os
import socket

from daemon import BUILD, ROOT, WEIRCTL, Daemon, Refused  # noqa: F401 - users of a switch take them from here
from wait import BOUND_SECONDS, until

SWITCH = os.path.join(BUILD, "vswitch", "weir-switch")
WORKER_CORE = 1
TELEMETRY_BYTES = 1 << 16


def other_cores():
    """Where everything but the switch's worker runs."""
    return (os.sched_getaffinity(0) - {WORKER_CORE}) or {0}


class Switch(Daemon):
    """`config` is the configuration as a dictionary; host, command socket and EAL arguments are filled in."""

    PROGRAM = SWITCH
    NICE = -20

    def __init__(self, folder, config):
        super().__init__(folder, "switch.jsonc", "switch.log", "switch.sock")
        self.socket = config.get("control_socket", self.socket)
        prefix = f"--file-prefix=weir-{os.getpid()}-{os.path.basename(folder)}"
        self.settings = self.config = {"host": "h1", "workers": [WORKER_CORE], "control_socket": self.socket,
                                       "eal": ["--no-pci", "--single-file-segments", prefix], **config}

    def vnic(self, name):
        return self.ctl("vnic", "show", name)

    def telemetry(self, command):
        """The answer of the switch on DPDK's own telemetry socket."""
        prefix = next(word for word in self.config["eal"] if word.startswith("--file-prefix=")).split("=")[1]
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.settimeout(BOUND_SECONDS)
            line.connect(f"/run/dpdk/{prefix}/dpdk_telemetry.v2")
            line.recv(TELEMETRY_BYTES)              # the greeting
            line.send(command.encode())
            return json.loads(line.recv(TELEMETRY_BYTES))[command.split(",")[0]]

    def wait_up(self, *names):
        """Waits until the vNICs' guests have their drivers running."""
        def up():
            states = {vnic["name"]: vnic["state"] for vnic in self.ctl("vnic", "list")["vnics"]}
            return all(states.get(name) == "up" for name in names)
        until(up, f"vNICs {names} up")
        return self


class TelemetrySwitch(Switch):
    """A switch that is read by DPDK's telemetry alone, so that weirctl need not be built."""

    def answers(self):
        self.check_alive()
        try:
            return bool(self.telemetry("/weir/status"))
        except (OSError, json.JSONDecodeError, KeyError):
            return False

    def vnic(self, name):
        return self.telemetry(f"/weir/vnic,{name}")

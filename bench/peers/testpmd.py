"""testpmd.py - testpmd on net_vhost ports: forwarding without switching (io), or with rewritten MACs (mac)."""
import re
import shutil

from bench.lib.child import Child
from bench.lib.host import EAL_SWITCH
from bench.lib.system import Busy, System


class Testpmd(System):
    def __init__(self, place, ports, listens=True, mode="io"):
        super().__init__(place, ports, listens)
        self.mode = mode
        self.name = f"testpmd-{mode}"

    def start(self):
        binary = shutil.which("dpdk-testpmd")
        if not binary:
            raise SystemExit("dpdk-testpmd is missing: apt-get install dpdk-dev")
        client = "" if self.listens else ",client=1"
        devices = [f"--vdev=net_vhost{i},iface={port['socket']},queues=1{client}"
                   for i, port in enumerate(self.ports)]
        options = ["-i", "-a", f"--forward-mode={self.mode}", "--record-core-cycles", "--no-lsc-interrupt",
                   "--disable-link-check", "--nb-cores=1"]
        if self.mode == "mac":  # each port's packets go to the VM behind the other port
            options += [f"--eth-peer={i},{port['mac']}" for i, port in enumerate(self.ports)]
        lines = ["stdbuf", "-oL"]  # else its answers wait in a buffer of its C library
        self.child = Child(self.name, [*lines, binary, *EAL_SWITCH, *devices, "--", *options], self.place.file("testpmd.log"))

    def begin(self):
        self.child.write_line("clear fwd stats all")

    def end(self):
        self.child.write_line("show fwd stats all")
        line = self.child.line_with(lambda text: "CPU cycles/packet" in text)
        return Busy(float(re.search(r"CPU cycles/packet=([0-9.]+)", line).group(1)))

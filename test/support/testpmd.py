"""testpmd.py - dpdk-testpmd as virtual machines: virtio-user ports on the switch's vhost-user sockets, at full speed."""

import itertools
import os
import re

from processes import Process, tail
from switch import other_cores
from wait import until

PROMPT = "testpmd> "
RING = 1024
NUMBERS = itertools.count()


class Testpmd:
    """One process with one or more ports. `ports`: dictionaries of virtio_user arguments, `path` and `mac` at least.

    `forward` is testpmd's mode; it starts with start(). `peer`: the MAC that txonly sends to. A process that is made
    comes up by itself, and several do so at once; commands wait for it.
    """

    def __init__(self, folder, ports, forward="io", peer=None, options=(), queues=1):
        name = f"testpmd{next(NUMBERS)}"
        core = min(other_cores())
        for port in ports:
            if port.get("server") and os.path.exists(port["path"]):
                os.unlink(port["path"])             # left by a killed VM
        # Deep rings: several VMs share a core here, and none may run dry while the others have their turn.
        vdevs = [f"--vdev=net_virtio_user{index},queue_size={RING}," +
                 ",".join(f"{key}={value}" for key, value in port.items()) for index, port in enumerate(ports)]
        peers = [f"--eth-peer={index},{peer}" for index in range(len(ports))] if peer else []
        # Line by line, so that its output is in the log at once.
        command = ["stdbuf", "-oL", "dpdk-testpmd", "--lcores", f"0@{core},1@{core}", "--no-pci", "-m", "128",
                   "--single-file-segments", "--in-memory", "--no-telemetry", f"--file-prefix=weir-{os.getpid()}-{name}", *vdevs, "--",
                   "--interactive", "--total-num-mbufs=8192", f"--forward-mode={forward}", f"--rxq={queues}",
                   f"--txq={queues}", f"--rxd={RING}", f"--txd={RING}", *peers, *options]
        self.name, self.up = name, False
        self.process = Process(command, os.path.join(folder, f"{name}.log"))

    def ready(self):
        """Waits for its first prompt: it has all its ports then, and the switch at each."""
        if not self.up:
            until(self.prompting, f"{self.name} coming up")
            self.up = True
        return self

    def prompting(self, mark=0):
        if not self.process.alive():
            raise ChildProcessError(f"testpmd ended with {self.process.child.returncode}: {tail(self.process.log)}")
        return PROMPT in self.process.output()[mark:]

    def command(self, text):
        """Enters a line at its prompt. Returns its answer."""
        self.ready()
        mark = len(self.process.output())
        self.process.write(text + "\n")
        until(lambda: self.prompting(mark), f"testpmd: {text}")
        return self.process.output()[mark:]

    def start(self, bursts=0):
        """Begins to forward, after sending so many `bursts` of 32 frames from every port."""
        self.command(f"start tx_first {bursts}" if bursts else "start")
        return self

    def halt(self):
        """Stops forwarding; the ports stay."""
        self.command("stop")

    def counters(self, port=0):
        """(received, sent) packets of a port."""
        text = self.command(f"show port stats {port}")
        return tuple(int(re.search(rf"{way}-packets:\s*(\d+)", text)[1]) for way in ("RX", "TX"))

    def received(self, port=0):
        return self.counters(port)[0]

    def sent(self, port=0):
        return self.counters(port)[1]

    def stop(self):
        """Leaves as a guest that shuts down; returns the exit status."""
        self.ready().process.write("quit\n")
        until(lambda: not self.process.alive(), "testpmd quitting")
        return self.process.stop()

    def kill(self):
        """Dies as a guest that crashes."""
        return self.process.kill()

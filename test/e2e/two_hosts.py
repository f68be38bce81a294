"""two_hosts.py - two real switches joined by a wire: host A's VMs send, host B's receive.

VMs 1 and 2 are on A, 3 and 4 on B; test/support/hosts.py describes them.
"""

import os
import sys

import frames
from case import Case, mac
from hosts import Hosts
from processes import Process
from switch import ROOT
from wait import until

SOURCE = os.path.join(ROOT, "test", "support", "source.py")
KEY = "00112233445566778899aabbccddeeff"
# The period is long against the time for which a busy machine takes a worker's core, and against the time between two frames.
FEEDBACK = {"enabled": True, "period": "10ms", "rate_min": "1Mbit"}


class TwoHosts(Case):
    """`self.a` and `self.b` are the switches; both must end well, like the switch of any other test."""

    HOSTS = ("a", "b")

    def setUp(self):
        super().setUp()
        for name in self.HOSTS:
            setattr(self, name, None)
        self.site = Hosts(self.folder)
        self.join, self.kernel, self.serve = self.site.join, self.site.kernel, self.site.serve
        self.addCleanup(self.site.unplug)
        self.addCleanup(self.stop_hosts)

    def stop_hosts(self):
        for self.switch in [host for host in map(self.__getattribute__, self.HOSTS) if host]:
            self.stop_switch()

    def diagnosis(self):
        own, parts = self.folder, []
        for name in self.HOSTS:
            self.folder = os.path.join(own, name)
            parts.append(f"host {name}\n{super().diagnosis()}")
        self.folder = own
        return "\n".join(parts)

    def host(self, name, number_of_core, uplink, feedback, vnics, more=None):
        """Starts the switch `name`. `vnics`: keys by VM number; `more`: the switch's own."""
        section = {"key_file": self.key("feedback.key", KEY), **FEEDBACK, **(feedback or {})}
        keys = {"feedback": {key: value for key, value in section.items() if value is not None}} if feedback else {}
        keys |= more or {}
        return self.site.start(name, number_of_core, uplink, vnics, **keys)

    def hosts(self, receivers=None, uplink="200Mbit", downlink="200Mbit", feedback_a=FEEDBACK, feedback_b=FEEDBACK,
              senders=None):
        """Starts both; with `feedback` None they are without feedback. `receivers`: keys of VMs 3 and 4; `senders`: of 1 and 2."""
        receivers = {3: {}, 4: {}, **(receivers or {})}
        self.b = self.host("b", 0, {"rate": downlink}, feedback_b, receivers)
        self.a = self.host("a", 1, {"rate": uplink}, feedback_a, {1: {}, 2: {}, **(senders or {})})

    def capture(self, interface, wanted, *options):
        """A tshark that captures the `wanted` frames on an interface already, and its file: that is there when the capture has
        begun. The versions of tshark announce it in different words, or not at all."""
        path = self.path(f"{interface}.pcap")
        shark = Process(["tshark", "-n", "-i", interface, "-f", wanted, "-F", "pcap", "-w", path, *options],
                        self.path(f"{interface}.log"))
        until(lambda: os.path.exists(path) or not shark.alive(), f"a capture on {interface}")
        self.assertTrue(os.path.exists(path), shark.output())
        return shark, path

    def key(self, name, digits):
        """A file with a cluster's secret."""
        path = self.path(name)
        with open(path, "w", opener=lambda file, flags: os.open(file, flags, 0o600)) as stream:
            stream.write(digits + "\n")
        return path

    def send(self, number, rate, *peers, kind="ipv4", size=1514):
        """VM `number` sends UDP at `rate` bits/s in all, to each of these VMs alike. Returns the process."""
        command = [sys.executable, SOURCE, kind, f"eth{number}", str(rate), str(size), mac(number),
                   *(mac(peer) for peer in peers)]
        return Process(command, self.path(f"source{number}.log"))

    def feedback(self, host):
        return host.ctl("status")["feedback"]

    def wait_feedback(self, host, name, least=1):
        until(lambda: self.feedback(host)[name] >= least, f"{host.config['host']}: {least} {name}")

    def settle(self):
        """Waits until all frames of A's VMs have been delivered or dropped."""
        def counts():
            return [[vnic["from_vm"]["offered"], vnic["from_vm"]["delivered"], vnic["to_vm"]["delivered"]]
                    for host in (self.a, self.b) for vnic in host.ctl("vnic", "list")["vnics"]]

        def still():
            before = counts()
            return all(not self.a.vnic(f"vm{number}")["from_vm"]["queued"]["packets"] for number in (1, 2)) \
                and counts() == before
        until(still, "the end of all traffic")

    def assert_both_accounts(self):
        for self.switch in (self.a, self.b):
            self.assert_accounts()
        self.switch = None


def feedback_frame(source, destination):
    """A forged feedback frame, from a guest that tries to set the rate of another one."""
    frame = frames.ipv4(source, destination, frames.FEEDBACK, 62)
    return frame[:34] + b"WEIR" + frame[38:]

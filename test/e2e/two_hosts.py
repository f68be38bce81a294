"""two_hosts.py - two real switches joined by a wire: host A's VMs send, host B's receive.

A VM is a veth: the switch has the end `vmN`, the VM the end `ethN`. VMs 1 and 2 are on A, 3 and 4 on B.
"""

import os
import sys

import frames
import links
from case import Case, mac
from processes import Process
from switch import ROOT, Switch
from wait import until

SOURCE = os.path.join(ROOT, "test", "support", "source.py")
# Long against what a busy machine takes away from a worker, and against the time between two frames.
FEEDBACK = {"enabled": True, "period": "10ms", "rate_min": "1Mbit"}


STARTS = 5


def start(switch):
    """net_af_packet names the groups of its sockets by process id and interface, so that those of two processes can
    collide in one network namespace: then it starts again, as another process."""
    for attempt in range(STARTS):
        try:
            return switch.start()
        except ChildProcessError as ended:
            if attempt == STARTS - 1 or "PACKET_FANOUT" not in str(ended):
                raise
            os.unlink(switch.log)


class TwoHosts(Case):
    """`self.a` and `self.b` are the switches; both must end well, like the switch of any other test."""

    def setUp(self):
        super().setUp()
        self.a = self.b = None
        self.made = []
        self.addCleanup(self.unplug)        # before the processes end, whose namespaces hold the far ends
        self.addCleanup(self.stop_hosts)

    def stop_hosts(self):
        for self.switch in [host for host in (self.a, self.b) if host]:
            self.stop_switch()

    def unplug(self):
        for name in self.made:
            links.command(f"ip link del {name}")

    def diagnosis(self):
        own, parts = self.folder, []
        for name in ("a", "b"):
            self.folder = os.path.join(own, name)
            parts.append(f"host {name}\n{super().diagnosis()}")
        self.folder = own
        return "\n".join(parts)

    def join(self, rate=None, queue="128k"):
        """The wire; with a `rate` (as in 40mbit), a bottleneck on the way to host B."""
        links.cable("upa", "upb", rate, queue)
        self.made += ["upa", "upb", "cable"]

    def host(self, name, number_of_core, uplink, feedback, vnics):
        """Starts the switch `name`. `vnics`: keys by VM number."""
        for number in vnics:
            if f"vm{number}" not in self.made:
                links.veth(f"vm{number}", f"eth{number}")
                self.made.append(f"vm{number}")
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        config = {"host": name, "workers": [number_of_core], "poll": "adaptive",
                  "uplink": {"device": f"net_af_packet0,iface=up{name}", **uplink},
                  "vnics": [self.vnic(number, device=f"net_af_packet{number},iface=vm{number}", **keys)
                            for number, keys in vnics.items()]}
        if feedback:
            config["feedback"] = {**FEEDBACK, **feedback}
        return start(Switch(folder, config))

    def hosts(self, receivers=None, uplink="200Mbit", downlink="200Mbit", feedback_a=FEEDBACK, feedback_b=FEEDBACK,
              senders=None):
        """Both; a `feedback` of None is a switch without. `receivers`: keys of VMs 3 and 4; `senders`: of 1 and 2."""
        receivers = {3: {}, 4: {}, **(receivers or {})}
        self.b = self.host("b", 0, {"rate": downlink}, feedback_b, receivers)
        self.a = self.host("a", 1, {"rate": uplink}, feedback_a, {1: {}, 2: {}, **(senders or {})})

    def key(self, name, digits):
        """A file with a cluster's secret."""
        path = self.path(name)
        with open(path, "w", opener=lambda file, flags: os.open(file, flags, 0o600)) as stream:
            stream.write(digits + "\n")
        return path

    def send(self, number, rate, *peers, kind="ipv4"):
        """VM `number` sends UDP at `rate` bits/s in all, to each of these VMs alike. Returns the process."""
        command = [sys.executable, SOURCE, kind, f"eth{number}", str(rate), mac(number), *(mac(peer) for peer in peers)]
        return Process(command, self.path(f"source{number}.log"))

    def kernel(self, number):
        """Makes VM `number` a kernel of its own, 10.0.0.`number`. Returns the words before a command to run in it."""
        holder = Process(["unshare", "--net", "--", "sleep", "infinity"], self.path(f"kernel{number}.log"))
        until(lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"), 10, "a namespace")
        inside, name = f"nsenter --net=/proc/{holder.pid}/ns/net --", f"eth{number}"
        links.whole_checksums(name)
        links.command(f"ip link set {name} address {mac(number)} netns {holder.pid}", f"{inside} ip link set {name} up",
                      f"{inside} ip address add 10.0.0.{number}/24 dev {name}")
        return inside.split()

    def feedback(self, host):
        return host.ctl("status")["feedback"]

    def wait_feedback(self, host, name, least=1, seconds=20):
        until(lambda: self.feedback(host)[name] >= least, seconds, f"{host.config['host']}: {least} {name}")

    def settle(self):
        """Waits until nothing moves any more: what A's VMs have sent has been delivered or dropped."""
        def counts():
            return [[vnic["from_vm"]["offered"], vnic["from_vm"]["delivered"], vnic["to_vm"]["delivered"]]
                    for host in (self.a, self.b) for vnic in host.ctl("vnic", "list")["vnics"]]

        def still():
            before = counts()
            return all(not self.a.vnic(f"vm{number}")["from_vm"]["queued"]["packets"] for number in (1, 2)) \
                and counts() == before
        until(still, 20, "the end of all traffic")

    def assert_both_accounts(self):
        for self.switch in (self.a, self.b):
            self.assert_accounts()
        self.switch = None


def feedback_frame(source, destination):
    """What a guest sends that wants to set somebody's rate."""
    return frames.ipv4(source, destination, frames.FEEDBACK, 62)

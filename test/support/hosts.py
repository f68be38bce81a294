"""hosts.py - real switches, `a` and `b`, joined by a wire, with VMs that are veths or kernels of their own.

VM N is a veth: the switch has the end `vmN`, the VM the end `ethN`. Only inside a network namespace of our own.
"""

import os
import sys

import links
from frames import mac
from processes import RUNNING, Process, run, tail
from switch import BUILD, Switch
from wait import until

STARTS = 5
NBD_PORT = 10809


def start(switch):
    """net_af_packet names the groups of its sockets by process id and interface, so that those of two processes can
    collide in one network namespace: then it starts again, as another process."""
    for attempt in range(STARTS):
        try:
            return switch.start()
        except ChildProcessError as ended:
            if attempt == STARTS - 1 or "PACKET_FANOUT" not in str(ended):
                raise
            switch.stop()
            os.unlink(switch.log)


def vnic(number, **keys):
    """VM `number`'s vNIC as configuration, its port a veth."""
    return {"name": f"vm{number}", "mac": mac(number), "device": f"net_af_packet{number},iface=vm{number}", **keys}


class Hosts:
    """The wires, veths and switches of a set-up; in `folder` each switch gets a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.made = []
        self.switches = []      # with the numbers of their VMs

    def path(self, name):
        return os.path.join(self.folder, name)

    def join(self, rate=None, queue="128k", burst="16k"):
        """The wire; with a `rate` (as in 40mbit), a bottleneck on the way to host B."""
        links.cable("upa", "upb", *([rate, queue, burst] if rate else []))
        self.made += ["upa", "upb", "cable"]

    def join_rack(self, *hosts):
        """The wires of more than two hosts, and the bridge between them."""
        uplinks = [f"up{name}" for name in hosts]
        links.rack(*uplinks)
        self.made += [*uplinks, "cable"]

    def unplug(self):
        """Takes the wires away: before the processes end, whose namespaces hold the far ends."""
        for name in self.made:
            links.command(f"ip link del {name}")
        self.made = []

    def plug(self, number):
        """VM `number`'s veth."""
        if f"vm{number}" not in self.made:
            links.veth(f"vm{number}", f"eth{number}")
            self.made.append(f"vm{number}")

    def plug_rough(self, number, lost, late, seed):
        """The same with a bad wire in it, which loses and delays so many of 10,000 frames each way. Returns its process,
        whose output at its end is its result."""
        links.veth(f"vm{number}", f"near{number}")
        links.veth(f"far{number}", f"eth{number}")
        self.made += [f"vm{number}", f"far{number}"]
        program = os.path.join(BUILD, "test", "rough-wire")
        wire = Process([program, f"near{number}", f"far{number}", *map(str, (lost, late, seed))], self.path(f"wire{number}.log"))
        wire.expect("ready")
        return wire

    def start(self, name, core, uplink, vnics, **keys):
        """Starts the switch `name` at its end of the wire. `vnics`: keys by VM number; `keys`: the switch's own."""
        for number in vnics:
            self.plug(number)
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        switch = start(Switch(folder, {
            "host": name, "workers": [core], "poll": "adaptive",
            "uplink": {"device": f"net_af_packet0,iface=up{name}", **uplink},
            "vnics": [vnic(number, **each) for number, each in vnics.items()], **keys}))
        self.switches.append((switch, set(vnics)))
        return switch

    def kernel(self, number):
        """Makes VM `number` a kernel of its own, 10.0.0.`number`. Returns the words before a command to run in it."""
        holder = Process(["unshare", "--net", "--", "sleep", "infinity"], self.path(f"kernel{number}.log"))
        until(lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"), "a namespace")
        inside, name = f"nsenter --net=/proc/{holder.pid}/ns/net --", f"eth{number}"
        rough = f"far{number}" in self.made     # the wire's own interface is the switch's other end, and stays
        watching = [] if rough else [switch for switch, numbers in self.switches
                                     if number in numbers and switch.process.alive()]
        losses = [switch.vnic(f"vm{number}")["link_losses"] for switch in watching]
        links.whole_checksums(name)
        links.command(f"ip link set {name} address {mac(number)} netns {holder.pid}", f"{inside} ip link set {name} up",
                      f"{inside} ip address add 10.0.0.{number}/24 dev {name}")
        for switch, before in zip(watching, losses):   # the veth was down while its end moved
            def noticed(switch=switch, before=before):
                vnic = switch.vnic(f"vm{number}")
                return vnic["link_losses"] > before and vnic["state"] == "up"
            until(noticed, f"the link of vm{number} coming back")
        return inside.split()

    def serve(self, inside, port, program, *arguments):
        """Starts a server in the kernel that the words `inside` reach, and waits until it listens on `port`. Returns it."""
        server = Process([*inside, program, *map(str, arguments)], self.path(f"{program}{port}.log"))

        def listening():
            if not server.alive():
                raise ChildProcessError(f"{program} ended with {server.child.returncode}: {tail(server.log)}")
            return f":{port} " in run([*inside, "ss", "-Hltn"]).stdout
        until(listening, f"{program} listening on port {port}")
        return server

    def serve_nbd(self, inside, *arguments):
        """An NBD store in memory; `arguments`: its size and its filters."""
        return self.serve(inside, NBD_PORT, "nbdkit", "--foreground", "--exit-with-parent", "--port", NBD_PORT, *arguments)

    def client(self, inside, program, *arguments):
        """Starts a Python program of this folder in a kernel. Returns its process, with all that it prints as the output."""
        path = os.path.join(os.path.dirname(__file__), f"{program}.py")
        return Process([*inside, sys.executable, path, *map(str, arguments)], self.path(f"{program}{len(RUNNING)}.log"))

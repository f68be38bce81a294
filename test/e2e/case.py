"""case.py - base of every end-to-end test: a folder, a switch that must end well, VMs by number, the accounts."""

import glob
import os
import shutil
import tempfile
import unittest

from frames import mac
from processes import stop_all, tail
from switch import Switch
from testpmd import Testpmd
from wait import until


SANITIZERS = ("AddressSanitizer", "LeakSanitizer", "runtime error:")


class Case(unittest.TestCase):
    """One test in a folder of its own. Its programs are stopped at its end; a switch must end with 0 and log no error.

    POLLS: it runs a program that polls, a busy worker or a testpmd, and so a core of its own; a class without one says False
    and may run beside others.
    """

    POLLS = True

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weir-test-")
        self.switch = None
        self.addCleanup(self.clean)

    def clean(self):
        try:
            if self.switch:
                self.stop_switch()
        finally:
            stop_all()
            shutil.rmtree(self.folder)

    def stop_switch(self):
        """Ends the switch in the ordinary way and checks its end."""
        status = self.switch.stop()
        with open(self.switch.log, errors="replace") as stream:
            log = stream.read()
        self.switch = None
        complaints = [line for line in log.splitlines() if any(word in line for word in SANITIZERS)]
        self.assertEqual((status, complaints), (0, []), log[-6000:])

    def diagnosis(self):
        """The ends of all logs, for a failure's report."""
        logs = glob.glob(f"{self.folder}/*.log") + glob.glob(f"{self.folder}/*.console")
        return "\n".join(f"--- {os.path.basename(log)}\n{tail(log, 15)}" for log in sorted(logs))

    def path(self, name):
        return os.path.join(self.folder, name)

    def vnic(self, number, **keys):
        """VM `number`'s vNIC as configuration: its socket, or the `device` among `keys`."""
        port = {} if "device" in keys else {"socket": self.path(f"vm{number}.sock")}
        return {"name": f"vm{number}", "mac": mac(number), **port, **keys}

    def start_switch(self, *vnics, **keys):
        self.switch = Switch(self.folder, {"vnics": list(vnics), **keys}).start()
        return self.switch

    def vm(self, *numbers, forward="rxonly", peer=None, options=(), server=True, queues=1, begin=True, **arguments):
        """A testpmd that plays these VMs and forwards already; `server`: it owns the sockets (our client mode), and may be
        there before the switch, which looks for them when it starts and then once a second. Without `begin` nothing is
        waited for: see begin()."""
        ports = [{"path": self.path(f"vm{number}.sock"), "mac": mac(number), "queues": queues,
                  **({"server": 1} if server else {}), **arguments} for number in numbers]
        guest = Testpmd(self.folder, ports, forward, mac(peer) if peer else None, options, queues)
        guest.vnics = [f"vm{number}" for number in numbers]
        return self.begin(guest)[0] if begin else guest

    def begin(self, *guests, bursts=0):
        """Waits until these have come up, and lets them forward, in this order; each sends `bursts` of 32 frames first."""
        for guest in guests:
            guest.ready()
        self.switch.wait_up(*(name for guest in guests for name in guest.vnics))
        return [guest.start(bursts) for guest in guests]

    def sender(self, number, peer, size=64, **keys):
        """VM `number` sends frames of `size` bytes (FCS included) to VM `peer` as fast as it can."""
        options = [f"--txpkts={size - 4}", *keys.pop("options", [])]
        return self.vm(number, forward="txonly", peer=peer, options=options, **keys)

    def packets(self, name, direction, kind):
        """A packet counter: packets("vm1", "from_vm", "offered")."""
        return self.switch.vnic(name)[direction][kind]["packets"]

    def drops(self, name, direction="from_vm"):
        """The reasons that are not zero."""
        return {reason: count for reason, count in self.switch.vnic(name)[direction]["drops"].items() if count}

    def wait_packets(self, name, direction, kind, least):
        until(lambda: self.packets(name, direction, kind) >= least, f"{name}: {least} packets {kind} {direction}")

    def wait_more(self, *names, packets=1000, direction="to_vm"):
        """Waits until so many more packets of each of these vNICs were delivered."""
        before = {name: self.packets(name, direction, "delivered") for name in names}
        for name in names:
            self.wait_packets(name, direction, "delivered", before[name] + packets)

    def wait_held_back(self, name, reason, nanoseconds=1):
        """Waits until this `reason` has held the vNIC back for so much longer. It may drop nothing for it."""
        def held():
            return self.switch.vnic(name)["held_back_ns"][reason]
        before = held()
        until(lambda: held() >= before + nanoseconds, f"{name} held back by its {reason}")

    def assert_accounts(self):
        """offered = delivered + queued + dropped, and the drops have reasons: each vNIC, each direction."""
        for vnic in self.switch.ctl("vnic", "list")["vnics"]:
            for direction in ("from_vm", "to_vm"):
                counts = vnic[direction]
                queued = counts.get("queued", {"packets": 0, "bytes": 0})
                for unit in ("packets", "bytes"):
                    parts = counts["delivered"][unit] + queued[unit] + counts["dropped"][unit]
                    self.assertEqual(counts["offered"][unit], parts, f"{vnic['name']} {direction} {unit}: {counts}")
                self.assertEqual(sum(counts["drops"].values()), counts["dropped"]["packets"],
                                 f"{vnic['name']} {direction}: {counts}")

"""system.py - a system under test: start it, wait for its peers, read its busy cycles, stop it."""
import contextlib
import dataclasses
import json
import os
import secrets
import time

from lib.child import Child
from lib.host import EAL, EAL_SWITCH, LOAD_CORE, SWITCH_CORE, run, tool
from lib.load import Load


@dataclasses.dataclass
class Busy:
    """Between begin() and end(): cycles of iterations that moved packets, per packet received."""
    cycles_per_packet: float
    mean_burst: float | None = None


class System:
    """listens: the system makes the sockets and the generator connects (no one-second reconnect pause)."""
    name = "?"

    def __init__(self, place, ports, listens=True):
        self.place, self.ports, self.listens = place, ports, listens
        self.child = None

    def start(self):
        raise NotImplementedError

    def wait_peers(self):
        """Blocks until every port forwards."""

    def begin(self):
        raise NotImplementedError

    def end(self):
        raise NotImplementedError

    def stop(self):
        if self.child:
            self.child.stop()

    @property
    def pid(self):
        return self.child.pid

    def load(self, place, ports, listens):
        """The generator that plays the VMs."""
        return Load(place, ports, listens)

    def bring_up(self):
        """Starts the system and the generator in the right order; returns the generator."""
        if self.listens:
            self.start()
            wait_for_files([port["socket"] for port in self.ports])
            load = self.load(self.place, self.ports, listens=False)
        else:
            load = self.load(self.place, self.ports, listens=True)
        try:
            if not self.listens:
                self.start()
            load.wait_ready()
            self.wait_peers()
        except BaseException:
            load.stop()
            raise
        return load


@contextlib.contextmanager
def session(system):
    """The system with its generator: yields the generator, stops both."""
    load = None
    try:
        load = system.bring_up()
        yield load
    finally:
        if load:
            load.stop()
        system.stop()


def vm_ports(place, count=2):
    """VMs as every bench numbers them."""
    return [{"name": f"vm{i}", "mac": f"02:00:00:00:{i + 10:02x}:00", "socket": place.file(f"vm{i}.sock")}
            for i in range(count)]


def wait_for_files(paths, seconds=20):
    deadline = time.monotonic() + seconds
    while not all(os.path.exists(path) for path in paths):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no such socket: {[p for p in paths if not os.path.exists(p)]}")
        time.sleep(0.005)


def _delta(before, after):
    packets = after["packets"] - before["packets"]
    bursts = after["bursts"] - before["bursts"]
    return Busy((after["busy_cycles"] - before["busy_cycles"]) / max(packets, 1), packets / max(bursts, 1))


class Raw(System):
    """The bare rte_vhost loop: the limit that nothing can beat."""
    name = "raw"

    def start(self):
        mode = "server" if self.listens else "client"
        sockets = [port["socket"] for port in self.ports]
        self.child = Child("raw", [tool("bench/raw/raw-vhost-loop"), *EAL_SWITCH, "--", mode, *sockets],
                           self.place.file("raw.log"))
        self._before = None

    def wait_peers(self):
        self.child.event("ready")

    def _totals(self):
        self.child.say("")
        return self.child.event("totals")

    def begin(self):
        self._before = self._totals()

    def end(self):
        return _delta(self._before, self._totals())


SILENT_UPLINK = {"device": "net_null0,no-rx=1", "rate": "10Gbit"}  # polled and scheduled like any, but nothing comes


class Weir(System):
    """weir-switch with everything on, or forwarding only (isolation=False); feedback to senders only where asked for."""
    name = "weir"

    def __init__(self, place, ports, listens=True, isolation=True, uplink=None, poll="busy", feedback=False):
        super().__init__(place, ports, listens)
        self.isolation, self.uplink, self.poll = isolation, uplink or SILENT_UPLINK, poll
        self.feedback = feedback
        self.control = place.file("control.sock")
        self._before = None

    def config(self):
        """ports with "wire" are played by the uplink; the others are vNICs and may carry their own keys in "vnic"."""
        config = {"host": "bench", "eal": [*EAL, f"--file-prefix={self.place.path.name}"], "workers": [SWITCH_CORE],
                  "agent_core": LOAD_CORE, "control_socket": self.control, "isolation": self.isolation,
                  "poll": self.poll, "vnics": [self.vnic(port) for port in self.ports if not port.get("wire")]}
        # Reservations and the scheduler need an uplink; an idle ring of DPDK's stands for one that nobody uses.
        config["uplink"] = self.uplink or {"device": "net_ring0", "rate": "100Gbit"}
        if self.feedback:
            config["feedback"] = {"enabled": True, "key_file": self.key_file()}
        return config

    def key_file(self):
        path = self.place.file("feedback.key")
        with open(path, "w", encoding="ascii") as key:
            key.write(secrets.token_hex(16))
        return path

    def vnic(self, port):
        mode = "server" if self.listens else "client"
        return {"name": port["name"], "socket": port["socket"], "mode": mode, "mac": port["mac"],
                "reservation": "1Gbit", "limit": "200Gbit", "limit_pps": "200Mpps", **port.get("vnic", {})}

    def start(self):
        path = self.place.write("weir.json", self.config())
        self.child = Child("weir-switch", [tool("vswitch/weir-switch"), "--config", path], self.place.file("weir.log"))

    def ctl(self, *words):
        out = run(tool("ctrl/cli/weirctl"), "--socket", self.control, "--json", *words)
        reply = json.loads(out)
        return reply.get("data", reply)

    def wait_peers(self):
        deadline = time.monotonic() + 20
        while any(vnic["state"] != "up" for vnic in self.ctl("status")["vnics"]):
            if time.monotonic() > deadline:
                raise TimeoutError("weir: a vNIC did not come up")
            time.sleep(0.05)

    def worker(self):
        return self.ctl("status")["workers"][0]

    def begin(self):
        self._before = self.worker()

    def end(self):
        return _delta(self._before, self.worker())

"""system.py - a system under test: started, waited for, asked for its busy cycles, stopped. Here: the raw vhost loop and Weir."""
import contextlib
import dataclasses
import json
import os
import secrets
import socket
import sys
import time

from bench.lib.child import Child
from bench.lib.host import BUILD, EAL, EAL_SWITCH, LOAD_CORE, SWITCH_CORE, run, tool
from bench.lib.load import Load

PATIENCE_S = 20  # for a socket, and for a vNIC to come up


def free_port():
    """A port of TCP on the loopback that no program has now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@dataclasses.dataclass
class Busy:
    """Counters between begin() and end(): TSC cycles of iterations that moved packets, per packet received."""
    cycles_per_packet: float
    mean_burst: float | None = None
    busy_share: float | None = None  # of the polling thread's cycles


class System:
    """A switch with ports, of which a generator plays the VMs.

    @param listens the system makes the sockets and the generator connects, which saves the reconnect pause of one second
    """
    name = "?"

    def __init__(self, place, ports, listens=True):
        self.place, self.ports, self.listens = place, ports, listens
        self.child = None
        self._before = None

    def start(self):
        raise NotImplementedError

    def wait_peers(self):
        """Blocks until every port forwards."""

    def counters(self):
        """Totals of packets, bursts, busy_cycles and idle_cycles of the polling thread."""
        raise NotImplementedError

    def begin(self):
        self._before = self.counters()

    def end(self):
        after = self.counters()
        grown = {key: after[key] - self._before[key] for key in ("packets", "bursts", "busy_cycles", "idle_cycles")}
        if not grown["packets"]:  # a machine that was busy elsewhere: the first answer came when the load had ended
            raise RuntimeError(f"{self.name}: no packet between the two readings of its counters")
        return Busy(grown["busy_cycles"] / grown["packets"], grown["packets"] / max(grown["bursts"], 1),
                    grown["busy_cycles"] / max(grown["busy_cycles"] + grown["idle_cycles"], 1))

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
        """Starts the system and the generator in the order that their sockets need; returns the generator."""
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
    """Brings the system up with its generator, which it yields; stops both."""
    load = None
    try:
        load = system.bring_up()
        yield load
    finally:
        if load:
            load.stop()
        system.stop()


def vm_ports(place, count=2):
    """Ports of `count` VMs; a port may carry its vNIC's own keys in "vnic"."""
    return [{"name": f"vm{i}", "mac": f"02:00:00:00:{i + 10:02x}:00", "socket": place.file(f"vm{i}.sock")}
            for i in range(count)]


def ports_with_wire(place, count=2):
    """The same, of which the last is the wire: the generator plays it on the uplink."""
    ports = vm_ports(place, count)
    ports[-1] |= {"name": "wire", "socket": place.file("wire"), "wire": True}
    return ports


def wire_uplink(ports, rate, **keys):
    """The uplink's configuration for ports_with_wire()."""
    return {"device": f"net_vhost0,iface={ports[-1]['socket']},queues=1", "rate": rate, **keys}


def wait_for_files(paths):
    deadline = time.monotonic() + PATIENCE_S
    while not all(os.path.exists(path) for path in paths):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no such socket: {[path for path in paths if not os.path.exists(path)]}")
        time.sleep(0.005)


class Raw(System):
    """The bare rte_vhost loop between two ports: the lower bound of all systems."""
    name = "raw"

    def start(self):
        mode = "server" if self.listens else "client"
        sockets = [port["socket"] for port in self.ports]
        self.child = Child("raw", [tool("bench/raw/raw-vhost-loop"), *EAL_SWITCH, "--", mode, *sockets],
                           self.place.file("raw.log"))

    def wait_peers(self):
        self.child.event("ready")

    def counters(self):
        self.child.write_line("")
        return self.child.event("totals")


SILENT_UPLINK = {"device": "net_null0,no-rx=1", "rate": "10Gbit"}  # polled and scheduled like any; no frames arrive


class Weir(System):
    """weir-switch of a build folder with everything on, or forwarding only (isolation=False); feedback to senders only where asked for."""
    name = "weir"

    def __init__(self, place, ports, listens=True, isolation=True, uplink=SILENT_UPLINK, poll="busy", feedback=False, build=BUILD,
                 metrics=False):
        super().__init__(place, ports, listens)
        self.metrics = f"127.0.0.1:{free_port()}" if metrics else None
        self.isolation, self.uplink, self.poll, self.feedback, self.build = isolation, uplink, poll, feedback, build
        self.control = place.file("control.sock")

    def config(self):
        config = {"host": "bench", "eal": [*EAL, f"--file-prefix={self.place.path.name}"], "workers": [SWITCH_CORE],
                  "agent_core": LOAD_CORE, "control_socket": self.control, "isolation": self.isolation, "poll": self.poll,
                  "vnics": [self.vnic(port) for port in self.ports if not port.get("wire")]}
        if self.uplink:
            config["uplink"] = self.uplink
        if self.metrics:
            config["metrics"] = {"listen": self.metrics}
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
                **({"reservation": "1Gbit"} if self.uplink else {}), "limit": "200Gbit", "limit_pps": "200Mpps", **port.get("vnic", {})}

    def start(self):
        path = self.place.write("weir.json", self.config())
        self.child = Child("weir-switch", [tool("vswitch/weir-switch", self.build), "--config", path], self.place.file("weir.log"))

    def ctl(self, *words):
        reply = json.loads(run(tool("ctrl/cli/weirctl", self.build), "--socket", self.control, "--json", *words))
        return reply.get("data", reply)

    @contextlib.contextmanager
    def watched(self):
        """A scrape of the metrics each second, and a capture of one vNIC's drops. Both programs stay off the switch's core: elsewhere
        they would be on another machine, or on a third core."""
        beside = ["taskset", "--cpu-list", str(LOAD_CORE), "nice", "-n", "39"]     # 39 above the bench's own -20
        scrape = f"import time, urllib.request\nwhile True: time.sleep(1); urllib.request.urlopen('http://{self.metrics}/metrics').read()"
        watchers = [Child("scraper", [*beside, sys.executable, "-c", scrape], self.place.file("scraper.log")),
                    Child("weirctl", [*beside, tool("ctrl/cli/weirctl", self.build), "--socket", self.control, "capture",
                                      self.ports[0]["name"], "--drops", "-w", self.place.file("drops.pcapng")],
                          self.place.file("capture.log"))]
        try:
            yield
        finally:
            for watcher in watchers:
                watcher.stop()

    def wait_peers(self):
        names = {port["name"] for port in self.ports if not port.get("wire")}
        deadline = time.monotonic() + PATIENCE_S
        while any(vnic["name"] in names and vnic["state"] != "up" for vnic in self.ctl("status")["vnics"]):
            if time.monotonic() > deadline:
                raise TimeoutError("weir: a vNIC did not come up")
            time.sleep(0.05)

    def counters(self):
        return self.ctl("status")["workers"][0]

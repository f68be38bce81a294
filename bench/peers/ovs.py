"""ovs.py - OVS-DPDK of the distribution, with a database and folders of its own."""
import os
import pathlib
import re
import shutil

from bench.lib.child import Child
from bench.lib.host import LOAD_CORE, SWITCH_CORE, run
from bench.lib.system import Busy, System, wait_for_files

BINARY = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
NOT_BINDING = 25_000_000_000  # bytes/s


class Ovs(System):
    """flows: "static" (two rules by port), "normal" (a learning switch); policer: bytes/s per port index, or None."""

    def __init__(self, place, ports, listens=True, flows="normal", policer=None, sleep_max_us=0):
        super().__init__(place, ports, listens)
        self.flows, self.policer, self.sleep_max_us = flows, policer or {}, sleep_max_us
        self.name = "ovs-policer" if policer else f"ovs-{flows}"
        self._database = None
        self._env = {**os.environ, **{key: str(place.path) for key in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR")}}
        if listens:  # OVS makes such sockets in its run folder, under the port's name
            for port in ports:
                port["socket"] = place.file(port["name"])

    def start(self):
        if not pathlib.Path(BINARY).exists():
            raise SystemExit("OVS-DPDK is missing: apt-get install openvswitch-switch-dpdk")
        self.start_database()
        self.configure()
        self.start_switch()

    def start_database(self):
        database, socket = self.place.file("conf.db"), self.place.file("db.sock")
        run("ovsdb-tool", "create", database, SCHEMA, env=self._env)
        self._database = Child("ovsdb-server", [
            shutil.which("ovsdb-server"), database, f"--remote=punix:{socket}",
            f"--pidfile={self.place.file('db.pid')}", f"--unixctl={self.place.file('db.ctl')}"],
            self.place.file("ovsdb.log"), env=self._env)
        wait_for_files([socket])

    def start_switch(self):
        self.child = Child(self.name, [
            BINARY, f"unix:{self.place.file('db.sock')}", f"--pidfile={self.place.file('ovs.pid')}",
            f"--unixctl={self.place.file('ovs.ctl')}", f"--log-file={self.place.file('ovs.log')}"],
            self.place.file("ovs.err"), env=self._env)

    def vsctl(self, *words):
        run("ovs-vsctl", f"--db=unix:{self.place.file('db.sock')}", "--no-wait", *words, env=self._env)

    def appctl(self, *words):
        return run("ovs-appctl", "-t", self.place.file("ovs.ctl"), *words, env=self._env)

    def configure(self):
        """Fills the database before the switch starts, so that the switch needs no change afterwards."""
        self.vsctl("init")
        self.vsctl("set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                   f"other_config:pmd-cpu-mask={1 << SWITCH_CORE:#x}",
                   f"other_config:dpdk-lcore-mask={1 << LOAD_CORE:#x}",
                   f"other_config:pmd-maxsleep={self.sleep_max_us}",   # the name until OVS 3.1
                   f"other_config:pmd-sleep-max={self.sleep_max_us}",  # and since
                   f'other_config:dpdk-extra="--no-pci --single-file-segments --file-prefix={self.place.path.name}"')
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev",
                   "other-config:mac-table-size=8192")
        for index, port in enumerate(self.ports):
            self.add_port(index, port)

    def add_port(self, index, port):
        kind = ["type=dpdkvhostuser"] if self.listens else [
            "type=dpdkvhostuserclient", f"options:vhost-server-path={port['socket']}"]
        self.vsctl("add-port", "br0", port["name"], "--", "set", "Interface", port["name"], *kind,
                   f"ofport_request={index + 1}")
        if index in self.policer:
            rate = self.policer[index]
            self.vsctl("set", "port", port["name"], "qos=@q", "--", "--id=@q", "create", "qos", "type=egress-policer",
                       f"other-config:cir={rate}", f"other-config:cbs={max(rate // 1000, 4096)}")

    def wait_peers(self):
        wait_for_files([self.place.file("ovs.ctl")])
        if self.flows == "static":
            bridge = f"unix:{self.place.file('br0.mgmt')}"
            run("ovs-ofctl", "del-flows", bridge, env=self._env)
            run("ovs-ofctl", "add-flow", bridge, "in_port=1,actions=output:2", env=self._env)
            run("ovs-ofctl", "add-flow", bridge, "in_port=2,actions=output:1", env=self._env)

    def begin(self):
        self.appctl("dpif-netdev/pmd-stats-clear")

    def end(self):
        text = self.appctl("dpif-netdev/pmd-perf-show")
        packets = re.search(r"Rx packets:\s+(\d+)\s+\([^)]*?([0-9.]+) cycles/pkt\)", text)
        mean = re.search(r"([0-9.]+) pkts/batch", text)
        if not packets:
            raise RuntimeError(f"{self.name}: nothing was forwarded:\n{text}")
        return Busy(float(packets.group(2)), float(mean.group(1)) if mean else None)

    def stop(self):
        super().stop()
        if self._database:
            self._database.stop()

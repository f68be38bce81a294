#!/usr/bin/env python3
"""pools.py - SRP's Fig. 5 and 6 once for real: six clients on two switches read from one NBD store, in three pools.

    bench/run.sh pools     root, nbdkit; three and a half minutes

The store answers 1000 reads of 4 KiB a second (nbdkit's rate filter), of which weir-ctrl divides 980. RP1 (VM 1, 4) has 500 reserved, RP2 (2, 5) and
RP3 (3, 6) share the rest 2:1. Then either RP1 is limited to 170 by `weirctl pool set`, or VM 1 falls idle;
the former also with the store held by latency. Writes pools.json to the build folder (WEIR_BUILD).
"""
import json
import pathlib
import subprocess
import sys
import time

import links
from controller import Controller
from frames import mac
from hosts import Hosts
from bench.lib.host import ROOT, Place, leave_table, prepare, progress
from processes import Process, stop_all, tail
from wait import until

CLIENTS = {"a": (1, 2, 3), "b": (4, 5, 6)}
POOLS = {"RP1": (1, 4), "RP2": (2, 5), "RP3": (3, 6)}
SERVER, PORT = 7, 10809
SIZE, PER_SECOND = 4096, 1000
CONNECTIONS = 8
TURN, END = 35, 65  # s: when something changes, and when all ends
WINDOWS = {"before": (15, 35), "after": (45, 65)}
# Known, so that it is not searched for; or held by latency.
KNOWN = {"name": "disk", "capacity_min": "980tokens", "capacity_max": "980tokens"}
HELD = {"name": "disk", "capacity_min": "600tokens", "capacity_max": "2ktokens", "latency": "20ms"}


def cluster(disk):
    return {"interval": "1s", "topology": {"hosts": [{"name": name} for name in CLIENTS]}, "appliances": [disk],
            "tenants": [{"name": "T", "vnics": [{"name": f"vm{vm}"} for vms in CLIENTS.values() for vm in vms],
                         "appliances": [{"name": "disk"}]},
                        {"name": "service", "vnics": [{"name": f"vm{SERVER}"}]}],
            "pools": [{"name": name, "appliance": "disk", "shares": shares, "vnics": [{"name": f"vm{vm}"} for vm in POOLS[name]],
                       **more} for name, shares, more in (("RP1", 100, {"reservation": "500tokens"}), ("RP2", 200, {}),
                                                          ("RP3", 100, {}))]}


class Bench:
    """Two switches on a wire, six clients' kernels and that of the store, and the controller."""

    def __init__(self, folder, held):
        self.site = Hosts(folder)
        self.site.join()
        self.controller = Controller(folder, cluster(HELD if held else KNOWN)).start()
        disk = {"name": "disk", "address": f"10.0.0.{SERVER}", "port": PORT, "protocol": "nbd",
                "cost": str(ROOT / "configs" / "costs" / "storage_requests.json"), **({"window": "64tokens"} if held else {})}
        keys = {"controller": {"connect": self.controller.endpoint}, "appliances": [disk], "poll_sleep_max": "100us"}
        self.switches = []
        for core, (name, vms) in enumerate(CLIENTS.items()):
            vnics = {vm: {"appliances": [{"name": "disk", "burst": "100ms"}]} for vm in vms}
            if name == "b":
                vnics[SERVER] = {}
            eal = ["--no-pci", "--no-huge", "-m", "256", "--no-telemetry", f"--file-prefix=weir-pools-{name}"]
            self.switches.append(self.site.start(name, core, {"rate": "1Gbit"}, vnics, eal=eal, **keys))
        self.kernels = {number: self.site.kernel(number) for vms in (*CLIENTS.values(), (SERVER,)) for number in vms}
        for number, inside in self.kernels.items():
            peers = self.kernels if number == SERVER else (SERVER,)
            for peer in peers:
                if peer != number:
                    links.command(f"{' '.join(inside)} ip neigh add 10.0.0.{peer} lladdr {mac(peer)} nud permanent dev eth{number}")
        self.store = Process([*self.kernels[SERVER], "nbdkit", "--foreground", "--exit-with-parent", "--port", str(PORT),
                              "--threads", "64", "--filter", "rate", "memory", "64M", f"rate={PER_SECOND * SIZE * 8}", "burstiness=0.1"],
                             self.site.path("nbdkit.log"))
        until(self.serves, f"nbdkit listening: {tail(self.store.log)}")
        until(lambda: all(switch.ctl("status")["controller"]["state"] == "connected" for switch in self.switches),
              "both switches connected to the controller")

    def serves(self):
        sockets = subprocess.run([*self.kernels[SERVER], "ss", "-Hltn"], capture_output=True, text=True, timeout=10, check=False)
        return f":{PORT} " in sockets.stdout

    def read(self, number, seconds):
        program = ROOT / "test" / "support" / "nbd_client.py"
        return Process([*self.kernels[number], sys.executable, str(program), f"10.0.0.{SERVER}", str(PORT), "--connections",
                        str(CONNECTIONS), f"{SIZE}:{seconds}"], self.site.path(f"client{number}.log"))

    def run(self, idle=None, limit=None):
        """Reads a second by VM, in each window."""
        clients = {number: self.read(number, TURN if number == idle else END) for vms in CLIENTS.values() for number in vms}
        began = time.monotonic()
        if limit:
            time.sleep(TURN)  # the load goes on meanwhile
            self.controller.ctl("pool", "set", "RP1", "reservation=0tokens", f"limit={limit}tokens")
        for number, client in clients.items():
            until(lambda client=client: not client.alive(), f"the end of client {number}", END)
        times = {number: json.loads(pathlib.Path(client.log).read_text().splitlines()[-1])["reads"][0]["times"]
                 for number, client in clients.items()}
        return {name: {number: sum(begin < at <= end for at in each) / (end - begin) for number, each in times.items()}
                for name, (begin, end) in WINDOWS.items()}

    def stop(self):
        for switch in self.switches:
            if switch.stop() != 0:
                raise RuntimeError(f"a switch ended badly: {tail(switch.log)}")
        self.controller.stop()


def measure(held=False, **change):
    with Place() as place:
        bench = None
        try:
            bench = Bench(str(place.path), held)
            found = bench.run(**change)
            bench.stop()
            return found
        finally:
            if bench:
                bench.site.unplug()
            stop_all()


def lines(found):
    order = [vm for vms in POOLS.values() for vm in vms]
    table = [f"| reads/s | {' | '.join(f'VM{vm}' for vm in order)} | {' | '.join(POOLS)} |", "|---|" + "---:|" * (len(order) + len(POOLS))]
    for row, rates in found.items():
        pools = [sum(rates[vm] for vm in vms) for vms in POOLS.values()]
        table.append(f"| {row} | " + " | ".join(f"{value:,.0f}" for value in [*(rates[vm] for vm in order), *pools]) + " |")
    return table


def main():
    links.enter_own_namespace()
    prepare()
    limited = measure(limit=170)
    progress(f"limited: {limited}")
    idle = measure(idle=1)
    progress(f"VM 1 idle: {idle}")
    by_latency = measure(held=True, limit=170)
    progress(f"held by latency: {by_latency}")
    found = {"reservation of 500": limited["before"], "limit of 170": limited["after"], "again, reservation of 500": idle["before"],
             "VM1 idle": idle["after"], "held by latency: reservation of 500": by_latency["before"],
             "held by latency: limit of 170": by_latency["after"]}
    leave_table("pools", lines(found), reads_per_second=found)


if __name__ == "__main__":
    main()

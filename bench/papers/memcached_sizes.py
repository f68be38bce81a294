#!/usr/bin/env python3
"""memcached_sizes.py - Pulsar's Fig. 15 with a real memcached: GETs and SETs of 512 B to 64 KiB through a vNIC whose limits never bind,
and through one without an appliance on the same switch.

    bench/papers/memcached_sizes.py [--rounds N] [--seconds N] [--connections N]     root, memcached, -Dbench=true; 5 to 20 minutes

Clients and server are kernels in network namespaces on one core, also with what they receive (RPS), the switch's worker has the
other; all run in real time. The two clients take turns, so that both meet the same machine, until each median ratio is known
within half a percent. Writes memcached_sizes.json to the build folder (WEIR_BUILD).
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "test" / "support")]

import links  # noqa: E402  (the path above comes first)
from frames import mac  # noqa: E402
from hosts import Hosts  # noqa: E402
from lib.host import Place, leave_table, prepare, say, tool  # noqa: E402
from memcached import TENANT_PRIORITY  # noqa: E402  (beside this file: who goes first on two cores)
from processes import Process, stop_all, tail  # noqa: E402
from wait import until  # noqa: E402

TRACKED, PLAIN, SERVER, PORT = 1, 2, 3, 11211
SIZES = [512 << i for i in range(8)]
OPERATIONS = ("get", "set")
WORKER, OTHERS = 1, {0}
FIRST = ("chrt", "--fifo", str(TENANT_PRIORITY))  # before whatever else the machine does
KNOWN = 0.005  # half of the interval in which a median ratio lies with 95 %
MOST = 6  # times the rounds that were asked for, until it does
NEVER = {"name": "kv", "limit": "1000Gtokens", "uplink": "400Gbit", "downlink": "400Gbit"}


class Bench:
    def __init__(self, folder, connections):
        self.connections = connections
        self.site = Hosts(folder)
        self.site.join()
        appliance = {"name": "kv", "address": f"10.0.0.{SERVER}", "port": PORT, "protocol": "memcached",
                     "cost": str(ROOT / "configs" / "costs" / "key_value_store.json")}
        self.switch = self.site.start("a", WORKER, {"rate": "100Gbit"},
                                      {TRACKED: {"appliances": [NEVER]}, PLAIN: {}, SERVER: {}}, appliances=[appliance], poll="busy")
        self.kernels = {number: self.site.kernel(number) for number in (TRACKED, PLAIN, SERVER)}
        for number, inside in self.kernels.items():
            links.receive_on(f"eth{number}", OTHERS, " ".join(inside))
        for number in (TRACKED, PLAIN):
            for one, other in ((number, SERVER), (SERVER, number)):
                links.command(f"{' '.join(self.kernels[one])} ip neigh add 10.0.0.{other} lladdr {mac(other)} nud permanent dev eth{one}")
        log = self.site.path("memcached.log")
        self.server = Process([*self.kernels[SERVER], *FIRST, "memcached", "-u", "root", "-l", f"10.0.0.{SERVER}", "-p", str(PORT), "-t", "1",
                               "-c", "4096"], log, cores=OTHERS)
        until(lambda: f":{PORT} " in self.listening(), 20, f"memcached listening: {tail(log)}")

    def listening(self):
        return subprocess.run([*self.kernels[SERVER], "ss", "-Hltn"], capture_output=True, text=True, timeout=10, check=False).stdout

    def turn(self, number, operation, size, seconds):
        """Requests a second of one client, and what the switch's worker did meanwhile."""
        log = pathlib.Path(self.site.path("kv-load.log"))
        log.unlink(missing_ok=True)
        before = self.worker()
        load = Process([*self.kernels[number], *FIRST, tool("bench/tenants/kv-load"), f"10.0.0.{SERVER}", str(PORT), str(self.connections), operation,
                        str(size), str(seconds)], str(log), cores=OTHERS)
        until(lambda: not load.alive(), seconds + 30, "the client's end")
        if load.stop() != 0:
            raise RuntimeError(f"kv-load ended badly: {tail(str(log))}")
        said, after = json.loads(log.read_text()), self.worker()
        spent = {key: after[key] - before[key] for key in ("busy_cycles", "idle_cycles", "packets")}
        return {"per_second": said["answered"] / said["seconds"],
                "busy": spent["busy_cycles"] / (spent["busy_cycles"] + spent["idle_cycles"]),
                "cycles_per_packet": spent["busy_cycles"] / max(spent["packets"], 1)}

    def worker(self):
        return self.switch.ctl("status")["workers"][0]


def median_within(values):
    """Where the median of what the values are drawn from lies with 95 %: (from, to), by order statistics."""
    ordered, reach = sorted(values), 0.98 * math.sqrt(len(values))
    first = max(math.floor(len(values) / 2 - reach), 0)
    return ordered[first], ordered[len(values) - 1 - first]


def ratios(samples):
    return [each["on"]["per_second"] / each["off"]["per_second"] for each in samples]


def is_known(samples, rounds):
    low, high = median_within(ratios(samples)) if len(samples) >= rounds else (0, 1)
    return (high - low) / 2 <= KNOWN


def measure(rounds, seconds, connections):
    """Samples of each (size, operation): as many as it takes, of all others one in between."""
    samples = {(size, operation): [] for size in SIZES for operation in OPERATIONS}
    with Place() as place:
        try:
            bench = Bench(str(place.path), connections)
            for number in range(rounds * MOST):
                unknown = [row for row in samples if not is_known(samples[row], rounds)]
                for size, operation in unknown:
                    order = (TRACKED, PLAIN) if number % 2 else (PLAIN, TRACKED)
                    found = {which: bench.turn(which, operation, size, seconds) for which in order}
                    samples[size, operation].append({"on": found[TRACKED], "off": found[PLAIN]})
                if not unknown:
                    break
                say(f"round {number + 1}: {len(unknown)} of {len(samples)} rows")
            flow, = bench.switch.ctl("flow", "list", "--interval", "100ms")["flows"]
            if bench.switch.stop() != 0:
                raise RuntimeError("the switch ended badly")
        finally:
            stop_all()
    return samples, flow["total"]


def summary(samples):
    rows = []
    for (size, operation), chosen in samples.items():
        low, high = median_within(ratios(chosen))
        row = {"size": size, "operation": operation, "ratio": statistics.median(ratios(chosen)), "rounds": len(chosen),
               "within": [low, high]}
        for side in ("on", "off"):
            for key in ("per_second", "busy", "cycles_per_packet"):
                row[f"{key}_{side}"] = statistics.median(each[side][key] for each in chosen)
        rows.append(row)
    return rows


def lines(rows):
    table = ["| | requests/s without | with | ratio | 95 % of it | rounds | worker: cycles per frame without | with | busy |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        size = f"{row['size']} B" if row["size"] < 1024 else f"{row['size'] // 1024} KiB"
        table.append(f"| {row['operation'].upper()} {size} | {row['per_second_off']:,.0f} | {row['per_second_on']:,.0f} | {row['ratio']:.3f} | "
                     f"{row['within'][0]:.3f} to {row['within'][1]:.3f} | {row['rounds']} | {row['cycles_per_packet_off']:,.0f} | "
                     f"{row['cycles_per_packet_on']:,.0f} | {row['busy_on']:.0%} |")
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each turn")
    parser.add_argument("--connections", type=int, default=32, help="each with one request under way")
    options = parser.parse_args()
    links.enter_own_namespace()
    prepare()
    samples, total = measure(options.rounds, options.seconds, options.connections)
    rows = summary(samples)
    leave_table("memcached_sizes", lines(rows), samples=list(samples.values()), summary=rows, total=total)


if __name__ == "__main__":
    main()

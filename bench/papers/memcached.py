#!/usr/bin/env python3
"""memcached.py - EyeQ's Table 1 for real: SETs to memcached beside bursts of UDP, through two switches on one wire.

    bench/run.sh memcached [--rounds N] [--seconds N]     needs root, memcached and a build with -Dbench=true

Host A has the clients and the UDP tenant, host B memcached and the receiver of the UDP; each is a kernel of its own on a veth
behind a vNIC. A's uplink is faster than the port of the network towards B, as several sending hosts are, and the port's
queue is bounded. Everything shares two cores: tenants come first, pollers second, the machine's other programs last, by
real-time priorities. Rounds are interleaved and medians reported. Writes memcached.json to the build folder (WEIR_BUILD).
"""
import argparse
import json
import os
import pathlib
import secrets
import shutil
import statistics
import subprocess
import sys
import time

import links
from frames import mac
from hosts import Hosts
from bench.lib.host import Place, leave_table, prepare, progress, tool
from bench.papers import claims
from bench.papers.claims import Claim
from processes import RUNNING, Process, stop_all, tail
from wait import until

MBIT = 1_000_000
CLIENTS, FLOOD, MEMCACHED, SINK = 1, 2, 3, 4  # VMs, the first two on host A
LISTEN = 11211
PORT_MBIT = 1000  # of the network, towards host B
QUEUE, BURST = "128k", "4k"  # of the port: the most bytes that wait, and those that pass at once after a pause
UPLINK_MBIT = 2 * PORT_MBIT  # of host A
FLOOD_MBIT = 1500
ON_MS = OFF_MS = 500
CONNECTIONS, PER_SECOND, BYTES = 40, 2000, 6000
PROMISE = {"reservation": f"{PORT_MBIT * 45 // 100}Mbit"}  # half of the port's rate less its headroom, to either tenant
FEEDBACK = {"enabled": True, "law": "log"}
# name: (isolation and feedback, UDP)
ROWS = {"alone": (False, False), "alone, weir": (True, False), "with UDP, off": (False, True), "with UDP, weir": (True, True)}
QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
# A tenant that has work does not wait for a poller, and neither for the machine's other programs. Pollers nap when nothing
# comes, else the kernel would take a part of their time away from them as from any real-time thread that never sleeps.
TENANT_PRIORITY, POLLER_PRIORITY = 2, 1
POLL = {"poll": "adaptive", "poll_sleep_max": "20us"}


class Bench:
    """The wire and the VMs, which stay; switches and load are started for each row."""

    def __init__(self, folder):
        self.site = Hosts(folder)
        self.site.join(f"{PORT_MBIT}mbit", QUEUE, BURST)
        for number in (CLIENTS, FLOOD, MEMCACHED, SINK):
            self.site.plug(number)
        self.key_file = self.site.path("feedback.key")
        pathlib.Path(self.key_file).write_text(secrets.token_hex(16))
        self.kernels = {number: self.site.kernel(number) for number in (CLIENTS, FLOOD, MEMCACHED)}
        for number, peer in ((CLIENTS, MEMCACHED), (MEMCACHED, CLIENTS), (FLOOD, SINK)):
            self.inside(number, f"ip neigh add 10.0.0.{peer} lladdr {mac(peer)} nud permanent dev eth{number}")
        self.server = self.start(MEMCACHED, "memcached", "-u", "root", "-l", f"10.0.0.{MEMCACHED}", "-p", LISTEN, "-t", 1)
        until(self.serves, "memcached listening")

    def serves(self):
        if not self.server.alive():
            raise ChildProcessError(f"memcached ended: {tail(self.server.log)}")
        return f":{LISTEN:04X} 00000000:0000 0A" in pathlib.Path(f"/proc/{self.server.pid}/net/tcp").read_text()

    def inside(self, number, line):
        links.command(f"{' '.join(self.kernels[number])} {line}")

    def start(self, number, program, *words):
        name = os.path.basename(program)
        first = ("chrt", "--fifo", str(TENANT_PRIORITY))
        return Process([*self.kernels[number], *first, program, *map(str, words)], self.site.path(f"{name}.log"))

    def switches(self, weir):
        """Both: B's core is the first, A's the second."""
        both = []
        keys = {**POLL, **({"feedback": {**FEEDBACK, "key_file": self.key_file}} if weir else {"isolation": False})}
        for core, (name, rate, vms) in enumerate((("b", PORT_MBIT, (MEMCACHED, SINK)), ("a", UPLINK_MBIT, (CLIENTS, FLOOD)))):
            eal = ["--no-pci", "--no-huge", "-m", "256", "--no-telemetry", f"--file-prefix=weir-memcached-{name}"]
            both.append(self.site.start(name, core, {"rate": f"{rate}Mbit"}, dict.fromkeys(vms, PROMISE), eal=eal, **keys))
            raise_pollers(both[-1].process.pid)
        return both

    def load(self, seconds, seed):
        """Runs the clients; returns their answers."""
        log = pathlib.Path(self.site.path("set-load.log"))
        log.unlink(missing_ok=True)
        load = self.start(CLIENTS, tool("bench/load/set-load"), f"10.0.0.{MEMCACHED}", LISTEN, CONNECTIONS, PER_SECOND,
                          BYTES, seconds, seed)
        until(lambda: not load.alive(), "the clients' end", seconds)
        if load.stop() != 0:
            raise RuntimeError(f"set-load ended badly: {tail(load.log)}")
        return json.loads(log.read_text())

    def stretch(self, weir, udp, seconds, seed):
        """One row of one round, whose rows have the same requests."""
        for number in (CLIENTS, MEMCACHED):
            self.inside(number, "ip tcp_metrics flush")  # the metrics that the kernel has learned in another row
        both = self.switches(weir)
        flood = udp and self.start(FLOOD, tool("bench/load/udp-bursts"), f"10.0.0.{SINK}", FLOOD_MBIT * MBIT, ON_MS, OFF_MS)
        before = reading(both[0])
        found = self.load(seconds, seed)
        after = reading(both[0])
        if flood:
            flood.kill()
        for switch in both:
            if switch.stop() != 0:
                raise RuntimeError(f"a switch ended badly: {tail(switch.log)}")
        passed = {key: after[key] - before[key] for key in before}
        return {**{key: quantile(found["latencies_us"], share) for key, share in QUANTILES.items()},
                "seconds": seconds, "requests": len(found["latencies_us"]), "unanswered": found["unanswered"],
                "answered_per_s": found["answered_in_time"] / seconds,
                "late_p99": quantile(found["late_us"], 0.99),
                "udp_mbit": 8 * passed["udp"] / passed["seconds"] / MBIT, "lost_per_s": passed["lost"] / passed["seconds"],
                "resent_per_s": found["resent"] / passed["seconds"], "foreign": (passed["user"] - passed["own"]) / passed["ticks"]}


def raise_pollers(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if "worker" in (task / "comm").read_text():
            os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(POLLER_PRIORITY))


def reading(receiver):
    """Counters so far: of host B, of the port, of the machine (in ticks; only user time has an owner)."""
    port = subprocess.run(["tc", "-s", "-j", "qdisc", "show", "dev", "upbw", "root"], check=True, text=True,
                          capture_output=True, timeout=10).stdout
    ticks = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    times = os.times()
    own = (times.user + times.children_user) * os.sysconf("SC_CLK_TCK") + sum(user_ticks(each.pid) for each in RUNNING)
    return {"seconds": time.monotonic(), "udp": receiver.vnic(f"vm{SINK}")["to_vm"]["delivered"]["bytes"],
            "lost": json.loads(port)[0]["drops"], "user": ticks[0] + ticks[1], "own": own, "ticks": sum(ticks)}


def user_ticks(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])


def quantile(values, share):
    """Nearest rank."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def medians(rounds):
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


def ratio(value, alone):
    times = value / alone
    return f"{times:,.0f} x" if times > 10 else f"{times:.2f} x"


def table(rows):
    found = {name: medians(rounds) for name, rounds in rows.items()}
    lines = ["| us | p50 | p99 | p99.9 | SETs/s | UDP, Mbit/s | lost at the port, 1/s | sent again, 1/s |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name, row in found.items():
        cells = [f"{row[key]:,.0f}" + ("" if name == "alone" else f" ({ratio(row[key], found['alone'][key])})")
                 for key in QUANTILES]
        cells += [f"{row[key]:,.0f}" for key in ("answered_per_s", "udp_mbit", "lost_per_s", "resent_per_s")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def spread(rows):
    """Range of single rounds, the clients' delay, and the time that other programs took."""
    parts = [f"{name} " + " and ".join(f"{min(values):,.0f} to {max(values):,.0f}" for values in
                                       ([each[key] for each in rounds] for key in ("p99", "p999")))
             for name, rounds in rows.items()]
    every = [each for rounds in rows.values() for each in rounds]
    return [f"Medians of {len(rows['alone'])} rounds of {every[0]['seconds']} s. p99 and p99.9 of single rounds: {'; '.join(parts)}.",
            f"The clients sent 99 % of what they could send at once within {max(each['late_p99'] for each in every):.0f} us of its "
            f"time. Other programs took up to {100 * max(each['foreign'] for each in every):.0f} % of the cores."]


def judged(rows):
    """The claim of the medians: the tail beside UDP is that of the tenant alone."""
    found = {name: medians(rounds) for name, rounds in rows.items()}
    return [Claim("Table 1", f"real memcached, {name} of SETs beside UDP, above that alone",
                  100 * (found["with UDP, weir"][key] / found["alone"][key] - 1), most, unit=" %", digits=0)
            for key, name, most in (("p99", "p99", 5), ("p999", "p99.9", 10))]


def report(rows):
    """The lines for the paper's page: table, verdicts, and how far single rounds are apart."""
    return [*table(rows), "", *claims.table(judged(rows)).split("\n"), "", *spread(rows)]


def measure(rounds, seconds):
    rows = {name: [] for name in ROWS}
    with Place() as place:
        try:
            bench = Bench(str(place.path))
            for number in range(rounds):
                for name, kind in ROWS.items():
                    row = bench.stretch(*kind, seconds, number)
                    rows[name].append(row)
                    progress(f"round {number + 1} of {rounds}, {name}: " + ", ".join(f"{key} {row[key]:,.0f} us" for key in QUANTILES))
        finally:
            stop_all()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5, help="of each row in each round")
    options = parser.parse_args()
    if shutil.which("memcached") is None:
        sys.exit("memcached.py: memcached is missing; test/support/setup.sh --bench installs it")
    links.enter_own_namespace()
    prepare()
    rows = measure(options.rounds, options.seconds)
    leave_table("memcached", report(rows), rounds=rows)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""calibrate.py - Pulsar's Fig. 4 with appliances that are here: weir-calibrate measures them through a switch.

    bench/run.sh calibrate [memcached] [nbd]     needs root, memcached, nbdkit and a build; about 2 minutes each

One host: VM 1 measures, VM 3 serves; each is a kernel of its own on a veth behind a vNIC. So that the appliance is slower than the
way to it, memcached gets a twentieth of a core, and nbdkit's filters give the store costs that are known. Writes the blocks of
docs/results/calibrate.md, with tables and plots. A measurement that weir-calibrate refuses is not published: its block has the verdict "refused", the
reasons, and nothing else.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import links
from frames import mac
from hosts import Hosts
from bench.lib import results_page
from bench.lib.host import BUILD, Place, leave_table, prepare, progress, tool
from processes import Process, stop_all, tail
from wait import until

RESULTS = results_page.FOLDER
PAGE = RESULTS / "calibrate.md"
VM, SERVER = 1, 3
ADDRESS = f"10.0.0.{SERVER}"
PERIOD_US, QUOTA_US = 20000, 1000
GROUP = pathlib.Path("/sys/fs/cgroup/cpu/weir-calibrate")   # of version 1; GROUP2 of version 2
GROUP2 = pathlib.Path("/sys/fs/cgroup/weir-calibrate")
CONNECTIONS, THREADS, READ_MS, WRITE_MS, RATE = 2, 4, 2, 4, 200
BYTES_PER_S = RATE * 2**20 / 8
APPLIANCES = {
    "memcached": {"port": 11211, "protocol": "memcached", "title": "memcached with a twentieth of a core",
                  "command": ["memcached", "-u", "root", "-t", "1", "-l", ADDRESS],
                  "options": ["--noise", "15%", "--time", "800ms", "--outstanding", "256",
                              "--sizes", "64B,1KiB,4KiB,16KiB,64KiB"]},
    "nbd": {"port": 10809, "protocol": "nbd", "title": "an NBD store whose costs are known",
            "command": ["nbdkit", "--foreground", "--exit-with-parent", "--threads", str(THREADS), "--filter=rate",
                        "--filter=delay", "memory", "64M", f"rate={RATE}M", "burstiness=0.1", f"delay-read={READ_MS}ms",
                        f"delay-write={WRITE_MS}ms"],
            "options": ["--operations", "read,write", "--overwrite", "--connections", str(CONNECTIONS), "--warmup", "500ms",
                        "--base", "read:512B",
                        "--sizes", "512B,1KiB,2KiB,4KiB,8KiB,16KiB,32KiB,64KiB,128KiB"]}}
PLAIN = {"name": "bytes", "unit": "bytes", "source": "as they are",
         "operations": {"otherwise": {"size": "sum", "shape": "linear", "base": 0, "tokens": 1, "per": "1B"}}}


def hold_back(pid):
    """Leaves the process a part of a core; returns the group, which is to be removed when the process has ended."""
    if GROUP.parent.joinpath("cpu.cfs_quota_us").exists():
        GROUP.mkdir(exist_ok=True)
        GROUP.joinpath("cpu.cfs_period_us").write_text(str(PERIOD_US))
        GROUP.joinpath("cpu.cfs_quota_us").write_text(str(QUOTA_US))
        GROUP.joinpath("cgroup.procs").write_text(str(pid))
        return GROUP
    GROUP2.mkdir(exist_ok=True)
    GROUP2.joinpath("cpu.max").write_text(f"{QUOTA_US} {PERIOD_US}")
    GROUP2.joinpath("cgroup.procs").write_text(str(pid))
    return GROUP2


def serve(site, inside, name):
    """The appliance, once it listens."""
    what = APPLIANCES[name]
    words = [*what["command"]]
    words[1:1] = ["-p", str(what["port"])]
    server = Process([*inside, *words], site.path(f"{name}.log"))

    def listens():
        if not server.alive():
            raise ChildProcessError(f"{name} ended: {tail(server.log)}")
        return f":{what['port']:04X} 00000000:0000 0A" in pathlib.Path(f"/proc/{server.pid}/net/tcp").read_text()
    until(listens, f"{name} listening")
    return server


def measure(name):
    """Writes table and plot unless weir-calibrate refuses; returns its data, or its objections alone."""
    what = APPLIANCES[name]
    group = None
    with Place() as place:
        try:
            site = Hosts(str(place.path))
            site.join()
            cost = place.write("plain.json", PLAIN)
            appliance = {"name": name, "address": ADDRESS, "port": what["port"], "protocol": what["protocol"], "cost": cost}
            switch = site.start("a", 0, {"rate": "10Gbit"}, {VM: {"appliances": [{"name": name}]}, SERVER: {}}, poll="adaptive",
                                appliances=[appliance], eal=["--no-pci", "--no-huge", "-m", "256", "--file-prefix=weir-calibrate"])
            vm, host = site.kernel(VM), site.kernel(SERVER)
            for inside, own, peer in ((vm, VM, SERVER), (host, SERVER, VM)):
                links.command(f"{' '.join(inside)} ip neigh add 10.0.0.{peer} lladdr {mac(peer)} nud permanent dev eth{own}")
            server = serve(site, host, name)
            if name == "memcached":
                group = hold_back(server.pid)
            progress(f"measuring {name}")
            done = subprocess.run([*vm, tool("ctrl/calibrate/weir-calibrate"), what["protocol"], ADDRESS, *what["options"], "--json",
                                   "--name", what["title"], "--socket", switch.socket, "--plot", place.file("plot.svg"), "--output",
                                   place.file("table.json")], capture_output=True, text=True, timeout=900, check=False)
            answer = json.loads(done.stdout)
            objections = answer.get("faults", [])
            for fault in objections:
                progress(f"{name}: {fault['path']}: {fault['found']}; {fault['message']}")
            if done.returncode != 0 or objections:
                (BUILD / f"calibrate-{name}-refused.json").write_text(done.stdout)
                return {"objections": objections or [{"path": "weir-calibrate", "found": f"exit status {done.returncode}", "allowed": "0"}]}
            for file, kept in (("plot.svg", f"calibrate-{name}.svg"), ("table.json", f"calibrate-{name}.json")):
                (RESULTS / kept).write_text(pathlib.Path(place.file(file)).read_text())
        finally:
            stop_all()
            if group:
                until(lambda: not group.joinpath("cgroup.procs").read_text(), "memcached's end")
                group.rmdir()
    return {**answer["data"], "objections": []}


def known(operation, payload, base):
    """Tokens that the filters make of a request to the store, in requests of so many a second."""
    delay = (READ_MS if operation == "read" else WRITE_MS) / 1000 / CONNECTIONS / THREADS
    return 1000 * max(delay, payload / BYTES_PER_S) / base


def refusal(data):
    """The block of a measurement that weir-calibrate refused: its objections and no figure."""
    return ["**Verdict: refused**, no costs are published. The objections of `weir-calibrate`:", "",
            *(f"- {fault['path']}: {fault['found']} (allowed: {fault['allowed']})" for fault in data["objections"])]


def section(name, data):
    """The block of one appliance as Markdown."""
    if data["objections"]:
        return refusal(data)
    by_size = {(one["operation"], one["request_bytes" if one["operation"] == "write" else "response_bytes"]): one
               for one in data["measurements"] if one["keys"] == 1}
    store = name == "nbd"
    lines = ["| operation | size | counted | requests/s | noise | tokens | fitted | error |" + (" by the filters |" if store else ""),
             "|---|---:|---:|---:|---:|---:|---:|---:|" + ("---:|" if store else "")]
    for fit in data["fits"]:
        for point in fit["points"]:
            one = by_size[fit["operation"], point["size"]]
            noise = (point["high"] - point["low"]) / 2 / point["per_second"]
            cells = [fit["operation"], f"{one['payload_bytes']:,}", f"{point['size']:,}", f"{point['per_second']:,.0f}", f"{noise:.1%}",
                     f"{point['tokens']:,.0f}", f"{point['fitted']:,.0f}", f"{point['fitted'] / point['tokens'] - 1:+.1%}"]
            if store:
                cells.append(f"{known(fit['operation'], one['payload_bytes'], READ_MS / 1000 / CONNECTIONS / THREADS):,.0f}")
            lines.append(f"| {' | '.join(cells)} |")
    asked = sum(one["asked"] for one in data["measurements"])
    counted = sum(one["counted_by_switch"] for one in data["measurements"])
    busy = max(one["generator"] for one in data["measurements"])
    key = data["table"]["operations"]["read"].get("key")
    lines += ["", *(f"- {fit['operation']}, by its {fit['size']}: {fit['text']}; {fit['worst_error']:.1%} off at most." for fit in data["fits"]),
              f"- A token is {data['table']['unit']}; the appliance gives {data['capacity_tokens_per_second']:,.0f} a second."
              + (f" A further key of a get costs {key}." if key else ""),
              f"- {asked:,} requests were asked and {counted:,} counted by the switch. The load took {busy:.0%} of a core at most; medians lie "
              f"within their noise with a confidence of {data['confidence']:.1%}.", "",
              f"![costs](calibrate-{name}.svg)", "", f"The table: [calibrate-{name}.json](calibrate-{name}.json)."]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("appliances", nargs="*", metavar="|".join(APPLIANCES), default=list(APPLIANCES))
    options = parser.parse_args()
    if not set(options.appliances) <= set(APPLIANCES):
        sys.exit(f"calibrate.py: {' '.join(options.appliances)}: there are {', '.join(APPLIANCES)}")
    links.enter_own_namespace()
    prepare()
    refused = False
    for name in options.appliances:
        data = measure(name)
        refused |= bool(data["objections"])
        leave_table(f"calibrate-{name}", section(name, data), data=data)
    PAGE.write_text(results_page.filled(PAGE.read_text(), lambda name: results_page.block(BUILD, name)))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())

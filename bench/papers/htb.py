#!/usr/bin/env python3
"""htb.py - EyeQ's Fig. 7: what a limiter costs per packet, HTB of this machine's kernel beside ours, by their number.

    bench/run.sh htb [--build FOLDER] [--rounds N]      needs root and a build with -Dbench=true

HTB: one pinned sender to a veth, in a network namespace of its own; the same sender without HTB is taken off. The
most favourable case for HTB: no filter, one core, and no class is ever over its rate, so that nothing queues.
Ours: qos-bench, in which every limiter binds: look-up, queue, wheel, scheduler, departure; a loop of nothing else,
whose caches are therefore warmer than a kernel's that sends. `limiters`: all together let 90 Gbit/s pass, so that few
of them let many packets go at once. `limiters_each`: each lets 9 Mbit/s pass, so that every packet waits for its own
limiter, however many there are.
Rounds are interleaved and medians reported, in TSC cycles. Writes FOLDER/htb.json.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import links
from bench.lib.host import BUILD

COUNTS = (1, 100, 1000, 10000)
FIRST_CLASS = 0x10  # as in bench/load/udp/udp_classes.cc
AT_LEAST = 5  # times fewer cycles than HTB, at 1,000
FLAT = 1.10  # the most limiters against one
PEER = "10.99.0.2"


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, timeout=120, **options)


def make_wire():
    """A veth whose other end drops what comes at once: it is for somebody else's MAC."""
    run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far")
    run("ip", "address", "add", "10.99.0.1/24", "dev", "near")
    for end in ("near", "far"):
        run("ip", "link", "set", end, "up")
    run("ip", "neigh", "add", PEER, "lladdr", "02:00:00:00:00:99", "nud", "permanent", "dev", "near")


def set_htb(classes):
    lines = ["qdisc add dev near root handle 1: htb", "class add dev near parent 1: classid 1:1 htb rate 100gbit quantum 1514"]
    lines += [f"class add dev near parent 1:1 classid 1:{FIRST_CLASS + i:x} htb rate 10gbit quantum 1514" for i in range(classes)]
    run("tc", "-batch", "-", input="\n".join(lines) + "\n")


def clear_htb():
    run("tc", "qdisc", "del", "dev", "near", "root")


def sender(build, classes, milliseconds=400):
    return float(run("taskset", "-c", "1", build / "bench/load/udp-classes", PEER, str(classes), str(milliseconds),
                     stdout=subprocess.PIPE).stdout)


def sent_by_htb():
    """Packets that HTB has passed on, so that nobody measures a discipline which packets go around."""
    shown = run("tc", "-s", "-j", "qdisc", "show", "dev", "near", "root", stdout=subprocess.PIPE).stdout
    return json.loads(shown)[0]


def limiter(build, bench, count):
    shown = run("taskset", "-c", "1", build / "bench/micro/qos-bench", f"--benchmark_filter=^{bench}/{count}$",
                "--benchmark_min_time=0.1", "--benchmark_format=json", stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL).stdout
    return json.loads(shown)["benchmarks"][0]["cycles_per_packet"]


def measure(build, rounds):
    found = {count: {"none": [], "htb": [], "over": [], "weir": [], "each": []} for count in COUNTS}
    for _ in range(rounds):
        for count, each in found.items():
            each["none"].append(sender(build, count))
            set_htb(count)
            each["htb"].append(sender(build, count))
            passed = sent_by_htb()
            clear_htb()
            if passed["packets"] < 1000 or passed.get("overlimits", 0) > passed["packets"] / 100:
                sys.exit(f"htb.py: HTB was to pass all packets unhindered, and says {passed}")
            each["over"].append(each["htb"][-1] - each["none"][-1])
            each["weir"].append(limiter(build, "limiters", count))
            each["each"].append(limiter(build, "limiters_each", count))
    return found


def medians(found):
    return {count: {name: statistics.median(values) for name, values in each.items()} for count, each in found.items()}


def table(found):
    lines = ["| limiters | sender without HTB | sender with HTB | HTB | ours, 90 Gbit/s in all | ours, 9 Mbit/s each | HTB / ours in all |",
             "|---:|---:|---:|---:|---:|---:|---:|"]
    for count, each in medians(found).items():
        lines.append(f"| {count:,} | {each['none']:,.0f} | {each['htb']:,.0f} | {each['over']:,.0f} | {each['weir']:,.0f} "
                     f"| {each['each']:,.0f} | {each['over'] / each['weir']:.1f} |")
    return lines


def verdicts(found):
    middle = medians(found)
    ratio = middle[1000]["over"] / middle[1000]["weir"]
    rounds = sorted(over / weir for over, weir in zip(found[1000]["over"], found[1000]["weir"]))
    most = COUNTS[-1]
    flat = middle[most]["each"] / middle[1]["each"]
    together = {count: middle[most]["weir"] / middle[count]["weir"] for count in (1, 100)}
    return [f"Medians of {len(rounds)} rounds. At 1,000 limiters HTB needs {ratio:.1f} times our cycles, in single rounds "
            f"{rounds[0]:.1f} to {rounds[-1]:.1f} (must reach {AT_LEAST}: {'met' if ratio >= AT_LEAST else 'MISSED'}).",
            f"Ours, {most:,} limiters against 1 with the same rate each: {flat:.2f} (must reach {FLAT:.2f}: "
            f"{'met' if flat <= FLAT else 'MISSED'}); with the same rate in all: {together[1]:.2f}, against 100: {together[100]:.2f}."]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=BUILD)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    links.enter_own_namespace()
    make_wire()
    found = measure(options.build.resolve(), options.rounds)
    lines = [*table(found), "", *verdicts(found)]
    (options.build / "htb.json").write_text(json.dumps({"cycles": medians(found), "rounds": found, "table": lines}, indent=1) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

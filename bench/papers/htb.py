#!/usr/bin/env python3
"""htb.py - EyeQ's Fig. 7: cycles per packet of a limiter by their number, HTB of this machine's kernel beside destination limits.

    bench/run.sh htb [--rounds N]      needs root

HTB: a pinned sender to a veth, in a network namespace of its own, less the same sender without HTB. The case favors HTB: no filter, one core,
and no class is ever over its rate, so that nothing queues. Destination limits: qos-bench, in which every limiter binds: look-up, queue, wheel,
scheduler, departure; a loop of nothing else, whose caches are therefore warmer than those of a kernel that sends. `limiters`: all together admit
90 Gbit/s, so that with few of them one firing releases many packets. `limiters_each`: each admits 9 Mbit/s, so that every packet waits for its
own limiter, however many there are.
Rounds are interleaved and medians reported, in TSC cycles. Writes htb.json to the build folder; `bench/run.sh eyeq` and `results` put its tables
into docs/results/eyeq.md.
"""
import json
import subprocess

import links
from bench.lib import micro
from bench.lib.figures import median, median_of, select
from bench.lib.host import SWITCH_CORE, parser, prepare, tool
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number, with_quartiles

COUNTS = (1, 100, 1000, 10000)
FIRST_CLASS = 0x10  # as in bench/load/udp/udp_classes.cc
TIMES_LEAST = 5  # HTB's cycles over the destination limits', at 1,000
FLAT_MOST = 1.10  # the most cycles over the fewest, of all numbers of limiters
PEER = "10.99.0.2"


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, timeout=120, **options)


def make_wire():
    """A veth whose other end drops every packet at once, because the packets are for another MAC."""
    run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far")
    run("ip", "address", "add", "10.99.0.1/24", "dev", "near")
    for end in ("near", "far"):
        run("ip", "link", "set", end, "up")
    run("ip", "neigh", "add", PEER, "lladdr", "02:00:00:00:00:99", "nud", "permanent", "dev", "near")


def set_htb(classes):
    lines = ["qdisc add dev near root handle 1: htb", "class add dev near parent 1: classid 1:1 htb rate 100gbit quantum 1514"]
    lines += [f"class add dev near parent 1:1 classid 1:{FIRST_CLASS + i:x} htb rate 10gbit quantum 1514" for i in range(classes)]
    run("tc", "-batch", "-", input="\n".join(lines) + "\n")


def sender(classes, milliseconds=400):
    """Cycles per packet of a sender through so many sockets."""
    return float(run("taskset", "-c", str(SWITCH_CORE), tool("bench/load/udp-classes"), PEER, str(classes), str(milliseconds),
                     stdout=subprocess.PIPE).stdout)


def sender_through_htb(classes):
    """The same with HTB. Raises RuntimeError unless HTB passed the packets and delayed hardly any."""
    set_htb(classes)
    cycles = sender(classes)
    passed = json.loads(run("tc", "-s", "-j", "qdisc", "show", "dev", "near", "root", stdout=subprocess.PIPE).stdout)[0]
    run("tc", "qdisc", "del", "dev", "near", "root")
    if passed["packets"] < 1000 or passed.get("overlimits", 0) > passed["packets"] / 100:
        raise RuntimeError(f"HTB was to pass all packets without delay, and counted {passed}")
    return cycles


def limiters(case, count):
    report = micro.measure("qos-bench", f"--benchmark_filter=^{case}/{count}$", "--benchmark_min_time=0.1")
    return micro.cases(report)[0]["cycles_per_packet"]


def figures(count):
    none, htb = sender(count), sender_through_htb(count)
    return {"none": none, "htb": htb, "over": htb - none, "limiters": limiters("limiters", count),
            "limiters_each": limiters("limiters_each", count)}


def times(samples, count):
    """HTB's cycles over the destination limits', round by round."""
    return [sample["over"] / sample["limiters"] for sample in select(samples, count=count)]


def spread(samples, case):
    """The largest median over the smallest, of all numbers of limiters: 1 is flat in both directions. None where a number was not measured."""
    found = [median_of(samples, case, count=count) for count in COUNTS]
    return max(found) / min(found) if all(found) else None


def tables(samples):
    keys = ("none", "htb", "over", "limiters", "limiters_each")
    counts = [count for count in COUNTS if select(samples, count=count)]
    return [Table("Cycles per packet by number of limiters (medians)",
                  ["limiters", "sender without HTB", "sender with HTB", "HTB", "Weir, 90 Gbit/s in all", "Weir, 9 Mbit/s each", "HTB / Weir in all"],
                  [[f"{count:,}", *(number(median_of(samples, key, count=count), 0) for key in keys), with_quartiles(times(samples, count))]
                   for count in counts])]


def marks(samples):
    return [mark("HTB / Weir at 1,000 limiters", median(times(samples, 1000)), TIMES_LEAST, " x", least=True),
            mark("9 Mbit/s each: most cycles of any number of limiters / fewest", spread(samples, "limiters_each"), FLAT_MOST, " x"),
            mark("90 Gbit/s in all (the paper's setting): most cycles / fewest", spread(samples, "limiters"), FLAT_MOST, " x")]


def main():
    options = parser("htb", __doc__, rounds=7).parse_args()
    links.enter_own_namespace()
    prepare()
    make_wire()
    record = Record(options)
    for number_of_round in range(options.rounds):
        for count in COUNTS:
            record.attempt(lambda: record.stretch(lambda: figures(count), count=count), round=number_of_round)
    finish(record, "bench.papers.htb")


if __name__ == "__main__":
    main()

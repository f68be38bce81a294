#!/usr/bin/env python3
"""latency.py - round trip through two vhost ports at low load, in ratios to the raw loop measured just before and after."""
from lib.host import Place, parser, prepare, say
from lib.report import median, number, print_targets, save, table, target
from lib.system import Raw, Weir, session, vm_ports
from peers.ovs import Ovs
from peers.testpmd import Testpmd

RATIO_ALLOWED = 1.15
PPS = 10_000


def echo(seconds):
    """VM 0 sends single packets, VM 1 sends them back, VM 0 reads how long that took."""
    return {"name": "echo", "seconds": seconds, "warmup": 0.2, "inspect": [0], "echo": [1],
            "streams": [{"from": 0, "to": 1, "size": 64, "pps": PPS, "burst": 1, "stamp": True},
                        {"from": 1, "to": 0, "size": 64, "pps": 10}]}  # so that VM 1's MAC is learned


def measure(make, options, samples, turn):
    with Place(keep=options.keep) as place:
        system = make(place, vm_ports(place))
        try:
            with session(system) as load:
                result, _ = load.measure(echo(options.seconds))
        except (RuntimeError, TimeoutError, OSError) as error:
            say(f"{system.name}: {error}")
            return
        delay = result["streams"][0]["delay_us"]
        samples.append({"turn": turn, "system": system.name, "delay_us": delay})
        say(f"{system.name:12} p50 {delay['p50']:.2f} us, p99 {delay['p99']:.2f} us")


def ratio(samples, system):
    """Median of p50 over the mean of the raw loop's p50 in the turns before and after."""
    p50 = {s["turn"]: s["delay_us"]["p50"] for s in samples}
    raws = {s["turn"] for s in samples if s["system"] == "raw"}
    ratios = []
    for sample in samples:
        near = [p50[turn] for turn in (sample["turn"] - 1, sample["turn"] + 1) if turn in raws]
        if sample["system"] == system and near:
            ratios.append(p50[sample["turn"]] / (sum(near) / len(near)))
    return median(ratios)


def report(samples, options):
    rows = []
    for system in dict.fromkeys(s["system"] for s in samples):
        delays = [s["delay_us"] for s in samples if s["system"] == system]
        quantiles = [median([delay[q] for delay in delays]) for q in ("p50", "p90", "p99")]
        rows.append([system, *map(number, quantiles), "1.00" if system == "raw" else number(ratio(samples, system))])
    table(f"Round trip of single 64-byte packets, {PPS} a second (us, medians over the rounds)",
          ["", "p50", "p90", "p99", "p50 x raw"], rows)
    marks = [target("weir / raw, p50", ratio(samples, "weir"), RATIO_ALLOWED, " x")]
    print_targets(marks)
    save(options.output, "latency", vars(options), samples, marks)


def main():
    options = parser("latency", __doc__, seconds=1.0).parse_args()
    prepare()
    systems = [Weir, Testpmd, *([Ovs] if options.peers else [])]
    order = [make for _ in range(options.rounds) for system in systems for make in (Raw, system)] + [Raw]
    samples = []
    for turn, make in enumerate(order):
        measure(make, options, samples, turn)
    report(samples, options)


if __name__ == "__main__":
    main()

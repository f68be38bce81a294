#!/usr/bin/env python3
"""ndr.py - finds the highest rate at which no more than a given share of the packets is lost (RFC 2544 26.1), with TRex.

    ndr.py --server TESTER --size 64 --flows 1 --allowed 0        NDR: nothing lost
    ndr.py --server TESTER --size 64 --flows 1 --allowed 0.5      PDR: at most 0.5 % lost

A rate counts when none of --repeats trials loses more. Prints JSON. Needs TRex's Python client on PYTHONPATH.
"""
import argparse
import json
import sys

LINE_RATE = 100.0  # percent


def highest_rate(lost_percent, allowed, precision=0.1, repeats=3):
    """Bisects the rate in percent of line rate. lost_percent(rate) runs one trial. Returns (rate, trials)."""
    trials = []

    def loses_no_more(rate):
        for _ in range(repeats):
            lost = lost_percent(rate)
            trials.append({"rate_percent": rate, "lost_percent": lost})
            if lost > allowed:
                return False
        return True

    if loses_no_more(LINE_RATE):
        return LINE_RATE, trials
    low, high = 0.0, LINE_RATE
    while high - low > precision:
        middle = (low + high) / 2
        low, high = (middle, high) if loses_no_more(middle) else (low, middle)
    return low, trials


def trex_trial(options):
    """A trial on a running TRex server, as a function of the rate."""
    from trex_stl_lib.api import STLClient, STLProfile  # here, so that the search can be used without TRex
    client = STLClient(server=options.server)
    client.connect()
    ports = [0, 1]
    client.reset(ports)
    for port in ports:
        tunables = {"tunables": ["--size", str(options.size), "--flows", str(options.flows)]}
        profile = STLProfile.load_py("weir_stl.py", direction=port, port_id=port, **tunables)
        client.add_streams(profile.get_streams(), ports=port)

    def lost_percent(rate):
        client.clear_stats()
        client.start(ports=ports, mult=f"{rate}%", duration=options.seconds, force=True)
        client.wait_on_traffic(ports=ports)
        stats = client.get_stats()
        sent = sum(stats[port]["opackets"] for port in ports)
        received = sum(stats[port]["ipackets"] for port in ports)
        return 100 * max(sent - received, 0) / max(sent, 1)

    return lost_percent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default="127.0.0.1")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--flows", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--allowed", type=float, default=0.0, help="percent of packets that may be lost")
    options = parser.parse_args()
    rate, trials = highest_rate(trex_trial(options), options.allowed, repeats=options.repeats)
    json.dump({"schema": 1, "options": vars(options), "rate_percent": rate, "trials": trials}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()

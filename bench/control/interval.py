#!/usr/bin/env python3
"""interval.py - a whole interval of the controller: demands of 2,000 switches received, solved and answered over real sockets.

Source: Pulsar 6.3, 6.4.
"""
import json

from bench.lib.host import parser, prepare, run, tool
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number

BYTES_UP_MOST, BYTES_DOWN_MOST = 64, 32  # of a flow, without the switch's header


def tables(samples):
    return [Table("A controller's interval over sockets (medians; ms of the clock and of the controller's thread)",
                  ["sockets", "flows", "receive", "solve", "send", "together", "CPU", "switches see", "bytes up a flow", "bytes down a flow", "MiB"],
                  [[each.get("sockets", "ipc"), f"{each['flows']:,}", *(number(each[key], 1) for key in ("receive_ms", "solve_ms", "send_ms", "work_ms", "cpu_ms", "round_ms")),
                    number(each["bytes_up_per_flow"], 1), number(each["bytes_down_per_flow"], 1), str(each["peak_memory_mib"])]
                   for each in samples])]


def marks(samples):
    found = []
    for each in samples:
        header = each["header_bytes_per_switch"] * each["hosts"] / each["flows"]
        found += [mark(f"bytes up a flow, {each['flows']:,} flows", each["bytes_up_per_flow"] - header, BYTES_UP_MOST, " B"),
                  mark(f"bytes down a flow, {each['flows']:,} flows", each["bytes_down_per_flow"] - header, BYTES_DOWN_MOST, " B")]
    return found


def main():
    options = parser("interval", __doc__, rounds=15)
    options.add_argument("--hosts", type=lambda text: [int(each) for each in text.split(",")], default=[2_000], help="with 12 flows each")
    options = options.parse_args()
    prepare()
    record = Record(options)
    for hosts in options.hosts:
        for sockets in ("ipc", "tcp"):
            record.samples.append(json.loads(run(tool("bench/control/interval-bench"), str(hosts), str(options.rounds), sockets, timeout=300)))
    finish(record, "bench.control.interval")


if __name__ == "__main__":
    main()

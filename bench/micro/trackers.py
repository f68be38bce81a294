#!/usr/bin/env python3
"""trackers.py - the request trackers of cost_functions/: ns per segment, look-up of the connection included, by number of connections."""
from bench.lib import micro
from bench.lib.figures import median
from bench.lib.report import Table, mark, number

MEMORY_MIB_MOST = 128  # for a million connections
NS_MOST = 25  # per segment; per request with its response where a segment holds many
CONNECTIONS = ("1", "10000", "100000", "1000000")
CASES = {"mix": "mix of a cache: ten exchanges of 30 bytes to 8 KiB, with acknowledgements", "body": "within a body",
         "set": "memcached, SET of 16 KiB", "get": "memcached, GET and hit", "binary": "the same, binary protocol",
         "split": "the same, the GET in two segments", "redis": "Redis, GET and hit", "nbd": "NBD, read of 4 KiB",
         "nvme": "NVMe/TCP, read of 4 KiB", "iscsi": "iSCSI, read of 4 KiB",
         "pipelined": "memcached, 32 GETs in a segment: each GET and its hit"}


def nanos(samples, case, connections):
    name = f"{case}/{connections}"
    return median([micro.one(samples, name, key) for key in ("ns_per_segment", "ns_per_request_and_response")])


def memory_mib(samples):
    """Of the most connections measured."""
    return max((sample["memory_mib"] for sample in samples), default=None)


def tables(samples):
    return [Table("Request trackers, by number of connections (medians)",
                  ["ns per segment", *(f"{int(count):,} connection{'s' if count != '1' else ''}" for count in CONNECTIONS)],
                  [[words, *(number(nanos(samples, case, count), 1) for count in CONNECTIONS)] for case, words in CASES.items()])]


def marks(samples):
    return [mark("memory, a million connections", memory_mib(samples), MEMORY_MIB_MOST, " MiB"),
            *(mark(f"{words}, {int(count):,} connection{'s' if count != '1' else ''}", nanos(samples, case, count), NS_MOST, " ns")
              for case, words in CASES.items() for count in CONNECTIONS)]


if __name__ == "__main__":
    micro.main("trackers", __doc__, "tracker-bench", repetitions=7)

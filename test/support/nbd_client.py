#!/usr/bin/env python3
"""nbd_client.py - reads from an NBD server, on each connection one after the other, and prints the time of each response.

    nbd_client.py ADDRESS PORT [--connections N] SIZE:SECONDS [SIZE:SECONDS ...]

One line of JSON at the end: {"reads": [{"size", "times": [seconds since the start], "failed"}]}.
"""

import json
import socket
import struct
import sys
import threading
import time

from wait import BOUND_SECONDS, until

FIXED_NEWSTYLE, NO_ZEROES = 1, 2
OPTION_EXPORT_NAME = 1
READ, DISCONNECT = 0, 2
REQUEST_MAGIC, REPLY_MAGIC = 0x25609513, 0x67446698


def connected(address, port):
    def connect():
        try:
            return socket.create_connection((address, port), BOUND_SECONDS)
        except OSError:
            return None
    link = until(connect, f"a connection to {address} port {port}")
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def receive(link, count):
    data = bytearray()
    while len(data) < count:
        more = link.recv(count - len(data))
        if not more:
            raise ConnectionError("the server has closed the connection")
        data += more
    return bytes(data)


def negotiate(link):
    magic, version, flags = struct.unpack(">8s8sH", receive(link, 18))
    if (magic, version) != (b"NBDMAGIC", b"IHAVEOPT") or not flags & FIXED_NEWSTYLE:
        raise ConnectionError("no server of the fixed newstyle")
    link.sendall(struct.pack(">I8sII", FIXED_NEWSTYLE | NO_ZEROES, b"IHAVEOPT", OPTION_EXPORT_NAME, 0))
    receive(link, 10)  # size and flags of the export


def read(link, cookie, size):
    link.sendall(struct.pack(">IHHQQI", REQUEST_MAGIC, 0, READ, cookie, 0, size))
    magic, error, answered = struct.unpack(">IIQ", receive(link, 16))
    if (magic, answered) != (REPLY_MAGIC, cookie):
        raise ConnectionError("not the reply that was waited for")
    if not error:
        receive(link, size)
    return error == 0


def run(link, phases, began, reads):
    cookie, end = 0, began
    for phase, (size, seconds) in zip(reads, phases):
        end += seconds
        while time.monotonic() < end:
            cookie += 1
            failed = not read(link, cookie, size)
            phase["failed"] += failed
            phase["times"].append(round(time.monotonic() - began, 6))
    link.sendall(struct.pack(">IHHQQI", REQUEST_MAGIC, 0, DISCONNECT, cookie + 1, 0, 0))
    link.close()


def main(address, port, *arguments):
    connections = 1
    if arguments[0] == "--connections":
        connections, arguments = int(arguments[1]), arguments[2:]
    phases = [(int(size), float(seconds)) for size, seconds in (phase.split(":") for phase in arguments)]
    reads = [{"size": size, "times": [], "failed": 0} for size, _ in phases]
    links = [connected(address, int(port)) for _ in range(connections)]
    for link in links:
        negotiate(link)
    began = time.monotonic()
    threads = [threading.Thread(target=run, args=(link, phases, began, reads), daemon=True) for link in links]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for phase in reads:
        phase["times"].sort()
    print(json.dumps({"reads": reads}))


if __name__ == "__main__":
    main(*sys.argv[1:])

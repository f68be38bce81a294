#!/usr/bin/env python3
"""memcached_client.py - mixed requests to a memcached, pipelined over several connections; every answer is checked.

    memcached_client.py ADDRESS PORT CONNECTIONS REQUESTS SEED

One line of JSON at the end: what was asked, by kind, and the server's own counters.
"""

import collections
import json
import random
import socket
import sys

ANSWER_SECONDS = 60
AT_ONCE = 40
SIZES = (0, 10, 100, 1_000, 5_000, 20_000)


class Link:
    def __init__(self, address, port):
        self.socket = socket.create_connection((address, port), ANSWER_SECONDS)
        self.stream = self.socket.makefile("rb")

    def line(self):
        return self.stream.readline().rstrip(b"\r\n")

    def value(self):
        """The answer to a get: its value, or None."""
        line, found = self.line(), None
        while line != b"END":
            size = int(line.split()[3])
            found = self.stream.read(size + 2)[:-2]
            line = self.line()
        return found

    def expect(self, *words):
        line = self.line()
        if line not in words:
            raise ValueError(f"{line!r} instead of {words}")


def batch(link, number, rng, asked, held):
    """So many requests in one go, then their answers. `held`: what the server must have."""
    out, checks = bytearray(), []
    for _ in range(AT_ONCE):
        key = f"k{number}-{rng.randrange(50)}"
        kind = rng.choice(("get", "get", "set", "set_quiet", "delete", "touch"))
        asked[kind] += 1
        if kind == "get":
            out += f"get {key}\r\n".encode()
            checks.append((link.value, held.get(key)))
        elif kind == "delete":
            out += f"delete {key}\r\n".encode()
            checks.append((link.line, b"DELETED" if held.pop(key, None) is not None else b"NOT_FOUND"))
        elif kind == "touch":
            out += f"touch {key} 0\r\n".encode()
            checks.append((link.line, b"TOUCHED" if key in held else b"NOT_FOUND"))
        else:
            held[key] = rng.randbytes(rng.choice(SIZES))
            quiet = " noreply" if kind == "set_quiet" else ""
            out += f"set {key} 0 0 {len(held[key])}{quiet}\r\n".encode() + held[key] + b"\r\n"
            if not quiet:
                checks.append((link.line, b"STORED"))
    link.socket.sendall(out)
    for receive, expected in checks:
        answer = receive()
        if answer != expected:
            raise ValueError(f"{answer[:40]!r} instead of {expected[:40]!r}")


def main(address, port, connections, requests, seed):
    rng, asked = random.Random(int(seed)), collections.Counter()
    links = [(Link(address, int(port)), {}) for _ in range(int(connections))]
    while sum(asked.values()) < int(requests):
        for number, (link, held) in enumerate(links):
            batch(link, number, rng, asked, held)
    link = links[0][0]
    link.socket.sendall(b"stats\r\n")
    server = dict(line.split()[1:3] for line in iter(link.line, b"END"))
    print(json.dumps({"asked": asked, "server": {name: int(server[f"cmd_{name}".encode()]) for name in ("get", "set", "touch")},
                      "deletes": sum(int(server[f"delete_{how}".encode()]) for how in ("hits", "misses"))}))


if __name__ == "__main__":
    main(*sys.argv[1:])

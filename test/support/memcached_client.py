#!/usr/bin/env python3
"""memcached_client.py - mixed requests to a memcached, pipelined over several connections; every answer is checked.

    memcached_client.py ADDRESS PORT CONNECTIONS REQUESTS SEED

Each connection is a thread. One line of JSON at the end: the number of requests of each kind, the number of answers, and the
server's own counters, which count each request once.
"""

import collections
import json
import random
import socket
import sys
import threading

from wait import BOUND_SECONDS

AT_ONCE = 40
KEYS = 50
SIZES = (0, 10, 100, 1_000, 3_000, 8_000)
SEND_BYTES = 400_000  # a whole batch, so that neither side waits for the other to read first
KINDS = ("get",) * 6 + ("mg",) * 2 + ("set",) * 4 + ("set_quiet", "ms", "ms", "delete", "md", "touch", "incr", "incr", "ma", "count")
# The server's counter, and the kinds that it counts.
COUNTERS = {"get": ("get", "mg"), "set": ("set", "set_quiet", "ms", "count"), "delete": ("delete", "md"), "incr": ("incr", "ma"),
            "touch": ("touch",)}


class Link:
    def __init__(self, address, port):
        self.socket = socket.create_connection((address, port), BOUND_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        self.stream = self.socket.makefile("rb")

    def line(self):
        return self.stream.readline().rstrip(b"\r\n")

    def value(self):
        """The answer to a get: its value, or None."""
        line, found = self.line(), None
        while line != b"END":
            found = self.body(line.split()[3])
            line = self.line()
        return found

    def meta_value(self):
        line = self.line()
        return self.body(line.split()[1]) if line.startswith(b"VA ") else line

    def body(self, size):
        return self.stream.read(int(size) + 2)[:-2]

    def stats(self):
        self.socket.sendall(b"stats\r\n")
        return dict(line.split()[1:3] for line in iter(self.line, b"END"))


class Client(threading.Thread):
    """One connection, with keys of its own; `held` and `counts` are the values and counters that the server must have."""

    def __init__(self, link, number, requests, seed):
        super().__init__()
        self.link, self.number, self.requests = link, number, requests
        self.rng = random.Random(f"{seed} {number}")
        self.asked, self.answers, self.held, self.counts, self.failure = collections.Counter(), 0, {}, {}, None

    def run(self):
        try:
            while self.asked.total() < self.requests:
                self.batch()
        except (OSError, ValueError, IndexError) as failure:
            self.failure = failure

    def batch(self):
        """So many requests in one go, then their answers."""
        asked = [self.ask(self.rng.choice(KINDS)) for _ in range(min(AT_ONCE, self.requests - self.asked.total()))]
        self.link.socket.sendall(b"".join(words for words, _, _ in asked))
        for _, receive, expected in asked:
            if receive is None:
                continue
            answer = receive()
            self.answers += 1
            if answer != expected:
                raise ValueError(f"{answer[:40]!r} instead of {expected[:40]!r}")

    def ask(self, kind):
        """(the request's bytes, the function that receives the answer or None, the answer that is expected)."""
        self.asked[kind] += 1
        link, name = self.link, f"{self.number}-{self.rng.randrange(KEYS)}"
        key, counter = f"k{name}", f"n{name}"
        if kind == "get":
            return f"get {key}\r\n".encode(), link.value, self.held.get(key)
        if kind == "mg":
            return f"mg {key} v\r\n".encode(), link.meta_value, self.held.get(key, b"EN")
        if kind == "touch":
            return f"touch {key} 0\r\n".encode(), link.line, b"TOUCHED" if key in self.held else b"NOT_FOUND"
        if kind in ("delete", "md"):
            was = self.held.pop(key, None) is not None
            yes, no = (b"DELETED", b"NOT_FOUND") if kind == "delete" else (b"HD", b"NF")
            return f"{kind} {key}\r\n".encode(), link.line, yes if was else no
        if kind == "count":
            self.counts[counter] = 0
            return f"set {counter} 0 0 1\r\n0\r\n".encode(), link.line, b"STORED"
        if kind in ("incr", "ma"):
            return self.add(kind, counter)
        return self.store(kind, key)

    def add(self, kind, counter):
        there = counter in self.counts
        if there:
            self.counts[counter] += 7
        if kind == "ma":
            return f"ma {counter} D7\r\n".encode(), self.link.line, b"HD" if there else b"NF"
        return f"incr {counter} 7\r\n".encode(), self.link.line, str(self.counts[counter]).encode() if there else b"NOT_FOUND"

    def store(self, kind, key):
        value = self.held[key] = self.rng.randbytes(self.rng.choice(SIZES))
        if kind == "ms":
            return f"ms {key} {len(value)}\r\n".encode() + value + b"\r\n", self.link.line, b"HD"
        quiet = kind == "set_quiet"
        head = f"set {key} 0 0 {len(value)}{' noreply' if quiet else ''}\r\n"
        return head.encode() + value + b"\r\n", None if quiet else self.link.line, b"STORED"


def served(stats):
    """Requests of each kind, by the server's own counters."""
    def count(name):
        return int(stats[name.encode()])
    return {**{name: count(f"cmd_{name}") for name in ("get", "set", "touch")},
            **{name: count(f"{name}_hits") + count(f"{name}_misses") for name in ("delete", "incr")}}


def main(address, port, connections, requests, seed):
    count = int(connections)
    shares = [int(requests) // count + (number < int(requests) % count) for number in range(count)]
    clients = [Client(Link(address, int(port)), number, share, seed) for number, share in enumerate(shares)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    failures = [client.failure for client in clients if client.failure]
    if failures:
        raise failures[0]
    asked = sum((client.asked for client in clients), collections.Counter())
    counted = {name: sum(asked[kind] for kind in kinds) for name, kinds in COUNTERS.items()}
    print(json.dumps({"asked": counted, "answers": sum(client.answers for client in clients),
                      "server": served(clients[0].link.stats())}))


if __name__ == "__main__":
    main(*sys.argv[1:])

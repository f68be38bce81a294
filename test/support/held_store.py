#!/usr/bin/env python3
"""held_store.py - an NBD server that answers a read only when a line on its input asks for it: `held_store.py PORT`.

It prints `listening`, then `read N` when it has received the N-th read. Each line on its input answers the oldest read that waits.
"""

import selectors
import socket
import struct
import sys

from nbd_client import FIXED_NEWSTYLE, NO_ZEROES, READ, REPLY_MAGIC, receive

SIZE = 1 << 20


def negotiate(link):
    link.sendall(struct.pack(">8s8sH", b"NBDMAGIC", b"IHAVEOPT", FIXED_NEWSTYLE | NO_ZEROES))
    length, = struct.unpack(">16xI", receive(link, 20))      # the client's flags, and its option with a name of the export
    receive(link, length)
    link.sendall(struct.pack(">QH", SIZE, 1))


class Store:
    def __init__(self, port):
        self.selector = selectors.DefaultSelector()
        self.waiting = []       # (connection, cookie, size), oldest first
        self.received = 0
        self.listener = socket.create_server(("", port), backlog=64)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.selector.register(sys.stdin, selectors.EVENT_READ, self.answer)
        print("listening", flush=True)

    def accept(self, listener):
        link, _ = listener.accept()
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        negotiate(link)
        self.selector.register(link, selectors.EVENT_READ, self.read)

    def read(self, link):
        try:
            _, _, kind, cookie, _, size = struct.unpack(">IHHQQI", receive(link, 28))
        except ConnectionError:
            kind = None
        if kind != READ:
            self.selector.unregister(link)
            link.close()
            return
        self.waiting.append((link, cookie, size))
        self.received += 1
        print(f"read {self.received}", flush=True)

    def answer(self, lines):
        if not lines.readline():
            sys.exit()
        link, cookie, size = self.waiting.pop(0)
        link.sendall(struct.pack(">IIQ", REPLY_MAGIC, 0, cookie) + bytes(size))

    def run(self):
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)


if __name__ == "__main__":
    Store(int(sys.argv[1])).run()

"""zmtp.py - a switch's end of a connection to weir-ctrl over ipc, made of bytes: `Peer(path, "h1")`, `hello(...)`, `demand(...)`.

The transport is ZMTP 3.0 with the mechanism NULL (RFC 23 of ZeroMQ). Source: docs/protocol.md.
"""

import contextlib
import json
import socket
import struct
import threading

HELLO, WELCOME, TABLES, DEMAND, ALLOCATION, USAGE = 1, 2, 3, 4, 5, 7
SNAPSHOT = 1
HEADER = struct.Struct("<4sBBHQIIII")
FLOW = struct.Struct("<III12f")
PERIOD = struct.Struct("<IIQQQQ")
GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
MORE, LONG, COMMAND = 1, 2, 4


def frame(body, flags):
    if len(body) < 256 and not flags & LONG:
        return struct.pack("!BB", flags, len(body)) + body
    return struct.pack("!BQ", flags | LONG, len(body)) + body


def property_of(name, value):
    return struct.pack("!B", len(name)) + name + struct.pack("!I", len(value)) + value


READY = frame(b"\x05READY" + property_of(b"Socket-Type", b"DEALER") + property_of(b"Identity", b""), COMMAND)


class Peer:
    """One DEALER. A thread reads all messages: `received` has (type, interval) of each, in order, `ids` the endpoints of TABLES."""

    def __init__(self, path, host):
        self.host = host
        self.session, self.sequence, self.epoch, self.interval = 0, 0, 0, 0
        self.received = []
        self.ids = {}
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.sendall(GREETING)
        self.read(64)
        self.socket.sendall(READY)
        self.sending = threading.Lock()
        self.reader = threading.Thread(target=self.run, daemon=True)
        self.reader.start()

    def close(self):
        with contextlib.suppress(OSError):          # the controller may have ended it
            self.socket.shutdown(socket.SHUT_RDWR)
        self.reader.join()
        self.socket.close()

    def read(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def write(self, data):
        with self.sending:
            self.socket.sendall(data)

    def run(self):
        parts = []
        try:
            while True:
                flags, = self.read(1)
                size, = struct.unpack("!Q" if flags & LONG else "!B", self.read(8 if flags & LONG else 1))
                body = self.read(size)
                if flags & COMMAND:
                    if body.startswith(b"\x04PING"):
                        self.write(frame(b"\x04PONG" + body[7:], COMMAND))
                    continue
                parts.append(body)
                if not flags & MORE:
                    self.take(*parts)
                    parts = []
        except (EOFError, OSError):
            pass

    def take(self, header, body=b""):
        _, _, kind, _, self.epoch, _, _, self.interval, _ = HEADER.unpack(header)
        if kind == TABLES:
            self.ids.update((end["name"], end["id"]) for end in json.loads(body).get("endpoints", ()))
        self.received.append((kind, self.interval))

    def intervals(self, kind=ALLOCATION):
        """Numbers of the intervals whose message of that kind arrived."""
        return [interval for received, interval in list(self.received) if received == kind]

    def encoded(self, kind, flags, count, body):
        """The next message of the session, as bytes to write()."""
        self.sequence += 1
        header = HEADER.pack(b"WEIR", 1, kind, flags, 0 if kind == HELLO else self.epoch, self.session, self.sequence,
                             self.interval, count)
        return frame(header, MORE) + frame(body, LONG)

    def encoded_hello(self, vnics=(), appliances=(), version=""):
        self.session, self.sequence = self.session + 1, 0
        text = json.dumps({"schema": 1, "host": self.host, "version": version, "vnics": [{"name": name} for name in vnics],
                           "appliances": [{"name": name} for name in appliances]}).encode()
        return self.encoded(HELLO, 0, len(text), text)

    def encoded_demand(self, flows=()):
        """`flows`: (source, destination, used, backlog) by names; amounts are (there, appliance, back) of one interval."""
        body = b"".join(FLOW.pack(self.ids[source], self.ids[destination], 0, *used, *backlog, *6 * (0,))
                        for source, destination, used, backlog in flows)
        return self.encoded(DEMAND, SNAPSHOT, len(flows), body)

    def hello(self, vnics=(), appliances=(), version=""):
        self.write(self.encoded_hello(vnics, appliances, version))

    def demand(self, flows=()):
        self.write(self.encoded_demand(flows))

    def usage(self, *periods):
        """Billing periods: (vNIC, began, ended, promised, delivered), in Unix ns, bytes per second and bytes."""
        body = b"".join(PERIOD.pack(self.ids[vnic], 0, *rest) for vnic, *rest in periods)
        self.write(self.encoded(USAGE, 0, len(periods), body))

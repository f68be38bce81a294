"""unbounded.py - clients that send without an end, to each kind of socket: `Flood(kind, connect)`, a thread each, until `stop()`.

A kind is a function of a connected socket and a test whether to go on; it returns or raises OSError when the connection has ended,
and is called again with a new one.
"""

import contextlib
import ctypes
import os
import socket
import struct
import threading
import time

from zmtp import COMMAND, GREETING, LONG, MORE, READY, frame

MIB = 1 << 20


def introduce(one):
    one.sendall(GREETING + READY)


def endless_parts(one, goes_on):
    introduce(one)
    part = frame(b"x" * 60_000, MORE)
    while goes_on():
        one.sendall(part)


def endless_empty_parts(one, goes_on):
    introduce(one)
    while goes_on():
        one.sendall(frame(b"", MORE) * 10_000)


def a_part_of_2_to_62_bytes(one, goes_on):
    introduce(one)
    one.sendall(struct.pack("!BQ", LONG, 1 << 62))
    while goes_on():
        one.sendall(b"x" * MIB)


def a_part_that_never_ends(one, goes_on):
    introduce(one)
    one.sendall(struct.pack("!BQ", LONG, 60_000) + b"x" * 50_000)
    while goes_on():
        one.sendall(b"x")
        time.sleep(0.05)


def pings_without_reading(one, goes_on):
    introduce(one)
    while goes_on():
        one.sendall(frame(b"\x04PING\0\0" + b"c" * 16, COMMAND) * 1_000)


def requests_without_reading(one, goes_on):
    introduce(one)
    request = frame(b"", MORE) + frame(b'{"schema": 1, "command": "status", "args": {}}', 0)
    while goes_on():
        one.sendall(request * 100)


def requests_of_full_size(one, goes_on):
    introduce(one)
    while goes_on():
        one.sendall(frame(b"", MORE) + frame(b"[" * 65_000, 0))


def no_bytes(one, goes_on):
    one.settimeout(0.01)
    while goes_on():
        with contextlib.suppress(TimeoutError):
            if not one.recv(65_536):
                return


def commands_that_never_end(one, goes_on):
    one.sendall(GREETING)
    while goes_on():
        one.sendall(frame(b"\x05READY" + b"x" * 60_000, COMMAND))


def random_bytes(one, goes_on):
    introduce(one)
    while goes_on():
        one.sendall(os.urandom(MIB))


LOCAL = (endless_parts, endless_empty_parts, a_part_of_2_to_62_bytes, a_part_that_never_ends, pings_without_reading,
         requests_without_reading, requests_of_full_size, no_bytes, commands_that_never_end, random_bytes)


class Flood:
    """Connects to `connect()` and sends as `kind` says; when its connection ends, again."""

    def __init__(self, kind, connect):
        self.kind, self.connect = kind, connect
        self.stopped = threading.Event()
        self.connections = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopped.is_set():
            with contextlib.suppress(OSError), self.connect() as one:
                self.connections += 1
                one.settimeout(1)
                self.kind(one, lambda: not self.stopped.is_set())
            time.sleep(0.01)

    def stop(self):
        self.stopped.set()
        self.thread.join()


def local(path):
    """A function that connects to the socket at `path`."""
    def connect():
        one = socket.socket(socket.AF_UNIX)
        one.connect(path)
        return one
    return connect


class Growth:
    """Watches the memory of a process: `most` is its largest growth so far, in bytes."""

    def __init__(self, pid):
        self.file = f"/proc/{pid}/statm"
        self.start = self.resident()
        self.most = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def resident(self):
        with open(self.file) as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def run(self):
        while not self.stopped.wait(0.005):
            with contextlib.suppress(OSError, IndexError):
                self.most = max(self.most, self.resident() - self.start)

    def stop(self):
        self.stopped.set()
        self.thread.join()


class KeyedPeer:
    """A DEALER of ZeroMQ's library, with a key: `send(parts)` sends one message of any size. The library sends a message when its
    last part is there, so that an endless one is a long one."""

    DEALER, SENDMORE, DONTWAIT = 5, 2, 1
    LINGER, PUBLIC, SECRET, SERVER = 17, 48, 49, 50

    def __init__(self, endpoint, server, public, secret):
        self.zmq = ctypes.CDLL("libzmq.so.5", use_errno=True)
        for name in ("zmq_ctx_new", "zmq_socket"):
            getattr(self.zmq, name).restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.zmq.zmq_ctx_new())
        self.socket = ctypes.c_void_p(self.zmq.zmq_socket(self.context, self.DEALER))
        linger = ctypes.c_int(0)
        self.zmq.zmq_setsockopt(self.socket, self.LINGER, ctypes.byref(linger), 4)
        for option, key in ((self.SERVER, server), (self.PUBLIC, public), (self.SECRET, secret)):
            if self.zmq.zmq_setsockopt(self.socket, option, key.encode() + b"\0", 41):
                raise OSError(ctypes.get_errno(), "zmq_setsockopt")
        if self.zmq.zmq_connect(self.socket, endpoint.encode()):
            raise OSError(ctypes.get_errno(), "zmq_connect")

    def send(self, parts, size):
        body = b"x" * size
        for number in range(parts):
            flags = self.SENDMORE if number + 1 < parts else 0
            if self.zmq.zmq_send(self.socket, body, ctypes.c_size_t(size), flags | self.DONTWAIT) < 0:
                return False
        return True

    def close(self):
        self.zmq.zmq_close(self.socket)
        self.zmq.zmq_ctx_term(self.context)

"""stores.py - sessions with key-value stores: a memcached and a Redis of the distribution, and clients that send the commands below."""
import os
import socket
import struct
import subprocess
import tempfile
import time

from recorder import Recorder, connect, run


def store(name, server, client):
    """`server` is a command with SOCKET in it, `client` a function of the proxy's socket."""
    with tempfile.TemporaryDirectory() as folder:
        real, proxy = os.path.join(folder, "real"), os.path.join(folder, "proxy")
        process = subprocess.Popen([word.replace("SOCKET", real) for word in server], cwd=folder,
                                   stdout=subprocess.DEVNULL)
        try:
            connect(real).close()
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(proxy)
            listener.listen()
            recorder = Recorder(listener, real)
            client(proxy)
            time.sleep(0.2)
            recorder.write(name)
        finally:
            process.terminate()
            process.wait()


def commands(*parts):
    """A client that sends each part and waits until nothing more comes back."""
    def client(proxy):
        with connect(proxy) as link:
            link.settimeout(0.3)
            for part in parts:
                link.sendall(part)
                try:
                    while link.recv(65536):
                        pass
                except TimeoutError:
                    pass
    return client


MEMCACHED = ["memcached", "-s", "SOCKET", "-u", "root", "-t", "1"]
REDIS = ["redis-server", "--port", "0", "--unixsocket", "SOCKET", "--save", ""]


def memcached_text():
    """4 gets of 6 keys, 3 stores (one quiet), 4 changes in place, 2 deletes (one quiet), 4 others."""
    store("memcached-text", MEMCACHED, commands(
        b"set a 1 0 1000\r\n" + b"a" * 1000 + b"\r\n", b"get a\r\n", b"get a b c\r\n",
        b"set n 0 0 1\r\n1\r\nincr n 5\r\nappend a 0 0 3\r\nxyz\r\ngets a\r\n",
        b"set q 0 0 4 noreply\r\nquie\r\ndelete q noreply\r\nget q\r\ndelete n\r\n",
        b"prepend a 0 0 2\r\n<<\r\ncas a 0 0 1 1\r\nx\r\n", b"version\r\nverbosity 1\r\nstats\r\n", b"quit\r\n"))


def memcached_meta():
    """Quiet ones in front of mn, hits and misses."""
    store("memcached-meta", MEMCACHED, commands(
        b"ms a 300 T0\r\n" + b"m" * 300 + b"\r\n", b"mg a v\r\n", b"mg b v\r\n", b"mg a s t f\r\n",
        b"ms c 5 q\r\nhello\r\nmg c v q\r\nmg d v q\r\nmd c q\r\nmn\r\n", b"ma n N0 J10\r\nma n v\r\nmd a\r\nmd a\r\n"))


def binary(opcode, key=b"", value=b"", extras=b"", opaque=0):
    size = len(extras) + len(key) + len(value)
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, size, opaque, 0) + extras + key + value


def memcached_binary():
    """Set, get (hit and miss), quiet gets in front of a no-op, quiet set, increment, append, delete, version, stat."""
    flags = struct.pack(">II", 0, 0)
    store("memcached-binary", MEMCACHED, commands(
        binary(0x01, b"a", b"b" * 500, flags, 1), binary(0x00, b"a", opaque=2), binary(0x00, b"missing", opaque=3),
        binary(0x0d, b"a", opaque=4) + binary(0x0d, b"none", opaque=5) + binary(0x0a, opaque=6),
        binary(0x11, b"q", b"quiet", flags, 7) + binary(0x05, b"n", extras=struct.pack(">QQI", 1, 7, 0), opaque=8),
        binary(0x0e, b"a", b"more", opaque=9), binary(0x04, b"a", opaque=10), binary(0x0b, opaque=11),
        binary(0x10, opaque=12), binary(0x07, opaque=13)))


def resp(order):
    """A command as an array of bulk strings, as every client library sends it."""
    words = order.encode().split()
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


ORDERS = ["SET a " + "x" * 1000, "GET a", "GET missing", "MSET b 1 c 2", "MGET a b c", "INCR b", "APPEND a yz",
          "HSET h f1 v1 f2 v2", "HGETALL h", "DEL b c", "EXISTS a", "LPUSH l 1 2 3", "LRANGE l 0 -1", "ZADD z 1.5 m",
          "ZSCORE z m", "NOSUCH command", "PING"]


def redis_2():
    store("redis-2", REDIS, commands(*map(resp, ORDERS)))


def redis_3():
    """Maps, doubles and nulls of their own type."""
    store("redis-3", REDIS, commands(resp("HELLO 3"), *map(resp, ORDERS)))


def redis_pipelined():
    store("redis-pipelined", REDIS, lambda proxy: run("redis-benchmark", "-s", proxy, "-c", "1", "-n", "100", "-P", "25",
                                                      "-d", "40", "-r", "100", "-t", "set,get", "-q"))


def redis_inline():
    store("redis-inline", REDIS, commands(b"SET k value\r\n", b"GET k\r\nGET none\r\n", b"DEL k\r\n", b"QUIT\r\n"))

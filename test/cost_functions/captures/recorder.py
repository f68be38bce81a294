"""recorder.py - a proxy between a client and a server that writes down the bytes of both in the order in which they pass.

A capture is records of '>' (to the server) or '<', a length of 4 bytes (most significant first) and the bytes.
"""
import os
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 20  # seconds for anything
LONGEST = 27_000  # bytes of a capture; a longer session ends before the first request beyond them


def connect(address):
    """A socket to a server that may just be starting; an address is a path or (host, port)."""
    until = time.monotonic() + PATIENCE
    while True:
        link = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        try:
            link.connect(address)
            return link
        except OSError:
            link.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


class Recorder(threading.Thread):
    """Passes connections on; `sessions` holds the records of each."""

    def __init__(self, listener, server):
        super().__init__(daemon=True)
        self.listener, self.server, self.sessions = listener, server, []
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.session, args=(client,), daemon=True).start()

    def session(self, client):
        records = []
        self.sessions.append(records)
        server = connect(self.server)
        with selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ, (b">", server))
            ready.register(server, selectors.EVENT_READ, (b"<", client))
            while ready.get_map():
                for key, _ in ready.select():
                    if not self.pass_on(key, records):
                        ready.unregister(key.fileobj)
        client.close()
        server.close()

    @staticmethod
    def pass_on(key, records):
        mark, other = key.data
        try:
            data = key.fileobj.recv(65536)
            if data:
                records.append(mark + struct.pack(">I", len(data)) + data)
                other.sendall(data)
            else:
                other.shutdown(socket.SHUT_WR)
            return bool(data)
        except OSError:
            return False

    def write(self, *names):
        """Writes the longest sessions under these names, in the order of their begin; none under None."""
        self.listener.shutdown(socket.SHUT_RDWR)  # also wakes the thread in accept()
        self.listener.close()
        size = lambda records: sum(map(len, records))
        longest = sorted(self.sessions, key=size, reverse=True)[:len(names)]
        for name, records in zip(names, (session for session in self.sessions if session in longest)):
            if name is None:
                continue
            ends = (at for at, record in enumerate(records) if record[:1] == b">" and size(records[:at]) > LONGEST)
            records = records[:next(ends, None)]
            with open(os.path.join(HERE, name + ".bin"), "wb") as stream:
                stream.write(b"".join(records))
            print(f"{name}: {size(records)} bytes")


def run(*command, fails=False):
    done = subprocess.run(command, timeout=PATIENCE, capture_output=True, text=True)
    if done.returncode and not fails:
        sys.exit(f"{' '.join(command)}: {done.stderr}")

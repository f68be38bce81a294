"""front_end.py - a vhost-user front-end of a few lines: messages without files, and their answers."""

import socket
import struct

HEADER = struct.Struct("<III")      # request, flags, bytes of the payload
VERSION = 1
GET_FEATURES, SET_VRING_NUM, GET_QUEUE_NUM = 1, 8, 17
PATIENCE_SECONDS = 5


class FrontEnd:
    """One connection to a socket on which the switch listens."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_SECONDS)
        self.socket.connect(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, request, payload=b""):
        self.socket.sendall(HEADER.pack(request, VERSION, len(payload)) + payload)

    def ask(self, request):
        """The number that the switch answers; None: it has closed the connection."""
        answer = b""
        try:
            self.send(request)
            while len(answer) < HEADER.size + 8:
                more = self.socket.recv(HEADER.size + 8 - len(answer))
                if not more:
                    return None
                answer += more
        except (BrokenPipeError, ConnectionResetError):
            return None
        return int.from_bytes(answer[HEADER.size:], "little")

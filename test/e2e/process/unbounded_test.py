"""unbounded_test.py - clients that send without an end, of each kind to each socket at once: memory is bounded, and others are answered."""

import socket
import time

from case import Case
from controller import make_key
from controller_case import ControllerCase
from controller_test import free_port
from scraper import free_address
from tokens import make_token
from unbounded import LOCAL, Flood, Growth, KeyedPeer, local
from wait import until

SECONDS = 10


def growth_max(program):
    """Bytes by which the process may grow. AddressSanitizer keeps 256 MiB of freed memory, and room around each piece."""
    with open(program, "rb") as stream:
        return (1024 if b"__asan_init" in stream.read() else 64) << 20


def over_http(*head):
    """A kind: this head, then bytes without an end."""
    def flood(one, goes_on):
        one.sendall("\r\n".join(head).encode() + b"\r\n\r\n")
        while goes_on():
            one.sendall(b"x" * 65_536)
    flood.__name__ = head[0].split()[0] + " " + " ".join(row.split(":")[0] for row in head[2:])
    return flood


def endless_head(one, goes_on):
    one.sendall(b"GET / HTTP/1.1\r\n")
    while goes_on():
        one.sendall(b"X: " + b"x" * 1_000 + b"\r\n")


class UnboundedCase(ControllerCase):
    POLLS = False

    def flood(self, pid, floods, ask):
        """Runs the floods for 10 s, while `ask()` is called; the process `pid` grows by less than the bound."""
        self.assertTrue(ask())
        growth, running = Growth(pid), [Flood(kind, connect) for kind, connect in floods]
        self.addCleanup(growth.stop)
        try:
            end, answers = time.monotonic() + SECONDS, 0
            while time.monotonic() < end:
                self.assertTrue(ask())
                answers += 1
                time.sleep(0.05)
        finally:
            for flood in running:
                flood.stop()
        self.assertTrue(ask())
        for flood in running:
            self.assertGreater(flood.connections, 0, flood.kind.__name__)
        self.assertLess(growth.most, growth_max(f"/proc/{pid}/exe"))
        return answers

    @staticmethod
    def at(address):
        host, port = address.rsplit(":", 1)
        return lambda: socket.create_connection((host, int(port)))

    @staticmethod
    def http_kinds(token=None):
        key = [f"Authorization: Bearer {token}"] if token else []
        start = ["GET /api/v1/status HTTP/1.1" if token else "GET /metrics HTTP/1.1", "Host: x", *key]
        post = ["POST /api/v1/pools/p HTTP/1.1", "Host: x", *key, "Content-Type: application/json", "Idempotency-Key: 12345678"]
        return [over_http(*start, "Transfer-Encoding:"), over_http(*start, "Transfer-Encoding: chunked"),
                over_http(*start, "Content-Length: 5"), over_http(*start), over_http(*post, "Content-Length: 60000"),
                over_http(*post, "Transfer-Encoding:"), endless_head]


class ControllerUnboundedTest(UnboundedCase):
    def test_no_client_of_any_socket_fills_the_controllers_memory(self):
        api, metrics = free_address(), free_address()
        token = make_token(self.folder, "operate", "operate")
        controller = self.control("h1", api={"listen": api, "token_file": self.path("tokens")}, metrics={"listen": metrics},
                                  control_read_socket=self.path("read.sock"))
        switch = self.join("h1")
        self.wait_link(switch, "connected")
        floods = [(kind, local(path)) for kind in LOCAL
                  for path in (controller.socket, self.path("read.sock"), controller.endpoint.removeprefix("ipc://"))]
        floods += [(kind, self.at(api)) for kind in self.http_kinds(token)]
        floods += [(kind, self.at(metrics)) for kind in self.http_kinds()]
        self.flood(controller.process.pid, floods, lambda: controller.ctl("status")["interval"])
        until(lambda: self.link(switch)["state"] == "connected", "the honest switch connected")
        self.assertGreater(controller.ctl("status")["sockets"]["ended"], 0)
        with open(controller.log) as stream:
            lines = [line for line in stream if "its connection was ended" in line]
        self.assertEqual(len(lines), len({line.split("process")[0].split("]")[-1] + line.split(" sent ")[1] for line in lines}))

    def test_a_key_whose_messages_do_not_end_loses_its_connections_and_others_go_on(self):
        own, h1, h2 = (make_key(self.path(name)) for name in ("ctrl.key", "h1.key", "h2.key"))
        endpoint = f"tcp://127.0.0.1:{free_port()}"
        controller = self.control({"name": "h1", "key": h1}, {"name": "h2", "key": h2}, listen=[endpoint],
                                  secret_key_file=self.path("ctrl.key"))
        controller.endpoint = endpoint
        honest = self.join("h1", server_key=own, secret_key_file=self.path("h1.key"))
        self.wait_link(honest, "connected")
        with open(self.path("h2.key")) as stream:
            secret = stream.read().split()[0]
        growth = Growth(controller.process.pid)
        self.addCleanup(growth.stop)
        for parts, size in ((100, 3 << 20), (1_000_000, 0)):      # 300 MiB, and 35 MB of which each part takes 64 bytes in ZeroMQ
            before = controller.ctl("status")["sockets"]["unfinished"]
            peer = KeyedPeer(endpoint, own, h2, secret)
            self.addCleanup(peer.close)
            until(lambda peer=peer, parts=parts, size=size: peer.send(parts, size), "a message taken by ZeroMQ")
            until(lambda before=before: controller.ctl("status")["sockets"]["unfinished"] > before, "an endless message ended")
        self.assertLess(growth.most, growth_max(controller.PROGRAM))
        self.assertEqual(self.link(honest)["state"], "connected")
        with open(controller.log) as stream:
            self.assertIn("bytes of messages that do not end; its connection was ended", stream.read())


class SwitchUnboundedTest(UnboundedCase):
    def test_no_client_of_any_socket_fills_the_switchs_memory(self):
        metrics = free_address()
        self.start_switch(self.vnic(1, mode="server"), poll="adaptive", metrics={"listen": metrics})
        floods = [(kind, local(self.switch.socket)) for kind in LOCAL]
        floods += [(kind, self.at(metrics)) for kind in self.http_kinds()]
        self.flood(self.switch.process.pid, floods, lambda: self.switch.ctl("status")["vnics"])
        self.assertEqual(len(self.switch.ctl("vnic", "list")["vnics"]), 1)

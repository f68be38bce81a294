"""api_test.py - the HTTP API of a real controller: data as weirctl's, roles, TLS, bad input of each kind, many viewers and many connections."""

import contextlib
import hashlib
import http.client
import json
import os
import resource
import socket
import ssl
import threading
import time

from case import Case
from controller import Controller
from controller_case import ControllerCase
from processes import run
from scraper import free_address
from tokens import make_token
from wait import BOUND_SECONDS, until

ROOT = "/api/v1"
VIEWERS = 100
CONNECTIONS = 10000


class Client:
    """Requests with a token; each with a connection of its own, unless `connection` is one."""

    def __init__(self, address, token, tls=None):
        self.host, port = address.split(":")
        self.port = int(port)
        self.token = token
        self.tls = tls
        self.keys = 0

    def connect(self):
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=BOUND_SECONDS, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=BOUND_SECONDS)

    def headers(self, more):
        return {"Authorization": f"Bearer {self.token}", **more} if self.token else more

    def get(self, path, connection=None, **headers):
        """(status, reply)"""
        one = connection or self.connect()
        one.request("GET", ROOT + path, headers=self.headers(headers))
        answer = one.getresponse()
        text = answer.read()
        if not connection:
            one.close()
        return answer.status, json.loads(text)

    def data(self, path):
        status, reply = self.get(path)
        if status != 200:
            raise ValueError(f"{path}: {status}: {reply}")
        return reply["data"]

    def post(self, path, key=None, kind="application/json", **body):
        self.keys += 1
        one = self.connect()
        one.request("POST", ROOT + path, json.dumps(body),
                    self.headers({"Content-Type": kind, "Idempotency-Key": key or f"{self.token[-8:]}-{self.keys}"}))
        answer = one.getresponse()
        reply = json.loads(answer.read())
        one.close()
        return answer.status, reply


class ApiCase(ControllerCase):
    POLLS = False

    def serve(self, *hosts, api=None, **keys):
        self.address = free_address()
        self.secrets = {role: make_token(self.folder, role, role) for role in ("view", "operate")}
        self.control(*(hosts or ("h1",)), api={"listen": self.address, "token_file": self.path("tokens"), **(api or {})}, **keys)
        self.viewer, self.operator = (Client(self.address, self.secrets[role]) for role in ("view", "operate"))


class DataTest(ApiCase):
    def test_replies_are_those_of_weirctl(self):
        self.serve()
        ctl, view = self.controller.ctl, self.viewer.data
        self.controller.wait_intervals(2)
        for path, words in (("/revisions", ["history"]), ("/specification", ["show"]), ("/tenants", ["tenant", "list"]),
                            ("/tenants/A", ["tenant", "show", "A"]), ("/pools", ["pool", "show"]), ("/bill", ["bill"]),
                            ("/audit?changes=true", ["audit", "--changes"])):
            shown, read = ctl(*words), view(path)
            for each in (shown, read):
                if isinstance(each, dict):
                    each.pop("interval", None)
            self.assertEqual(read, shown, path)
        status = view("/status")
        self.assertEqual(set(status), set(ctl("status")))
        self.assertEqual([host["name"] for host in view("/hosts")], ["h1"])
        self.assertEqual(view("/hosts/h1")["state"], "absent")
        self.assertEqual([link["host"] for link in view("/resources")["links"]], ["h1"])
        self.assertEqual(view("/vnics?tenant=B"), [{"name": "vm2", "tenant": "B"}])
        self.assertEqual(view("/vnics/vm1")["tenant"], "A")
        self.assertEqual(view("/revisions/1"), view("/specification"))
        self.assertEqual(self.viewer.get("/vnics/none")[0], 404)
        self.assertEqual(self.viewer.get("/revisions/99")[0], 404)

    def test_an_operator_tries_and_applies_a_specification_once_and_the_audit_trail_has_the_token(self):
        self.serve()
        text, revision = self.viewer.data("/specification")["text"], self.viewer.data("/status")["revision"]
        wanted = json.loads(text)
        wanted["tenants"].append({"name": "C", "vnics": [{"name": "vm3"}]})
        change = {"text": json.dumps(wanted), "base": revision, "yes": True}
        self.assertEqual(self.viewer.post("/specification", **change)[0], 403)
        status, reply = self.operator.post("/specification", **change, dry_run=True)
        self.assertEqual((status, reply["data"]["applied"]), (200, False))
        status, reply = self.operator.post("/specification", key="once-only", **change)
        self.assertEqual((status, reply["data"]["applied"], reply["data"]["revision"]), (200, True, revision + 1))
        self.assertEqual(self.operator.post("/specification", key="once-only", **change)[0], 409)       # the key
        self.assertEqual(self.operator.post("/specification", **change)[0], 409)                        # the base
        self.assertEqual([one["name"] for one in self.viewer.data("/tenants")], ["A", "B", "C"])
        last = self.viewer.data("/audit?changes=true")["entries"][-1]
        self.assertEqual(last["peer"], "token operate, 127.0.0.1")
        self.assertIn("POST /api/v1/specification", json.dumps(last))

    def test_events_come_as_they_happen_and_again_after_the_last_one_that_a_client_has(self):
        self.serve()
        stream, again = self.viewer.connect(), self.viewer.connect()
        self.addCleanup(stream.close)
        self.addCleanup(again.close)
        stream.request("GET", ROOT + "/events", headers=self.viewer.headers({}))
        answer = stream.getresponse()
        self.assertEqual(answer.getheader("Content-Type"), "text/event-stream")
        self.assertTrue(answer.readline().startswith(b":"))
        before = self.viewer.data("/audit")["entries"][-1]["number"]
        until(lambda: self.controller.ctl("status")["api"]["streams"] == 1, "the stream is counted")
        commands = self.controller.ctl("status")["api"]["commands"]
        until(lambda: self.controller.ctl("status")["api"]["commands"] > commands + 1, "the trail is read")
        self.controller.cluster["headroom"] = "4%"
        self.controller.apply()
        self.assertEqual(self.event(answer)["kind"], "specification")
        again.request("GET", ROOT + "/events", headers=self.viewer.headers({"Last-Event-ID": str(before)}))
        self.assertEqual(self.event(again.getresponse())["number"], before + 1)
        self.assertEqual(self.controller.stop(), 0)             # streams keep it from nothing

    def event(self, answer):
        while True:
            line = answer.readline()
            if not line:
                self.fail("the stream ended")
            if line.startswith(b"data: "):
                return json.loads(line[6:])


class TokensTest(ApiCase):
    def test_tokens_come_and_go_with_their_lines_and_the_file_has_no_secret(self):
        self.serve()
        with open(self.path("tokens")) as stream:
            text = stream.read()
        self.assertNotIn(self.secrets["view"], text)
        self.assertIn(hashlib.sha256(self.secrets["view"].encode()).hexdigest(), text)
        late = Client(self.address, make_token(self.folder, "late", "view"))
        until(lambda: late.get("/status")[0] == 200, "the new token counts")
        with open(self.path("tokens"), "w") as stream:
            stream.write(text)
        until(lambda: late.get("/status")[0] == 401, "the removed token is refused")
        self.assertEqual(self.viewer.get("/status")[0], 200)

    def test_a_file_that_other_users_may_open_ends_the_start_with_the_command_that_mends_it(self):
        make_token(self.folder, "one", "view")
        os.chmod(self.path("tokens"), 0o644)
        second = Controller(self.folder, {"api": {"listen": free_address(), "token_file": self.path("tokens")}}).launch()
        self.assertEqual(second.process.child.wait(60), 1)
        with open(second.log) as stream:
            self.assertIn(f"is open to other users (mode 0644): chmod 600 {self.path('tokens')}\n", stream.read())

    def test_without_tls_an_address_of_the_network_is_a_fault_of_the_file(self):
        status, text = Controller(self.folder, {"api": {"listen": "0.0.0.0:9419", "token_file": self.path("tokens")}}).check()
        self.assertEqual(status, 2)
        self.assertIn("api.listen: found \"0.0.0.0:9419\"; allowed: a loopback address", text)


class TlsTest(ApiCase):
    def certificate(self, name):
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
             "-subj", "/CN=weir", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.path(f"{name}.key"), "-out", self.path(f"{name}.crt")])
        os.chmod(self.path(f"{name}.key"), 0o600)
        return {"certificate_file": self.path(f"{name}.crt"), "key_file": self.path(f"{name}.key")}

    def test_the_api_speaks_tls_with_the_files_of_the_cluster_file_and_nothing_else(self):
        self.serve(api=self.certificate("api"))
        context = ssl.create_default_context(cafile=self.path("api.crt"))
        client = Client(self.address, self.secrets["view"], context)
        self.assertEqual(client.data("/status")["revision"], 1)
        self.assertEqual(client.get("/status", Origin=f"https://{self.address}")[0], 200)
        self.assertEqual(client.get("/status", Origin=f"http://{self.address}")[0], 403)
        with self.assertRaises((http.client.HTTPException, OSError)):
            self.viewer.get("/status")
        old = ssl.create_default_context(cafile=self.path("api.crt"))
        with contextlib.suppress(ValueError):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
            with self.assertRaises(OSError):
                Client(self.address, self.secrets["view"], old).get("/status")
        self.assertEqual(client.get("/status")[0], 200)

    def test_a_key_that_other_users_may_read_or_of_another_certificate_ends_the_start(self):
        files = self.certificate("api")
        other = self.certificate("other")
        make_token(self.folder, "one", "view")
        api = {"listen": free_address(), "token_file": self.path("tokens"), **files}
        for keys, words in (({"key_file": other["key_file"]}, "the HTTPS server cannot start"), ({}, f"chmod 600 {files['key_file']}")):
            if not keys:
                os.chmod(files["key_file"], 0o640)
            second = Controller(self.folder, {"api": {**api, **keys}}).launch()
            self.assertEqual(second.process.child.wait(60), 1)
            with open(second.log) as stream:
                self.assertIn(words, stream.read())


class BadInputTest(ApiCase):
    """Each is refused with a reason, and the controller goes on: no interval is missed, and a good client is answered."""

    def setUp(self):
        super().setUp()
        self.serve()

    def tearDown(self):
        self.assertEqual(self.viewer.get("/status")[0], 200)
        self.assertTrue(self.controller.ctl("status"))
        super().tearDown()

    def raw(self, text):
        """The answer to these bytes, as far as one comes."""
        with socket.create_connection((self.viewer.host, self.viewer.port), timeout=BOUND_SECONDS) as one:
            with contextlib.suppress(OSError):
                one.sendall(text)
            answer = b""
            with contextlib.suppress(OSError):
                while block := one.recv(65536):
                    answer += block
            return answer

    def head(self, line, *headers, role="operate"):
        rows = (line + " HTTP/1.1", "Host: x", "Connection: close", f"Authorization: Bearer {self.secrets[role]}", *headers)
        return "\r\n".join(rows).encode() + b"\r\n\r\n"

    def refused(self, text, status):
        answer = self.raw(text)
        self.assertTrue(answer.startswith(f"HTTP/1.1 {status} ".encode()), answer[:200])
        return answer

    def test_each_kind_is_refused_with_its_reason(self):
        change = ("Content-Type: application/json", "Idempotency-Key: 12345678")
        self.refused(self.head(f"POST {ROOT}/specification", *change, f"Content-Length: {(64 << 20) + 1}"), 413)
        self.refused(self.head(f"POST {ROOT}/pools/p", *change, f"Content-Length: {(64 << 10) + 1}"), 413)
        self.refused(self.head(f"POST {ROOT}/specification", *change, "Transfer-Encoding: chunked"), 411)
        for coding in ("Transfer-Encoding:", "Transfer-Encoding: identity", "TRANSFER-ENCODING: chunked"):
            self.refused(self.head(f"GET {ROOT}/status", coding, role="view"), 411)
        self.refused(self.head(f"GET {ROOT}/status", "Content-Length: 0", "Content-Length: 9", role="view"), 400)
        self.refused(self.head(f"POST {ROOT}/specification", "Content-Type: application/x-www-form-urlencoded", "Content-Length: 3") + b"a=b", 415)
        for body in (b"", b"[", b"[]", b"\x00\x01", b"[" * 5000, b'{"text": 1}', b'{"text": "", "base": 1, "base": 2}'):
            self.refused(self.head(f"POST {ROOT}/specification", *change, f"Content-Length: {len(body)}") + body, 400)
        for path in (f"{ROOT}/bill?from=x", f"{ROOT}/bill?form=1", f"{ROOT}/audit?last=0", f"{ROOT}/revisions/x"):
            self.refused(self.head(f"GET {path}"), 400)
        self.refused(self.head(f"GET {ROOT}/nothing"), 404)
        self.refused(self.head(f"DELETE {ROOT}/hosts/h1"), 405)
        self.refused(self.head(f"POST {ROOT}/specification", role="view"), 403)
        self.refused(f"GET {ROOT}/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode(), 401)
        self.refused(self.head(f"GET {ROOT}/status", "Origin: http://evil.example"), 403)
        for text in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET\r\n\r\n", b"\0" * 100 + b"\r\n\r\n",
                     b"GET /" + b"a" * 100000, self.head(f"GET {ROOT}/status", "X: " + "a" * 100000)):
            self.assertNotIn(b" 200 OK", self.raw(text))
        refused = self.controller.ctl("status")["api"]["refused"]
        self.assertGreaterEqual(min(refused[kind] for kind in ("unauthorized", "forbidden", "cross_site", "malformed")), 1)

    def test_a_client_that_sends_a_byte_now_and_then_is_ended(self):
        for text in (f"GET {ROOT}/status HTTP/1.1\r\nX: ".encode(), b"P"):
            with socket.create_connection((self.viewer.host, self.viewer.port)) as slow, contextlib.suppress(OSError):
                slow.setblocking(False)
                slow.sendall(text)
                until(lambda drip=slow: self.is_ended(drip), "the slow client's connection ended")
        self.assertGreaterEqual(self.controller.ctl("status")["api"]["connections_ended"], 2)

    def is_ended(self, slow):
        slow.sendall(b"a")
        with contextlib.suppress(BlockingIOError):
            return slow.recv(1) == b""
        return False

    def test_a_large_text_is_taken_and_its_faults_are_the_controllers(self):
        status, reply = self.operator.post("/specification", text="x" * (2 << 20), base=1)
        self.assertEqual((status, reply["ok"]), (400, False))

    def test_10000_connections_that_end_no_request_keep_no_client_waiting(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        count = min(CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 500)
        kept = self.viewer.connect()
        self.assertEqual(self.viewer.get("/status", kept)[0], 200)
        with contextlib.ExitStack() as open_ones:
            for number in range(count):
                one = open_ones.enter_context(socket.create_connection((self.viewer.host, self.viewer.port)))
                with contextlib.suppress(OSError):
                    one.sendall(b"GET /api/v1/status HTTP/1.1\r\nX-Slow: ")
                if number % 1000 == 0:
                    self.assertEqual(self.viewer.get("/status", kept)[0], 200)
                    self.assertEqual(self.viewer.get("/status")[0], 200)
            until(lambda: self.controller.ctl("status")["api"]["connections_ended"] >= count - 512, "the last ones are accepted")
            self.assertLessEqual(self.controller.ctl("status")["api"]["connections"], 512)
        self.assertEqual(count, CONNECTIONS)


class ViewersTest(ApiCase):
    def test_100_viewers_cost_a_few_commands_and_the_controller_misses_no_interval(self):
        hosts = [f"h{number}" for number in range(50)]
        self.serve(*hosts, interval="1s", appliances=[],
                   tenants=[{"name": f"t{number}", "vnics": [{"name": f"v{number}x{vnic}"} for vnic in range(10)]} for number in range(100)])
        paths = ("/status", "/hosts", "/resources", "/tenants", "/vnics")
        asked, faults, done = [0] * VIEWERS, [], threading.Event()

        def view(number):
            with contextlib.closing(self.viewer.connect()) as connection:
                try:
                    while not done.is_set():
                        status, _ = self.viewer.get(paths[asked[number] % len(paths)], connection)
                        if status != 200:
                            faults.append(status)
                        asked[number] += 1
                        time.sleep(0.2)
                except (OSError, http.client.HTTPException) as error:
                    faults.append(error)

        before = self.controller.ctl("status")
        viewers = [threading.Thread(target=view, args=(number,)) for number in range(VIEWERS)]
        for each in viewers:
            each.start()
        began = time.monotonic()
        self.controller.wait_intervals(5)
        until(lambda: min(asked) >= len(paths), "each viewer has seen each page")
        after, seconds = self.controller.ctl("status"), time.monotonic() - began
        done.set()
        for each in viewers:
            each.join()
        self.assertEqual(faults, [])
        self.assertEqual(after["loop"]["missed"], before["loop"]["missed"])
        self.assertLessEqual(after["api"]["commands"] - before["api"]["commands"], 2 * (seconds + 2))


class NoApiTest(Case):
    POLLS = False

    def test_a_controller_without_the_section_listens_for_no_client(self):
        self.addCleanup(lambda: controller.stop())
        controller = Controller(self.folder, {"topology": {"hosts": [{"name": "h1"}]}}).start()
        self.assertNotIn("api", controller.ctl("status"))

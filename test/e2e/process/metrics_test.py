"""metrics_test.py - metrics of a real switch, and Prometheus that scrapes it and fires an alert.

The distribution's Prometheus; rules are those of configs/dashboards with short ranges and without delays.
"""

import contextlib
import os
import re
import shutil
import socket

from case import Case
from daemon import ROOT
from processes import run
from scraper import Prometheus, check_page, families, free_address, get, page
from switch import Switch
from wait import until

RULES = os.path.join(ROOT, "configs", "dashboards", "weir.rules.yml")
SLOW = 2000


def documented():
    """{name: type} of docs/metrics.md."""
    with open(os.path.join(ROOT, "docs", "metrics.md")) as stream:
        return dict(re.findall(r"^\| `(weir_\w+)` \| (\w+) \|", stream.read(), re.MULTILINE))


def quick_rules():
    with open(RULES) as stream:
        return re.sub(r"for: \w+", "for: 0s", re.sub(r"\[(1m|5m)\]", "[3s]", stream.read()))


class RulesTest(Case):
    POLLS = False

    def test_promtool_takes_the_rules_and_they_fire_on_worked_series(self):
        run(["promtool", "check", "rules", RULES])
        shutil.copy(RULES, self.folder)
        shutil.copy(os.path.join(ROOT, "test", "dashboards", "weir.rules.test.yml"), self.folder)
        run(["promtool", "test", "rules", self.path("weir.rules.test.yml")])


class ScrapedTest(Case):
    """Two VMs send all they can over a 40 Mbit wire, of which 36 Mbit were promised to each."""

    def setUp(self):
        super().setUp()
        self.place = free_address()
        senders = [self.sender(number, 9, 1518, begin=False) for number in (1, 2)]
        self.start_switch(*(self.vnic(number, reservation="36Mbit", tenant=name) for number, name in ((1, "A"), (2, "B"))),
                          overcommit=True, metrics={"listen": self.place},
                          uplink={"device": "net_null0,no-rx=1", "rate": "40Mbit", "headroom": "10%"})
        self.begin(*senders)

    def test_prometheus_reports_a_broken_promise_until_it_can_be_kept(self):
        prometheus = Prometheus(self.folder, {"weir-switch": [self.place]}, quick_rules()).start()
        until(lambda: "WeirPromiseBroken" in prometheus.firing(), "the broken promise is reported")
        self.assertEqual(prometheus.targets(), {"weir-switch": ("up", "")})
        kept = {labels["vnic"]: value for labels, value in prometheus.query("vnic:weir_fulfillment:ratio")}
        self.assertEqual(sorted(kept), ["vm1", "vm2"])
        self.assertLess(min(kept.values()), 0.95)
        for name in ("vm1", "vm2"):
            self.switch.ctl("vnic", "set", name, "reservation=2Mbit")
        until(lambda: "WeirPromiseBroken" not in prometheus.firing(), "the promises are kept")
        self.stop_switch()
        until(lambda: "WeirDown" in prometheus.firing(), "the end of the switch is reported")

    def test_the_page_is_that_of_the_documents_and_promtool_takes_it(self):
        text = get(self.place)[1]
        self.assertEqual(check_page(text), (0, ""))
        self.assertEqual(families(text), {name: "gauge" if kind == "info" else kind for name, kind in documented().items()})


class SlowClientsTest(Case):
    POLLS = False

    def test_slow_clients_keep_neither_a_scraper_nor_the_agent_waiting(self):
        address = free_address()
        self.start_switch(self.vnic(1), poll="adaptive", metrics={"listen": address})
        host, port = address.split(":")
        with contextlib.ExitStack() as open_ones:
            for number in range(SLOW):
                one = open_ones.enter_context(socket.create_connection((host, int(port))))
                one.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: ")
                if number % 500 == 0:
                    self.assertEqual(get(address)[0], 200)
            self.assertTrue(self.switch.ctl("status"))
            self.assertEqual(get(address, "/healthz"), (200, "ok\n"))
            read = page(address)
            ended = sum(read[f'weir_metrics_connections_total{{outcome="{how}"}}'] for how in ("displaced", "expired"))
            self.assertGreater(ended, SLOW / 2)
        self.assertEqual(get(address, "/")[0], 404)
        with socket.create_connection((host, int(port))) as large, contextlib.suppress(OSError):
            large.sendall(b"GET /" + b"a" * 1_000_000)
        self.assertEqual(get(address)[0], 200)

    def test_an_address_that_another_program_has_ends_the_start_with_its_name(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            second = Switch(self.folder, {"vnics": [], "metrics": {"listen": address}}).launch()
            self.assertEqual(second.process.child.wait(60), 1)
            with open(second.log) as stream:
                self.assertIn(f"metrics.listen: cannot listen on {address} (Address already in use)", stream.read())

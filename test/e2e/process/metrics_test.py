"""metrics_test.py - metrics of a real switch and a real controller, and Prometheus that scrapes both and fires an alert.

The distribution's Prometheus; rules are those of configs/dashboards with short ranges and without delays.
"""

import contextlib
import os
import re
import shutil
import socket
import time

from case import Case
from controller import Controller
from controller_case import ControllerCase, tenant
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


class ScrapedTest(ControllerCase):
    """Two VMs send all they can over a 40 Mbit wire, of which the specification promises 36 Mbit to each: in the cluster file the
    wire has 100 Mbit. Each has a peer elsewhere."""

    def setUp(self):
        super().setUp()
        self.places = {"weir-switch": free_address(), "weir-ctrl": free_address()}
        senders = [self.sender(number, 9, 1518, begin=False) for number in (1, 2)]
        self.control({"name": "h1", "uplink": "100Mbit"}, appliances=[], metrics={"listen": self.places["weir-ctrl"]},
                     tenants=[{"name": name, "vnics": [{"name": vnic, "reservation": "36Mbit"} for vnic in vnics]}
                              for name, vnics in (("A", ("vm1", "far1")), ("B", ("vm2", "far2")))])
        self.start_switch(*(self.vnic(number, tenant=name) for number, name in ((1, "A"), (2, "B"))),
                          overcommit=True, metrics={"listen": self.places["weir-switch"]},
                          controller={"connect": self.controller.endpoint},
                          uplink={"device": "net_null0,no-rx=1", "rate": "40Mbit", "headroom": "10%"})
        self.switches.append(self.switch)
        self.senders = self.begin(*senders)
        self.wait_link(self.switch, "connected")

    def clean(self):
        self.switch = None                              # it is one of `switches`, which are stopped first
        super().clean()

    def promise(self, rate):
        for owner in self.controller.cluster["tenants"]:
            for vnic in owner["vnics"]:
                vnic["reservation"] = rate
        self.controller.apply()

    def test_prometheus_scrapes_both_and_reports_a_broken_promise_until_it_can_be_kept(self):
        broken = {"WeirPromiseBroken", "WeirReservationNotKept"}      # as the switch measures it, and as the controller plans it
        prometheus = Prometheus(self.folder, {job: [place] for job, place in self.places.items()}, quick_rules()).start()
        until(lambda: broken <= set(prometheus.firing()), "the broken promise is reported")
        self.assertEqual(prometheus.targets(), {"weir-switch": ("up", ""), "weir-ctrl": ("up", "")})
        kept = {labels["vnic"]: value for labels, value in prometheus.query("vnic:weir_fulfillment:ratio")}
        self.assertEqual(sorted(kept), ["vm1", "vm2"])
        self.assertLess(min(kept.values()), 0.95)
        self.assertEqual(prometheus.query('weir_ctrl_promises_broken{reason="cut"}')[0][1], 2)
        self.assertNotIn("WeirStoreFailing", prometheus.firing())
        self.promise("2Mbit")
        until(lambda: not broken & set(prometheus.firing()), "the promises are kept")
        self.controller.kill()
        until(lambda: {"WeirDown", "WeirControllerAway"} <= set(prometheus.firing()), "the controller's end is reported")

    def test_pages_are_those_of_the_documents_and_promtool_takes_them(self):
        texts = {job: get(place)[1] for job, place in self.places.items()}
        for text in texts.values():
            self.assertEqual(check_page(text), (0, ""))
        named = {name: "gauge" if kind == "info" else kind for name, kind in documented().items()}
        every = {name for name in named if name.startswith("weir_metrics_")}
        of_controller = {name for name in named if name.startswith("weir_ctrl_")}
        expected = {"weir-ctrl": of_controller | every, "weir-switch": set(named) - of_controller}
        for job, text in texts.items():
            self.assertEqual(families(text), {name: named[name] for name in expected[job]})

    def test_pages_have_the_counters_of_weirctl(self):
        for sender in self.senders:
            sender.halt()
        until(lambda: self.packets("vm1", "from_vm", "queued") == 0, "vm1's queue empty")
        shown = self.switch.vnic("vm1")
        of_vm1 = 'vnic="vm1",tenant="A"'
        until(lambda: page(self.places["weir-switch"])[f'weir_vnic_bursts_total{{{of_vm1}}}'] == shown["bursts"], "the last burst")
        read = page(self.places["weir-switch"])
        for direction in ("from_vm", "to_vm"):
            for kind in ("offered", "delivered", "dropped"):
                for unit in ("packets", "bytes"):
                    sample = f'weir_vnic_{kind}_{unit}_total{{{of_vm1},direction="{direction}"}}'
                    self.assertEqual(read[sample], shown[direction][kind][unit], sample)
        self.assertEqual(read[f'weir_vnic_reservation_bytes_per_second{{{of_vm1}}}'], 36e6 / 8)
        self.assertEqual(read['weir_switch_controller_state{state="connected"}'], 1)
        read = page(self.places["weir-ctrl"])
        self.assertEqual(read['weir_ctrl_hosts{state="connected"}'], 1)
        link = self.controller.host("h1")["link"]
        self.assertEqual(read['weir_ctrl_host_planned_bytes_per_second{host="h1"}'], link["planned_bps"] / 8)
        self.assertEqual(read['weir_ctrl_host_reserved_bytes_per_second{host="h1"}'], link["reserved_bps"] / 8)


class ManyVnicsTest(ControllerCase):
    POLLS = False

    def test_a_scrape_of_a_controller_with_1000_vnics_takes_less_than_50_ms_and_it_misses_no_interval(self):
        place = free_address()
        hosts = [f"h{number}" for number in range(50)]
        self.control(*hosts, interval="1s", appliances=[], metrics={"listen": place},
                     tenants=[{"name": f"t{number}", "vnics": [{"name": f"v{number}x{vnic}"} for vnic in range(10)]}
                              for number in range(100)])
        spent = []
        for _ in range(20):
            before = time.monotonic()
            self.assertEqual(get(place)[0], 200)
            spent.append(time.monotonic() - before)
        self.assertLess(min(spent), 0.05)
        read = page(place)
        self.assertEqual(read["weir_ctrl_vnics"], 1000)
        self.assertLess(read["weir_ctrl_reading_seconds"], 0.05)
        self.assertEqual(read["weir_ctrl_intervals_missed_total"], 0)


class SlowClientsTest(Case):
    POLLS = False

    def besiege(self, daemon, address):
        """So many clients that never end their request: a scraper and weirctl are answered meanwhile."""
        host, port = address.split(":")
        with contextlib.ExitStack() as open_ones:
            for number in range(SLOW):
                one = open_ones.enter_context(socket.create_connection((host, int(port))))
                one.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: ")
                if number % 500 == 0:
                    self.assertEqual(get(address)[0], 200)
            self.assertTrue(daemon.ctl("status"))
            self.assertEqual(get(address, "/healthz"), (200, "ok\n"))
            read = page(address)
            ended = sum(read[f'weir_metrics_connections_total{{outcome="{how}"}}'] for how in ("displaced", "expired"))
            self.assertGreater(ended, SLOW / 2)
        self.assertEqual(get(address, "/")[0], 404)
        with socket.create_connection((host, int(port))) as large, contextlib.suppress(OSError):
            large.sendall(b"GET /" + b"a" * 1_000_000)
        self.assertEqual(get(address)[0], 200)

    def test_slow_clients_keep_neither_a_scraper_nor_the_agent_nor_the_loop_waiting(self):
        places = free_address(), free_address()
        self.start_switch(self.vnic(1), poll="adaptive", metrics={"listen": places[0]})
        self.besiege(self.switch, places[0])
        controller = Controller(self.folder, {"topology": {"hosts": [{"name": "h1"}]}, "tenants": [tenant("A", "vm1")],
                                              "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
                                              "metrics": {"listen": places[1]}}).start()
        self.besiege(controller, places[1])
        self.assertEqual(controller.stop(), 0)

    def test_an_address_that_another_program_has_ends_the_start_with_its_name(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            second = Switch(self.folder, {"vnics": [], "metrics": {"listen": address}}).launch()
            self.assertEqual(second.process.child.wait(60), 1)
            with open(second.log) as stream:
                self.assertIn(f"metrics.listen: cannot listen on {address} (Address already in use)", stream.read())

    def test_an_address_that_another_program_has_ends_the_start_with_its_name(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            for second in (Switch(self.folder, {"vnics": [], "metrics": {"listen": address}}),
                           Controller(self.folder, {"metrics": {"listen": address}})):
                self.assertEqual(second.launch().process.child.wait(60), 1)
                with open(second.log) as stream:
                    self.assertIn(f"metrics.listen: cannot listen on {address} (Address already in use)", stream.read())

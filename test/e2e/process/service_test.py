"""service_test.py - the systemd units, reports of the switch to the service manager, and QEMU arguments for a guest."""

import configparser
import os
import socket
from unittest import mock

from case import Case
from controller import Controller
from daemon import ROOT
from wait import BOUND_SECONDS


class ServiceTest(Case):
    POLLS = False

    def start_switch(self, *vnics, **keys):
        return super().start_switch(*vnics, poll="adaptive", **keys)

    def test_the_units_start_again_for_ever_with_pauses_but_not_after_a_faulty_configuration(self):
        for name in ("weir-switch", "weir-ctrl"):
            unit = configparser.ConfigParser(interpolation=None)
            unit.optionxform = str                  # systemd's keys have capitals
            unit.read(os.path.join(ROOT, "configs", f"{name}.service.in"))
            service = unit["Service"]
            with self.subTest(name):
                self.assertEqual(unit["Unit"].get("StartLimitIntervalSec"), "0")
                self.assertEqual((service.get("Restart"), service.get("RestartSec")), ("on-failure", "1s"))
                # systemd looks at the exit status of the main process alone: a check before it would be repeated for ever.
                self.assertEqual((service.get("RestartPreventExitStatus"), service.get("ExecStartPre")), ("2", None))
                # A program that stands still is restarted, too.
                self.assertEqual((service.get("Type"), service.get("WatchdogSec")), ("notify", "30s"))

    def test_the_service_manager_is_notified_when_the_switch_is_ready_alive_and_stopping(self):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(self.path("notify"))
        manager.settimeout(BOUND_SECONDS)
        with mock.patch.dict(os.environ, NOTIFY_SOCKET=self.path("notify"), WATCHDOG_USEC="200000"):
            self.start_switch(self.vnic(1))
        self.assertEqual([manager.recv(64) for _ in range(3)], [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"])
        self.stop_switch()
        last = b""
        while last != b"STOPPING=1":
            last = manager.recv(64)

    def test_the_service_manager_is_notified_when_the_controller_listens_is_alive_and_stops(self):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(self.path("notify"))
        manager.settimeout(BOUND_SECONDS)
        controller = Controller(self.folder, {"topology": {"hosts": [{"name": "h1"}]}})
        self.addCleanup(controller.stop)
        with mock.patch.dict(os.environ, NOTIFY_SOCKET=self.path("notify"), WATCHDOG_USEC="400000"):
            controller.start()
        self.assertEqual(manager.recv(256), b"READY=1")
        received = set()
        while not {b"WATCHDOG=1", b"STATUS"} <= received:
            received.add(manager.recv(256).split(b"=cluster")[0])
        self.assertEqual(controller.stop(), 0)
        last = b""
        while last != b"STOPPING=1":
            last = manager.recv(256)

    def test_qemu_arguments_are_those_that_the_running_vnic_offers(self):
        self.start_switch(self.vnic(1), self.vnic(2, packed=False, mergeable=False, queues=2, mode="server"))
        one, two = (" ".join(self.switch.ctl("qemu-args", name)["arguments"]) for name in ("vm1", "vm2"))
        for word, in_one in (("packed=on", True), ("mrg_rxbuf=off", False), ("mq=on", False), ("server=on", True)):
            self.assertEqual((word in one, word in two), (in_one, not in_one), word)

"""clock_test.py - real processes on a stepped clock: a limit, shares and a reservation to the byte, a window to the request,
decay to the step.

A VM fills its ring while time stands still. The frames that leave it then follow from the buckets alone (docs/algorithms.md 2.1, 2.4, 3.2):
one that is full at the first poll turn has paid for floor((burst + rate * time since then) / frame) frames.
"""

import json
import os
import sys

import hosts
from case import Case, mac
from processes import Process
from stepped import SteppedController, SteppedSwitch
from switch import ROOT, WORKER_CORE
from two_hosts import TwoHosts
from wait import until

SECOND = 1_000_000_000
START = SECOND                  # of the stepped clock, ns
OVERHEAD = 24                   # accounted bytes of a frame besides its own: FCS, preamble and gap
BURSTS = 31                     # of 32 frames: a ring of 1,024 is nearly full
NOWHERE = "net_null0,no-rx=1"   # a device that takes every frame
MBIT = 1_000_000 // 8           # bytes


class ClockTest(Case):
    def start_stepped(self, *vnics, **keys):
        self.switch = SteppedSwitch(self.folder, {"vnics": list(vnics), **keys}).start()

    def loader(self, number, frame):
        """VM `number` as a testpmd that fills its ring with frames of so many accounted bytes, and sends no more."""
        return self.vm(number, peer=9, options=[f"--txpkts={frame - OVERHEAD}"], begin=False)

    def load(self, *guests):
        """Fills the rings, one after the other. The switch takes nothing yet."""
        self.begin(*guests, bursts=BURSTS)
        self.assertEqual([self.sent(guest.vnics[0]) for guest in guests], [0] * len(guests))

    def sent(self, name):
        """Bytes that have left the VM for good."""
        return self.switch.vnic(name)["from_vm"]["delivered"]["bytes"]

    def step(self, *names, span, turn):
        """The bytes that each of these VMs sent in that time."""
        before = [self.sent(name) for name in names]
        self.switch.step(span, "--turn", turn)
        return tuple(self.sent(name) - earlier for name, earlier in zip(names, before))


class LimitTest(ClockTest):
    def test_a_limit_lets_pass_its_burst_and_its_rate_to_the_byte(self):
        self.assert_limit([WORKER_CORE])

    def test_a_limit_lets_pass_the_same_when_every_frame_changes_workers(self):
        self.assert_limit([0, 1], worker=1)
        self.assertEqual([worker["handoff"]["posted"] for worker in self.switch.ctl("status")["workers"]], [331, 0])

    def assert_limit(self, workers, **receiver):
        # 20 Mbit/s are 2,500,000 bytes/s; the burst is 4 ms of them. With frames of 1,538 bytes 22 have left after 10 ms, 331 after 200.
        rate, burst, frame, turn = 20 * MBIT, 10_000, 1538, 100_000
        sender = self.loader(1, frame)
        self.start_stepped(self.vnic(1, limit="20Mbit", worker=0), {"name": "vm9", "mac": mac(9), "device": NOWHERE, **receiver},
                           workers=workers)
        self.load(sender)
        for milliseconds in range(10, 210, 10):
            now = self.switch.step("10ms", "--turn", "100us")
            self.assertEqual(now, START + milliseconds * 1_000_000)
            passed = (burst + rate * (now - START - turn) // SECOND) // frame
            self.assertEqual(self.sent("vm1"), passed * frame, f"after {milliseconds} ms")
        self.assertEqual(self.sent("vm1"), 331 * frame)
        self.assertEqual(self.switch.vnic("vm9")["to_vm"]["delivered"]["packets"], 331)
        self.assertEqual(self.drops("vm1"), {})
        self.assert_accounts()


class ContentionTest(ClockTest):
    """vm1 and vm2 have full rings for a wire of 40 Mbit with 10 % headroom: 4,500,000 bytes/s, 36 frames of 1,300 bytes in 10.4 ms."""

    FRAME, TOGETHER = 1300, 36

    def contend(self, *promises):
        senders = [self.loader(number, self.FRAME) for number in (1, 2)]
        self.start_stepped(*(self.vnic(number, **promise) for number, promise in enumerate(promises, start=1)),
                           uplink={"device": NOWHERE, "rate": "40Mbit", "headroom": "10%"})
        self.load(*senders)
        # The burst of a reservation of 30 Mbit, 15,000 bytes, is spent at the 750,000 bytes/s that the wire has besides: in 20 ms.
        self.switch.step("41600us", "--turn", "20us")

    def assert_divided(self, first, second):
        """Frames of vm1 and vm2 in each 10.4 ms, and in ten times as much."""
        self.assertEqual(first + second, self.TOGETHER)
        for _ in range(5):
            self.assertEqual(self.step("vm1", "vm2", span="10400us", turn="20us"), (first * self.FRAME, second * self.FRAME))
        self.assertEqual(self.step("vm1", "vm2", span="104ms", turn="20us"), (10 * first * self.FRAME, 10 * second * self.FRAME))
        for name in ("vm1", "vm2"):
            self.assertEqual(self.drops(name), {})
        self.assert_accounts()

    def test_shares_of_300_and_100_divide_the_wire_by_3_to_1_to_the_byte(self):
        # A round robin's round is 3,900 bytes of vm1 and 1,300 of vm2: 3 frames and 1.
        self.contend({"shares": 300}, {"shares": 100})
        self.assert_divided(27, 9)

    def test_a_reservation_of_30_mbit_is_kept_to_the_byte_and_the_rest_goes_by_shares(self):
        # 3,750,000 bytes/s are 30 frames in 10.4 ms. Of the other 6, shares of 1 to 1,000 give vm1 none in this time.
        self.contend({"reservation": "30Mbit", "shares": 1}, {"shares": 1000})
        self.assert_divided(30, 6)


NBD_PORT = 10809
COST = 80                       # tokens of a read of any size (Pulsar 4.4)
CLIENTS = 8                     # connections with a read ready on each


class StoreTest(TwoHosts):
    """vm1's kernel reads from vm3's, a store that answers when it is asked to. Both kernels' own time is real."""

    def start_store(self, part, disk=None, **keys):
        """The switch, with vm1's `part` of the appliance `disk`, and the store."""
        cost, folder = self.path("cost.json"), self.path("a")
        os.makedirs(folder)
        with open(cost, "w") as stream:
            json.dump({"name": "80 a read", "unit": "tokens", "source": "Pulsar 4.4", "operations": {
                "read": {"size": "response", "shape": "linear", "base": COST, "tokens": 0, "per": "1B"},
                "otherwise": {"size": "sum", "shape": "linear", "base": 1, "tokens": 0, "per": "1B"}}}, stream)
        for number in (1, 3):
            self.site.plug(number)
        self.client, server = self.site.kernel(1), self.site.kernel(3)   # the links stay as they are from here on
        self.a = hosts.start(SteppedSwitch(folder, {
            "host": "a", "vnics": [hosts.vnic(1, appliances=[{"name": "disk", **part}]), hosts.vnic(3)],
            "appliances": [{"name": "disk", "address": "10.0.0.3", "port": NBD_PORT, "protocol": "nbd", "cost": cost, **(disk or {})}],
            **keys}))
        self.store = Process([*server, sys.executable, self.program("held_store"), str(NBD_PORT)], self.path("store.log"))
        self.store.expect("listening")

    def program(self, name):
        return os.path.join(ROOT, "test", "support", f"{name}.py")

    def start_clients(self):
        """Each has one read ready, and the next when that is answered."""
        command = [self.program("nbd_client"), "10.0.0.3", str(NBD_PORT), "--connections", str(CLIENTS), "512:600"]
        self.reader = Process([*self.client, sys.executable, *command], self.path("reader.log"))

    def received(self):
        """Reads that the store has received."""
        return self.store.output().count("read")

    def flow(self):
        flow, = self.a.ctl("flow", "list", "vm1", "--interval", "50ms")["flows"]
        return flow

    def step_until(self, condition, what, span="100us"):
        """Lets time pass, `span` at once, until it holds: frames of the kernels cross the switch in its poll turns alone."""
        until(lambda: self.a.step(span) and condition(), what)


class WindowTest(StoreTest):
    WINDOW = 4

    def test_of_8_reads_a_window_of_4_lets_pass_4_and_each_answer_one_more(self):
        self.start_store({}, {"window": f"{COST * self.WINDOW}tokens"})
        self.start_clients()
        self.step_until(lambda: self.flow()["held"] == CLIENTS - self.WINDOW, "all reads in the switch, and those beyond the window held")
        for answers in range(CLIENTS - self.WINDOW + 1):
            self.step_until(lambda: self.received() == self.WINDOW + answers, f"{self.WINDOW} reads at the store after {answers} answers")
            self.a.step("100ms")
            self.assertEqual(self.received(), self.WINDOW + answers)
            self.assertEqual(self.flow()["outstanding_tokens"], COST * self.WINDOW)
            self.store.write("answer\n")
        self.reader.stop()


class DecayTest(StoreTest):
    """vm1 reserves 400 tokens/s of a disk that has 1,000. With reads of 640 tokens at a store that does not answer it is allocated
    more than that."""

    def link(self):
        return self.a.ctl("status")["controller"]

    def limit(self):
        return self.flow()["limit_per_second"]["appliance"]

    def interval(self):
        """One second of both: a DEMAND and its ALLOCATION."""
        messages = lambda: self.controller.ctl("status")["counters"]["messages"]
        before = messages()
        self.a.step("1s", "--turn", "1ms")
        until(lambda: messages() > before, "a demand")
        self.controller.step("1s")
        number = self.controller.ctl("status")["interval"]
        until(lambda: self.link()["interval"] == number, "an allocation")

    def test_3_intervals_after_the_last_allocation_the_guarantee_holds_and_not_before(self):
        self.controller = SteppedController(self.folder, {
            "interval": "1s", "topology": {"hosts": [{"name": "a"}]},
            "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
            "tenants": [{"name": "A", "vnics": [{"name": "vm1"}], "appliances": [{"name": "disk", "reservation": "400tokens"}]}]})
        self.addCleanup(self.controller.stop)
        self.controller.start()
        self.start_store({"limit": "5ktokens"}, controller={"connect": self.controller.endpoint})
        # A HELLO that found no connection yet is repeated after a second, of the stepped clock.
        self.step_until(lambda: self.link()["state"] != "connecting", "the controller's welcome", span="100ms")
        self.start_clients()
        self.step_until(lambda: self.received() == CLIENTS, "all reads at the store", span="10ms")
        # The message that a tick waited for need not be the demand that counts these reads: the next tick's is.
        until(lambda: self.interval() or self.limit() > 400, "an allocation of more than is reserved")
        self.controller.kill()
        last = self.a.ctl("status")["now_ns"]
        self.a.step("10ms", "--turn", "1ms")        # the worker has taken up the last allocation, too
        allocated = self.limit()
        self.assertGreater(allocated, 400)
        self.assertEqual(self.a.step("2990ms", "--turn", "1ms"), last + 3 * SECOND)
        self.assertEqual((self.link()["state"], self.limit()), ("connected", allocated))
        self.a.step("10ms", "--turn", "1ms")        # the agent's next tick
        self.assertEqual((self.link()["state"], self.limit()), ("silent", 400))
        self.reader.stop()

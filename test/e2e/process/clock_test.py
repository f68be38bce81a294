"""clock_test.py - real processes on a stepped clock: a limit, shares and a reservation to the byte.

A VM fills its ring while time stands still. What leaves it then follows from the buckets alone (docs/algorithms.md 2.1, 2.4, 3.2):
one that is full at the first poll turn has paid for floor((burst + rate * time since then) / frame) frames.
"""

from case import Case, mac
from stepped import SteppedSwitch
from switch import WORKER_CORE

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
        """What each of these VMs sent in that time, bytes."""
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

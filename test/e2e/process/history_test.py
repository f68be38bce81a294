"""history_test.py - the past of a real switch on a stepped clock: the second, the burst and the bucket that held a vNIC back, and events.

vm1 fills its ring while time stands still, 992 frames of 1,538 bytes. Its limit of 20 Mbit/s, 2,500,000 bytes/s with a burst of 10,000,
lets the last one pass after 606.2 ms: (992 * 1,538 - 10,000) / 2,500,000 s.
"""

import time

from case import Case, mac
from processes import run
from stepped import SteppedSwitch
from switch import WEIRCTL, Refused
from wait import until

BURSTS = 31                     # of 32 frames: a ring of 1,024 is nearly full
FRAME, FRAMES = 1538, BURSTS * 32
OVERHEAD = 24                   # accounted bytes of a frame besides its own: FCS, preamble and gap
NOWHERE = "net_null0,no-rx=1"   # a device that takes every frame


def utc(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


class HistoryTest(Case):
    def setUp(self):
        super().setUp()
        self.guest = self.vm(1, peer=9, options=[f"--txpkts={FRAME - OVERHEAD}"], begin=False)
        self.switch = SteppedSwitch(self.folder, {"vnics": [self.vnic(1, limit="20Mbit"), {"name": "vm9", "mac": mac(9), "device": NOWHERE}]})
        self.switch.start()
        self.switch.step("1s", "--turn", "100us")       # a second without traffic
        self.begin(self.guest, bursts=BURSTS)
        until(lambda: self.kinds("vm1") == ["up"], "the event of the VM that came up, before time moves on")
        self.switch.step("1s", "--turn", "100us")       # the one with all frames
        self.switch.step("1s", "--turn", "100us")

    def at(self, ago, name="vm1"):
        return self.switch.ctl("why", name, "--at", ago)

    def words(self, *arguments):
        return run([WEIRCTL, "--socket", self.switch.socket, *arguments]).stdout

    def kinds(self, *arguments):
        return [event["event"] for event in self.switch.ctl("events", *arguments)["events"]]

    def test_the_past_has_the_second_in_which_a_limit_held_a_vnic_back_to_the_byte_and_the_millisecond(self):
        answer = self.at("-1500ms")
        second, held = answer["second"], answer["held_back_by"]
        self.assertEqual((second["span_ns"], second["samples"], answer["resolution_ns"]), (10 ** 9, 100, 10 ** 7))
        self.assertEqual((second["sent_bytes"], second["received_bytes"], second["dropped"]), (FRAMES * FRAME, 0, 0))
        # The first 10 ms: 10,000 bytes and those of 9.9 ms, 22 frames.
        self.assertEqual(second["sent_burst_bytes"], 22 * FRAME // 10)
        self.assertEqual(held["bucket"], "limit")
        self.assertTrue(50 < held["percent"] < 61, held)      # the ring is polled between two holds
        self.assertEqual((held["since"], held["before_history"]), (second["from"], False))
        samples = answer["samples"]
        self.assertEqual([sample["held_back_by"] for sample in samples], ["limit"] * 61 + [None] * 39)
        self.assertEqual(sum(sample["sent_bytes"] for sample in samples), FRAMES * FRAME)
        self.assertEqual([each["sent_bytes"] for each in answer["seconds"]], [0, FRAMES * FRAME, 0])
        self.assertIsNone(self.at("-500ms")["held_back_by"])
        received = self.at("-1500ms", "vm9")["second"]
        self.assertEqual((received["sent_bytes"], received["received_bytes"]), (0, FRAMES * FRAME))
        text = self.words("why", "vm1", "--at", utc(second["from"]))
        self.assertIn(f"held back by own limit {held['percent']:.1f}% of this time, since {utc(second['from'])} UTC\n", text)

    def test_samples_of_a_millisecond_have_the_frames_that_the_limit_lets_pass(self):
        self.guest.halt()
        self.begin(self.guest, bursts=BURSTS)
        for _ in range(20):
            self.switch.step("1ms", "--turn", "100us")
        samples = self.at("0s")["samples"][-20:]
        passed = [(10_000 + 2_500 * (millisecond * 10 - 1) // 10) // FRAME for millisecond in range(1, 21)]
        self.assertEqual([sample["span_ns"] for sample in samples], [10 ** 6] * 20)
        self.assertEqual([sample["sent_bytes"] // FRAME for sample in samples],
                         [later - earlier for earlier, later in zip([0, *passed], passed)])

    def test_a_time_outside_of_the_past_is_refused_and_a_removed_vnic_keeps_its_past(self):
        begin = self.at("-1500ms")["history"]["from"]
        with self.assertRaises(Refused) as refused:
            self.at(utc(begin - 3600))
        fault, = refused.exception.faults
        self.assertEqual((fault["path"], fault["found"]), ("args.at", f"{utc(begin - 3600)} UTC"))
        self.assertTrue(fault["allowed"].startswith(f"{utc(begin)} UTC to "), fault)
        self.switch.ctl("vnic", "remove", "vm1")
        answer = self.at("-1500ms")
        self.assertEqual(answer["second"]["sent_bytes"], FRAMES * FRAME)
        self.assertGreater(answer["removed"], answer["second"]["from"])

    def test_events_have_the_vnic_that_came_up_and_was_held_back_and_the_commands_about_it(self):
        second = self.at("-1500ms")["second"]["from"]
        self.assertEqual(self.kinds("vm1"), ["up", "held_back"])
        event, = [each for each in self.switch.ctl("events")["events"] if each["event"] == "held_back"]
        self.assertEqual((event["vnic"], event["time"], event["detail"]), ("vm1", second, "bucket limit, 51% of the first second"))
        self.switch.ctl("vnic", "set", "vm1", "limit=30Mbit")
        self.switch.step("10s", "--turn", "1ms")
        self.switch.ctl("vnic", "remove", "vm1")
        self.assertEqual(self.kinds("vm1"), ["up", "held_back", "held_back_ended", "changed", "removed"])
        self.assertEqual(self.kinds()[0], "started")
        self.assertEqual(self.kinds("--since", utc(second + 2)), ["changed", "removed"])
        self.assertRegex(self.words("events", "vm1"), rf"\n{utc(second)} UTC  vNIC vm1  held back  +bucket limit, 51% of the first second\n")

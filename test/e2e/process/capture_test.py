"""capture_test.py - frames of a running switch in a file: the distribution's tshark reads it, and bad input leaves no trace.

Time stands still until a capture has begun, so that it sees every frame.
"""

import os
import signal

import frames
from case import Case, mac
from daemon import WEIRCTL
from processes import Process, run
from stepped import SteppedSwitch
from switch import Refused
from wait import until

FOREIGN = "52:54:00:00:00:77"
NOWHERE = "net_null0,no-rx=1"       # a device that takes every frame


class CaptureTest(Case):
    POLLS = False

    def start_with(self, sent, **keys):
        """VM 1 has these frames in its ring and sends nothing yet; VM 2 takes every frame."""
        path = frames.write_pcap(self.path("vm1.in"), sent)
        sender = self.vnic(1, device=f"net_pcap1,rx_pcap={path},tx_pcap={self.path('vm1.out')}", **keys)
        self.switch = SteppedSwitch(self.folder, {"vnics": [sender, self.vnic(2, device="net_null2,no-rx=1")],
                                                  "uplink": {"device": NOWHERE}}).start()

    def begin(self, *words, file="frames.pcapng"):
        """A capture that has begun."""
        path = self.path(file)
        if os.path.exists(path):
            os.remove(path)
        capture = Process([WEIRCTL, "--socket", self.switch.socket, "--json", "capture", *words, "-w", path], self.path("capture.log"))
        until(lambda: os.path.exists(path) and os.path.getsize(path) > 0 or not capture.alive(), "a capture that has begun")
        self.assertTrue(capture.alive(), capture.output())
        return capture

    def end(self, capture, file="frames.pcapng"):
        """Interrupts it; of each frame, by tshark: (source, length, comment)."""
        self.assertEqual(capture.stop(signal.SIGINT), 0, capture.output())
        return self.read(file)

    def read(self, file="frames.pcapng"):
        found = run(["tshark", "-r", self.path(file), "-T", "fields", "-e", "eth.src", "-e", "frame.len", "-e", "frame.comment"])
        return [tuple(line.split("\t")) for line in found.stdout.splitlines()]

    def refused(self, *words):
        """The one line with which weirctl refuses a capture, and its exit status."""
        done = run([WEIRCTL, "--socket", self.switch.socket, "capture", *words], check=False)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.returncode, done.stderr.strip()

    def test_tshark_reads_frames_with_direction_verdict_and_reason(self):
        self.start_with([frames.frame(mac(1), mac(2), 100), frames.frame(FOREIGN, mac(2)), frames.frame(mac(1), mac(9), 200)])
        of_vm1 = self.begin("vm1")
        of_vm2 = self.begin("vm2", file="vm2.pcapng")
        uplink = self.begin("uplink", file="uplink.pcapng")
        self.switch.step("1ms")
        self.assertEqual(sorted(self.end(of_vm1)), [(mac(1), "100", "from vm (vm1): forwarded"),
                                                    (mac(1), "200", "from vm (vm1): forwarded"),
                                                    (FOREIGN, "60", "from vm (vm1): dropped: mac_spoof")])
        self.assertEqual(self.end(of_vm2, "vm2.pcapng"), [(mac(1), "100", "to vm (vm2): forwarded")])
        self.assertEqual(self.end(uplink, "uplink.pcapng"), [(mac(1), "200", "to wire: forwarded")])

    def test_a_capture_ends_by_itself_after_so_many_frames(self):
        self.start_with(frames.numbered(mac(1), mac(2), 50))
        capture = self.begin("vm1", "--count", "7")
        self.switch.step("1ms")
        until(lambda: not capture.alive(), "a capture that has ended")
        self.assertEqual(capture.child.returncode, 0)
        self.assertEqual(len(self.read()), 7)
        self.assertIn('"frames":7', capture.output())

    def test_drops_of_one_reason_and_a_filter_choose_frames(self):
        self.start_with([frames.ipv4(mac(1), mac(2), frames.UDP, 100), frames.frame(FOREIGN, mac(2), kind=frames.ARP),
                         frames.frame(FOREIGN, mac(2), 70), frames.frame(mac(1), mac(1))])
        udp = self.begin("vm1", "--filter", "udp port 9", file="udp.pcapng")
        spoofed = self.begin("vm1", "--drops", "--reason", "mac_spoof", "--first", "1")
        self.switch.step("1ms")
        self.assertEqual(self.end(udp, "udp.pcapng"), [(mac(1), "100", "from vm (vm1): forwarded")])
        self.assertEqual(self.end(spoofed), [(FOREIGN, "60", "from vm (vm1): dropped: mac_spoof")])

    def test_frames_that_waited_say_how_long(self):
        self.start_with([frames.frame(mac(1), mac(2), 1000) for _ in range(100)], limit="10Mbit")
        capture = self.begin("vm1")
        self.switch.step("200ms", "--turn", "100us")
        found = self.end(capture)
        self.assertEqual(len(found), 100)
        self.assertTrue(any(", waited" in comment for _, _, comment in found), found[-1])

    def test_bad_input_is_one_line_and_no_capture_stays(self):
        self.start_with([])
        for status, message, words in ((2, "--filter", ["vm1", "--filter", "tcp prot 80", "-w", self.path("x")]),
                                    (2, "No space left", ["vm1", "-w", "/dev/full"]),
                                    (2, "cannot write", ["vm1", "-w", self.path("no/folder")]),
                                    (1, "there is no vNIC vm7", ["vm7", "-w", self.path("x")])):
            found = self.refused(*words)
            self.assertEqual(found[0], status, found)
            self.assertIn(message, found[1])
        for _ in range(5):      # more than may run at once: none of those above is left
            self.end(self.begin("vm1", "--drops"))
        running = [self.begin("vm1", file=f"{number}.pcapng") for number in range(4)]
        self.assertIn("4 captures run already", self.refused("vm1", "-w", self.path("x"))[1])
        for number, capture in enumerate(running):
            self.assertEqual(self.end(capture, f"{number}.pcapng"), [])

    def test_a_capture_ends_with_its_vnic_and_with_its_reader(self):
        self.start_with([])
        of_vm2 = self.begin("vm2")
        killed = self.begin("vm1", file="killed.pcapng")
        self.switch.ctl("vnic", "remove", "vm2")
        until(lambda: not of_vm2.alive(), "the end of a vNIC's capture")
        self.assertIn("the vNIC was removed", of_vm2.output())
        killed.stop(signal.SIGKILL)
        self.switch.step("11s", "--turn", "1ms")
        until(lambda: "it was not read for 10 s" in self.log(), "the end of a capture without a reader")

    def log(self):
        with open(self.switch.log) as stream:
            return stream.read()

    def test_an_uplink_that_is_not_there_is_named(self):
        self.switch = SteppedSwitch(self.folder, {"vnics": [self.vnic(1, device=NOWHERE)]}).start()
        self.assertIn("no uplink", self.refused("uplink", "-w", self.path("x"))[1])
        with self.assertRaises(Refused):
            self.switch.ctl("capture", "vm1", "-w", "-")    # its result and the frames would be mixed

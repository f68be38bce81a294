"""feedback_test.py - EyeQ between two real switches: a receiver's switch advertises a rate, the sender's obeys it, and
other traffic is not held back.

Frames are counted and nothing is timed: limits are far below the rates of the sources, even on a busy machine. Rates are asserted in
virtual time (test/vswitch/qos/feedback, test/bench/sim/eyeq_test.cc) and by e2e/rates.
"""

import socket
import struct

import frames
from case import mac
from processes import run
from two_hosts import FEEDBACK, KEY, TwoHosts, feedback_frame
from wait import until

MBIT = 1_000_000
LIMIT = "4Mbit"
# Feedback over IPv4 and IPv6, with and without a tag: `vlan` moves the content by 4 bytes.
FEEDBACK_FILTER = "ip proto 143 or ip6 proto 143 or (vlan and (ip proto 143 or ip6 proto 143))"
OTHER_KEY = "ffeeddccbbaa99887766554433221100"


class FeedbackTest(TwoHosts):
    POLLS = False

    def test_a_receivers_limit_is_kept_by_the_senders_switch_and_its_other_destination_is_not_held_back(self):
        self.join()
        self.hosts({3: {"limit": LIMIT}})
        source = self.send(1, 80 * MBIT, 3, 4)
        self.wait_feedback(self.a, "limiters")
        self.wait_feedback(self.b, "sent", 10)
        self.wait_feedback(self.a, "received", 10)
        until(lambda: self.got("vm4") > max(2 * self.got("vm3"), 1000), "vm4 receiving twice as much as vm3")
        source.kill()
        self.settle()
        self.assertEqual(set(self.drops_of(self.a, "vm1")), {"destination_congested"})
        self.assert_both_accounts()

    def got(self, name):
        """Packets that a VM of host B has received."""
        return self.b.vnic(name)["to_vm"]["delivered"]["packets"]

    def flood_beside_a_victim(self, feedback):
        """vm2 sends 80 Mbit/s to vm4, and vm1 3 to vm3, which has a reservation, behind a wire of 10."""
        self.join("10mbit")
        self.hosts({3: {"reservation": "8Mbit"}}, uplink="400Mbit", downlink="10Mbit", feedback_a=feedback, feedback_b=feedback)
        self.send(2, 80 * MBIT, 4)
        self.send(1, 3 * MBIT, 3)

    def test_a_flood_to_a_neighbor_is_dropped_before_the_wire_and_a_receiver_with_a_reservation_gets_more_of_its_frames(self):
        self.flood_beside_a_victim(FEEDBACK)
        until(lambda: self.drops_of(self.a, "vm2").get("destination_congested", 0) > 1000, "the flood dropped at its switch")

        def share(sender, receiver):
            return self.got(receiver) / self.a.vnic(sender)["from_vm"]["offered"]["packets"]
        until(lambda: self.got("vm3") > 200 and share("vm1", "vm3") > 2 * share("vm2", "vm4"), "the victim's share twice the flood's")
        self.assertEqual(set(self.drops_of(self.a, "vm2")), {"destination_congested"})
        self.assertLessEqual(set(self.drops_of(self.a, "vm1")), {"destination_congested"})

    def test_without_feedback_the_flood_reaches_the_wire_whole(self):
        self.flood_beside_a_victim(None)
        until(lambda: self.got("vm4") > 1000 and self.got("vm3"), "frames of both")
        self.assertEqual((self.drops_of(self.a, "vm1"), self.drops_of(self.a, "vm2")), ({}, {}))

    def drops_of(self, host, name):
        """Drops, without those of frames that the kernel behind the VM's end sends with that end's own address."""
        return {reason: count for reason, count in host.vnic(name)["from_vm"]["drops"].items()
                if count and reason != "mac_spoof"}

    def seen_on_the_wire(self, *fields, count=20, kind="ipv4"):
        """VM 1 sends to VM 3 until `count` frames of feedback have come back. Returns the `fields` that tshark shows of
        each, and its bytes. The switch received feedback, and no guest did."""
        wire, path = self.capture("upa", FEEDBACK_FILTER, "-c", str(count))
        guest, _ = self.capture("eth1", FEEDBACK_FILTER, "-c", "1")
        self.send(1, 80 * MBIT, 3, kind=kind)
        until(lambda: not wire.alive(), f"{count} frames of feedback")
        self.wait_feedback(self.a, "received", count)
        read = run(["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=;", "-E", "occurrence=f", "-o",
                    "ip.check_checksum:TRUE", *(f"-e{field}" for field in fields)])
        self.assertTrue(guest.alive(), "a guest was sent feedback")
        seen = [line.split(";") for line in read.stdout.split()]
        self.assertEqual(len(seen), count)
        return zip(seen, frames.read_pcap(path))

    def assert_payload(self, data, at):
        """The payload begins there. Returns its rate in Mbit/s."""
        magic, rate = struct.unpack_from("!4s8xQ", data, at)
        self.assertEqual(magic, b"WEIR")
        return rate * 8 / MBIT

    def test_feedback_frames_are_on_the_wire_as_in_the_paper_and_at_no_guest(self):
        self.join()
        self.hosts({3: {"limit": LIMIT}})
        for fields, data in self.seen_on_the_wire("eth.src", "eth.dst", "ip.proto", "ip.ttl", "ip.checksum.status",
                                                  "frame.len", "ip.id"):
            self.assertEqual(fields[:6], [mac(3), mac(1), "143", "64", "1", "62"])
            rate = min(self.assert_payload(data, 34), 0xFFFF)  # the identification saturates
            self.assertLessEqual(abs(int(fields[6], 16) - rate), 1)

    def test_feedback_in_a_vlan_carries_its_tag_and_is_obeyed(self):
        self.join()
        self.hosts({3: {"limit": LIMIT, "vlan": 10}}, senders={1: {"vlan": 10}})
        for fields, data in self.seen_on_the_wire("eth.src", "eth.dst", "vlan.id", "ip.proto", "ip.ttl",
                                                  "ip.checksum.status", "frame.len"):
            self.assertEqual(fields, [mac(3), mac(1), "10", "143", "64", "1", "66"])
            self.assertEqual(data[12:18], struct.pack("!HHH", frames.VLAN, 10, frames.IPV4))
            self.assert_payload(data, 38)
        self.assert_obeyed()

    def test_ipv6_traffic_is_answered_over_ipv6_and_that_is_obeyed(self):
        self.join()
        self.hosts({3: {"limit": LIMIT}})
        for fields, data in self.seen_on_the_wire("eth.src", "eth.dst", "ipv6.src", "ipv6.dst", "ipv6.nxt", "ipv6.hlim",
                                                  "ipv6.plen", "frame.len", kind="ipv6"):
            self.assertEqual(fields, [mac(3), mac(1), "fd00::3", "fd00::1", "143", "64", "28", "82"])
            self.assert_payload(data, 54)
        self.assert_obeyed()

    def assert_obeyed(self):
        """The sender's switch has one destination limit, that of VM 1, and drops the frames beyond it."""
        until(lambda: self.drops_of(self.a, "vm1").get("destination_congested", 0) > 0, "the sender's switch dropping")
        self.assertEqual(self.feedback(self.a)["limiters"], 1)
        self.assertEqual(set(self.drops_of(self.a, "vm1")), {"destination_congested"})

    def test_feedback_of_another_key_is_forged_and_a_guests_own_is_dropped(self):
        self.join()
        self.hosts({3: {"limit": LIMIT}}, feedback_a={"key_file": self.key("a.key", KEY)},
                   feedback_b={"key_file": self.key("b.key", OTHER_KEY)})
        self.send(1, 40 * MBIT, 3)
        self.wait_feedback(self.a, "forged", 10)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as guest:
            guest.bind(("eth2", 0))

            def dropped():                          # a kernel short of time may lose one on the way to the switch
                guest.send(feedback_frame(mac(2), mac(3)))
                return self.drops_of(self.a, "vm2").get("feedback_unexpected", 0) > 0
            until(dropped, "the guest's frame dropped")
        feedback = self.feedback(self.a)
        self.assertEqual((feedback["received"], feedback["limiters"]), (0, 0))
        self.assertEqual(self.drops_of(self.a, "vm1"), {})
        self.assertEqual(self.feedback(self.b)["malformed"], 0)

    def test_without_a_key_feedback_is_off_and_status_has_the_reason(self):
        self.join()
        self.hosts({3: {"limit": LIMIT}}, feedback_b={"key_file": None})
        self.send(1, 40 * MBIT, 3)
        until(lambda: self.got("vm3") > 1000, "frames at vm3")
        self.assertEqual(self.drops_of(self.a, "vm1"), {})      # nothing slows the sender down
        status = self.b.ctl("status")
        self.assertIsNone(status["feedback"])
        self.assertIn("no feedback.key_file", status["feedback_off"])
        self.assertIsNone(self.a.ctl("status")["feedback_off"])
        self.assertEqual(self.feedback(self.a)["received"], 0)

    def test_a_receivers_switch_that_dies_holds_its_senders_back_and_is_believed_when_it_is_back(self):
        self.join()
        receivers = {3: {"limit": LIMIT}, 4: {}}
        self.hosts(receivers)
        source = self.send(1, 40 * MBIT, 3)
        self.assert_obeyed()
        self.b.kill()
        dropped = self.drops_of(self.a, "vm1")["destination_congested"]
        until(lambda: self.drops_of(self.a, "vm1")["destination_congested"] > dropped + 1000, "the sender held back in silence")
        before = self.feedback(self.a)["received"]
        self.b = self.host("b", 0, {"rate": "200Mbit"}, FEEDBACK, receivers)
        self.wait_feedback(self.a, "received", before + 10)
        until(lambda: self.got("vm3") > 100, "frames after the restart")
        self.assertEqual(self.feedback(self.a)["limiters"], 1)
        source.kill()
        until(lambda: self.feedback(self.a)["limiters"] == 0, "the limiter forgotten")

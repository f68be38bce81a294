"""feedback_test.py - EyeQ between two real switches: a receiver's switch advertises a rate, the sender's obeys it, and
other traffic is not held back.

Rates are some 10 Mbit/s and bounds are wide: a busy machine keeps up. What can be is counted and not timed.
"""

import json
import socket
import struct
import subprocess

import frames
from case import mac, timed
from processes import Process
from span import Span
from two_hosts import FEEDBACK, KEY, TwoHosts, feedback_frame
from wait import until

MBIT = 1_000_000
# Feedback over IPv4 and IPv6, with and without a tag: `vlan` moves the content by 4 bytes.
FEEDBACK_FILTER = "ip proto 143 or ip6 proto 143 or (vlan and (ip proto 143 or ip6 proto 143))"
OTHER_KEY = "ffeeddccbbaa99887766554433221100"


def share(vnic, sent):
    """Fraction of `sent` frames that this receiver got."""
    return vnic["to_vm"]["delivered"]["packets"] / sent


class FeedbackTest(TwoHosts):
    def wait_rate(self, host, name, at_least, at_most, direction="to_vm", seconds=30):
        """One second of the next `seconds` in which this rate is surely between these bounds, in bits/s."""
        def reached():
            low, high = (8 * rate for rate in Span(host, 1.0).rate(name, direction=direction))
            return at_least < low and high < at_most
        until(reached, seconds, f"{name} between {at_least:g} and {at_most:g} bit/s")

    @timed
    def test_a_receivers_limit_is_kept_by_the_senders_switch_and_its_other_destination_is_not_held_back(self):
        self.join()
        self.hosts({3: {"limit": "20Mbit"}})
        source = self.send(1, 80 * MBIT, 3, 4)
        self.wait_feedback(self.a, "limiters")
        self.wait_feedback(self.b, "sent", 10)
        self.wait_rate(self.b, "vm3", 10 * MBIT, 25 * MBIT)
        self.wait_rate(self.b, "vm4", 30 * MBIT, 50 * MBIT)
        source.kill()
        self.settle()
        sender = self.a.vnic("vm1")["from_vm"]
        each = sender["offered"]["packets"] / 2
        self.assertEqual(set(self.drops_of(self.a, "vm1")), {"destination_congested"})
        self.assertLess(share(self.b.vnic("vm3"), each), 0.75)
        self.assertGreater(share(self.b.vnic("vm4"), each), 0.9)
        self.assertGreater(self.feedback(self.a)["received"], 10)
        self.assert_both_accounts()

    def drops_of(self, host, name):
        """Drops, without those of frames that the kernel behind the VM's end sends with that end's own address."""
        return {reason: count for reason, count in host.vnic(name)["from_vm"]["drops"].items()
                if count and reason != "mac_spoof"}

    @timed
    def test_a_tcp_sender_slows_down_to_the_receivers_limit(self):
        self.join()
        self.hosts({3: {"limit": "20Mbit"}})
        client, server = self.kernel(1), self.kernel(3)
        listening = Process([*server, "iperf3", "-s", "--forceflush"], self.path("server.log"))
        listening.expect("Server listening", 20)
        done = subprocess.run([*client, "iperf3", "-c", "10.0.0.3", "-t", "4", "-C", "reno", "-J"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        received = json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]
        self.assertGreater(received, 8 * MBIT)
        self.assertLess(received, 22 * MBIT)
        self.assertGreater(self.feedback(self.a)["received"], 10)
        self.assert_both_accounts()

    def victims_share(self, feedback):
        """What a receiver with a reservation gets of its 30 Mbit/s beside a neighbor that is flooded with 120, both
        behind a wire of 40. Their senders share a host whose own link has room for both."""
        self.join("40mbit")
        self.hosts({3: {"reservation": "32Mbit"}}, uplink="400Mbit", downlink="40Mbit", feedback_a=feedback,
                   feedback_b=feedback)
        flood = self.send(2, 120 * MBIT, 4)
        self.wait_packets_at(self.b, "vm4", 1000)
        victim = self.send(1, 30 * MBIT, 3)
        self.wait_packets_at(self.b, "vm3", 4000)
        victim.kill()
        flood.kill()
        self.settle()
        return share(self.b.vnic("vm3"), self.a.vnic("vm1")["from_vm"]["offered"]["packets"])

    def wait_packets_at(self, host, name, least):
        until(lambda: host.vnic(name)["to_vm"]["delivered"]["packets"] >= least, 60, f"{name}: {least} packets")

    @timed
    def test_a_reservation_holds_across_the_wire_beside_a_flood_to_a_neighbor(self):
        self.assertGreater(self.victims_share(FEEDBACK), 0.9)
        self.assertGreater(self.drops_of(self.a, "vm2")["destination_congested"], 0)
        # When the machine stalls, frames arrive together, and the receiver's meter takes them for a rate above the
        # reservation. The share bounds what that may cost; no frame of the victim is lost anywhere else.
        self.assertLessEqual(set(self.drops_of(self.a, "vm1")), {"destination_congested"})

    @timed
    def test_without_feedback_the_flood_takes_the_wire_from_the_reservation(self):
        self.assertLess(self.victims_share(None), 0.85)
        self.assertEqual(self.drops_of(self.a, "vm2"), {})

    def seen_on_the_wire(self, *fields, count=20, kind="ipv4"):
        """VM 1 sends to VM 3 until `count` frames of feedback have come back. Returns the `fields` that tshark shows of
        each, and its bytes. The switch received feedback, and no guest did."""
        wire, path = self.capture("upa", FEEDBACK_FILTER, "-c", str(count))
        guest, _ = self.capture("eth1", FEEDBACK_FILTER, "-c", "1")
        self.send(1, 80 * MBIT, 3, kind=kind)
        until(lambda: not wire.alive(), 30, f"{count} frames of feedback")
        self.wait_feedback(self.a, "received", count)
        read = subprocess.run(["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=;", "-E", "occurrence=f", "-o",
                               "ip.check_checksum:TRUE", *(f"-e{field}" for field in fields)], capture_output=True,
                              text=True, timeout=60, check=True)
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
        self.hosts({3: {"limit": "20Mbit"}})
        for fields, data in self.seen_on_the_wire("eth.src", "eth.dst", "ip.proto", "ip.ttl", "ip.checksum.status",
                                                  "frame.len", "ip.id"):
            self.assertEqual(fields[:6], [mac(3), mac(1), "143", "64", "1", "62"])
            rate = min(self.assert_payload(data, 34), 0xFFFF)  # the identification saturates
            self.assertLessEqual(abs(int(fields[6], 16) - rate), 1)

    def test_feedback_in_a_vlan_carries_its_tag_and_is_obeyed(self):
        self.join()
        self.hosts({3: {"limit": "20Mbit", "vlan": 10}}, senders={1: {"vlan": 10}})
        for fields, data in self.seen_on_the_wire("eth.src", "eth.dst", "vlan.id", "ip.proto", "ip.ttl",
                                                  "ip.checksum.status", "frame.len"):
            self.assertEqual(fields, [mac(3), mac(1), "10", "143", "64", "1", "66"])
            self.assertEqual(data[12:18], struct.pack("!HHH", frames.VLAN, 10, frames.IPV4))
            self.assert_payload(data, 38)
        self.assert_obeyed()

    def test_ipv6_traffic_is_answered_over_ipv6_and_that_is_obeyed(self):
        self.join()
        self.hosts({3: {"limit": "20Mbit"}})
        for fields, data in self.seen_on_the_wire("eth.src", "eth.dst", "ipv6.src", "ipv6.dst", "ipv6.nxt", "ipv6.hlim",
                                                  "ipv6.plen", "frame.len", kind="ipv6"):
            self.assertEqual(fields, [mac(3), mac(1), "fd00::3", "fd00::1", "143", "64", "28", "82"])
            self.assert_payload(data, 54)
        self.assert_obeyed()

    def assert_obeyed(self):
        """The sender's switch has a limiter for what VM 1 sends, and drops what is beyond it."""
        until(lambda: self.drops_of(self.a, "vm1").get("destination_congested", 0) > 0, 30, "the sender's switch dropping")
        self.assertEqual(self.feedback(self.a)["limiters"], 1)
        self.assertEqual(set(self.drops_of(self.a, "vm1")), {"destination_congested"})

    def test_feedback_of_another_key_is_forged_and_a_guests_own_is_dropped(self):
        self.join()
        self.hosts({3: {"limit": "20Mbit"}}, feedback_a={"key_file": self.key("a.key", KEY)},
                   feedback_b={"key_file": self.key("b.key", OTHER_KEY)})
        self.send(1, 40 * MBIT, 3)
        self.wait_feedback(self.a, "forged", 10)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as guest:
            guest.bind(("eth2", 0))

            def dropped():                          # a kernel short of time may lose one on the way to the switch
                guest.send(feedback_frame(mac(2), mac(3)))
                return self.drops_of(self.a, "vm2").get("feedback_unexpected", 0) > 0
            until(dropped, 20, "the guest's frame dropped")
        feedback = self.feedback(self.a)
        self.assertEqual((feedback["received"], feedback["limiters"]), (0, 0))
        self.assertEqual(self.drops_of(self.a, "vm1"), {})
        self.assertEqual(self.feedback(self.b)["malformed"], 0)

    @timed
    def test_without_a_key_feedback_is_off_and_status_has_the_reason(self):
        self.join()
        self.hosts({3: {"limit": "20Mbit"}}, feedback_b={"key_file": None})
        self.send(1, 40 * MBIT, 3)
        self.wait_rate(self.b, "vm3", 30 * MBIT, 50 * MBIT)   # nothing slows the sender down
        status = self.b.ctl("status")
        self.assertIsNone(status["feedback"])
        self.assertIn("no feedback.key_file", status["feedback_off"])
        self.assertIsNone(self.a.ctl("status")["feedback_off"])
        self.assertEqual(self.feedback(self.a)["received"], 0)

    @timed
    def test_a_receivers_switch_that_dies_takes_the_rate_to_the_floor_and_is_believed_when_it_is_back(self):
        self.join()
        receivers = {3: {"limit": "20Mbit"}, 4: {}}
        self.hosts(receivers)
        source = self.send(1, 40 * MBIT, 3)
        self.wait_rate(self.b, "vm3", 10 * MBIT, 25 * MBIT)
        self.b.kill()
        self.wait_rate(self.a, "vm1", 0.4 * MBIT, 1.6 * MBIT, "from_vm")
        before = self.feedback(self.a)["received"]
        self.b = self.host("b", 0, {"rate": "200Mbit"}, FEEDBACK, receivers)
        self.wait_feedback(self.a, "received", before + 10)
        self.wait_rate(self.b, "vm3", 10 * MBIT, 25 * MBIT)
        self.assertEqual(self.feedback(self.a)["limiters"], 1)
        source.kill()
        until(lambda: self.feedback(self.a)["limiters"] == 0, 30, "the flow forgotten")

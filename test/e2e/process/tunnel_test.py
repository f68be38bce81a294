"""tunnel_test.py - ESP between two real switches: the frames on the wire, both ways, and frames that were tampered with or replayed.

VM 1 is on A, VM 3 on B, both kernels of their own; VMs 2 and 4 do not encrypt. Frames are counted and nothing is timed.
"""

import socket

import frames
import links
from case import mac
from processes import Process, run
from two_hosts import FEEDBACK, TwoHosts
from wait import BOUND_SECONDS, until

KEY, OTHER_KEY = "0123456789abcdef" * 4, "fedcba9876543210" * 4
MACS = {"a": "02:00:00:00:00:0a", "b": "02:00:00:00:00:0b"}
ADDRESSES = {4: {"a": "192.0.2.1", "b": "192.0.2.2"}, 6: {"a": "fd00:1::a", "b": "fd00:1::b"}}
SPIS = {"a": 0x1000, "b": 0x2000}
BEHIND = {"a": ["10.0.0.1", "10.0.0.2"], "b": ["10.0.0.3", "10.0.0.4"]}
# Nothing but ESP may be on the wire.
CLEAR = "not (ip proto 50 or ip6 proto 50)"
MBIT = 1_000_000


class TunnelTest(TwoHosts):
    POLLS = False

    def tunnel(self, name, other, version=4, **keys):
        return {"name": f"to-{other}", "local": ADDRESSES[version][name], "remote": ADDRESSES[version][other],
                "local_mac": MACS[name], "remote_mac": MACS[other], "spi_out": SPIS[name], "spi_in": SPIS[other],
                "key": KEY, "networks": BEHIND[other], **keys}

    def start(self, version=4, key_b=KEY, feedback=None, vnic=None, **keys):
        """Both switches and the wire between them; `vnic`: more of VM 1's keys."""
        self.join()
        self.b = self.host("b", 0, {}, feedback, {3: {"encrypt": True}, 4: {}},
                           {"tunnels": [self.tunnel("b", "a", version, **{**keys, "key": key_b})]})
        self.a = self.host("a", 1, {}, feedback, {1: {"encrypt": True, **(vnic or {})}, 2: {}},
                           {"tunnels": [self.tunnel("a", "b", version, **keys)]})

    def state(self, host):
        return host.ctl("status")["tunnels"][0]

    def wait_agreed(self):
        until(lambda: all(self.state(host)["state"] == "up" for host in (self.a, self.b)), "keys agreed on")

    def kernels(self):
        """VMs 1 and 3 with the MTU that their vNICs offer; the words before a command in each."""
        inside = [self.kernel(number) for number in (1, 3)]
        for words, number, host in zip(inside, (1, 3), (self.a, self.b)):
            links.command(f"{' '.join(words)} ip link set eth{number} mtu {host.vnic(f'vm{number}')['mtu']}")
        return inside

    def eavesdrop(self):
        """A tshark that captures all frames on the wire that are not ESP, and its file."""
        return self.capture("upaw", CLEAR)

    def assert_nothing_clear(self, shark, path):
        """The captured frames are none of the two switches or of their VMs; the kernel behind the wire sends some of its own."""
        shark.stop()
        ours = [data for data in frames.read_pcap(path) if data[6:9] == frames.mac_bytes(mac(0))[:3]
                or data[6:12] in (frames.mac_bytes(MACS["a"]), frames.mac_bytes(MACS["b"]))]
        self.assertEqual(ours, [])

    def talk(self, client, *options):
        """A megabyte by TCP to VM 3, or from it."""
        run([*client, "iperf3", "-c", "10.0.0.3", "-n", "1M", *options])

    def both_ways(self, version, **keys):
        self.start(version, **keys)
        self.wait_agreed()
        shark, path = self.eavesdrop()
        client, server = self.kernels()
        listening = Process([*server, "iperf3", "-s", "--forceflush"], self.path("server.log"))
        for number, options in enumerate(([], ["-R"]), start=1):    # it is busy for a moment after a test
            until(lambda: listening.output().count("Server listening") >= number, "a server that is free")
            self.talk(client, *options)
        self.assert_nothing_clear(shark, path)
        for host in (self.a, self.b):
            state = self.state(host)
            self.assertGreater(state["encrypted"]["packets"], 100)
            self.assertGreater(state["from_wire"]["delivered"]["packets"], 100)
            self.assertGreater(state["tokens"], 0)
            self.assertEqual(state["from_wire"]["drops"], {})
        self.assert_both_accounts()

    def test_tcp_flows_both_ways_through_a_tunnel_and_the_wire_shows_esp_only(self):
        self.both_ways(4, algorithm="aes-128-gcm")

    def test_the_same_over_ipv6_with_aes_cbc_and_the_portable_crypto_device(self):
        self.both_ways(6, algorithm="aes-256-cbc-sha256", device="crypto_openssl")

    def test_feedback_of_encrypted_traffic_is_encrypted_too_and_obeyed(self):
        self.join()
        tunnels = {name: {"tunnels": [self.tunnel(name, other)]} for name, other in (("a", "b"), ("b", "a"))}
        self.b = self.host("b", 0, {}, FEEDBACK, {3: {"encrypt": True, "limit": "4Mbit"}}, tunnels["b"])
        self.a = self.host("a", 1, {}, FEEDBACK, {1: {"encrypt": True}, 2: {}}, tunnels["a"])
        self.wait_agreed()
        shark, path = self.eavesdrop()
        self.send(1, 60 * MBIT, 3, size=1300)
        self.wait_feedback(self.a, "received", 20)
        until(lambda: self.a.vnic("vm1")["from_vm"]["drops"].get("destination_congested", 0) > 0, "a sender held")
        self.assert_nothing_clear(shark, path)

    def recorded(self, count):
        """So many ESP frames of A's as they came by on the wire, messages left out."""
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
            wire.bind(("upaw", 0))
            wire.settimeout(BOUND_SECONDS)
            seen = []
            while len(seen) < count:
                data, place = wire.recvfrom(2048)
                if place[2] != socket.PACKET_OUTGOING and data[6:12] == frames.mac_bytes(MACS["a"]) and len(data) > 200:
                    seen.append(data)
        return seen

    def inject(self, data, count=1):
        """From the wire to host B."""
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
            wire.bind(("upbw", 0))
            for _ in range(count):
                wire.send(data)

    def refused(self, reason):
        drops = self.b.ctl("drops")
        return drops["tunnels"].get("to-a", {}).get(reason, 0) + drops["uplink"].get(reason, 0)

    def assert_refused(self, reason, data):
        before = self.refused(reason)

        def counted():                              # a kernel short of time may lose one
            self.inject(data)
            return self.refused(reason) > before
        until(counted, f"a frame refused as {reason}")

    def test_tampered_replayed_cut_and_clear_frames_are_dropped_under_their_names_and_the_rest_flows(self):
        self.start()
        self.wait_agreed()
        self.send(1, 5 * MBIT, 3, size=1300)
        frame = self.recorded(1)[0]
        self.assert_refused("esp_replayed", frame)
        self.assert_refused("esp_bad_tag", frame[:38] + b"\xff" + frame[39:100] + bytes([frame[100] ^ 1]) + frame[101:])
        self.assert_refused("esp_malformed", frame[:-3])
        self.assert_refused("esp_unknown_spi", frame[:34] + b"\x77" + frame[35:])
        self.assert_refused("clear_text", frames.ipv4(mac(1), mac(3), frames.UDP, 300))
        forged = self.state(self.b)["forged"]
        self.inject(frame[:34] + bytes.fromhex("00001ff0") + frame[38:], 20)  # as a message about keys
        until(lambda: self.state(self.b)["forged"] > forged, "a forged message")
        got = self.b.vnic("vm3")["to_vm"]["delivered"]["packets"]
        until(lambda: self.b.vnic("vm3")["to_vm"]["delivered"]["packets"] > got + 100, "frames that flow")
        self.assertEqual(self.a.vnic("vm1")["from_vm"]["drops"].get("tunnel_down", 0),
                         self.a.vnic("vm1")["from_vm"]["dropped"]["packets"]
                         - self.a.vnic("vm1")["from_vm"]["drops"].get("mac_spoof", 0))

    def test_with_another_key_nothing_passes_and_both_sides_report_it(self):
        self.start(key_b=OTHER_KEY)
        self.send(1, 5 * MBIT, 3, size=1300)
        until(lambda: all(self.state(host)["forged"] > 3 for host in (self.a, self.b)), "forged messages")
        until(lambda: self.a.vnic("vm1")["from_vm"]["drops"].get("tunnel_down", 0) > 100, "frames dropped")
        self.assertEqual([self.state(host)["state"] for host in (self.a, self.b)], ["down", "down"])
        self.assertEqual(self.b.vnic("vm3")["to_vm"]["offered"]["packets"], 0)
        self.assertEqual(self.a.vnic("vm1")["from_vm"]["delivered"]["packets"], 0)

    def test_a_switch_that_restarts_agrees_on_new_keys_and_what_was_recorded_opens_nothing(self):
        self.start()
        self.wait_agreed()
        self.send(1, 5 * MBIT, 3, size=1300)
        old = self.recorded(30)
        self.b.kill()
        self.b = self.host("b", 0, {}, None, {3: {"encrypt": True}, 4: {}}, {"tunnels": [self.tunnel("b", "a")]})
        until(lambda: self.b.vnic("vm3")["to_vm"]["delivered"]["packets"] > 100, "frames after the restart")
        self.assertGreaterEqual(self.state(self.a)["sessions"], 2)     # one more when both ends began to agree at once
        refused = self.refused("esp_unknown_spi") + self.refused("esp_bad_tag") + self.refused("esp_replayed")
        for data in old:
            self.inject(data)
        until(lambda: self.refused("esp_unknown_spi") + self.refused("esp_bad_tag") + self.refused("esp_replayed")
              > refused + 10, "old frames refused")
        spis = {data[34:38] for data in self.recorded(5)}
        self.assertFalse(spis & {data[34:38] for data in old} and refused == 0)

    def test_keys_are_renewed_while_traffic_flows_and_none_is_lost_for_it(self):
        self.start(rekey="1s")
        self.wait_agreed()
        self.send(1, 5 * MBIT, 3, size=1300)
        until(lambda: self.state(self.b)["sessions"] >= 4, "new keys")
        self.assertEqual(self.state(self.b)["from_wire"]["drops"], {})
        self.assertEqual(self.b.ctl("drops")["uplink"].get("esp_unknown_spi", 0), 0)

    def test_a_limit_on_encryption_holds_back_and_why_reports_it(self):
        self.start(vnic={"encrypt_limit": "500ktokens"})
        self.wait_agreed()
        self.send(1, 200 * MBIT, 3, size=1300)
        until(lambda: self.a.vnic("vm1")["held_back_ns"]["encryption"], "vm1 held back")
        by = until(lambda: self.a.ctl("why", "vm1", "--interval", "200ms")["held_back_by"], "vm1 held back")
        self.assertEqual(by["bucket"], "encryption")
        self.assertEqual(self.a.vnic("vm1")["encrypt_limit"], 500_000)

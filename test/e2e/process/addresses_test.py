"""addresses_test.py - guests' assigned addresses outlast the switch's sudden end and the removal of their vNIC.

The guest is a vNIC on net_pcap: the frames of its file are sent once, when the vNIC is added.
"""

import os
import socket
import struct

import frames
from case import Case, mac
from wait import until

LEASED, SERVER, LEASE_SECONDS = "10.0.0.7", "10.0.0.2", 3600
ACK = 5


def datagram(source, destination, ports, payload):
    """A UDP packet in an IPv4 packet, without a UDP checksum."""
    udp = struct.pack("!4H", *ports, 8 + len(payload), 0) + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, frames.UDP, 0) + b"".join(
        socket.inet_aton(address) for address in (source, destination))
    return head[:10] + frames.checksum(head) + head[12:] + udp


def dhcp_ack(client):
    """A server's ACK of LEASED for the guest with this MAC address."""
    fixed = struct.pack("!BBBB", 2, 1, 6, 0) + bytes(12) + socket.inet_aton(LEASED) + bytes(8) + frames.mac_bytes(client)
    options = bytes.fromhex("63825363") + bytes([53, 1, ACK, 51, 4]) + struct.pack("!I", LEASE_SECONDS) + b"\xff"
    return frames.frame(mac(2), client, payload=datagram(SERVER, LEASED, (67, 68), fixed.ljust(236, b"\0") + options))


def from_address(source):
    return frames.frame(mac(1), mac(3), payload=datagram(source, "10.0.0.3", (9, 9), b"hello"))


class AddressesTest(Case):
    POLLS = False

    def setUp(self):
        super().setUp()
        self.sends()

    def pcap(self, number, **keys):
        into, out = self.path(f"vm{number}.in"), self.path(f"vm{number}.out")
        return self.vnic(number, device=f"net_pcap{number},rx_pcap={into},tx_pcap={out}", **keys)

    def sends(self, *sent):
        frames.write_pcap(self.path("vm1.in"), sent)

    def add(self, vnic):
        self.switch.ctl("vnic", "add", *(f"{key}={value}" for key, value in vnic.items()))

    def start(self):
        listener = self.vnic(3, device=f"net_pcap3,tx_pcap={self.path('vm3.out')}")
        return self.start_switch(listener, self.pcap(1, dhcp="client"), poll="adaptive")

    def learned(self):
        return [each["address"] for each in self.switch.vnic("vm1")["guard"]["learned"]]

    def assign(self):
        """A server gives vm1 its address, and the switch keeps it."""
        frames.write_pcap(self.path("vm2.in"), [dhcp_ack(mac(1))])
        self.add(self.pcap(2, dhcp="server", addresses=SERVER))
        until(lambda: self.learned() == [LEASED], "vm1's lease learned")

    def kept(self):
        try:
            with open(self.switch.socket + ".learned") as stream:
                return LEASED in stream.read()
        except FileNotFoundError:
            return False

    def log(self):
        with open(self.switch.log) as stream:
            return stream.read()

    def sent(self, count):
        self.wait_packets("vm1", "from_vm", "offered", count)
        return self.drops("vm1")

    def test_a_guest_goes_on_after_the_switch_was_killed(self):
        self.start()
        self.assign()
        until(self.kept, "the lease in the file")
        self.switch.kill()
        self.sends(from_address(LEASED), from_address("10.0.0.8"))
        self.start()
        self.assertEqual(self.learned(), [LEASED])
        self.assertLessEqual(self.switch.vnic("vm1")["guard"]["learned"][0]["left_ns"], LEASE_SECONDS * 1_000_000_000)
        self.assertEqual(self.sent(2), {"ip_spoof": 1})
        self.assertIn(f"vNIC vm1: its guest goes on with {LEASED}", self.log())

    def test_a_guest_goes_on_after_its_vnic_was_removed_and_added_but_no_other_guest_does(self):
        self.start()
        self.assign()
        self.sends(from_address(LEASED), from_address("10.0.0.8"))
        self.switch.ctl("vnic", "remove", "vm1")
        self.add(self.pcap(1, dhcp="client"))
        self.assertEqual(self.sent(2), {"ip_spoof": 1})
        self.switch.ctl("vnic", "remove", "vm1")
        self.add({**self.pcap(1, dhcp="client"), "mac": mac(9)})
        self.assertEqual(self.learned(), [])

    def test_a_file_that_is_not_the_switchs_is_refused_and_named(self):
        for content in ("[", '{"weir_learned": 1, "boot": "another", "vnics": []}'):
            with open(self.path("switch.sock.learned"), "w") as stream:
                stream.write(content)
            os.chmod(self.path("switch.sock.learned"), 0o600)
            self.sends(from_address(LEASED))
            self.start()
            self.assertEqual(self.sent(1), {"ip_spoof": 1})
            until(lambda: "no address is assigned to it" in self.log(), "a line about the guest")
            self.assertIn("switch.sock.learned: not used: ", self.log())
            self.stop_switch()
            os.unlink(self.path("vm3.out"))

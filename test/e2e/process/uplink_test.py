"""uplink_test.py - the uplink on devices of a machine without a NIC: veth and tap; steering; counters by telemetry."""

import json
import socket
import struct

import frames
import links
from case import Case, mac
from wait import until

FAR = "52:54:00:00:00:99"
TCP = 6
SOL_PACKET, PACKET_VNET_HDR, NEEDS_CHECKSUM = 263, 15, 1


class Wire:
    """The far end of the wire: a raw socket on an interface."""

    def __init__(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self.socket.bind((interface, 0))
        self.socket.setblocking(False)

    def leave_checksums(self):
        """From now on a sender's kernel: send() takes frames whose checksum is begun, and where it is."""
        self.socket.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)

    def send_begun(self, data, start, offset):
        self.socket.send(struct.pack("=BBHHHH", NEEDS_CHECKSUM, 0, 0, 0, start, offset) + data)

    def send(self, *sent):
        for data in sent:
            self.socket.send(data)

    def receive(self):
        """The next frame, or None."""
        try:
            return self.socket.recv(65535)
        except BlockingIOError:
            return None

    def wait(self, wanted):
        until(lambda: self.receive() == wanted, "a frame on the wire")


class UplinkTest(Case):
    POLLS = False

    def start_switch(self, *vnics, **keys):
        return super().start_switch(*vnics, poll="adaptive", **keys)

    def sender(self, number, sent, **keys):
        """A vNIC on pcap files that sends these frames; frames that it receives are in vmN.out."""
        path = frames.write_pcap(self.path(f"vm{number}.in"), sent)
        device = f"net_pcap{number},rx_pcap={path},tx_pcap={self.path(f'vm{number}.out')}"
        self.switch.ctl("vnic", "add", json.dumps(self.vnic(number, device=device, **keys)))
        self.wait_packets(f"vm{number}", "from_vm", "offered", len(sent))

    def test_frames_pass_between_a_vnic_and_a_veth_with_the_vnics_vlan(self):
        links.veth("weir0", "weir1")
        self.addCleanup(links.command, "ip link del weir0")
        wire = Wire("weir1")
        self.start_switch(uplink={"device": "net_af_packet0,iface=weir0", "rate": "1Gbit"})
        self.sender(1, [frames.frame(mac(1), FAR)])
        self.sender(2, [frames.frame(mac(2), FAR)], vlan=7)
        self.wait_packets("vm2", "from_vm", "delivered", 1)
        wire.send(frames.frame(FAR, mac(1)), frames.frame(FAR, mac(2)), frames.frame(FAR, mac(2), size=64, vlan=7),
                  frames.frame(FAR, mac(1), size=64, vlan=7))
        self.wait_packets("vm1", "to_vm", "delivered", 1)
        self.wait_packets("vm2", "to_vm", "delivered", 1)
        self.assert_accounts()
        self.stop_switch()
        self.assertEqual(frames.read_pcap(self.path("vm1.out")), [frames.frame(FAR, mac(1))])
        self.assertEqual(frames.read_pcap(self.path("vm2.out")), [frames.frame(FAR, mac(2))])

    def test_the_wire_sees_what_vnics_send_and_the_uplink_counts_it(self):
        links.veth("weir0", "weir1")
        self.addCleanup(links.command, "ip link del weir0")
        wire = Wire("weir1")
        self.start_switch(uplink={"device": "net_af_packet0,iface=weir0", "rate": "1Gbit"})
        sent = frames.numbered(mac(1), FAR, 100)
        self.sender(1, sent)
        for data in sent:
            wire.wait(data)
        uplink = self.switch.ctl("status")["uplink"]
        self.assertEqual((uplink["tx"]["packets"], uplink["tx"]["bytes"]), (100, 100 * (60 + 24)))

    def test_a_device_without_rte_flow_is_steered_in_software_and_status_has_the_reason(self):
        self.start_switch(self.vnic(1), uplink={"device": "net_tap0,iface=weirtap", "rate": "1Gbit"})
        links.up("weirtap")
        wire = Wire("weirtap")
        steering = self.switch.vnic("vm1")["steering"]
        self.assertEqual(steering["mode"], "software")
        self.assertNotEqual(steering["reason"], "")
        self.sender(2, [frames.frame(mac(2), FAR)])
        wire.wait(frames.frame(mac(2), FAR))
        wire.send(frames.frame(FAR, mac(2)))
        self.wait_packets("vm2", "to_vm", "delivered", 1)
        self.assert_accounts()

    def test_dpdk_telemetry_has_the_same_counters(self):
        self.start_switch(self.vnic(2))
        self.sender(1, [frames.frame(mac(2), mac(2)), frames.frame(mac(1), mac(2))])
        self.assertEqual(self.switch.telemetry("/weir/vnics"), {"vm1": "up", "vm2": "down"})
        vnic = self.switch.telemetry("/weir/vnic,vm1")
        self.assertEqual(vnic["from_vm"]["offered"]["packets"], 2)
        self.assertEqual(vnic["from_vm"]["drops"]["mac_spoof"], 1)
        self.assertEqual(self.switch.telemetry("/weir/drops")["vnics"]["vm1"]["from_vm"]["mac_spoof"], 1)
        self.assertEqual(self.switch.telemetry("/weir/status")["host"], "h1")

    def start_on_veth(self):
        """A switch whose uplink is weir0; its far end is weir1. It has buffers for the vNICs that come later."""
        links.veth("weir0", "weir1")
        self.addCleanup(links.command, "ip link del weir0")
        self.start_switch(uplink={"device": "net_af_packet0,iface=weir0", "rate": "1Gbit", "descriptors": 256})

    def uplink(self):
        return self.switch.ctl("status")["uplink"]

    def wait_state(self, state):
        until(lambda: self.uplink()["state"] == state, f"the uplink {state}")

    def send_lost(self, number):
        """A vNIC whose frame finds the uplink down."""
        self.sender(number, [frames.frame(mac(number), FAR)])
        until(lambda: self.drops(f"vm{number}").get("uplink_down") == 1, "a frame dropped as uplink_down")
        self.assertEqual(self.packets(f"vm{number}", "from_vm", "delivered"), 0)

    def test_an_interface_that_is_down_drops_frames_as_uplink_down_and_sends_no_old_one_when_it_is_up_again(self):
        self.start_on_veth()
        for number, (how, back, why) in enumerate((
                ("ip link set weir0 down", "ip link set weir0 up", "ip link set weir0 up"),
                ("ip link set weir1 down", "ip link set weir1 up", "no carrier"))):
            wire = Wire("weir1") if number == 0 else None    # it sees the frames that leave from here on
            links.command(how)
            self.wait_state("down")
            self.assertIn(why, self.uplink()["link_fault"])
            self.send_lost(2 * number + 1)
            links.command(back)
            self.wait_state("up")
            self.assertEqual(self.uplink()["link_fault"], None)
            wire = wire or Wire("weir1")
            self.sender(2 * number + 2, [frames.frame(mac(2 * number + 2), FAR)])
            until(lambda wire=wire: self.first(wire), "a frame on the wire")
            self.assertEqual(self.received, frames.frame(mac(2 * number + 2), FAR))
        self.assertEqual(self.uplink()["link_losses"], 2)
        self.assert_accounts()

    def first(self, wire):
        """Whether a frame has come, which is then self.received."""
        self.received = wire.receive()
        return self.received is not None

    def test_an_interface_that_is_deleted_and_made_again_is_opened_anew(self):
        self.start_on_veth()
        links.command("ip link del weir0")
        self.wait_state("down")
        self.assertIn("there is no interface weir0", self.uplink()["link_fault"])
        self.send_lost(1)
        links.veth("weir0", "weir1")
        self.wait_state("up")
        wire = Wire("weir1")
        self.sender(2, [frames.frame(mac(2), FAR)])
        wire.wait(frames.frame(mac(2), FAR))
        wire.send(frames.frame(FAR, mac(2)))
        self.wait_packets("vm2", "to_vm", "delivered", 1)
        self.assert_accounts()

    def test_an_interface_that_was_gone_for_a_moment_between_two_looks_is_opened_anew(self):
        self.start_on_veth()
        links.command("ip link set weir0 down", "ip link set weir0 up")
        until(lambda: self.uplink()["link_losses"] == 1, "the loss being counted")
        self.wait_state("up")
        wire = Wire("weir1")
        self.sender(1, [frames.frame(mac(1), FAR)])
        wire.wait(frames.frame(mac(1), FAR))

    def test_a_vnic_whose_interface_is_gone_is_down_and_comes_back(self):
        links.veth("vm1", "eth1")
        self.addCleanup(links.command, "ip link del vm1")
        self.start_switch(self.vnic(1, device="net_af_packet1,iface=vm1"))
        links.command("ip link del vm1")
        until(lambda: self.switch.vnic("vm1")["state"] == "down", "vm1 down")
        self.assertIn("there is no interface vm1", self.switch.vnic("vm1")["link_fault"])
        self.sender(2, [frames.frame(mac(2), mac(1))])
        until(lambda: self.drops("vm1", "to_vm").get("vm_down") == 1, "a frame dropped as vm_down")
        links.veth("vm1", "eth1")
        until(lambda: self.switch.vnic("vm1")["state"] == "up", "vm1 up")
        guest = Wire("eth1")
        self.sender(3, [frames.frame(mac(3), mac(1))])
        guest.wait(frames.frame(mac(3), mac(1)))
        self.assert_accounts()

    def test_checksums_that_the_far_kernel_has_left_to_its_veth_are_finished(self):
        links.veth("weir0", "weir1")
        links.veth("vm2", "eth2")
        for name in ("weir0", "vm2"):
            self.addCleanup(links.command, f"ip link del {name}")
        self.start_switch(self.vnic(2, device="net_af_packet2,iface=vm2", anti_spoofing=False),
                          uplink={"device": "net_af_packet0,iface=weir0", "rate": "1Gbit"})
        self.sender(1, [frames.frame(mac(1), mac(2))], anti_spoofing=False)
        finished = []
        for far, source in ((Wire("weir1"), FAR), (Wire("eth2"), mac(2))):
            far.leave_checksums()
            for begun, start, offset, whole in begun_frames(source, mac(1)):
                far.send_begun(begun, start, offset)
                finished.append(whole)
            self.wait_packets("vm1", "to_vm", "delivered", len(finished))
        self.stop_switch()
        self.assertEqual(frames.read_pcap(self.path("vm1.out")), finished)


def begun_frames(source, destination):
    """TCP and UDP over IPv4 and IPv6: as a kernel gives them to a device that fills in checksums, with their start and
    offset, and as they are when they are finished."""
    for kind, ip_bytes, make in ((frames.IPV4, 20, frames.ipv4), (frames.IPV6, 40, frames.ipv6)):
        for protocol, offset in ((TCP, 16), (frames.UDP, 6)):
            data = bytearray(make(source, destination, protocol, size=200))
            start = 14 + ip_bytes
            if protocol == TCP:
                data[start:start + 20] = struct.pack("!HHIIBBHHH", 1000, 2000, 7, 9, 5 << 4, 0x10, 500, 0, 0)
            addresses = data[start - (8 if kind == frames.IPV4 else 32):start]
            pseudo = bytes(addresses) + struct.pack("!II", len(data) - start, protocol)
            data[start + offset:start + offset + 2] = bytes(~byte & 0xFF for byte in frames.checksum(pseudo))
            begun = bytes(data)
            data[start + offset:start + offset + 2] = frames.checksum(begun[start:])
            yield begun, start, offset, bytes(data)

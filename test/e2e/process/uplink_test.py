"""uplink_test.py - the uplink on what a machine without a NIC has: veth and tap; steering; counters by telemetry."""

import json
import socket

import frames
import links
from case import Case, mac
from wait import until

FAR = "52:54:00:00:00:99"


class Wire:
    """The far end of the wire: a raw socket on an interface."""

    def __init__(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self.socket.bind((interface, 0))
        self.socket.setblocking(False)

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

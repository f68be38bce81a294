"""l2_test.py - forwarding by address and VLAN, flooding, anti-spoofing and garbage: crafted frames through pcap files.

The sender is a vNIC on net_pcap that is added last, so that all receivers of its frames are there.
"""

import frames
from case import Case, mac
from frames import BROADCAST
from wait import until

UNKNOWN = "52:54:00:00:00:77"
MULTICAST = "01:00:5e:00:00:05"
BRIDGE_GROUP = "01:80:c2:00:00:00"


class L2Test(Case):
    POLLS = False

    def start_switch(self, *vnics, **keys):
        return super().start_switch(*vnics, poll="adaptive", **keys)

    def listener(self, number, **keys):
        """VM `number` writes the frames that it receives to a file."""
        return self.vnic(number, device=f"net_pcap{number},tx_pcap={self.path(f'vm{number}.out')}", **keys)

    def send(self, number, sent, **keys):
        """Adds VM `number`, which sends these frames, and waits until the switch has taken them all."""
        path = frames.write_pcap(self.path(f"vm{number}.in"), sent)
        vnic = self.vnic(number, device=f"net_pcap{number},rx_pcap={path},tx_pcap={self.path(f'vm{number}.out')}", **keys)
        self.switch.ctl("vnic", "add", *(f"{key}={str(value).lower() if isinstance(value, bool) else value}"
                                         for key, value in vnic.items()))
        self.wait_packets(f"vm{number}", "from_vm", "offered", len(sent))
        until(lambda: self.packets(f"vm{number}", "from_vm", "queued") == 0, "nothing queued")
        self.assert_accounts()

    def received(self, *numbers):
        """Stops the switch and returns the frames that each VM received."""
        self.stop_switch()
        return [frames.read_pcap(self.path(f"vm{number}.out")) for number in numbers]

    def test_unicast_goes_to_its_vm_only_and_in_order(self):
        self.start_switch(self.listener(2), self.listener(3))
        sent = frames.numbered(mac(1), mac(2), 500)
        self.send(1, sent)
        received2, received3, received1 = self.received(2, 3, 1)
        self.assertEqual((received2, received3, received1), (sent, [], []))

    def test_broadcast_multicast_and_unknown_go_to_all_of_the_vlan_but_the_sender(self):
        self.start_switch(self.listener(2), self.listener(3), self.listener(4, vlan=7),
                          self.listener(5, anti_spoofing=False))
        sent = [frames.frame(mac(1), BROADCAST), frames.frame(mac(1), MULTICAST), frames.frame(mac(1), UNKNOWN)]
        self.send(1, sent)
        received = self.received(2, 3, 5, 4, 1)
        for group in received[:2]:
            self.assertEqual(group[:2], sent[:2])
        self.assertEqual(received[2], sent)
        self.assertEqual(received[3:], [[], []])

    def test_bytes_between_tenants_are_reported_by_their_names(self):
        self.start_switch(self.listener(2, tenant="B"), self.listener(3, tenant="A"))
        self.send(1, [*frames.numbered(mac(1), mac(2), 40), *frames.numbered(mac(1), mac(3), 10)], tenant="A")
        self.assertEqual(self.switch.ctl("status")["tenant_traffic"],
                         [{"from": "A", "to": "B", "bytes": 40 * 84}, {"from": "A", "to": "A", "bytes": 10 * 84}])

    def test_a_learned_address_is_no_longer_flooded(self):
        self.start_switch(self.listener(2, anti_spoofing=False))
        self.send(3, [frames.frame(UNKNOWN, BROADCAST)], anti_spoofing=False)
        self.send(1, [frames.frame(mac(1), UNKNOWN)])
        received3, received2 = self.received(3, 2)
        self.assertEqual(received3, [frames.frame(mac(1), UNKNOWN)])
        self.assertEqual(received2, [frames.frame(UNKNOWN, BROADCAST)])

    def test_vlans_are_separate_even_with_equal_addresses(self):
        self.start_switch(self.listener(2, vlan=7), {**self.listener(3), "mac": mac(2)})
        sent = [frames.frame(mac(1), mac(2))]
        self.send(1, sent, vlan=7)
        self.assertEqual(self.received(2, 3), [sent, []])

    def test_foreign_sources_and_vlan_tags_of_a_guest_are_dropped_by_name(self):
        self.start_switch(self.listener(2))
        self.send(1, [frames.frame(UNKNOWN, mac(2)), frames.frame(mac(2), mac(2)), frames.frame(BROADCAST, mac(2)),
                      frames.frame(mac(1), mac(2), vlan=7), frames.frame(mac(1), mac(2), vlan=0),
                      frames.frame(mac(1), mac(2))])
        self.assertEqual(self.drops("vm1"), {"mac_spoof": 3, "vlan_spoof": 1})
        untagged = frames.frame(mac(1), mac(2), size=56)  # VLAN 0 is a priority, and no VLAN
        self.assertEqual(self.received(2), [[untagged, frames.frame(mac(1), mac(2))]])

    def test_garbage_is_dropped_by_name_and_does_not_stop_valid_frames(self):
        self.start_switch(self.listener(2))
        sound = frames.frame(mac(1), mac(2))
        runts = [sound[:length] for length in (1, 6, 13)]
        self.send(1, [*runts, frames.frame(mac(1), BRIDGE_GROUP), frames.frame(mac(1), mac(1)), sound])
        self.assertEqual(self.drops("vm1"), {"runt": 3, "reserved_multicast": 1, "hairpin": 1})
        self.assertEqual(self.received(2), [[sound]])

    def test_a_bare_ethernet_header_and_odd_types_pass_unread(self):
        self.start_switch(self.listener(2))
        sent = [frames.frame(mac(1), mac(2), size=14, kind=kind) for kind in (0, frames.IPV4, frames.IPV6, 0xFFFF)]
        sent += [frames.frame(mac(1), mac(2), size=34, kind=frames.IPV4, payload=bytes([first])) for first in range(256)]
        self.send(1, sent)
        self.assertEqual(self.received(2), [sent])

    def test_jumbo_frames_pass_where_the_mtu_allows_and_are_else_dropped_by_name(self):
        self.start_switch(self.listener(2, mtu=9000), self.listener(3, mtu=1500))
        big = frames.frame(mac(1), mac(2), size=9014)
        self.send(1, [big, frames.frame(mac(1), mac(3), size=9014), frames.frame(mac(1), mac(3), size=1514)], mtu=9000)
        self.assertEqual(self.drops("vm3", "to_vm"), {"mtu_exceeded": 1})
        self.assertEqual(self.received(2, 3), [[big], [frames.frame(mac(1), mac(3), size=1514)]])

    def test_flooding_is_bounded_per_vnic(self):
        self.start_switch(self.listener(2), flood_limit="100pps")
        self.send(1, frames.numbered(mac(1), BROADCAST, 5000))
        dropped = self.drops("vm1")
        self.assertEqual(list(dropped), ["flood_limited"])
        self.assertGreater(dropped["flood_limited"], 4000)

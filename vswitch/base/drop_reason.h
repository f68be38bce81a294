// drop_reason.h - the reasons for which frames are dropped, with their names and meanings in reports.
// Source: docs/design.md 5.6. Threads: any (values).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir {

enum class DropReason : std::uint8_t {
    kRingDisabled,
    kRunt,
    kMacSpoof,
    kVlanSpoof,
    kIpSpoof,
    kArpSpoof,
    kNdSpoof,
    kDhcpSpoof,
    kRouterSpoof,
    kUnreadable,
    kBadOffload,
    kReservedMulticast,
    kHairpin,
    kNoSuchMac,
    kMtuExceeded,
    kFloodLimited,
    kQueueFull,
    kDestinationCongested,
    kRequestHeld,
    kRequestQueueFull,
    kRequestUnreadable,
    kFeedbackUnexpected,
    kTunnelNone,
    kTunnelDown,
    kClearText,
    kEncryptedUnexpected,
    kTunnelSource,
    kEspUnknownSpi,
    kEspMalformed,
    kEspReplayed,
    kEspBadTag,
    kEspFailed,
    kNoBuffer,
    kBufferQuota,
    kUplinkDown,
    kVmDown,
    kVmRingFull,
    kVmBufferShort,
    kWorkerRingFull,
    kVnicRemoved,
    kNicMissed,
    kCount
};

inline constexpr std::size_t kDropReasons = static_cast<std::size_t>(DropReason::kCount);

struct DropReasonText {
    const char* name;     ///< in reports; never changes
    const char* meaning;  ///< one line
};

inline constexpr std::array<DropReasonText, kDropReasons> kDropReasonTexts{{
    {"ring_disabled", "from a transmit ring that the guest has disabled"},
    {"runt", "shorter than an Ethernet header"},
    {"mac_spoof", "source MAC is not the vNIC's"},
    {"vlan_spoof", "the guest sent a VLAN tag on an access port"},
    {"ip_spoof", "source IP address is not the guest's"},
    {"arp_spoof", "ARP with a sender address that is not the guest's"},
    {"nd_spoof", "neighbor discovery with an address that is not the guest's"},
    {"dhcp_spoof", "a DHCP server's message from a guest that is no DHCP server"},
    {"router_spoof", "a router advertisement or redirect from a guest that is no router"},
    {"unreadable", "addresses are guarded, and the guard cannot read the frame's"},
    {"bad_offload", "checksum or segmentation request that does not fit the frame"},
    {"reserved_multicast", "link-local multicast (01:80:c2:00:00:0x) stays on its link"},
    {"hairpin", "destination is the port it came from"},
    {"no_such_mac", "no vNIC in this VLAN has the destination MAC"},
    {"mtu_exceeded", "longer than the MTU of the receiving side"},
    {"flood_limited", "broadcast, multicast or unknown frames above flood_limit"},
    {"queue_full", "the queue towards the destination was full"},
    {"destination_congested",
     "above the rate that the destination's switch advertised, and the queue was full"},
    {"request_held", "a guest's retransmission of a request that the switch still holds"},
    {"request_queue_full", "too many requests to the appliance waited for tokens"},
    {"request_unreadable", "to an appliance, and its TCP header cannot be read: a fragment, IPsec, a tunnel"},
    {"feedback_unexpected",
     "a feedback frame of Weir's from a guest: IP protocol 143 that begins with \"WEIR\""},
    {"no_tunnel", "from a vNIC that encrypts, to an address behind no tunnel"},
    {"tunnel_down", "the tunnel's other end has not agreed on keys yet"},
    {"clear_text", "came over the wire in clear text for a vNIC that encrypts"},
    {"encrypted_unexpected", "came through a tunnel for a vNIC that does not encrypt"},
    {"tunnel_source", "came through a tunnel from an address that is not behind it"},
    {"esp_unknown_spi", "ESP to this host with an SPI of no session"},
    {"esp_malformed", "ESP that no Weir switch sends: truncated, fragmented, wrongly padded"},
    {"esp_replayed", "ESP that came before, or is too old to be sure"},
    {"esp_bad_tag", "ESP that was changed on its way, or sealed with another key"},
    {"esp_failed", "the crypto device failed"},
    {"no_buffer", "no packet buffer for a copy or a segment"},
    {"buffer_quota", "a copy for a tunnel, and the vNIC held its quota of buffers"},
    {"uplink_down", "the uplink has no link"},
    {"vm_down", "the receiving VM is not connected"},
    {"vm_ring_full", "the receiving VM did not empty its ring, or more came than its receive_limit"},
    {"vm_buffer_short", "longer than the receive buffers that the receiving VM has posted"},
    {"worker_ring_full", "the receiving vNIC's worker was behind"},
    {"vnic_removed", "waited in the switch when its vNIC was removed"},
    {"nic_missed", "lost in the NIC: its ring was full, or there was no buffer for it"},
}};

}  // namespace weir

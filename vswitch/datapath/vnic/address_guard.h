// address_guard.h - the IP addresses that a vNIC's guest may use: its frames with others are refused.
// Source: RFC 826; RFC 2131; RFC 4861; RFC 4862; RFC 8200; RFC 8415; docs/algorithms.md 3.10.
// Units: bytes; ns. Threads: rules are made by the agent; then owning worker.
//
// A guest may use the addresses that the configuration lists, the IPv6 link-local address that is derived
// from its MAC address, and, as a DHCP client, addresses that frames to it assigned. The guard reads every
// frame from the guest: the source of IP packets, the sender of ARP, source, target and link-layer option of
// neighbor discovery. A frame whose headers the guard cannot read (cut, nested too deep, or beyond the first
// buffer) is dropped.
//
// A DHCP client whose lease the guard does not know (the switch was restarted) may send the request that
// renews it, and nothing else: the server's answer assigns the address again.
//
// Example: the guest 52:54:00:00:00:01 with the address 10.0.0.1 may send IPv4 from 10.0.0.1, IPv6 from
// fe80::5054:ff:fe00:1, and ask a DHCP server from 0.0.0.0. An ARP reply that 10.0.0.2 is at its MAC address
// is dropped as arp_spoof.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/clock.h"
#include "common/ip_address.h"
#include "vswitch/base/drop_reason.h"
#include "vswitch/base/limits.h"
#include "vswitch/base/stats.h"

namespace weir {

/// An address of either family as two words, the first byte highest; IPv4 as ::ffff:a.b.c.d (RFC 4291 2.5.5).
struct IpKey {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    bool operator==(const IpKey&) const = default;
};
[[nodiscard]] IpKey ip_key(const IpAddress& address);

/// Addresses and roles that the configuration allows one guest. By default it may send no message of a DHCP
/// server or router.
struct AddressRules {
    struct Range {
        IpKey base;
        IpKey mask;
    };
    bool checks_sources = false;  ///< there are addresses, or the guest is a DHCP client
    bool learns = false;          ///< the guest is a DHCP client
    bool serves_dhcp = false;
    bool routes = false;  ///< it advertises itself, and forwards packets of any source
    std::uint8_t count = 0;
    std::uint64_t mac = 0;  ///< MacAddress::bits
    IpKey link_local;       ///< derived from it
    std::array<Range, limits::kVnicAddressesMax> ranges{};

    /// @return false when there is no room
    bool allow(const IpNetwork& network);
    void set_mac(std::uint64_t bits);
};

class AddressGuard {
  public:
    /// The result for one frame: the reason to refuse it, or the positions of its headers.
    struct Judgement {
        DropReason refused = DropReason::kCount;  ///< kCount: accepted
        std::uint8_t protocol = 0;                ///< of the IP packet, behind its extension headers
        std::uint16_t ip_at = 0;                  ///< from the start of the frame; 0: no IP
        std::uint16_t upper_at = 0;               ///< likewise, behind the IP headers
    };

    /// Judges a frame from the guest by the bytes of its first buffer. A message that ends a DHCP lease ends
    /// it here too.
    [[nodiscard]] Judgement judge(const AddressRules& rules, std::span<const std::uint8_t> frame, Nanos now);

    /// Learns from a frame to the guest which address it assigns. Only with `rules.learns`.
    void learn(const AddressRules& rules, std::span<const std::uint8_t> frame, Nanos now);
    void forget() { learned_ = {}; }
    /// Takes over addresses that were learned for the same guest before, as far as these rules could have
    /// learned them. Before any worker has the guard.
    void restore(const AddressRules& rules, std::span<const LearnedAddress> before);
    [[nodiscard]] const LearnedAddresses& learned() const { return learned_; }

  private:
    using FrameSpan = std::span<const std::uint8_t>;

    // address_guard.cc: judges; each gets the bytes from the header that its name states.
    [[nodiscard]] bool allows(const AddressRules& rules, const IpKey& address, Nanos now) const;
    [[nodiscard]] DropReason judge_arp(const AddressRules& rules, FrameSpan arp, bool reverse,
                                       Nanos now) const;
    [[nodiscard]] Judgement judge_ip4(const AddressRules& rules, FrameSpan ip, Nanos now);
    [[nodiscard]] static bool renews_lease4(const AddressRules& rules, FrameSpan ip, std::size_t udp_at);
    [[nodiscard]] Judgement judge_ip6(const AddressRules& rules, FrameSpan ip, Nanos now);
    [[nodiscard]] DropReason judge_icmp6(const AddressRules& rules, FrameSpan ip, std::size_t at,
                                         bool fragment, Nanos now) const;
    [[nodiscard]] DropReason judge_neighbor(const AddressRules& rules, FrameSpan ip, std::size_t at,
                                            Nanos now) const;

    // address_guard_learning.cc
    void on_client_message4(FrameSpan message);
    void on_client_message6(FrameSpan message);
    void learn4(const AddressRules& rules, FrameSpan ip, Nanos now);
    void learn6(const AddressRules& rules, FrameSpan ip, Nanos now);
    void learn_from_server6(FrameSpan message, Nanos now);
    void learn_from_router(const AddressRules& rules, FrameSpan ip, Nanos now);
    void learn_prefix(const AddressRules& rules, const std::uint8_t* prefix, std::uint32_t valid, Nanos now);

    LearnedAddresses learned_{};
};

}  // namespace weir

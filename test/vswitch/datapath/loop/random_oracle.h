// random_oracle.h - judges frames of a random switch where they arrive: order, VLANs, addresses, offloads.
// Source: IEEE 802.1Q 8.6. Units: bytes. Threads: tests only.
//
// The oracle stamps each frame and knows nothing of how the switch works. A frame carries its sender's number
// in its IP source, its marks (Special) in its IP destination, and a sequence number that counts its flow's
// payload as TCP does. So a super-frame and its segments are judged alike. A flow is the frames of one sender
// to one address; at each receiver its sequence numbers rise.
//
// Example: vm1 sends 100 and 50 bytes of payload to vm2, stamped 0 and 100. When vm2 has received the second
// one, a frame with a number below 150 was reordered or duplicated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "test/support/frames.h"
#include "vswitch/ports/port.h"

namespace weir::testing {

/// A sender and receiver: a vNIC from its start to its removal, or the hosts of one VLAN on the wire.
struct Party {
    std::string name;
    std::uint16_t vlan = 0;
    std::uint64_t mac = 0;
    bool pinned = false;  ///< anti-spoofing: it gets no other address's frames
    bool on_wire = false;
    bool encrypted = false;     ///< on the wire only in tunnels
    bool guarded = false;       ///< may use the addresses of kSources alone
    std::uint32_t longest = 0;  ///< frame that it may get
    PortOffloads taken{};
};
using PartyId = std::uint32_t;

class RandomOracle {
  public:
    /// Marks of a frame.
    enum Special : std::uint32_t {
        kNothing = 0,
        kForbidden = 1,  ///< no party may get it
        kOwnTag = 2,     ///< its guest has put a VLAN tag into it
    };

    /// Networks of IP addresses: all senders; destinations of most frames.
    static constexpr const char* kSources = "10.64.0.0/16";
    static constexpr const char* kToHosts = "10.237.254.0/24";
    /// First bytes of IP destinations: of kToHosts, of hosts behind no tunnel, of groups.
    enum class To : std::uint8_t { kHosts = 10, kNowhere = 11, kGroup = 239 };
    /// In kSources.
    [[nodiscard]] static std::uint32_t address_of(PartyId party) { return 0x0A40'0000U | party; }

    PartyId add(const Party& party);
    /// @param payload 6 at least, so that the frame has 60 bytes
    [[nodiscard]] FrameBytes stamped(PartyId from, std::uint64_t to, std::uint64_t source,
                                     std::size_t payload, std::uint32_t special = kNothing,
                                     To address = To::kHosts);

    /// A vNIC has received the frame.
    void on_received(PartyId by, const rte_mbuf* frame);
    /// The frame has left to the wire.
    void on_sent(const rte_mbuf* frame);

    /// The first fault that was found.
    [[nodiscard]] const std::optional<std::string>& fault() const { return fault_; }
    /// Stamped frames that arrived.
    [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
    [[nodiscard]] const Party& party(PartyId id) const { return parties_[id]; }

  private:
    struct Stamp {
        std::uint64_t to = 0;
        std::uint16_t outer_vlan = 0;
        PartyId from = 0;
        std::uint32_t special = 0;
        std::uint32_t first = 0;
        std::uint32_t end = 0;
    };
    static constexpr PartyId kWire = UINT32_MAX;

    [[nodiscard]] std::optional<Stamp> read(const rte_mbuf* frame) const;
    void judge_order(PartyId by, const Stamp& stamp);
    void found(PartyId by, const Stamp& stamp, const std::string& what);

    std::vector<Party> parties_;
    std::map<std::pair<PartyId, std::uint64_t>, std::uint32_t> next_;           // by sender and address
    std::map<std::tuple<PartyId, PartyId, std::uint64_t>, std::uint32_t> end_;  // by receiver, too
    std::optional<std::string> fault_;
    std::uint64_t arrived_ = 0;
};

}  // namespace weir::testing

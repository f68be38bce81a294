// connection_id.h - identity of a TCP connection: a keyed 64-bit hash of its addresses, ports and vNIC.
// Source: Dietzfelbinger (STACS'96). Units: addresses and ports as in the packet. Threads: any (pure).
//
// Two connections with one hash would be mistaken for each other. The hash is strongly universal (a
// multilinear hash in 128 bits, finished as in MurmurHash3), so a guest that does not know the key cannot
// construct such a pair: the probability is 2^-64 for two connections, and 1 in 10^7 that any two of a
// million collide. The key is drawn at random when the switch starts; no hash leaves the process.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "common/types.h"

namespace weir {

using ConnectionId = std::uint64_t;
/// 12 random words.
using ConnectionKey = std::array<std::uint64_t, 12>;

/// Ports by role, in packets of either direction.
struct Ports {
    std::uint16_t client = 0;
    std::uint16_t service = 0;
};
using Ip6Address = std::array<std::uint8_t, 16>;

class ConnectionHash {
  public:
    explicit ConnectionHash(const ConnectionKey& key) {
        for (std::size_t i = 0; i < factors_.size(); ++i)
            factors_[i] = Wide{key[2 * i]} << 64 | key[2 * i + 1];
    }

    [[nodiscard]] ConnectionId operator()(VnicId vnic, std::uint32_t client, std::uint32_t service,
                                          Ports ports) const {
        return mixed(factors_[0] + factors_[1] * (std::uint64_t{client} << 32 | service) +
                     factors_[5] * last_word(vnic, ports, 4));
    }
    [[nodiscard]] ConnectionId operator()(VnicId vnic, const Ip6Address& client, const Ip6Address& service,
                                          Ports ports) const {
        std::array<std::uint64_t, 4> words;
        std::memcpy(&words[0], client.data(), client.size());
        std::memcpy(&words[2], service.data(), service.size());
        Wide sum = factors_[0] + factors_[5] * last_word(vnic, ports, 6);
        for (std::size_t i = 0; i < words.size(); ++i)
            sum += factors_[i + 1] * words[i];
        return mixed(sum);
    }

  private:
    static std::uint64_t last_word(VnicId vnic, Ports ports, unsigned version) {
        return std::uint64_t{ports.client} << 48 | std::uint64_t{ports.service} << 32 |
               std::uint64_t{vnic} << 16 | version;
    }
    /// Upper half of the sum, mixed so that similar connections differ in all bits.
    static ConnectionId mixed(Wide sum) {
        auto id = static_cast<std::uint64_t>(sum >> 64);
        id = (id ^ id >> 33) * 0xff51'afd7'ed55'8ccd;
        id = (id ^ id >> 33) * 0xc4ce'b9fe'1a85'ec53;
        return id ^ id >> 33;
    }

    std::array<Wide, 6> factors_;  // of a constant, of four address words, of the last word
};

}  // namespace weir

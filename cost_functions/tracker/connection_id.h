// connection_id.h - who a TCP connection is: a keyed 64-bit hash of its addresses, ports and vNIC.
// Source: multilinear hashing in 128 bits (Dietzfelbinger 1996; Lemire, Kaser 2014), mixed as MurmurHash3
// ends. Units: addresses and ports as they are in the packet. Threads: any (pure).
//
// The hash is the identity. It is strongly universal: whoever does not know the key can do no better than
// chance, which is 2^-64 for two connections, 1 in 10^7 for any two of a million. The key is drawn when the
// switch starts, and no hash is shown to anybody.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "common/ids.h"
#include "common/wide.h"

namespace weir {

using ConnectionId = std::uint64_t;
/// Random bits.
using ConnectionKey = std::array<std::uint64_t, 12>;

/// From the client to the service, whichever way the packet goes.
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
    /// The upper half, with what neighbours have in common removed.
    static ConnectionId mixed(Wide sum) {
        auto id = static_cast<std::uint64_t>(sum >> 64);
        id = (id ^ id >> 33) * 0xff51'afd7'ed55'8ccd;
        id = (id ^ id >> 33) * 0xc4ce'b9fe'1a85'ec53;
        return id ^ id >> 33;
    }

    std::array<Wide, 6> factors_;  // a constant, four words of addresses, the last word
};

}  // namespace weir

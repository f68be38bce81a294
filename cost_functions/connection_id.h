// connection_id.h - who a TCP connection is: a keyed 64-bit hash of its addresses, ports and vNIC.
// Source: SipHash-1-3 (Aumasson, Bernstein; INDOCRYPT'12), over whole words. Units: addresses and ports as
// they are in the packet. Threads: any (pure).
//
// The hash is the identity: two connections of one table are taken for one with a chance of 1 in 10^7 at a
// million connections. The key is drawn when the switch starts, so that nobody can aim at a bucket or at
// somebody else.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "common/ids.h"

namespace weir {

using ConnectionId = std::uint64_t;
using ConnectionKey = std::array<std::uint64_t, 2>;

/// From the client to the service, whichever way the packet goes.
struct Ports {
    std::uint16_t client = 0;
    std::uint16_t service = 0;
};
using Ip6Address = std::array<std::uint8_t, 16>;

class ConnectionHash {
  public:
    explicit ConnectionHash(const ConnectionKey& key) : key_(key) {}

    [[nodiscard]] ConnectionId operator()(VnicId vnic, std::uint32_t client, std::uint32_t service,
                                          Ports ports) const {
        State state(key_);
        state.add(std::uint64_t{client} << 32 | service);
        state.add(tail(vnic, ports, 4));
        return state.finish();
    }
    [[nodiscard]] ConnectionId operator()(VnicId vnic, const Ip6Address& client, const Ip6Address& service,
                                          Ports ports) const {
        State state(key_);
        for (const Ip6Address& address : {client, service}) {
            std::array<std::uint64_t, 2> words;
            std::memcpy(words.data(), address.data(), sizeof words);
            state.add(words[0]);
            state.add(words[1]);
        }
        state.add(tail(vnic, ports, 6));
        return state.finish();
    }

  private:
    class State {
      public:
        explicit State(const ConnectionKey& key)
            : v0_(key[0] ^ 0x736f'6d65'7073'6575),
              v1_(key[1] ^ 0x646f'7261'6e64'6f6d),
              v2_(key[0] ^ 0x6c79'6765'6e65'7261),
              v3_(key[1] ^ 0x7465'6462'7974'6573) {}
        void add(std::uint64_t word) {
            v3_ ^= word;
            round();
            v0_ ^= word;
        }
        [[nodiscard]] std::uint64_t finish() {
            v2_ ^= 0xff;
            round();
            round();
            round();
            return v0_ ^ v1_ ^ v2_ ^ v3_;
        }

      private:
        void round() {
            v0_ += v1_;
            v1_ = std::rotl(v1_, 13) ^ v0_;
            v0_ = std::rotl(v0_, 32);
            v2_ += v3_;
            v3_ = std::rotl(v3_, 16) ^ v2_;
            v0_ += v3_;
            v3_ = std::rotl(v3_, 21) ^ v0_;
            v2_ += v1_;
            v1_ = std::rotl(v1_, 17) ^ v2_;
            v2_ = std::rotl(v2_, 32);
        }
        std::uint64_t v0_, v1_, v2_, v3_;
    };

    /// The last word says how many there were.
    static std::uint64_t tail(VnicId vnic, Ports ports, unsigned version) {
        return std::uint64_t{ports.client} << 48 | std::uint64_t{ports.service} << 32 |
               std::uint64_t{vnic} << 16 | version;
    }

    ConnectionKey key_;
};

}  // namespace weir

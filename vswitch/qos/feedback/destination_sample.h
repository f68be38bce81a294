// destination_sample.h - some of the addresses that vNICs send to and for which the controller allocates no
// rate, so that the agent can ask which endpoints have them.
// Source: docs/protocol.md. Threads: one owner (a worker). Never allocates.
//
// A sample, not a list: an address has one of 64 places, which its next frame takes from another address.
// Those with the most frames come first, and an address that has its rate makes room for the others. Places
// differ from one take() to the next, so that no two addresses share theirs for long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/types.h"

namespace weir {

class DestinationSample {
  public:
    static constexpr unsigned kPlaceBits = 6;
    static constexpr std::size_t kPlaces = std::size_t{1} << kPlaceBits;
    struct Seen {
        std::uint64_t address = 0;  ///< MacAddress::bits
        VnicId vnic = kNoVnic;      ///< kNoVnic: none
    };
    struct Taken {
        std::array<Seen, kPlaces> seen;
        std::size_t count = 0;
    };

    /// A frame goes to an address; not for groups of receivers.
    void note(VnicId vnic, std::uint64_t address) {
        constexpr std::uint64_t kGroupBit = 1;
        if ((address & kGroupBit) != 0)
            return;
        seen_[((address ^ std::uint64_t{vnic} << 48) * multiplier_) >> (64 - kPlaceBits)] = {address, vnic};
    }
    /// The addresses since the last call.
    void take(Taken& out) {
        out.count = 0;
        for (Seen& each : seen_) {
            if (each.vnic == kNoVnic)
                continue;
            out.seen[out.count++] = each;
            each = {};
        }
        multiplier_ = multiplier_ * 0x5851'F42D'4C95'7F2D | 1;
    }

  private:
    std::array<Seen, kPlaces> seen_{};
    std::uint64_t multiplier_ = 0x9E37'79B9'7F4A'7C15;  // odd
};

}  // namespace weir

// source_shares.h - which frames of the wire a receiver that falls behind keeps: those of sources that have
// sent no more than their equal share. Source: AFD (SIGCOMM CCR 2003); docs/algorithms.md 4.7. Units:
// accounted bytes; bytes per second; ns. Threads: one owner (a worker). Allocates only when built.
//
// Frames from hosts without Weir cannot be slowed down at their sender. When they come faster than a VM
// empties its ring they wait in one queue per receiver, so that their order holds; the switch decides which
// of them may enter it. Each source earns credit at the *share*, one rate for all sources of the receiver,
// and pays for the frames that enter. A frame that its source's credit pays for enters as long as there is
// any room; any other only while the queue is below a quarter of its bound. The share follows the queue: it
// falls while the queue is above a half, as then those with credit alone are too many, and rises while it is
// below. So it becomes the rate at which all sources together may send as much as the VM takes (max-min
// fairness).
//
// A source begins without credit. Sources that are never seen again, as in a flood of random addresses, have
// only the room that the others leave. A source that keeps on sending little has its share at once.
//
// Example: a VM takes 1 Gbit/s. 10,000 invented sources send 1 Mbit/s each, and one honest TCP sender. The
// share falls to 100 kbit/s; nine of ten frames of the flood are dropped and none of a sender below that.
// When four sources flood it instead, the share is 250 Mbit/s for each.
//
// The credits are kept in a table of four rows of 16,384 places. A source has a place in each row, by another
// keyed hash, unless another source has it that was seen in the last second, or in the last 100 ms if it came
// only once; its best place counts. With 10,000 sources one in 250 has none of its four.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/types.h"

namespace weir {

/// A source's address, folded by the caller: IPv6 into two words, IPv4 and MAC into one.
struct SourceAddress {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
};

/// Random words; the constant is for tests and simulations.
using SourceKey = std::array<std::uint64_t, 3>;
inline constexpr SourceKey kSourceKey{0x9E37'79B9'7F4A'7C15, 0xC2B2'AE3D'27D4'EB4F, 0x1656'67B1'9E37'79F9};

class SourceShares {
  public:
    static constexpr std::size_t kRows = 4;
    static constexpr unsigned kPlaceBits = 14;
    /// Time between two changes of a receiver's share.
    static constexpr Nanos kPeriod = 100'000;

    SourceShares(std::size_t receivers, const SourceKey& key);

    /// Whether a frame may enter the receiver's queue.
    /// @param queued bytes of the queue now  @param most its bound
    [[nodiscard]] bool may_enter(VnicId receiver, const SourceAddress& source, std::uint32_t bytes,
                                 std::uint32_t queued, std::uint32_t most, Nanos now);
    /// Of each of the receiver's sources, bytes per second.
    [[nodiscard]] std::uint64_t share(VnicId receiver) const {
        return static_cast<std::uint64_t>(receivers_[receiver].share);
    }
    /// Another vNIC has the id.
    void forget(VnicId receiver) { receivers_[receiver] = {}; }

  private:
    struct Place {
        std::uint32_t tag = 0;   ///< of the source that has it
        std::uint32_t seen = 0;  ///< when, in ticks; 0: no source has it
        float credit = 0;        ///< bytes
    };
    struct Receiver {
        Nanos changed = 0;  ///< when the share was changed last
        double share = kShareMost;
        double queued = 0;  ///< part of the bound then
    };
    static constexpr double kShareMost = 12.5e9;  // 100 Gbit/s

    static void follow(Receiver& r, double queued, Nanos now);

    SourceKey key_;
    std::vector<Receiver> receivers_;
    std::vector<Place> places_;
};

}  // namespace weir

// ring_spread.h - a burst for a guest with several receive rings: each flow has one, and a full one does not
// stop the others. Units: frames. Threads: any (no state).
//
// Example: of 32 frames 16 are for ring 0 and 16 for ring 1, which has 4 places. 20 frames are taken; the
// other 12 are moved to the end of the burst, in order. Both rings are written once, however the frames are
// mixed.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "vswitch/base/burst_groups.h"
#include "vswitch/base/limits.h"
#include "vswitch/ports/flow_hash.h"

namespace weir {

/// Frames of a burst that some rings did not take.
class Leftovers {
  public:
    /// @param too_long so many of them, at their end, fit no buffer of their ring
    void add(std::span<rte_mbuf* const> some, std::uint16_t too_long) {
        const std::size_t others = some.size() - too_long;
        std::ranges::copy(some.first(others), frames_.begin() + waiting_);
        std::ranges::copy(some.subspan(others), frames_.end() - too_long_ - too_long);
        waiting_ = static_cast<std::uint16_t>(waiting_ + others);
        too_long_ = static_cast<std::uint16_t>(too_long_ + too_long);
    }
    /// Moves them to the end of the burst: those that there was no room for, in order, then those that are
    /// too long. @return how many frames are before them, which were taken
    [[nodiscard]] std::uint16_t put_behind(std::span<rte_mbuf*> burst) const {
        const auto taken = static_cast<std::uint16_t>(burst.size() - waiting_ - too_long_);
        std::copy_n(frames_.begin(), waiting_, burst.begin() + taken);
        std::copy_n(frames_.end() - too_long_, too_long_, burst.begin() + taken + waiting_);
        return taken;
    }
    [[nodiscard]] std::uint16_t too_long() const { return too_long_; }

  private:
    std::uint16_t waiting_ = 0;
    std::uint16_t too_long_ = 0;
    std::array<rte_mbuf*, limits::kBurst> frames_;
};

/// Spreads at most limits::kBurst frames over `rings` rings by flow: one call for each ring.
/// @param put(ring, frames, too_long) gives the ring as many of these frames as it takes, which are first
/// then; of the others, those at the end that it adds to `too_long` fit none of its buffers. It returns how
/// many it took
/// @param took bit n: ring n took frames  @param too_long of all rings
/// @return frames taken; the others are at the end of the burst, as Leftovers puts them
template <class Put>
std::uint16_t spread_by_flow(std::span<rte_mbuf*> frames, std::uint16_t rings, std::uint32_t& took,
                             std::uint16_t& too_long, Put&& put) {
    std::array<std::uint8_t, limits::kBurst> ring_of;
    for (std::size_t i = 0; i < frames.size(); ++i)
        ring_of[i] = static_cast<std::uint8_t>(FlowHash::ring(
            FlowHash::of({rte_pktmbuf_mtod(frames[i], const std::uint8_t*), frames[i]->data_len}), rings));
    const BurstGroups places({ring_of.data(), frames.size()});
    std::array<rte_mbuf*, limits::kBurst> grouped;
    for (std::size_t i = 0; i < frames.size(); ++i)
        grouped[places.place(i)] = frames[i];
    std::copy_n(grouped.begin(), frames.size(), frames.begin());
    Leftovers left;
    took = 0;
    for (std::uint16_t ring = 0; ring < rings; ++ring) {
        const std::span<rte_mbuf*> run = frames.subspan(places.begin(ring), places.size(ring));
        if (run.empty())
            continue;
        std::uint16_t run_too_long = 0;
        const std::uint16_t sent = put(ring, run, run_too_long);
        took |= sent != 0 ? 1U << ring : 0;
        if (sent != run.size()) [[unlikely]]
            left.add(run.subspan(sent), run_too_long);
    }
    too_long = left.too_long();
    return left.put_behind(frames);
}

}  // namespace weir

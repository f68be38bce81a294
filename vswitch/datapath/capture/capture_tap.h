// capture_tap.h - the captures of one worker, and the end of frames that are dropped.
// Source: docs/design.md 4. Units: bytes as accounted, ns. Threads: owning worker.
//
// Every drop of a frame that the data path has in its hands goes through drop(), which counts it, shows it to
// the captures and frees it. Frames that pass are shown where a flag says so: VnicPath::captured for a vNIC,
// of_uplink() for the uplink. Without a capture that is one look per burst, none per frame. The cycles of a
// copy are charged as those of the frame are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "vswitch/base/capture.h"
#include "vswitch/base/stats.h"
#include "vswitch/datapath/capture/capture.h"

namespace weir {

/// A cache line: the stages that follow it in a worker keep theirs.
class alignas(64) CaptureTap {
  public:
    /// At most CaptureOrder::kMax. @param capture lives until remove()
    void add(Capture& capture);
    void remove(const Capture& capture);

    /// Some capture wants frames of this worker.
    [[nodiscard]] bool on() const { return count_ != 0; }
    /// Some capture is of the vNIC, or of the uplink, and wants frames that are not dropped.
    [[nodiscard]] bool of_vnic(VnicId vnic) const;
    [[nodiscard]] bool of_uplink() const { return of_uplink_; }

    /// Counts, shows and frees a frame.
    /// @param delay time that it waited; 0: it did not, or that is not known
    [[gnu::cold]] void drop(DirectionStats& stats, const CapturePoint& point, rte_mbuf* frame,
                            std::uint64_t bytes, DropReason reason, Nanos delay = 0);
    /// Shows a dropped frame that the caller counts and frees.
    void lost(const CapturePoint& point, const rte_mbuf* frame, DropReason reason, Nanos delay = 0) {
        if (on()) [[unlikely]]
            show(point, CaptureVerdict::kDropped, frame, reason, delay);
    }
    /// Shows frames that pass. Called where a flag is set.
    void passed(const CapturePoint& point, rte_mbuf* const* frames, std::uint16_t count, Nanos delay = 0,
                CaptureVerdict verdict = CaptureVerdict::kForwarded);

    /// Copies frames before a ring gets them and may free them; settle() forgets those that it has left.
    /// @param count <= limits::kBurst  @param delays of each frame; nullptr: none waited
    void offer(const CapturePoint& point, rte_mbuf* const* frames, std::uint16_t count,
               const Nanos* delays = nullptr);
    void settle(rte_mbuf* const* left, std::uint16_t count);

  private:
    void show(const CapturePoint& point, CaptureVerdict verdict, const rte_mbuf* frame, DropReason reason,
              Nanos delay);
    [[nodiscard]] std::span<Capture* const> captures() const { return std::span(captures_).first(count_); }

    std::size_t count_ = 0;
    bool of_uplink_ = false;
    std::array<Capture*, CaptureOrder::kMax> captures_{};
};

}  // namespace weir

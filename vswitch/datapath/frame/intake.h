// intake.h - a burst of a VM's ring or of other workers that is forwarded in pieces: it holds super-frames.
// Source: docs/algorithms.md 3.7. Units: buffers (mbufs); segments (wire frames). Threads: owning worker.
//
// A guest that has a ring full of super-frames of 64,000 bytes in segments of 250 bytes offers 8,192 wire
// frames per burst. Split at once they would hold 24,000 buffers of the shared pool and keep the core busy
// for more than 2 ms. The intake keeps such a burst and gives it out in pieces: at most kSegmentsMax
// segments, and no more than fit into the vNIC's quota of buffers if every super-frame is split. The ring is
// not polled until the last piece is out. A burst that other workers have handed over is given out likewise,
// without a quota: its segments are delivered before the next super-frame is split.
//
// A super-frame that would become more than kSegmentsMax segments is cut into super-frames of so many when
// its turn comes, so that no part of the switch behind the intake sees a longer one. One of 64,000 bytes in
// segments of 8 becomes 32 of them.
//
// Example: with a quota of 1,920 buffers, 32 of these super-frames hold 32 x 32 = 1,024. Splitting one takes
// 3 x 256 + 2 x 32 = 832 more at most, 1,856 in all. The next one waits until these segments have left.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "vswitch/base/limits.h"

struct rte_mbuf;

namespace weir {

class Intake {
  public:
    /// Segments of one piece: some 50 us of work. A single super-frame that leaves the intake has no more
    /// (offload.h).
    static constexpr std::uint32_t kSegmentsMax = 256;

    Intake() : frames_(std::make_unique<Frames>()) {}
    ~Intake() { drop_all(); }
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;

    [[nodiscard]] bool empty() const { return next_ == count_; }
    /// Buffers that its frames hold.
    [[nodiscard]] std::uint32_t buffers() const { return buffers_; }

    /// Whether the burst has to be forwarded in pieces.
    [[nodiscard]] static bool needed_for(std::span<rte_mbuf* const> burst);
    /// Buffers that the segments of a super-frame are counted with at most; 0: the frame is not split. It has
    /// no more segments than a piece.
    [[nodiscard]] static std::uint32_t split_buffers(const rte_mbuf* frame);
    /// The frame that the next piece begins with; the intake is not empty.
    [[nodiscard]] const rte_mbuf* front() const { return (*frames_)[next_]; }
    /// Takes over a burst of at most limits::kBurst frames; the intake is empty.
    void fill(std::span<rte_mbuf* const> burst);
    /// The next piece, of which the caller becomes the owner; valid until the next call. Empty when the first
    /// frame does not fit, or has to be cut and the pool has no buffers for that: it stays.
    /// @param room buffers that the vNIC may take besides those that it holds
    /// @param most frames
    /// @param one  at least one frame, though it may not fit: the vNIC has nothing else that could leave
    [[nodiscard]] std::span<rte_mbuf*> next(std::uint32_t room, std::size_t most, bool one);
    /// Frees the frames that are left. @return their number
    std::uint16_t drop_all();

  private:
    /// A burst fills the second half. The super-frames that a frame of it is cut into end at its place.
    using Frames = std::array<rte_mbuf*, 2 * limits::kBurst>;
    bool cut_front();

    std::uint16_t next_ = 0;
    std::uint16_t count_ = 0;
    std::uint32_t buffers_ = 0;
    std::unique_ptr<Frames> frames_;
};

}  // namespace weir

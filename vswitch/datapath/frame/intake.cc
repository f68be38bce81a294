// intake.cc - Intake: segments and buffers of a super-frame, and the frames of a burst that make a piece.
#include "vswitch/datapath/frame/intake.h"

#include <rte_mbuf.h>

#include <algorithm>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"

namespace weir {
namespace {

bool is_super_frame(const rte_mbuf* frame) {
    return (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
}

/// Wire frames that it becomes. One with wrong headers is dropped as it is.
std::uint32_t segments_of(const rte_mbuf* frame) {
    return is_super_frame(frame) && offload::fits(frame) ? offload::wire_frames(frame) : 1;
}

/// As buffers_of() counts: for each segment one for the headers, one that points to the payload and the one
/// that holds it, and two more where the payload crosses two buffers.
std::uint32_t buffers_for(std::uint32_t segments, const rte_mbuf* frame) {
    return segments == 1 ? 0 : 3 * segments + 2U * frame->nb_segs;
}

}  // namespace

std::uint32_t Intake::split_buffers(const rte_mbuf* frame) {
    return buffers_for(segments_of(frame), frame);
}

bool Intake::needed_for(std::span<rte_mbuf* const> burst) {
    return std::ranges::any_of(burst, is_super_frame);
}

void Intake::fill(std::span<rte_mbuf* const> burst) {
    std::ranges::copy(burst, frames_->begin() + limits::kBurst);
    next_ = limits::kBurst;
    count_ = static_cast<std::uint16_t>(limits::kBurst + burst.size());
    for (const rte_mbuf* frame : burst)
        buffers_ += buffers_of(frame);
}

/// Cuts the first frame, which has too many segments, into super-frames that take its place and places before
/// it. Those are free: the frames there have left, and never were more than a burst. @return false when it
/// remains as it was
bool Intake::cut_front() {
    constexpr std::uint32_t kLongest = UINT16_MAX;  // of an IP packet
    static_assert(kLongest / (kSegmentsMax * offload::kSegmentBytesMin) < limits::kBurst);
    rte_mbuf* whole = (*frames_)[next_];
    const std::uint32_t held = buffers_of(whole);
    offload::Segments parts;
    const std::uint16_t made = offload::split(whole, whole->pool, parts,
                                              kSegmentsMax * whole->tso_segsz + offload::header_bytes(whole));
    if (made < 2)
        return false;
    next_ = static_cast<std::uint16_t>(next_ + 1 - made);
    std::copy_n(parts.begin(), made, frames_->begin() + next_);
    buffers_ -= held;
    for (std::uint16_t i = 0; i < made; ++i)
        buffers_ += buffers_of(parts[i]);
    return true;
}

std::span<rte_mbuf*> Intake::next(std::uint32_t room, std::size_t most, bool one) {
    if (next_ < count_ && segments_of((*frames_)[next_]) > kSegmentsMax) [[unlikely]] {
        const std::uint32_t before = buffers_;
        if (!cut_front())
            return {};
        room -= std::min(room, buffers_ - std::min(before, buffers_));
    }
    const std::uint16_t first = next_;
    std::uint32_t segments = 0;
    std::uint32_t taken = 0;
    for (; next_ < count_ && next_ < first + most; ++next_) {
        const rte_mbuf* frame = (*frames_)[next_];
        const std::uint32_t own = segments_of(frame);
        taken += buffers_for(own, frame);
        segments += own;
        const bool fits = taken <= room && segments <= kSegmentsMax;
        if (!fits && !(one && next_ == first))
            break;
        buffers_ -= buffers_of(frame);
    }
    return std::span(*frames_).subspan(first, next_ - first);
}

std::uint16_t Intake::drop_all() {
    const auto left = static_cast<std::uint16_t>(count_ - next_);
    rte_pktmbuf_free_bulk(frames_->data() + next_, left);
    next_ = count_;
    buffers_ = 0;
    return left;
}

}  // namespace weir

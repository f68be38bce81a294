// intake.cc - Intake: what a super-frame may become, and how much of a burst makes a piece.
#include "vswitch/datapath/intake.h"

#include <rte_mbuf.h>

#include <algorithm>

#include "vswitch/datapath/offload.h"

namespace weir {
namespace {

bool is_super_frame(const rte_mbuf* frame) {
    return (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
}

/// Wire frames that it becomes. One with wrong headers is dropped as it is.
std::uint32_t segments_of(const rte_mbuf* frame) {
    return is_super_frame(frame) && offload::valid(frame) ? offload::wire_frames(frame) : 1;
}

}  // namespace

/// As buffers_of() counts: for each segment one for the headers, one that points to the payload and the one
/// that holds it, and two more where the payload crosses two buffers.
std::uint32_t Intake::split_buffers(const rte_mbuf* frame) {
    const std::uint32_t segments = segments_of(frame);
    return segments == 1 ? 0 : 3 * segments + 2U * frame->nb_segs;
}

bool Intake::needed_for(std::span<rte_mbuf* const> burst) {
    return std::ranges::any_of(burst, is_super_frame);
}

void Intake::fill(std::span<rte_mbuf* const> burst) {
    std::ranges::copy(burst, frames_->begin());
    next_ = 0;
    count_ = static_cast<std::uint16_t>(burst.size());
    for (const rte_mbuf* frame : burst)
        buffers_ += frame->nb_segs;
}

std::span<rte_mbuf*> Intake::next(std::uint32_t room, std::size_t most, bool one) {
    const std::uint16_t first = next_;
    std::uint32_t segments = 0;
    std::uint32_t taken = 0;
    for (; next_ < count_ && next_ < first + most; ++next_) {
        const rte_mbuf* frame = (*frames_)[next_];
        taken += split_buffers(frame);
        segments += segments_of(frame);
        const bool fits = taken <= room && segments <= kSegmentsMax;
        if (!fits && !(one && next_ == first))
            break;
        buffers_ -= frame->nb_segs;
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

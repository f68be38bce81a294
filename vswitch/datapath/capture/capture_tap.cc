// capture_tap.cc - CaptureTap: drops, and frames for each capture.
#include "vswitch/datapath/capture/capture_tap.h"

#include <rte_mbuf.h>

#include <algorithm>

namespace weir {

void CaptureTap::add(Capture& capture) {
    captures_[count_++] = &capture;
    of_uplink_ |= capture.of_uplink() && !capture.drops_only();
}

void CaptureTap::remove(const Capture& capture) {
    const auto all = std::span(captures_).first(count_);
    count_ = static_cast<std::size_t>(std::ranges::remove(all, &capture).begin() - all.begin());
    of_uplink_ = std::ranges::any_of(
        captures(), [](const Capture* each) { return each->of_uplink() && !each->drops_only(); });
}

bool CaptureTap::of_vnic(VnicId vnic) const {
    return std::ranges::any_of(captures(), [vnic](const Capture* each) {
        return !each->of_uplink() && each->vnic() == vnic && !each->drops_only();
    });
}

[[gnu::noinline]] void CaptureTap::drop(DirectionStats& stats, const CapturePoint& point, rte_mbuf* frame,
                                        std::uint64_t bytes, DropReason reason, Nanos delay) {
    stats.drop(reason, 1, bytes);
    lost(point, frame, reason, delay);
    rte_pktmbuf_free(frame);
}

[[gnu::cold]] void CaptureTap::show(const CapturePoint& point, CaptureVerdict verdict, const rte_mbuf* frame,
                                    DropReason reason, Nanos delay) {
    for (Capture* each : captures())
        each->take({.queue_delay = delay, .point = point, .verdict = verdict, .reason = reason}, frame);
}

[[gnu::cold]] void CaptureTap::passed(const CapturePoint& point, rte_mbuf* const* frames, std::uint16_t count,
                                      Nanos delay, CaptureVerdict verdict) {
    for (std::uint16_t i = 0; i < count; ++i)
        show(point, verdict, frames[i], DropReason::kCount, delay);
}

[[gnu::cold]] void CaptureTap::offer(const CapturePoint& point, rte_mbuf* const* frames, std::uint16_t count,
                                     const Nanos* delays) {
    for (Capture* each : captures())
        each->offer({.point = point}, frames, count, delays);
}

[[gnu::cold]] void CaptureTap::settle(rte_mbuf* const* left, std::uint16_t count) {
    for (Capture* each : captures())
        each->settle(left, count);
}

}  // namespace weir

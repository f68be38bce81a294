// random_capture.cc - counts copies by direction, verdict and reason.
#include "test/vswitch/datapath/loop/random_capture.h"

#include <cstring>

namespace weir::testing {
namespace {

/// More than the frames of a step.
constexpr std::size_t kRingBytes = 1 << 20;

std::uint64_t of(const DirectionStats& stats, DropReason reason) {
    return stats.drops[static_cast<std::size_t>(reason)];
}

}  // namespace

void RandomCapture::begin(SwitchHarness& host, VnicId vnic) {
    *this = {};
    capture_ = std::make_unique<Capture>(CaptureOrder{.snap = CaptureOrder::kSnapMin}, vnic, kRingBytes);
    owner_ = host.path(vnic).fixed.owner;
    host.post(owner_, command::StartCapture{capture_.get()});
    before_ = host.stats(vnic);
}

void RandomCapture::end(SwitchHarness& host) {
    host.post(owner_, command::StopCapture{capture_.get()});
    capture_.reset();
}

void RandomCapture::take() {
    for (CaptureRing& ring = capture_->ring; !ring.front().empty(); ring.pop()) {
        CaptureRecord record;
        std::memcpy(&record, ring.front().data(), sizeof(record));
        Counts& counts = record.point.direction == CapturePoint::Direction::kFromVm ? from_vm_ : to_vm_;
        if (record.point.direction == CapturePoint::Direction::kFromWire)
            continue;  // the uplink counts it
        if (record.verdict == CaptureVerdict::kDropped)
            ++counts.drops[static_cast<std::size_t>(record.reason)];
        else
            ++counts.forwarded;
    }
}

std::optional<std::string> RandomCapture::fault(const VnicStats& stats) {
    if (capture_ == nullptr)
        return std::nullopt;
    take();
    if (capture_->missed != 0)
        return "a copy found no room";
    if (const auto fault = differs("to it", to_vm_, stats.to_vm, before_.to_vm, 0))
        return fault;
    // Sent, then lost: handed to a full inbox, or not encrypted.
    std::uint64_t lost = 0;
    for (const DropReason reason :
         {DropReason::kWorkerRingFull, DropReason::kEspFailed, DropReason::kEspMalformed})
        lost += of(stats.from_vm, reason) - of(before_.from_vm, reason);
    return differs("from it", from_vm_, stats.from_vm, before_.from_vm, lost);
}

/// @param lost frames that count as dropped, and were copied before, when they went on
std::optional<std::string> RandomCapture::differs(const std::string& direction, const Counts& copies,
                                                  const DirectionStats& now, const DirectionStats& before,
                                                  std::uint64_t lost) {
    const auto line = [&](const std::string& what, std::uint64_t copied, std::uint64_t counted) {
        return copied == counted ? std::nullopt
                                 : std::optional(what + ' ' + direction + ": " + std::to_string(copied) +
                                                 " copies of " + std::to_string(counted) + " frames");
    };
    if (auto fault =
            line("delivered", copies.forwarded, now.delivered.packets - before.delivered.packets + lost))
        return fault;
    for (std::size_t i = 0; i < kDropReasons; ++i)
        if (auto fault = line(kDropReasonTexts[i].name, copies.drops[i], now.drops[i] - before.drops[i]))
            return fault;
    return std::nullopt;
}

}  // namespace weir::testing

// topology_captures.cc - captures begin, are read and end.
//
// The agent makes a ring with copies for each worker and takes the oldest frame of all rings first. A capture
// that has ended stays until its workers have forgotten it, so that no worker writes into freed memory.
#include <rte_cycles.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "common/error.h"
#include "common/unix_clock.h"
#include "vswitch/topology/topology.h"

namespace weir {
namespace {

/// Copies that may wait on one worker for one capture: 4 MiB, some 2,500 frames of 1,600 bytes.
constexpr std::size_t kRingBytes = std::size_t{4} << 20;
/// Bytes of frames in one answer, so that the agent's tick is not late.
constexpr std::size_t kTakenBytes = 192 * 1024;
/// Frames of one answer, likewise.
constexpr std::size_t kTakenFrames = 2048;
constexpr Nanos kUnreadMax = 10 * kNanosPerSec;

CaptureRecord record_in(std::span<const std::byte> slot) {
    CaptureRecord record;
    std::memcpy(&record, slot.data(), sizeof(record));
    return record;
}

}  // namespace

std::uint64_t Topology::start_capture(const CaptureOrder& order) {
    const std::scoped_lock lock(mutex_);
    const VnicId vnic = order.vnic.empty() ? kNoVnic : find(order.vnic);
    if (vnic == kNoVnic && !uplink_)
        throw HostError("this switch has no uplink; capture a vNIC, `weirctl vnic list` shows all");
    if (!valid_filter(order.filter))
        throw HostError("the filter is not valid: " + std::to_string(order.filter.size()) +
                        " instructions, at most " + std::to_string(kFilterInstructionsMax) +
                        ", with jumps forward alone; let weirctl compile it");
    if (captures_.size() == CaptureOrder::kMax)
        throw HostError(std::to_string(CaptureOrder::kMax) +
                        " captures run already, the most of a switch; stop one first");
    RunningCapture& capture = captures_[++last_capture_];
    capture.vnic = vnic;
    capture.name = vnic == kNoVnic ? "uplink" : "vNIC " + order.vnic;
    capture.unix_ns = unix_clock_ns();
    capture.ticks = TickConverter(rte_get_tsc_hz(), rte_rdtsc());
    capture.read = now();
    std::vector<VnicId> shown(workers_.size(), vnic);  // by worker: of a vNIC that is spread its own member
    if (vnic != kNoVnic)
        for (const Member& member : vnics_[vnic]->members)
            shown[member.path->fixed.owner] = member.path->fixed.id;
    for (const VnicId id : shown)
        capture.workers.push_back(std::make_unique<Capture>(order, id, kRingBytes));
    for (const auto& worker : workers_)
        await(worker->id(), post(worker->id(), command::StartCapture{capture.workers[worker->id()].get()}));
    spdlog::info("capture {} of {} begins", last_capture_, capture.name);
    return last_capture_;
}

Topology::RunningCapture& Topology::capture_of(std::uint64_t number) {
    const auto found = captures_.find(number);
    if (found == captures_.end())
        throw HostError("there is no capture " + std::to_string(number) +
                        ": a capture ends when it is not read for 10 s; begin a new one");
    return found->second;
}

CapturedFrames Topology::take_captured(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    RunningCapture& capture = capture_of(number);
    capture.read = now();
    CapturedFrames taken;
    taken.ended = capture.ended;
    std::size_t bytes = 0;
    while (bytes < kTakenBytes && taken.frames.size() < kTakenFrames) {
        Capture* oldest = nullptr;
        for (const auto& each : capture.workers)
            if (!each->ring.front().empty() &&
                (oldest == nullptr ||
                 record_in(each->ring.front()).cycles < record_in(oldest->ring.front()).cycles))
                oldest = each.get();
        if (oldest == nullptr)
            break;
        const std::span<const std::byte> slot = oldest->ring.front();
        CapturedFrames::Frame& frame = taken.frames.emplace_back();
        frame.record = record_in(slot);
        const std::span<const std::byte> copy = slot.subspan(sizeof(CaptureRecord), frame.record.kept);
        frame.bytes.assign(copy.begin(), copy.end());
        frame.unix_ns = capture.unix_ns + capture.ticks.to_nanos(frame.record.cycles);
        if (const Vnic* const vnic = vnic_of(frame.record.point.vnic))
            frame.vnic = vnic->config.name;
        bytes += sizeof(CaptureRecord) + copy.size();
        oldest->ring.pop();
    }
    for (const auto& each : capture.workers)
        taken.missed += each->missed.load(std::memory_order_relaxed);
    return taken;
}

void Topology::stop_capture(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    end_capture(capture_of(number), "it was stopped");
    forget_capture(number);
}

/// Its workers show it no more frames; those that were copied can still be read.
void Topology::end_capture(RunningCapture& capture, const std::string& why) {
    if (!capture.ended.empty())
        return;
    capture.ended = why;
    capture.stopped.resize(workers_.size());
    for (const auto& worker : workers_)
        capture.stopped[worker->id()] =
            post(worker->id(), command::StopCapture{capture.workers[worker->id()].get()});
    spdlog::info("the capture of {} ends: {}", capture.name, why);
}

/// Its rings stay until no worker knows them.
void Topology::forget_capture(std::uint64_t number) {
    auto node = captures_.extract(number);
    ended_captures_.push_back(std::move(node.mapped()));
}

void Topology::end_captures_of(VnicId vnic) {
    for (auto& [number, capture] : captures_)
        if (capture.vnic == vnic)
            end_capture(capture, "the vNIC was removed");
}

void Topology::tick_captures(Nanos now) {
    std::erase_if(ended_captures_, [this](const RunningCapture& capture) {
        return std::ranges::all_of(workers_, [&](const auto& worker) {
            return worker->control().wait(capture.stopped[worker->id()], 0);
        });
    });
    for (auto each = captures_.begin(); each != captures_.end();) {
        const auto next = std::next(each);
        if (now - each->second.read >= kUnreadMax) {
            try {
                end_capture(each->second, "it was not read for 10 s");
                forget_capture(each->first);
            } catch (const HostError&) {  // a worker does not answer: the next tick tries again
                each->second.ended.clear();
            }
        }
        each = next;
    }
}

}  // namespace weir

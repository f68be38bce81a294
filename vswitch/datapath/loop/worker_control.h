// worker_control.h - commands of the agent to one worker: a bounded ring, drained a few per housekeeping.
// Source: docs/design.md 2, 4. Units: ns. Threads: post() and wait() by the agent, take() and done() by the
// worker.
//
// Commands are done in the order in which they were posted, between two iterations of the poll loop. The
// objects that a command points to belong to the agent, which keeps them until the command is done, a vNIC
// and a session longer (vnic_path.h, tunnel_path.h); the worker consumes the frame of SendFrame.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/spsc_ring.h"
#include "vswitch/base/vnic_sample.h"
#include "vswitch/datapath/capture/capture.h"
#include "vswitch/datapath/loop/standstill.h"
#include "vswitch/datapath/requests/request_path.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic/mac_table.h"
#include "vswitch/datapath/vnic/vnic_path.h"
#include "vswitch/ports/wakeups.h"
#include "vswitch/qos/feedback/destination_sample.h"

namespace weir {

namespace command {

struct AddVnic {
    VnicPath* path;
};
struct ChangeVnic {
    VnicId vnic;
    const VnicProfile* profile;
};
struct RemoveVnic {
    VnicId vnic;
};
/// An address that another worker learned.
struct UpdateMac {
    MacUpdate update;
};
/// Leaves the vNIC's ring alone, so that it can go to another worker.
struct PrepareMove {
    VnicPath* path;
    bool* ready;  ///< none of its frames waits
};
/// It stays: its ring is polled again.
struct CancelMove {
    VnicPath* path;
};
/// Stands still until the agent ends it. The worker that `settles` then takes all frames of its inbox.
struct Stand {
    Standstill* still;
    WorkerId settles;
};
struct ReadVnic {
    VnicId vnic;
    VnicReading* stats;
};
struct ReadWorker {
    WorkerSnapshot* snapshot;
    std::vector<TunnelStats>* tunnels = nullptr;  ///< one for each tunnel; may be null
};
/// Some vNICs of the worker, which each know it already.
struct SampleVnics {
    VnicSamples* samples;
};
/// See RequestPath::read().
struct ReadRequests {
    VnicId vnic;
    std::vector<RequestPath::Reading>* readings;
};
/// The controller's rates for the vNIC's frames to some addresses.
struct AllocatePeers {
    VnicId vnic;
    std::span<const PeerAllocation> peers;
};
struct ReadPeers {
    VnicId vnic;
    std::span<PeerReading> peers;
};
/// Some addresses over the wire without an allocation that vNICs of the worker sent to.
struct TakeDestinations {
    DestinationSample::Taken* taken;
};
/// A frame of the switch's own to the wire; consumed.
struct SendFrame {
    rte_mbuf* frame;
};
/// Keys with which frames of a tunnel may arrive from now on.
struct ReceiveSession {
    TunnelId tunnel;
    const EspSession* session;
};
/// Keys with which frames leave through a tunnel from now on.
struct SendSession {
    TunnelId tunnel;
    const EspSession* session;
};

/// Shows frames to a capture from now on.
struct StartCapture {
    Capture* capture;
};
struct StopCapture {
    Capture* capture;
};

}  // namespace command

using WorkerCommand =
    std::variant<command::AddVnic, command::ChangeVnic, command::RemoveVnic, command::PrepareMove,
                 command::CancelMove, command::Stand, command::UpdateMac, command::ReadVnic,
                 command::ReadWorker, command::ReadRequests, command::AllocatePeers, command::ReadPeers,
                 command::SampleVnics, command::TakeDestinations, command::SendFrame, command::ReceiveSession,
                 command::SendSession, command::StartCapture, command::StopCapture>;

class WorkerControl {
  public:
    /// @param wakeups of the worker; outlives this
    explicit WorkerControl(Wakeups& wakeups) : wakeups_(wakeups) {}

    /// Wakes the worker. @return the command's number; 0 when the ring is full (try again later)
    std::uint64_t post(const WorkerCommand& command) {
        const std::uint64_t number = leave(command);
        wakeups_.ring();
        return number;
    }
    /// Likewise, for a worker that sleeps to be done when something else has woken it.
    std::uint64_t leave(const WorkerCommand& command) { return commands_.push(command) ? ++posted_ : 0; }
    /// Number of the last command.
    [[nodiscard]] std::uint64_t posted() const { return posted_; }
    [[nodiscard]] bool is_done(std::uint64_t number) const {
        return done_.load(std::memory_order_acquire) >= number;
    }
    /// Sleeps until the worker has done the command. @return false when it did not within `patience`
    [[nodiscard]] bool wait(std::uint64_t number, Nanos patience) const {
        constexpr auto kNap = std::chrono::microseconds(50);
        const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience);
        while (!is_done(number)) {
            if (std::chrono::steady_clock::now() > until)
                return false;
            std::this_thread::sleep_for(kNap);
        }
        return true;
    }

    /// There is a command to take.
    [[nodiscard]] bool waits() const { return !commands_.empty(); }
    [[nodiscard]] bool take(WorkerCommand& command) { return commands_.pop(command); }
    void done() { done_.store(done_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  private:
    Wakeups& wakeups_;
    SpscRing<WorkerCommand, 256> commands_;
    std::uint64_t posted_ = 0;
    alignas(64) std::atomic<std::uint64_t> done_{0};
};

}  // namespace weir

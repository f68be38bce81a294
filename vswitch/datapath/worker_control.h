// worker_control.h - how the agent talks to a worker: events in a bounded ring, drained a few per tick, done
// in order. Source: design section 2 (planes). Threads: send() and wait() by the agent, the rest by the
// worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "common/clock.h"
#include "common/spsc_ring.h"
#include "vswitch/datapath/mac_table.h"
#include "vswitch/datapath/requests/request_path.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic_path.h"

namespace weir {

/// Pointers belong to the agent, which keeps them until the command is done.
struct WorkerCommand {
    enum class Type : std::uint8_t {
        kAddVnic,
        kChangeVnic,
        kRemoveVnic,
        kHearMac,
        kSnapshotVnic,
        kSnapshotWorker,
        kReadRequests,
        kRulePeers,
        kReadPeers,
        kSendFrame,       ///< a frame of the agent's, consumed
        kReceiveSession,  ///< of a tunnel; and send with it:
        kSendSession
    };
    Type type;
    VnicId vnic = kNoVnic;
    MacUpdate news{};
    VnicPath* path = nullptr;
    const VnicProfile* profile = nullptr;
    VnicStats* vnic_stats = nullptr;
    WorkerSnapshot* snapshot = nullptr;
    std::vector<RequestPath::Reading>* requests = nullptr;
    std::span<const PeerRule> rules{};
    std::span<PeerReading> peers{};
    rte_mbuf* frame = nullptr;
    TunnelId tunnel = kNoTunnel;
    const EspSession* session = nullptr;
    std::vector<TunnelStats>* tunnels = nullptr;  ///< in the snapshot: as many as there are
};

class WorkerControl {
  public:
    /// @return the command's number; 0 when the ring is full (try again later)
    std::uint64_t send(const WorkerCommand& command);
    /// The number of the last command.
    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    /// Waits, by sleeping, until the worker has done the command. @return false after `patience`
    [[nodiscard]] bool wait(std::uint64_t number, Nanos patience) const;

    [[nodiscard]] bool take(WorkerCommand& command) { return commands_.pop(command); }
    void done() { done_.store(done_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  private:
    SpscRing<WorkerCommand, 256> commands_;
    std::uint64_t sent_ = 0;
    alignas(64) std::atomic<std::uint64_t> done_{0};
};

}  // namespace weir

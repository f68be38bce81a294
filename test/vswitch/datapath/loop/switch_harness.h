// switch_harness.h - a whole switch of workers, fake VMs and a fake NIC on a clock moved by hand.
// Units: ns. Threads: tests only; the one thread plays agent and workers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "test/support/eal_fixture.h"
#include "test/support/fake_port.h"
#include "test/support/frames.h"
#include "test/vswitch/datapath/loop/ring_nic.h"
#include "vswitch/datapath/loop/worker.h"

namespace weir::testing {

/// A vNIC called vm<n> with the address mac(n). Tenants A, B, ... have the places 1, 2, ...
[[nodiscard]] VnicConfig vm(unsigned n);

/// A host on the wire.
inline constexpr std::uint64_t kFar = mac(0x99);
inline constexpr std::uint32_t kOverhead = limits::kWireOverheadBytes;
/// numbered(), in a buffer.
[[nodiscard]] rte_mbuf* frame(std::uint64_t to, std::uint64_t from, std::uint32_t number = 0,
                              std::size_t bytes = 60);

class SwitchHarness {
  public:
    /// The workers' ends of the tunnels; both outlive the harness.
    struct TunnelPart {
        std::span<const TunnelEnd> ends;
        std::vector<EspEngine*> engines;  ///< of every worker
    };
    /// @param nic the uplink; nullptr = none
    /// @param turn in cycles; absent: the wire is polled once a turn, which goes over all VMs
    /// @param appliances as many as the configuration's, for vNICs that name them
    explicit SwitchHarness(const SwitchConfig& config = {}, RingNic* nic = nullptr,
                           std::vector<Appliance> appliances = {}, const TunnelPart& tunnels = {},
                           const PollTurn::Profile& turn = {});
    ~SwitchHarness();
    SwitchHarness(const SwitchHarness&) = delete;
    SwitchHarness& operator=(const SwitchHarness&) = delete;

    // As the agent: each returns when the workers have done it.
    /// @param prepare gets the port before any worker has it
    VnicId add(const VnicConfig& config, const std::function<void(FakePort&)>& prepare = {});
    /// Gives the id of a vNIC that was removed to another one.
    void add_again(VnicId id, const VnicConfig& config, const std::function<void(FakePort&)>& prepare = {});
    /// As above, with a port of the test's own, which must outlive the vNIC.
    VnicId add(const VnicConfig& config, Port& port);
    /// A vNIC with a member on each worker from its own on. @return the members' ids, home first
    /// @param prepare gets the port of each member before any worker has it
    std::vector<VnicId> add_spread(const VnicConfig& config,
                                   const std::function<void(FakePort&, std::size_t)>& prepare = {});
    void remove_spread(const std::vector<VnicId>& members);
    void change(VnicId id, const VnicConfig& config);
    void change_spread(const std::vector<VnicId>& members, const VnicConfig& config);
    void remove(VnicId id);
    void post(WorkerId worker, const WorkerCommand& command);
    /// Gives the vNIC to another worker when none of its frames waits; turns, or the threads, go on until
    /// then.
    /// @return false: some never leave
    [[nodiscard]] bool move(VnicId id, WorkerId to);
    [[nodiscard]] VnicReading snapshot(VnicId id);
    [[nodiscard]] WorkerSnapshot snapshot_worker(WorkerId id);

    /// One turn of every worker at the present moment. @return frames moved
    unsigned turn();
    /// Turns until nothing moves any more, without moving the clock.
    void settle();
    /// Turns every `step` until `duration` has gone by.
    void run(Nanos duration, Nanos step = 2000);

    [[nodiscard]] FakePort& port(VnicId id) { return *vnics_[id].port; }
    [[nodiscard]] VnicPath& path(VnicId id) { return *vnics_[id].path; }
    [[nodiscard]] const VnicPath& path(VnicId id) const { return *vnics_[id].path; }
    [[nodiscard]] const VnicStats& stats(VnicId id) const { return vnics_[id].path->stats; }
    [[nodiscard]] Worker& worker(WorkerId id = 0) { return *workers_[id]; }
    [[nodiscard]] std::span<const std::unique_ptr<Worker>> workers() const { return workers_; }
    [[nodiscard]] bool has(VnicId id) const { return id < vnics_.size() && vnics_[id].path != nullptr; }
    [[nodiscard]] std::size_t ids() const { return vnics_.size(); }
    [[nodiscard]] Quiescence& quiescence() { return quiescence_; }

    /// The workers' cycle counter: work costs as many cycles as a test adds here.
    std::atomic<std::uint64_t> cycles = 0;
    Nanos now = kNanosPerSec;
    /// Each turn does commands until the one that was posted is done, so that waiting frames still wait; else
    /// a command takes one housekeeping period.
    bool prompt = false;
    /// The workers run in threads of the test's own: commands are waited for.
    bool threaded = false;

  private:
    struct Vnic {
        std::unique_ptr<FakePort> port;  // none with a port of the test's own
        std::unique_ptr<VnicPath> path;
        VnicGeneration generation = 0;
        std::unique_ptr<Spread> spread;  // of a home
    };
    void add_path(VnicId id, const VnicConfig& config, Port& port);
    void post_to_all(const WorkerCommand& command);

    SwitchConfig config_;
    std::vector<Appliance> appliances_;
    Quiescence quiescence_;
    LinkShare out_share_;
    LinkShare in_share_;
    std::vector<std::unique_ptr<Inbox>> inboxes_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<Vnic> vnics_;
};

[[nodiscard]] inline std::uint64_t drops(const DirectionStats& stats, DropReason reason) {
    return stats.drops[static_cast<std::size_t>(reason)];
}

}  // namespace weir::testing

// weir_edge.h - Weir at the edge of a simulated host: the classes of vswitch/qos, called as a worker calls
// them. Source: design section 4. Units: bytes/s, Nanos. Threads: one.
#pragma once

#include <deque>
#include <memory>

#include "bench/sim/host.h"
#include "bench/sim/scenario.h"
#include "vswitch/qos/scheduler_factory.h"

namespace weir::sim {

class WeirEdge final : public Edge, public Handler {
  public:
    /// The host has all its vNICs.
    WeirEdge(World& world, Host& host, const HostsSpec& spec, std::uint64_t rate_bps, Isolation isolation);

    [[nodiscard]] bool room(VnicId vnic) const override { return scheduler_->room(vnic) != 0; }
    void send(VnicId vnic, Packet& packet) override;
    void received(VnicId vnic, const Packet& packet) override;
    void hear(VnicId vnic, const Packet& feedback) override;
    [[nodiscard]] std::uint64_t packets() const override { return queued_; }
    [[nodiscard]] std::uint64_t dropped() const override { return dropped_; }

    /// A turn of the poll loop.
    void fire(std::uint32_t) override;

  private:
    void poll_at(Nanos when);
    void plan(Nanos earliest);

    World& world_;
    Host& host_;
    TimingWheel wheel_;
    std::deque<Limiter> limiters_;
    std::unique_ptr<LinkScheduler> scheduler_;
    Nanos poll_due_ = kNever;
    std::uint64_t queued_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace weir::sim

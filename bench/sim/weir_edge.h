// weir_edge.h - Weir at a simulated host: the switch's Egress and Receiver, called as a worker calls them.
// Source: docs/design.md 4; EyeQ 3.2 to 3.4. Units: bytes/s; ns. Threads: one.
#pragma once

#include <deque>

#include "bench/sim/host.h"
#include "bench/sim/scenario.h"
#include "vswitch/qos/egress.h"
#include "vswitch/qos/feedback/receiver.h"

namespace weir::sim {

class WeirEdge final : public Edge, public Handler {
  public:
    /// The host has all its vNICs. @param peers endpoints in the whole simulation
    WeirEdge(World& world, Host& host, const HostsSpec& spec, std::uint64_t rate_bps, Isolation isolation,
             std::size_t peers);

    [[nodiscard]] bool room(VnicId vnic) const override { return egress_.has_room(vnic); }
    void send(VnicId vnic, Packet& packet) override;
    void received(VnicId vnic, const Packet& packet) override;
    void on_feedback(VnicId vnic, const Packet& feedback) override;
    [[nodiscard]] std::uint64_t packets() const override { return queued_ + delayed_.packets(); }
    [[nodiscard]] std::uint64_t dropped() const override { return dropped_; }
    [[nodiscard]] EndpointReading reading(VnicId vnic) const override { return receiver_.read(vnic); }

    /// A turn of the poll loop, or its housekeeping.
    void fire(std::uint32_t what) override;

  private:
    enum What : std::uint32_t { kPoll, kHousekeeping };

    /// Where feedback frames go that the scenario delays.
    class Outlet final : public Node {
      public:
        explicit Outlet(Host& host) : host_(host) {}
        void receive(Packet& packet) override { host_.nic().send(packet); }

      private:
        Host& host_;
    };

    void add_vnic(VnicId id);
    void wake(TimingWheel::Ids ids, Nanos now);
    void poll(Nanos now);
    void housekeeping(Nanos now);
    void poll_at(Nanos when);
    void plan(Nanos earliest);

    World& world_;
    Host& host_;
    Nanos feedback_delay_;
    Nanos housekeeping_period_;
    std::uint32_t vnics_;
    std::uint32_t destinations_;  ///< that may have a limiter, and senders that the receiver remembers
    TimingWheel wheel_;           ///< ids of vNICs, then of destinations
    std::deque<Limiter> limits_;  ///< of vNICs
    Egress egress_;
    Receiver receiver_;
    Outlet outlet_;
    DelayLine delayed_;
    Nanos poll_due_ = kNever;
    std::uint64_t queued_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace weir::sim

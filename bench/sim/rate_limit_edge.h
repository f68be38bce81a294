// rate_limit_edge.h - edge that keeps guarantees by rate limits, set every period: a queue and a bucket for
// each vNIC, then the NIC's queue, first come, first served. Source: SoftBW 2.3; SoftBW 6.2; ElasticSwitch
// (SIGCOMM'13) Units: bytes on the wire; ns. Threads: one.
//
// ElasticSwitch limits pairs of VMs and takes the smaller of both ends' guarantees. Here a limit is for all
// packets of a vNIC, and congestion is that of its own host's link: the same where every VM has receivers of
// its own, as in SoftBW's experiments. Congestion lowers all limits, not only that of the vNIC whose packet
// met it: otherwise drop-tail hits the short flows and spares the long one.
#pragma once

#include <deque>

#include "bench/sim/host.h"
#include "bench/sim/periodic_limit.h"
#include "vswitch/qos/buckets/token_bucket.h"

namespace weir::sim {

class RateLimitEdge final : public Edge, public Handler {
  public:
    /// The host has all its vNICs. @param places packets that wait in the NIC; more are dropped
    RateLimitEdge(World& world, Host& host, const PeriodicLimitSpec& spec, std::uint64_t rate_bps,
                  std::uint32_t places);

    [[nodiscard]] bool room(VnicId vnic) const override;
    void send(VnicId vnic, Packet& packet) override;
    void received(VnicId, const Packet&) override {}
    void on_feedback(VnicId, const Packet&) override {}
    [[nodiscard]] std::uint64_t packets() const override { return queued_; }
    [[nodiscard]] std::uint64_t dropped() const override { return dropped_; }

    /// A vNIC's bucket can pay, or the period has ended.
    void fire(std::uint32_t what) override;

  private:
    static constexpr std::uint32_t kPeriod = UINT32_MAX;

    struct Vnic {
        PeriodicLimit limit;
        TokenBucket bucket;
        PacketList queue;
        std::uint64_t bytes = 0;  // in the queue
        bool waiting = false;     // an event is due when the bucket can pay
        bool limited = false;     // in this period
    };

    void release(std::uint32_t id);
    void give(Packet& packet);
    void end_period();

    World& world_;
    Host& host_;
    PeriodicLimitSpec spec_;
    std::uint32_t places_;
    std::deque<Vnic> vnics_;
    bool congested_ = false;  // in this period
    std::uint64_t queued_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace weir::sim

// service_queue.h - appliance: servers with one queue, and a time for each request by operation and size.
// Source: SFQ (SIGCOMM'96); docs/algorithms.md 13.2.
// Units: ns; tokens.
// Threads: one.
//
// First come, first served; or by tenants' weights, as systems that isolate one appliance do (Pisces, DRFQ)
// and as the switch does for its own encryption.
#pragma once

#include <vector>

#include "bench/sim/random.h"
#include "bench/sim/services/service_request.h"
#include "bench/sim/services/service_scenario.h"

namespace weir::sim {

class ServiceQueue final : public Station, public Handler {
  public:
    /// @param spec, engine, pool outlive the queue
    /// @param weights by tenant; empty: first come, first served. 0 counts as next to nothing
    ServiceQueue(Engine& engine, RequestPool& pool, const ServiceSpec& spec,
                 const std::vector<double>& weights, Random random = {0, 0});

    void accept(RequestId id) override;
    /// A request is done.
    void fire(std::uint32_t what) override;

    [[nodiscard]] const ServiceSpec& spec() const { return spec_; }
    [[nodiscard]] std::uint64_t served_tokens() const { return served_tokens_; }

  private:
    struct Lane {
        RequestLane waiting;
        double weight = 1;
        double tag = 0;  ///< virtual time at which its next request begins
    };

    void begin(RequestId id);
    [[nodiscard]] Lane& lane_of(RequestId id);
    /// The next request; null when none waits.
    [[nodiscard]] Lane* next();

    Engine& engine_;
    RequestPool& pool_;
    const ServiceSpec& spec_;
    Random random_;  // not drawn from without variation
    std::vector<Lane> lanes_;
    double virtual_time_ = 0;
    std::uint32_t busy_ = 0;
    std::uint64_t served_tokens_ = 0;
};

}  // namespace weir::sim

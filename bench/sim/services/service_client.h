// service_client.h - VM that uses a service or sends to another VM in a closed or open loop, and the enforcer
// of its flow on its host, which has a bucket for each part of the way. Source: Pulsar 4.2; Pulsar 4.4 Units:
// tokens; ns. Threads: one.
#pragma once

#include <array>
#include <deque>

#include "bench/sim/random.h"
#include "bench/sim/services/service_request.h"
#include "bench/sim/services/service_scenario.h"
#include "common/wire/records.h"
#include "vswitch/qos/buckets/multi_bucket.h"

namespace weir::sim {

class ServiceClient final : public Handler {
  public:
    using Rates = std::array<std::uint64_t, wire::kParts>;

    /// @param load, costs, route outlive the client
    /// @param costs of requests to an appliance; null: to a VM, and tokens are bytes
    /// @param first_connection its number in the scenario, and those of the next follow it
    ServiceClient(Engine& engine, RequestPool& pool, const ServiceLoad& load, const CostTable* costs,
                  const Route& route, std::uint32_t first_connection, Random random);

    ServiceClient(const ServiceClient&) = delete;  // the engine knows where it is
    ServiceClient& operator=(const ServiceClient&) = delete;

    /// Rates of the flow from now on, tokens/s by part of the way; wire::kNoStatement = no limit.
    void set_rates(const Rates& rates);
    /// To be called every 10 ms.
    void sample();
    /// The demand of an interval of which `part` has passed, as if all of it went on alike.
    [[nodiscard]] wire::FlowDemand demand(double part) const;
    /// That of the whole interval, and a new one begins.
    [[nodiscard]] wire::FlowDemand take_demand();

    /// An answer, or a time that has come.
    void fire(std::uint32_t what) override;

    [[nodiscard]] bool seen() const { return issued_ != 0; }
    [[nodiscard]] std::uint64_t served_tokens() const { return served_tokens_; }

  private:
    static constexpr std::uint32_t kBegin = UINT32_MAX;
    static constexpr std::uint32_t kArrival = UINT32_MAX - 1;
    static constexpr std::uint32_t kWake = UINT32_MAX - 2;

    [[nodiscard]] bool active() const { return engine_.now() >= load_.from && engine_.now() < load_.to; }
    void begin();
    void issue(std::uint32_t connection);
    /// Sends requests while the bucket pays; else comes back when it can.
    void pump();
    void answered(RequestId id);

    using Buckets = MultiBucket<wire::kParts>;
    /// By part of the way.
    using Sums = std::array<double, wire::kParts>;

    [[nodiscard]] Buckets::Costs costs_of(RequestId id) const;

    Engine& engine_;
    RequestPool& pool_;
    const ServiceLoad& load_;
    const CostTable* costs_;
    const Route& route_;
    std::uint32_t first_connection_;
    Random random_;
    Buckets buckets_;
    std::deque<RequestId> queue_;
    Nanos wakes_at_ = kNever;

    std::uint64_t issued_ = 0;
    std::uint64_t served_tokens_ = 0;
    Sums waiting_{};
    Sums outstanding_{};
    // Of the interval.
    Sums used_{};
    Sums queued_sum_{};
    Sums outstanding_sum_{};
    std::uint64_t answers_ = 0;
    Nanos latency_sum_ = 0;
    unsigned samples_ = 0;
};

}  // namespace weir::sim

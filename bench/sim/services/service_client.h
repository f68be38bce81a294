// service_client.h - one VM at one service: a closed or open loop, and the enforcer of its flow on its host.
// Source: Pulsar 4.2 (what enforcers measure), 4.4. Units: tokens, Nanos. Threads: one.
#pragma once

#include <deque>

#include "bench/sim/random.h"
#include "bench/sim/services/service_queue.h"
#include "common/wire/records.h"
#include "vswitch/qos/token_bucket.h"

namespace weir::sim {

class ServiceClient final : public Handler {
  public:
    /// @param load outlives the client
    ServiceClient(Engine& engine, RequestPool& pool, ServiceQueue& service, const ServiceLoad& load,
                  Random random);

    ServiceClient(const ServiceClient&) = delete;  // the engine knows where it is
    ServiceClient& operator=(const ServiceClient&) = delete;

    /// What the flow may use from now on; UINT64_MAX = all.
    void set_rate(std::uint64_t tokens_per_sec);
    /// To be called every 10 ms.
    void sample();
    /// The interval's demand, and a new interval begins; kNew when it is the first with requests.
    [[nodiscard]] wire::FlowDemand take_demand();

    /// An answer, or a time that has come.
    void fire(std::uint32_t what) override;

    [[nodiscard]] bool seen() const { return issued_ != 0; }
    [[nodiscard]] std::uint64_t served_tokens() const { return served_tokens_; }
    [[nodiscard]] std::uint64_t served_requests() const { return served_requests_; }

  private:
    static constexpr std::uint32_t kBegin = UINT32_MAX;
    static constexpr std::uint32_t kArrival = UINT32_MAX - 1;
    static constexpr std::uint32_t kWake = UINT32_MAX - 2;

    [[nodiscard]] bool active() const { return engine_.now() >= load_.from && engine_.now() < load_.to; }
    void begin();
    void issue();
    /// Sends what the bucket pays; else comes back when it can.
    void pump();
    void answered(RequestId id);

    Engine& engine_;
    RequestPool& pool_;
    ServiceQueue& service_;
    const ServiceLoad& load_;
    Random random_;
    TokenBucket bucket_;
    std::deque<RequestId> waiting_;
    Nanos wakes_at_ = kNever;

    std::uint64_t issued_ = 0;
    std::uint64_t waiting_tokens_ = 0;
    std::uint64_t outstanding_tokens_ = 0;
    std::uint64_t served_tokens_ = 0;
    std::uint64_t served_requests_ = 0;
    std::uint64_t told_ = 0;  // of served_tokens_, in earlier intervals
    std::uint64_t told_requests_ = 0;
    Nanos latency_sum_ = 0;  // of the interval's answers
    double queued_sum_ = 0;
    double outstanding_sum_ = 0;
    unsigned samples_ = 0;
};

}  // namespace weir::sim

// pool_vm.h - VM of a pool scenario: threads that ask, pause and burst; its waiting requests and their times.
// Units: tokens; ns.
// Threads: one.
#pragma once

#include <array>
#include <deque>

#include "bench/sim/pools/pool_scenario.h"
#include "bench/sim/random.h"
#include "bench/sim/services/service_request.h"
#include "vswitch/qos/buckets/token_bucket.h"
#include "vswitch/qos/requests/appliance_gate.h"

namespace weir::sim {

class PoolHost;

/// Counts since the last take().
struct PoolTally {
    std::uint64_t requests = 0;  ///< answered
    std::uint64_t tokens = 0;    ///< of these
    double latency = 0;          ///< of these, from the request on: sum, ns
    double array_latency = 0;    ///< weighted by tokens, from where the host let it go: sum, ns
    double waiting = 0;          ///< tokens at the host, on average
    double outstanding = 0;      ///< tokens at the array, on average
};

class PoolVm final : public Handler {
  public:
    /// @param route, costs, host, spec outlive the VM
    PoolVm(Engine& engine, RequestPool& pool, const Route& route, const CostTable& costs, PoolHost& host,
           const PoolVmSpec& spec, Random random);

    PoolVm(const PoolVm&) = delete;  // the engine knows where it is
    PoolVm& operator=(const PoolVm&) = delete;

    /// An answer, or a time that has come.
    void fire(std::uint32_t what) override;

    void set_limit(std::uint64_t tokens_per_sec);
    /// Offers the gate the requests that the limit can pay.
    void offer(ApplianceGate& gate, ApplianceGate::Flow flow);
    /// Its oldest request goes to the array.
    void send();

    /// Each reader has a tally of its own: 0 the controller, 1 the recorder, 2 the summary.
    static constexpr unsigned kTakers = 3;
    [[nodiscard]] PoolTally take(unsigned taker);
    [[nodiscard]] const PoolVmSpec& spec() const { return spec_; }

  private:
    static constexpr std::uint32_t kBegin = UINT32_MAX;
    static constexpr std::uint32_t kThought = UINT32_MAX - 1;
    static constexpr std::uint32_t kTurn = UINT32_MAX - 2;
    static constexpr std::uint32_t kWake = UINT32_MAX - 3;

    [[nodiscard]] bool active() const { return engine_.now() >= spec_.from && engine_.now() < spec_.to; }
    void next_turn();
    /// A thread asks, or stops until the next burst.
    void ask();
    void answered(RequestId id);
    void integrate();

    Engine& engine_;
    RequestPool& pool_;
    const Route& route_;  // to the array and back
    const CostTable& costs_;
    PoolHost& host_;
    const PoolVmSpec& spec_;
    Random random_;
    TokenBucket limit_;
    std::deque<RequestId> waiting_;
    std::uint32_t resting_ = 0;  // threads that wait for the next burst
    bool on_ = true;
    Nanos wakes_at_ = kNever;

    std::uint64_t waiting_tokens_ = 0;
    std::uint64_t outstanding_tokens_ = 0;
    Nanos integrated_to_ = 0;
    std::array<PoolTally, kTakers> tallies_{};
    std::array<Nanos, kTakers> taken_at_{};
};

}  // namespace weir::sim

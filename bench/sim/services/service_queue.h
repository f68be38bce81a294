// service_queue.h - an appliance: servers with one queue, first come, first served, and a time for each
// request by operation and size. Units: Nanos, tokens. Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "bench/sim/engine.h"
#include "bench/sim/services/service_scenario.h"

namespace weir::sim {

using RequestId = std::uint32_t;

/// A request on its way, in the hands of one part of the simulation at a time.
struct ServiceRequest {
    Handler* client = nullptr;  ///< hears fire(id) when the answer is there
    bool reads = false;
    std::uint32_t bytes = 0;
    std::uint32_t tokens = 0;
    Nanos issued = 0;
    Nanos sent = 0;
};

class RequestPool {
  public:
    [[nodiscard]] RequestId take() {
        if (free_.empty()) {
            requests_.emplace_back();
            return static_cast<RequestId>(requests_.size() - 1);
        }
        const RequestId id = free_.back();
        free_.pop_back();
        return id;
    }
    void give_back(RequestId id) { free_.push_back(id); }
    [[nodiscard]] ServiceRequest& operator[](RequestId id) { return requests_[id]; }

  private:
    std::deque<ServiceRequest> requests_;
    std::vector<RequestId> free_;
};

class ServiceQueue final : public Handler {
  public:
    /// @param spec, engine, pool outlive the queue
    ServiceQueue(Engine& engine, RequestPool& pool, const ServiceSpec& spec, Nanos delay)
        : engine_(engine), pool_(pool), spec_(spec), delay_(delay) {}

    /// Leaves its VM's host now.
    void send(RequestId id) { engine_.after(delay_, *this, id); }
    /// A request arrives, or is done.
    void fire(std::uint32_t what) override;

    [[nodiscard]] const ServiceSpec& spec() const { return spec_; }
    [[nodiscard]] std::uint64_t served_tokens() const { return served_tokens_; }
    [[nodiscard]] std::size_t waiting() const { return queue_.size(); }

  private:
    static constexpr std::uint32_t kDone = std::uint32_t{1} << 31;

    void begin(RequestId id);

    Engine& engine_;
    RequestPool& pool_;
    const ServiceSpec& spec_;
    Nanos delay_;
    std::deque<RequestId> queue_;
    std::uint32_t busy_ = 0;
    std::uint64_t served_tokens_ = 0;
};

}  // namespace weir::sim

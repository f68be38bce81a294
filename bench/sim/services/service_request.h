// service_request.h - request on its way, and the stations that it passes one after the other: encryption,
// links, an appliance, links.
// Units: bytes; tokens; ns.
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "bench/sim/engine.h"

namespace weir::sim {

using RequestId = std::uint32_t;
inline constexpr RequestId kNoRequest = UINT32_MAX;

/// Takes a request, and hands it on to RequestPool::onward() in its own time.
class Station {
  public:
    virtual void accept(RequestId id) = 0;

  protected:
    ~Station() = default;
};

using Route = std::vector<Station*>;

/// In the hands of one part of the simulation at a time.
struct ServiceRequest {
    Handler* client = nullptr;  ///< fire(id) is called when it comes back
    const Route* route = nullptr;
    std::uint32_t stop = 0;  ///< of the route: the next
    bool reads = false;
    bool answered = false;  ///< on its way back
    std::uint32_t bytes = 0;
    std::uint32_t tokens = 0;
    std::uint32_t there = 0;  ///< bytes on the wire
    std::uint32_t back = 0;
    std::uint32_t tenant = 0;
    std::uint32_t connection = 0;  ///< number in the whole scenario
    Nanos issued = 0;
    Nanos sent = 0;
    RequestId next = kNoRequest;  ///< behind it where it waits
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
        requests_[id] = {};
        return id;
    }
    void give_back(RequestId id) { free_.push_back(id); }
    [[nodiscard]] ServiceRequest& operator[](RequestId id) { return requests_[id]; }

    /// To the next station, or back to its client.
    void onward(RequestId id) {
        ServiceRequest& request = requests_[id];
        if (request.stop == request.route->size())
            request.client->fire(id);
        else
            (*request.route)[request.stop++]->accept(id);
    }

  private:
    std::deque<ServiceRequest> requests_;
    std::vector<RequestId> free_;
};

/// Requests in the order in which they came.
class RequestLane {
  public:
    [[nodiscard]] bool empty() const { return head_ == kNoRequest; }
    [[nodiscard]] RequestId front() const { return head_; }
    void push(RequestPool& pool, RequestId id) {
        pool[id].next = kNoRequest;
        (empty() ? head_ : pool[tail_].next) = id;
        tail_ = id;
    }
    RequestId pop(RequestPool& pool) {
        const RequestId id = head_;
        head_ = pool[id].next;
        return id;
    }

  private:
    RequestId head_ = kNoRequest;
    RequestId tail_ = kNoRequest;
};

/// The way there and back in time: nothing waits in it.
class WireDelay final : public Station, public Handler {
  public:
    WireDelay(Engine& engine, RequestPool& pool, Nanos delay) : engine_(engine), pool_(pool), delay_(delay) {}
    void accept(RequestId id) override { engine_.after(delay_, *this, id); }
    void fire(std::uint32_t what) override { pool_.onward(what); }

  private:
    Engine& engine_;
    RequestPool& pool_;
    Nanos delay_;
};

}  // namespace weir::sim

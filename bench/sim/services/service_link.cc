// service_link.cc - ServiceLink: one message at a time.
#include "bench/sim/services/service_link.h"

namespace weir::sim {
namespace {

constexpr std::uint32_t kTurn = 9000;

}  // namespace

std::uint32_t ServiceLink::size_of(RequestId id) {
    const ServiceRequest& request = pool_[id];
    return request.answered ? request.back : request.there;
}

void ServiceLink::accept(RequestId id) {
    const std::uint32_t connection = pool_[id].connection;
    Lane& lane = lanes_[connection];
    if (lane.waiting.empty()) {
        lane.may_send = 0;
        turns_.push_back(connection);
    }
    lane.waiting.push(pool_, id);
    if (!busy_)
        begin_next();
}

void ServiceLink::begin_next() {
    busy_ = !turns_.empty();
    if (!busy_)
        return;
    for (;;) {
        const std::uint32_t connection = turns_.front();
        Lane& lane = lanes_[connection];
        const std::uint32_t size = size_of(lane.waiting.front());
        if (lane.may_send < size) {
            lane.may_send += kTurn;
            turns_.pop_front();
            turns_.push_back(connection);
            continue;
        }
        lane.may_send -= size;
        const RequestId id = lane.waiting.pop(pool_);
        if (lane.waiting.empty())
            turns_.pop_front();
        const double time = size * nanos_per_byte_ + carried_;
        const auto whole = static_cast<Nanos>(time);
        carried_ = time - static_cast<double>(whole);
        engine_.after(whole, *this, id);
        return;
    }
}

void ServiceLink::fire(std::uint32_t what) {
    sent_bytes_ += size_of(what);
    begin_next();
    pool_.onward(what);
}

}  // namespace weir::sim

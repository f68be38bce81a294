// service_queue.cc - ServiceQueue: requests arrive, wait for a server, and are answered.
#include "bench/sim/services/service_queue.h"

#include <algorithm>

namespace weir::sim {
namespace {

constexpr double kWeightLeast = 1e-3;

}  // namespace

ServiceQueue::ServiceQueue(Engine& engine, RequestPool& pool, const ServiceSpec& spec,
                           const std::vector<double>& weights, Random random)
    : engine_(engine),
      pool_(pool),
      spec_(spec),
      random_(random),
      lanes_(std::max<std::size_t>(1, weights.size())) {
    for (std::size_t i = 0; i < weights.size(); ++i)
        lanes_[i].weight = std::max(weights[i], kWeightLeast);
}

ServiceQueue::Lane& ServiceQueue::lane_of(RequestId id) {
    return lanes_.size() == 1 ? lanes_.front() : lanes_[pool_[id].tenant];
}

void ServiceQueue::accept(RequestId id) {
    Lane& lane = lane_of(id);
    if (lane.waiting.empty())
        lane.tag = std::max(lane.tag, virtual_time_);
    lane.waiting.push(pool_, id);
    if (busy_ < spec_.servers) {
        ++busy_;
        begin(next()->waiting.pop(pool_));
    }
}

ServiceQueue::Lane* ServiceQueue::next() {
    Lane* first = nullptr;
    for (Lane& lane : lanes_)
        if (!lane.waiting.empty() && (first == nullptr || lane.tag < first->tag))
            first = &lane;
    return first;
}

void ServiceQueue::begin(RequestId id) {
    const ServiceRequest& request = pool_[id];
    Lane& lane = lane_of(id);
    virtual_time_ = lane.tag;
    lane.tag += request.tokens / lane.weight;
    const ServiceCurve& curve = request.reads ? spec_.read : spec_.write;
    Nanos time = curve.time_of(request.bytes);
    if (spec_.variation > 0)
        time =
            static_cast<Nanos>(static_cast<double>(time) * (1 + spec_.variation * (2 * random_.unit() - 1)));
    engine_.after(time, *this, id);
}

void ServiceQueue::fire(std::uint32_t what) {
    served_tokens_ += pool_[what].tokens;
    if (Lane* lane = next(); lane != nullptr)
        begin(lane->waiting.pop(pool_));
    else
        --busy_;
    pool_[what].answered |= spec_.answers;
    pool_.onward(what);
}

}  // namespace weir::sim

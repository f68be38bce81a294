// service_queue.cc - requests come, wait for a server, and are answered.
#include "bench/sim/services/service_queue.h"

namespace weir::sim {

void ServiceQueue::begin(RequestId id) {
    const ServiceRequest& request = pool_[id];
    const ServiceCurve& curve = request.reads ? spec_.read : spec_.write;
    engine_.after(curve.time_of(request.bytes), *this, id | kDone);
}

void ServiceQueue::fire(std::uint32_t what) {
    if ((what & kDone) == 0) {
        if (busy_ == spec_.servers) {
            queue_.push_back(what);
            return;
        }
        ++busy_;
        begin(what);
        return;
    }
    const RequestId id = what & ~kDone;
    served_tokens_ += pool_[id].tokens;
    engine_.after(delay_, *pool_[id].client, id);
    if (queue_.empty()) {
        --busy_;
        return;
    }
    begin(queue_.front());
    queue_.pop_front();
}

}  // namespace weir::sim

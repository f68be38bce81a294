// usage_queue.cc - first in, first billed.
#include "vswitch/agent/usage_queue.h"

namespace weir {

void UsageQueue::add(const UsageSample& sample) {
    if (samples_.size() == kMost) {
        samples_.pop_front();
        ++lost_;
    }
    samples_.push_back(sample);
}

wire::Bytes UsageQueue::say(const std::map<std::string, std::uint32_t, std::less<>>& ids, Nanos now) {
    wire::Bytes body;
    if (samples_.empty() || (said_at_ != 0 && now - said_at_ < kAgain))
        return body;
    std::uint64_t last = 0;
    std::size_t looked_at = 0;
    for (const UsageSample& sample : samples_) {
        if (looked_at >= kPerMessage && sample.usage.ended != last)
            break;
        ++looked_at;
        last = sample.usage.ended;
        const auto id = ids.find(sample.vnic);
        if (id == ids.end())
            continue;
        wire::Usage record = sample.usage;
        record.vnic = id->second;
        wire::encode(record, body);
    }
    if (body.empty())
        billed(last);
    else
        said_at_ = now;
    return body;
}

void UsageQueue::billed(std::uint64_t through) {
    said_at_ = 0;
    while (!samples_.empty() && samples_.front().usage.ended <= through)
        samples_.pop_front();
}

}  // namespace weir

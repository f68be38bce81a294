// usage_queue.cc - reports in the order of their ends, removed from the front once they are billed.
#include "vswitch/agent/usage_queue.h"

namespace weir {
namespace {

/// A record that no controller can read would stay at the front of the queue.
bool is_readable(const wire::Usage& usage) {
    return usage.began < usage.ended && usage.ended < wire::kUsageMax && usage.promised < wire::kUsageMax &&
           usage.delivered < wire::kUsageMax;
}

}  // namespace

void UsageQueue::add(const UsageReport& usage) {
    if (!is_readable(usage.usage))
        return give_up(usage);
    if (reports_.size() == kReportsMax) {
        give_up(reports_.front().report);
        reports_.pop_front();
    }
    reports_.push_back({usage});
}

void UsageQueue::give_up(const UsageReport& report) {
    ++unbilled_.periods;
    unbilled_.bytes += report.usage.delivered;
}

wire::Bytes UsageQueue::next_message(const std::map<std::string, std::uint32_t, std::less<>>& ids,
                                     Nanos now) {
    wire::Bytes body;
    if (reports_.empty() || (sent_at_ != 0 && now - sent_at_ < kResendAfter))
        return body;
    std::uint64_t last_end = 0;
    std::size_t records = 0;
    for (auto& [report, sent] : reports_) {
        if (records >= kRecordsPerMessage && report.usage.ended != last_end)
            break;
        ++records;
        last_end = report.usage.ended;
        const auto id = ids.find(report.vnic);
        if (id == ids.end())
            continue;
        sent = true;
        wire::Usage record = report.usage;
        record.vnic = id->second;
        wire::encode(record, body);
    }
    if (body.empty())
        on_billed(last_end);
    else
        sent_at_ = now;
    return body;
}

std::set<std::string> UsageQueue::vnics() const {
    std::set<std::string> names;
    for (const Waiting& waiting : reports_)
        names.insert(waiting.report.vnic);
    return names;
}

void UsageQueue::on_billed(std::uint64_t through) {
    sent_at_ = 0;
    while (!reports_.empty() && reports_.front().report.usage.ended <= through) {
        if (!reports_.front().sent)
            give_up(reports_.front().report);
        reports_.pop_front();
    }
}

}  // namespace weir

// rls_scheduler.cc - RlsScheduler: two heaps of tags, whose stale entries are mended when they reach the top.
#include "vswitch/qos/schedulers/rls_scheduler.h"

#include <memory>

namespace weir {

std::unique_ptr<LinkScheduler> make_rls(const SchedulerSetup& setup) {
    return std::make_unique<RlsScheduler>(setup);
}

RlsScheduler::RlsScheduler(const Setup& setup)
    : LinkScheduler(setup), by_due_(setup.classes), by_share_(setup.classes), tags_(setup.classes) {}

std::size_t RlsScheduler::dequeue_burst(Nanos now, std::span<PacketRef> out) {
    std::size_t sent = 0;
    while (sent < out.size()) {
        if (any_due(now)) {
            if (!link_.debt_within(kDebtMax, now))
                break;
            sent += serve_due(now, out[sent]) ? 1 : 0;
        } else if (any_by_share()) {
            if (!link_.can_pay(front_bytes(by_share_.top()), now))
                break;
            sent += serve_by_share(now, out[sent]) ? 1 : 0;
        } else {
            break;
        }
    }
    return sent;
}

bool RlsScheduler::any_due(Nanos now) {
    if (to_fine(now) - due_base_ > kBaseMax) [[unlikely]]
        move_due_base(now);
    while (!by_due_.empty() && by_due_.top_tag() <= to_fine(now) - due_base_) {
        const VnicId id = by_due_.top();
        const Tags& tags = tags_[id];
        if (!tags.contends || tags.due.never())
            by_due_.pop();
        else if (!by_due_.is_top(id, due_tag(tags.due)))
            by_due_.raise_top(due_tag(tags.due));
        else
            return tags.due.has_come(now);
    }
    return false;
}

bool RlsScheduler::any_by_share() {
    while (!by_share_.empty()) {
        const VnicId id = by_share_.top();
        const Tags& tags = tags_[id];
        if (!tags.contends)
            by_share_.pop();
        else if (!by_share_.is_top(id, tags.share))
            by_share_.raise_top(tags.share);
        else
            return true;
    }
    return false;
}

bool RlsScheduler::serve_due(Nanos now, PacketRef& out) {
    const VnicId id = by_due_.top();
    if (!send_front(id, now, out))
        return false;
    Tags& tags = tags_[id];
    tags.due.depart_due(out.bytes, now);
    tags.share = std::min(tags.share + tags.weight.price(out.bytes),
                          std::max(tags.share, virtual_ + tags.weight.burst_time));
    return true;
}

bool RlsScheduler::serve_by_share(Nanos now, PacketRef& out) {
    constexpr FineTime kVirtualMax = FineTime{1} << 62;
    const VnicId id = by_share_.top();
    if (!send_front(id, now, out))
        return false;
    Tags& tags = tags_[id];
    virtual_ = tags.share;
    tags.share += tags.weight.price(out.bytes);
    if (virtual_ > kVirtualMax)
        move_virtual_time_back();
    return true;
}

void RlsScheduler::move_virtual_time_back() {
    by_share_.clear();
    for (std::size_t i = 0; i < tags_.size(); ++i) {
        Tags& tags = tags_[i];
        tags.share = std::max(tags.share, virtual_) - virtual_;
        if (tags.contends)
            by_share_.put(static_cast<VnicId>(i), tags.share);
    }
    virtual_ = 0;
}

/// Never back: `now` is ahead of the base, and with it each tag that is not due yet.
void RlsScheduler::move_due_base(Nanos now) {
    by_due_.clear();
    due_base_ = to_fine(now);
    for (std::size_t i = 0; i < tags_.size(); ++i)
        if (tags_[i].contends && !tags_[i].due.never())
            by_due_.put(static_cast<VnicId>(i), due_tag(tags_[i].due));
}

void RlsScheduler::join(VnicId id, Nanos now) {
    Class& c = classes_[id];
    Tags& tags = tags_[id];
    tags.contends = true;
    tags.share = std::max(tags.share, virtual_);
    by_share_.put(id, tags.share);
    if (c.reserved.profile() != tags.due.profile())
        tags.due.set_profile(c.reserved.profile(), now);
    if (tags.due.never())
        return;
    if (c.bypassed != 0) {  // bytes that went past the queues since it last contended
        tags.due.depart(static_cast<std::uint32_t>(std::min<std::uint64_t>(c.bypassed, UINT32_MAX)), now);
        c.bypassed = 0;
    }
    by_due_.put(id, due_tag(tags.due));
}

void RlsScheduler::leave(VnicId id) {
    tags_[id].contends = false;
}

void RlsScheduler::shares_changed(Nanos /*now*/) {
    // log2 of the bytes/s of virtual time per share: a byte costs a class with 10,000 shares 24 ns of virtual
    // time, and one with a single share 0.24 ms.
    constexpr unsigned kShareBits = 12;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        const ClassProfile& profile = classes_[i].profile;
        if (!classes_[i].present) {
            tags_[i] = {};
            continue;
        }
        tags_[i].weight =
            make_profile(std::uint64_t{profile.shares} << kShareBits, profile.burst_at(profile.reservation));
    }
}

Nanos RlsScheduler::next_ready(Nanos now) const {
    if (contenders_ == 0)
        return kNever;
    Nanos at = kNever;
    if (!by_due_.empty()) {
        const Nanos due = to_nanos(due_base_ + by_due_.top_tag(), now);
        at = std::max(due, link_.debt_within_at(kDebtMax, now));
    }
    const VnicId next = by_share_.top();
    at = std::min(at, tags_[next].contends ? link_.ready_at(front_bytes(next), now) : now);
    return at == kNever ? kNever : std::max(at, now);
}

}  // namespace weir

// fulfillment_scheduler.cc - FulfillmentScheduler: a round robin over due classes, and one over all for the
// rest.
#include "vswitch/qos/schedulers/fulfillment_scheduler.h"

#include <memory>

namespace weir {

std::unique_ptr<LinkScheduler> make_fulfillment(const SchedulerSetup& setup) {
    return std::make_unique<FulfillmentScheduler>(setup);
}

FulfillmentScheduler::FulfillmentScheduler(const Setup& setup)
    : LinkScheduler(setup), later_(static_cast<std::uint32_t>(setup.classes)), promises_(setup.classes) {}

std::size_t FulfillmentScheduler::dequeue_burst(Nanos now, std::span<PacketRef> out) {
    if (later_.next_due() <= now)
        fire(now);
    const std::size_t sent = serve_due(now, out);
    // Due classes that are left wait for the link: a smaller packet of another class must not overtake them.
    return due_.empty() ? sent + serve_spare(now, out.subspan(sent)) : sent;
}

std::size_t FulfillmentScheduler::serve_due(Nanos now, std::span<PacketRef> out) {
    const auto account = [this](std::size_t id) -> DrrAccount& { return promises_[id].account; };
    const auto first_bytes = [this](std::size_t id) { return front_bytes(id); };
    std::size_t sent = 0;
    while (sent < out.size() && !due_.empty()) {
        const Turns::Turn turn = due_turns_.select(due_, account, first_bytes);
        if (!link_pays_due(turn.bytes, now))
            break;
        turn.account.deficit -= turn.bytes;
        const auto id = static_cast<VnicId>(turn.member);
        if (!send_front(id, now, out[sent]))
            continue;
        due_turns_.sent();
        ++sent;
        Promise& promise = promises_[id];
        promise.due.depart_due(turn.bytes, now);
        if (!active_.test(id) || promise.due.has_come(now))
            continue;
        due_.clear(id);
        promise.account.deficit = 0;
        due_turns_.end_turn(id);
        sort(id, now);
    }
    return sent;
}

std::size_t FulfillmentScheduler::serve_spare(Nanos now, std::span<PacketRef> out) {
    const auto account = [this](std::size_t id) -> DrrAccount& { return classes_[id].by_shares; };
    const auto first_bytes = [this](std::size_t id) { return front_bytes(id); };
    std::size_t sent = 0;
    while (sent < out.size() && !active_.empty()) {
        const Turns::Turn turn = spare_turns_.select(active_, account, first_bytes);
        if (!link_.can_pay(turn.bytes, now))
            break;
        turn.account.deficit -= turn.bytes;
        const auto id = static_cast<VnicId>(turn.member);
        if (!send_front(id, now, out[sent]))
            continue;
        spare_turns_.sent();
        ++sent;
        if (!promises_[id].due.never())
            promises_[id].due.depart(turn.bytes, now);
    }
    return sent;
}

void FulfillmentScheduler::join(VnicId id, Nanos now) {
    Class& c = classes_[id];
    Promise& promise = promises_[id];
    active_.set(id);
    if (promise.due.never())
        return;
    promise.counted = c.profile.reservation;
    wanted_ += promise.counted;
    if (c.bypassed != 0) {  // bytes that went past the queues since it last contended
        promise.due.depart(static_cast<std::uint32_t>(std::min<std::uint64_t>(c.bypassed, UINT32_MAX)), now);
        c.bypassed = 0;
    }
    sort(id, now);
}

/// Its entry in the wheel stays: a time-to-send only moves later, so the entry fires early at worst.
void FulfillmentScheduler::leave(VnicId id) {
    Promise& promise = promises_[id];
    active_.clear(id);
    due_.clear(id);
    wanted_ -= promise.counted;
    promise.counted = 0;
    promise.account.deficit = 0;
    due_turns_.end_turn(id);
    end_share_turn(spare_turns_, id);
}

void FulfillmentScheduler::shares_changed(Nanos now) {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        const ClassProfile& profile = classes_[i].profile;
        const std::uint64_t rate = classes_[i].present ? profile.reservation : 0;
        Promise& promise = promises_[i];
        const BucketProfile guarantee = make_profile(rate, profile.burst_at(rate));
        if (guarantee == promise.due.profile())
            continue;
        promise.due.set_profile(guarantee, now);
        if (promise.waiting)  // it may be due earlier now
            later_.remove(static_cast<std::uint32_t>(i));
        promise.waiting = false;
    }
    set_share_quanta();
    set_guarantee_quanta();
}

void FulfillmentScheduler::set_guarantee_quanta() {
    std::uint64_t rate = 1;
    for (const Class& c : classes_)
        rate = c.present ? std::max(rate, c.profile.reservation) : rate;
    for (std::size_t i = 0; i < classes_.size(); ++i)
        promises_[i].account.quantum = std::max<std::uint64_t>(
            1, static_cast<std::uint64_t>(Wide{quantum_} * classes_[i].profile.reservation / rate));
}

void FulfillmentScheduler::sort(VnicId id, Nanos now) {
    Promise& promise = promises_[id];
    if (promise.due.has_come(now)) {
        due_.set(id);
    } else if (!promise.waiting) {
        promise.waiting = true;
        later_.insert(id, promise.due.at(now), now);
    }
}

void FulfillmentScheduler::fire(Nanos now) {
    later_.advance(now, kFireBudget, [this, now](TimingWheel::Ids ids) {
        for (const std::uint32_t id : ids) {
            promises_[id].waiting = false;
            if (active_.test(id) && !promises_[id].due.never())
                sort(static_cast<VnicId>(id), now);
        }
    });
}

Nanos FulfillmentScheduler::next_ready(Nanos now) const {
    if (active_.empty())
        return kNever;
    Nanos at = later_.next_due();
    const bool any_due = !due_.empty();
    if (any_due && wanted_ <= capacity()) {
        at = std::min(at, link_.debt_within_at(kDebtMax, now));
    } else {
        const std::size_t next = any_due ? due_turns_.next(due_) : spare_turns_.next(active_);
        at = std::min(at, link_.ready_at(front_bytes(next), now));
    }
    return at == kNever ? kNever : std::max(at, now);
}

}  // namespace weir

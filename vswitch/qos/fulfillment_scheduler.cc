// fulfillment_scheduler.cc - a round robin over who is due, and one over the rest for what is left.
#include "vswitch/qos/fulfillment_scheduler.h"

namespace weir {
namespace {

/// 2^16 quanta of one byte are a super-frame.
constexpr unsigned kBoostMax = 16;
/// Classes whose time comes in one call; the rest comes in the next.
constexpr unsigned kFireBudget = 64;

}  // namespace

FulfillmentScheduler::FulfillmentScheduler(const Setup& setup)
    : LinkScheduler(setup),
      quantum_(setup.quantum),
      later_(static_cast<std::uint32_t>(setup.classes)),
      promises_(setup.classes) {}

std::size_t FulfillmentScheduler::dequeue_burst(Nanos now, std::span<PacketRef> out) {
    if (later_.next_due() <= now)
        fire(now);
    const std::size_t sent = serve_due(now, out);
    // The link is what those that are due wait for: a smaller packet of somebody else does not overtake.
    return due_.empty() ? sent + serve_spare(now, out.subspan(sent)) : sent;
}

std::size_t FulfillmentScheduler::serve_due(Nanos now, std::span<PacketRef> out) {
    std::size_t sent = 0;
    while (sent < out.size() && !due_.empty()) {
        if (!due_round_.in_turn) {
            const unsigned boost = next_turn(due_round_, due_);
            Promise& next = promises_[due_round_.turn];
            next.deficit += next.quantum << boost;
        }
        const auto id = static_cast<VnicId>(due_round_.turn);
        Promise& promise = promises_[id];
        const std::uint32_t bytes = front(classes_[id]).bytes;
        if (promise.deficit < bytes) {
            due_round_.in_turn = false;
            continue;
        }
        if (!link_takes(bytes, now))
            break;
        promise.deficit -= bytes;
        if (!send_front(id, now, out[sent]))
            continue;
        due_round_.served = true;
        ++sent;
        promise.due.depart(bytes, now);
        if (active_.test(id) && !promise.due.has_come(now)) {
            due_.clear(id);
            promise.deficit = 0;
            due_round_.in_turn = false;
            sort(id, now);
        }
    }
    return sent;
}

std::size_t FulfillmentScheduler::serve_spare(Nanos now, std::span<PacketRef> out) {
    std::size_t sent = 0;
    while (sent < out.size() && !active_.empty()) {
        if (!spare_round_.in_turn) {
            const unsigned boost = next_turn(spare_round_, active_);
            Class& next = classes_[spare_round_.turn];
            next.deficit += next.quantum << boost;
        }
        const auto id = static_cast<VnicId>(spare_round_.turn);
        Class& c = classes_[id];
        const std::uint32_t bytes = front(c).bytes;
        if (c.deficit < bytes) {
            spare_round_.in_turn = false;
            continue;
        }
        if (!link_.can_pay(bytes, now))
            break;
        c.deficit -= bytes;
        if (!send_front(id, now, out[sent]))
            continue;
        spare_round_.served = true;
        ++sent;
        if (!promises_[id].due.never())
            promises_[id].due.depart(bytes, now);
    }
    return sent;
}

/// A round in which no class could send doubles what the next one adds, for all alike: few rounds reach any
/// packet. @return the boost
unsigned FulfillmentScheduler::next_turn(Round& round, const BitmapTree<kClassesMax>& members) {
    std::size_t next = members.find_from(round.turn + 1);
    if (next == BitmapTree<kClassesMax>::kNone) {
        next = members.find_from(0);
        round.boost = round.served ? 0 : std::min(round.boost + 1, kBoostMax);
        round.served = false;
    }
    round.turn = next;
    round.in_turn = true;
    return round.boost;
}

void FulfillmentScheduler::join(VnicId id, Nanos now) {
    Class& c = classes_[id];
    Promise& promise = promises_[id];
    active_.set(id);
    if (promise.due.never())
        return;
    promise.counted = c.profile.reservation;
    wanted_ += promise.counted;
    if (c.bypassed != 0) {  // what went past the queues since it contended last
        promise.due.depart(static_cast<std::uint32_t>(std::min<std::uint64_t>(c.bypassed, UINT32_MAX)), now);
        c.bypassed = 0;
    }
    sort(id, now);
}

/// Its entry in the wheel stays: times-to-send move later only, so that when it fires it is early at worst.
void FulfillmentScheduler::leave(VnicId id) {
    Promise& promise = promises_[id];
    active_.clear(id);
    due_.clear(id);
    wanted_ -= promise.counted;
    promise.counted = 0;
    promise.deficit = 0;
    if (!has_ready(classes_[id]) || classes_[id].limited)
        classes_[id].deficit = 0;
    if (due_round_.turn == id)
        due_round_.in_turn = false;
    if (spare_round_.turn == id)
        spare_round_.in_turn = false;
}

void FulfillmentScheduler::shares_changed() {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        const ClassProfile& profile = classes_[i].profile;
        const std::uint64_t rate = classes_[i].present ? profile.reservation : 0;
        const std::uint64_t burst =
            profile.reservation_burst != 0 ? profile.reservation_burst : burst_for_rate(rate);
        Promise& promise = promises_[i];
        const BucketProfile guarantee = make_profile(rate, burst);
        if (guarantee == promise.due.profile())
            continue;
        promise.due.set_profile(guarantee);
        if (promise.waiting)  // its time may come earlier now
            later_.remove(static_cast<std::uint32_t>(i));
        promise.waiting = false;
    }
    set_quanta();
}

void FulfillmentScheduler::set_quanta() {
    std::uint32_t shares = 1;
    std::uint64_t rate = 1;
    for (const Class& c : classes_) {
        shares = c.present ? std::max(shares, c.profile.shares) : shares;
        rate = c.present ? std::max(rate, c.profile.reservation) : rate;
    }
    const std::uint64_t unit = std::max<std::uint64_t>(1, quantum_ / shares);
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        Class& c = classes_[i];
        c.quantum = std::max<std::uint64_t>(1, unit * c.profile.shares);
        promises_[i].quantum = std::max<std::uint64_t>(
            1, static_cast<std::uint64_t>(Wide{quantum_} * c.profile.reservation / rate));
    }
}

void FulfillmentScheduler::sort(VnicId id, Nanos now) {
    Promise& promise = promises_[id];
    if (promise.due.has_come(now)) {
        due_.set(id);
    } else if (!promise.waiting) {
        promise.waiting = true;
        later_.insert(id, promise.due.at(), now);
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
        at = std::min(at, link_.debt_within_at(kDebtMax));
    } else {
        const Round& round = any_due ? due_round_ : spare_round_;
        const BitmapTree<kClassesMax>& members = any_due ? due_ : active_;
        const std::size_t next = round.in_turn ? round.turn : members.find_cyclic(round.turn + 1);
        at = std::min(at, link_.ready_at(front(classes_[next]).bytes));
    }
    return at == kNever ? kNever : std::max(at, now);
}

}  // namespace weir

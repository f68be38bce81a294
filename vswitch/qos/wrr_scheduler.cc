// wrr_scheduler.cc - two round robins over bitmaps: a class that has nothing to send costs nothing.
#include "vswitch/qos/wrr_scheduler.h"

#include <algorithm>

namespace weir {
namespace {

/// 2^16 quanta of one byte are a super-frame.
constexpr unsigned kBoostMax = 16;
/// Reservations that fire in one call; the rest comes in the next.
constexpr unsigned kFireBudget = 64;

}  // namespace

WrrScheduler::WrrScheduler(const Setup& setup)
    : LinkScheduler(setup),
      quantum_(setup.quantum),
      reservations_(static_cast<std::uint32_t>(setup.classes)),
      waiting_(setup.classes) {}

std::size_t WrrScheduler::dequeue_burst(Nanos now, std::span<PacketRef> out) {
    if (reservations_.next_due() <= now)
        fire_reservations(now);
    const std::size_t reserved = serve_reserved(now, out);
    return reserved + serve_spare(now, out.subspan(reserved));
}

std::size_t WrrScheduler::serve_reserved(Nanos now, std::span<PacketRef> out) {
    std::size_t sent = 0;
    while (sent < out.size() && !paying_.empty() && link_.debt_within(kDebtMax, now)) {
        const std::size_t found = paying_.find_cyclic(reserved_turn_);
        const auto id = static_cast<VnicId>(found);
        reserved_turn_ = found + 1;
        if (!send_front(id, now, out[sent]))
            continue;
        ++sent;
        if (active_.test(id)) {
            paying_.clear(id);
            sort_reservation(id, now);
        }
    }
    return sent;
}

std::size_t WrrScheduler::serve_spare(Nanos now, std::span<PacketRef> out) {
    std::size_t sent = 0;
    while (sent < out.size() && !active_.empty()) {
        if (!in_turn_)
            next_turn();
        const auto id = static_cast<VnicId>(turn_);
        Class& c = classes_[id];
        const std::uint32_t bytes = front(c).bytes;
        if (c.deficit < bytes) {
            in_turn_ = false;
            continue;
        }
        if (!link_.can_pay(bytes, now))
            break;
        c.deficit -= bytes;
        if (!send_front(id, now, out[sent]))
            continue;
        round_served_ = true;
        ++sent;
    }
    return sent;
}

/// A round in which no class could send doubles what the next one adds, for all alike: few rounds reach any
/// packet.
void WrrScheduler::next_turn() {
    std::size_t next = active_.find_from(turn_ + 1);
    if (next == active_.kNone) {
        next = active_.find_from(0);
        boost_ = round_served_ ? 0 : std::min(boost_ + 1, kBoostMax);
        round_served_ = false;
    }
    turn_ = next;
    in_turn_ = true;
    Class& c = classes_[turn_];
    c.deficit += c.quantum << boost_;
}

void WrrScheduler::join(VnicId id, Nanos now) {
    active_.set(id);
    sort_reservation(id, now);
}

void WrrScheduler::leave(VnicId id) {
    active_.clear(id);
    paying_.clear(id);
    if (waiting_[id]) {
        waiting_[id] = false;
        reservations_.remove(id);
    }
    if (!has_ready(classes_[id]) || classes_[id].limited)
        classes_[id].deficit = 0;
    if (turn_ == id)
        in_turn_ = false;
}

void WrrScheduler::shares_changed() {
    std::uint32_t most = 1;
    for (const Class& c : classes_)
        most = c.present ? std::max(most, c.profile.shares) : most;
    const std::uint64_t unit = std::max<std::uint64_t>(1, quantum_ / most);
    for (Class& c : classes_)
        c.quantum = std::max<std::uint64_t>(1, unit * c.profile.shares);
}

void WrrScheduler::sort_reservation(VnicId id, Nanos now) {
    const Class& c = classes_[id];
    const Nanos at = c.reserved.ready_at(front(c).bytes);
    if (at <= now) {
        paying_.set(id);
    } else if (at != kNever) {
        waiting_[id] = true;
        reservations_.insert(id, at, now);
    }
}

void WrrScheduler::fire_reservations(Nanos now) {
    reservations_.advance(now, kFireBudget, [this, now](TimingWheel::Ids ids) {
        for (const std::uint32_t id : ids) {
            waiting_[id] = false;
            sort_reservation(static_cast<VnicId>(id), now);
        }
    });
}

Nanos WrrScheduler::next_ready(Nanos now) const {
    Nanos at = reservations_.next_due();
    if (!paying_.empty())
        at = std::min(at, link_.debt_within_at(kDebtMax));
    if (!active_.empty()) {
        const std::size_t next = in_turn_ ? turn_ : active_.find_cyclic(turn_ + 1);
        at = std::min(at, link_.ready_at(front(classes_[next]).bytes));
    }
    return at == kNever ? kNever : std::max(at, now);
}

}  // namespace weir

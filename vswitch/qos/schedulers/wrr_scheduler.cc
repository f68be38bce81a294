// wrr_scheduler.cc - WrrScheduler: two round robins over bitmaps, so that only contending classes cost time.
#include "vswitch/qos/schedulers/wrr_scheduler.h"

#include <algorithm>
#include <memory>

namespace weir {

std::unique_ptr<LinkScheduler> make_wrr(const SchedulerSetup& setup) {
    return std::make_unique<WrrScheduler>(setup);
}

WrrScheduler::WrrScheduler(const Setup& setup)
    : LinkScheduler(setup),
      reservations_(static_cast<std::uint32_t>(setup.classes)),
      waiting_(setup.classes) {}

std::size_t WrrScheduler::dequeue_burst(Nanos now, std::span<PacketRef> out) {
    if (reservations_.next_due() <= now)
        fire_reservations(now);
    const std::size_t reserved = serve_reserved(now, out);
    return reserved + serve_by_shares(now, out.subspan(reserved));
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

std::size_t WrrScheduler::serve_by_shares(Nanos now, std::span<PacketRef> out) {
    const auto account = [this](std::size_t id) -> DrrAccount& { return classes_[id].by_shares; };
    const auto first_bytes = [this](std::size_t id) { return front_bytes(id); };
    std::size_t sent = 0;
    while (sent < out.size() && !active_.empty()) {
        const Turns::Turn turn = turns_.select(active_, account, first_bytes);
        if (!link_.can_pay(turn.bytes, now))
            break;
        turn.account.deficit -= turn.bytes;
        if (!send_front(static_cast<VnicId>(turn.member), now, out[sent]))
            continue;
        turns_.sent();
        ++sent;
    }
    return sent;
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
    end_share_turn(turns_, id);
}

void WrrScheduler::shares_changed(Nanos /*now*/) {
    set_share_quanta();
}

void WrrScheduler::sort_reservation(VnicId id, Nanos now) {
    const Class& c = classes_[id];
    const Nanos at = c.reserved.ready_at(front(c).bytes, now);
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
        at = std::min(at, link_.debt_within_at(kDebtMax, now));
    if (!active_.empty())
        at = std::min(at, link_.ready_at(front_bytes(turns_.next(active_)), now));
    return at == kNever ? kNever : std::max(at, now);
}

}  // namespace weir

// link_scheduler.cc - classes come, change, wait for their limit and go.
#include "vswitch/qos/link_scheduler.h"

#include "vswitch/qos/water_fill.h"

namespace weir {

LinkScheduler::LinkScheduler(const Setup& setup) : limits_(*setup.limits), wheel_id_(setup.wheel_id) {
    assert(setup.classes <= kClassesMax);
    classes_.reserve(setup.classes);
    for (std::size_t i = 0; i < setup.classes; ++i)
        classes_.emplace_back(setup.queue_packets);
}

void LinkScheduler::add(VnicId id, const ClassProfile& profile, Limiter* limiter, Nanos now) {
    Class& c = classes_[id];
    assert(!c.present && c.queue.empty());
    c.present = true;
    c.limiter = limiter;
    c.profile = profile;
    c.profile.reservation = 0;
    c.deficit = 0;
    c.reserved = TokenBucket(make_profile(0, 0));
    change(id, profile, now);
}

void LinkScheduler::change(VnicId id, const ClassProfile& profile, Nanos now) {
    Class& c = classes_[id];
    assert(c.present);
    const std::uint64_t before = c.profile.reservation;
    c.profile = profile;
    if (profile.reservation != before) {
        const bool was_scaled = reserved_ > capacity_;
        reserved_ += profile.reservation - before;
        if (was_scaled || reserved_ > capacity_)
            rescale_reservations(now);
        else
            set_reservation(c, now);
    }
    shares_changed();
    if (!c.queue.empty()) {  // its reservation or its limit may pay earlier now
        forget(id);
        start(id, now);
    }
}

void LinkScheduler::remove(VnicId id, Nanos now) {
    Class& c = classes_[id];
    assert(c.present && c.queue.empty());
    ClassProfile nothing = c.profile;
    nothing.reservation = 0;
    change(id, nothing, now);
    c.present = false;
    c.limiter = nullptr;
    shares_changed();
}

void LinkScheduler::set_capacity(std::uint64_t tokens_per_sec, Nanos now) {
    if (tokens_per_sec == capacity_)
        return;
    const bool was_scaled = reserved_ > capacity_;
    capacity_ = tokens_per_sec;
    link_.set_profile(make_profile(tokens_per_sec, burst_for_link(tokens_per_sec)), now);
    if (was_scaled || reserved_ > capacity_)
        rescale_reservations(now);
}

void LinkScheduler::set_reservation(Class& c, Nanos now) {
    const std::uint64_t rate = scale_down(c.profile.reservation, capacity_, reserved_);
    c.reserved.set_profile(make_profile(rate, burst_for_rate(rate)), now);
}

void LinkScheduler::rescale_reservations(Nanos now) {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        Class& c = classes_[i];
        if (!c.present)
            continue;
        set_reservation(c, now);
        if (!c.queue.empty() && !c.limited) {  // it may be entitled earlier now
            stop(static_cast<VnicId>(i));
            start(static_cast<VnicId>(i), now);
        }
    }
}

bool LinkScheduler::enqueue(VnicId id, const PacketRef& packet, Nanos now) {
    Class& c = classes_[id];
    const bool was_empty = c.queue.empty();
    if (!c.queue.push(packet))
        return false;
    ++packets_;
    if (was_empty)
        start(id, now);
    return true;
}

void LinkScheduler::wait_for_limit(VnicId id, Nanos now) {
    Class& c = classes_[id];
    c.limited = true;
    stop(id);
    const Nanos at = c.limiter->ready_at(costs(c.queue.front()));
    if (at != kNever)  // a parked class waits for change()
        limits_.insert(wheel_id_ + id, at, now);
}

void LinkScheduler::wake(VnicId id, Nanos now) {
    Class& c = classes_[id];
    if (!c.limited)
        return;
    const Nanos at = c.limiter->ready_at(costs(c.queue.front()));
    if (at > now) {  // it was beyond the wheel's horizon
        limits_.insert(wheel_id_ + id, at, now);
        return;
    }
    c.limited = false;
    start(id, now);
}

/// Takes a backlogged class out of the contest, or out of the wheel.
void LinkScheduler::forget(VnicId id) {
    Class& c = classes_[id];
    if (!c.limited) {
        stop(id);
        return;
    }
    c.limited = false;
    limits_.remove(wheel_id_ + id);
}

}  // namespace weir

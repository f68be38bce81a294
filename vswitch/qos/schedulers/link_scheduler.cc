// link_scheduler.cc - LinkScheduler: adding, changing and waking classes and destinations.
#include "vswitch/qos/schedulers/link_scheduler.h"

#include <array>

#include "common/water_fill.h"
#include "vswitch/qos/schedulers/registry.h"

namespace weir {

LinkScheduler::LinkScheduler(const Setup& setup)
    : quantum_(setup.quantum),
      wheel_(*setup.wheel),
      class_wheel_id_(setup.class_wheel_id),
      destinations_(setup.destinations, setup.destination_packets, *setup.wheel, setup.destination_wheel_id) {
    assert(setup.classes <= kClassesMax);
    classes_.reserve(setup.classes);
    for (std::size_t i = 0; i < setup.classes; ++i)
        classes_.emplace_back(setup.queue_packets);
}

void LinkScheduler::add(VnicId id, const ClassProfile& profile, Limiter* limiter, Nanos now) {
    Class& c = classes_[id];
    assert(!c.present && !c.queue.has_ready());
    c.present = true;
    c.limiter = limiter;
    c.profile = profile;
    c.profile.reservation = 0;
    c.by_shares.deficit = 0;
    c.reserved = TokenBucket(make_profile(0, 0));
    change(id, profile, now);
}

void LinkScheduler::change(VnicId id, const ClassProfile& profile, Nanos now) {
    Class& c = classes_[id];
    assert(c.present);
    const std::uint64_t before = c.profile.reservation;
    const bool same =
        profile.reservation == before && profile.reservation_burst == c.profile.reservation_burst;
    c.profile = profile;
    if (!same) {
        const bool was_scaled = reserved_ > reservable_;
        reserved_ += profile.reservation - before;
        if (was_scaled || reserved_ > reservable_)
            rescale_reservations(now);
        else
            set_reservation(c, now);
    }
    shares_changed(now);
    if (c.queue.has_ready()) {  // its reservation or its limit may pay earlier now
        withdraw(id);
        start_contending(id, now);
    }
}

void LinkScheduler::remove(VnicId id, Nanos now) {
    Class& c = classes_[id];
    assert(c.present && !c.queue.has_ready());
    ClassProfile nothing = c.profile;
    nothing.reservation = 0;
    change(id, nothing, now);
    c.present = false;
    c.limiter = nullptr;
    shares_changed(now);
}

void LinkScheduler::set_capacity(std::uint64_t tokens_per_sec, std::uint64_t reservable, Nanos now) {
    if (tokens_per_sec != capacity_) {
        capacity_ = tokens_per_sec;
        link_.set_profile(make_profile(tokens_per_sec, burst_for_link(tokens_per_sec)), now);
    }
    if (reservable == reservable_)
        return;
    const bool was_scaled = reserved_ > reservable_;
    reservable_ = reservable;
    if (was_scaled || reserved_ > reservable_)
        rescale_reservations(now);
}

void LinkScheduler::set_reservation(Class& c, Nanos now) {
    const std::uint64_t rate = scale_down(c.profile.reservation, reservable_, reserved_);
    c.reserved.set_profile(make_profile(rate, c.profile.burst_at(rate)), now);
}

void LinkScheduler::rescale_reservations(Nanos now) {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        Class& c = classes_[i];
        if (!c.present)
            continue;
        set_reservation(c, now);
        if (c.queue.has_ready() && !c.limited) {  // it may be entitled earlier now
            stop_contending(static_cast<VnicId>(i));
            start_contending(static_cast<VnicId>(i), now);
        }
    }
}

void LinkScheduler::set_share_quanta() {
    std::uint32_t most = 1;
    for (const Class& c : classes_)
        most = c.present ? std::max(most, c.profile.shares) : most;
    const std::uint64_t unit = std::max<std::uint64_t>(1, quantum_ / most);
    for (Class& c : classes_)
        c.by_shares.quantum = std::max<std::uint64_t>(1, unit * c.profile.shares);
}

bool LinkScheduler::enqueue(VnicId id, const PacketRef& packet, Nanos now) {
    PacketQueue& own = classes_[id].queue.own;
    if (!own.push(packet))
        return false;
    ++packets_;
    if (own.packets() == 1)
        append_ready(id, ClassQueue::kOwn, now);
    return true;
}

bool LinkScheduler::enqueue(VnicId id, DestinationId at, const PacketRef& packet, Nanos now) {
    const DestinationQueues::Queue& queue = destinations_[at];
    if (queue.bytes >= classes_[id].profile.queue_bytes_max ||
        queue.packets >= DestinationQueues::kPacketsMax || !destinations_.push(at, packet))
        return false;
    ++packets_;
    if (queue.packets == 1)
        place(at, now);
    return true;
}

void LinkScheduler::wake_destination(DestinationId at, Nanos now) {
    if (destinations_[at].blocked)  // it may have to wait on: beyond the wheel's horizon, or at a lower rate
        place(at, now);
}

/// A destination that is ready stays so: it pays the debt later.
void LinkScheduler::rate_changed(DestinationId at, Nanos now) {
    if (!destinations_[at].blocked)
        return;
    destinations_.unblock(at);
    place(at, now);
}

void LinkScheduler::wait_for_limit(VnicId id, Nanos now) {
    Class& c = classes_[id];
    c.limited = true;
    stop_contending(id);
    const Nanos at = c.limiter->ready_at(costs(front(c)), now);
    if (at != kNever)  // a class whose limit is 0 waits for change()
        wheel_.insert(class_wheel_id_ + id, at, now);
}

void LinkScheduler::wake(VnicId id, Nanos now) {
    Class& c = classes_[id];
    if (!c.limited)
        return;
    const Nanos at = c.limiter->ready_at(costs(front(c)), now);
    if (at > now) {  // it was beyond the wheel's horizon
        wheel_.insert(class_wheel_id_ + id, at, now);
        return;
    }
    c.limited = false;
    start_contending(id, now);
}

/// Takes a class with a ready packet out of the contest, or out of the wheel.
void LinkScheduler::withdraw(VnicId id) {
    Class& c = classes_[id];
    if (!c.queue.has_ready())
        return;
    if (!c.limited) {
        stop_contending(id);
        return;
    }
    c.limited = false;
    wheel_.remove(class_wheel_id_ + id);
}

// The table of registry.h: a maker for each entry.
#define WEIR_DECLARE_SCHEDULER(name, summary) \
    std::unique_ptr<LinkScheduler> make_##name(const SchedulerSetup& setup);
WEIR_SCHEDULERS(WEIR_DECLARE_SCHEDULER)
#undef WEIR_DECLARE_SCHEDULER

std::unique_ptr<LinkScheduler> make_scheduler(const SchedulerEntry& entry, const SchedulerSetup& setup) {
#define WEIR_SCHEDULER_MAKER(name, summary) make_##name,
    constexpr std::array kMakers{WEIR_SCHEDULERS(WEIR_SCHEDULER_MAKER)};
#undef WEIR_SCHEDULER_MAKER
    return kMakers[static_cast<std::size_t>(&entry - kSchedulers.data())](setup);
}

}  // namespace weir

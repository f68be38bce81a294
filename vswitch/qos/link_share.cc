// link_share.cc - LinkShare: water filling over the workers' demands.
#include "vswitch/qos/link_share.h"

#include <algorithm>
#include <span>

#include "common/water_fill.h"

namespace weir {

LinkShare::LinkShare(std::size_t workers, std::uint64_t capacity, std::uint64_t start_fraction)
    : workers_(workers), start_fraction_(start_fraction), capacity_(capacity) {
    for (std::size_t i = 0; i < workers_; ++i) {
        slots_[i].allocation.store(capacity / workers_, std::memory_order_relaxed);
        slots_[i].reservable.store(capacity, std::memory_order_relaxed);
    }
}

void LinkShare::set_capacity(std::uint64_t capacity) {
    capacity_.store(capacity, std::memory_order_relaxed);
    if (workers_ == 1)
        slots_[0].allocation.store(capacity, std::memory_order_relaxed);
}

void LinkShare::report(WorkerId worker, const LinkDemand& demand) {
    Slot& slot = slots_[worker];
    slot.reservation.store(demand.reservation, std::memory_order_relaxed);
    slot.shares.store(demand.shares, std::memory_order_relaxed);
    slot.used.store(demand.used, std::memory_order_relaxed);
    slot.backlogged.store(demand.backlogged, std::memory_order_relaxed);
}

void LinkShare::divide() {
    std::array<Claim, limits::kWorkersMax> claims;
    std::array<std::uint64_t, limits::kWorkersMax> parts{};
    const std::uint64_t capacity = capacity_.load(std::memory_order_relaxed);
    const std::uint64_t start = start_fraction_ != 0 ? capacity / workers_ / start_fraction_ : 0;
    std::uint64_t reserved = 0;
    for (std::size_t i = 0; i < workers_; ++i) {
        Slot& slot = slots_[i];
        reserved += slot.reservation.load(std::memory_order_relaxed);
        const std::uint64_t used = slot.used.load(std::memory_order_relaxed);
        const std::uint64_t modest = used + used / 2 + start;  // it may grow by half per period
        claims[i].shares = std::max(1U, slot.shares.load(std::memory_order_relaxed));
        claims[i].demand = slot.backlogged.load(std::memory_order_relaxed) ? Claim::kNoLimit : modest;
        claims[i].reservation = std::min(slot.reservation.load(std::memory_order_relaxed), claims[i].demand);
    }
    const std::uint64_t left =
        water_fill(capacity, std::span(claims).first(workers_), std::span(parts).first(workers_));
    // Capacity that no worker asked for is there for the first that needs it.
    for (std::size_t i = 0; i < workers_; ++i) {
        Slot& slot = slots_[i];
        slot.allocation.store(parts[i] + left / workers_, std::memory_order_relaxed);
        const std::uint64_t own = slot.reservation.load(std::memory_order_relaxed);
        const bool fits = reserved <= capacity;
        slot.reservable.store(fits ? own : static_cast<std::uint64_t>(Wide{own} * capacity / reserved),
                              std::memory_order_relaxed);
    }
}

}  // namespace weir

// fulfillment_scheduler.h - who is behind its guarantee goes first, the rest by shares.
// Source: SoftBW 5.1, 5.2 (time-to-send), 3.2 (equal fulfillment when more is promised than the link has).
// Units: bytes, Nanos, fine time. Threads: one owner.
//
// A class whose time-to-send has come is served before all others, by deficit round robin in proportion to
// guarantees. Guarantees count in full, however many were promised: those who are there share a link that
// cannot carry them, each with the same part of its guarantee. While the guarantees of those who are there
// fit, a guaranteed packet may drive the link's bucket into bounded debt, so that it waits for nobody. Spare
// service is as in WrrScheduler, and uses up guarantees too.
#pragma once

#include <algorithm>

#include "vswitch/qos/bitmap_tree.h"
#include "vswitch/qos/link_scheduler.h"

namespace weir {

/// Eq. 4 to 6 in one variable. The paper's accumulated deviation is now - at(), its clamp tau_max the time in
/// which the reservation's burst is earned; each departure moves the time-to-send by size / B, so that
/// what went out above the guarantee is paid back exactly.
class TimeToSend {
  public:
    /// @param guarantee of no rate: never comes
    void set_profile(const BucketProfile& guarantee) { profile_ = guarantee; }
    [[nodiscard]] const BucketProfile& profile() const { return profile_; }
    [[nodiscard]] bool never() const { return profile_.parked(); }
    [[nodiscard]] bool has_come(Nanos now) const { return at_ <= to_fine(now) && !never(); }
    [[nodiscard]] Nanos at() const { return (at_ + (FineTime{1} << kFineBits) - 1) >> kFineBits; }
    /// Idle time earns no more than tau_max, use of spare capacity costs no more.
    void depart(std::uint32_t bytes, Nanos now) {
        const FineTime t = to_fine(now);
        const FineTime earliest = t - std::min(t, profile_.burst_time);
        at_ = std::clamp(at_ + profile_.price(bytes), earliest, t + profile_.burst_time);
    }

  private:
    BucketProfile profile_ = make_profile(0, 0);
    FineTime at_ = 0;
};

class FulfillmentScheduler final : public LinkScheduler {
  public:
    explicit FulfillmentScheduler(const Setup& setup);

    [[nodiscard]] std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) override;
    [[nodiscard]] Nanos next_ready(Nanos now) const override;

  private:
    /// What a class has beside the base's; one line of cache.
    struct alignas(64) Promise {
        TimeToSend due;
        std::uint64_t deficit = 0;  ///< bytes it may still send in its turn among those that are due
        std::uint64_t quantum = 0;  ///< bytes per turn, in proportion to guarantees
        std::uint64_t counted = 0;  ///< its part of wanted_
        bool waiting = false;       ///< in later_
    };
    static_assert(sizeof(Promise) == 64);

    /// A round robin over the members of a set; in a turn quanta are added once.
    struct Round {
        std::size_t turn = 0;
        bool in_turn = false;
        bool served = false;  ///< this round of turns sent something
        unsigned boost =
            0;  ///< log2 of how many quanta a turn adds: grows while quanta are less than packets
    };

    void join(VnicId id, Nanos now) override;
    void leave(VnicId id) override;
    void shares_changed() override;

    /// Among those that are due, or in the wheel until it is.
    void sort(VnicId id, Nanos now);
    void fire(Nanos now);
    [[nodiscard]] bool link_takes(std::uint32_t bytes, Nanos now) const {
        return wanted_ <= capacity() ? link_.debt_within(kDebtMax, now) : link_.can_pay(bytes, now);
    }
    [[nodiscard]] std::size_t serve_due(Nanos now, std::span<PacketRef> out);
    [[nodiscard]] std::size_t serve_spare(Nanos now, std::span<PacketRef> out);
    [[nodiscard]] static unsigned next_turn(Round& round, const BitmapTree<kClassesMax>& members);
    void set_quanta();

    std::uint64_t quantum_;           ///< of the class with most shares, or the largest guarantee, per turn
    BitmapTree<kClassesMax> active_;  ///< classes that contend
    BitmapTree<kClassesMax> due_;     ///< of these, those whose time-to-send has come
    TimingWheel later_;               ///< those whose time will come; some have left since
    std::vector<Promise> promises_;
    std::uint64_t wanted_ = 0;  ///< sum of guarantees of the classes that contend, tokens/s
    Round due_round_;
    Round spare_round_;
};

}  // namespace weir

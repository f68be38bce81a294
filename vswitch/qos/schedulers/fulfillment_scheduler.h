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

#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/time_to_send.h"

namespace weir {

class FulfillmentScheduler final : public LinkScheduler {
  public:
    explicit FulfillmentScheduler(const Setup& setup);

    [[nodiscard]] std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) override;
    [[nodiscard]] Nanos next_ready(Nanos now) const override;

  private:
    /// What a class has beside the base's; one line of cache.
    struct alignas(64) Promise {
        TimeToSend due;
        TurnAccount account;        ///< among those that are due, in proportion to guarantees
        std::uint64_t counted = 0;  ///< its part of wanted_
        bool waiting = false;       ///< in later_
    };
    static_assert(sizeof(Promise) == 64);

    void join(VnicId id, Nanos now) override;
    void leave(VnicId id) override;
    void shares_changed(Nanos now) override;

    /// Among those that are due, or in the wheel until it is.
    void sort(VnicId id, Nanos now);
    void fire(Nanos now);
    [[nodiscard]] bool link_takes(std::uint32_t bytes, Nanos now) const {
        return wanted_ <= capacity() ? link_.debt_within(kDebtMax, now) : link_.can_pay(bytes, now);
    }
    [[nodiscard]] std::size_t serve_due(Nanos now, std::span<PacketRef> out);
    [[nodiscard]] std::size_t serve_spare(Nanos now, std::span<PacketRef> out);
    void set_guarantee_quanta();

    Members active_;     ///< classes that contend
    Members due_;        ///< of these, those whose time-to-send has come
    TimingWheel later_;  ///< those whose time will come; some have left since
    std::vector<Promise> promises_;
    std::uint64_t wanted_ = 0;  ///< sum of guarantees of the classes that contend, tokens/s
    Turns<kClassesMax> due_turns_;
    Turns<kClassesMax> spare_turns_;
};

}  // namespace weir

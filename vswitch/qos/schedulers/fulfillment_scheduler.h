// fulfillment_scheduler.h - classes behind their guarantee first, then deficit round robin by shares.
// Source: SoftBW 3.2, 5.1, 5.2; docs/algorithms.md 3.3. Units: bytes; ns; fine time. Threads: one owner.
//
// A class's guarantee is its reservation. It is *due* when its time-to-send has come: it has sent less than
// its guarantee. Due classes are served before all others, by deficit round robin in proportion to their
// guarantees. Guarantees are not scaled down in advance: only while those of the contending classes exceed
// the link does each get the same part of its guarantee. With guarantees of 6, 3 and 3 Gbit/s on a link of 10
// Gbit/s, two contending classes get theirs in full; three get 5, 2.5 and 2.5 Gbit/s. While the guarantees of
// the contending classes fit, a due packet may drive the link into a bounded debt, so that it does not wait
// for the shaper. Spare service is by shares as in WrrScheduler, and is charged to guarantees, too.
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
    /// State of a class besides LinkScheduler::Class; one cache line.
    struct alignas(64) Promise {
        TimeToSend due;
        DrrAccount account;         ///< among due classes, in proportion to guarantees
        std::uint64_t counted = 0;  ///< its share of wanted_
        bool waiting = false;       ///< in later_
    };
    static_assert(sizeof(Promise) == 64);

    void join(VnicId id, Nanos now) override;
    void leave(VnicId id) override;
    void shares_changed(Nanos now) override;

    /// Puts a class into due_, or into the wheel until it is due.
    void sort(VnicId id, Nanos now);
    void fire(Nanos now);
    /// The link pays for a due packet.
    [[nodiscard]] bool link_pays_due(std::uint32_t bytes, Nanos now) const {
        return wanted_ <= capacity() ? link_.debt_within(kDebtMax, now) : link_.can_pay(bytes, now);
    }
    [[nodiscard]] std::size_t serve_due(Nanos now, std::span<PacketRef> out);
    [[nodiscard]] std::size_t serve_spare(Nanos now, std::span<PacketRef> out);
    void set_guarantee_quanta();

    Members active_;     ///< classes that contend
    Members due_;        ///< active classes whose time-to-send has come
    TimingWheel later_;  ///< classes that become due later; some contend no more
    std::vector<Promise> promises_;
    std::uint64_t wanted_ = 0;  ///< sum of guarantees of the classes that contend, tokens/s
    Turns due_turns_;
    Turns spare_turns_;
};

}  // namespace weir

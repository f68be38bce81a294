// wrr_scheduler.h - reservations first, then deficit round robin by shares.
// Source: EyeQ 3.3 (WRR root); DRR (SIGCOMM'95); docs/algorithms.md 3.2. Units: bytes; ns. Threads: one
// owner.
//
// Reserved service: classes whose reservation can pay for their first packet send one packet each in turn.
// They may drive the link into a bounded debt, so a reserved packet never waits for the link's shaper. Spare
// service: the contending classes take deficit round robin turns by shares while the link can pay; a turn
// that the link interrupts is resumed by the next call. Spare service is charged to reservations, too, so
// that shares divide the whole link and not only the rest that reservations leave.
//
// Example: three classes of equal shares on a link of 9 Gbit/s, all busy, one with a reservation of 5 Gbit/s.
// It gets its 5, the others 2 each. With a reservation of 2 it gets 3 like the others: the reservation is
// paid by its turns.
#pragma once

#include "vswitch/qos/schedulers/link_scheduler.h"

namespace weir {

class WrrScheduler final : public LinkScheduler {
  public:
    explicit WrrScheduler(const Setup& setup);

    [[nodiscard]] std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) override;
    [[nodiscard]] Nanos next_ready(Nanos now) const override;

  private:
    void join(VnicId id, Nanos now) override;
    void leave(VnicId id) override;
    void shares_changed(Nanos now) override;

    /// Puts a class where its reservation belongs: into paying_, or into the wheel until it can pay.
    void sort_reservation(VnicId id, Nanos now);
    void fire_reservations(Nanos now);
    [[nodiscard]] std::size_t serve_reserved(Nanos now, std::span<PacketRef> out);
    [[nodiscard]] std::size_t serve_by_shares(Nanos now, std::span<PacketRef> out);

    Members active_;                 ///< classes that contend
    Members paying_;                 ///< active classes whose reservation can pay now
    TimingWheel reservations_;       ///< active classes whose reservation can pay later
    std::vector<bool> waiting_;      ///< in reservations_
    std::size_t reserved_turn_ = 0;  ///< where the search for the next reserved packet starts
    Turns turns_;                    ///< by shares
};

}  // namespace weir

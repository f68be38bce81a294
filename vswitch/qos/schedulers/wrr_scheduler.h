// wrr_scheduler.h - reservations first, then deficit weighted round robin for the spare capacity.
// Source: EyeQ 3 (WRR root), DRR (SIGCOMM'95). Units: bytes, Nanos. Threads: one owner.
//
// Reserved service: classes whose reservation pays for their first packet, one packet each in turn. They may
// drive the link's bucket into bounded debt, so a reserved packet never waits for the shaper. Spare service:
// a turn adds a quantum of bytes proportional to the shares and lasts as long as it pays; it waits while the
// link cannot pay and goes on where it stopped. Spare service uses up reservation tokens too, so that shares
// are of the whole link.
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

    /// Puts a class where its reservation belongs: among those that pay, or into the wheel until it does.
    void sort_reservation(VnicId id, Nanos now);
    void fire_reservations(Nanos now);
    [[nodiscard]] std::size_t serve_reserved(Nanos now, std::span<PacketRef> out);

    Members active_;                 ///< classes that contend
    Members paying_;                 ///< of these, those whose reservation pays now
    TimingWheel reservations_;       ///< of these, those whose reservation pays later
    std::vector<bool> waiting_;      ///< in reservations_
    std::size_t reserved_turn_ = 0;  ///< where the search for the next reserved packet starts
    Turns<kClassesMax> turns_;
};

}  // namespace weir

// wrr_scheduler.h - reservations first, then deficit weighted round robin for the spare capacity.
// Source: EyeQ 3 (WRR root), DRR (SIGCOMM'95). Units: bytes, Nanos. Threads: one owner.
//
// Reserved service: classes whose reservation pays for their first packet, one packet each in turn. They may
// drive the link's bucket into bounded debt, so a reserved packet never waits for the shaper. Spare service:
// a turn adds a quantum of bytes proportional to the shares and lasts as long as it pays; it waits while the
// link cannot pay and goes on where it stopped. Spare service uses up reservation tokens too, so that shares
// are of the whole link.
#pragma once

#include "vswitch/qos/bitmap_tree.h"
#include "vswitch/qos/link_scheduler.h"

namespace weir {

class WrrScheduler final : public LinkScheduler {
  public:
    explicit WrrScheduler(const Setup& setup);

    [[nodiscard]] std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) override;
    [[nodiscard]] Nanos next_ready(Nanos now) const override;

  private:
    void join(VnicId id, Nanos now) override;
    void leave(VnicId id) override;
    void shares_changed() override;

    /// Puts a class where its reservation belongs: among those that pay, or into the wheel until it does.
    void sort_reservation(VnicId id, Nanos now);
    void fire_reservations(Nanos now);
    [[nodiscard]] std::size_t serve_reserved(Nanos now, std::span<PacketRef> out);
    [[nodiscard]] std::size_t serve_spare(Nanos now, std::span<PacketRef> out);
    void next_turn();

    std::uint64_t quantum_;           ///< of the class with the most shares, per turn
    BitmapTree<kClassesMax> active_;  ///< classes that contend
    BitmapTree<kClassesMax> paying_;  ///< of these, those whose reservation pays now
    TimingWheel reservations_;        ///< of these, those whose reservation pays later
    std::vector<bool> waiting_;       ///< in reservations_
    std::size_t reserved_turn_ = 0;   ///< where the search for the next reserved packet starts
    std::size_t turn_ = 0;            ///< class whose turn of spare service it is, or was last
    bool in_turn_ = false;
    bool round_served_ = false;  ///< this round of turns sent something
    unsigned boost_ = 0;  ///< log2 of how many quanta a turn adds: grows while quanta are less than packets
};

}  // namespace weir

// cycle_share.h - divides a worker's cycles among its vNICs: deficit round robin in TSC cycles.
// Source: algorithms after DRR (SIGCOMM'95), cycles as in BESS traffic classes. Units: cycles of one counter.
// Threads: one owner (the worker).
//
// The worker walks over its vNICs in rounds: whoever may_poll() is polled once, and a poll that moved packets
// is charged (an empty one is nobody's fault). When no vNIC that was served in a round has credit left,
// nobody with work has: everybody is granted as many quanta at once as the first of them needs, so no round
// is wasted while somebody has work. Credit never exceeds one quantum, so idle time earns nothing; debt never
// exceeds kDebtMax, so the wait after a heavy burst is bounded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

class CycleShare {
  public:
    /// Quantum of the vNIC with the most shares: a dozen bursts of small packets.
    static constexpr std::int64_t kQuantum = 65'536;
    /// More than the most expensive burst (32 super-frames copied from cold memory).
    static constexpr std::int64_t kDebtMax = 1 << 20;

    /// @param slots_max slots are 0 .. slots_max-1
    explicit CycleShare(std::size_t slots_max) : slots_(slots_max) {}

    /// Changes: they look through all slots.
    /// @param shares 1..10000
    void add(std::size_t slot, std::uint32_t shares);
    void set_shares(std::size_t slot, std::uint32_t shares);
    void remove(std::size_t slot);

    [[nodiscard]] bool may_poll(std::size_t slot) { return settled(slot).credit > 0; }

    /// Work for this vNIC took so long: a poll of it that moved packets, or a delivery to it.
    void charge(std::size_t slot, std::uint64_t cycles) {
        Slot& s = settled(slot);
        s.credit = std::max(s.credit - static_cast<std::int64_t>(cycles), -kDebtMax);
        needed_ = std::min(needed_, s.credit > 0 ? 0 : quanta_to_pay(s));
    }

    /// Every vNIC was asked once.
    void end_round() {
        if (needed_ == kNobody) {
            // Nobody moved anything, but somebody in debt may have work: such rounds grant twice the last.
            idle_grant_ = std::min(2 * idle_grant_, kGrantMax);
            grants_ += idle_grant_;
        } else {
            idle_grant_ = 1;
            grants_ += needed_;
        }
        needed_ = kNobody;
    }

    /// Cycles that may still be spent; negative in debt.
    [[nodiscard]] std::int64_t credit(std::size_t slot) { return settled(slot).credit; }

  private:
    struct Slot {
        std::int64_t credit = 0;
        std::int64_t quantum = 0;
        double per_quantum = 0;    ///< 1 / quantum: no division per burst
        std::uint64_t grants = 0;  ///< how many of all grants it has received
        std::uint32_t shares = 0;  ///< 0: free
    };
    static constexpr std::uint64_t kGrantMax = std::uint64_t{kDebtMax};
    static constexpr std::uint64_t kNobody = UINT64_MAX;

    [[nodiscard]] static std::uint64_t quanta_to_pay(const Slot& s) {
        return 1 + static_cast<std::uint64_t>(static_cast<double>(-s.credit) * s.per_quantum);
    }
    /// The slot with all grants received.
    [[nodiscard]] Slot& settled(std::size_t slot) {
        Slot& s = slots_[slot];
        if (s.grants != grants_)
            receive(s);
        return s;
    }
    void receive(Slot& s) const {
        const auto missed = static_cast<std::int64_t>(std::min(grants_ - s.grants, 2 * kGrantMax));
        s.credit = std::min(s.credit + missed * s.quantum, s.quantum);
        s.grants = grants_;
    }
    void recompute_quanta();

    std::vector<Slot> slots_;
    std::uint64_t grants_ = 0;
    std::uint64_t idle_grant_ = 1;
    std::uint64_t needed_ = kNobody;  ///< quanta until the first of those served in this round has credit
};

}  // namespace weir

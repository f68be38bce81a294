// cycle_share.h - divides a worker's cycles among its vNICs: deficit round robin in TSC cycles.
// Source: algorithms after DRR (SIGCOMM'95), cycles as in BESS traffic classes. Units: cycles of one counter.
// Threads: one owner (the worker).
//
// The worker walks over its vNICs in rounds: whoever may_poll() is polled once, and a poll that moved packets
// is charged (an empty one is nobody's fault). When no vNIC that was served in a round has credit left,
// nobody with work has: everybody gets a quantum at once, so no round is wasted while somebody has work.
// Credit never exceeds one quantum, so idle time earns nothing; debt never exceeds kDebtMax, so the wait
// after a heavy burst is bounded.
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

    [[nodiscard]] bool may_poll(std::size_t slot) {
        Slot& s = slots_[slot];
        if (s.grants != grants_)
            receive(s);
        return s.credit > 0;
    }

    /// The vNIC's poll moved packets and took this long.
    void charge(std::size_t slot, std::uint64_t cycles) {
        Slot& s = slots_[slot];
        s.credit = std::max(s.credit - static_cast<std::int64_t>(cycles), -kDebtMax);
        served_ = true;
        credit_left_ |= s.credit > 0;
    }

    /// Every vNIC was asked once.
    void end_round() {
        if (!credit_left_) {
            // Rounds in which nobody moved anything while somebody may be in debt: each grants twice the
            // last.
            grant_ = served_ ? 1 : std::min(2 * grant_, kGrantMax);
            grants_ += grant_;
        }
        served_ = false;
        credit_left_ = false;
    }

    /// Cycles that may still be spent; negative in debt.
    [[nodiscard]] std::int64_t credit(std::size_t slot) {
        (void)may_poll(slot);
        return slots_[slot].credit;
    }

  private:
    struct Slot {
        std::int64_t credit = 0;
        std::int64_t quantum = 0;
        std::uint64_t grants = 0;  ///< how many of all grants it has received
        std::uint32_t shares = 0;  ///< 0: free
    };
    static constexpr std::uint64_t kGrantMax = std::uint64_t{kDebtMax};

    void receive(Slot& s) const {
        const auto missed = static_cast<std::int64_t>(std::min(grants_ - s.grants, 2 * kGrantMax));
        s.credit = std::min(s.credit + missed * s.quantum, s.quantum);
        s.grants = grants_;
    }
    void recompute_quanta();

    std::vector<Slot> slots_;
    std::uint64_t grants_ = 0;
    std::uint64_t grant_ = 1;
    bool served_ = false;
    bool credit_left_ = false;
};

}  // namespace weir

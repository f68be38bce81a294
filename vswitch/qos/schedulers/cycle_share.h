// cycle_share.h - a worker's cycles divided among its vNICs: deficit round robin in TSC cycles.
// Source: DRR (SIGCOMM'95); docs/algorithms.md 3.5. Units: cycles of one counter. Threads: one owner (the
// worker).
//
// The worker walks over its vNICs in rounds. A vNIC with credit above 0 is polled once in a round, and a poll
// that moved packets is charged the cycles it took; a poll that found nothing is free. A round in which no
// served vNIC has credit left grants quanta to all vNICs: as many as the first of the served ones needs to
// have credit again, so that no round passes without work while there is some. Credit never exceeds one
// quantum, so idle time earns nothing; a debt holds all that was used, and the caller charges no more.
//
// Example: vNICs with 200 and 100 shares have quanta of 65,536 and 32,768 cycles. If each poll takes 16,384
// cycles, they are polled 4 and 2 times until both have no credit; then each gets one quantum again.
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
    /// Keeps sums in range: a second and more.
    static constexpr std::int64_t kDebtMax = 1LL << 32;

    /// @param slots_max slots are 0 .. slots_max-1
    explicit CycleShare(std::size_t slots_max) : slots_(slots_max) {}

    // Changes; each walks over all slots.

    /// @param shares 1..10000
    void add(std::size_t slot, std::uint32_t shares);
    void set_shares(std::size_t slot, std::uint32_t shares);
    void remove(std::size_t slot);

    [[nodiscard]] bool may_poll(std::size_t slot) { return settled(slot).credit > 0; }

    /// @param cycles of the core that work for this vNIC used: a poll of it that moved packets, or a delivery
    /// to it
    void charge(std::size_t slot, std::uint64_t cycles) {
        Slot& s = settled(slot);
        s.credit = std::max(s.credit - static_cast<std::int64_t>(cycles), -kDebtMax);
        needed_ = std::min(needed_, s.credit > 0 ? 0 : quanta_to_pay(s));
    }

    /// Every vNIC was asked once: grants quanta if no vNIC that was served has credit.
    void end_round() {
        if (needed_ == kNone) {
            // No vNIC was served, but one in debt may have work: each such round grants twice the last.
            idle_grant_ = std::min(2 * idle_grant_, kGrantMax);
            grants_ += idle_grant_;
        } else {
            idle_grant_ = 1;
            grants_ += needed_;
        }
        needed_ = kNone;
    }

    /// Cycles that may still be spent; negative in debt.
    [[nodiscard]] std::int64_t credit(std::size_t slot) { return settled(slot).credit; }

  private:
    struct Slot {
        std::int64_t credit = 0;
        std::int64_t quantum = 0;
        double per_quantum = 0;    ///< 1 / quantum: no division per burst
        std::uint64_t grants = 0;  ///< quanta of grants_ that it has received
        std::uint32_t shares = 0;  ///< 0: free
    };
    static constexpr std::uint64_t kGrantMax = std::uint64_t{kDebtMax};
    static constexpr std::uint64_t kNone = UINT64_MAX;

    [[nodiscard]] static std::uint64_t quanta_to_pay(const Slot& s) {
        return 1 + static_cast<std::uint64_t>(static_cast<double>(-s.credit) * s.per_quantum);
    }
    /// The slot, after it received the quanta granted since its last look-up.
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
    std::uint64_t needed_ = kNone;  ///< quanta until the first vNIC served in this round has credit
};

inline void CycleShare::add(std::size_t slot, std::uint32_t shares) {
    slots_[slot] = {.grants = grants_, .shares = shares};
    recompute_quanta();
    slots_[slot].credit = slots_[slot].quantum;
}

inline void CycleShare::set_shares(std::size_t slot, std::uint32_t shares) {
    slots_[slot].shares = shares;
    recompute_quanta();
}

inline void CycleShare::remove(std::size_t slot) {
    slots_[slot] = {};
    recompute_quanta();
}

inline void CycleShare::recompute_quanta() {
    std::int64_t most = 1;
    for (const Slot& s : slots_)
        most = std::max<std::int64_t>(most, s.shares);
    for (Slot& s : slots_) {
        if (s.shares == 0)
            continue;
        receive(s);
        s.quantum = std::max<std::int64_t>(1, kQuantum * s.shares / most);
        s.per_quantum = 1 / static_cast<double>(s.quantum);
        s.credit = std::min(s.credit, s.quantum);
    }
}

}  // namespace weir

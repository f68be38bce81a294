// cycle_share.cc - quanta, when vNICs come, change and go.
#include "vswitch/qos/schedulers/cycle_share.h"

namespace weir {

void CycleShare::add(std::size_t slot, std::uint32_t shares) {
    slots_[slot] = {.grants = grants_, .shares = shares};
    recompute_quanta();
    slots_[slot].credit = slots_[slot].quantum;
}

void CycleShare::set_shares(std::size_t slot, std::uint32_t shares) {
    slots_[slot].shares = shares;
    recompute_quanta();
}

void CycleShare::remove(std::size_t slot) {
    slots_[slot] = {};
    recompute_quanta();
}

void CycleShare::recompute_quanta() {
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

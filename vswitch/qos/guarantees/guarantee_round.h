// guarantee_round.h - a link's guarantees when a period ends and more is promised than it has: what those
// that do not vary have just used stays theirs, dynamic ones get of the rest what they need, the earliest
// deadline first. Who waits is owed what it misses, and has a later deadline to get it by. Source: ours;
// SoftBW 4.2 asks that delay-tolerant jobs leave bandwidth to others and are compensated. Units: bytes per
// second, Nanos. Threads: one owner.
#pragma once

#include <cstdint>
#include <vector>

#include "vswitch/qos/guarantees/guarantee_meter.h"

namespace weir {

class GuaranteeRound {
  public:
    /// @param capacity of the link
    explicit GuaranteeRound(std::uint64_t capacity) : room_(capacity) {}

    /// One of the link's vNICs, whose period has just ended. @param meter outlives the round
    void add(GuaranteeMeter& meter, const GuaranteeMeter::Period& ended);
    /// Holds what there is no room for; all that fits stays as it is.
    void settle();

  private:
    std::uint64_t room_;
    std::vector<GuaranteeMeter*> dynamic_;
};

}  // namespace weir

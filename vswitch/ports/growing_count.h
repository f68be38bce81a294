// growing_count.h - a device's counter as a total that never goes back, even if the device resets its own.
// Units: those of the device's counter. Threads: one owner.
//
// A driver may reset its counters when the device is reset, when its link changes, or when another program
// asks; then they begin at 0 again. Example: readings of 5, 9, 2 and 3 are 9 + 3 = 12 in total.
#pragma once

#include <cstdint>

namespace weir {

class GrowingCount {
  public:
    /// Takes in a reading of the device's counter. Events between the last reading and a reset are lost, so
    /// it should be read often.
    void read(std::uint64_t reading) {
        total_ += reading >= last_ ? reading - last_ : reading;
        last_ = reading;
    }
    /// The device's counter is 0 now.
    void begin_again() { last_ = 0; }
    [[nodiscard]] std::uint64_t total() const { return total_; }

  private:
    std::uint64_t last_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace weir

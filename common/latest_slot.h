// latest_slot.h - slot for the newest value of a state, from one writer to one reader.
// Threads: publish() by the writer only, take() by the reader only.
//
// A triple buffer: the writer fills its own buffer and exchanges it with the middle one; the reader exchanges
// its own with the middle one when that is fresh. Neither side waits, the reader never sees a half-written
// value, and values that were not taken in time are overwritten: after publish(1) and publish(2), take()
// returns 2, then nullptr.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace weir {

template <typename T>
class LatestSlot {
  public:
    void publish(const T& value) {
        buffers_[write_].value = value;
        const std::uint8_t old = middle_.exchange(write_ | kFresh, std::memory_order_acq_rel);
        write_ = old & kIndexMask;
    }

    /// @return the newest value, valid until the next take(); nullptr when none was published since the last
    [[nodiscard]] const T* take() {
        if ((middle_.load(std::memory_order_relaxed) & kFresh) == 0)
            return nullptr;
        const std::uint8_t old = middle_.exchange(read_, std::memory_order_acq_rel);
        read_ = old & kIndexMask;
        return &buffers_[read_].value;
    }

  private:
    static constexpr std::uint8_t kFresh = 4;
    static constexpr std::uint8_t kIndexMask = 3;
    struct alignas(64) Buffer {
        T value{};
    };
    std::array<Buffer, 3> buffers_{};
    alignas(64) std::uint8_t write_ = 0;
    alignas(64) std::atomic<std::uint8_t> middle_{1};
    alignas(64) std::uint8_t read_ = 2;
};

}  // namespace weir

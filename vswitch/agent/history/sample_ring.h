// sample_ring.h - the last N records, in memory that is allocated once. Threads: one (agent).
//
// The pages of the memory are taken from the system when they are first written: a ring that was never filled
// takes as much as its records.
#pragma once

#include <cstddef>
#include <memory>

namespace weir {

/// @param Record trivial: places that were never written have no value
template <typename Record, std::size_t N>
class SampleRing {
  public:
    static constexpr std::size_t kCapacity = N;
    static constexpr std::size_t kBytes = N * sizeof(Record);

    void push(const Record& record) {
        places_[written_ % N] = record;
        ++written_;
    }
    void clear() { written_ = 0; }
    [[nodiscard]] std::size_t size() const { return written_ < N ? written_ : N; }
    /// @param index 0 is the oldest, size() - 1 the newest
    [[nodiscard]] const Record& operator[](std::size_t index) const {
        return places_[(written_ - size() + index) % N];
    }

  private:
    std::unique_ptr<Record[]> places_ = std::make_unique_for_overwrite<Record[]>(N);
    std::size_t written_ = 0;
};

}  // namespace weir

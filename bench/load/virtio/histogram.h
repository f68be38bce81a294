// histogram.h - log-linear histogram of durations, exact to 1/128 of a value, without allocation per record.
// Units: the caller's (TSC cycles here). Threads: one writer; read after the writer has stopped.
//
// A value below 128 has a bucket of its own. From there on every power of two is divided into 128 buckets:
// 1,000 lies between 512 and 1,024, where a bucket is 4 wide, so that it is counted in 1,000..1,003.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weir::load {

class Histogram {
  public:
    void record(std::uint64_t value) {
        ++counts_[index_of(value)];
        ++total_;
        max_ = std::max(max_, value);
    }

    [[nodiscard]] std::uint64_t total() const { return total_; }
    [[nodiscard]] std::uint64_t max() const { return max_; }

    /// Upper edge of the bucket that holds the given share (0..1) of all values; 0 when nothing was recorded.
    [[nodiscard]] std::uint64_t quantile(double share) const {
        const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(total_));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < kBuckets; ++i) {
            seen += counts_[i];
            if (seen > rank)
                return std::min(max_, upper_edge(i));
        }
        return max_;
    }

  private:
    static constexpr unsigned kFineBits = 7;
    static constexpr std::size_t kFine = 1U << kFineBits;
    static constexpr std::size_t kBuckets = (64 - kFineBits + 1) * kFine;

    static std::size_t index_of(std::uint64_t value) {
        if (value < kFine)
            return static_cast<std::size_t>(value);
        const auto shift = static_cast<unsigned>(std::bit_width(value)) - kFineBits - 1;
        return (std::size_t{shift} + 1) * kFine + static_cast<std::size_t>((value >> shift) - kFine);
    }
    static std::uint64_t upper_edge(std::size_t index) {
        if (index < kFine)
            return index;
        const std::size_t shift = index / kFine - 1;
        return ((kFine + index % kFine + 1) << shift) - 1;
    }

    std::array<std::uint64_t, kBuckets> counts_{};
    std::uint64_t total_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace weir::load

// metrics.h - counters, and histograms of nanoseconds, with one writer and any number of readers, without
// locks.
// Source: HdrHistogram. Units: nanoseconds (1 ns .. 17 s) in histograms.
// Threads: add() and set() by the owner only; value() and snapshot() by any.
//
// A histogram has 4 KiB of counters. Each power of two is cut into 16 parts of equal width, so a value is
// known to 6.25 %. Example: 1000 ns is counted in the bucket of 992 to 1023 ns, which is 32 ns wide. A
// snapshot may miss values that are added while it is made.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/clock.h"

namespace weir {

/// Compiles to a plain add. The atomic only keeps readers from seeing half-written values, and compilers from
/// keeping the value in a register.
class Counter {
  public:
    void add(std::uint64_t n) {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    void set(std::uint64_t n) { value_.store(n, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

/// Powers of two, each cut into 16 equal parts; the first 32 are 1 ns wide.
struct HistogramScale {
    static constexpr unsigned kPartBits = 4;
    static constexpr unsigned kRangeBits = 34;
    static constexpr Nanos kMax = (Nanos{1} << kRangeBits) - 1;
    static constexpr std::size_t kBuckets = (kRangeBits - kPartBits + 1) << kPartBits;

    [[nodiscard]] static constexpr std::size_t bucket_of(Nanos value) {
        const Nanos v = std::min(value, kMax);
        const auto shift = static_cast<unsigned>(std::bit_width(v | (1U << kPartBits))) - (kPartBits + 1);
        return (std::size_t{shift} << kPartBits) + static_cast<std::size_t>(v >> shift);
    }
    /// The largest value of a bucket.
    [[nodiscard]] static constexpr Nanos upper_bound(std::size_t bucket) {
        if (bucket < (2U << kPartBits))
            return bucket;
        const std::size_t shift = (bucket >> kPartBits) - 1;
        return ((Nanos{bucket} - (shift << kPartBits) + 1) << shift) - 1;
    }
};

/// Copy of a histogram at one moment.
class HistogramSnapshot {
  public:
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] Nanos max() const { return max_; }

    /// @param fraction 0..1  @return smallest bound of a bucket that this part of all values do not exceed; 0
    /// without values
    [[nodiscard]] Nanos percentile(double fraction) const {
        const auto wanted = static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(count_)));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen != 0 && seen >= wanted)
                return std::min(HistogramScale::upper_bound(i), max_);
        }
        return max_;
    }

    /// Adds values of 0 ns that the caller counted in a plain counter, which is cheaper.
    void add_zeros(std::uint64_t times) {
        counts_[0] += times;
        count_ += times;
    }

    void add(const HistogramSnapshot& other) {
        for (std::size_t i = 0; i < counts_.size(); ++i)
            counts_[i] += other.counts_[i];
        count_ += other.count_;
        max_ = std::max(max_, other.max_);
    }

    /// Values added after an `earlier` snapshot of the same histogram. Its max() is the bound of a bucket.
    [[nodiscard]] HistogramSnapshot since(const HistogramSnapshot& earlier) const {
        HistogramSnapshot change;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            change.counts_[i] = counts_[i] - earlier.counts_[i];
            change.count_ += change.counts_[i];
            if (change.counts_[i] != 0)
                change.max_ = std::min(HistogramScale::upper_bound(i), max_);
        }
        return change;
    }

  private:
    friend class Histogram;
    std::array<std::uint64_t, HistogramScale::kBuckets> counts_{};
    std::uint64_t count_ = 0;
    Nanos max_ = 0;
};

/// add() is for poll threads: one counter, and the maximum when it grows.
class Histogram {
  public:
    void add(Nanos value) {
        counts_[HistogramScale::bucket_of(value)].add(1);
        if (value > max_.value())
            max_.set(value);
    }

    [[nodiscard]] HistogramSnapshot snapshot() const {
        HistogramSnapshot s;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            s.counts_[i] = counts_[i].value();
            s.count_ += s.counts_[i];
        }
        s.max_ = max_.value();
        return s;
    }

  private:
    std::array<Counter, HistogramScale::kBuckets> counts_{};
    Counter max_;
};

}  // namespace weir

// bitmap_tree.h - a set of small integers with find-next in one word operation per level of 64.
// Source: Eiffel (NSDI'19); docs/algorithms.md 2.3. Threads: one owner.
//
// One bit per member, and above each 64 bits one bit that states whether any of them is set. Example with
// 4,096 places: 70 and 4,000 are members. find_from(71) finds nothing behind bit 6 of word 1, asks the
// summary for the next word with a member, which is word 62, and the lowest bit there is 4,000 - 62 * 64
// = 32.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weir {

/// Members are 0 .. N-1; N is at most 64, or a multiple of 64. 2 levels to 4096, 3 to 262144.
template <std::size_t N>
class BitmapTree {
    static_assert(N % 64 == 0, "whole words");

  public:
    static constexpr std::size_t kNone = SIZE_MAX;

    void set(std::size_t i) {
        words_[i / 64] |= bit(i);
        summary_.set(i / 64);
    }
    void clear(std::size_t i) {
        words_[i / 64] &= ~bit(i);
        if (words_[i / 64] == 0)
            summary_.clear(i / 64);
    }
    [[nodiscard]] bool test(std::size_t i) const { return (words_[i / 64] & bit(i)) != 0; }
    [[nodiscard]] bool empty() const { return summary_.empty(); }

    /// The least member >= i, or kNone.
    [[nodiscard]] std::size_t find_from(std::size_t i) const {
        if (i >= N)
            return kNone;
        const std::uint64_t rest = words_[i / 64] >> (i % 64);
        if (rest != 0)
            return i + static_cast<std::size_t>(std::countr_zero(rest));
        const std::size_t word = summary_.find_from(i / 64 + 1);
        return word == kNone ? kNone : word * 64 + static_cast<std::size_t>(std::countr_zero(words_[word]));
    }

    /// The next member at or after i, going round; kNone only when empty.
    [[nodiscard]] std::size_t find_cyclic(std::size_t i) const {
        const std::size_t found = find_from(i);
        return found != kNone ? found : find_from(0);
    }

  private:
    [[nodiscard]] static constexpr std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << (i % 64); }

    static constexpr std::size_t kWords = N / 64;
    std::array<std::uint64_t, kWords> words_{};
    BitmapTree<(kWords <= 64 ? kWords : (kWords + 63) / 64 * 64)> summary_;
};

template <std::size_t N>
    requires(N <= 64)
class BitmapTree<N> {
  public:
    static constexpr std::size_t kNone = SIZE_MAX;

    void set(std::size_t i) { word_ |= std::uint64_t{1} << i; }
    void clear(std::size_t i) { word_ &= ~(std::uint64_t{1} << i); }
    [[nodiscard]] bool test(std::size_t i) const { return ((word_ >> i) & 1) != 0; }
    [[nodiscard]] bool empty() const { return word_ == 0; }
    [[nodiscard]] std::size_t find_from(std::size_t i) const {
        const std::uint64_t rest = i >= N ? 0 : word_ >> i;
        return rest == 0 ? kNone : i + static_cast<std::size_t>(std::countr_zero(rest));
    }
    [[nodiscard]] std::size_t find_cyclic(std::size_t i) const {
        const std::size_t found = find_from(i);
        return found != kNone ? found : find_from(0);
    }

  private:
    std::uint64_t word_ = 0;
};

}  // namespace weir

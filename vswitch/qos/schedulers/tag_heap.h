// tag_heap.h - classes by tag, the least on top; equal tags by number. A tournament: every place holds the
// lesser of the two below it, so that a change touches one place per doubling of the classes, which are known
// beforehand, and nothing branches on what they hold. Tags count as equal when they differ in their low 12
// bits only: these hold the class. Threads: one owner. Allocates only when built.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/ids.h"

namespace weir {

class TagHeap {
  public:
    static constexpr unsigned kIdBits = 12;

    /// @param ids are 0 .. ids-1
    explicit TagHeap(std::size_t ids) : leaves_(std::bit_ceil(ids)), keys_(2 * leaves_, kNone) {
        assert(ids <= std::size_t{1} << kIdBits);
    }

    [[nodiscard]] bool empty() const { return keys_[kRoot] == kNone; }
    [[nodiscard]] VnicId top() const { return static_cast<VnicId>(keys_[kRoot] & kIdMask); }
    /// No more than the tag of top(), by 4095 at most.
    [[nodiscard]] std::uint64_t top_tag() const { return keys_[kRoot] & ~kIdMask; }
    /// The tag counts as top()'s.
    [[nodiscard]] bool is_top(VnicId id, std::uint64_t tag) const { return keys_[kRoot] == key(id, tag); }

    /// The class is in with this tag or less. One that is in already with less stays where it is: raise it
    /// when it is on top.
    void put(VnicId id, std::uint64_t tag) {
        const std::uint64_t k = key(id, tag);
        if (k < keys_[leaves_ + id])
            set(id, k);
    }
    /// @param tag at least the top's
    void raise_top(std::uint64_t tag) { set(top(), key(top(), tag)); }
    void pop() { set(top(), kNone); }
    void clear() { std::ranges::fill(keys_, kNone); }

  private:
    static constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kIdBits) - 1;
    static constexpr std::uint64_t kNone = UINT64_MAX;
    /// Below place p are 2 p and 2 p + 1.
    static constexpr std::size_t kRoot = 1;

    [[nodiscard]] static std::uint64_t key(VnicId id, std::uint64_t tag) { return (tag & ~kIdMask) | id; }
    void set(VnicId id, std::uint64_t k) {
        std::size_t place = leaves_ + id;
        keys_[place] = k;
        for (; place != kRoot; place /= 2) {
            k = std::min(k, keys_[place ^ 1]);
            keys_[place / 2] = k;
        }
    }

    std::size_t leaves_;
    std::vector<std::uint64_t> keys_;
};

}  // namespace weir

// timing_wheel.h - ids of blocked limiters by the time at which they can pay, at a cost independent of their
// number. Source: Carousel (SIGCOMM'17); Eiffel (NSDI'19); docs/algorithms.md 2.3. Units: ns in; slots of
// 2^granularity_bits ns (default 2.048 us, 2,048 of them: a horizon of 4.2 ms). Threads: one owner (a wheel
// per worker).
//
// A slot holds the ids that are due in its span of time; a bitmap of occupied slots finds the next one. A
// limiter that can pay at 5,000 ns is in slot 3 (from 6,144 ns on): woken up to 2 us late, never early. Ids
// beyond the horizon wait in the last slot and are inserted again by the caller.
//
// Ids of a slot lie side by side in cache-line chunks, so that they are handed out as spans whose limiters
// the caller can prefetch. Memory per id is at most 7 bytes plus 140 KiB per wheel.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/clock.h"
#include "vswitch/qos/buckets/bitmap_tree.h"

namespace weir {

class TimingWheel {
  public:
    static constexpr std::size_t kSlots = 2048;
    static constexpr unsigned kDefaultGranularityBits = 11;
    using Ids = std::span<const std::uint32_t>;

    /// @param ids_max          ids are 0 .. ids_max-1
    /// @param granularity_bits log2 of a slot's width in ns, 6..20
    explicit TimingWheel(std::uint32_t ids_max, unsigned granularity_bits = kDefaultGranularityBits);

    /// Puts an id that is not in the wheel into the slot that starts at or after `at`: never early, late by
    /// less than one slot. Beyond the horizon it goes into the last slot (and is counted): the caller checks
    /// again when it fires.
    void insert(std::uint32_t id, Nanos at, Nanos now) {
        if (now < next_due_)
            cursor_ = std::max(cursor_, now >> granularity_bits_);  // nothing lies in between
        const std::uint64_t last = cursor_ + kSlots - 1;
        const std::uint64_t wanted = std::max(slot_after(at), cursor_);
        beyond_horizon_ += wanted > last;
        const std::uint64_t slot = std::min(wanted, last);
        put(id, slot % kSlots);
        next_due_ = std::min(next_due_, slot << granularity_bits_);
        ++size_;
    }

    /// Takes an id out. Looks through one slot: for changes, not per packet. @return false if it was not in.
    bool remove(std::uint32_t id);

    /// Calls on_ready(Ids) for everything due, `budget` ids at most; the rest comes at the next call.
    /// on_ready may insert, also the ids that it was just given, but not remove. prefetch(Ids), called before
    /// each on_ready, announces the ids of the on_ready after it.
    /// @return how many ids were handed out
    template <class OnReady, class Prefetch>
    unsigned advance(Nanos now, unsigned budget, OnReady&& on_ready, Prefetch&& prefetch);
    template <class OnReady>
    unsigned advance(Nanos now, unsigned budget, OnReady&& on_ready) {
        return advance(now, budget, on_ready, [](Ids) {});
    }

    /// When advance() has something to do: two loads, so that a poll loop can ask every time. kNever when
    /// empty.
    [[nodiscard]] Nanos next_due() const { return due_ != kNoChunk ? 0 : next_due_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Nanos horizon() const { return Nanos{kSlots} << granularity_bits_; }
    [[nodiscard]] std::size_t memory_bytes() const {
        return sizeof(*this) + chunks_.size() * sizeof(Chunk) + slot_of_.size() * sizeof(slot_of_[0]);
    }
    /// Insertions so far that did not fit the horizon.
    [[nodiscard]] std::uint64_t beyond_horizon() const { return beyond_horizon_; }

  private:
    using ChunkIndex = std::uint32_t;
    static constexpr ChunkIndex kNoChunk = UINT32_MAX;
    static constexpr std::uint32_t kChunkIds = 14;

    struct alignas(64) Chunk {
        std::array<std::uint32_t, kChunkIds> ids;
        std::uint32_t count;
        ChunkIndex next;
        [[nodiscard]] Ids view() const { return {ids.data(), count}; }
    };
    static_assert(sizeof(Chunk) == 64);

    [[nodiscard]] std::uint64_t slot_after(Nanos at) const {
        const Nanos start = at >> granularity_bits_;
        return start + (start << granularity_bits_ != at);
    }

    /// Only the first chunk of a slot may be partly filled.
    void put(std::uint32_t id, std::size_t slot) {
        ChunkIndex index = heads_[slot];
        if (index == kNoChunk || chunks_[index].count == kChunkIds)
            index = add_chunk(slot);
        Chunk& chunk = chunks_[index];
        chunk.ids[chunk.count++] = id;
        slot_of_[id] = static_cast<std::uint16_t>(slot);
    }
    ChunkIndex add_chunk(std::size_t slot) {
        const ChunkIndex index = free_;
        free_ = chunks_[index].next;
        chunks_[index].count = 0;
        chunks_[index].next = heads_[slot];
        if (heads_[slot] == kNoChunk)
            occupied_.set(slot);
        heads_[slot] = index;
        return index;
    }
    void free_chunk(ChunkIndex index) {
        chunks_[index].next = free_;
        free_ = index;
    }

    [[nodiscard]] Nanos first_occupied() const {
        const std::size_t slot = occupied_.find_cyclic(cursor_ % kSlots);
        if (slot == occupied_.kNone)
            return kNever;
        return (cursor_ + ((slot - cursor_) % kSlots)) << granularity_bits_;
    }

    /// Moves the first occupied slot to due_; the cursor stands behind it, so that re-insertions do not fire
    /// again.
    void take_slot() {
        cursor_ = next_due_ >> granularity_bits_;
        const std::size_t slot = cursor_ % kSlots;
        due_ = heads_[slot];
        heads_[slot] = kNoChunk;
        occupied_.clear(slot);
        ++cursor_;
        next_due_ = first_occupied();
    }

    template <class Prefetch>
    void announce(ChunkIndex after, Prefetch&& prefetch) const {
        const ChunkIndex index =
            after != kNoChunk ? after : heads_[(next_due_ >> granularity_bits_) % kSlots];
        if (index != kNoChunk)
            prefetch(chunks_[index].view());
    }

    bool remove_from(ChunkIndex& head, std::uint32_t id);

    Nanos next_due_ = kNever;    // start of the first occupied slot
    std::uint64_t cursor_ = 0;   // first slot that may be occupied, counted from time 0
    ChunkIndex due_ = kNoChunk;  // chunks of the slot that is being handed out
    ChunkIndex free_ = kNoChunk;
    unsigned granularity_bits_;
    std::size_t size_ = 0;
    std::uint64_t beyond_horizon_ = 0;
    BitmapTree<kSlots> occupied_;
    std::array<ChunkIndex, kSlots> heads_;
    std::vector<Chunk> chunks_;
    std::vector<std::uint16_t> slot_of_;  // where an id was put last: a hint for remove()
};

template <class OnReady, class Prefetch>
unsigned TimingWheel::advance(Nanos now, unsigned budget, OnReady&& on_ready, Prefetch&& prefetch) {
    unsigned given = 0;
    for (;;) {
        while (due_ != kNoChunk) {
            if (given == budget)
                return given;
            const ChunkIndex index = due_;
            Chunk& chunk = chunks_[index];
            const std::uint32_t take = std::min(chunk.count, budget - given);
            chunk.count -= take;
            if (chunk.count == 0)
                due_ = chunk.next;
            size_ -= take;
            given += take;
            announce(due_, prefetch);
            on_ready(Ids{chunk.ids.data() + chunk.count, take});
            if (chunk.count == 0)
                free_chunk(index);
        }
        if (next_due_ > now)
            return given;
        take_slot();
    }
}

}  // namespace weir

// stream_buffers.h - bytes of TCP streams kept until they can be parsed: the start of a header, and bytes
// beyond a hole.
// Source: docs/algorithms.md 5.1. Units: bytes. Threads: one owner. Allocates only when built.
//
// A buffer holds up to 512 bytes. Each direction of a connection has a list of buffers from a common pool:
// first the start of a header that is not complete yet, if any; then the bytes beyond next_seq, ordered by
// sequence number. Example: with next_seq at 1000, segments [1500, 2100) and [1000, 1500) arrive. The first
// is kept in two buffers of 512 and 88 bytes. When the second has been parsed and next_seq is 1500, both
// buffers are due.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cost_functions/tracker/protocol.h"
#include "cost_functions/tracker/record_pool.h"
#include "cost_functions/tracker/tracked_connection.h"

namespace weir {

struct StreamBuffer {
    StreamBufferId next = kNoStreamBuffer;
    std::uint16_t bytes : 15 = 0;
    bool is_header : 1 = false;  ///< the start of a header, which ends at next_seq
    std::uint32_t seq = 0;
    std::array<std::uint8_t, kHeaderMax> data;

    /// The buffer's bytes followed by the first of `following`, at most `size` in all. `bytes` does not
    /// change.
    [[nodiscard]] Bytes with(Bytes following, std::size_t size) {
        const std::size_t more = std::min(following.size(), size - bytes);
        std::memcpy(data.data() + bytes, following.data(), more);
        return {data.data(), bytes + more};
    }
};
static_assert(sizeof(StreamBuffer) == kHeaderMax + 8);

class StreamBuffers {
  public:
    /// Buffers that one direction may have beyond its hole: 64 KiB.
    static constexpr unsigned kBeyondHoleMax = 128;

    explicit StreamBuffers(const SharedRoom::Size& buffers)
        : pool_(buffers), header_reserve_((buffers.own + buffers.common / 2) / 4) {}

    /// The start of an incomplete header; nullptr when there is none.
    [[nodiscard]] StreamBuffer* header(const Direction& way) {
        const bool begun = way.buffers != kNoStreamBuffer && pool_[way.buffers].is_header;
        return begun ? &pool_[way.buffers] : nullptr;
    }
    /// Keeps `bytes` as the start of a header at next_seq, or, when `begun` is not null, as the bytes that
    /// with() put behind it. next_seq moves behind them. @return false when no buffer is free
    bool keep_header(Direction& way, VnicId vnic, StreamBuffer* begun, Bytes bytes);
    /// Removes `bytes` parsed bytes from the start of the header. @return how many of them lie behind the
    /// buffer's own
    std::uint32_t shorten_header(Direction& way, VnicId vnic, std::uint32_t bytes);

    /// Bytes beyond next_seq are kept.
    [[nodiscard]] bool has_beyond_hole(const Direction& way) const {
        if (way.buffers == kNoStreamBuffer)
            return false;
        const StreamBuffer& first = pool_[way.buffers];
        return !first.is_header || first.next != kNoStreamBuffer;
    }
    struct Kept {
        std::size_t bytes = 0;  ///< that are kept now, of the first
        std::size_t fresh = 0;  ///< bytes of `bytes` that were not kept before
    };
    /// Keeps bytes beyond a hole, as far as buffers are free.
    Kept keep(Direction& way, VnicId vnic, std::uint32_t seq, Bytes bytes);
    /// Moves the first bytes beyond the hole to `buffer`. @return false when next_seq has not reached them
    bool take_due(Direction& way, VnicId vnic, StreamBuffer& buffer);
    /// Frees all buffers of a direction. @return bytes that they held
    std::uint32_t drop_all(Direction& way, VnicId vnic);

    [[nodiscard]] std::uint32_t taken(VnicId vnic) const { return pool_.taken(vnic); }
    [[nodiscard]] std::uint64_t refused() const { return pool_.refused(); }
    [[nodiscard]] std::size_t memory_bytes() const { return pool_.memory_bytes(); }

  private:
    void drop(StreamBufferId& link, VnicId vnic) {
        const StreamBufferId id = link;
        link = pool_[id].next;
        pool_.give_back(id, vnic);
    }

    RecordPool<StreamBuffer, StreamBufferId, kNoStreamBuffer> pool_;
    std::uint32_t header_reserve_;  // a quarter of one vNIC's maximum: for starts of headers only
};

}  // namespace weir

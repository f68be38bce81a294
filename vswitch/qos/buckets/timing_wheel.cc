// timing_wheel.cc - TimingWheel: construction, and removal of an id.
#include "vswitch/qos/buckets/timing_wheel.h"

#include <cassert>

namespace weir {

TimingWheel::TimingWheel(std::uint32_t ids_max, unsigned granularity_bits)
    : granularity_bits_(granularity_bits),
      // Full chunks for all ids, a partly filled one for each slot, one being handed out and one left over
      // from it.
      chunks_(ids_max / kChunkIds + kSlots + 2),
      slot_of_(ids_max) {
    assert(granularity_bits >= 6 && granularity_bits <= 20);
    heads_.fill(kNoChunk);
    for (ChunkIndex i = static_cast<ChunkIndex>(chunks_.size()); i-- > 0;)
        free_chunk(i);
}

bool TimingWheel::remove(std::uint32_t id) {
    const std::size_t slot = slot_of_[id];
    if (!remove_from(heads_[slot], id) && !remove_from(due_, id))
        return false;
    --size_;
    if (heads_[slot] == kNoChunk) {
        occupied_.clear(slot);
        next_due_ = first_occupied();
    }
    return true;
}

/// Fills the gap with the last id of the first chunk, the only one that may be partly filled.
bool TimingWheel::remove_from(ChunkIndex& head, std::uint32_t id) {
    for (ChunkIndex index = head; index != kNoChunk; index = chunks_[index].next) {
        Chunk& chunk = chunks_[index];
        const auto end = chunk.ids.begin() + chunk.count;
        const auto found = std::find(chunk.ids.begin(), end, id);
        if (found == end)
            continue;
        Chunk& first = chunks_[head];
        *found = first.ids[--first.count];
        if (first.count == 0) {
            const ChunkIndex emptied = head;
            head = first.next;
            free_chunk(emptied);
        }
        return true;
    }
    return false;
}

}  // namespace weir

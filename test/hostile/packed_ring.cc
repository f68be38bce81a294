// packed_ring.cc - chains of a packed ring, given and taken back.
#include "test/hostile/packed_ring.h"

namespace weir::hostile {

bool PackedRing::add(std::span<const Buffer> chain) {
    if (chain.size() > free_)
        return false;
    const std::uint16_t head = next_;
    std::uint16_t head_flags = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
        const Buffer& buffer = chain[i];
        const auto mark =
            static_cast<std::uint16_t>(buffer.flags | available() | (i + 1 < chain.size() ? kNext : 0U));
        PackedDescriptor& one = descriptor(next_);
        one.address = buffer.address;
        one.bytes = buffer.bytes;
        one.id = head;
        if (i == 0)
            head_flags = mark;
        else
            flags(next_).store(mark);
        if (++next_ == size_)
            next_ = 0, wrap_ = !wrap_;
    }
    lengths_[head] = static_cast<std::uint16_t>(chain.size());
    free_ = static_cast<std::uint16_t>(free_ - chain.size());
    flags(head).store(head_flags, std::memory_order_release);  // last: the chain is whole
    return true;
}

/// The chain that begins at reaped_. @return its id
std::uint16_t PackedRing::take_back() {
    const std::uint16_t id = reaped_;
    const std::uint16_t length = std::max<std::uint16_t>(1, lengths_[id]);
    free_ = std::min(static_cast<std::uint16_t>(free_ + length), size_);
    reaped_ = static_cast<std::uint16_t>(reaped_ + length);
    if (reaped_ >= size_)
        reaped_ = static_cast<std::uint16_t>(reaped_ - size_), reaped_wrap_ = !reaped_wrap_;
    return id;
}

/// A device that uses buffers in order may mark the first descriptor of several chains with the id of the
/// last one: those before it are given back too.
std::optional<Used> PackedRing::reap() {
    if (free_ == size_)
        return std::nullopt;
    if (!in_order_) {
        const std::uint16_t mark = flags(reaped_).load(std::memory_order_acquire);
        if (((mark & kAvailable) != 0) != reaped_wrap_ || ((mark & kUsed) != 0) != reaped_wrap_)
            return std::nullopt;
        in_order_to_ = static_cast<std::uint16_t>(descriptor(reaped_).id % size_);
        in_order_bytes_ = descriptor(reaped_).bytes;
    }
    const std::uint16_t id = take_back();
    in_order_ = id != in_order_to_ && free_ != size_;
    return Used{id, in_order_bytes_};
}

bool PackedRing::all_used() {
    while (reap()) {
    }
    return free_ == size_;
}

void PackedRing::clear() {
    clear_parts();
    wrap_ = reaped_wrap_ = true;
    reaped_ = 0;
    in_order_ = false;
}

}  // namespace weir::hostile

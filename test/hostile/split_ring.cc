// split_ring.cc - chains of a split ring, given and taken back.
#include "test/hostile/split_ring.h"

namespace weir::hostile {

bool SplitRing::add(std::span<const Buffer> chain) {
    if (chain.size() > free_)
        return false;
    const std::uint16_t head = next_;
    for (std::size_t i = 0; i < chain.size(); ++i) {
        const Buffer& buffer = chain[i];
        const auto following = static_cast<std::uint16_t>((next_ + 1) % size_);
        const bool last = i + 1 == chain.size();
        descriptor(next_) = {buffer.address, buffer.bytes,
                             static_cast<std::uint16_t>(buffer.flags | (last ? 0U : kNext)), following};
        next_ = following;
    }
    lengths_[avail_index().load() % size_] = static_cast<std::uint16_t>(chain.size());
    free_ = static_cast<std::uint16_t>(free_ - chain.size());
    publish(head);
    return true;
}

std::optional<Used> SplitRing::reap() {
    if (reaped_ == used_index().load(std::memory_order_acquire) || free_ == size_)
        return std::nullopt;
    const UsedElement element = used_element(reaped_);
    const auto freed = static_cast<std::uint16_t>(free_ + lengths_[reaped_ % size_]);
    free_ = std::min(freed, size_);
    ++reaped_;
    return Used{static_cast<std::uint16_t>(element.head), element.bytes};
}

}  // namespace weir::hostile

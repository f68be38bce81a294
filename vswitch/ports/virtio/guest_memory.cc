// guest_memory.cc - look-ups that are not on the fast path.
#include "vswitch/ports/virtio/guest_memory.h"

#include <algorithm>

namespace weir::virtio {

bool GuestMemory::add(const Region& region) {
    if (count_ == kRegionsMax)
        return false;
    const auto end = regions_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto place =
        std::find_if(regions_.begin(), end, [&](const Region& one) { return one.bytes < region.bytes; });
    std::move_backward(place, end, end + 1);
    *place = region;
    ++count_;
    return true;
}

bool GuestMemory::collect(std::uint64_t address, std::uint32_t bytes, Pieces& pieces) const {
    while (bytes != 0) {
        const auto* const end = regions_.data() + count_;
        const auto* const found = std::find_if(
            regions_.data(), end, [&](const Region& one) { return address - one.address < one.bytes; });
        if (found == end || pieces.full())
            return false;
        const std::uint64_t offset = address - found->address;
        const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, found->bytes - offset));
        pieces.add({found->host + offset, part, address});
        address += part;
        bytes -= part;
    }
    return true;
}

bool GuestMemory::holds(const void* begin, std::uint64_t bytes, std::uintptr_t alignment) const {
    const auto at = reinterpret_cast<std::uintptr_t>(begin);
    return at % alignment == 0 &&
           std::any_of(regions_.data(), regions_.data() + count_, [&](const Region& one) {
               const std::uintptr_t offset = at - reinterpret_cast<std::uintptr_t>(one.host);
               return offset < one.bytes && bytes <= one.bytes - offset;
           });
}

}  // namespace weir::virtio

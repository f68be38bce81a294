// virtqueue.cc - where the parts of a ring lie.
#include "test/hostile/virtqueue.h"

#include <cstring>

namespace weir::hostile {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kDescriptorBytes = 16;
/// Between two parts at an end of memory.
constexpr std::uint64_t kGap = 64;

constexpr std::uint64_t down(std::uint64_t address, std::uint64_t alignment) {
    return address & ~(alignment - 1);
}

}  // namespace

RingParts place_ring(bool packed, Place place, std::uint64_t address, std::uint16_t size) {
    // Flags, index and event index beside a split ring's entries.
    RingParts parts{.descriptors = {address, kDescriptorBytes * size},
                    .driver = {0, packed ? 4 : 6 + 2ULL * size},
                    .device = {0, packed ? 4 : 6 + 8ULL * size}};
    if (place == Place::kAtEnd) {
        Extent& last = packed ? parts.descriptors : parts.device;
        Extent& first = packed ? parts.device : parts.descriptors;
        last.address = down(address - last.bytes, packed ? kDescriptorBytes : 4);
        parts.driver.address = down(last.address - kGap - parts.driver.bytes, 4);
        first.address = down(parts.driver.address - kGap - first.bytes, kDescriptorBytes);
        return parts;
    }
    const std::uint64_t step = place == Place::kSpaced ? kPage : kGap;
    parts.driver.address = down(address + parts.descriptors.bytes + step - 1, step);
    parts.device.address = down(parts.driver.address + parts.driver.bytes + step - 1, step);
    return parts;
}

void Virtqueue::clear_parts() {
    for (const Extent& part : {parts_.descriptors, parts_.driver, parts_.device})
        std::memset(memory_->at(part.address), 0, part.bytes);
    next_ = 0;
    free_ = size_;
}

}  // namespace weir::hostile

// one_lane.h - one ring of a device in the test's process, and the driver's side of it.
// Units: bytes; entries. Threads: tests only.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "test/vswitch/ports/virtio/guest_area.h"
#include "vswitch/ports/virtio/device.h"
#include "vswitch/ports/virtio/left_payload.h"

namespace weir::testing {

using namespace virtio;
using namespace virtio::descriptor_flag;

/// One ring of a device, at the very end of a region.
struct OneLane {
    OneLane(std::uint16_t entries, bool is_packed, bool mergeable = false)
        : size(entries), packed(is_packed), parts(parts_at(GuestArea::kRegionBytes, entries, is_packed)) {
        terms.mergeable = mergeable;
        terms.rights = {.checksum = true, .tso4 = true};
        REQUIRE(place());
    }
    bool place() {
        RingPlace at = place_of(area, parts, size);
        at.event_index = at.indirect = true;
        at.avail = at.used = packed ? kWrap : 0;
        lane.named = false;
        return packed ? lane.ring.emplace<PackedRing>().place(at, area.memory)
                      : lane.ring.emplace<SplitRing>().place(at, area.memory);
    }
    /// Offers one buffer, of the first round of a packed ring.
    void offer(std::uint64_t at, std::uint32_t bytes, std::uint16_t flags = 0) {
        const std::uint16_t index = offered++;
        if (packed) {
            (&area.as<PackedDescriptor>(parts.descriptors))[index] = {
                GuestArea::kAddress + at, bytes, index, static_cast<std::uint16_t>(flags | kAvailable)};
            return;
        }
        (&area.as<Descriptor>(parts.descriptors))[index] = {GuestArea::kAddress + at, bytes, flags,
                                                            static_cast<std::uint16_t>(index + 1)};
        auto* avail = &area.as<std::uint16_t>(parts.driver);
        if (!chained)
            avail[2 + avail[1]++] = index;
        chained = (flags & kNext) != 0;
    }
    /// Bytes that the device says it wrote into the nth chain.
    std::uint32_t written(std::size_t index) {
        return packed ? (&area.as<PackedDescriptor>(parts.descriptors))[index].bytes
                      : reinterpret_cast<UsedElement*>(area.host(parts.device + 4))[index].bytes;
    }
    /// Whole frames, whose chains the driver sees used.
    BurstResult take(rte_mbuf** frames, std::uint16_t most) {
        BurstResult result = take_heads(frames, most);
        fetch_payloads({frames, result.frames});
        if (result.owes)
            result.notify = show_used(lane).notify;
        return result;
    }
    BurstResult take_heads(rte_mbuf** frames, std::uint16_t most) {
        return virtio::take(lane, terms, area.memory, buffer_pool(), frames, most);
    }
    /// Chains that the driver sees used, of the first round of a packed ring.
    std::uint16_t seen_used() {
        if (!packed)
            return area.as<std::uint16_t>(parts.device + 2);
        std::uint16_t count = 0;
        while (count < size && ((&area.as<PackedDescriptor>(parts.descriptors))[count].flags & kUsed) != 0)
            ++count;
        return count;
    }
    BurstResult put(std::span<rte_mbuf*> frames) { return virtio::put(lane, terms, area.memory, frames); }

    GuestArea area;
    std::uint16_t size;
    bool packed;
    RingParts parts;
    Terms terms;
    Lane lane;
    std::uint16_t offered = 0;
    bool chained = false;
};

inline void write_frame(GuestArea& area, std::uint64_t at, const FrameBytes& bytes,
                        const NetHeader& header = {}) {
    std::memcpy(area.host(at), &header, sizeof(header));
    std::memcpy(area.host(at) + sizeof(header), bytes.data(), bytes.size());
}

[[nodiscard]] inline FrameBytes content(GuestArea& area, std::uint64_t at, std::size_t bytes) {
    return {area.host(at), area.host(at) + bytes};
}

}  // namespace weir::testing

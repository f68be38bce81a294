// virtio_fuzzer.cc - any bytes as a guest's ring and buffers: bursts from it and to it stay in its memory.
// Source: docs/algorithms.md 3.11.
//
// The first byte is the kind of ring: bit 0 packed, bit 1 mergeable, bit 2 a header of 10 bytes, bits 3-6 its
// size (split: a power of two up to 256; packed: 1 to 16). The second one is how many frames go to the guest.
// The bytes behind them are the ring, which ends at the end of a region, and then buffers. An address counts
// from the begin of the guest's memory, modulo its bytes and 64 more; the highest bit leaves it as it is.
// Pages around each region fault.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "test/fuzz/checks.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "test/vswitch/ports/virtio/guest_area.h"
#include "vswitch/ports/virtio/left_payload.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using namespace weir::testing;
using namespace weir::virtio;

constexpr std::uint16_t kMost = 32;

/// The guest that an input describes.
struct Guest {
    explicit Guest(std::uint8_t kind)
        : packed((kind & 1) != 0),
          size(static_cast<std::uint16_t>(packed ? 1 + (kind >> 3 & 15) : 1 << std::min(kind >> 3 & 15, 8))),
          parts(parts_at(GuestArea::kRegionBytes, size, packed)) {
        terms.mergeable = (kind & 2) != 0;
        terms.header_bytes = (kind & 4) != 0 && !terms.mergeable ? kShortNetHeaderBytes : kNetHeaderBytes;
        terms.rights = {.checksum = true, .tso4 = true};
    }
    void fill(const std::uint8_t* data, std::size_t bytes) {
        const std::size_t ring = std::min<std::size_t>(bytes, GuestArea::kRegionBytes - parts.descriptors);
        std::memcpy(area.host(parts.descriptors), data, ring);
        std::memcpy(area.host(kBuffersAt), data + ring, std::min<std::size_t>(bytes - ring, kBuffersAt));
        for (std::uint64_t at = parts.descriptors; at < parts.descriptors + 16ULL * size; at += 16)
            place(at);
        for (std::uint64_t at = kBuffersAt; at < kBuffersAt + 16ULL * size; at += 16)
            place(at);
    }
    void place(std::uint64_t at) {
        auto& address = area.as<std::uint64_t>(at);
        if (address >> 63 == 0)
            address = GuestArea::kAddress + address % (GuestArea::kBytes + 64);
    }
    [[nodiscard]] bool start() {
        RingPlace at = place_of(area, parts, size);
        at.event_index = at.indirect = true;
        at.avail = at.used = packed ? kWrap : 0;
        return packed ? lane.ring.emplace<PackedRing>().place(at, area.memory)
                      : lane.ring.emplace<SplitRing>().place(at, area.memory);
    }

    bool packed;
    std::uint16_t size;
    RingParts parts;
    GuestArea area;
    Terms terms;
    Lane lane;
};

void from_guest(Guest& guest) {
    std::array<rte_mbuf*, kMost> frames;
    const BurstResult result =
        take(guest.lane, guest.terms, guest.area.memory, buffer_pool(), frames.data(), kMost);
    fetch_payloads({frames.data(), result.frames});
    if (result.owes)
        (void)show_used(guest.lane);
    require(result.frames + result.refused <= std::min(guest.size, kMost),
            "a burst takes no more than the ring has");
    for (std::uint16_t i = 0; i < result.frames; ++i) {
        require(frames[i]->pkt_len != 0 && frames[i]->nb_segs <= limits::kFrameBuffersMax,
                "a frame has bytes, and a bound");
        rte_mbuf_sanity_check(frames[i], 1);
    }
    rte_pktmbuf_free_bulk(frames.data(), result.frames);
}

void to_guest(Guest& guest, std::uint16_t count) {
    std::array<rte_mbuf*, kMost> frames;
    for (std::uint16_t i = 0; i < count; ++i)
        frames[i] = to_mbuf(buffer_pool(), pattern(60 + 300U * i), i % 3 == 2 ? 256 : 0);
    const BurstResult result = put(guest.lane, guest.terms, guest.area.memory, {frames.data(), count});
    require(result.frames <= count, "no more frames are taken than were offered");
    rte_pktmbuf_free_bulk(frames.data(), count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2)
        return 0;
    Guest guest(data[0]);
    guest.fill(data + 2, size - 2);
    for (const bool sends : {true, false}) {
        require(guest.start(), "a ring at the end of a region is placed");
        if (sends)
            from_guest(guest);
        else
            to_guest(guest, data[1] % (kMost + 1));
        guest.fill(data + 2, size - 2);
    }
    require(buffers_in_use() == 0, "no buffer is lost");
    return 0;
}

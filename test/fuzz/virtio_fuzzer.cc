// virtio_fuzzer.cc - any bytes as a guest's ring and buffers: bursts from it and to it stay in its memory.
// Source: docs/algorithms.md 3.11.
//
// The first byte is the kind of ring: bit 0 packed, bit 1 mergeable, bit 2 a header of 10 bytes, bits 3-6 its
// size (split: a power of two up to 8,192; packed: 1 to 12, or up to 8,192), bit 7 whether its last bytes are
// changes that the guest makes while the switch reads. The second byte is how many frames go to the guest.
// The bytes behind them are the ring, which ends at the end of a region, and then buffers; a ring of more
// than 256 entries is filled with the bytes again and again, and claims to be full. An address counts from
// the begin of the guest's memory, modulo its bytes and 64 more; the highest bit leaves it as it is. Pages
// around each region fault.
//
// A call reads the guest's memory no more than 256 times for each frame that it was asked for, and 1,024
// times besides: a frame has 256 descriptors at most, and a call that has looked at 640 ends.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <utility>

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
constexpr std::size_t kChangesBytes = 64;
constexpr std::uint16_t kLarge = 256;  // entries above which a ring is filled by repetition
constexpr std::uint64_t kReadsPerFrame = 256;
constexpr std::uint64_t kReadsPerCall = 1024;

/// Entries of a ring. @param wanted 0 to 15
std::uint16_t entries(bool packed, unsigned wanted) {
    constexpr std::uint16_t kLargePacked[] = {64, 1000, 4096, 8192};
    constexpr unsigned kSmallest = 12;
    constexpr unsigned kLargestSplit = 13;
    if (!packed)
        return static_cast<std::uint16_t>(1U << std::min(wanted, kLargestSplit));
    return wanted < kSmallest ? static_cast<std::uint16_t>(1 + wanted) : kLargePacked[wanted - kSmallest];
}

/// The guest that an input describes.
struct Guest {
    explicit Guest(std::uint8_t kind)
        : packed((kind & 1) != 0),
          size(entries(packed, kind >> 3 & 15)),
          parts(parts_at(GuestArea::kRegionBytes, size, packed)) {
        for (const std::size_t region : {0U, 1U})
            std::memset(area.region(region).data(), 0, GuestArea::kRegionBytes);
        terms.mergeable = (kind & 2) != 0;
        terms.header_bytes = (kind & 4) != 0 && !terms.mergeable ? kShortNetHeaderBytes : kNetHeaderBytes;
        terms.rights = {.checksum = true, .tso4 = true};
    }
    void fill(const std::uint8_t* data, std::size_t bytes) {
        const std::size_t ring = std::min<std::size_t>(bytes, GuestArea::kRegionBytes - parts.descriptors);
        std::memcpy(area.host(parts.descriptors), data, ring);
        if (size > kLarge && ring != 0)
            repeat(ring);
        std::memcpy(area.host(kBuffersAt), data + ring, std::min<std::size_t>(bytes - ring, kBuffersAt));
        for (std::uint64_t at = parts.descriptors; at < parts.descriptors + 16ULL * size; at += 16)
            place(at);
        for (std::uint64_t at = kBuffersAt; at < kBuffersAt + 16ULL * size; at += 16)
            place(at);
    }
    /// The first bytes of the ring again, up to its end.
    void repeat(std::size_t bytes) {
        const std::size_t room = GuestArea::kRegionBytes - parts.descriptors;
        for (std::size_t at = bytes; at < room; at += bytes)
            std::memmove(area.host(parts.descriptors + at), area.host(parts.descriptors),
                         std::min(bytes, room - at));
        if (!packed)
            area.as<std::uint16_t>(parts.driver + sizeof(std::uint16_t)) = size;
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

    /// One for all inputs: new pages cost more than a burst.
    static GuestArea& memory() {
        static GuestArea one;
        return one;
    }

    bool packed;
    std::uint16_t size;
    RingParts parts;
    GuestArea& area = memory();
    Terms terms;
    Lane lane;
};

/// Words of the ring, and of the tables and headers at the begin of the buffers, that the guest changes
/// between two reads of the switch.
class Changes {
  public:
    /// @param list four bytes each: how many reads after the last change (3 bits), whether in the buffers
    /// (1), the word's place (12), the bits to change
    Changes(Guest& guest, std::span<const std::uint8_t> list) : guest_(guest), list_(list) {
        current_ = this;
        guest_writes = [] { current_->before_read(); };
    }
    ~Changes() { guest_writes = nullptr; }
    Changes(const Changes&) = delete;
    Changes& operator=(const Changes&) = delete;

    /// Since the begin, or the last call.
    std::uint64_t take_reads() { return std::exchange(all_reads_, 0); }

  private:
    void before_read() {
        ++all_reads_;
        for (; list_.size() >= kBytes && (list_[0] & 7) == reads_; list_ = list_.subspan(kBytes), reads_ = 0)
            change((list_[0] & 8) != 0, static_cast<std::uint64_t>(list_[0] >> 4 << 8 | list_[1]),
                   static_cast<std::uint16_t>(list_[2] | list_[3] << 8));
        ++reads_;
    }
    void change(bool in_buffers, std::uint64_t word, std::uint16_t bits) {
        const std::uint64_t ring = guest_.parts.descriptors;
        const std::uint64_t ring_words = (GuestArea::kRegionBytes - ring) / 2;
        guest_.area.as<std::uint16_t>(in_buffers ? kBuffersAt + word * 2 : ring + word % ring_words * 2) ^=
            bits;
    }

    static constexpr std::size_t kBytes = 4;
    static inline Changes* current_ = nullptr;
    Guest& guest_;
    std::span<const std::uint8_t> list_;
    unsigned reads_ = 0;  ///< since the last change
    std::uint64_t all_reads_ = 0;
};

void require_few_reads(Changes& changes, std::uint64_t frames) {
    require(changes.take_reads() <= frames * kReadsPerFrame + kReadsPerCall,
            "a call reads the guest's memory a bounded number of times");
}

void from_guest(Guest& guest, Changes& changes) {
    std::array<rte_mbuf*, kMost> frames;
    changes.take_reads();
    const BurstResult result =
        take(guest.lane, guest.terms, guest.area.memory, buffer_pool(), frames.data(), kMost);
    require_few_reads(changes, kMost);
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

/// Frames to the guest, from 60 to 9,360 bytes.
std::span<const std::vector<std::uint8_t>> frame_bytes() {
    static const auto all = [] {
        std::array<std::vector<std::uint8_t>, kMost> made;
        for (std::size_t i = 0; i < made.size(); ++i)
            made[i] = pattern(60 + 300 * i);
        return made;
    }();
    return all;
}

void to_guest(Guest& guest, Changes& changes, std::uint16_t count) {
    std::array<rte_mbuf*, kMost> frames;
    for (std::uint16_t i = 0; i < count; ++i)
        frames[i] = to_mbuf(buffer_pool(), frame_bytes()[i], i % 3 == 2 ? 256 : 0);
    std::visit(
        [&](const auto& ring) {
            ring.prefetch_index();
            ring.prefetch_descriptor();
            ring.prefetch_buffer(guest.area.memory, guest.terms.header_bytes);
        },
        guest.lane.ring);
    std::visit(
        [](auto& ring) {
            (void)ask_for_kick(ring);
            ring.wish_kicks(false);
        },
        guest.lane.ring);
    changes.take_reads();
    const BurstResult result = put(guest.lane, guest.terms, guest.area.memory, {frames.data(), count});
    require_few_reads(changes, count);
    require(result.frames <= count, "no more frames are taken than were offered");
    rte_pktmbuf_free_bulk(frames.data(), count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2)
        return 0;
    Guest guest(data[0]);
    const bool changes = (data[0] & 128) != 0;
    const std::span<const std::uint8_t> contents(data + 2, size - 2);
    for (const bool sends : {true, false}) {
        guest.fill(contents.data(), contents.size());
        require(guest.start(), "a ring at the end of a region is placed");
        Changes meanwhile(guest, contents.last(changes ? std::min(contents.size(), kChangesBytes) : 0));
        if (sends)
            from_guest(guest, meanwhile);
        else
            to_guest(guest, meanwhile, data[1] % (kMost + 1));
    }
    require(buffers_in_use() == 0, "no buffer is lost");
    return 0;
}

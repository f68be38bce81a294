// device_bounds_test.cc - rings of empty, tiny and endless descriptors: each call is bounded, and the excess
// is counted.
#include <array>
#include <memory>
#include <vector>

#include "test/vswitch/ports/virtio/one_lane.h"

using namespace weir;
using namespace weir::virtio;
using namespace weir::testing;
using namespace weir::virtio::descriptor_flag;

TEST_CASE(
    "virtio: a call looks at a bounded number of descriptors, empty ones too, and goes on in the next one") {
    constexpr unsigned kEmpty = 200;
    for (const bool packed : {false, true}) {
        OneLane guest(2048, packed);
        write_frame(guest.area, kBuffersAt, numbered(mac(2), mac(1), 60, 7));
        for (unsigned frame = 0; frame < 10; ++frame) {
            for (unsigned i = 0; i < kEmpty; ++i)
                guest.offer(kBuffersAt, 0, kNext);
            guest.offer(kBuffersAt, 12 + 60);
        }
        std::array<rte_mbuf*, 32> frames{};
        for (const unsigned expected :
             {4U, 4U, 2U, 0U}) {  // 640 descriptors, and those of the frame that passes them
            const BurstResult result = guest.take(frames.data(), 32);
            CHECK((result.frames == expected && result.refused == 0 && result.fault == RingFault::kNone));
            rte_pktmbuf_free_bulk(frames.data(), result.frames);
        }
        CHECK(buffers_in_use() == 0);
    }
}

TEST_CASE(
    "virtio: a chain of more descriptors than a frame has gives none; of a packed ring it stops the ring") {
    for (const bool packed : {false, true}) {
        OneLane guest(2048, packed);
        write_frame(guest.area, kBuffersAt, numbered(mac(2), mac(1), 60, 7));
        for (unsigned i = 0; i < Pieces::kMost; ++i)
            guest.offer(kBuffersAt, 0, kNext);
        guest.offer(kBuffersAt, 12 + 60);
        guest.offer(kBuffersAt, 12 + 60);
        std::array<rte_mbuf*, 32> frames{};
        const BurstResult result = guest.take(frames.data(), 32);
        CHECK(result.frames == (packed ? 0 : 1));
        CHECK(result.refused == (packed ? 0 : 1));
        CHECK(result.fault == (packed ? RingFault::kChain : RingFault::kNone));
        rte_pktmbuf_free_bulk(frames.data(), result.frames);
    }
}

TEST_CASE("virtio: an indirect table of more descriptors than a frame has gives none") {
    for (const bool packed : {false, true}) {
        OneLane guest(1024, packed);
        for (unsigned i = 0; i <= Pieces::kMost; ++i) {
            const auto flags = static_cast<std::uint16_t>(i < Pieces::kMost && !packed ? kNext : 0);
            if (packed)
                (&guest.area.as<PackedDescriptor>(kBuffersAt))[i] = {GuestArea::kAddress + kBuffersAt, 0, 0,
                                                                     flags};
            else
                (&guest.area.as<Descriptor>(kBuffersAt))[i] = {GuestArea::kAddress + kBuffersAt, 0, flags,
                                                               static_cast<std::uint16_t>(i + 1)};
        }
        guest.offer(kBuffersAt, 16 * (Pieces::kMost + 1), kIndirect);
        std::array<rte_mbuf*, 32> frames{};
        const BurstResult result = guest.take(frames.data(), 32);
        CHECK((result.frames == 0 && result.refused == 1 && result.fault == RingFault::kNone));
    }
}

TEST_CASE("virtio: super-frames of many buffers in one burst are shown once each, noted or not") {
    constexpr unsigned kChains = 40;
    constexpr std::size_t kBytes = kChains * 200 - 12;
    for (const bool noted : {false, true}) {
        OneLane guest(256, true, true);
        auto place = std::make_unique<PackedPlace>();
        RingPlace at = place_of(guest.area, guest.parts, guest.size);
        at.avail = at.used = kWrap;
        at.noted = noted ? place.get() : nullptr;
        REQUIRE(guest.lane.ring.emplace<PackedRing>().place(at, guest.area.memory));
        for (unsigned i = 0; i < kChains + 5; ++i)
            guest.offer(kBuffersAt + i * 0x200, 200, kWrite);
        std::array<rte_mbuf*, 2> frames{to_mbuf(buffer_pool(), pattern(kBytes)),
                                        to_mbuf(buffer_pool(), pattern(kBytes))};
        const BurstResult result = guest.put(frames);
        CHECK((result.frames == 1 && result.too_long == 0 && result.fault == RingFault::kNone &&
               result.notify));
        CHECK(guest.seen_used() == kChains);
        const auto* ring = &guest.area.as<PackedDescriptor>(guest.parts.descriptors);
        for (unsigned i = kChains; i < kChains + 5; ++i)
            CHECK((ring[i].flags == (kAvailable | kWrite) && ring[i].bytes == 200));
        CHECK((!noted || place->word == (kWrap | kChains) << 16));
        for (unsigned i = 5; i < kChains; ++i)
            guest.offer(kBuffersAt + i * 0x200, 200, kWrite);
        CHECK(guest.put(std::span(frames).subspan(1)).frames == 1);
        CHECK(guest.seen_used() == 2 * kChains);
        for (rte_mbuf* one : frames)
            rte_pktmbuf_free(one);
    }
}

TEST_CASE("virtio: a burst of one-buffer frames behind a frame of 256 buffers fits the note") {
    OneLane guest(1024, true, true);
    auto place = std::make_unique<PackedPlace>();
    RingPlace at = place_of(guest.area, guest.parts, guest.size);
    at.avail = at.used = kWrap;
    at.noted = place.get();
    REQUIRE(guest.lane.ring.emplace<PackedRing>().place(at, guest.area.memory));
    std::vector<rte_mbuf*> frames;
    const auto add = [&](unsigned buffers, std::size_t bytes) {
        for (unsigned i = 0; i < buffers; ++i)
            guest.offer(kBuffersAt, 100, kWrite);
        frames.push_back(to_mbuf(buffer_pool(), pattern(bytes)));
    };
    add(31, 31 * 100 - 12);
    add(256, 256 * 100 - 12);
    for (unsigned i = 0; i < 30; ++i)
        add(1, 60);
    CHECK(guest.put(frames).frames == 32);
    CHECK(guest.seen_used() == 31 + 256 + 30);
    CHECK(place->state == 0);  // nothing was written behind the notes
    for (rte_mbuf* one : frames)
        rte_pktmbuf_free(one);
}

TEST_CASE("virtio: receive buffers of no bytes stop the ring at once") {
    for (const bool packed : {false, true})
        for (const bool mergeable : {false, true}) {
            OneLane guest(1024, packed, mergeable);
            for (unsigned i = 0; i < 200; ++i)
                guest.offer(kBuffersAt, 0, kWrite | kNext);
            guest.offer(kBuffersAt, 0, kWrite);
            guest.offer(kBuffersAt + 0x1000, 2048, kWrite);
            rte_mbuf* frame = to_mbuf(buffer_pool(), pattern(60));
            const BurstResult result = guest.put({&frame, 1});
            CHECK((result.frames == 0 && result.fault == RingFault::kReceive));
            CHECK(guest.seen_used() == 0);
            rte_pktmbuf_free(frame);
        }
}

TEST_CASE("virtio: needless descriptors of a receiver are counted, and a call ends behind so many") {
    constexpr unsigned kPerFrame = 12 + 60;  // buffers of one byte
    for (const bool packed : {false, true}) {
        OneLane guest(2048, packed);
        for (unsigned frame = 0; frame < 20; ++frame)
            for (unsigned i = 0; i < kPerFrame; ++i)
                guest.offer(kBuffersAt, 1,
                            static_cast<std::uint16_t>(kWrite | (i + 1 < kPerFrame ? kNext : 0)));
        std::array<rte_mbuf*, 20> frames;
        for (rte_mbuf*& one : frames)
            one = to_mbuf(buffer_pool(), pattern(60));
        const BurstResult result = guest.put(frames);
        CHECK(result.frames == 9);  // 648 descriptors
        CHECK(result.excess == 9 * (kPerFrame - 1));
        const BurstResult next = guest.put(std::span(frames).subspan(9));
        CHECK((next.frames == 9 && next.fault == RingFault::kNone));
        for (rte_mbuf* one : frames)
            rte_pktmbuf_free(one);
    }
    OneLane plain(8, false);
    for (unsigned i = 0; i < 2; ++i)
        plain.offer(kBuffersAt + i * 0x1000, 2048, kWrite);
    std::array<rte_mbuf*, 2> frames{to_mbuf(buffer_pool(), pattern(60)),
                                    to_mbuf(buffer_pool(), pattern(1514), 256)};
    const BurstResult result = plain.put(frames);
    CHECK((result.frames == 2 && result.excess == 0));
    for (rte_mbuf* one : frames)
        rte_pktmbuf_free(one);
}

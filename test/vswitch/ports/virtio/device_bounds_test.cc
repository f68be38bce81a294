// device_bounds_test.cc - rings of empty, tiny and endless descriptors: each call is bounded, and the excess
// is counted.
#include <array>

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

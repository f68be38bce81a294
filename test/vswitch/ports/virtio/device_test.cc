// device_test.cc - bursts on split and packed rings: worked frames, and random bytes in all that a guest can
// write.
#include "vswitch/ports/virtio/device.h"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "test/vswitch/ports/virtio/one_lane.h"
#include "vswitch/ports/virtio/left_payload.h"

using namespace weir;
using namespace weir::virtio;
using namespace weir::testing;
using namespace weir::virtio::descriptor_flag;

TEST_CASE("virtio: a guest's frames in one buffer, in several, and none where a chain is wrong") {
    for (const bool packed : {false, true}) {
        OneLane guest(8, packed);
        const FrameBytes small = numbered(mac(2), mac(1), 60, 7);
        const FrameBytes large = pattern(5000);
        write_frame(guest.area, kBuffersAt, small);
        guest.offer(kBuffersAt, 12 + 60);
        guest.offer(GuestArea::kBytes, 100);  // outside
        write_frame(guest.area, kBuffersAt + 0x1000, large);
        guest.offer(kBuffersAt + 0x1000, 7, kNext);
        guest.offer(kBuffersAt + 0x1007, 12 + 5000 - 7);
        guest.offer(kBuffersAt, 12);  // a header and no frame
        std::array<rte_mbuf*, 32> frames{};
        const BurstResult result = guest.take(frames.data(), 32);
        REQUIRE(result.frames == 2);
        CHECK(result.refused == 2);
        CHECK(result.notify);
        CHECK(result.fault == RingFault::kNone);
        CHECK(bytes_of(frames[0]) == small);
        CHECK(bytes_of(frames[1]) == large);
        CHECK(frames[1]->nb_segs == 3);
        rte_pktmbuf_free_bulk(frames.data(), result.frames);
        CHECK(buffers_in_use() == 0);
        CHECK(guest.take(frames.data(), 32).frames == 0);
    }
}

TEST_CASE(
    "virtio: the destination of the next frame is known before it is taken, also when its header is in "
    "parts") {
    for (const bool packed : {false, true}) {
        OneLane guest(8, packed);
        const auto peek = [&] { return peek_destination(guest.lane, guest.terms, guest.area.memory); };
        CHECK_FALSE(peek());
        write_frame(guest.area, kBuffersAt, numbered(mac(2), mac(1), 60, 7));
        guest.offer(kBuffersAt, 5, kNext);
        guest.offer(kBuffersAt + 5, 10, kNext);
        guest.offer(kBuffersAt + 15, 57);
        CHECK(peek() == mac(2));
        CHECK(peek() == mac(2));
        std::array<rte_mbuf*, 32> frames{};
        REQUIRE(guest.take(frames.data(), 32).frames == 1);
        CHECK(number_of(frames[0]) == 7);
        rte_pktmbuf_free(frames[0]);
        CHECK_FALSE(peek());
        guest.offer(kBuffersAt, 17);  // half of an address
        CHECK_FALSE(peek());
    }
}

TEST_CASE("virtio: the longest frame is 33 buffers, and one byte more is refused") {
    OneLane guest(2, false);
    const std::uint32_t most = limits::kFrameBuffersMax * 2048;
    guest.offer(kBuffersAt, 12 + most);
    guest.offer(kBuffersAt, 12 + most + 1);
    std::array<rte_mbuf*, 32> frames{};
    const BurstResult result = guest.take(frames.data(), 32);
    REQUIRE(result.frames == 1);
    CHECK(result.refused == 1);
    CHECK(frames[0]->pkt_len == most);
    CHECK(frames[0]->nb_segs == limits::kFrameBuffersMax);
    rte_pktmbuf_free(frames[0]);
}

TEST_CASE("virtio: frames to a guest with mergeable buffers fill as many as they need") {
    for (const bool packed : {false, true}) {
        OneLane guest(8, packed, true);
        for (unsigned i = 0; i < 5; ++i)
            guest.offer(kBuffersAt + i * 0x1000, 600, kWrite);
        const FrameBytes frame = pattern(1500);
        std::array<rte_mbuf*, 3> frames{to_mbuf(buffer_pool(), frame),
                                        to_mbuf(buffer_pool(), pattern(100), 40),
                                        to_mbuf(buffer_pool(), frame)};
        const BurstResult result = guest.put(frames);
        CHECK(result.frames == 2);  // 1 buffer is left, and the third frame needs 3
        CHECK(result.notify);
        CHECK((guest.written(0) == 600 && guest.written(1) == 600 && guest.written(2) == 312));
        CHECK(guest.written(3) == 112);
        CHECK(guest.area.as<NetHeader>(kBuffersAt).buffers == 3);
        FrameBytes arrived = content(guest.area, kBuffersAt + 12, 588);
        for (const FrameBytes& more :
             {content(guest.area, kBuffersAt + 0x1000, 600), content(guest.area, kBuffersAt + 0x2000, 312)})
            arrived.insert(arrived.end(), more.begin(), more.end());
        CHECK(arrived == frame);
        CHECK(content(guest.area, kBuffersAt + 0x3000 + 12, 100) == pattern(100));
        for (rte_mbuf* one : frames)
            rte_pktmbuf_free(one);
    }
}

TEST_CASE("virtio: a header is stored where other bytes stand, and the same bytes are left alone") {
    constexpr std::uint64_t kPage = 4096;
    for (const bool packed : {false, true})
        for (const std::uint32_t header_bytes : {kNetHeaderBytes, kShortNetHeaderBytes}) {
            OneLane guest(64, packed);
            guest.terms.header_bytes = header_bytes;
            const std::uint64_t at = kBuffersAt + kPage - header_bytes;  // the frame begins the next page
            const auto receive = [&](std::uint64_t flags) {
                guest.offer(at, 2048, kWrite);
                rte_mbuf* frame = to_mbuf(buffer_pool(), numbered(mac(2), mac(1), 60, 7));
                frame->ol_flags = flags;
                frame->l2_len = sizeof(rte_ether_hdr);
                frame->l3_len = sizeof(rte_ipv4_hdr);
                CHECK(guest.put({&frame, 1}).frames == 1);
                rte_pktmbuf_free(frame);
            };
            FrameBytes plain(header_bytes);
            if (header_bytes == kNetHeaderBytes)
                plain[offsetof(NetHeader, buffers)] = 1;
            for (std::uint32_t byte = 0; byte < header_bytes; ++byte) {
                std::memcpy(guest.area.host(at), plain.data(), plain.size());
                guest.area.host(at)[byte] ^= 0x80;
                receive(0);
                CHECK(content(guest.area, at, header_bytes) == plain);
            }
            REQUIRE(mprotect(guest.area.host(kBuffersAt), kPage, PROT_READ) == 0);  // a store would fault
            receive(0);
            REQUIRE(mprotect(guest.area.host(kBuffersAt), kPage, PROT_READ | PROT_WRITE) == 0);
            receive(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM);
            CHECK(guest.area.host(at)[0] == net_flag::kNeedsChecksum);
            receive(0);
            CHECK(content(guest.area, at, header_bytes) == plain);
        }
}

TEST_CASE("virtio: a header over buffers of one byte each, and a frame behind it, stay in the buffers") {
    for (const bool packed : {false, true}) {
        OneLane guest(32, packed, true);
        for (unsigned i = 0; i < 13; ++i)
            guest.offer(kBuffersAt + 2 * i, 1, kWrite);
        guest.offer(kBuffersAt + 0x1000, 59, kWrite);
        std::memset(guest.area.host(kBuffersAt), 0xEE, 64);
        rte_mbuf* frame = to_mbuf(buffer_pool(), pattern(60));
        CHECK(guest.put({&frame, 1}).frames == 1);
        for (unsigned i = 0; i < 13; ++i)
            CHECK(*guest.area.host(kBuffersAt + 2 * i + 1) == 0xEE);
        CHECK(*guest.area.host(kBuffersAt + 24) == pattern(60)[0]);
        CHECK(guest.written(13) == 59);
        rte_pktmbuf_free(frame);
    }
}

TEST_CASE("virtio: a frame that the posted buffers cannot hold is named alone, and its neighbors arrive") {
    for (const bool packed : {false, true}) {
        OneLane guest(8, packed);
        for (unsigned i = 0; i < 3; ++i)
            guest.offer(kBuffersAt + i * 0x1000, 1526, kWrite);
        rte_mbuf* longer = to_mbuf(buffer_pool(), pattern(1515));
        rte_mbuf* longest = to_mbuf(buffer_pool(), pattern(4000));
        std::array<rte_mbuf*, 6> frames{longest,
                                        to_mbuf(buffer_pool(), pattern(1514)),
                                        longer,
                                        to_mbuf(buffer_pool(), pattern(100)),
                                        to_mbuf(buffer_pool(), pattern(200)),
                                        to_mbuf(buffer_pool(), pattern(300))};
        const auto offered = frames;
        const BurstResult result = guest.put(frames);
        CHECK((result.frames == 3 && result.too_long == 2 && result.fault == RingFault::kNone));
        CHECK((guest.written(0) == 1526 && guest.written(1) == 112 && guest.written(2) == 212));
        CHECK((frames ==
               std::array<rte_mbuf*, 6>{offered[1], offered[3], offered[4], offered[5], longer, longest}));
        const BurstResult full = guest.put({frames.data() + 3, 3});  // no buffer, no verdict
        CHECK((full.frames == 0 && full.too_long == 0 && full.fault == RingFault::kNone));
        guest.offer(kBuffersAt, 4012, kWrite);
        CHECK(guest.put({frames.data() + 4, 1}).frames == 1);
        for (rte_mbuf* one : frames)
            rte_pktmbuf_free(one);
    }
}

TEST_CASE("virtio: a chain of descriptors is one buffer, and a frame longer than it is lost alone") {
    for (const bool packed : {false, true}) {
        OneLane guest(8, packed);
        for (unsigned i = 0; i < 2; ++i) {
            guest.offer(kBuffersAt + i * 0x1000, 12, kWrite | kNext);
            guest.offer(kBuffersAt + i * 0x1000 + 12, 1514, kWrite);
        }
        std::array<rte_mbuf*, 3> frames{to_mbuf(buffer_pool(), pattern(1600)),
                                        to_mbuf(buffer_pool(), pattern(100)),
                                        to_mbuf(buffer_pool(), pattern(1514))};
        const BurstResult result = guest.put(frames);
        CHECK((result.frames == 2 && result.too_long == 1 && result.fault == RingFault::kNone));
        for (rte_mbuf* one : frames)
            rte_pktmbuf_free(one);
    }
}

TEST_CASE(
    "virtio: a frame that all mergeable buffers of a ring cannot hold is lost alone, one that more may hold "
    "waits") {
    for (const bool packed : {false, true}) {
        OneLane guest(4, packed, true);
        for (unsigned i = 0; i < 3; ++i)
            guest.offer(kBuffersAt + i * 0x1000, 600, kWrite);
        std::array<rte_mbuf*, 2> frames{to_mbuf(buffer_pool(), pattern(2380)),
                                        to_mbuf(buffer_pool(), pattern(2000))};
        CHECK((guest.put(frames).frames == 0 && guest.put(frames).too_long == 0));
        guest.offer(kBuffersAt + 0x3000, 600, kWrite);
        rte_mbuf* longer = to_mbuf(buffer_pool(), pattern(2389));
        std::array<rte_mbuf*, 2> burst{longer, frames[0]};
        const BurstResult result = guest.put(burst);
        CHECK((result.frames == 1 && result.too_long == 1 && result.fault == RingFault::kNone));
        CHECK(guest.area.as<NetHeader>(kBuffersAt).buffers == 4);
        rte_pktmbuf_free(longer);
        for (rte_mbuf* one : frames)
            rte_pktmbuf_free(one);
    }
}

TEST_CASE(
    "virtio: a burst longer than a packed ring ends at its last buffer, and goes on when there are more") {
    for (const bool mergeable : {false, true}) {
        OneLane guest(4, true, mergeable);
        for (unsigned i = 0; i < 4; ++i)
            guest.offer(kBuffersAt + i * 0x1000, 1526, kWrite);
        std::array<rte_mbuf*, 6> frames;
        for (rte_mbuf*& one : frames)
            one = to_mbuf(buffer_pool(), pattern(100));
        const BurstResult first = guest.put(frames);
        CHECK((first.frames == 4 && first.too_long == 0 && first.fault == RingFault::kNone));
        const BurstResult full = guest.put({frames.data() + 4, 2});
        CHECK((full.frames == 0 && full.fault == RingFault::kNone));
        auto* ring = &guest.area.as<PackedDescriptor>(guest.parts.descriptors);
        for (std::uint16_t i = 0; i < 2; ++i)  // the second round
            ring[i] = {GuestArea::kAddress + kBuffersAt + i * 0x1000U, 1526, i, kWrite | kUsed};
        CHECK(guest.put({frames.data() + 4, 2}).frames == 2);
        for (rte_mbuf* one : frames)
            rte_pktmbuf_free(one);
    }
}

TEST_CASE("virtio: receive buffers that hold no plain frame stop the ring, together or alone") {
    for (const bool mergeable : {false, true}) {
        OneLane guest(8, false, mergeable);
        for (unsigned i = 0; i < 8; ++i)
            guest.offer(kBuffersAt + 0x1000 * i, mergeable ? 190 : 1525, kWrite);
        rte_mbuf* frame = to_mbuf(buffer_pool(), pattern(1514));
        const BurstResult result = guest.put({&frame, 1});
        CHECK((result.frames == 0 && result.fault == RingFault::kShort));
        rte_pktmbuf_free(frame);
    }
}

TEST_CASE("virtio: a receive buffer outside of memory stops the ring and is named") {
    OneLane guest(8, false);
    guest.offer(kBuffersAt, 2048, kWrite);
    guest.offer(GuestArea::kBytes - 100, 2048, kWrite);
    std::array<rte_mbuf*, 2> frames{to_mbuf(buffer_pool(), pattern(100)),
                                    to_mbuf(buffer_pool(), pattern(200))};
    const BurstResult result = guest.put(frames);
    CHECK(result.frames == 1);
    CHECK(result.fault == RingFault::kReceive);
    for (rte_mbuf* one : frames)
        rte_pktmbuf_free(one);
}

TEST_CASE(
    "virtio: a payload that is left goes into another ring in one copy, before its chain is shown used") {
    for (const bool packed : {false, true}) {
        OneLane sender(8, packed);
        OneLane receiver(8, packed);
        const FrameBytes large = pattern(1500);
        const FrameBytes small = pattern(100);
        write_frame(sender.area, kBuffersAt, large);
        sender.offer(kBuffersAt, 12 + 1500);
        write_frame(sender.area, kBuffersAt + 0x1000, small);
        sender.offer(kBuffersAt + 0x1000, 12 + 100);
        write_frame(sender.area, kBuffersAt + 0x2000, large);
        sender.offer(kBuffersAt + 0x2000, 12 + 700, kNext);  // of two buffers: whole
        sender.offer(kBuffersAt + 0x2000 + 712, 800);
        std::array<rte_mbuf*, 32> frames{};
        const BurstResult taken = sender.take_heads(frames.data(), 32);
        REQUIRE(taken.frames == 3);
        CHECK(taken.owes);
        CHECK(sender.seen_used() == 0);
        REQUIRE(payload_is_left(frames[0]));
        CHECK(frames[0]->pkt_len == 1500);
        CHECK(frames[0]->data_len == kHeadBytes);
        CHECK(left_payload(frames[0]) == sender.area.host(kBuffersAt + 12 + kHeadBytes));
        CHECK_FALSE(payload_is_left(frames[1]));
        CHECK_FALSE(payload_is_left(frames[2]));
        for (const std::uint64_t at : {kBuffersAt, kBuffersAt + 0x1000, kBuffersAt + 0x2000})
            receiver.offer(at, 2000, kWrite);
        const BurstResult put = receiver.put({frames.data(), 3});
        CHECK(put.frames == 3);
        CHECK(put.straight == 1);
        CHECK(content(receiver.area, kBuffersAt + 12, 1500) == large);
        CHECK(content(receiver.area, kBuffersAt + 0x1000 + 12, 100) == small);
        CHECK(content(receiver.area, kBuffersAt + 0x2000 + 12, 1500) == large);
        CHECK(receiver.written(0) == 1512);
        const BurstResult shown = show_used(sender.lane);
        CHECK(shown.notify);
        CHECK(sender.seen_used() == 3);
        rte_pktmbuf_free_bulk(frames.data(), 3);
    }
}

TEST_CASE("virtio: a payload is not left where the header has a wish") {
    OneLane sender(8, false);
    const FrameBytes frame = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(1400))));
    NetHeader wish{};
    wish.flags = net_flag::kNeedsChecksum;
    wish.checksum_start = 34;
    wish.checksum_offset = 16;
    write_frame(sender.area, kBuffersAt, frame, wish);
    sender.offer(kBuffersAt, static_cast<std::uint32_t>(12 + frame.size()));
    std::array<rte_mbuf*, 32> frames{};
    const BurstResult taken = sender.take_heads(frames.data(), 32);
    REQUIRE(taken.frames == 1);
    CHECK_FALSE(taken.owes);
    CHECK_FALSE(payload_is_left(frames[0]));
    CHECK(sender.seen_used() == 1);
    rte_pktmbuf_free(frames[0]);
}

TEST_CASE("virtio: a payload that is left is fetched for a receiver whose buffers are short") {
    for (const bool packed : {false, true}) {
        OneLane sender(8, packed);
        OneLane receiver(8, packed, true);
        const FrameBytes large = pattern(1500);
        write_frame(sender.area, kBuffersAt, large);
        sender.offer(kBuffersAt, 12 + 1500);
        std::array<rte_mbuf*, 32> frames{};
        REQUIRE(sender.take_heads(frames.data(), 32).owes);
        receiver.offer(kBuffersAt, 1000, kWrite);
        receiver.offer(kBuffersAt + 0x1000, 1000, kWrite);
        const BurstResult put = receiver.put({frames.data(), 1});
        CHECK(put.frames == 1);
        CHECK(put.straight == 0);
        FrameBytes got = content(receiver.area, kBuffersAt + 12, 988);
        const FrameBytes rest = content(receiver.area, kBuffersAt + 0x1000, 512);
        got.insert(got.end(), rest.begin(), rest.end());
        CHECK(got == large);
        (void)show_used(sender.lane);
        rte_pktmbuf_free(frames[0]);
    }
}

TEST_CASE("virtio: property: no bytes of a guest lead a burst outside of its memory, and no buffer is lost") {
    std::mt19937_64 random(35);
    const auto below = [&](std::uint64_t end) { return random() % end; };
    const unsigned held = buffers_in_use();
    for (unsigned round = 0; round < 4000; ++round) {
        const bool packed = below(2) != 0;
        const auto size = static_cast<std::uint16_t>(packed ? 1 + below(40) : 1U << below(9));
        OneLane guest(size, packed, below(2) != 0);
        guest.terms.header_bytes =
            !guest.terms.mergeable && below(4) == 0 ? kShortNetHeaderBytes : kNetHeaderBytes;
        const auto scramble = [&] {
            for (std::uint16_t i = 0; i < size; ++i) {
                const std::uint64_t addresses[] = {
                    GuestArea::kAddress + below(GuestArea::kBytes),
                    GuestArea::kAddress + GuestArea::kBytes - below(64),
                    GuestArea::kAddress + GuestArea::kRegionBytes - below(3000), random()};
                const std::uint32_t lengths[] = {
                    static_cast<std::uint32_t>(below(40)), static_cast<std::uint32_t>(below(3000)),
                    16 * static_cast<std::uint32_t>(below(300)), static_cast<std::uint32_t>(random())};
                const auto flags = static_cast<std::uint16_t>(
                    below(3) == 0 ? random() : below(8) | (packed ? kAvailable : 0));
                const std::uint64_t address = addresses[below(4)];
                const std::uint32_t bytes = lengths[below(4)];
                if (packed)
                    (&guest.area.as<PackedDescriptor>(guest.parts.descriptors))[i] = {
                        address, bytes, static_cast<std::uint16_t>(random()), flags};
                else
                    (&guest.area.as<Descriptor>(guest.parts.descriptors))[i] = {
                        address, bytes, flags, static_cast<std::uint16_t>(below(size + 1U))};
            }
            auto* avail = &guest.area.as<std::uint16_t>(guest.parts.driver);
            if (packed) {
                avail[0] = static_cast<std::uint16_t>(random());
                avail[1] = static_cast<std::uint16_t>(random());
                return;
            }
            for (std::uint16_t i = 0; i < size; ++i)
                avail[2 + i] = static_cast<std::uint16_t>(below(20) == 0 ? random() : below(size));
            avail[1] = static_cast<std::uint16_t>(below(10) == 0 ? random() : avail[1] + below(size + 1U));
        };
        for (unsigned burst = 0; burst < 4; ++burst) {
            scramble();
            std::array<rte_mbuf*, 32> frames{};
            const std::uint16_t taken =
                guest.take(frames.data(), static_cast<std::uint16_t>(1 + below(32))).frames;
            rte_pktmbuf_free_bulk(frames.data(), taken);
            scramble();
            const auto count = static_cast<std::uint16_t>(1 + below(32));
            for (std::uint16_t i = 0; i < count; ++i)
                frames[i] = to_mbuf(buffer_pool(), pattern(14 + below(below(8) == 0 ? 9000 : 1500)),
                                    below(4) == 0 ? 500 : 0);
            CHECK(guest.put({frames.data(), count}).frames <= count);
            rte_pktmbuf_free_bulk(frames.data(), count);
        }
    }
    CHECK(buffers_in_use() == held);
}

// tcp_window_test.cc - windows lowered on their way and sent again, with checksums, in the right order.
#include "vswitch/datapath/requests/tcp_window.h"

#include <rte_mbuf.h>

#include <array>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::size_t kIp4Tcp = 34;
constexpr std::size_t kIp6Tcp = 54;

/// With its checksums: frames of tests have none.
rte_mbuf* finished(FrameBytes frame, std::size_t tcp_at) {
    write16(frame, tcp_at + 16, 0);
    if (tcp_at == kIp4Tcp) {
        write16(frame, 24, 0);
        write16(frame, 24, static_cast<std::uint16_t>(~checksum({frame.begin() + 14, frame.begin() + 34})));
    }
    for (unsigned sum = 0; sum < 0x1'0000; ++sum) {  // the judge says which
        write16(frame, tcp_at + 16, static_cast<std::uint16_t>(sum));
        if (l4_checksum_good(frame))
            break;
    }
    return to_mbuf(buffer_pool(), frame);
}

rte_mbuf* segment(bool v6, const FrameBytes& payload, std::uint8_t flags = kAck) {
    const FrameBytes content = tcp(payload, 1000, flags);
    const FrameBytes frame = v6 ? ethernet(mac(1), mac(2), kIpv6, ipv6(kTcp, content))
                                : ethernet(mac(1), mac(2), weir::testing::kIpv4, ipv4(kTcp, content));
    return finished(frame, v6 ? kIp6Tcp : kIp4Tcp);
}

TcpView view_of(const rte_mbuf* frame) {
    TcpView view;
    REQUIRE(read_tcp(frame, view));
    return view;
}

struct Freed {
    explicit Freed(rte_mbuf* what) : frame(what) {}
    ~Freed() { rte_pktmbuf_free(frame); }
    Freed(const Freed&) = delete;
    Freed& operator=(const Freed&) = delete;
    rte_mbuf* frame;
};

}  // namespace

TEST_CASE("a window is lowered, never raised, and the checksum follows") {
    for (const bool v6 : {false, true}) {
        const std::size_t at = (v6 ? kIp6Tcp : kIp4Tcp) + 14;
        const Freed one(segment(v6, pattern(100)));
        const TcpView view = view_of(one.frame);
        REQUIRE(l4_checksum_good(bytes_of(one.frame)));
        lower_window(one.frame, view, 9000);
        CHECK(read16(bytes_of(one.frame), at) == 8192);
        for (const std::uint16_t field : std::array<std::uint16_t, 4>{8191, 513, 1, 0}) {
            lower_window(one.frame, view, field);
            CHECK(read16(bytes_of(one.frame), at) == field);
            CHECK(l4_checksum_good(bytes_of(one.frame)));
        }
    }
}

TEST_CASE("a frame that somebody else holds is left alone; a checksum that is still to be made, too") {
    const Freed one(segment(false, pattern(10)));
    const TcpView view = view_of(one.frame);
    rte_mbuf_refcnt_update(one.frame, 1);
    lower_window(one.frame, view, 1);
    rte_mbuf_refcnt_update(one.frame, -1);
    CHECK(read16(bytes_of(one.frame), kIp4Tcp + 14) == 8192);
    const std::uint16_t before = read16(bytes_of(one.frame), kIp4Tcp + 16);
    one.frame->ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM;
    lower_window(one.frame, view, 1);
    CHECK(read16(bytes_of(one.frame), kIp4Tcp + 14) == 1);
    CHECK(read16(bytes_of(one.frame), kIp4Tcp + 16) == before);
}

TEST_CASE("what a client is sent later is a bare acknowledgement of all that had come") {
    for (const bool v6 : {false, true}) {
        const std::size_t at = v6 ? kIp6Tcp : kIp4Tcp;
        const Freed one(segment(v6, pattern(100), kAck | kPsh));
        const WindowUpdate update = WindowUpdate::of(one.frame, view_of(one.frame), 7);
        const Freed sent(update.make(buffer_pool()));
        const FrameBytes bytes = bytes_of(sent.frame);
        CHECK(bytes.size() == at + 20);
        CHECK(l4_checksum_good(bytes));
        CHECK((v6 || ip_checksum_good(bytes)));
        CHECK(read32(bytes, at + 4) == 1100);
        CHECK(read32(bytes, at + 8) == 77);
        CHECK(bytes[at + 13] == kAck);
        CHECK(read16(bytes, at + 14) == 8192);
    }
}

TEST_CASE("what a client is sent later has the timestamps of what the appliance sent last") {
    const FrameBytes times{8, 10, 0, 1, 2, 3, 0, 4, 5, 6};
    const FrameBytes layouts[] = {
        {1, 1, 8, 10, 0, 1, 2, 3, 0, 4, 5, 6},                           // as Linux sends them
        {8, 10, 0, 1, 2, 3, 0, 4, 5, 6, 1, 0},                           // before the padding
        {5, 10, 0, 0, 0, 1, 0, 0, 0, 9, 8, 10, 0, 1, 2, 3, 0, 4, 5, 6},  // behind a selective acknowledgement
    };
    for (const FrameBytes& options : layouts) {
        for (const bool v6 : {false, true}) {
            const std::size_t at = v6 ? kIp6Tcp : kIp4Tcp;
            FrameBytes content = tcp(options, 1000, kAck);
            content[12] = static_cast<std::uint8_t>((5 + options.size() / 4) << 4);
            const FrameBytes frame = v6 ? ethernet(mac(1), mac(2), kIpv6, ipv6(kTcp, content))
                                        : ethernet(mac(1), mac(2), weir::testing::kIpv4, ipv4(kTcp, content));
            const Freed one(to_mbuf(buffer_pool(), frame));
            const Freed sent(WindowUpdate::of(one.frame, view_of(one.frame), 7).make(buffer_pool()));
            const FrameBytes bytes = bytes_of(sent.frame);
            REQUIRE(bytes.size() == at + 20 + 12);
            CHECK(l4_checksum_good(bytes));
            CHECK((v6 || ip_checksum_good(bytes)));
            CHECK(read32(bytes, at + 4) == 1000);
            CHECK(bytes[at + 12] == 8 << 4);
            CHECK(FrameBytes(bytes.begin() + static_cast<std::ptrdiff_t>(at + 22), bytes.end()) == times);
            CHECK(view_of(sent.frame).payload_bytes == 0);
        }
    }
}

TEST_CASE("half an option of timestamps is none") {
    FrameBytes content = tcp({1, 1, 8, 10}, 1000, kAck);
    content[12] = 6 << 4;
    const Freed one(
        to_mbuf(buffer_pool(), ethernet(mac(1), mac(2), weir::testing::kIpv4, ipv4(kTcp, content))));
    const Freed sent(WindowUpdate::of(one.frame, view_of(one.frame), 7).make(buffer_pool()));
    CHECK(bytes_of(sent.frame).size() == kIp4Tcp + 20);
}

TEST_CASE("the window of a SYN is not scaled, and it takes a sequence number") {
    const Freed syn(segment(false, {}, 0x12));
    const WindowUpdate update = WindowUpdate::of(syn.frame, view_of(syn.frame), 7);
    const Freed sent(update.make(buffer_pool()));
    CHECK(read32(bytes_of(sent.frame), kIp4Tcp + 4) == 1001);
    CHECK(read16(bytes_of(sent.frame), kIp4Tcp + 14) == 8192 >> 7);
}

TEST_CASE("the scale is found among a SYN's options, whatever they are") {
    const auto scale_of = [](const FrameBytes& options) {
        FrameBytes content = tcp(options, 1, 0x02);
        content[12] = static_cast<std::uint8_t>((5 + options.size() / 4) << 4);
        const Freed syn(
            to_mbuf(buffer_pool(), ethernet(mac(1), mac(2), weir::testing::kIpv4, ipv4(kTcp, content))));
        return window_scale(syn.frame, view_of(syn.frame));
    };
    CHECK(scale_of({}) == 0);
    CHECK(scale_of({2, 4, 5, 180, 4, 2, 1, 3, 3, 7, 0, 0}) == 7);
    CHECK(scale_of({2, 4, 5, 180, 1, 3, 3, 7}) == 7);
    CHECK(scale_of({1, 3, 3, 200}) == 14);
    CHECK(scale_of({0, 3, 3, 7}) == 0);   // behind the end
    CHECK(scale_of({8, 0, 3, 3}) == 0);   // no length
    CHECK(scale_of({8, 44, 3, 3}) == 0);  // longer than the header
    CHECK(scale_of({1, 1, 1, 3}) == 0);
}

TEST_CASE(
    "clients are sent updates in the order in which their windows were closed; one that sends again gets "
    "none") {
    ClosedWindows closed(2, 8);
    const Freed one(segment(false, pattern(10)));
    const WindowUpdate update = WindowUpdate::of(one.frame, view_of(one.frame), 0);
    for (const ConnectionId id : std::array<ConnectionId, 3>{5, 13, 21})  // one place of the hash table
        CHECK(closed.close(0, id, update));
    for (const ConnectionId id : std::array<ConnectionId, 3>{6, 7, 8})  // its own, and half of the free 4
        CHECK(closed.close(1, id, update));
    CHECK_FALSE(closed.close(1, 10, update));
    CHECK(closed.close(0, 13, update));  // again
    CHECK(closed.count(0) == 3);
    CHECK(closed.is_closed(0, 13));
    CHECK(closed.open(0, 13));
    CHECK_FALSE(closed.open(0, 13));
    (void)closed.open_next(0);
    CHECK_FALSE(closed.is_closed(0, 5));
    CHECK(closed.is_closed(0, 21));
    closed.forget(0);
    CHECK(closed.count(0) == 0);
    CHECK(closed.count() == 3);
    CHECK(closed.is_closed(1, 6));
}

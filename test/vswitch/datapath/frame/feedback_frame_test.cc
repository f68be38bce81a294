// feedback_frame_test.cc - the frame to the byte; a changed or cut frame, or one of another VLAN or
// key, is refused.
#include "vswitch/datapath/frame/feedback_frame.h"

#include "test/support/catch.h"
#include "test/support/frames.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr FeedbackKey kFeedbackKey{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr std::uint64_t kSender = mac(7);
constexpr std::uint64_t kReceiver = mac(1);
const FeedbackMessage kMessage{kSender, kReceiver, 0, 56'250'000, 0x01020304};  // 450 Mbit/s

FrameBytes answered_v4() {
    return ethernet(kReceiver, kSender, kIpv4, ipv4(kUdp, udp(pattern(40))));
}
FrameBytes answered_v6() {
    return ethernet(kReceiver, kSender, kIpv6, ipv6(kUdp, udp(pattern(40))));
}

FrameBytes written(const FeedbackMessage& message, const FrameBytes& answered) {
    FeedbackBuffer buffer{};
    const std::size_t bytes = write_feedback(message, answered, kFeedbackKey, buffer);
    return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

FeedbackVerdict verdict(const FrameBytes& frame, std::uint16_t vlan = 0) {
    FeedbackMessage message;
    return read_feedback(frame, vlan, kFeedbackKey, message);
}

}  // namespace

TEST_CASE("the frame over IPv4 is this one, byte by byte") {
    FrameBytes head = {0x52, 0x54, 0,    0, 0, 7,    0x52, 0x54, 0, 0, 0,  1,
                       0x08, 0x00, 0x45, 0, 0, 0x30, 0x01, 0xC2, 0, 0, 64, 143};
    const FrameBytes frame = written(kMessage, answered_v4());
    REQUIRE(frame.size() == 14 + 20 + 28);
    CHECK((FrameBytes(frame.begin(), frame.begin() + 24) == head));
    CHECK(ip_checksum_good(frame));
    const FrameBytes answered = answered_v4();
    CHECK((FrameBytes(frame.begin() + 26, frame.begin() + 30) ==
           FrameBytes(answered.begin() + 30, answered.begin() + 34)));
    CHECK((FrameBytes(frame.begin() + 30, frame.begin() + 34) ==
           FrameBytes(answered.begin() + 26, answered.begin() + 30)));
    const FrameBytes payload = {'W', 'E', 'I', 'R', 1, 0, 0,    0,    1,    2,
                                3,   4,   0,   0,   0, 0, 0x03, 0x5A, 0x4E, 0x90};
    CHECK((FrameBytes(frame.begin() + 34, frame.begin() + 54) == payload));
}

TEST_CASE("what was written is read again, over IPv4 and IPv6, tagged or not") {
    for (const FrameBytes& answered : {answered_v4(), answered_v6()}) {
        for (const std::uint16_t vlan : {std::uint16_t{0}, std::uint16_t{10}}) {
            FeedbackMessage message = kMessage;
            message.vlan = vlan;
            FrameBytes frame = written(message, answered);
            if (vlan != 0) {
                CHECK(read16(frame, 12) == kVlan);
                CHECK(read16(frame, 14) == 10);
                frame.erase(frame.begin() + 12, frame.begin() + 16);
            }
            CHECK(is_feedback(frame));
            FeedbackMessage read;
            REQUIRE(read_feedback(frame, vlan, kFeedbackKey, read) == FeedbackVerdict::kValid);
            CHECK(read.to == kSender);
            CHECK(read.from == kReceiver);
            CHECK(read.rate == kMessage.rate);
            CHECK(read.sequence == kMessage.sequence);
        }
    }
    CHECK_FALSE(is_feedback(answered_v4()));
    CHECK_FALSE(is_feedback(answered_v6()));
}

TEST_CASE("the IP ID shows Mbit/s: at least 1 for any rate, at most 65535") {
    const auto shown = [](std::uint64_t rate) {
        FeedbackMessage message = kMessage;
        message.rate = rate;
        return read16(written(message, answered_v4()), 18);
    };
    CHECK(shown(0) == 0);
    CHECK(shown(1) == 1);
    CHECK(shown(1'250'000'000) == 10'000);
    CHECK(shown(1'250'062'500) == 10'001);
    CHECK(shown(UINT64_MAX) == 65'535);
}

TEST_CASE("a changed byte, another VLAN or another key is a forgery") {
    const FrameBytes good = written(kMessage, answered_v4());
    CHECK(verdict(good) == FeedbackVerdict::kValid);
    CHECK(verdict(good, 10) == FeedbackVerdict::kForged);
    for (std::size_t at = 0; at < good.size(); ++at) {
        if (at >= 12 && at < 34)
            continue;  // the IP header is for the network
        FrameBytes changed = good;
        changed[at] ^= 1;
        INFO(at);
        CHECK(verdict(changed) ==
              (at >= 34 && at < 42 ? FeedbackVerdict::kMalformed : FeedbackVerdict::kForged));
    }
    FeedbackKey other = kFeedbackKey;
    other[15] ^= 1;
    FeedbackMessage message;
    CHECK(read_feedback(good, 0, other, message) == FeedbackVerdict::kForged);
}

TEST_CASE("a frame that is cut anywhere is malformed, and nothing beyond it is read") {
    for (const FrameBytes& answered : {answered_v4(), answered_v6()}) {
        const FrameBytes good = written(kMessage, answered);
        for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
            CHECK(verdict(FrameBytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes))) ==
                  FeedbackVerdict::kMalformed);
    }
}

TEST_CASE("only IP is answered") {
    CHECK(written(kMessage, ethernet(kReceiver, kSender, kArp, arp_request())).empty());
    FrameBytes cut = answered_v4();
    cut.resize(33);
    CHECK(written(kMessage, cut).empty());
}

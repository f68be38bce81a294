// stream_property_test.cc - events do not depend on TCP: random sessions of every protocol, cut, delayed,
// repeated and lost, against the same sessions in order.
#include <set>

#include "test/cost_functions/tracker/conversation.h"
#include "test/cost_functions/tracker/mixed_client.h"
#include "test/cost_functions/tracker/rough_path.h"
#include "test/support/catch.h"
#include "test/support/sanitized.h"

using namespace weir;
using weir::testing::Conversation;
using weir::testing::Events;
using weir::testing::Exchange;
using weir::testing::MixedClient;
using weir::testing::Random32;
using weir::testing::rough_path;
using weir::testing::Roughness;

namespace {

struct Session {
    std::string requests;
    std::string responses;
};

Session session(MixedClient& client, unsigned exchanges) {
    Session all;
    while (exchanges-- > 0) {
        const Exchange one = client.next();
        all.requests += one.request;
        all.responses += one.response;
    }
    return all;
}

/// All of a side in one segment, or cut and disturbed.
void play(Conversation& c, Side side, const std::string& bytes, const Roughness* roughness,
          Random32& random) {
    const std::uint32_t first = c.at(side);
    c.at(side) += static_cast<std::uint32_t>(bytes.size());
    if (roughness == nullptr) {
        c.pass(side, first, bytes);
        return;
    }
    for (const weir::testing::Passing& each : rough_path(bytes.size(), *roughness, random))
        c.pass(side, first + static_cast<std::uint32_t>(each.from),
               bytes.substr(each.from, each.to - each.from));
}

bool same(const Request& a, const Request& b) {
    return a.operation == b.operation && a.answered == b.answered && a.response_known == b.response_known &&
           a.keys == b.keys && a.request_bytes == b.request_bytes && a.response_bytes == b.response_bytes &&
           a.span == b.span && a.place == b.place && a.cookie == b.cookie;
}
bool same(const Events::Answered& a, const Events::Answered& b) {
    return a.response.bytes == b.response.bytes && a.response.failed == b.response.failed &&
           a.response.cookie == b.response.cookie && a.answer.matched == b.answer.matched &&
           a.answer.operation == b.answer.operation && a.answer.request_bytes == b.answer.request_bytes;
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return std::ranges::equal(a, b, [](const T& x, const T& y) { return same(x, y); });
}

/// The events of a session are the same on a rough path.
void check_rough(std::string_view kind, const Roughness& roughness, const Tracker::Profile& profile,
                 unsigned trials, bool all_understood) {
    Random32 random(7);
    for (unsigned trial = 0; trial < weir::testing::rounds(trials); ++trial) {
        MixedClient client(kind, static_cast<std::uint32_t>(trial));
        Conversation smooth(client.protocol());
        Conversation rough(client.protocol(), profile);
        const std::uint32_t first = random() % 3 == 0 ? 0U - random() % 5000 : random();
        smooth.open(first, first);
        rough.open(first, first);
        for (int round = 0; round < 3; ++round) {
            const Session sent = session(client, 1 + random() % 50);
            for (const bool requests : {true, false}) {
                const Side side = requests ? Side::kRequests : Side::kResponses;
                const std::string& bytes = requests ? sent.requests : sent.responses;
                play(smooth, side, bytes, nullptr, random);
                play(rough, side, bytes, &roughness, random);
            }
        }
        INFO(kind << ", trial " << trial);
        REQUIRE(same(smooth.events.requests, rough.events.requests));
        REQUIRE(same(smooth.events.responses, rough.events.responses));
        REQUIRE(smooth.connection.outstanding() == 0);
        REQUIRE(rough.connection.outstanding() == 0);
        REQUIRE(smooth.events.plain_requests + smooth.events.plain_responses == 0);
        if (all_understood)
            REQUIRE(rough.events.plain_requests + rough.events.plain_responses == 0);
        REQUIRE(rough.tracker.buffers().taken(1) == 0);
        REQUIRE(rough.tracker.pending().taken(1) == 0);
        REQUIRE(rough.tracker.stats().lost == 0);
    }
}

}  // namespace

TEST_CASE(
    "property: segments that are cut anywhere, late and repeated give the same requests and responses") {
    for (const std::string_view kind : MixedClient::kinds()) {
        check_rough(kind, {.segment_max = 1448, .late = 30, .repeated = 50}, weir::testing::small_profile(),
                    100, true);
        check_rough(kind, {.segment_max = 20, .late = 100, .repeated = 100}, weir::testing::small_profile(),
                    20, true);
    }
}

TEST_CASE("property: when all bytes from a loss on are retransmitted, no buffer is needed") {
    Tracker::Profile profile = weir::testing::small_profile();
    profile.buffers = {.users = 4, .common = 16};
    for (const std::string_view kind : MixedClient::kinds()) {
        check_rough(kind, {.segment_max = 1448, .lost_with_all = 50, .repeated = 50}, profile, 100, false);
        check_rough(kind, {.segment_max = 65'000, .lost_with_all = 200, .delay_max = 5}, profile, 100, false);
    }
}

TEST_CASE("property: bytes that never pass are lost, bytes that pass are never counted twice") {
    Random32 random(3);
    for (const std::string_view kind : MixedClient::kinds()) {
        std::uint64_t asked = 0;
        std::uint64_t found = 0;
        for (unsigned trial = 0; trial < weir::testing::rounds(60); ++trial) {
            MixedClient client(kind, static_cast<std::uint32_t>(trial));
            Conversation c(client.protocol());
            c.open(random(), random());
            for (int round = 0; round < 20; ++round) {
                const Session sent = session(client, 20);
                asked += 20;
                const Roughness roughness{.late = 20, .gone = 20, .repeated = 50};
                play(c, Side::kRequests, sent.requests, &roughness, random);
                c.acknowledge(Side::kResponses);
                play(c, Side::kResponses, sent.responses, &roughness, random);
                c.acknowledge(Side::kRequests);
            }
            std::multiset<std::uint64_t> places;
            for (const Request& request : c.events.requests)
                if (request.place != 0)
                    places.insert(request.place);
            for (const std::uint64_t place : places) {
                INFO(kind << ", trial " << trial);
                REQUIRE(places.count(place) == 1);
            }
            found += places.size();
            c.tracker.forget(c.connection);
            REQUIRE(c.tracker.buffers().taken(1) == 0);
            REQUIRE(c.tracker.pending().taken(1) == 0);
        }
        INFO(kind << ": " << found << " of " << asked << " found");
        CHECK(found > asked / 4);
    }
}

TEST_CASE("property: whatever a client sends and the server ignores, no byte passes that was not reported") {
    Random32 random(23);
    constexpr std::string_view kind = "memcached";  // whose requests here have no parts
    for (unsigned trial = 0; trial < weir::testing::rounds(100); ++trial) {
        MixedClient client(kind, static_cast<std::uint32_t>(trial));
        Conversation c(client.protocol());
        c.open(random(), random());
        std::uint64_t passed = 0;
        std::uint64_t kept = 0;
        for (int step = 0; step < 200; ++step) {
            const std::string bytes = client.next().request.substr(random() % 3 == 0 ? random() % 9 : 0);
            const std::uint32_t back = random() % 3000;
            std::uint32_t seq = c.at(Side::kRequests);
            std::uint8_t flags = Segment::kAck;
            switch (random() % 12) {
                case 0:
                    seq -= back;
                    break;
                case 1:
                    seq += back;
                    break;
                case 2:
                    seq = random();
                    break;
                case 3:
                    flags = random() % 2 == 0 ? Segment::kSyn : Segment::kFin;
                    break;
                case 4:
                    c.pass(Side::kResponses, c.at(Side::kResponses), "", Segment::kAck, seq + back);
                    break;
                case 5:
                    c.pass(Side::kResponses, random(), "", Segment::kSyn | Segment::kAck, seq - back);
                    break;
                case 6:
                    if (!c.pass(Side::kRequests, seq, "", Segment::kRst))
                        kept += c.tracker.forget(c.connection);
                    break;
                default:
                    c.skip(Side::kRequests, bytes);
                    break;
            }
            passed += bytes.size();
            if (!c.pass(Side::kRequests, seq, bytes, flags))
                kept += c.tracker.forget(c.connection);
        }
        kept += c.tracker.forget(c.connection);
        std::uint64_t reported = c.events.plain_requests + c.events.repeated_bytes + kept;
        for (const Request& request : c.events.requests)
            reported += request.request_bytes;
        INFO(kind << ", trial " << trial);
        REQUIRE(reported >= passed);
    }
}

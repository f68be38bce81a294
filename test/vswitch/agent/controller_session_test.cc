// controller_session_test.cc - messages of a session that depend on the capabilities of the controller.
#include "vswitch/agent/controller_session.h"

#include "test/support/catch.h"
#include "test/vswitch/agent/session_line.h"

using namespace weir;

namespace {

/// The limit that a session of two intervals states last, of requests that wait for the switch's own limit
/// all the time.
wire::Blocked stated_to(test::Line& line, const wire::Capabilities& capabilities, Nanos& now) {
    line.welcome(now, capabilities);
    line.tables(400, now);
    constexpr Nanos kPeriod = 10'000'000;
    FlowSample sample{.flow = {.vnic = "a1", .appliance = 0}};
    sample.blocked_by.fill(wire::Blocked::kOwnLimit);
    wire::Blocked stated = wire::Blocked::kNotStated;
    for (const Nanos end = now + 2 * kNanosPerSec + kPeriod; now < end; now += kPeriod) {
        sample.used[wire::kTokens] += 4;
        sample.blocked_ns[0] += kPeriod;
        line.session.add_samples({&sample, 1}, now);
        line.session.tick(now);
        for (const auto& message : line.session.take_outgoing()) {
            std::vector<wire::FlowDemand> records;
            wire::Header header;
            REQUIRE(wire::decode_header(message.header, message.body.size(), header) == wire::Malformed::kNo);
            if (header.type != wire::Type::kDemand)
                continue;
            CHECK(wire::decode(message.body, records) == 0);
            if (!records.empty())
                stated = records.at(0).blocked;
        }
    }
    return stated;
}

}  // namespace

TEST_CASE("a session states for which limit requests waited only to a controller that names `blocked`") {
    test::Line line;
    Nanos now = kNanosPerSec;
    CHECK(stated_to(line, {}, now) == wire::Blocked::kNotStated);
    const wire::Hello hello = test::hello_of_h1();
    line.session.set_hello({});  // another HELLO is another session
    line.session.set_hello(hello);
    CHECK(stated_to(line, {"of-a-later-version", "blocked"}, now) == wire::Blocked::kOwnLimit);
    line.session.set_hello({});
    line.session.set_hello(hello);
    CHECK(stated_to(line, {"refusals"}, now) == wire::Blocked::kNotStated);
}
